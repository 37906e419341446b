//! What a tool says about running as a task.

use std::time::Duration;

/// How the calls of a tool run as tasks, for [`Tool::task`](crate::Tool::task).
///
/// A call becomes a task only for a client that declared the extension; see
/// [SEP-2663](https://modelcontextprotocol.io/seps/2663-tasks-extension#capability-negotiation). The handler
/// is the same in either case.
///
/// ```
/// use std::time::Duration;
/// use trunkline_server::{InMemoryTasks, NoArguments, Server, TaskSupport, Tool};
///
/// async fn build(_: NoArguments) -> &'static str {
///     tokio::time::sleep(Duration::from_secs(60)).await;
///     "built"
/// }
///
/// let tool = Tool::new(build).task(TaskSupport::optional().ttl(Duration::from_secs(600)));
/// let server = Server::new("builder", "1.0.0").tasks(InMemoryTasks::new()).tool("build", tool);
/// assert!(server.check().is_ok());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskSupport {
    required: bool,
    on_demand: bool,
    ttl: Option<Duration>,
    poll_interval: Option<Duration>,
}

impl TaskSupport {
    const fn new(required: bool) -> Self {
        Self {
            required,
            on_demand: false,
            ttl: None,
            poll_interval: None,
        }
    }

    /// Its calls are tasks for clients that can follow one. For others they are ordinary calls.
    pub const fn optional() -> Self {
        Self::new(false)
    }

    /// Its calls are tasks only. A client that cannot follow one is refused before the handler runs.
    pub const fn required() -> Self {
        Self::new(true)
    }

    /// A call becomes a task where its handler says so, by
    /// [`Context::continue_as_task`](crate::Context::continue_as_task). What it asks before then is asked as
    /// for an ordinary call, and a handler that ends before then has an ordinary result.
    pub const fn on_demand(mut self) -> Self {
        self.on_demand = true;
        self
    }

    /// How long a task may take, and how long at least what came of it is kept; both from its beginning.
    /// The store has a default and a maximum for it.
    pub const fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = Some(ttl);
        self
    }

    /// How long a client is to wait between two questions about a task. The store has a default for it.
    pub const fn poll_interval(mut self, interval: Duration) -> Self {
        self.poll_interval = Some(interval);
        self
    }

    pub(crate) const fn is_required(&self) -> bool {
        self.required
    }

    pub(crate) const fn is_on_demand(&self) -> bool {
        self.on_demand
    }

    pub(crate) fn ttl_ms(&self) -> Option<u64> {
        self.ttl.map(milliseconds)
    }

    pub(crate) fn poll_interval_ms(&self) -> Option<u64> {
        self.poll_interval.map(milliseconds)
    }
}

/// Whole milliseconds, at least one: the wire has nothing between and no zero.
pub(crate) fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX).max(1)
}
