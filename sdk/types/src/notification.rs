//! Notices about requests and lists.

use serde::{Deserialize, Serialize};
use serde_json::Number;

use crate::meta::is_empty;
use crate::{Extra, Meta, ProgressToken, RequestId};

/// Params of notifications that say nothing beyond their name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EmptyNotice {
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "is_empty")]
    pub meta: Meta,
    /// Fields this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Params of `notifications/cancelled`
/// ([cancellation](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/cancellation)).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cancelled {
    /// The request to cancel; absent only where a task is cancelled (the newest legacy revision).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<RequestId>,
    /// Why, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "is_empty")]
    pub meta: Meta,
    /// Fields this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Params of `notifications/progress`
/// ([progress](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/progress)).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// The token of the request that goes on.
    pub progress_token: ProgressToken,
    /// How far it is; grows with each notice.
    pub progress: Number,
    /// Where it ends, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<Number>,
    /// What is being done, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "is_empty")]
    pub meta: Meta,
    /// Fields this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Progress {
    /// How far it is.
    pub fn value(&self) -> f64 {
        self.progress.as_f64().unwrap_or_default()
    }

    /// The part that is done, from 0 to 1, if the end is known.
    pub fn fraction(&self) -> Option<f64> {
        let total = self
            .total
            .as_ref()
            .and_then(Number::as_f64)
            .filter(|total| *total > 0.0)?;
        Some((self.value() / total).clamp(0.0, 1.0))
    }
}

/// Params of `notifications/resources/updated`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ResourceUpdated {
    /// The resource that changed.
    pub uri: String,
    /// Metadata; names the subscription in the modern era.
    #[serde(rename = "_meta", default, skip_serializing_if = "is_empty")]
    pub meta: Meta,
    /// Fields this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Params of `notifications/elicitation/complete` (the newest legacy revision only).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ElicitationComplete {
    /// The visit that ended.
    pub elicitation_id: String,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "is_empty")]
    pub meta: Meta,
    /// Fields this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}
