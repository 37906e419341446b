//! Tasks: requests that go on after their first answer, in two forms.
//!
//! The *extension* of the modern era
//! ([SEP-2663](https://modelcontextprotocol.io/seps/2663-tasks-extension)) is what servers and clients here
//! speak. The *legacy* form was an experiment of the core protocol in its newest legacy revision
//! ([tasks](https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks)). They agree on
//! status, id and times; on the wire they differ, and a peer speaks one of them.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::meta::is_empty;
use crate::resource::list_result;
use crate::{ErrorObject, Extra, InputResponses, Meta, RequestMeta};

open_enum! {
    /// How a task stands
    /// ([task status](https://modelcontextprotocol.io/seps/2663-tasks-extension#task-status)).
    pub enum TaskStatus {
        /// It runs.
        Working = "working",
        /// It waits for input.
        InputRequired = "input_required",
        /// It is done; a tool that ran and failed is done too.
        Completed = "completed",
        /// It ended in a protocol error.
        Failed = "failed",
        /// It was cancelled.
        Cancelled = "cancelled",
    }
}

impl TaskStatus {
    /// Whether it is the last one: such a task never changes again.
    pub fn is_terminal(&self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

/// A task without what its status brings along. The two forms name its times differently.
macro_rules! task {
    ($(#[$meta:meta])* $name:ident {
        $(#[$tmeta:meta])* $ttl:ident: $ttl_type:ty,
        $(#[$pmeta:meta])* $poll:ident: $poll_type:ty,
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase")]
        pub struct $name {
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
            $(#[$tmeta])*
            pub $ttl: $ttl_type,
            $(#[$pmeta])*
            #[serde(skip_serializing_if = "Option::is_none")]
            pub $poll: $poll_type,
            /// Metadata.
            #[serde(rename = "_meta", default, skip_serializing_if = "is_empty")]
            pub meta: Meta,
            /// Fields this crate does not know.
            #[serde(flatten)]
            pub extra: Extra,
        }
    };
}

task! {
    /// The result of a request that became a task, under [`ResultType::Task`](crate::ResultType::Task)
    /// ([creation](https://modelcontextprotocol.io/seps/2663-tasks-extension#task-creation)).
    CreateTaskResult {
        /// How many milliseconds it is kept, counted from its beginning; `None` without end. It may change.
        ttl_ms: Option<u64>,
        /// How many milliseconds to wait between two questions about it. It may change.
        poll_interval_ms: Option<u64>,
    }
}

task! {
    /// A task of the newest legacy revision.
    LegacyTask {
        /// How many milliseconds it is kept; `None` without end.
        ttl: Option<u64>,
        /// How many milliseconds to wait between two questions about it.
        poll_interval: Option<u64>,
    }
}

/// How a task stands, with what that brings along.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum TaskState {
    /// It runs.
    Working,
    /// It waits for the answers to these questions, by key; each is an [`InputRequest`](crate::InputRequest).
    InputRequired(Map<String, Value>),
    /// It is done, with the result that its request would have had, such as a
    /// [`CallToolResult`](crate::CallToolResult).
    Completed(Extra),
    /// It ended in a protocol error.
    Failed(ErrorObject),
    /// It was cancelled.
    Cancelled,
    /// A status this crate does not know. What it brings along stays in [`Task::extra`].
    Other(String),
}

impl TaskState {
    /// The status alone.
    pub fn status(&self) -> TaskStatus {
        match self {
            Self::Working => TaskStatus::Working,
            Self::InputRequired(_) => TaskStatus::InputRequired,
            Self::Completed(_) => TaskStatus::Completed,
            Self::Failed(_) => TaskStatus::Failed,
            Self::Cancelled => TaskStatus::Cancelled,
            Self::Other(status) => TaskStatus::Other(status.clone()),
        }
    }

    /// Whether it is the last one: such a task never changes again.
    pub fn is_terminal(&self) -> bool {
        matches!(self, Self::Completed(_) | Self::Failed(_) | Self::Cancelled)
    }
}

/// A task as `tasks/get` and `notifications/tasks` tell of it
/// ([tasks](https://modelcontextprotocol.io/seps/2663-tasks-extension#tasks)).
///
/// ```
/// use trunkline_types::{Task, TaskState};
///
/// let text = r#"{"taskId":"t","status":"completed","result":{"content":[]},
///     "createdAt":"2026-11-30T09:05:00Z","lastUpdatedAt":"2026-11-30T09:06:00Z","ttlMs":60000}"#;
/// let task: Task = serde_json::from_str(text).unwrap();
/// assert!(task.state.is_terminal() && matches!(task.state, TaskState::Completed(_)));
/// // A status that does not bring along what it must is no task.
/// assert!(serde_json::from_str::<Task>(&text.replace("result", "results")).is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Task {
    /// Names the task. Whoever knows it may be able to see the task: keep it like a password.
    pub task_id: String,
    /// How it stands.
    pub state: TaskState,
    /// How it stands, for people.
    pub status_message: Option<String>,
    /// When it began, as an ISO 8601 time.
    pub created_at: String,
    /// When it last changed, as an ISO 8601 time.
    pub last_updated_at: String,
    /// How many milliseconds it is kept, counted from its beginning; `None` without end. It may change.
    pub ttl_ms: Option<u64>,
    /// How many milliseconds to wait between two questions about it. It may change.
    pub poll_interval_ms: Option<u64>,
    /// Metadata.
    pub meta: Meta,
    /// Fields this crate does not know.
    pub extra: Extra,
}

impl Task {
    /// The same task without what its status brings along, as the first answer tells of it.
    pub fn created(self) -> CreateTaskResult {
        CreateTaskResult {
            task_id: self.task_id,
            status: self.state.status(),
            status_message: self.status_message,
            created_at: self.created_at,
            last_updated_at: self.last_updated_at,
            ttl_ms: self.ttl_ms,
            poll_interval_ms: self.poll_interval_ms,
            meta: self.meta,
            extra: self.extra,
        }
    }
}

/// On the wire, what a status brings along stands beside it.
impl Serialize for Task {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut task = self.clone();
        let brought = match std::mem::replace(&mut task.state, TaskState::Working) {
            TaskState::InputRequired(questions) => Some(("inputRequests", Value::Object(questions))),
            TaskState::Completed(result) => Some(("result", Value::Object(result))),
            TaskState::Failed(error) => {
                Some(("error", serde_json::to_value(error).map_err(serde::ser::Error::custom)?))
            }
            TaskState::Working | TaskState::Cancelled | TaskState::Other(_) => None,
        };
        let mut wire = task.created();
        wire.status = self.state.status();
        wire.extra
            .extend(brought.map(|(field, value)| (field.to_owned(), value)));
        wire.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Task {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut wire = CreateTaskResult::deserialize(deserializer)?;
        let mut brought = |field: &str| {
            let value = wire.extra.shift_remove(field);
            value.ok_or_else(|| D::Error::custom(format!("a task that is {} needs `{field}`", wire.status)))
        };
        let object = |field: &str, value: Value| match value {
            Value::Object(object) => Ok(object),
            _ => Err(D::Error::custom(format!("`{field}` of a task must be an object"))),
        };
        let state = match &wire.status {
            TaskStatus::Working => TaskState::Working,
            TaskStatus::InputRequired => TaskState::InputRequired(object("inputRequests", brought("inputRequests")?)?),
            TaskStatus::Completed => TaskState::Completed(object("result", brought("result")?)?),
            TaskStatus::Failed => {
                TaskState::Failed(serde_json::from_value(brought("error")?).map_err(D::Error::custom)?)
            }
            TaskStatus::Cancelled => TaskState::Cancelled,
            TaskStatus::Other(status) => TaskState::Other(status.clone()),
        };
        Ok(Self {
            task_id: wire.task_id,
            state,
            status_message: wire.status_message,
            created_at: wire.created_at,
            last_updated_at: wire.last_updated_at,
            ttl_ms: wire.ttl_ms,
            poll_interval_ms: wire.poll_interval_ms,
            meta: wire.meta,
            extra: wire.extra,
        })
    }
}

/// Params of `tasks/get` and `tasks/cancel` in both forms, and of the legacy `tasks/result`.
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

impl TaskParams {
    /// Params that name a task.
    pub fn new(task_id: impl Into<String>) -> Self {
        Self {
            task_id: task_id.into(),
            ..Self::default()
        }
    }
}

/// Params of `tasks/update`
/// ([update](https://modelcontextprotocol.io/seps/2663-tasks-extension#task-update-requests)).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UpdateTaskParams {
    /// The task.
    pub task_id: String,
    /// Answers to questions of the task, by their keys.
    pub input_responses: InputResponses,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "RequestMeta::is_empty")]
    pub meta: RequestMeta,
    /// Fields this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

list_result! {
    /// Result of the legacy `tasks/list`.
    ListTasksResult {
        /// The tasks of this page.
        tasks: LegacyTask
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn wire(status: &str, more: Value) -> Value {
        let mut task =
            json!({ "taskId": "t", "status": status, "createdAt": "a", "lastUpdatedAt": "b", "ttlMs": null });
        for (field, value) in more.as_object().unwrap() {
            task[field] = value.clone();
        }
        task
    }

    #[test]
    fn a_status_needs_what_it_brings_along() {
        let read =
            |status: &str, more: Value| serde_json::from_value::<Task>(wire(status, more)).map(|task| task.state);
        assert_eq!(read("working", json!({})).unwrap(), TaskState::Working);
        assert_eq!(read("cancelled", json!({})).unwrap(), TaskState::Cancelled);
        assert_eq!(
            read("failed", json!({ "error": { "code": -32603, "message": "m" } })).unwrap(),
            TaskState::Failed(ErrorObject::internal("m"))
        );
        for (status, field) in [
            ("input_required", "inputRequests"),
            ("completed", "result"),
            ("failed", "error"),
        ] {
            let missing = read(status, json!({})).unwrap_err().to_string();
            assert!(missing.contains(field), "{missing}");
            assert!(read(status, json!({ field: [1] })).is_err());
        }
    }

    #[test]
    fn the_first_answer_never_carries_a_result() {
        let task: Task = serde_json::from_value(wire("completed", json!({ "result": {}, "later": 1 }))).unwrap();
        let created = serde_json::to_value(task.created()).unwrap();
        assert_eq!(created, wire("completed", json!({ "later": 1 })));
    }

    #[test]
    fn three_states_are_the_last() {
        for (state, last) in [
            (TaskState::Working, false),
            (TaskState::InputRequired(Map::new()), false),
            (TaskState::Completed(Extra::new()), true),
            (TaskState::Failed(ErrorObject::internal("")), true),
            (TaskState::Cancelled, true),
            (TaskState::Other("asleep".into()), false),
        ] {
            assert_eq!(
                (state.is_terminal(), state.status().is_terminal()),
                (last, last),
                "{state:?}"
            );
        }
    }
}
