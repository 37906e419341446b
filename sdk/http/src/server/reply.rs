//! Answers as HTTP.

use std::borrow::Cow;

use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderName, HeaderValue, StatusCode};
use trunkline_types::{ErrorObject, Message, RequestId, code, encode};

use super::body::{Body, Events};

pub(super) type Response = http::Response<Body>;

const JSON: HeaderValue = HeaderValue::from_static(super::accept::JSON);
const EVENTS: HeaderValue = HeaderValue::from_static(super::accept::EVENTS);
/// Tells a reverse proxy not to hold events back
/// ([rule](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#receiving-messages)).
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

fn respond(status: StatusCode, body: Body) -> Response {
    let mut response = http::Response::new(body);
    *response.status_mut() = status;
    response
}

/// A status and no body.
pub(super) fn plain(status: StatusCode) -> Response {
    respond(status, Body::empty())
}

/// The method is not for this address; these are.
pub(super) fn not_allowed(methods: &'static str) -> Response {
    let mut response = plain(StatusCode::METHOD_NOT_ALLOWED);
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(methods));
    response
}

/// One message.
pub(super) fn message(status: StatusCode, message: Vec<u8>) -> Response {
    let mut response = respond(status, Body::whole(message));
    response.headers_mut().insert(CONTENT_TYPE, JSON);
    response
}

/// An error that ends the request, with the request's id where it is known.
pub(super) fn error(status: StatusCode, id: Option<&RequestId>, error: &ErrorObject) -> Response {
    message(status, encode::error(id, error))
}

/// The request is refused before it is known; `why` tells the client's owner what to do.
pub(super) fn refused(status: StatusCode, why: impl Into<Cow<'static, str>>) -> Response {
    Refusal::new(status, why).into()
}

/// Why a request is refused before it is known.
#[derive(Debug)]
pub(super) struct Refusal {
    status: StatusCode,
    why: Cow<'static, str>,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, why: impl Into<Cow<'static, str>>) -> Self {
        Self {
            status,
            why: why.into(),
        }
    }
}

/// The session is over, or never was
/// ([rule](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management)).
pub(super) fn gone() -> Refusal {
    let why = "there is no such session, or no longer: begin a new one";
    Refusal::new(StatusCode::NOT_FOUND, why)
}

impl From<Refusal> for Response {
    fn from(refusal: Refusal) -> Self {
        match refusal.status {
            StatusCode::SERVICE_UNAVAILABLE => busy(None, refusal.why),
            status => error(status, None, &ErrorObject::invalid_request(refusal.why)),
        }
    }
}

/// The client does not take what it would get
/// ([rule](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#sending-messages)).
pub(super) fn not_acceptable(id: Option<&RequestId>) -> Response {
    let why = "`Accept` must allow both application/json and text/event-stream";
    error(StatusCode::NOT_ACCEPTABLE, id, &ErrorObject::invalid_request(why))
}

/// The client does not take the stream that it asks for.
pub(super) fn takes_no_events() -> Response {
    refused(StatusCode::NOT_ACCEPTABLE, "`Accept` must allow text/event-stream")
}

/// There is no room now, but there will be; under the request's id where it is known.
pub(super) fn busy(id: Option<&RequestId>, why: impl Into<String>) -> Response {
    let mut response = error(StatusCode::SERVICE_UNAVAILABLE, id, &ErrorObject::internal(why));
    response
        .headers_mut()
        .insert(RETRY_AFTER, HeaderValue::from_static("10"));
    response
}

/// A stream of events.
pub(super) fn events(events: Events) -> Response {
    let mut response = respond(StatusCode::OK, Body::events(events));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, EVENTS);
    // A proxy that compresses or keeps events holds them back.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    headers.insert(X_ACCEL_BUFFERING, HeaderValue::from_static("no"));
    response
}

/// A stream of events that is over before it began.
pub(super) fn no_events() -> Response {
    let mut response = respond(StatusCode::OK, Body::empty());
    response.headers_mut().insert(CONTENT_TYPE, EVENTS);
    response
}

/// The status of an error in the modern era
/// ([rule](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#protocol-version-header)).
pub(super) fn modern_status(error: &ErrorObject) -> StatusCode {
    match error.code {
        code::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        code::HEADER_MISMATCH
        | code::MISSING_CLIENT_CAPABILITY
        | code::UNSUPPORTED_VERSION
        | code::INVALID_REQUEST
        | code::PARSE_ERROR => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

/// The error of an encoded answer, if it is one.
pub(super) fn error_of(answer: &[u8]) -> Option<ErrorObject> {
    match Message::parse(answer) {
        Ok(Message::Response { outcome, .. }) => outcome.err(),
        _ => None,
    }
}
