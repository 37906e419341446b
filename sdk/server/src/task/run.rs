//! Running the handler of a task: beside its request, and beyond it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;
use trunkline_types::{CallToolResult, ErrorObject, Method, Task, TaskState};

use super::Tasks;
use super::live::{Live, News, now};
use super::store::TaskStoreError;
use crate::attempts::{Attempt, Attempts, Stop, no_randomness};
use crate::context::{Origin, random_name};
use crate::dispatch::{conclude, unwritable};
use crate::input::{Wanted, Wish, shown_key};
use crate::panics::{Panicked, caught_to_end, panicked};
use crate::registry::Registry;
use crate::tool::Registered;
use crate::{Context, Reply, ToolError};

/// A call that runs.
pub(crate) type ToolAttempt = Attempt<Result<CallToolResult, ToolError>>;

/// A call of a tool, with all that it takes to run it.
pub(crate) struct Job {
    pub(crate) registry: Arc<Registry>,
    pub(crate) tool: Arc<Registered>,
    pub(crate) origin: Arc<Origin>,
    pub(crate) arguments: Value,
    pub(crate) attempts: Attempts,
}

impl Job {
    pub(crate) fn begin(&mut self, task: Option<Arc<Live>>) -> Result<ToolAttempt, ErrorObject> {
        let (tool, arguments) = (&self.tool, &self.arguments);
        let start = |context: &Context| Ok(tool.start(arguments.clone(), context));
        self.attempts.begin(&self.origin, task, start)
    }

    pub(crate) fn conclude(&self, result: Result<CallToolResult, ToolError>) -> Reply {
        conclude(&self.registry.config.shape(self.origin.profile), &self.tool, result)
    }
}

/// Why a handler was ended.
enum Ended {
    /// By whoever cancelled the task, who wrote that down too.
    Cancelled,
    OutOfTime,
    ShuttingDown,
}

/// Makes a task of a call that starts now, or runs already. Returns the task once the store has it.
pub(super) async fn start(tasks: &Arc<Tasks>, job: Job, running: Option<ToolAttempt>) -> Result<Task, ErrorObject> {
    if *tasks.closing.borrow() {
        return Err(shutting_down());
    }
    let support = job.tool.task_support();
    let at = now();
    let task = Task {
        // 128 bits that nobody can guess
        // (https://modelcontextprotocol.io/seps/2663-tasks-extension#security-implications).
        task_id: random_name().ok_or_else(no_randomness)?,
        state: TaskState::Working,
        status_message: None,
        created_at: at.clone(),
        last_updated_at: at,
        ttl_ms: support.and_then(|support| support.ttl_ms()),
        poll_interval_ms: support.and_then(|support| support.poll_interval_ms()),
        meta: trunkline_types::Meta::new(),
        extra: trunkline_types::Extra::new(),
    };
    let (created, creation) = oneshot::channel();
    // From here on nothing depends on whether the client still waits: what the store was told is seen through.
    tokio::spawn(create(Arc::clone(tasks), job, running, task, created));
    creation.await.map_err(|_| shutting_down())?.map_err(ErrorObject::from)
}

async fn create(
    tasks: Arc<Tasks>,
    job: Job,
    running: Option<ToolAttempt>,
    task: Task,
    created: oneshot::Sender<Result<Task, TaskStoreError>>,
) {
    let principal = job.origin.principal.clone();
    let born = Instant::now();
    let task = match tasks.store.create(&principal, task).await {
        Ok(task) => task,
        // The call has its answer by this, or nobody waits for it.
        Err(error) => return drop(created.send(Err(error))),
    };
    let live = Arc::new(Live::new(principal, task.clone()));
    tasks.enter(&live);
    if let Some(running) = &running {
        running.decide(Some(Arc::clone(&live)));
    }
    let lifetime = task.ttl_ms.map(Duration::from_millis);
    let runner = Runner {
        closing: tasks.closing.subscribe(),
        deadline: lifetime.and_then(|lifetime| born.checked_add(lifetime)),
        tasks,
        live,
        job,
        shown: HashMap::new(),
    };
    if created.send(Ok(task)).is_err() {
        // The call was cancelled before its client knew of the task: nobody could ever ask for it. A store
        // that does not take this keeps it until its time is over.
        let _ = runner.tasks.cancel_live(&runner.live).await;
        runner.live.stop();
    }
    // A handler that blocks must not hold up the answer that tells of its task.
    tokio::task::yield_now().await;
    runner.run(running).await;
}

struct Runner {
    tasks: Arc<Tasks>,
    live: Arc<Live>,
    job: Job,
    deadline: Option<Instant>,
    closing: watch::Receiver<bool>,
    /// What the client knows each question by, and its key.
    shown: HashMap<String, String>,
}

/// Also where a store panics: nothing is left that the end of the server waits for.
impl Drop for Runner {
    fn drop(&mut self) {
        self.tasks.leave(&self.live);
    }
}

impl Runner {
    async fn run(mut self, running: Option<ToolAttempt>) {
        let ended = match caught_to_end(self.drive(running)).await {
            Ok(ended) => ended,
            Err(Panicked) => Ok(Err(panicked(Method::CallTool))),
        };
        self.settle(ended).await;
    }

    /// Runs attempt after attempt until one is done, or the task is over.
    async fn drive(&mut self, running: Option<ToolAttempt>) -> Result<Reply, Ended> {
        let mut next = running;
        loop {
            let begun = match next.take() {
                Some(running) => Ok(running),
                None => self.job.begin(Some(Arc::clone(&self.live))),
            };
            let mut attempt = match begun {
                Ok(attempt) => attempt,
                Err(error) => return Ok(Err(error)),
            };
            let wanted = match self.watched(attempt.stop()).await? {
                Stop::Done(result) => return Ok(self.job.conclude(result)),
                Stop::Wishes(Wish::Answers(wanted)) => wanted,
                Stop::Wishes(Wish::Task) => {
                    attempt.decide(Some(Arc::clone(&self.live)));
                    next = Some(attempt);
                    continue;
                }
            };
            let asked = match self.job.attempts.next_round(attempt).and_then(|()| self.show(wanted)) {
                Ok(asked) => self.change(|task| task.state = TaskState::InputRequired(asked)).await,
                Err(error) => return Ok(Err(error)),
            };
            if let Err(error) = asked {
                return Ok(Err(error.into()));
            }
            let answers = self.watched(self.live.answers()).await?;
            let shown = &self.shown;
            let answered = answers
                .into_iter()
                .filter_map(|(key, answer)| Some((shown.get(&key)?.clone(), answer)));
            self.job.attempts.take_answers(answered.collect());
        }
    }

    /// The questions as the client sees them. A name that stood for another question before is not used again
    /// ([rule](https://modelcontextprotocol.io/seps/2663-tasks-extension#task-update-requests)).
    fn show(&mut self, wanted: Vec<Wanted>) -> Result<Map<String, Value>, ErrorObject> {
        let mut questions = Map::new();
        for (key, question) in wanted {
            let name = shown_key(&key);
            let is_taken = self.shown.get(name).is_some_and(|other| *other != key);
            let shown = if is_taken { &key } else { name }.to_owned();
            questions.insert(shown.clone(), serde_json::to_value(&question).map_err(unwritable)?);
            self.shown.insert(shown, key);
        }
        Ok(questions)
    }

    /// Does something as long as the task is wanted, and tells meanwhile what the handler says.
    async fn watched<T>(&self, work: impl Future<Output = T>) -> Result<T, Ended> {
        let mut work = std::pin::pin!(work);
        let mut closing = std::pin::pin!(closed(self.closing.clone()));
        let mut time = std::pin::pin!(reached(self.deadline));
        loop {
            tokio::select! {
                biased;
                news = self.live.news() => match news {
                    News::Over => return Err(Ended::Cancelled),
                    // A message that cannot be kept is lost; the state that follows is what counts.
                    News::Message(message) => drop(self.change(|task| task.status_message = Some(message)).await),
                },
                () = &mut closing => return Err(Ended::ShuttingDown),
                done = &mut work => return Ok(done),
                () = &mut time => return Err(Ended::OutOfTime),
            }
        }
    }

    async fn change(&self, with: impl FnOnce(&mut Task) + Send) -> Result<bool, TaskStoreError> {
        self.live.change(&self.tasks, with).await
    }

    /// Writes down how it ended.
    async fn settle(&self, ended: Result<Reply, Ended>) {
        let state = match ended {
            Err(Ended::Cancelled) => return,
            Ok(reply) => outcome(reply),
            Err(Ended::OutOfTime) => TaskState::Failed(ErrorObject::internal("the time of the task is over")),
            Err(Ended::ShuttingDown) => TaskState::Failed(shutting_down()),
        };
        if let Err(error) = self.end_as(state).await {
            // A result that has no room fails the task. A store that does not take even that has told its
            // reason for the last time: the task is over for it when its time is.
            let _ = self.end_as(TaskState::Failed(error.into())).await;
        }
    }

    async fn end_as(&self, state: TaskState) -> Result<bool, TaskStoreError> {
        self.change(|task| {
            task.state = state;
            // It told of work that is over.
            task.status_message = None;
        })
        .await
    }
}

/// What the request would have been answered is what the task ends with
/// ([rule](https://modelcontextprotocol.io/seps/2663-tasks-extension#task-execution-errors)).
fn outcome(reply: Reply) -> TaskState {
    let result = reply.and_then(|result| result.read().map_err(|error| ErrorObject::internal(error.to_string())));
    match result {
        Ok(result) => TaskState::Completed(result),
        Err(error) => TaskState::Failed(error),
    }
}

fn shutting_down() -> ErrorObject {
    ErrorObject::internal("the server is shutting down")
}

async fn closed(mut closing: watch::Receiver<bool>) {
    // An error says that nobody is left who could close it, which is as good as closed.
    drop(closing.wait_for(|closing| *closing).await);
}

async fn reached(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
