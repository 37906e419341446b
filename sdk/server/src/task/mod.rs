//! The tasks extension
//! ([SEP-2663](https://modelcontextprotocol.io/seps/2663-tasks-extension)): calls that go on after their
//! first answer.
//!
//! A call becomes a task in one of two places: before its handler starts, or where the handler says so. Its
//! handler then runs in a task of the runtime's, [`run`], until it is done, asks, or is ended. [`Live`] is the
//! one place where the state of such a task changes; the store has what everybody else sees.

mod live;
mod memory;
mod run;
mod store;
mod support;
mod watched;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{broadcast, watch};
use trunkline_proto::Shape;
use trunkline_proto::server::decode;
use trunkline_types::{EmptyResult, ErrorObject, Extension, ResultType, TaskParams, TaskState, UpdateTaskParams, code};

pub(crate) use live::Live;
pub use memory::InMemoryTasks;
pub(crate) use run::Job;
use store::Bounded;
pub use store::{StoreFuture, TaskStore, TaskStoreError};
pub use support::TaskSupport;
pub(crate) use watched::WatchedTasks;

use crate::attempts::{Asking, Stop};
use crate::dispatch::unwritable;
use crate::input::Wish;
use crate::registry::Registry;
use crate::tool::Registered;
use crate::{Reply, ServerRequest};
use run::ToolAttempt;

/// How long tasks have to end in order when the server does.
const GRACE: Duration = Duration::from_secs(5);
/// How many changes of tasks a connection may lag behind before it is told anew how those stand that it
/// listens to.
const CHANGES_HELD: usize = 256;

/// The tasks of a server.
pub(crate) struct Tasks {
    store: Bounded,
    /// Those whose handlers run here, by id.
    live: Mutex<HashMap<String, Arc<Live>>>,
    /// How many these are.
    count: watch::Sender<usize>,
    /// Whether no more are started, and those that run are ended.
    closing: watch::Sender<bool>,
    changes: broadcast::Sender<TaskChange>,
}

/// A task that has changed, and whose it is.
#[derive(Debug, Clone)]
struct TaskChange {
    principal: String,
    id: String,
}

impl fmt::Debug for Tasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tasks")
            .field("live", &self.live)
            .finish_non_exhaustive()
    }
}

impl Tasks {
    pub(crate) fn new(store: impl TaskStore) -> Self {
        Self {
            store: Bounded::new(store),
            live: Mutex::default(),
            count: watch::Sender::new(0),
            closing: watch::Sender::new(false),
            changes: broadcast::Sender::new(CHANGES_HELD),
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Live>>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, live: &Arc<Live>) {
        let mut all = self.lock();
        all.insert(live.id.clone(), Arc::clone(live));
        self.count.send_replace(all.len());
    }

    fn leave(&self, live: &Live) {
        let mut all = self.lock();
        all.remove(&live.id);
        self.count.send_replace(all.len());
    }

    fn find_live(&self, principal: &str, id: &str) -> Option<Arc<Live>> {
        let all = self.lock();
        all.get(id).filter(|live| live.principal == principal).cloned()
    }

    /// Starts no more tasks and ends those that run.
    pub(crate) fn close(&self) {
        self.closing.send_replace(true);
    }

    /// The same, and waits until they have ended, for a bounded time: a store may hang, a handler may block.
    pub(crate) async fn ended(&self) {
        self.close();
        let mut count = self.count.subscribe();
        let none = count.wait_for(|count| *count == 0);
        drop(tokio::time::timeout(GRACE, none).await);
    }

    /// Makes a task of a call, which may run already.
    pub(crate) async fn start(self: &Arc<Self>, job: Job, running: Option<ToolAttempt>, shape: &Shape<'_>) -> Reply {
        let mut created = run::start(self, job, running).await?.created();
        shape.write(&mut created, &ResultType::Task).map_err(unwritable)
    }

    /// Ends a task that runs here.
    async fn cancel_live(&self, live: &Live) -> Result<(), TaskStoreError> {
        let cancelled = live.change(self, |task| {
            task.state = TaskState::Cancelled;
            task.status_message = Some("cancelled on request".to_owned());
        });
        // One that has ended meanwhile stays as it ended.
        if cancelled.await? {
            live.stop();
        }
        Ok(())
    }

    async fn cancel(self: Arc<Self>, principal: String, id: String) -> Result<(), TaskStoreError> {
        if let Some(live) = self.find_live(&principal, &id) {
            return self.cancel_live(&live).await;
        }
        let mut task = self.store.get(&principal, &id).await?;
        if task.state.is_terminal() {
            return Ok(());
        }
        // It runs in another process, or did before that one died. What it comes to there is not taken any more.
        task.state = TaskState::Cancelled;
        task.last_updated_at = live::now();
        match self.store.update(&principal, task).await {
            Ok(()) => {
                self.tell(&principal, &id);
                Ok(())
            }
            Err(TaskStoreError::Ended) => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn answer(self: Arc<Self>, principal: String, params: UpdateTaskParams) -> Result<(), ErrorObject> {
        if let Some(live) = self.find_live(&principal, &params.task_id) {
            return live.answer(&self, params.input_responses).await;
        }
        let task = self.store.get(&principal, &params.task_id).await?;
        if task.state.is_terminal() {
            return Ok(());
        }
        Err(ErrorObject::internal(
            "the task does not run in this process, which cannot bring it an answer",
        ))
    }

    /// Tells whoever listens that a task has changed, once the store has it.
    fn tell(&self, principal: &str, id: &str) {
        let change = TaskChange {
            principal: principal.to_owned(),
            id: id.to_owned(),
        };
        // Nobody listens: nobody misses it.
        let _ = self.changes.send(change);
    }
}

/// How a call runs.
pub(crate) enum Mode {
    /// As an ordinary call.
    Inline,
    /// As a task: from the start, or from where its handler says so.
    Task { tasks: Arc<Tasks>, on_demand: bool },
}

/// How a call of this tool runs, if it can for this client.
pub(crate) fn mode(request: &ServerRequest, registry: &Registry, tool: &Registered) -> Result<Mode, ErrorObject> {
    let Some(support) = tool.task_support() else {
        return Ok(Mode::Inline);
    };
    let origin = &request.origin;
    let defined = origin.profile.tasks_extension;
    let can_follow = defined && origin.client.capabilities.has_extension(Extension::Tasks);
    match registry.tasks.as_ref().filter(|_| can_follow) {
        Some(tasks) => Ok(Mode::Task {
            tasks: Arc::clone(tasks),
            on_demand: support.is_on_demand(),
        }),
        None if !support.is_required() => Ok(Mode::Inline),
        // What a revision with legacy tasks says of a tool that runs as a task only
        // (https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks#tool-level-negotiation).
        None if !defined => Err(ErrorObject::new(
            code::METHOD_NOT_FOUND,
            "this tool runs as a task only, and this revision of the protocol has no such tasks",
        )),
        // (https://modelcontextprotocol.io/seps/2663-tasks-extension#capability-negotiation)
        None if !can_follow => Err(ErrorObject::missing_extension(Extension::Tasks)),
        None => Err(no_store()),
    }
}

/// Runs a call until it is done, asks, or becomes a task because its handler says so.
pub(crate) async fn run_on_demand(tasks: &Arc<Tasks>, mut job: Job, asking: &Asking<'_>) -> Reply {
    loop {
        let mut attempt = job.begin(None)?;
        match attempt.stop().await {
            Stop::Done(result) => return job.conclude(result),
            Stop::Wishes(Wish::Task) => return tasks.start(job, Some(attempt), asking.shape).await,
            Stop::Wishes(Wish::Answers(wanted)) => {
                job.attempts.next_round(attempt)?;
                if let Some(reply) = job.attempts.ask(asking, wanted).await? {
                    return Ok(reply);
                }
            }
        }
    }
}

/// The tasks of the server, without which none of the methods below is reached.
fn tasks(registry: &Registry) -> Result<&Arc<Tasks>, ErrorObject> {
    registry.tasks.as_ref().ok_or_else(no_store)
}

fn no_store() -> ErrorObject {
    ErrorObject::internal("this server keeps no tasks")
}

/// `tasks/get` ([polling](https://modelcontextprotocol.io/seps/2663-tasks-extension#task-polling)).
pub(crate) async fn get(request: &ServerRequest, registry: &Registry, shape: &Shape<'_>) -> Reply {
    let params: TaskParams = decode(request.params.as_deref())?;
    let store = &tasks(registry)?.store;
    let mut task = store.get(&request.origin.principal, &params.task_id).await?;
    shape.complete(&mut task).map_err(unwritable)
}

/// `tasks/update` ([update](https://modelcontextprotocol.io/seps/2663-tasks-extension#task-update-requests)).
pub(crate) async fn update(request: &ServerRequest, registry: &Registry, shape: &Shape<'_>) -> Reply {
    let params: UpdateTaskParams = decode(request.params.as_deref())?;
    let answering = Arc::clone(tasks(registry)?).answer(request.origin.principal.clone(), params);
    seen_through(answering).await??;
    acknowledged(shape)
}

/// `tasks/cancel` ([cancellation](https://modelcontextprotocol.io/seps/2663-tasks-extension#task-cancellation)).
pub(crate) async fn cancel(request: &ServerRequest, registry: &Registry, shape: &Shape<'_>) -> Reply {
    let params: TaskParams = decode(request.params.as_deref())?;
    let cancelling = Arc::clone(tasks(registry)?).cancel(request.origin.principal.clone(), params.task_id);
    seen_through(cancelling).await??;
    acknowledged(shape)
}

/// A change of a task is seen through, whatever becomes of the request that caused it: half of it would be
/// in the store and half here.
async fn seen_through<T: Send + 'static>(change: impl Future<Output = T> + Send + 'static) -> Result<T, ErrorObject> {
    let changed = tokio::spawn(change).await;
    changed.map_err(|error| ErrorObject::internal(format!("the task was not changed: {error}")))
}

fn acknowledged(shape: &Shape<'_>) -> Reply {
    shape.complete(&mut EmptyResult::default()).map_err(unwritable)
}
