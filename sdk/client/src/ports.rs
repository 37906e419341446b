//! What goes to the driver of a connection and what comes back.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, OnceLock};

use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot, watch};
use trunkline_proto::client::{Agreement, RequestOptions};
use trunkline_transport::Backoff;
use trunkline_types::{CreateTaskResult, Extra, InputRequiredResult, LogLevel, Method, Progress, SubscriptionFilter};

use crate::feed::FeedWriter;
use crate::inputs::Answers;
use crate::notices::{NoiseReport, Notice};
use crate::{CallError, ConnectError};

/// Requests that wait for their turn to be written; further callers wait.
pub(crate) const SUBMITTED: usize = 256;
/// What came of a request.
#[derive(Debug)]
pub(crate) enum Outcome {
    Complete(Box<RawValue>),
    InputRequired(Box<InputRequiredResult>),
    Task(Box<CreateTaskResult>),
}

/// A request on its way to the connection.
pub(crate) struct Submit {
    pub(crate) method: Method,
    /// Shared with who may have to send them again.
    pub(crate) params: Arc<Extra>,
    pub(crate) options: RequestOptions,
    pub(crate) waiting: Waiting,
}

/// Who waits for a request.
pub(crate) enum Waiting {
    Call {
        reply: oneshot::Sender<Result<Outcome, CallError>>,
        progress: Option<FeedWriter<Progress>>,
    },
    Stream(Box<Stream>),
    Nobody,
}

/// A subscription of a modern server's.
pub(crate) struct Stream {
    /// Who waits for it to be open; none once it was.
    pub(crate) opened: Option<oneshot::Sender<Result<SubscriptionFilter, CallError>>>,
    pub(crate) feed: FeedWriter<Notice>,
    /// What it was opened with, to open it again.
    pub(crate) wanted: Arc<Extra>,
    pub(crate) backoff: Backoff,
}

impl Waiting {
    pub(crate) fn is_closed(&self) -> bool {
        match self {
            Self::Call { reply, .. } => reply.is_closed(),
            Self::Stream(stream) => stream.feed.is_closed(),
            Self::Nobody => false,
        }
    }

    /// Hands out the answer. Whoever waited may be gone, which is noticed elsewhere.
    pub(crate) fn finish(self, outcome: Result<Outcome, CallError>) {
        match self {
            Self::Call { reply, .. } => drop(reply.send(outcome)),
            Self::Stream(stream) => {
                if let Some(opened) = stream.opened {
                    let error = outcome.err().unwrap_or_else(|| {
                        CallError::Invalid("the server ended the stream of notices before it was open".to_owned())
                    });
                    drop(opened.send(Err(error)));
                }
            }
            Self::Nobody => {}
        }
    }
}

/// What else the connection is told. It never waits.
pub(crate) enum Control {
    /// Somebody who waited is gone.
    Dropped,
    /// Somebody listens to the notices of a legacy server.
    Watch(Watch),
    /// The roots changed.
    RootsChanged,
    /// The connection is to end.
    Close,
}

pub(crate) struct Watch {
    pub(crate) filter: SubscriptionFilter,
    pub(crate) feed: FeedWriter<Notice>,
}

impl Watch {
    pub(crate) fn uris(&self) -> impl Iterator<Item = &String> {
        self.filter.resource_subscriptions.iter().flatten()
    }
}

/// How far a connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    Open,
    /// Nothing is sent or received any more.
    Ended,
    /// The server was shut down too.
    Finished,
}

/// What the driver leaves for everybody to read.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) tools: AtomicU64,
    pub(crate) prompts: AtomicU64,
    pub(crate) resources: AtomicU64,
    pub(crate) noise: Mutex<NoiseReport>,
    /// The level of log messages that was asked for.
    pub(crate) log_level: Mutex<Option<LogLevel>>,
    /// Set when the connection ends: what is known about why.
    pub(crate) ended: OnceLock<Option<String>>,
}

impl State {
    pub(crate) fn diagnosis(&self) -> Option<String> {
        self.ended.get().cloned().flatten()
    }
}

/// The ends of the channels that the driver reads from, and what it reports to.
pub(crate) struct Ports {
    pub(crate) requests: mpsc::Receiver<Submit>,
    pub(crate) control: mpsc::UnboundedReceiver<Control>,
    pub(crate) connecting: oneshot::Sender<Result<Agreement, ConnectError>>,
    pub(crate) notices: FeedWriter<Notice>,
    pub(crate) stage: watch::Sender<Stage>,
    pub(crate) state: Arc<State>,
    pub(crate) answers: Answers,
}
