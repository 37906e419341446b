//! The seam to what answers requests: the endpoint knows HTTP and the protocol's state, not the handlers.

use std::collections::BTreeSet;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use trunkline_proto::server::{AskError, ClientFacts, Config, News};
use trunkline_types::{ErrorObject, InputRequest, JsonText, LogLevel, Method, Profile, RequestMeta};

use crate::header::MirroredParams;

/// The result as JSON, or the protocol error.
pub type Reply = Result<JsonText, ErrorObject>;

/// What an answer is waited for by.
pub type Answering = Pin<Box<dyn Future<Output = Reply> + Send>>;

/// Where the answer to a question of the server's goes (legacy). Dropping it tells that none will come.
pub type Asking = oneshot::Sender<Result<Value, AskError>>;

/// What answers the requests of an endpoint. The crate `trunkline-server` implements it for its `Server`.
pub trait Application: fmt::Debug + Send + Sync + 'static {
    /// What the server says about itself now.
    fn config(&self) -> Arc<Config>;

    /// Starts a request. The future never panics; dropping it cancels the request.
    fn answer(&self, request: ApplicationRequest) -> Answering;

    /// The changes from now on.
    fn changes(&self) -> Box<dyn Changes>;

    /// Which params of a tool its clients mirror into headers; `None` if there are none, or no such tool.
    fn mirrored(&self, tool: &str) -> Option<Arc<MirroredParams>>;
}

/// A request on its way to the application. It exists in its revision, and its feature was declared.
#[derive(Debug)]
pub struct ApplicationRequest {
    /// The method.
    pub method: Method,
    /// The revision that the request speaks.
    pub profile: &'static Profile,
    /// The client, as far as this request may know.
    pub client: Arc<ClientFacts>,
    /// Its metadata.
    pub meta: Arc<RequestMeta>,
    /// The lowest level of log messages that the client wants; `None` for none.
    pub log_level: Option<LogLevel>,
    /// Who was authenticated; empty where nobody was.
    pub principal: String,
    /// Its params, an object, still raw.
    pub params: Option<Box<RawValue>>,
    /// Where the request speaks beside its answer.
    pub outlet: Arc<dyn Outlet>,
}

/// Where a request speaks beside its answer.
pub trait Outlet: fmt::Debug + Send + Sync {
    /// Sends a notice, encoded. Notices are hints: a client that does not read misses some.
    fn notify(&self, message: Vec<u8>);

    /// Asks the client (legacy). Where that cannot be done, `asking` is dropped.
    fn ask(&self, request: InputRequest, asking: Asking);

    /// Lets go of the connection that the client waits on, if it may come back for the rest.
    fn release(&self, retry: Duration);
}

/// The changes that one stream has not heard of yet.
pub trait Changes: Send {
    /// The next change, when there is one.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<News>;

    /// Which tasks a principal listens to from now on. How they stand is the first that is heard of them; of those
    /// of others nothing is heard.
    fn watch(&mut self, principal: &str, tasks: BTreeSet<String>);
}
