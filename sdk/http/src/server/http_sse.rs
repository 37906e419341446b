//! The transport of the first revision: a stream of events, and an address of its own to send messages to
//! ([HTTP with SSE](https://modelcontextprotocol.io/specification/2024-11-05/basic/transports#http-with-sse)).
//! Deprecated, and still spoken by clients.

use std::sync::Arc;
use std::task::Context;

use http::StatusCode;
use http::request::Parts;
use trunkline_types::{Era, ErrorObject, Message, encode};

use super::accept::{EVENTS, accepts};
use super::body::{Events, OnLeave, Source};
use super::endpoint::{Inner, NAMELESS, STOPPING};
use super::headers::Repeated;
use super::reply::{self, Response};
use super::running::Taken;
use super::session::Streams;
use super::session_id::SessionId;
use super::sessions::FULL;
use crate::sse::encode_event;

/// The last part of the path of the stream.
pub(super) const STREAM: &str = "sse";
/// The last part of the path that messages are sent to.
pub(super) const MESSAGES: &str = "messages";
const SESSION: &str = "sessionId=";

/// Opens the stream of a new session. Its first event tells where to send messages.
pub(super) fn open(inner: &Arc<Inner>, parts: &Parts) -> Response {
    if !accepts(&parts.headers, EVENTS) {
        return reply::takes_no_events();
    }
    let Some(stopping) = inner.stopping() else {
        return reply::busy(None, STOPPING);
    };
    let Some(session) = inner.new_session(super::principal(parts), Streams::One) else {
        return reply::busy(None, NAMELESS);
    };
    let stream = session.open_stream(&mut session.lock());
    if !inner.sessions.open(Arc::clone(&session)) {
        return reply::busy(None, FULL);
    }
    let path = parts.uri.path();
    let address = format!(
        "{}{MESSAGES}?{SESSION}{}",
        path.strip_suffix(STREAM).unwrap_or(path),
        session.id
    );
    let mut opening = Vec::new();
    encode_event(&mut opening, None, Some("endpoint"), address.as_bytes());
    let carrier = stream.carry();
    let source = Source::Session(Arc::clone(&session), inner.application.changes());
    let on_leave = OnLeave::Close(session.attend(), Arc::clone(&inner.sessions));
    let events = Events::new(stream, carrier, source, on_leave, inner.options.keep_alive);
    reply::events(events.opening(opening).until(stopping))
}

/// Takes one message; the answer to it leaves by the stream.
pub(super) fn post(
    cx: &mut Context<'_>,
    inner: &Arc<Inner>,
    parts: &Parts,
    read: Option<Message<'_>>,
    body: &[u8],
) -> Response {
    let query = parts.uri.query().unwrap_or_default();
    let id = query
        .split('&')
        .find_map(|pair| pair.strip_prefix(SESSION))
        .and_then(SessionId::read);
    let session = id.and_then(|id| inner.sessions.find(id, &super::principal(parts), Streams::One));
    let Some(session) = session else {
        return reply::gone().into();
    };
    if let Some(Message::Request { id, params, .. }) = &read
        && let Some(version) = Repeated::read(*params, &inner.known).version()
    {
        // An answer like any other: a client that probes for the modern era takes a refused POST for a broken
        // connection, and does not go on to the handshake.
        session.say(encode::error(Some(id), &unsupported(inner, version)));
        return reply::plain(StatusCode::ACCEPTED);
    }
    match session.take(read, body) {
        Taken::Nothing => {}
        Taken::Answered(answer) => session.say(answer),
        Taken::Requests(stream, requests) => {
            for request in requests {
                session.start(cx, &*inner.application, request, &stream);
            }
        }
        Taken::Refused(refusal) => return refusal.into(),
    }
    reply::plain(StatusCode::ACCEPTED)
}

/// Modern requests belong to the other address: on this one only the revisions with a handshake are spoken
/// ([rule](https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#protocol-version-negotiation)).
fn unsupported(inner: &Inner, wanted: &str) -> ErrorObject {
    let config = inner.application.config();
    let spoken = config
        .revisions
        .iter()
        .rev()
        .filter(|revision| revision.era() == Era::Legacy);
    let names: Vec<&str> = spoken.map(|revision| revision.name()).collect();
    ErrorObject::unsupported_version(wanted, &names)
}
