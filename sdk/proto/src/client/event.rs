//! What happens on a client's connection.

use std::fmt;

use serde_json::value::RawValue;
use trunkline_types::{
    CreateTaskResult, ErrorObject, Extension, Extra, InputRequest, InputRequiredResult, Method, Progress, RequestId,
    Revision, ServerFeature, SubscriptionFilter,
};

/// What happened.
#[derive(Debug)]
pub enum Event {
    /// The connection is ready: [`Connection::agreement`](super::Connection::agreement) says what was agreed.
    Connected,
    /// The connection will never be ready.
    ConnectFailed(ConnectError),
    /// A request got its one answer.
    Answered {
        /// The request.
        id: RequestId,
        /// The answer.
        answer: Answer,
    },
    /// A call that was given up became a task before its server heard of that: nobody follows it.
    TaskLeft {
        /// The task.
        task_id: String,
    },
    /// A request goes on.
    Progress {
        /// The request.
        id: RequestId,
        /// How far it is.
        progress: Progress,
    },
    /// The server asks for something (legacy); answer by [`Connection::answer`](super::Connection::answer).
    Asked {
        /// Names the question.
        id: RequestId,
        /// The question.
        request: InputRequest,
    },
    /// The server does not want an answer any more.
    AskWithdrawn {
        /// The question.
        id: RequestId,
    },
    /// A stream of notices is open.
    Listening {
        /// The request that opened it.
        id: RequestId,
        /// What the server will tell.
        filter: SubscriptionFilter,
    },
    /// The server tells something.
    Notice {
        /// Which notice.
        method: Method,
        /// Its params.
        params: Extra,
        /// The stream that it came on (modern).
        subscription: Option<RequestId>,
    },
    /// Something that was set aside.
    Noise(Noise),
}

/// The one answer of a request.
#[derive(Debug)]
pub enum Answer {
    /// A complete result, still raw.
    Complete(Box<RawValue>),
    /// The server wants input first; then the request is sent again under a new id.
    InputRequired(Box<InputRequiredResult>),
    /// The request became a task.
    Task(Box<CreateTaskResult>),
    /// A protocol error.
    Refused(ErrorObject),
    /// Something came that is no answer to this request.
    Invalid(String),
    /// Nothing came in time. The request may have run.
    TimedOut,
    /// The connection ended first. The request may have run.
    Lost,
    /// The connection goes on, and this request got no answer.
    Undelivered(Undelivered),
}

/// What is known of a request that got no answer on a connection that goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undelivered {
    /// Whether the server may have done what was asked. False only where it certainly did not.
    pub may_have_run: bool,
    /// The HTTP status, where the server answered with one.
    pub status: Option<u16>,
    /// What went wrong and where, in one line.
    pub why: String,
}

impl fmt::Display for Undelivered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

/// Why there is no connection.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ConnectError {
    /// The server refused.
    Refused(ErrorObject),
    /// The server speaks no revision that this client speaks.
    NoCommonRevision {
        /// What the server speaks.
        offered: Vec<String>,
    },
    /// The server answered something that is no answer.
    Invalid(String),
    /// The server did not answer the handshake in time.
    Silent,
    /// The server ended.
    Ended {
        /// The probe may have ended it: a legacy server may die of what it does not know.
        by_probe: bool,
    },
    /// The server cannot be reached, or does not answer at this address.
    Undelivered(Undelivered),
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(error) => write!(f, "the server refused the connection: {error}"),
            Self::NoCommonRevision { offered } => {
                let ours: Vec<&str> = Revision::ALL.iter().map(|revision| revision.name()).collect();
                let offered = offered.join(", ");
                write!(
                    f,
                    "no common protocol revision: the server offers {offered}; this client speaks {}",
                    ours.join(", ")
                )
            }
            Self::Invalid(why) => write!(f, "the server did not answer the handshake properly: {why}"),
            Self::Silent => f.write_str("the server did not answer the handshake in time"),
            Self::Ended { .. } => f.write_str("the server ended before the handshake was done"),
            Self::Undelivered(undelivered) => undelivered.fmt(f),
        }
    }
}

impl std::error::Error for ConnectError {}

/// Why a request was not sent.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum RequestError {
    /// The connection is not ready.
    NotConnected,
    /// The agreed revision does not have the method.
    NotInRevision {
        /// The method.
        method: Method,
        /// The revision.
        revision: Revision,
    },
    /// The server did not declare the feature that the method belongs to.
    NotDeclared {
        /// The method.
        method: Method,
        /// The feature.
        feature: ServerFeature,
    },
    /// The extension that the method belongs to was not declared by both sides.
    NoExtension {
        /// The method.
        method: Method,
        /// The extension.
        extension: Extension,
    },
    /// The params cannot be written as JSON.
    Unwritable(String),
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotConnected => f.write_str("the connection is not ready"),
            Self::NotInRevision { method, revision } => write!(f, "revision {revision} has no `{method}`"),
            Self::NotDeclared { method, feature } => {
                write!(f, "the server does not offer {feature:?}, so `{method}` was not sent")
            }
            Self::NoExtension { method, extension } => {
                let id = extension.id();
                write!(f, "`{id}` is not declared by both sides, so `{method}` was not sent")
            }
            Self::Unwritable(why) => write!(f, "the params cannot be written as JSON: {why}"),
        }
    }
}

impl std::error::Error for RequestError {}

/// Something that a server sent and nobody asked for. It is set aside, counted and shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Noise {
    /// What is wrong with it.
    pub reason: NoiseReason,
    /// Its beginning, at most [`Noise::SHOWN`] bytes.
    pub text: String,
}

/// What is wrong with noise.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum NoiseReason {
    /// It is not a message.
    NotAMessage(String),
    /// It is longer than this many bytes.
    TooLong(usize),
    /// It answers no request.
    UnknownId,
    /// It looks like the answer to a request, whose id has another JSON type.
    WrongIdType(RequestId),
    /// An error that belongs to no request.
    AnswerWithoutId,
    /// A request, which modern servers must not send.
    UnexpectedRequest,
    /// A notification that this client does not know.
    UnknownNotification,
    /// Not a message: the transport tells what is wrong with it.
    Transport,
}

impl Noise {
    /// How much of it is kept.
    pub const SHOWN: usize = 200;

    pub(super) fn new(reason: NoiseReason, bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(Self::SHOWN)]).into_owned();
        Self { reason, text }
    }
}

impl fmt::Display for Noise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reason {
            NoiseReason::NotAMessage(why) => write!(f, "not a message ({why}): {:?}", self.text),
            NoiseReason::TooLong(limit) => write!(f, "a message longer than {limit} bytes: {:?}…", self.text),
            NoiseReason::UnknownId => write!(f, "an answer to no request, id {}", self.text),
            NoiseReason::WrongIdType(expected) => {
                write!(
                    f,
                    "an answer whose id {} has the wrong JSON type; request {expected} still waits",
                    self.text
                )
            }
            NoiseReason::AnswerWithoutId => write!(f, "an error without an id: {}", self.text),
            NoiseReason::UnexpectedRequest => write!(f, "a request that a modern server must not send: {}", self.text),
            NoiseReason::UnknownNotification => write!(f, "an unknown notification: {}", self.text),
            NoiseReason::Transport => f.write_str(&self.text),
        }
    }
}
