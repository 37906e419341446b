//! One legacy session: the state of its connection, what runs in it, and its streams
//! ([sessions](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management)).
//!
//! A session is passive: whoever brings a message, an answer or the time works on it under its lock. No task waits
//! for it, so that an idle one costs nothing but its memory.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::time::Instant;
use trunkline_proto::server::{AskId, Config, Connection, Incoming, News};
use trunkline_types::{Profile, RequestId};

use super::budget::Budget;
use super::running::{Asked, Running};
use super::session_id::SessionId;
use super::stream::{Carrier, Resumable, Stream};

/// How long a stream is kept after its last message, for a client that may have lost it.
const KEPT_AFTER_END: Duration = Duration::from_secs(60);
/// How many streams are kept after their last message.
const KEPT_STREAMS: usize = 16;
/// How many streams that belong to no request a session may have open. One more ends the oldest: it may be of a
/// connection that broke without a sign.
const STANDING: usize = 8;

/// How what a session says reaches its client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Streams {
    /// By one stream for everything.
    One,
    /// By a stream for each request, and others for the rest.
    Several,
}

#[derive(Debug)]
pub(super) struct Session {
    pub(super) id: SessionId,
    /// Who opened it. Nobody else may use it.
    pub(super) principal: String,
    /// Carries everything in the oldest transport, where messages come by other requests than answers leave by.
    pub(super) shared_stream: Option<Arc<Stream>>,
    epoch: Instant,
    budget: Arc<Budget>,
    retry: Duration,
    state: Mutex<State>,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) connection: Connection,
    pub(super) running: BTreeMap<RequestId, Running>,
    pub(super) asked: HashMap<AskId, Asked>,
    /// Streams of requests, which the client may come back to.
    streams: Vec<Arc<Stream>>,
    /// Open streams that belong to no request. The last one speaks.
    standing: Vec<Arc<Stream>>,
    last_serial: u64,
    /// How many of the client's connections wait or listen.
    attending: usize,
    pub(super) used: Instant,
    /// What runs is still answered, nothing more is to follow.
    draining: bool,
    pub(super) ended: bool,
}

impl State {
    /// What the connection has to say about what it was just told.
    pub(super) fn said(&mut self) -> Vec<Vec<u8>> {
        std::iter::from_fn(|| self.connection.poll_transmit()).collect()
    }

    /// A number that was never given out in this session.
    pub(super) fn serial(&mut self) -> u64 {
        self.last_serial += 1;
        self.last_serial
    }
}

/// A connection of the client's that waits or listens: meanwhile its session is in use.
#[derive(Debug)]
pub(super) struct Attending(Arc<Session>);

impl Attending {
    pub(super) fn session(&self) -> &Arc<Session> {
        &self.0
    }
}

impl Drop for Attending {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.attending -= 1;
        state.used = Instant::now();
    }
}

impl Session {
    pub(super) fn new(
        id: SessionId,
        principal: String,
        config: Arc<Config>,
        streams: Streams,
        budget: Arc<Budget>,
        retry: Duration,
    ) -> Arc<Self> {
        let epoch = Instant::now();
        Arc::new_cyclic(|session| Self {
            id,
            principal,
            shared_stream: match streams {
                Streams::One => Some(Stream::new(Weak::clone(session), None)),
                Streams::Several => None,
            },
            epoch,
            budget,
            retry,
            state: Mutex::new(State {
                connection: Connection::new(config),
                running: BTreeMap::new(),
                asked: HashMap::new(),
                streams: Vec::new(),
                standing: Vec::new(),
                last_serial: 0,
                attending: 0,
                used: epoch,
                draining: false,
                ended: false,
            }),
        })
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn now(&self) -> Duration {
        self.epoch.elapsed()
    }

    /// The revision that was agreed on.
    pub(super) fn profile(&self) -> Option<&'static Profile> {
        self.lock().connection.session_profile()
    }

    /// How it reaches its client.
    pub(super) fn streams(&self) -> Streams {
        match &self.shared_stream {
            Some(_) => Streams::One,
            None => Streams::Several,
        }
    }

    pub(super) fn has_ended(&self) -> bool {
        self.lock().ended
    }

    /// Notes that a connection of the client's waits or listens.
    pub(super) fn attend(self: &Arc<Self>) -> Attending {
        self.lock().attending += 1;
        Attending(Arc::clone(self))
    }

    /// A stream for the answer to a message with requests.
    pub(super) fn open_stream(self: &Arc<Self>, state: &mut State) -> Arc<Stream> {
        if let Some(shared) = &self.shared_stream {
            return Arc::clone(shared);
        }
        let polls = state
            .connection
            .session_profile()
            .is_some_and(|profile| profile.polling);
        let resumable = Resumable {
            name: state.serial(),
            budget: Arc::clone(&self.budget),
            retry: polls.then_some(self.retry),
        };
        Stream::new(Arc::downgrade(self), Some(resumable))
    }

    /// Keeps a stream whose events were begun, so that the client can come back to it.
    pub(super) fn keep(&self, stream: &Arc<Stream>) {
        let mut state = self.lock();
        if state.ended {
            return;
        }
        state.streams.push(Arc::clone(stream));
        let ended = |stream: &Arc<Stream>| stream.closed_since().is_some();
        let over = state
            .streams
            .iter()
            .filter(|stream| ended(stream))
            .count()
            .saturating_sub(KEPT_STREAMS);
        for _ in 0..over {
            if let Some(oldest) = state.streams.iter().position(ended) {
                state.streams.remove(oldest);
            }
        }
    }

    /// The stream that an event id belongs to, taken over behind that event. `None` if it is not kept.
    pub(super) fn resume(&self, name: u64, number: u64) -> Option<(Arc<Stream>, Carrier)> {
        let state = self.lock();
        let stream = state.streams.iter().find(|stream| stream.name() == Some(name))?;
        let carrier = stream.carry_after(number)?;
        Some((Arc::clone(stream), carrier))
    }

    /// Opens a stream that belongs to no request. `None` if the session is over.
    pub(super) fn stand(self: &Arc<Self>) -> Option<Arc<Stream>> {
        let mut state = self.lock();
        if state.ended {
            return None;
        }
        if state.standing.len() >= STANDING {
            state.standing.remove(0).close(None);
        }
        // What it carries are hints that change nothing by themselves. Who comes back is told that everything may
        // have changed, so nothing is kept, and no event needs an id.
        let stream = Stream::new(Arc::downgrade(self), None);
        state.standing.push(Arc::clone(&stream));
        Some(stream)
    }

    /// Whether a stream that belongs to no request is the one that speaks: each message goes to one only
    /// ([rule](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#multiple-connections)).
    fn speaks(&self, state: &State, stream: &Arc<Stream>) -> bool {
        self.shared_stream.is_some() || state.standing.last().is_some_and(|last| Arc::ptr_eq(last, stream))
    }

    /// Tells of a change on the stream that heard of it, if it is the one that speaks.
    pub(super) fn publish(&self, stream: &Arc<Stream>, news: &News) {
        let mut state = self.lock();
        if !self.speaks(&state, stream) {
            return;
        }
        state.connection.tell(news);
        for notice in state.said() {
            super::application::Outlet::notify(&**stream, notice);
        }
    }

    /// A stream that belongs to no request is over. The one that speaks from now on may have missed something.
    pub(super) fn leave(&self, stream: &Arc<Stream>) {
        let next = {
            let mut state = self.lock();
            let spoke = self.speaks(&state, stream);
            state.standing.retain(|other| !Arc::ptr_eq(other, stream));
            state.standing.last().filter(|_| spoke).cloned()
        };
        if let Some(next) = next {
            self.publish(&next, &News::Everything);
        }
    }

    /// Takes the time: questions that were not answered, and streams that nobody came back to. Whether the session
    /// is still wanted.
    pub(super) fn tick(&self, idle: Duration) -> bool {
        let now = self.now();
        let mut state = self.lock();
        let over = state.connection.handle_timeout(now);
        // One notice for each question, in their order.
        for (incoming, notice) in over.into_iter().zip(state.said()) {
            if let Incoming::Answered(ask, Err(error)) = incoming
                && let Some(asked) = state.asked.remove(&ask)
            {
                asked.stream.push(notice);
                drop(asked.asking.send(Err(error)));
            }
        }
        Self::withdraw(&mut state);
        let is_kept = |stream: &Arc<Stream>| {
            stream
                .closed_since()
                .is_none_or(|since| since.elapsed() < KEPT_AFTER_END)
        };
        state.streams.retain(is_kept);
        // A handler that runs on for a client that is gone is no use.
        state.attending > 0 || state.used.elapsed() < idle
    }

    /// How long nobody has used it. `None` while a connection of the client's waits or listens.
    pub(super) fn unused_for(&self) -> Option<Duration> {
        let state = self.lock();
        (state.attending == 0).then(|| state.used.elapsed())
    }

    /// Ends the one stream of the session when what runs was answered.
    pub(super) fn drain(&self) {
        let mut state = self.lock();
        state.draining = true;
        self.end_if_drained(&state);
    }

    pub(super) fn end_if_drained(&self, state: &State) {
        if let Some(shared) = &self.shared_stream
            && state.draining
            && state.running.is_empty()
        {
            shared.close(None);
        }
    }

    /// Ends the session: what runs is stopped, and its streams are closed.
    pub(super) fn end(&self) {
        let mut state = self.lock();
        state.ended = true;
        state.asked.clear();
        for (_, running) in std::mem::take(&mut state.running) {
            running.stop();
            running.stream.close(None);
        }
        let streams = std::mem::take(&mut state.streams);
        let standing = std::mem::take(&mut state.standing);
        streams
            .iter()
            .chain(&standing)
            .chain(&self.shared_stream)
            .for_each(|stream| stream.close(None));
    }
}
