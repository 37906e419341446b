//! The bodies of answers: nothing, one message, or a stream of events.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::sync::futures::OwnedNotified;
use tokio::task::AbortHandle;
use tokio::time::{Instant, Sleep};
use trunkline_proto::server::Connection;

use super::application::Changes;
use super::session::{Attending, Session};
use super::sessions::Sessions;
use super::stream::{Carried, Carrier, Stream};
use crate::sse::encode_comment;

/// The body of an answer.
#[derive(Debug)]
pub struct Body(Kind);

#[derive(Debug)]
enum Kind {
    Whole(Option<Bytes>),
    Events(Box<Events>),
}

impl Body {
    pub(super) fn empty() -> Self {
        Self(Kind::Whole(None))
    }

    pub(super) fn whole(message: Vec<u8>) -> Self {
        Self(Kind::Whole(Some(message.into())))
    }

    pub(super) fn events(events: Events) -> Self {
        Self(Kind::Events(Box::new(events)))
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = match &mut self.0 {
            Kind::Whole(message) => message.take(),
            Kind::Events(events) => ready!(events.poll_piece(cx)),
        };
        Poll::Ready(piece.map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.0, Kind::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Whole(message) => SizeHint::with_exact(message.as_ref().map_or(0, Bytes::len) as u64),
            Kind::Events(_) => SizeHint::default(),
        }
    }
}

/// Where the events of a stream come from, beside those that are pushed into it.
pub(super) enum Source {
    /// From the handler of a request.
    Handler,
    /// From changes, by a connection that only this stream uses (modern).
    Connection(Box<Connection>, Box<dyn Changes>),
    /// From changes, by a session; it ends with the stream where that carries all of it.
    Session(Arc<Session>, Box<dyn Changes>),
}

/// Ends a task with whoever waits for it: a client that leaves cancels its request
/// ([rule](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#cancellation)).
#[derive(Debug)]
pub(super) struct AbortOnDrop(AbortHandle);

impl AbortOnDrop {
    pub(super) fn new(task: AbortHandle) -> Self {
        Self(task)
    }
}

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// What the end of a body means.
#[derive(Debug)]
pub(super) enum OnLeave {
    /// Nothing is left to do.
    Nothing,
    /// The task of the request, if it has one, ends too.
    Abort(#[expect(dead_code, reason = "held to be dropped")] Option<AbortOnDrop>),
    /// The client may come back to the answer of a request.
    Pause(Attending),
    /// A stream that belongs to no request is left.
    Leave(Attending),
    /// The session cannot be without this stream.
    Close(Attending, Arc<Sessions>),
}

/// A stream of events on its way to the client.
pub(super) struct Events {
    stream: Arc<Stream>,
    carrier: Carrier,
    source: Source,
    on_leave: OnLeave,
    /// What is written before anything else.
    opening: Vec<u8>,
    over: bool,
    keep_alive: Duration,
    silence: Pin<Box<Sleep>>,
    /// The endpoint is to end. Requests have their time to finish; other streams end at once.
    stopping: Option<Pin<Box<OwnedNotified>>>,
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events")
            .field("stream", &self.stream)
            .finish_non_exhaustive()
    }
}

impl Events {
    /// A client that hears nothing for the time of `keep_alive` gets a sign of life.
    pub(super) fn new(
        stream: Arc<Stream>,
        carrier: Carrier,
        source: Source,
        on_leave: OnLeave,
        keep_alive: Duration,
    ) -> Self {
        Self {
            stream,
            carrier,
            source,
            on_leave,
            opening: Vec::new(),
            over: false,
            keep_alive,
            silence: Box::pin(tokio::time::sleep(keep_alive)),
            stopping: None,
        }
    }

    /// Writes this first.
    pub(super) fn opening(mut self, opening: Vec<u8>) -> Self {
        self.opening = opening;
        self
    }

    /// Ends the stream when this is ready.
    pub(super) fn until(mut self, stopping: OwnedNotified) -> Self {
        self.stopping = Some(Box::pin(stopping));
        self
    }

    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if self.over {
            return Poll::Ready(None);
        }
        self.poll_source(cx);
        let mut out = std::mem::take(&mut self.opening);
        let carried = self.stream.poll_carry(cx, self.carrier, &mut out);
        if let Poll::Ready(Carried::Last) = carried {
            self.over = true;
        }
        if out.is_empty() && carried.is_pending() {
            ready!(self.silence.as_mut().poll(cx));
            // Whatever reads the stream must ignore comments
            // (https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#receiving-messages).
            encode_comment(&mut out, "");
        }
        if out.is_empty() {
            return Poll::Ready(None);
        }
        self.silence.as_mut().reset(Instant::now() + self.keep_alive);
        Poll::Ready(Some(out.into()))
    }

    /// Turns what changed into events, and the end of the endpoint into the end of the stream.
    fn poll_source(&mut self, cx: &mut Context<'_>) {
        if let Some(stopping) = &mut self.stopping
            && stopping.as_mut().poll(cx).is_ready()
        {
            self.stopping = None;
            return self.stop();
        }
        match &mut self.source {
            Source::Handler => {}
            Source::Connection(connection, changes) => {
                while let Poll::Ready(news) = changes.poll_next(cx) {
                    connection.tell(&news);
                    while let Some(notice) = connection.poll_transmit() {
                        super::application::Outlet::notify(&*self.stream, notice);
                    }
                }
            }
            Source::Session(session, changes) => {
                while let Poll::Ready(news) = changes.poll_next(cx) {
                    session.publish(&self.stream, &news);
                }
            }
        }
    }

    fn stop(&mut self) {
        let last = match &mut self.source {
            // Answers leave by this stream too.
            Source::Session(session, _) if session.shared_stream.is_some() => return session.drain(),
            Source::Handler | Source::Session(..) => None,
            Source::Connection(connection, _) => {
                connection.close_streams();
                connection.poll_transmit()
            }
        };
        self.stream.close(last);
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.stream.drop_carrier(self.carrier);
        match &self.on_leave {
            OnLeave::Nothing | OnLeave::Abort(_) | OnLeave::Pause(_) => {}
            OnLeave::Leave(attending) => attending.session().leave(&self.stream),
            OnLeave::Close(attending, sessions) => sessions.close(attending.session().id),
        }
    }
}
