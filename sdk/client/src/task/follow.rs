//! Following a task to its end: polls, questions, and when to give up
//! ([polling](https://modelcontextprotocol.io/seps/2663-tasks-extension#task-polling)).

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::time::Instant;
use trunkline_types::{
    CallToolResult, CreateTaskResult, ErrorObject, Extra, InputResponses, Progress, ProgressToken, TaskState, code,
};

use super::{TASK_WAIT, TaskError, TaskFailure};
use crate::CallError;
use crate::call::{CallOptions, MAX_ROUNDS};
use crate::client::Inner;
use crate::feed::FeedWriter;

/// The shortest time between two polls, whatever the server says.
pub const MIN_POLL: Duration = Duration::from_millis(100);
/// The longest time between two polls, whatever the server says.
pub const MAX_POLL: Duration = Duration::from_secs(60);
/// The time between two polls where the server says none.
const USUAL_POLL: Duration = Duration::from_secs(1);
/// How many polls, or updates with answers, may fail in a row before a task is given up.
const MAX_FAILURES: u32 = 3;

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
    failures: u32,
    said: Option<String>,
    progress: Option<FeedWriter<Progress>>,
    signs: u64,
}

impl Inner {
    /// Follows a task that a call became, and cancels it if that ends before the task does.
    pub(crate) async fn follow_call(
        &self,
        created: CreateTaskResult,
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
    pub(super) async fn follow(
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
            failures: 0,
            said: None,
            progress,
            signs: 0,
        };
        following.run().await
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
                    self.failed(error)?;
                    self.check_wait(answering.is_some())?;
                    continue;
                }
            };
            self.failures = 0;
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
        self.send_answers(answers).await
    }

    /// Sends answers, and again where that failed in a way that passes. The server ignores what it took before
    /// ([rule](https://modelcontextprotocol.io/seps/2663-tasks-extension#task-update-requests)).
    async fn send_answers(&mut self, answers: InputResponses) -> Result<(), CallError> {
        while let Err(error) = self.inner.update_task(self.id, answers.clone()).await {
            self.failed(error)?;
            tokio::time::sleep(self.interval).await;
        }
        self.failures = 0;
        Ok(())
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
    fn failed(&mut self, error: CallError) -> Result<(), CallError> {
        self.failures += 1;
        let passes = match &error {
            CallError::Refused(error) => error.code != code::INVALID_PARAMS,
            CallError::TimedOut | CallError::Congested { .. } | CallError::Undelivered(_) => true,
            _ => false,
        };
        if passes && self.failures < MAX_FAILURES {
            // The first poll may have been without a wait, the next one is not.
            self.interval = self.interval.max(USUAL_POLL);
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
