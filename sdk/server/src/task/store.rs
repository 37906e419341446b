//! Where tasks are kept.

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use trunkline_types::{ErrorObject, Task};

/// What the functions of a [`TaskStore`] return.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, TaskStoreError>> + Send + 'a>>;

/// Keeps tasks, so that a client can ask for one as long as it lives.
///
/// A task belongs to the principal that it was created for; where nobody is authenticated, that is the empty
/// text, and the id is what protects it: 128 random bits. A store keeps every task at least until its
/// `ttl_ms` is over, counted from its creation, and may forget it afterwards
/// ([lifetime](https://modelcontextprotocol.io/seps/2663-tasks-extension#tasks)).
///
/// The handler of a task runs in the process that created it. Processes that share a store see each other's
/// tasks and can cancel them; answers to a task's questions must reach the process that runs it, for which
/// the `Mcp-Name` header of HTTP carries the id. What a process leaves behind when it dies stays `working` in
/// its store until the time of the task is over.
///
/// Each of the functions has ten seconds. One that takes longer is dropped and has failed; what it writes
/// nevertheless is bound by the rules all the same.
///
/// [`InMemoryTasks`](crate::InMemoryTasks) is the one that comes along.
pub trait TaskStore: Send + Sync + 'static {
    /// Keeps a new task, and returns it as it is kept: with a lifetime and a polling interval, which it may
    /// come without. When this returns, [`get`](Self::get) finds it
    /// ([creation](https://modelcontextprotocol.io/seps/2663-tasks-extension#task-creation)).
    ///
    /// # Errors
    /// [`TaskStoreError::Full`] or [`TaskStoreError::Failed`].
    fn create<'a>(&'a self, principal: &'a str, task: Task) -> StoreFuture<'a, Task>;

    /// The task of that principal with that id.
    ///
    /// # Errors
    /// [`TaskStoreError::Unknown`] alike for one that never was, one that is forgotten and one of another
    /// principal; [`TaskStoreError::Failed`].
    fn get<'a>(&'a self, principal: &'a str, id: &'a str) -> StoreFuture<'a, Task>;

    /// Keeps a task in place of the one with its id, unless that one has ended: a terminal state never
    /// changes. Looking and writing must be one step.
    ///
    /// # Errors
    /// As [`get`](Self::get); [`TaskStoreError::Ended`] for one that has ended; [`TaskStoreError::Full`].
    fn update<'a>(&'a self, principal: &'a str, task: Task) -> StoreFuture<'a, ()>;
}

/// How long a store may take.
const WAIT: Duration = Duration::from_secs(10);

/// A store that is not waited for without end.
pub(super) struct Bounded(Box<dyn TaskStore>);

impl Bounded {
    pub(super) fn new(store: impl TaskStore) -> Self {
        Self(Box::new(store))
    }

    pub(super) async fn create(&self, principal: &str, task: Task) -> Result<Task, TaskStoreError> {
        bounded(self.0.create(principal, task)).await
    }

    pub(super) async fn get(&self, principal: &str, id: &str) -> Result<Task, TaskStoreError> {
        bounded(self.0.get(principal, id)).await
    }

    pub(super) async fn update(&self, principal: &str, task: Task) -> Result<(), TaskStoreError> {
        bounded(self.0.update(principal, task)).await
    }
}

async fn bounded<T>(asked: StoreFuture<'_, T>) -> Result<T, TaskStoreError> {
    let late = |_| TaskStoreError::Failed(format!("the store did not answer within {} s", WAIT.as_secs()));
    tokio::time::timeout(WAIT, asked).await.map_err(late)?
}

/// Why a store did not do what it was asked to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TaskStoreError {
    /// There is no such task for this principal, or none any more.
    Unknown,
    /// The task has ended, so it does not change any more.
    Ended,
    /// There is no room; which bound was reached.
    Full(String),
    /// The store itself failed.
    Failed(String),
}

impl fmt::Display for TaskStoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("there is no such task: it never was, is over and forgotten, or is not yours"),
            Self::Ended => f.write_str("the task has ended"),
            Self::Full(bound) => write!(f, "no room for tasks: {bound}; try again later"),
            Self::Failed(why) => write!(f, "the tasks cannot be reached: {why}"),
        }
    }
}

impl std::error::Error for TaskStoreError {}

/// An unknown task is a mistake of the client's
/// ([errors](https://modelcontextprotocol.io/seps/2663-tasks-extension#protocol-errors)).
impl From<TaskStoreError> for ErrorObject {
    fn from(error: TaskStoreError) -> Self {
        match error {
            TaskStoreError::Unknown | TaskStoreError::Ended => Self::invalid_params(error.to_string()),
            TaskStoreError::Full(_) | TaskStoreError::Failed(_) => Self::internal(error.to_string()),
        }
    }
}
