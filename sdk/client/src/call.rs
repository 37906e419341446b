//! Requests and their answers: rounds of input, running calls, what a call may want.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};
use trunkline_proto::Timeouts;
use trunkline_proto::client::RequestOptions;
use trunkline_types::{
    CallToolResult, CreateTaskResult, ErrorObject, Extra, InputRequiredResult, LogLevel, Method, Progress,
};

use crate::client::Inner;
use crate::feed::{Fed, FeedReader, FeedWriter, Held};
use crate::output::{Called, check};
use crate::ports::{Control, Outcome, Submit, Waiting};
use crate::{CallError, lock};

/// How often a server may ask for input in one request.
pub const MAX_ROUNDS: usize = 16;

pub(crate) const PROGRESS_HELD: Held = Held {
    items: 64,
    bytes: 1024 * 1024,
};

/// What a call wants beside its arguments.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CallOptions {
    /// How long to wait; the connection's own timeouts where absent.
    pub timeouts: Option<Timeouts>,
    /// Whether progress is wanted. It also extends the wait, as [`Timeouts`] says.
    pub progress: bool,
    /// The lowest level of log messages wanted for this call (modern).
    pub log_level: Option<LogLevel>,
    /// Metadata to send along. The protocol's own keys win.
    pub meta: Extra,
    /// How long a task is followed that the server makes of the call; [`TASK_WAIT`](crate::TASK_WAIT) where
    /// absent. It is cancelled then.
    pub task_wait: Option<Duration>,
}

/// A running call, from [`Client::request_call`](crate::Client::request_call).
///
/// It runs while it is awaited, or while its [`progress`](Self::progress) is. Dropping it cancels it: the
/// server is told, and a late answer is ignored.
#[must_use = "a call does nothing until it is awaited, and dropping it cancels it"]
pub struct Call {
    running: Option<Running>,
    outcome: Option<Result<Called, CallError>>,
    progress: Option<FeedReader<Progress>>,
}

type Running = Pin<Box<dyn Future<Output = Result<Called, CallError>> + Send>>;

impl Call {
    pub(crate) fn new(
        running: impl Future<Output = Result<Called, CallError>> + Send + 'static,
        progress: Option<FeedReader<Progress>>,
    ) -> Self {
        Self {
            running: Some(Box::pin(running)),
            outcome: None,
            progress,
        }
    }

    /// The next sign of progress; none once the call has ended, or if [`CallOptions::progress`] is not set.
    /// The call goes on while this is awaited, and is not disturbed when this future is dropped.
    ///
    /// A slow reader gets the last 64 signs.
    pub async fn progress(&mut self) -> Option<Progress> {
        let Self {
            running,
            outcome,
            progress,
        } = self;
        let feed = progress.as_mut()?;
        loop {
            tokio::select! {
                biased;
                fed = feed.next() => match fed? {
                    Fed::Item(progress) => return Some(progress),
                    Fed::Missed(_) => {}
                },
                ended = drive(running), if running.is_some() => {
                    *running = None;
                    *outcome = Some(ended);
                }
            }
        }
    }
}

async fn drive(running: &mut Option<Running>) -> Result<Called, CallError> {
    match running {
        Some(running) => running.await,
        None => std::future::pending().await,
    }
}

impl Future for Call {
    type Output = Result<Called, CallError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(outcome) = self.outcome.take() {
            return Poll::Ready(outcome);
        }
        let Some(running) = &mut self.running else {
            return Poll::Pending;
        };
        let polled = running.as_mut().poll(cx);
        if polled.is_ready() {
            self.running = None;
        }
        polled
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("outcome", &self.outcome)
            .finish_non_exhaustive()
    }
}

/// What a request came to.
#[derive(Debug)]
pub(crate) enum Exchanged {
    Complete(Box<RawValue>),
    /// It became a task.
    Task(Box<CreateTaskResult>),
}

/// Waits for one answer. Dropped before it came, it takes the request back.
struct Pending<'a> {
    answer: oneshot::Receiver<Result<Outcome, CallError>>,
    control: &'a mpsc::UnboundedSender<Control>,
    answered: bool,
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        if !self.answered {
            self.answer.close();
            // Without a driver there is nothing to take back.
            let _ = self.control.send(Control::Dropped);
        }
    }
}

impl Inner {
    /// Gives a request to the driver.
    pub(crate) async fn submit(&self, submit: Submit) -> Result<(), CallError> {
        self.requests.send(submit).await.map_err(|_| self.closed_error())
    }

    pub(crate) fn closed_error(&self) -> CallError {
        CallError::Closed {
            diagnosis: self.state.diagnosis(),
        }
    }

    /// What became of a request that the driver dropped without a word.
    pub(crate) fn unanswered(&self) -> CallError {
        match self.state.ended.get() {
            // It came too late to be sent.
            Some(_) => self.closed_error(),
            None => CallError::Lost { diagnosis: None },
        }
    }

    pub(crate) async fn send(
        &self,
        method: Method,
        params: &Arc<Extra>,
        options: &RequestOptions,
        progress: Option<&FeedWriter<Progress>>,
    ) -> Result<Outcome, CallError> {
        let (reply, answer) = oneshot::channel();
        let mut pending = Pending {
            answer,
            control: &self.control,
            answered: false,
        };
        let waiting = Waiting::Call {
            reply,
            progress: progress.cloned(),
        };
        self.submit(Submit {
            method,
            params: Arc::clone(params),
            options: options.clone(),
            waiting,
        })
        .await?;
        let outcome = (&mut pending.answer).await;
        pending.answered = true;
        outcome.unwrap_or_else(|_| Err(self.unanswered()))
    }

    /// Sends a request whose answer is its result.
    pub(crate) async fn exchange(
        &self,
        method: Method,
        params: Extra,
        options: &RequestOptions,
    ) -> Result<Box<RawValue>, CallError> {
        match self.exchange_rounds(method, &Arc::new(params), options, None).await? {
            Exchanged::Complete(result) => Ok(result),
            Exchanged::Task(_) => Err(CallError::Invalid(format!("`{method}` became a task"))),
        }
    }

    /// Sends a request, and again with answers as long as the server asks for input
    /// ([multi round-trip requests](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr)).
    pub(crate) async fn exchange_rounds(
        &self,
        method: Method,
        params: &Arc<Extra>,
        options: &RequestOptions,
        progress: Option<&FeedWriter<Progress>>,
    ) -> Result<Exchanged, CallError> {
        let may_ask = self.agreement.profile.input_required
            && matches!(method, Method::CallTool | Method::GetPrompt | Method::ReadResource);
        let mut attempt = Arc::clone(params);
        for round in 0.. {
            match self.deliver(method, &attempt, options, progress).await? {
                Outcome::Complete(result) => return Ok(Exchanged::Complete(result)),
                Outcome::Task(created) => return Ok(Exchanged::Task(created)),
                Outcome::InputRequired(_) if round == MAX_ROUNDS => break,
                Outcome::InputRequired(_) if !may_ask => {
                    return Err(CallError::Invalid(format!("`{method}` cannot ask for input")));
                }
                Outcome::InputRequired(wanted) => {
                    let answered = self.answered((**params).clone(), *wanted).await;
                    attempt = answered.map_err(CallError::Unanswered)?.into();
                }
            }
        }
        Err(CallError::TooManyRounds)
    }

    /// The params of the next attempt. The state goes back exactly as it came, and only if it came.
    async fn answered(&self, mut params: Extra, wanted: InputRequiredResult) -> Result<Extra, ErrorObject> {
        if !wanted.input_requests.is_empty() {
            let answers = self.answers.answer_all(&wanted.input_requests).await?;
            params.insert("inputResponses".to_owned(), Value::Object(answers));
        }
        if let Some(state) = wanted.request_state {
            params.insert("requestState".to_owned(), Value::String(state));
        }
        Ok(params)
    }

    pub(crate) fn request_options(&self, options: &CallOptions) -> RequestOptions {
        RequestOptions {
            timeouts: options.timeouts,
            progress: options.progress,
            log_level: options.log_level.or(*lock(&self.state.log_level)),
        }
    }

    /// Calls a tool, and follows the task that the server may make of it.
    pub(crate) async fn call(
        &self,
        tool: &str,
        arguments: Extra,
        options: &CallOptions,
        progress: Option<FeedWriter<Progress>>,
    ) -> Result<Called, CallError> {
        let result = match self.exchange_tool(tool, arguments, options, progress.as_ref()).await? {
            Exchanged::Complete(result) => self.decode(&result)?,
            Exchanged::Task(created) => self.follow_call(*created, options, progress).await?,
        };
        self.checked(tool, result)
    }

    /// Calls a tool.
    pub(crate) async fn exchange_tool(
        &self,
        tool: &str,
        arguments: Extra,
        options: &CallOptions,
        progress: Option<&FeedWriter<Progress>>,
    ) -> Result<Exchanged, CallError> {
        let mut params = Extra::new();
        params.insert("name".to_owned(), tool.into());
        params.insert("arguments".to_owned(), Value::Object(arguments));
        add_meta(&mut params, options);
        self.exchange_call(params, &self.request_options(options), progress)
            .await
    }

    /// Checks the structured result of a tool against its schema.
    pub(crate) fn checked(&self, tool: &str, result: CallToolResult) -> Result<Called, CallError> {
        let schema = {
            let outputs = lock(&self.lists.outputs);
            // A list that changed since may have changed the schema.
            let fresh = outputs.generation == self.state.tools.load(Ordering::Acquire);
            fresh.then(|| outputs.schema(tool)).flatten()
        };
        check(&result, self.agreement.profile.structured_content, schema.as_deref())?;
        Ok(Called(result))
    }

    /// Reads a result by the type that its request asked for.
    pub(crate) fn decode<T: DeserializeOwned>(&self, result: &RawValue) -> Result<T, CallError> {
        let invalid = |error: serde_json::Error| CallError::Invalid(error.to_string());
        if !self.agreement.profile.result_type {
            return serde_json::from_str(result.get()).map_err(invalid);
        }
        // The type of the result belongs to the exchange, not to what is handed out. Most servers write it first, and
        // then the rest is an object like any other.
        if let Some(rest) = result.get().strip_prefix(r#"{"resultType":"complete","#) {
            return serde_json::from_str(&["{", rest].concat()).map_err(invalid);
        }
        let mut object: Extra = serde_json::from_str(result.get()).map_err(invalid)?;
        object.shift_remove("resultType");
        serde_json::from_value(Value::Object(object)).map_err(invalid)
    }
}

fn add_meta(params: &mut Extra, options: &CallOptions) {
    let mut meta = options.meta.clone();
    // A token of the caller's own could be the one of another request.
    meta.shift_remove("progressToken");
    if !meta.is_empty() {
        params.insert("_meta".to_owned(), Value::Object(meta));
    }
}

/// Keeps a connection for a call that outlives its client.
pub(crate) fn start(inner: &Arc<Inner>, tool: &str, arguments: Extra, options: CallOptions) -> Call {
    let inner = Arc::clone(inner);
    let tool = tool.to_owned();
    let (writer, reader) = options.progress.then(|| crate::feed::feed(PROGRESS_HELD)).unzip();
    Call::new(
        async move { inner.call(&tool, arguments, &options, writer).await },
        reader,
    )
}
