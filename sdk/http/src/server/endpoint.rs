//! One endpoint: who may call it, what they send, and who answers.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use http::{Method as Verb, Request, StatusCode};
use tokio::sync::Notify;
use tokio::sync::futures::OwnedNotified;
use tower_service::Service;
use trunkline_proto::server::KnownMeta;
use trunkline_types::{Era, HttpShape, Malformed, Message, Method, Revision};

use super::accept::is_json;
use super::application::Application;
use super::begun::Begun;
use super::body::Body;
use super::budget::Budget;
use super::headers::Repeated;
use super::options::Options;
use super::reading::read_body;
use super::reply::{self, Response};
use super::session::{Session, Streams};
use super::session_id::SessionId;
use super::sessions::Sessions;
use super::{http_sse, legacy, modern, origin};
use crate::header;

/// Why nothing new is begun.
pub(super) const STOPPING: &str = "the server is shutting down";

/// Why there is no session.
pub(super) const NAMELESS: &str = "the system gives no randomness to name a session with";

/// The shortest silence after which a sign of life is given.
const LEAST_KEEP_ALIVE: Duration = Duration::from_millis(10);

/// One MCP endpoint, in every revision at once: a `tower` service, to be mounted anywhere.
///
/// Paths that end in `/sse` and `/messages` speak the transport of the first revision; any other path is the
/// endpoint of Streamable HTTP. Clones share everything.
#[derive(Debug, Clone)]
pub struct Endpoint {
    inner: Arc<Inner>,
}

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) application: Box<dyn Application>,
    pub(super) options: Options,
    pub(super) sessions: Arc<Sessions>,
    /// For what is kept on all streams together.
    budget: Arc<Budget>,
    /// What modern clients said of themselves last.
    pub(super) known: KnownMeta,
    /// For bodies that are not whole.
    receiving: Budget,
    is_stopping: AtomicBool,
    stop: Arc<Notify>,
}

impl Endpoint {
    /// An endpoint for an application.
    pub fn new(application: impl Application, mut options: Options) -> Self {
        options.keep_alive = options.keep_alive.max(LEAST_KEEP_ALIVE);
        let inner = Inner {
            application: Box::new(application),
            sessions: Arc::new(Sessions::new(options.max_sessions, options.session_idle)),
            budget: Arc::new(Budget::new(options.resume_bytes)),
            known: KnownMeta::default(),
            receiving: Budget::new(options.receive_bytes),
            is_stopping: AtomicBool::new(false),
            stop: Arc::default(),
            options,
        };
        Self { inner: Arc::new(inner) }
    }

    /// Answers one HTTP request. Dropping the future, or the answer's body before its end, tells that the client is
    /// gone.
    pub async fn handle<B>(&self, request: Request<B>) -> http::Response<Body>
    where
        B: http_body::Body<Data = Bytes>,
    {
        let (parts, body) = request.into_parts();
        let origin = match origin::admit(&self.inner.options, &parts) {
            Ok(origin) => origin,
            Err(why) => return reply::refused(StatusCode::FORBIDDEN, why),
        };
        let mut response = self.inner.answer(parts, body).await;
        if let Some(origin) = origin {
            origin::expose(response.headers_mut(), origin);
        }
        response
    }

    /// Ends every stream of notices in good order, and opens no more, nor sessions. Requests go on; give them their
    /// time.
    pub fn stop(&self) {
        self.inner.is_stopping.store(true, Ordering::Release);
        self.inner.stop.notify_waiters();
    }

    /// How many legacy sessions there are.
    pub fn sessions(&self) -> usize {
        self.inner.sessions.len()
    }

    /// Ends every legacy session, and what runs in it.
    pub fn close(&self) {
        self.stop();
        self.inner.sessions.close_all();
    }
}

impl<B> Service<Request<B>> for Endpoint
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
{
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let endpoint = self.clone();
        Box::pin(async move { Ok(endpoint.handle(request).await) })
    }
}

impl Inner {
    async fn answer<B: http_body::Body<Data = Bytes>>(self: &Arc<Self>, parts: Parts, body: B) -> Response {
        if parts.method != Verb::POST {
            return self.answer_empty(&parts);
        }
        if !is_json(&parts.headers) {
            return reply::refused(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "`Content-Type` must be application/json",
            );
        }
        let body = match read_body(body, &self.options, &self.receiving).await {
            Ok(body) => body,
            Err(refusal) => return refusal.into(),
        };
        // A handler takes its first step in here. Nothing of the request is kept while it is waited for.
        let begun = poll_fn(|cx| Poll::Ready(self.post(cx, &parts, &body))).await;
        drop((parts, body));
        begun.answer(&self.options).await
    }

    fn answer_empty(self: &Arc<Self>, parts: &Parts) -> Response {
        match parts.method {
            Verb::GET if last_of(parts) == http_sse::STREAM && self.serves(HttpShape::HttpSse) => {
                http_sse::open(self, parts)
            }
            // The modern era has neither
            // (https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#earlier-streamable-http-revisions).
            Verb::GET | Verb::DELETE if !self.has_sessions() || self.is_modern(parts, None, false) => {
                reply::not_allowed("POST")
            }
            Verb::GET => legacy::get(self, parts),
            Verb::DELETE => legacy::delete(self, parts),
            Verb::OPTIONS => {
                let mut response = reply::plain(StatusCode::NO_CONTENT);
                origin::preflight(response.headers_mut());
                response
            }
            _ if self.has_sessions() => reply::not_allowed("POST, GET, DELETE"),
            _ => reply::not_allowed("POST"),
        }
    }

    fn post(self: &Arc<Self>, cx: &mut Context<'_>, parts: &Parts, body: &[u8]) -> Begun {
        // Some programs begin every file with the mark of its encoding.
        let text = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
        let read = Message::parse(text);
        if last_of(parts) == http_sse::MESSAGES && self.serves(HttpShape::HttpSse) {
            return http_sse::post(cx, self, parts, read.ok(), text).into();
        }
        match read {
            Ok(message) => self.post_message(cx, parts, message, text),
            // Only a session can say whether it takes batches, and whose answer a broken one was meant to be.
            Err(Malformed::Batch | Malformed::NotAMessage { answers: true, .. })
                if parts.headers.contains_key(header::SESSION_ID) =>
            {
                legacy::post(cx, self, parts, None, text)
            }
            Err(malformed) => reply::error(StatusCode::BAD_REQUEST, malformed.id(), &malformed.to_error()).into(),
        }
    }

    fn post_message(self: &Arc<Self>, cx: &mut Context<'_>, parts: &Parts, message: Message<'_>, text: &[u8]) -> Begun {
        let (params, is_opening) = match &message {
            Message::Request { method, params, .. } => (*params, method == Method::Initialize.name()),
            Message::Notification { params, .. } => (*params, false),
            Message::Response { .. } => (None, false),
        };
        let repeated = Repeated::read(params, &self.known);
        if self.is_modern(parts, repeated.version(), is_opening) {
            modern::post(cx, self, parts, message, repeated)
        } else {
            legacy::post(cx, self, parts, Some(message), text)
        }
    }

    /// Which era a message belongs to. What its body says counts first, then its headers
    /// ([terms](https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#terminology)).
    fn is_modern(&self, parts: &Parts, version: Option<&str>, is_opening: bool) -> bool {
        if version.is_some() {
            return true;
        }
        if is_opening {
            return false;
        }
        // Where nothing else is spoken, a request without its version is a modern one that forgot it.
        if self.application.config().newest(Era::Legacy).is_none() {
            return true;
        }
        !parts.headers.contains_key(header::SESSION_ID) && Self::names_modern(parts)
    }

    /// Whether the headers name a version that is not of the legacy era.
    fn names_modern(parts: &Parts) -> bool {
        let version = parts.headers.get(header::PROTOCOL_VERSION);
        version
            .and_then(|version| version.to_str().ok())
            .is_some_and(|version| Revision::from_name(version).is_none_or(|revision| revision.era() == Era::Modern))
    }

    fn serves(&self, shape: HttpShape) -> bool {
        let config = self.application.config();
        config.revisions.iter().any(|revision| revision.profile().http == shape)
    }

    /// Whether a revision with sessions is served.
    pub(super) fn has_sessions(&self) -> bool {
        self.serves(HttpShape::Sessions)
    }

    /// Whether a revision of this name and era is served.
    pub(super) fn speaks(&self, version: &str, era: Era) -> bool {
        Revision::from_name(version)
            .is_some_and(|revision| revision.era() == era && self.application.config().revisions.contains(&revision))
    }

    /// A session that is not open yet. `None` if the system has no randomness to name it.
    pub(super) fn new_session(&self, principal: String, streams: Streams) -> Option<Arc<Session>> {
        let (id, config) = (SessionId::random()?, self.application.config());
        let (budget, retry) = (Arc::clone(&self.budget), self.options.retry);
        Some(Session::new(id, principal, config, streams, budget, retry))
    }

    /// Ready when the endpoint is to end. `None` if it is ending already.
    pub(super) fn stopping(&self) -> Option<OwnedNotified> {
        // In this order: what comes between the two is noticed by one of them.
        let stopping = Arc::clone(&self.stop).notified_owned();
        (!self.is_stopping.load(Ordering::Acquire)).then_some(stopping)
    }
}

/// The last part of the path.
fn last_of(parts: &Parts) -> &str {
    parts.uri.path().rsplit('/').next().unwrap_or_default()
}
