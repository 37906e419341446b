//! The seam where layers see every request, whatever its transport: a `tower` service.

use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use serde_json::value::RawValue;
use tower_service::Service;
use trunkline_types::{ErrorObject, JsonText, Method};

use crate::context::Origin;
use crate::dispatch;
use crate::{BoxFuture, Context};

/// A request on its way to its handler.
#[derive(Debug)]
pub struct ServerRequest {
    pub(crate) origin: Arc<Origin>,
    /// The method.
    pub method: Method,
    /// The params, an object, still raw.
    pub params: Option<Box<RawValue>>,
}

impl ServerRequest {
    /// What is known of the request: client, revision, metadata. This context may not ask the client
    /// anything: only the handlers of tools, prompts and resources may.
    pub fn context(&self) -> Context {
        Context::silent(Arc::clone(&self.origin))
    }
}

/// The result as JSON, or the protocol error. Which of its revision's shapes it has is settled already.
pub type Reply = Result<JsonText, ErrorObject>;

trait Erased: Send + Sync {
    fn call(&self, request: ServerRequest) -> BoxFuture<Reply>;
}

impl<S> Erased for S
where
    S: Service<ServerRequest, Response = JsonText, Error = ErrorObject> + Clone + Send + Sync + 'static,
    S::Future: Send,
{
    fn call(&self, request: ServerRequest) -> BoxFuture<Reply> {
        let mut service = self.clone();
        Box::pin(async move {
            poll_fn(|cx| service.poll_ready(cx)).await?;
            Service::call(&mut service, request).await
        })
    }
}

/// The service that answers requests: the innermost one, or one with layers around it.
#[derive(Clone)]
pub struct RequestService(Option<Arc<dyn Erased>>);

impl fmt::Debug for RequestService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RequestService")
    }
}

impl RequestService {
    pub(crate) fn innermost() -> Self {
        Self(None)
    }

    pub(crate) fn wrapping<S>(service: S) -> Self
    where
        S: Service<ServerRequest, Response = JsonText, Error = ErrorObject> + Clone + Send + Sync + 'static,
        S::Future: Send,
    {
        Self(Some(Arc::new(service)))
    }

    pub(crate) fn answer(&self, request: ServerRequest) -> BoxFuture<Reply> {
        match &self.0 {
            Some(service) => service.call(request),
            None => Box::pin(dispatch::answer(request)),
        }
    }
}

impl Service<ServerRequest> for RequestService {
    type Response = JsonText;
    type Error = ErrorObject;
    type Future = BoxFuture<Reply>;

    fn poll_ready(&mut self, _: &mut TaskContext<'_>) -> Poll<Result<(), ErrorObject>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: ServerRequest) -> Self::Future {
        self.answer(request)
    }
}
