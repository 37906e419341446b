//! `subscriptions/listen`: a stream of notices (modern).

use serde::{Deserialize, Serialize};

use crate::meta::is_empty;
use crate::{Extra, Meta, RequestMeta};

/// Which notices a client wants
/// ([filter](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions#notification-filter)).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubscriptionFilter {
    /// Changes of the list of tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools_list_changed: Option<bool>,
    /// Changes of the list of prompts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompts_list_changed: Option<bool>,
    /// Changes of the list of resources.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources_list_changed: Option<bool>,
    /// Changes of these resources.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_subscriptions: Option<Vec<String>>,
    /// Changes of these tasks, by id
    /// ([extension](https://modelcontextprotocol.io/seps/2663-tasks-extension#task-status-notifications)).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_ids: Option<Vec<String>>,
    /// Fields this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Params of `subscriptions/listen`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ListenParams {
    /// Which notices are wanted.
    pub notifications: SubscriptionFilter,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "RequestMeta::is_empty")]
    pub meta: RequestMeta,
    /// Fields this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Params of `notifications/subscriptions/acknowledged`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SubscriptionAcknowledged {
    /// The part of the filter that the server serves.
    pub notifications: SubscriptionFilter,
    /// Metadata; names the subscription.
    #[serde(rename = "_meta", default, skip_serializing_if = "is_empty")]
    pub meta: Meta,
    /// Fields this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}
