//! Modern requests: each is a call of its own, without a session and without a task more than it needs
//! ([messages](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#sending-messages)).

use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use http::StatusCode;
use http::request::Parts;
use serde_json::value::RawValue;
use trunkline_proto::server::{Connection, Incoming, IncomingRequest};
use trunkline_types::{Era, ErrorObject, Message, RequestId, code, meta_key};

use super::accept::accepts_both;
use super::application::ApplicationRequest;
use super::begun::{Begun, Waiting};
use super::body::{AbortOnDrop, Events, OnLeave, Source};
use super::endpoint::{Inner, STOPPING};
use super::headers::{self, Repeated};
use super::reply::{self, Response};
use super::stream::Stream;
use crate::header;

/// Answers one message of a client that speaks a modern revision, or begins to.
pub(super) fn post(
    cx: &mut Context<'_>,
    inner: &Arc<Inner>,
    parts: &Parts,
    message: Message<'_>,
    repeated: Repeated<'_>,
) -> Begun {
    let (id, method, params) = match message {
        Message::Request { id, method, params } => (id, method, params),
        // There is no notification that means anything here: what is cancelled is told by closing its stream.
        Message::Notification { .. } => return reply::plain(StatusCode::ACCEPTED).into(),
        Message::Response { .. } => {
            return reply::refused(
                StatusCode::BAD_REQUEST,
                "a client sends requests and notifications here; answers travel in `inputResponses`",
            )
            .into();
        }
    };
    if !accepts_both(&parts.headers) {
        return reply::not_acceptable(Some(&id)).into();
    }
    if let Err(error) = check(inner, parts, &method, &repeated) {
        return reply::error(refused_status(&error), Some(&id), &error).into();
    }
    let mut connection = Box::new(Connection::knowing(inner.application.config(), inner.known.clone()));
    let message = Message::Request {
        id: id.clone(),
        method,
        params,
    };
    match connection.handle_said(Duration::ZERO, message, repeated.into_said()) {
        Incoming::Request(request) => Begun::Waits(run(cx, inner, parts, request)),
        _ if connection.streams() > 0 => listen(inner, id, parts, connection).into(),
        _ => answered(connection.poll_transmit().unwrap_or_default()).into(),
    }
}

/// Headers and body must agree before anything is done. Which revision it is comes first, then what is asked for.
fn check(inner: &Inner, parts: &Parts, method: &str, repeated: &Repeated<'_>) -> Result<(), ErrorObject> {
    let said = headers::only(&parts.headers, &header::PROTOCOL_VERSION)?
        .ok_or_else(|| headers::missing(&header::PROTOCOL_VERSION))?;
    let Some(version) = repeated.version() else {
        let key = meta_key::PROTOCOL_VERSION;
        return Err(ErrorObject::invalid_params(format!("`_meta` needs `{key}`")));
    };
    if said != version {
        return Err(headers::differs(&header::PROTOCOL_VERSION, said, version));
    }
    // The headers of a revision that is not served are not known.
    if !inner.speaks(version, Era::Modern) {
        return Ok(());
    }
    repeated.check(&parts.headers, method, &*inner.application)
}

/// A request that breaks a rule of the protocol is refused as one; what its handler says is an answer.
fn refused_status(error: &ErrorObject) -> StatusCode {
    match error.code {
        code::INVALID_PARAMS => StatusCode::BAD_REQUEST,
        _ => reply::modern_status(error),
    }
}

/// What the connection itself answered.
fn answered(answer: Vec<u8>) -> Response {
    let status = reply::error_of(&answer).map_or(StatusCode::OK, |error| refused_status(&error));
    reply::message(status, answer)
}

/// Runs a request. One that is ready at once costs nothing but its answer; one that has to wait becomes a task,
/// which ends with its client.
fn run(cx: &mut Context<'_>, inner: &Arc<Inner>, parts: &Parts, request: IncomingRequest<'_>) -> Waiting {
    let id = request.id;
    let stream = Stream::new(Weak::new(), None);
    let mut running = inner.application.answer(ApplicationRequest {
        method: request.method,
        profile: request.profile,
        client: request.client,
        meta: request.meta,
        log_level: request.log_level,
        principal: super::principal(parts),
        params: request.params.map(RawValue::to_owned),
        outlet: Arc::clone(&stream) as _,
    });
    let task = match running.as_mut().poll(cx) {
        Poll::Ready(reply) => {
            stream.finish(&id, reply);
            None
        }
        Poll::Pending => {
            let to = Arc::clone(&stream);
            let task = tokio::spawn(async move { to.finish(&id, running.await) });
            // A client that leaves ends the task: this is dropped with the answer to it.
            Some(AbortOnDrop::new(task.abort_handle()))
        }
    };
    Waiting::new(stream, OnLeave::Abort(task))
}

/// A stream of notices
/// ([subscriptions](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions)).
fn listen(inner: &Arc<Inner>, id: RequestId, parts: &Parts, mut connection: Box<Connection>) -> Response {
    let Some(stopping) = inner.stopping() else {
        return reply::busy(Some(&id), STOPPING);
    };
    let mut changes = inner.application.changes();
    changes.watch(&super::principal(parts), connection.watched_tasks());
    let stream = Stream::new(Weak::new(), None);
    while let Some(acknowledgement) = connection.poll_transmit() {
        stream.push(acknowledgement);
    }
    let carrier = stream.carry();
    let source = Source::Connection(connection, changes);
    let events = Events::new(stream, carrier, source, OnLeave::Nothing, inner.options.keep_alive);
    reply::events(events.until(stopping))
}
