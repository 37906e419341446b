//! Tasks of the newest legacy revision, where they were an experiment of the core protocol
//! ([tasks](https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks)).

use serde::{Deserialize, Serialize};

use crate::meta::is_empty;
use crate::resource::list_result;
use crate::{Extra, Meta, RequestMeta};

open_enum! {
    /// How a task stands.
    pub enum TaskStatus {
        /// It runs.
        Working = "working",
        /// It waits for input.
        InputRequired = "input_required",
        /// It is done.
        Completed = "completed",
        /// It failed.
        Failed = "failed",
        /// It was cancelled.
        Cancelled = "cancelled",
    }
}

/// A request that goes on after its first answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// Names the task.
    pub task_id: String,
    /// How it stands.
    pub status: TaskStatus,
    /// How it stands, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_message: Option<String>,
    /// When it began, as an ISO 8601 time.
    pub created_at: String,
    /// When it last changed, as an ISO 8601 time.
    pub last_updated_at: String,
    /// How many milliseconds it is kept; `None` without end.
    pub ttl: Option<u64>,
    /// How many milliseconds to wait between two questions about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poll_interval: Option<u64>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "is_empty")]
    pub meta: Meta,
    /// Fields this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Params of `tasks/get`, `tasks/result` and `tasks/cancel`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskParams {
    /// The task.
    pub task_id: String,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "RequestMeta::is_empty")]
    pub meta: RequestMeta,
    /// Fields this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

list_result! {
    /// Result of `tasks/list`.
    ListTasksResult {
        /// The tasks of this page.
        tasks: Task
    }
}
