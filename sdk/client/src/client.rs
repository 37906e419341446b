//! The client: what an application asks of one server.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;
use serde_json::Value;
use tokio::sync::{mpsc, watch};
#[cfg(feature = "http")]
use trunkline_http::client::Remote;
use trunkline_proto::Timeouts;
use trunkline_proto::client::Agreement;
use trunkline_transport::{Command, InMemory, Transport};
use trunkline_types::{
    CompleteParams, CompleteResult, CompletedArgument, Completion, CompletionContext, Era, Extra, GetPromptResult,
    LogLevel, Method, Prompt, ReadResourceResult, Reference, Request, RequestMeta, Resource, ResourceTemplate,
    SubscriptionFilter, Tool,
};

use crate::cache::Lists;
use crate::call::start;
use crate::feed::FeedReader;
use crate::inputs::Answers;
use crate::notices::{NoiseReport, Notice, NoticeStream};
use crate::ports::{Control, Stage, State, Submit};
use crate::task::start_call;
use crate::{Call, CallError, CallOptions, Called, Connector, Listing, Started, Subscription, TaskHandle, lock};

/// A connection to one server. Clones share it; with the last one, and the last [`Call`] and
/// [`Subscription`], it ends.
#[derive(Clone)]
pub struct Client {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) agreement: Agreement,
    pub(crate) requests: mpsc::Sender<Submit>,
    pub(crate) control: mpsc::UnboundedSender<Control>,
    pub(crate) stage: watch::Receiver<Stage>,
    pub(crate) state: Arc<State>,
    pub(crate) answers: Answers,
    pub(crate) timeouts: Timeouts,
    /// Whether requests travel one by one, with headers that mirror them.
    pub(crate) over_http: bool,
    pub(crate) lists: Lists,
    pub(crate) notices: FeedReader<Notice>,
    pub(crate) notices_taken: AtomicBool,
}

impl Client {
    /// A program as a child process, by name and without arguments.
    pub fn spawn(program: impl Into<String>) -> Connector {
        Self::command(Command::new(program.into()))
    }

    /// A program as a child process.
    pub fn command(command: Command) -> Connector {
        Connector::command(command)
    }

    /// A server at an `http` or `https` address.
    ///
    /// ```no_run
    /// # async fn f() -> Result<(), trunkline_client::ConnectError> {
    /// # use trunkline_client::Client;
    /// let weather = Client::http("https://weather.example/mcp").connect().await?;
    /// # Ok(()) }
    /// ```
    #[cfg(feature = "http")]
    pub fn http(url: impl Into<String>) -> Connector {
        Self::remote(Remote::new(url))
    }

    /// A server at an address, with headers and more.
    #[cfg(feature = "http")]
    pub fn remote(remote: Remote) -> Connector {
        Connector::remote(remote)
    }

    /// Whatever is at the other end of a transport.
    pub fn over(transport: impl Transport) -> Connector {
        Connector::over(Box::new(transport))
    }

    /// A server in this process.
    pub fn in_memory(server: &impl InMemory) -> Connector {
        Self::over(server.open())
    }

    /// What was agreed with the server.
    pub fn agreement(&self) -> &Agreement {
        &self.inner.agreement
    }

    /// Lists the tools, with all pages, or from the cache as long as that is good.
    ///
    /// # Errors
    /// If the list cannot be had at all. What is wrong with a part of it stands in the [`Listing`].
    pub async fn tools(&self) -> Result<Listing<Tool>, CallError> {
        self.inner.list().await
    }

    /// Lists the resources, like [`tools`](Self::tools).
    ///
    /// # Errors
    /// If the list cannot be had at all.
    pub async fn resources(&self) -> Result<Listing<Resource>, CallError> {
        self.inner.list().await
    }

    /// Lists the resource templates, like [`tools`](Self::tools).
    ///
    /// # Errors
    /// If the list cannot be had at all.
    pub async fn resource_templates(&self) -> Result<Listing<ResourceTemplate>, CallError> {
        self.inner.list().await
    }

    /// Lists the prompts, like [`tools`](Self::tools).
    ///
    /// # Errors
    /// If the list cannot be had at all.
    pub async fn prompts(&self) -> Result<Listing<Prompt>, CallError> {
        self.inner.list().await
    }

    /// Forgets all lists, so that the next call of each asks the server.
    pub fn clear_cache(&self) {
        self.inner.lists.clear();
    }

    /// Calls a tool. Its structured result is checked against its output schema if the tool was listed.
    /// If the server makes a task of the call, the task is followed to its end, and cancelled when the future
    /// is dropped.
    /// The arguments are written at once, so the future does not hold on to them.
    ///
    /// # Errors
    /// If there is no usable result. A tool that ran and failed is a result: see [`Called::failed`].
    pub fn call<'a, A: Serialize + ?Sized>(
        &'a self,
        tool: &'a str,
        arguments: &A,
    ) -> impl Future<Output = Result<Called, CallError>> + Send + use<'a, A> {
        let arguments = to_object(arguments);
        async move { self.inner.call(tool, arguments?, &CallOptions::default(), None).await }
    }

    /// Calls a tool, with progress and more; see [`Call`].
    pub fn request_call(&self, tool: &str, arguments: Extra, options: CallOptions) -> Call {
        start(&self.inner, tool, arguments, options)
    }

    /// Calls a tool, and comes back as soon as the server has answered or has made a task of the call.
    /// [`call`](Self::call) would follow such a task to its end.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub async fn start_call(&self, tool: &str, arguments: Extra, options: CallOptions) -> Result<Started, CallError> {
        start_call(&self.inner, tool, arguments, &options).await
    }

    /// A task that a call of a tool became before, maybe over another connection, by its id. Nothing is sent
    /// until it is asked for.
    pub fn task(&self, tool: impl Into<String>, id: impl Into<String>) -> TaskHandle {
        TaskHandle::new(Arc::clone(&self.inner), tool.into(), id.into())
    }

    /// Reads a resource.
    ///
    /// # Errors
    /// If there is no usable result.
    pub async fn read(&self, uri: &str) -> Result<ReadResourceResult, CallError> {
        let mut params = Extra::new();
        params.insert("uri".to_owned(), uri.into());
        self.ask(Method::ReadResource, params).await
    }

    /// Fills in a prompt.
    ///
    /// # Errors
    /// If there is no usable result.
    pub async fn prompt(&self, name: &str, arguments: BTreeMap<String, String>) -> Result<GetPromptResult, CallError> {
        let mut params = Extra::new();
        params.insert("name".to_owned(), name.into());
        if !arguments.is_empty() {
            let arguments = arguments.into_iter().map(|(name, value)| (name, value.into()));
            params.insert("arguments".to_owned(), Value::Object(arguments.collect()));
        }
        self.ask(Method::GetPrompt, params).await
    }

    /// Suggests values for an argument of a prompt or a template; `known` are the arguments decided before.
    ///
    /// # Errors
    /// If there is no usable result.
    pub async fn complete(
        &self,
        reference: Reference,
        argument: &str,
        value: &str,
        known: BTreeMap<String, String>,
    ) -> Result<Completion, CallError> {
        let context = CompletionContext {
            arguments: Some(known),
            extra: Extra::new(),
        };
        let params = CompleteParams {
            reference,
            argument: CompletedArgument {
                name: argument.to_owned(),
                value: value.to_owned(),
                ..CompletedArgument::default()
            },
            context: Some(context).filter(|context| context.arguments.iter().any(|known| !known.is_empty())),
            meta: RequestMeta::default(),
            extra: Extra::new(),
        };
        let result: CompleteResult = self.ask(Method::Complete, to_object(&params)?).await?;
        Ok(result.completion)
    }

    /// Listens to changes of lists and resources, until the subscription is dropped.
    ///
    /// What the server does not tell of is not in the subscription's own
    /// [`filter`](Subscription::filter).
    ///
    /// # Errors
    /// If the server refuses, or does not answer in time.
    pub async fn listen(&self, filter: SubscriptionFilter) -> Result<Subscription, CallError> {
        match self.inner.agreement.profile.era {
            Era::Modern => self.inner.listen_modern(filter).await,
            Era::Legacy => self.inner.listen_legacy(filter).await,
        }
    }

    /// Sets the lowest level of log messages wanted: told to a legacy server at once, to a modern one with
    /// every request from here on.
    ///
    /// # Errors
    /// If a legacy server does not log, or refuses.
    pub async fn set_log_level(&self, level: LogLevel) -> Result<(), CallError> {
        if !self.inner.agreement.profile.log_level_per_request {
            let level = serde_json::to_value(level).map_err(|error| CallError::Arguments(error.to_string()))?;
            let mut params = Extra::new();
            params.insert("level".to_owned(), level);
            self.ask::<Ignored>(Method::SetLevel, params).await?;
        }
        *lock(&self.inner.state.log_level) = Some(level);
        Ok(())
    }

    /// Tells a legacy server that the roots changed. A modern one asks for them whenever it needs them.
    pub fn roots_changed(&self) {
        // Without a driver there is nobody to tell.
        let _ = self.inner.control.send(Control::RootsChanged);
    }

    /// Asks whether the server is there.
    ///
    /// # Errors
    /// If it does not answer properly.
    pub async fn ping(&self) -> Result<(), CallError> {
        let method = match self.inner.agreement.profile.era {
            Era::Modern => Method::Discover,
            Era::Legacy => Method::Ping,
        };
        self.ask::<Ignored>(method, Extra::new()).await.map(drop)
    }

    /// Sends a request of any method of the table.
    ///
    /// # Errors
    /// If there is no usable result.
    pub async fn request<M: Request>(&self, params: M::Params) -> Result<M::Result, CallError> {
        self.ask(M::METHOD, to_object(&params)?).await
    }

    async fn ask<T: serde::de::DeserializeOwned>(&self, method: Method, params: Extra) -> Result<T, CallError> {
        let options = self.inner.request_options(&CallOptions::default());
        let result = self.inner.exchange(method, params, &options).await?;
        self.inner.decode(&result)
    }

    /// What the server tells without being asked. The first stream begins with the connection, every other
    /// one with what comes next.
    pub fn notices(&self) -> NoticeStream {
        let first = !self.inner.notices_taken.swap(true, Ordering::Relaxed);
        let feed = if first {
            self.inner.notices.another_from_here()
        } else {
            self.inner.notices.another_from_now()
        };
        NoticeStream { feed }
    }

    /// What the server sent and nobody asked for.
    pub fn noise(&self) -> NoiseReport {
        lock(&self.inner.state.noise).clone()
    }

    /// Whether the connection has ended. It never comes back: connect again.
    pub fn is_closed(&self) -> bool {
        *self.inner.stage.borrow() >= Stage::Ended || self.inner.stage.has_changed().is_err()
    }

    /// Waits until the connection has ended, and tells what is known about why.
    pub async fn closed(&self) -> Option<String> {
        self.reached(Stage::Ended).await;
        self.inner.state.diagnosis()
    }

    /// Ends the connection and waits until the server is shut down. Calls that still wait are lost.
    pub async fn close(self) {
        // Without a driver it is over already.
        let _ = self.inner.control.send(Control::Close);
        self.reached(Stage::Finished).await;
    }

    async fn reached(&self, stage: Stage) {
        let mut at = self.inner.stage.clone();
        // An error says that the driver is gone, which is further than any stage.
        let _ = at.wait_for(|at| *at >= stage).await;
    }
}

/// A result of which only the arrival matters.
#[derive(serde::Deserialize)]
struct Ignored {}

/// Params and arguments are objects; nothing at all counts as an empty one.
fn to_object<T: Serialize + ?Sized>(value: &T) -> Result<Extra, CallError> {
    match serde_json::to_value(value) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(Value::Null) => Ok(Extra::new()),
        Ok(other) => Err(CallError::Arguments(format!("they are {}", kind(&other)))),
        Err(error) => Err(CallError::Arguments(error.to_string())),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("server", &self.inner.agreement.server)
            .field("revision", &self.inner.agreement.profile.revision)
            .field("closed", &self.is_closed())
            .finish_non_exhaustive()
    }
}
