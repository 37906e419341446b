//! The events of one stream, between those who make them and the connection that carries them.
//!
//! A stream outlives its connection where the client may come back for the rest (legacy,
//! [resumption](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery)):
//! then each event has an id, and the last ones are kept after they were sent.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use http::StatusCode;
use tokio::time::Instant;
use trunkline_types::{InputRequest, RequestId, encode};

use super::application::{Asking, Outlet, Reply};
use super::budget::Budget;
use super::options::Options;
use super::reply::modern_status;
use super::session::Session;
use crate::sse::{encode_event, encode_retry};

/// How many messages may wait to be carried before further notices are dropped.
const WAITING: usize = 1024;
/// How many bytes may wait to be carried before further notices are dropped.
const WAITING_BYTES: usize = 1024 * 1024;
/// How many bytes may wait to be carried before the client is given up: it does not read.
const MOST_WAITING_BYTES: usize = 64 * 1024 * 1024;
/// How many events that were carried are kept, in case the client lost them.
const KEPT: usize = 256;
/// How many bytes of events that were carried are kept.
const KEPT_BYTES: usize = 1024 * 1024;
/// After so many bytes a piece of the stream is whole.
const PIECE: usize = 64 * 1024;

/// What makes a stream one that the client may come back to.
#[derive(Debug)]
pub(super) struct Resumable {
    /// Unique in its session; event ids begin with it.
    pub(super) name: u64,
    /// For what is kept on all streams together.
    pub(super) budget: Arc<Budget>,
    /// What asks the client to come back after a break, where its revision knows that.
    pub(super) retry: Option<Duration>,
}

/// Which connection carries a stream. A newer one takes its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Carrier(u64);

/// How the answer to a request begins.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Begin {
    /// It is all there is: no stream is needed.
    Whole(StatusCode, Vec<u8>),
    /// There is more to say than one message, or earlier.
    Events,
    /// It is over without a word: the request was cancelled.
    Nothing,
}

/// Whether a connection has more to carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Carried {
    More,
    Last,
}

#[derive(Debug)]
pub(super) struct Stream {
    session: Weak<Session>,
    resumable: Option<Resumable>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    events: VecDeque<Vec<u8>>,
    /// The number of the first of them. They begin at 1: number 0 is the priming event.
    first: u64,
    /// How many of them were carried already.
    carried: usize,
    carried_bytes: usize,
    waiting_bytes: usize,
    /// What the last message means as HTTP, should it be the only one.
    status: StatusCode,
    /// Nothing follows.
    closed: Option<Instant>,
    /// The last message is the answer.
    is_answered: bool,
    /// The connection is to be let go of, and the client to come back after this wait.
    released: Option<Duration>,
    carrier: u64,
    is_carried: bool,
    reader: Option<Waker>,
}

impl State {
    fn waiting(&self) -> usize {
        self.events.len() - self.carried
    }

    fn wake(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
    }

    fn is_crowded(&self) -> bool {
        self.waiting() >= WAITING || self.waiting_bytes > WAITING_BYTES
    }
}

impl Stream {
    pub(super) fn new(session: Weak<Session>, resumable: Option<Resumable>) -> Arc<Self> {
        Arc::new(Self {
            session,
            resumable,
            state: Mutex::new(State {
                first: 1,
                // Whoever it is opened for waits, and takes it over when there is something to carry.
                is_carried: true,
                ..State::default()
            }),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its name in its session, if the client may come back to it.
    pub(super) fn name(&self) -> Option<u64> {
        self.resumable.as_ref().map(|resumable| resumable.name)
    }

    /// Sends a message that the client needs.
    pub(super) fn push(&self, message: Vec<u8>) {
        let mut state = self.lock();
        if state.closed.is_some() {
            return;
        }
        self.add(&mut state, message);
        if state.waiting_bytes > MOST_WAITING_BYTES {
            state.closed = Some(Instant::now());
        }
        state.wake();
    }

    fn add(&self, state: &mut State, message: Vec<u8>) {
        state.waiting_bytes += message.len();
        if let Some(resumable) = &self.resumable {
            resumable.budget.take(message.len());
        }
        state.events.push_back(message);
    }

    /// Ends the stream, with its last message. A client that is gone while too much is kept already loses it.
    pub(super) fn close(&self, last: Option<Vec<u8>>) {
        let mut state = self.lock();
        if state.closed.is_some() {
            return;
        }
        let is_lost = self.is_unaffordable(&state);
        if let Some(last) = last.filter(|_| !is_lost) {
            self.add(&mut state, last);
            state.is_answered = true;
        }
        state.closed = Some(Instant::now());
        state.wake();
    }

    /// Whether nobody is there to take what is said, and too much is kept already.
    fn is_unaffordable(&self, state: &State) -> bool {
        let resumable = self.resumable.as_ref();
        !state.is_carried && resumable.is_some_and(|resumable| resumable.budget.is_over())
    }

    /// Ends the stream with the answer to a modern request.
    pub(super) fn finish(&self, id: &RequestId, reply: Reply) {
        let answer = match reply {
            Ok(result) => encode::result(id, result),
            Err(error) => {
                self.lock().status = modern_status(&error);
                encode::error(Some(id), &error)
            }
        };
        self.close(Some(answer));
    }

    /// Since when nothing follows.
    pub(super) fn closed_since(&self) -> Option<Instant> {
        self.lock().closed
    }

    /// Waits for how the answer begins. Who waits long is shown a stream, so that nothing between takes the
    /// connection for dead.
    ///
    /// Who goes away meanwhile has heard nothing to come back to: what is said from then on is for nobody.
    pub(super) async fn begin(&self, options: &Options) -> Begin {
        let unheard = Unheard(self);
        let begin = self.wait_to_begin(options).await;
        std::mem::forget(unheard);
        begin
    }

    async fn wait_to_begin(&self, options: &Options) -> Begin {
        let begin = poll_fn(|cx| self.poll_begin(cx));
        if options.stream_at_once {
            // What is refused has a status that a stream cannot have.
            let is_refused = self.lock().status != StatusCode::OK;
            return if is_refused { begin.await } else { Begin::Events };
        }
        tokio::time::timeout(options.keep_alive, begin)
            .await
            .unwrap_or(Begin::Events)
    }

    fn poll_begin(&self, cx: &mut Context<'_>) -> Poll<Begin> {
        let mut state = self.lock();
        if state.is_answered && state.released.is_none() && state.events.len() == 1 {
            return Poll::Ready(Begin::Whole(state.status, self.take_only(&mut state)));
        }
        if state.closed.is_some() && state.events.is_empty() {
            return Poll::Ready(Begin::Nothing);
        }
        if state.closed.is_some() || state.released.is_some() || !state.events.is_empty() {
            return Poll::Ready(Begin::Events);
        }
        state.reader = Some(cx.waker().clone());
        Poll::Pending
    }

    /// The only message, which is answered without a stream.
    fn take_only(&self, state: &mut State) -> Vec<u8> {
        let message = state.events.pop_front().unwrap_or_default();
        state.waiting_bytes -= message.len();
        self.forget(message.len());
        message
    }

    fn forget(&self, bytes: usize) {
        if let Some(resumable) = &self.resumable {
            resumable.budget.give_back(bytes);
        }
    }

    /// Takes the stream over where it stands.
    pub(super) fn carry(&self) -> Carrier {
        Self::take_over(&mut self.lock())
    }

    /// Takes the stream over behind the event of that number. `None` if that is not kept any more.
    pub(super) fn carry_after(&self, number: u64) -> Option<Carrier> {
        let mut state = self.lock();
        let skipped = usize::try_from(number.checked_add(1)?.checked_sub(state.first)?).ok()?;
        if skipped > state.carried {
            return None;
        }
        // What follows is carried once more.
        let again: usize = state.events.range(skipped..state.carried).map(Vec::len).sum();
        state.carried_bytes -= again;
        state.waiting_bytes += again;
        state.carried = skipped;
        // Who came back is not sent away for what was asked before.
        state.released = None;
        Some(Self::take_over(&mut state))
    }

    fn take_over(state: &mut State) -> Carrier {
        state.carrier += 1;
        state.is_carried = true;
        state.wake();
        Carrier(state.carrier)
    }

    /// The connection is gone.
    pub(super) fn drop_carrier(&self, carrier: Carrier) {
        let mut state = self.lock();
        if state.carrier == carrier.0 {
            state.is_carried = false;
            state.reader = None;
        }
    }

    /// Writes what waits, at most a piece.
    pub(super) fn poll_carry(&self, cx: &mut Context<'_>, carrier: Carrier, out: &mut Vec<u8>) -> Poll<Carried> {
        let mut state = self.lock();
        if state.carrier != carrier.0 {
            return Poll::Ready(Carried::Last);
        }
        let before = out.len();
        while state.waiting() > 0 && out.len() - before < PIECE {
            let index = state.carried;
            let number = state.first + index as u64;
            let id = self.name().map(|name| event_id(name, number));
            encode_event(out, id.as_deref(), None, &state.events[index]);
            let bytes = state.events[index].len();
            state.carried += 1;
            state.waiting_bytes -= bytes;
            state.carried_bytes += bytes;
            self.evict(&mut state);
        }
        if state.waiting() == 0 {
            if state.closed.is_some() {
                return Poll::Ready(Carried::Last);
            }
            if let Some(retry) = state.released.take() {
                encode_retry(out, millis(retry));
                return Poll::Ready(Carried::Last);
            }
        }
        if out.len() > before {
            return Poll::Ready(Carried::More);
        }
        state.reader = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Lets go of the oldest events that were carried: all of them where nobody can come back.
    fn evict(&self, state: &mut State) {
        let (kept, bytes) = match &self.resumable {
            Some(resumable) if !resumable.budget.is_over() => (KEPT, KEPT_BYTES),
            _ => (0, 0),
        };
        while state.carried > kept || (state.carried > 0 && state.carried_bytes > bytes) {
            let Some(event) = state.events.pop_front() else { return };
            state.first += 1;
            state.carried -= 1;
            state.carried_bytes -= event.len();
            self.forget(event.len());
        }
    }

    /// The event that lets the client come back before there is anything to say, if its revision knows that.
    pub(super) fn prime(&self, out: &mut Vec<u8>) {
        if let Some(Resumable {
            name,
            retry: Some(retry),
            ..
        }) = &self.resumable
        {
            encode_retry(out, millis(*retry));
            encode_event(out, Some(&event_id(*name, 0)), None, b"");
        }
    }
}

/// A stream of which nobody has heard yet.
struct Unheard<'a>(&'a Stream);

impl Drop for Unheard<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.closed.get_or_insert_with(Instant::now);
        let events = std::mem::take(&mut state.events);
        (state.carried, state.carried_bytes, state.waiting_bytes) = (0, 0, 0);
        self.0.forget(events.iter().map(Vec::len).sum());
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let left: usize = self.lock().events.iter().map(Vec::len).sum();
        self.forget(left);
    }
}

impl Outlet for Stream {
    fn notify(&self, message: Vec<u8>) {
        let mut state = self.lock();
        if state.closed.is_none() && !state.is_crowded() && !self.is_unaffordable(&state) {
            self.add(&mut state, message);
            state.wake();
        }
    }

    fn ask(&self, request: InputRequest, asking: Asking) {
        // Without a session there is nobody to ask, and dropping `asking` says so.
        if let Some(session) = self.session.upgrade() {
            session.ask(self, &request, asking);
        }
    }

    fn release(&self, retry: Duration) {
        if self
            .resumable
            .as_ref()
            .is_none_or(|resumable| resumable.retry.is_none())
        {
            return;
        }
        let mut state = self.lock();
        if state.closed.is_none() {
            state.released = Some(retry);
            state.wake();
        }
    }
}

fn millis(wait: Duration) -> u64 {
    u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)
}

/// The id of an event: the stream's name and the event's number
/// ([ids](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery)).
fn event_id(name: u64, number: u64) -> String {
    format!("{name}-{number}")
}

/// Reads the id of an event.
pub(super) fn read_event_id(id: &str) -> Option<(u64, u64)> {
    let (name, number) = id.split_once('-')?;
    let digits = |text: &str| {
        text.bytes()
            .all(|byte| byte.is_ascii_digit())
            .then(|| text.parse().ok())?
    };
    Some((digits(name)?, digits(number)?))
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
