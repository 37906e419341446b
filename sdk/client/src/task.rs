//! Calls that become tasks at their server: follow one to its end, or hold on to it
//! ([SEP-2663](https://modelcontextprotocol.io/seps/2663-tasks-extension)).

use std::collections::BTreeSet;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tokio::sync::mpsc::error::TrySendError;
use tokio::time::Instant;
use trunkline_proto::client::RequestOptions;
use trunkline_types::{
    CallToolResult, ErrorObject, Extra, InputResponses, Method, Progress, ProgressToken, Task, TaskState, code,
};

use crate::call::{CallOptions, Exchanged, MAX_ROUNDS};
use crate::client::Inner;
use crate::feed::FeedWriter;
use crate::ports::{Submit, Waiting};
use crate::{CallError, Called};

/// How long a call that became a task is followed, unless [`CallOptions::task_wait`] says otherwise. Time that
/// the answer to a question of the task's takes does not count.
pub const TASK_WAIT: Duration = Duration::from_secs(3600);
/// The shortest time between two polls, whatever the server says.
pub const MIN_POLL: Duration = Duration::from_millis(100);
/// The longest time between two polls, whatever the server says.
pub const MAX_POLL: Duration = Duration::from_secs(60);
/// The time between two polls where the server says none.
const USUAL_POLL: Duration = Duration::from_secs(1);
/// How many polls in a row may fail before a task is given up.
const MAX_FAILED_POLLS: u32 = 3;

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

/// Cancels a task unless it has ended, also when whoever follows it is dropped.
struct Wanted<'a> {
    inner: &'a Inner,
    id: &'a str,
    ended: bool,
}

impl Drop for Wanted<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.inner.withdraw_task(self.id);
        }
    }
}

/// The questions of a task that are being answered.
struct Answering<'a> {
    keys: BTreeSet<String>,
    since: Instant,
    answers: Pin<Box<dyn Future<Output = Result<InputResponses, ErrorObject>> + Send + 'a>>,
}

/// One task as it is followed.
struct Following<'a> {
    inner: &'a Inner,
    id: &'a str,
    interval: Duration,
    wait: Duration,
    /// When the wait is over; none if no clock can count that far.
    deadline: Option<Instant>,
    /// The keys of all questions that were answered: none is answered twice
    /// ([rule](https://modelcontextprotocol.io/seps/2663-tasks-extension#task-update-requests)).
    answered: BTreeSet<String>,
    rounds: usize,
    failed_polls: u32,
    said: Option<String>,
    progress: Option<FeedWriter<Progress>>,
    signs: u64,
}

impl Inner {
    /// Follows a task that a call became, and cancels it if that ends before the task does.
    pub(crate) async fn follow_call(
        &self,
        created: trunkline_types::CreateTaskResult,
        options: &CallOptions,
        progress: Option<FeedWriter<Progress>>,
    ) -> Result<CallToolResult, CallError> {
        let id = created.task_id;
        let mut wanted = Wanted {
            inner: self,
            id: &id,
            ended: false,
        };
        let wait = options.task_wait.unwrap_or(TASK_WAIT);
        let interval = poll_interval(created.poll_interval_ms);
        let followed = self.follow(&id, interval, wait, progress).await;
        wanted.ended = match &followed {
            Ok(_) => true,
            Err(CallError::Task(error)) => !matches!(error.why, TaskFailure::Overdue(_)),
            Err(_) => false,
        };
        followed
    }

    /// Follows a task; the first poll is so far away.
    async fn follow(
        &self,
        id: &str,
        interval: Duration,
        wait: Duration,
        progress: Option<FeedWriter<Progress>>,
    ) -> Result<CallToolResult, CallError> {
        let following = Following {
            inner: self,
            id,
            interval,
            wait,
            deadline: Instant::now().checked_add(wait),
            answered: BTreeSet::new(),
            rounds: 0,
            failed_polls: 0,
            said: None,
            progress,
            signs: 0,
        };
        following.run().await
    }

    async fn get_task(&self, id: &str) -> Result<Task, CallError> {
        self.ask_for(Method::GetTask, task_params(id)).await
    }

    async fn update_task(&self, id: &str, answers: InputResponses) -> Result<(), CallError> {
        let mut params = task_params(id);
        params.insert("inputResponses".to_owned(), Value::Object(answers));
        self.ask_for::<Acknowledged>(Method::UpdateTask, params).await.map(drop)
    }

    async fn ask_for<T: DeserializeOwned>(&self, method: Method, params: Extra) -> Result<T, CallError> {
        let result = self.exchange(method, params, &RequestOptions::default(), None).await?;
        self.decode(&result)
    }

    /// Tells the server that nobody wants a task any more, without waiting for its answer.
    fn withdraw_task(&self, id: &str) {
        let cancel = Submit {
            method: Method::CancelTask,
            params: task_params(id),
            options: RequestOptions::default(),
            waiting: Waiting::Nobody,
        };
        // Without a driver there is nobody to tell.
        if let Err(TrySendError::Full(cancel)) = self.requests.try_send(cancel)
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let requests = self.requests.clone();
            runtime.spawn(async move { drop(requests.send(cancel).await) });
        }
    }
}

impl<'a> Following<'a> {
    async fn run(mut self) -> Result<CallToolResult, CallError> {
        let mut answering: Option<Answering<'a>> = None;
        loop {
            self.pause(&mut answering).await?;
            let task = match self.inner.get_task(self.id).await {
                Ok(task) => task,
                Err(error) => {
                    self.failed_poll(error)?;
                    self.check_wait(answering.is_some())?;
                    continue;
                }
            };
            self.failed_polls = 0;
            self.interval = poll_interval(task.poll_interval_ms);
            self.tell(task.status_message.as_deref());
            match task.state {
                TaskState::Completed(result) => return read(result),
                TaskState::Failed(error) => return Err(self.over(TaskFailure::Failed(error))),
                TaskState::Cancelled => return Err(self.over(TaskFailure::Cancelled(task.status_message))),
                TaskState::InputRequired(questions) => self.ask(questions, &mut answering)?,
                // What is not known is no end, and the wait is bounded.
                TaskState::Working | TaskState::Other(_) => self.withdraw(&mut answering),
            }
            self.check_wait(answering.is_some())?;
        }
    }

    /// Ends the wait where it is over. As long as a question is being answered, it stands still.
    fn check_wait(&self, stands_still: bool) -> Result<(), CallError> {
        match self.deadline {
            Some(deadline) if !stands_still && deadline <= Instant::now() => {
                Err(self.over(TaskFailure::Overdue(self.wait)))
            }
            _ => Ok(()),
        }
    }

    /// Waits until it is time to poll, and sends answers that are there meanwhile.
    async fn pause(&mut self, answering: &mut Option<Answering<'a>>) -> Result<(), CallError> {
        let poll = Instant::now() + self.interval;
        let Some(running) = answering else {
            let until = self.deadline.map_or(poll, |deadline| deadline.min(poll));
            tokio::time::sleep_until(until).await;
            return Ok(());
        };
        let answers = tokio::select! {
            answers = &mut running.answers => answers,
            () = tokio::time::sleep_until(poll) => return Ok(()),
        };
        let keys = std::mem::take(&mut running.keys);
        self.withdraw(answering);
        let answers = answers.map_err(CallError::Unanswered)?;
        self.answered.extend(keys);
        let updated = self.inner.update_task(self.id, answers).await;
        updated.map_err(|error| self.over(TaskFailure::Unreachable(Box::new(error))))
    }

    /// Answers what was not asked before. While that takes time, the wait stands still.
    fn ask(
        &mut self,
        mut questions: Map<String, Value>,
        answering: &mut Option<Answering<'a>>,
    ) -> Result<(), CallError> {
        if let Some(running) = answering {
            if running.keys.iter().all(|key| questions.contains_key(key)) {
                return Ok(());
            }
            self.withdraw(answering);
        }
        questions.retain(|key, _| !self.answered.contains(key));
        if questions.is_empty() {
            return Ok(());
        }
        if self.rounds == MAX_ROUNDS {
            return Err(CallError::TooManyRounds);
        }
        self.rounds += 1;
        let inner = self.inner;
        *answering = Some(Answering {
            keys: questions.keys().cloned().collect(),
            since: Instant::now(),
            answers: Box::pin(async move { inner.answers.answer_all(&questions).await }),
        });
        Ok(())
    }

    /// Gives up on answers, and lets the wait go on.
    fn withdraw(&mut self, answering: &mut Option<Answering<'a>>) {
        if let Some(withdrawn) = answering.take() {
            let stood_still = withdrawn.since.elapsed();
            self.deadline = self.deadline.and_then(|deadline| deadline.checked_add(stood_still));
        }
    }

    /// Some failures pass, and the task goes on meanwhile.
    fn failed_poll(&mut self, error: CallError) -> Result<(), CallError> {
        self.failed_polls += 1;
        let passes = match &error {
            CallError::Refused(error) => error.code != code::INVALID_PARAMS,
            CallError::TimedOut | CallError::Congested { .. } | CallError::Undelivered(_) => true,
            _ => false,
        };
        if passes && self.failed_polls < MAX_FAILED_POLLS {
            return Ok(());
        }
        Err(self.over(TaskFailure::Unreachable(Box::new(error))))
    }

    /// Passes on what the server says of the task, as a sign of progress.
    fn tell(&mut self, message: Option<&str>) {
        let (Some(feed), Some(message)) = (&self.progress, message) else {
            return;
        };
        if self.said.as_deref() == Some(message) {
            return;
        }
        self.said = Some(message.to_owned());
        self.signs += 1;
        let sign = Progress {
            progress_token: ProgressToken::from(self.id),
            progress: self.signs.into(),
            total: None,
            message: Some(message.to_owned()),
            meta: Extra::new(),
            extra: Extra::new(),
        };
        feed.push(sign, message.len());
    }

    fn over(&self, why: TaskFailure) -> CallError {
        CallError::Task(Box::new(TaskError {
            id: self.id.to_owned(),
            why,
        }))
    }
}

/// The result that the call would have had, its type included.
fn read(mut result: Extra) -> Result<CallToolResult, CallError> {
    result.shift_remove("resultType");
    serde_json::from_value(Value::Object(result))
        .map_err(|error| CallError::Invalid(format!("the task has a result that no tool has: {error}")))
}

fn poll_interval(milliseconds: Option<u64>) -> Duration {
    let wanted = milliseconds.map_or(USUAL_POLL, Duration::from_millis);
    wanted.clamp(MIN_POLL, MAX_POLL)
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
