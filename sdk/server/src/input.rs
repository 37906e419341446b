//! Questions to the client: what a handler may ask, and how an answer reaches it.
//!
//! A handler asks and waits. Where the answer is not there yet, the handler is dropped, the client is
//! asked, and the handler starts again with the answer. So it must be restartable up to where it asks:
//! change nothing before the last question.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, Waker};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tokio::sync::oneshot;
use trunkline_proto::Sealer;
use trunkline_types::{ClientFeature, ElicitAction, ElicitResult, ErrorObject, Extra, InputRequest};

use crate::task::Live;

/// How often a question may differ from the one that was answered before it is given up.
const MAX_CHANGES: usize = 3;
/// The longest name of a question, in bytes.
const MAX_NAME: usize = 64;
/// Stands between the name of a question and the mark of what was shown; the client sees the name alone.
const MARKED: char = '#';

/// What the person answered.
#[derive(Debug, Clone, PartialEq)]
pub enum Elicited<T> {
    /// The filled-in form.
    Accepted(T),
    /// The person said no.
    Declined,
    /// The person went away without an answer.
    Cancelled,
}

/// Why a question got no answer.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum InputError {
    /// The client cannot be asked this.
    NotSupported {
        /// What it would need.
        feature: ClientFeature,
        /// The capabilities to declare, where the revision has an error for that.
        required: Option<Value>,
    },
    /// The person said no.
    Declined,
    /// The person went away without an answer.
    Cancelled,
    /// The client refused to ask, or failed.
    Refused(String),
    /// The answer does not fit the question.
    Unreadable(String),
    /// The question cannot be put like this, by the fault of who asks.
    Unusable(String),
    /// Only a tool, a prompt or a resource may ask, not what runs around it.
    NotHere,
    /// The question was another one at each attempt.
    Changing,
    /// The request was answered, cancelled or started again meanwhile.
    Over,
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSupported { feature, .. } => {
                write!(
                    f,
                    "this client cannot be asked: it does not support {}",
                    feature_name(*feature)
                )
            }
            Self::Declined => f.write_str("the person declined"),
            Self::Cancelled => f.write_str("the person did not answer"),
            Self::Refused(why) => write!(f, "the client did not answer: {why}"),
            Self::Unreadable(why) => write!(f, "the answer does not fit the question: {why}"),
            Self::Unusable(why) => write!(f, "the question cannot be put like this: {why}"),
            Self::NotHere => f.write_str(
                "this request may not ask its client: only the handlers of tools, prompts and resources may",
            ),
            Self::Changing => f.write_str(
                "the question changes each time it is asked; keep what it shows the same, \
                 for example read it once before asking",
            ),
            Self::Over => f.write_str("this attempt at the request is over"),
        }
    }
}

impl std::error::Error for InputError {}

fn feature_name(feature: ClientFeature) -> &'static str {
    match feature {
        ClientFeature::Roots => "roots",
        ClientFeature::Sampling => "sampling",
        ClientFeature::Elicitation => "elicitation",
    }
}

impl InputError {
    /// The protocol error that the revision requires, if it requires one
    /// ([rule](https://modelcontextprotocol.io/specification/2026-07-28/basic/index#meta)).
    pub(crate) fn to_protocol(&self) -> Option<ErrorObject> {
        let Self::NotSupported {
            required: Some(required),
            ..
        } = self
        else {
            return None;
        };
        Some(ErrorObject::missing_client_capability(self.to_string(), required))
    }
}

impl From<InputError> for ErrorObject {
    fn from(error: InputError) -> Self {
        error.to_protocol().unwrap_or_else(|| Self::internal(error.to_string()))
    }
}

/// A question on its way to the client, and the key of its answer.
pub(crate) type Wanted = (String, InputRequest);

/// The key as the client sees it: a named question shows its name only.
pub(crate) fn shown_key(key: &str) -> &str {
    key.split_once(MARKED).map_or(key, |(name, _)| name)
}

/// What an answer is kept under that came without a question, if that is a name for one: no mark, as nothing was
/// shown.
pub(crate) fn brought_key(name: &str) -> Option<String> {
    check_name(name).ok()?;
    Some(format!("{name}{MARKED}"))
}

/// A name may not look like the key of a question without one, which begins with its place.
fn check_name(name: &str) -> Result<(), InputError> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.len() <= MAX_NAME && name.chars().all(fits) {
        return Ok(());
    }
    Err(InputError::Unusable(format!(
        "its name must have 1 to {MAX_NAME} letters, digits, `_`, `-` or `.`, and begin with a letter"
    )))
}

/// An answer, or what to wait for: it never gets a message, and closes when the attempt is over.
#[derive(Debug)]
pub(crate) enum Next {
    Answer(Value),
    Wait(oneshot::Receiver<()>),
}

/// Whether a request goes on as a task.
#[derive(Debug)]
pub(crate) enum Continued {
    Known(bool),
    /// To be heard from here; closes when the attempt is over.
    Wait(oneshot::Receiver<bool>),
}

/// What an attempt cannot go on without.
#[derive(Debug)]
pub(crate) enum Wish {
    /// Answers to these questions.
    Answers(Vec<Wanted>),
    /// To hear whether it goes on as a task.
    Task,
}

/// The questions of one attempt at a request, and the answers of earlier attempts.
#[derive(Debug, Default)]
pub(crate) struct Questions {
    answers: Map<String, Value>,
    /// The names of the questions so far.
    names: HashSet<String>,
    count: u32,
    wanted: Vec<Wanted>,
    /// Whether it is decided if the request goes on as a task, and who waits to hear of it.
    decided: bool,
    deciding: Vec<oneshot::Sender<bool>>,
    task: Option<Arc<Live>>,
    /// Wakes the attempt: a question may be asked in a task of its own.
    attempt: Option<Waker>,
    waiting: Vec<oneshot::Sender<()>>,
    over: bool,
}

impl Questions {
    /// The questions of the next attempt, at a request that may be a task already.
    pub(crate) fn new(answers: Map<String, Value>, task: Option<Arc<Live>>) -> Self {
        Self {
            answers,
            decided: task.is_some(),
            task,
            ..Self::default()
        }
    }

    /// The task that the request is.
    pub(crate) fn task(&self) -> Option<&Arc<Live>> {
        self.task.as_ref().filter(|_| !self.over)
    }

    /// Whether the request goes on as a task, which is asked for if nobody decided it yet.
    pub(crate) fn continue_as_task(&mut self) -> Result<Continued, InputError> {
        if self.over {
            return Err(InputError::Over);
        }
        if self.decided {
            return Ok(Continued::Known(self.task.is_some()));
        }
        let (decided, decision) = oneshot::channel();
        self.deciding.push(decided);
        if let Some(attempt) = self.attempt.take() {
            attempt.wake();
        }
        Ok(Continued::Wait(decision))
    }

    /// Tells the handler that its request goes on as a task, or that it does not.
    pub(crate) fn decide(&mut self, task: Option<Arc<Live>>) {
        (self.decided, self.task) = (true, task);
        for waiting in self.deciding.drain(..) {
            // Whoever asked may have stopped waiting.
            let _ = waiting.send(self.task.is_some());
        }
    }

    /// All answers so far.
    pub(crate) fn take_answers(&mut self) -> Map<String, Value> {
        std::mem::take(&mut self.answers)
    }

    /// The place of the next question among those of the attempt.
    pub(crate) fn place(&self) -> u32 {
        self.count + 1
    }

    /// The answer to the next question, or what to wait for after noting that it is wanted.
    ///
    /// The key carries a fingerprint of the question: an answer serves only the very question that was
    /// shown, not one that changed since. What was brought along under a name was shown nothing.
    pub(crate) fn next(&mut self, name: Option<&str>, request: InputRequest) -> Result<Next, InputError> {
        if self.over {
            return Err(InputError::Over);
        }
        let start = match name {
            None => format!("{}-", self.place()),
            Some(name) => {
                check_name(name)?;
                if !self.names.insert(name.to_owned()) {
                    return Err(InputError::Unusable(format!("two questions are named `{name}`")));
                }
                format!("{name}{MARKED}")
            }
        };
        self.count += 1;
        let params = request
            .params()
            .map_err(|error| InputError::Unusable(error.to_string()))?;
        let mark = Sealer::fingerprint(request.method(), &params);
        let key = format!("{start}{}", &mark[..8]);
        let brought = || name.and_then(|name| self.answers.get(&brought_key(name)?));
        if let Some(answer) = self.answers.get(&key).or_else(brought) {
            return Ok(Next::Answer(answer.clone()));
        }
        if self.answers.keys().filter(|key| key.starts_with(&start)).count() >= MAX_CHANGES {
            return Err(InputError::Changing);
        }
        self.wanted.push((key, request));
        if let Some(attempt) = self.attempt.take() {
            attempt.wake();
        }
        let (waiting, over) = oneshot::channel();
        self.waiting.push(waiting);
        Ok(Next::Wait(over))
    }

    /// What the attempt cannot go on without, or wakes it when there is something.
    pub(crate) fn poll_wish(&mut self, cx: &TaskContext<'_>) -> Poll<Wish> {
        if !self.wanted.is_empty() {
            return Poll::Ready(Wish::Answers(std::mem::take(&mut self.wanted)));
        }
        if !self.deciding.is_empty() {
            return Poll::Ready(Wish::Task);
        }
        self.attempt = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Ends the attempt: who still waits for an answer gets none.
    pub(crate) fn end(&mut self) {
        self.over = true;
        self.waiting.clear();
        self.deciding.clear();
        self.attempt = None;
    }
}

/// Reads the answer of a person to a form.
pub(crate) fn read_form<T: DeserializeOwned>(
    answer: Value,
    check: impl FnOnce(&Value) -> Result<(), String>,
) -> Result<Elicited<T>, InputError> {
    let unreadable = |error: serde_json::Error| InputError::Unreadable(error.to_string());
    let result = ElicitResult::deserialize(answer).map_err(unreadable)?;
    match result.action {
        ElicitAction::Accept => {
            let content = Value::Object(result.content.unwrap_or_else(Extra::new));
            check(&content).map_err(InputError::Unreadable)?;
            serde_json::from_value(content)
                .map(Elicited::Accepted)
                .map_err(unreadable)
        }
        ElicitAction::Decline => Ok(Elicited::Declined),
        ElicitAction::Cancel => Ok(Elicited::Cancelled),
        ElicitAction::Other(action) => Err(InputError::Unreadable(format!("unknown action {action:?}"))),
    }
}
