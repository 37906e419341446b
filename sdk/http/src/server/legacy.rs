//! Legacy requests: everything belongs to a session, but for the message that opens one
//! ([transport](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http)).

use std::sync::Arc;
use std::task::Context;

use http::request::Parts;
use http::{HeaderValue, StatusCode};
use trunkline_types::{Era, Message, Method, RequestId, code};

use super::accept::{EVENTS, accepts, accepts_both};
use super::begun::{Begun, Waiting};
use super::body::{Events, OnLeave, Source};
use super::endpoint::{Inner, NAMELESS, STOPPING};
use super::headers;
use super::reply::{self, Refusal, Response};
use super::running::Taken;
use super::session::{Session, Streams};
use super::session_id::SessionId;
use super::sessions::FULL;
use super::stream::read_event_id;
use crate::header;

/// Takes one message, or a batch where the session's revision has batches; then it is not `read` yet.
pub(super) fn post(
    cx: &mut Context<'_>,
    inner: &Arc<Inner>,
    parts: &Parts,
    read: Option<Message<'_>>,
    body: &[u8],
) -> Begun {
    let is_opening = matches!(&read, Some(Message::Request { method, .. }) if method == Method::Initialize.name());
    if is_opening && !parts.headers.contains_key(header::SESSION_ID) {
        return open(inner, parts, read, body).into();
    }
    let session = match find(inner, parts) {
        Ok(session) => session,
        Err(refusal) => return refusal.into(),
    };
    if !accepts_both(&parts.headers) && wants_answer(read.as_ref(), body) {
        return reply::not_acceptable(id_of(read.as_ref())).into();
    }
    match session.take(read, body) {
        Taken::Nothing => reply::plain(StatusCode::ACCEPTED).into(),
        Taken::Answered(answer) => reply::message(status(&answer), answer).into(),
        Taken::Requests(stream, requests) => {
            let attending = session.attend();
            for request in requests {
                session.start(cx, &*inner.application, request, &stream);
            }
            Begun::Waits(Waiting::new(stream, OnLeave::Pause(attending)))
        }
        Taken::Refused(refusal) => refusal.into(),
    }
}

/// What broke a rule of JSON-RPC is refused as HTTP too; any other error is an answer.
fn status(answer: &[u8]) -> StatusCode {
    match reply::error_of(answer).map(|error| error.code) {
        Some(code::INVALID_REQUEST | code::PARSE_ERROR | code::UNSUPPORTED_VERSION) => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

/// Whether a message, or one of a batch, is a request.
fn wants_answer(read: Option<&Message<'_>>, body: &[u8]) -> bool {
    match read {
        Some(read) => matches!(read, Message::Request { .. }),
        None => Message::split_batch(body).is_ok_and(|parts| {
            let mut read = parts.iter().map(|part| Message::parse(part.get().as_bytes()));
            read.any(|read| matches!(read, Ok(Message::Request { .. })))
        }),
    }
}

fn id_of<'a>(read: Option<&'a Message<'_>>) -> Option<&'a RequestId> {
    match read {
        Some(Message::Request { id, .. }) => Some(id),
        _ => None,
    }
}

/// Opens a session, if the client and the server can agree on a revision.
fn open(inner: &Arc<Inner>, parts: &Parts, read: Option<Message<'_>>, body: &[u8]) -> Response {
    if !accepts_both(&parts.headers) {
        return reply::not_acceptable(id_of(read.as_ref()));
    }
    let id = id_of(read.as_ref()).cloned();
    if inner.stopping().is_none() {
        return reply::busy(id.as_ref(), STOPPING);
    }
    if !inner.sessions.has_room() {
        return reply::busy(id.as_ref(), FULL);
    }
    let Some(session) = inner.new_session(super::principal(parts), Streams::Several) else {
        return reply::busy(id.as_ref(), NAMELESS);
    };
    let answer = match session.take(read, body) {
        Taken::Answered(answer) => answer,
        Taken::Refused(refusal) => return refusal.into(),
        Taken::Requests(..) | Taken::Nothing => return reply::plain(StatusCode::BAD_REQUEST),
    };
    if session.profile().is_none() {
        return reply::message(status(&answer), answer);
    }
    let Ok(name) = HeaderValue::try_from(session.id.to_string()) else {
        return reply::plain(StatusCode::INTERNAL_SERVER_ERROR);
    };
    if !inner.sessions.open(session) {
        return reply::busy(id.as_ref(), FULL);
    }
    let mut response = reply::message(StatusCode::OK, answer);
    response.headers_mut().insert(header::SESSION_ID, name);
    response
}

/// The session that a request belongs to.
fn find(inner: &Inner, parts: &Parts) -> Result<Arc<Session>, Refusal> {
    let mut named = parts.headers.get_all(header::SESSION_ID).iter();
    let id = match (named.next(), named.next()) {
        (None, _) => {
            let why = "`Mcp-Session-Id` is missing: send `initialize` first, or name the protocol version in `_meta`";
            return Err(Refusal::new(StatusCode::BAD_REQUEST, why));
        }
        (Some(_), Some(_)) => {
            return Err(Refusal::new(
                StatusCode::BAD_REQUEST,
                "`Mcp-Session-Id` is there more than once",
            ));
        }
        (Some(id), None) => id.to_str().ok().and_then(SessionId::read),
    };
    let session = id.and_then(|id| inner.sessions.find(id, &super::principal(parts), Streams::Several));
    let session = session.ok_or_else(reply::gone)?;
    check_version(inner, parts)?;
    Ok(session)
}

/// The header may be absent, as in revisions that do not know it, but not name what is not spoken here in a session
/// ([rule](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#protocol-version-header)).
fn check_version(inner: &Inner, parts: &Parts) -> Result<(), Refusal> {
    let said = match headers::only(&parts.headers, &header::PROTOCOL_VERSION) {
        Ok(None) => return Ok(()),
        Ok(Some(version)) => version,
        Err(error) => return Err(Refusal::new(StatusCode::BAD_REQUEST, error.message)),
    };
    if inner.speaks(said, Era::Legacy) {
        return Ok(());
    }
    let names = inner.application.config().revision_names().join(", ");
    let why = format!("this version of the protocol is not spoken in a session here; all versions: {names}");
    Err(Refusal::new(StatusCode::BAD_REQUEST, why))
}

/// Opens a stream that belongs to no request, or goes on with one that broke.
pub(super) fn get(inner: &Arc<Inner>, parts: &Parts) -> Response {
    if !accepts(&parts.headers, EVENTS) {
        return reply::takes_no_events();
    }
    let session = match find(inner, parts) {
        Ok(session) => session,
        Err(refusal) => return refusal.into(),
    };
    if let Some(last) = parts.headers.get(header::LAST_EVENT_ID) {
        let resumed = last
            .to_str()
            .ok()
            .and_then(read_event_id)
            .and_then(|(name, number)| session.resume(name, number));
        let Some((stream, carrier)) = resumed else {
            return reply::refused(
                StatusCode::BAD_REQUEST,
                "there is no such event in this session, or no longer",
            );
        };
        let on_leave = OnLeave::Pause(session.attend());
        let keep_alive = inner.options.keep_alive;
        return reply::events(Events::new(stream, carrier, Source::Handler, on_leave, keep_alive));
    }
    let Some(stopping) = inner.stopping() else {
        return reply::busy(None, STOPPING);
    };
    // Changes count from here, before the client can know that it hears them.
    let changes = inner.application.changes();
    let Some(stream) = session.stand() else {
        return reply::gone().into();
    };
    let carrier = stream.carry();
    let on_leave = OnLeave::Leave(session.attend());
    let source = Source::Session(session, changes);
    let events = Events::new(stream, carrier, source, on_leave, inner.options.keep_alive);
    reply::events(events.until(stopping))
}

/// Ends a session.
pub(super) fn delete(inner: &Arc<Inner>, parts: &Parts) -> Response {
    match find(inner, parts) {
        Ok(session) => {
            inner.sessions.close(session.id);
            reply::plain(StatusCode::NO_CONTENT)
        }
        Err(refusal) => refusal.into(),
    }
}
