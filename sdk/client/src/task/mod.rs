//! Calls that become tasks at their server: follow one to its end, or hold on to it
//! ([SEP-2663](https://modelcontextprotocol.io/seps/2663-tasks-extension)).

mod follow;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::mpsc::error::TrySendError;
use trunkline_proto::client::RequestOptions;
use trunkline_types::{ErrorObject, Extra, InputResponses, Method, Task};

use crate::call::{CallOptions, Exchanged};
use crate::client::Inner;
use crate::ports::{Submit, Waiting};
use crate::{CallError, Called};
pub use follow::{MAX_POLL, MIN_POLL};

/// How long a call that became a task is followed, unless [`CallOptions::task_wait`] says otherwise. Time that
/// the answer to a question of the task's takes does not count.
pub const TASK_WAIT: Duration = Duration::from_secs(3600);

/// What a call came to, from [`Client::start_call`](crate::Client::start_call).
#[derive(Debug)]
pub enum Started {
    /// The server answered at once.
    Done(Called),
    /// The server made a task of it.
    Task(TaskHandle),
}

/// A task without a usable result.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskError {
    /// Names the task at its server: see [`Client::task`](crate::Client::task). Keep it like a password.
    pub id: String,
    /// What became of it.
    pub why: TaskFailure,
}

impl fmt::Display for TaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the call became a task, which {}", self.why)
    }
}

/// What became of a task that has no usable result.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum TaskFailure {
    /// It ended in a protocol error.
    Failed(ErrorObject),
    /// It was cancelled; with what the server says of it.
    Cancelled(Option<String>),
    /// It had not ended when the wait for it was over.
    Overdue(Duration),
    /// It cannot be asked for any more: the server does not know it, or does not answer. It may go on.
    Unreachable(Box<CallError>),
}

impl fmt::Display for TaskFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(error) => write!(f, "failed: {error}"),
            Self::Cancelled(Some(why)) => write!(f, "was cancelled: {why}"),
            Self::Cancelled(None) => f.write_str("was cancelled"),
            Self::Overdue(wait) => write!(f, "had not ended after {} s", wait.as_secs()),
            Self::Unreachable(error) => write!(f, "cannot be asked for any more, and may go on: {error}"),
        }
    }
}

/// A task at a server, by its id. It lives there: dropping this changes nothing, and
/// [`Client::task`](crate::Client::task) makes another one, also after a restart.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use trunkline_client::types::Extra;
/// use trunkline_client::{CallError, Client, Started};
///
/// async fn start_or_resume(client: &Client, kept: Option<String>) -> Result<String, CallError> {
///     let task = match kept {
///         Some(id) => client.task("build", id),
///         None => match client.start_call("build", Extra::new(), Default::default()).await? {
///             Started::Done(called) => return Ok(called.text()),
///             Started::Task(task) => task,
///         },
///     };
///     // Write `task.id()` down here.
///     Ok(task.result(Duration::from_secs(600)).await?.text())
/// }
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct TaskHandle {
    inner: Arc<Inner>,
    tool: String,
    id: String,
}

impl fmt::Debug for TaskHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The id may be all that protects the task.
        f.debug_struct("TaskHandle")
            .field("tool", &self.tool)
            .finish_non_exhaustive()
    }
}

impl TaskHandle {
    pub(crate) fn new(inner: Arc<Inner>, tool: String, id: String) -> Self {
        Self { inner, tool, id }
    }

    /// Names the task at its server. Keep it like a password.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The tool that was called.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// How the task stands.
    ///
    /// # Errors
    /// If the server does not know it, or does not answer.
    pub async fn get(&self) -> Result<Task, CallError> {
        self.inner.get_task(&self.id).await
    }

    /// Answers questions of the task, by the keys that its state shows.
    ///
    /// # Errors
    /// If the server does not know the task, or does not take the answers.
    pub async fn update(&self, answers: InputResponses) -> Result<(), CallError> {
        self.inner.update_task(&self.id, answers).await
    }

    /// Tells the server that the task is not wanted any more. It may end otherwise nevertheless.
    ///
    /// # Errors
    /// If the server does not know the task, or does not answer.
    pub async fn cancel(&self) -> Result<(), CallError> {
        let params = task_params(&self.id);
        self.inner
            .ask_for::<Acknowledged>(Method::CancelTask, params)
            .await
            .map(drop)
    }

    /// Follows the task to its end, for so long at most, and answers its questions by the client's
    /// [`Inputs`](crate::Inputs). The task goes on when the future is dropped, or the wait is over.
    ///
    /// # Errors
    /// If the task has no usable result in that time.
    pub async fn result(&self, wait: Duration) -> Result<Called, CallError> {
        let result = self.inner.follow(&self.id, Duration::ZERO, wait, None).await?;
        self.inner.checked(&self.tool, result)
    }
}

/// A result of which only the arrival matters.
#[derive(serde::Deserialize)]
struct Acknowledged {}

fn task_params(id: &str) -> Extra {
    std::iter::once(("taskId".to_owned(), Value::String(id.to_owned()))).collect()
}

impl Submit {
    /// Cancels a task, whose server need not answer.
    pub(crate) fn cancel_task(id: &str) -> Self {
        Self {
            method: Method::CancelTask,
            params: task_params(id).into(),
            options: RequestOptions::default(),
            waiting: Waiting::Nobody,
        }
    }
}

impl Inner {
    async fn get_task(&self, id: &str) -> Result<Task, CallError> {
        self.ask_for(Method::GetTask, task_params(id)).await
    }

    async fn update_task(&self, id: &str, answers: InputResponses) -> Result<(), CallError> {
        let mut params = task_params(id);
        params.insert("inputResponses".to_owned(), Value::Object(answers));
        self.ask_for::<Acknowledged>(Method::UpdateTask, params).await.map(drop)
    }

    async fn ask_for<T: DeserializeOwned>(&self, method: Method, params: Extra) -> Result<T, CallError> {
        let result = self.exchange(method, params, &RequestOptions::default()).await?;
        self.decode(&result)
    }

    /// Tells the server that nobody wants a task any more, without waiting for its answer.
    fn withdraw_task(&self, id: &str) {
        let cancel = Submit::cancel_task(id);
        // Without a driver there is nobody to tell.
        if let Err(TrySendError::Full(cancel)) = self.requests.try_send(cancel)
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let requests = self.requests.clone();
            runtime.spawn(async move { drop(requests.send(cancel).await) });
        }
    }
}

/// Calls a tool and holds on to the task that it may become.
pub(crate) async fn start_call(
    inner: &Arc<Inner>,
    tool: &str,
    arguments: Extra,
    options: &CallOptions,
) -> Result<Started, CallError> {
    match inner.exchange_tool(tool, arguments, options, None).await? {
        Exchanged::Complete(result) => {
            let result = inner.decode(&result)?;
            inner.checked(tool, result).map(Started::Done)
        }
        Exchanged::Task(created) => Ok(Started::Task(TaskHandle::new(
            Arc::clone(inner),
            tool.to_owned(),
            created.task_id,
        ))),
    }
}
