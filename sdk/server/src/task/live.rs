//! A task whose handler runs in this process: the one place where its state changes.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value};
use tokio::sync::Notify;
use trunkline_types::{ErrorObject, InputResponses, Task, TaskState, rfc3339};

use super::Tasks;
use super::store::TaskStoreError;
use crate::attempts::check_answers;

/// The longest message about how a task stands, in bytes. Longer ones are cut.
const MAX_MESSAGE: usize = 1024;
/// Bytes of JSON that all answers to one task's questions may have together.
pub(crate) const MAX_ANSWERS: usize = 1024 * 1024;

/// A task and what is on its way to its handler.
#[derive(Debug)]
pub(crate) struct Live {
    pub(crate) principal: String,
    pub(crate) id: String,
    /// As the store has it. Held while it is written, so that changes come one after the other.
    task: tokio::sync::Mutex<Task>,
    inbox: Mutex<Inbox>,
    news: Notify,
    answered: Notify,
}

#[derive(Debug, Default)]
struct Inbox {
    /// What the handler said last and nobody was told yet.
    message: Option<String>,
    /// The answers to all questions that were asked last, once they are complete.
    answers: Option<Map<String, Value>>,
    /// Answers to some of them.
    partial: Map<String, Value>,
    bytes: usize,
    /// Nobody wants the handler to go on.
    over: bool,
}

/// What woke the runner of a task.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// The task is over, by somebody else.
    Over,
    /// The handler says how it stands.
    Message(String),
}

impl Live {
    pub(crate) fn new(principal: String, task: Task) -> Self {
        Self {
            principal,
            id: task.task_id.clone(),
            task: tokio::sync::Mutex::new(task),
            inbox: Mutex::default(),
            news: Notify::new(),
            answered: Notify::new(),
        }
    }

    fn inbox(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes how the task stands, for people. Only the last of several quick messages is told.
    pub(crate) fn say(&self, message: &str) {
        let mut end = message.len().min(MAX_MESSAGE);
        while !message.is_char_boundary(end) {
            end -= 1;
        }
        self.inbox().message = Some(message[..end].to_owned());
        self.news.notify_one();
    }

    /// Ends the handler; what it still returns is not wanted.
    pub(crate) fn stop(&self) {
        self.inbox().over = true;
        self.news.notify_one();
    }

    /// The next thing that its runner must hear of.
    pub(crate) async fn news(&self) -> News {
        loop {
            {
                let mut inbox = self.inbox();
                if inbox.over {
                    return News::Over;
                }
                if let Some(message) = inbox.message.take() {
                    return News::Message(message);
                }
            }
            self.news.notified().await;
        }
    }

    /// The answers to all questions that were asked last.
    pub(crate) async fn answers(&self) -> Map<String, Value> {
        loop {
            if let Some(answers) = self.inbox().answers.take() {
                return answers;
            }
            self.answered.notified().await;
        }
    }

    /// Changes the task in the store and tells whoever listens. Whether it did: a task that has ended does
    /// not change.
    pub(crate) async fn change(
        &self,
        tasks: &Tasks,
        with: impl FnOnce(&mut Task) + Send,
    ) -> Result<bool, TaskStoreError> {
        let mut held = self.task.lock().await;
        if held.state.is_terminal() {
            return Ok(false);
        }
        let mut next = held.clone();
        with(&mut next);
        self.write(tasks, &mut held, next).await
    }

    async fn write(&self, tasks: &Tasks, held: &mut Task, mut next: Task) -> Result<bool, TaskStoreError> {
        next.last_updated_at = now();
        match tasks.store.update(&self.principal, next.clone()).await {
            Ok(()) => {}
            // Another process that shares the store has ended it, or its time is over.
            Err(TaskStoreError::Ended) => {
                self.stop();
                return Ok(false);
            }
            Err(error) => {
                if error == TaskStoreError::Unknown {
                    self.stop();
                }
                return Err(error);
            }
        }
        tasks.tell(&self.principal, &self.id);
        *held = next;
        Ok(true)
    }

    /// Takes answers to what the task asks. Those to anything else are ignored
    /// ([rule](https://modelcontextprotocol.io/seps/2663-tasks-extension#task-update-requests)).
    pub(crate) async fn answer(&self, tasks: &Tasks, responses: InputResponses) -> Result<(), ErrorObject> {
        let mut held = self.task.lock().await;
        let TaskState::InputRequired(asked) = &held.state else {
            return Ok(());
        };
        let given: Map<String, Value> = responses
            .into_iter()
            .filter(|(key, _)| asked.contains_key(key))
            .collect();
        if given.is_empty() {
            return Ok(());
        }
        check_answers(&given)?;
        let bytes = given.values().map(|answer| answer.to_string().len()).sum::<usize>();
        if self.inbox().bytes + bytes > MAX_ANSWERS {
            return Err(ErrorObject::invalid_params(format!(
                "the answers to one task may have {MAX_ANSWERS} bytes together"
            )));
        }
        let mut left = asked.clone();
        left.retain(|key, _| !given.contains_key(key));
        let complete = left.is_empty();
        let mut next = held.clone();
        next.state = if complete {
            TaskState::Working
        } else {
            TaskState::InputRequired(left)
        };
        if !self.write(tasks, &mut held, next).await? {
            return Ok(());
        }
        let mut inbox = self.inbox();
        inbox.bytes += bytes;
        inbox.partial.extend(given);
        if complete {
            inbox.answers = Some(std::mem::take(&mut inbox.partial));
            self.answered.notify_one();
        }
        Ok(())
    }
}

/// The time, as tasks tell it.
pub(crate) fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    rfc3339(
        i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
        since.subsec_micros(),
    )
}
