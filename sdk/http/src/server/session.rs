//! One legacy session: the state of its connection, what runs in it, and its streams
//! ([sessions](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management)).
//!
//! A session is passive: whoever brings a message, an answer or the time works on it under its lock. No task waits
//! for it, so that an idle one costs nothing but its memory.

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Poll;
use std::time::Duration;

use serde_json::Value;
use serde_json::value::RawValue;
use tokio::task::AbortHandle;
use tokio::time::Instant;
use trunkline_proto::Timeouts;
use trunkline_proto::server::{AskError, AskId, Config, Connection, Incoming, IncomingRequest};
use trunkline_types::{ErrorObject, InputRequest, Message, Profile, RequestId};

use super::application::{Application, ApplicationRequest, Asking, News, Reply};
use super::stream::{Budget, Carrier, Resumable, Stream};

/// How long a client may take to answer a request of the server's: a person may have to think.
const ASK: Timeouts = Timeouts {
    idle: Duration::from_secs(600),
    total: Duration::from_secs(1800),
};
/// How long a stream is kept after its last message, for a client that may have lost it.
const KEPT_AFTER_END: Duration = Duration::from_secs(60);
/// How many streams are kept after their last message.
const KEPT_STREAMS: usize = 16;
/// How many streams that belong to no request a session may have open.
const STANDING: usize = 8;

/// Names a session. Nobody can guess it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct SessionId(u128);

impl SessionId {
    /// A new one. `None` if the system has no randomness.
    pub(super) fn random() -> Option<Self> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).ok()?;
        Some(Self(u128::from_ne_bytes(bytes)))
    }

    /// Reads one as a client sends it.
    pub(super) fn read(text: &str) -> Option<Self> {
        let plain = text.len() == 32 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        plain.then(|| u128::from_str_radix(text, 16).ok().map(Self))?
    }
}

impl std::fmt::Display for SessionId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// How what a session says reaches its client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Streams {
    /// By one stream for everything.
    One,
    /// By a stream for each request, and others for the rest.
    Several,
}

/// What a message came to.
#[derive(Debug)]
pub(super) enum Taken<'a> {
    /// Requests to run; several were a batch.
    Requests(Vec<IncomingRequest<'a>>),
    /// The session answered itself.
    Answered(Vec<u8>),
    /// Nothing is to be answered.
    Nothing,
}

#[derive(Debug)]
struct Running {
    stream: Arc<Stream>,
    /// Only there once it has to wait.
    abort: Option<AbortHandle>,
}

#[derive(Debug)]
struct Asked {
    asking: Asking,
    stream: Arc<Stream>,
}

#[derive(Debug)]
pub(super) struct Session {
    pub(super) id: SessionId,
    /// Who opened it. Nobody else may use it.
    pub(super) principal: String,
    /// Carries everything in the oldest transport, where messages come by other requests than answers leave by.
    shared_stream: Option<Arc<Stream>>,
    epoch: Instant,
    budget: Arc<Budget>,
    retry: Duration,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    connection: Connection,
    running: HashMap<RequestId, Running>,
    asked: HashMap<AskId, Asked>,
    /// Streams of requests, which the client may come back to.
    streams: Vec<Arc<Stream>>,
    /// Open streams that belong to no request. The last one speaks.
    standing: Vec<Arc<Stream>>,
    next_name: u64,
    used: Instant,
    ended: bool,
}

impl State {
    /// What the connection has to say about what it was just told.
    fn said(&mut self) -> Vec<Vec<u8>> {
        std::iter::from_fn(|| self.connection.poll_transmit()).collect()
    }

    fn name_stream(&mut self) -> u64 {
        self.next_name += 1;
        self.next_name
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
                running: HashMap::new(),
                asked: HashMap::new(),
                streams: Vec::new(),
                standing: Vec::new(),
                next_name: 0,
                used: epoch,
                ended: false,
            }),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Duration {
        self.epoch.elapsed()
    }

    /// The revision that was agreed on.
    pub(super) fn profile(&self) -> Option<&'static Profile> {
        self.lock().connection.session_profile()
    }

    /// Takes one message, `read` already unless it could not be, and does at once what needs no handler.
    pub(super) fn take<'a>(&self, read: Option<Message<'a>>, message: &'a [u8]) -> Taken<'a> {
        let now = self.now();
        let mut state = self.lock();
        state.used = Instant::now();
        let incoming = match read {
            Some(read) => state.connection.handle(now, read),
            None => state.connection.handle_message(now, message),
        };
        let mut said = state.said();
        let mut requests = Vec::new();
        let mut open = vec![incoming];
        while let Some(incoming) = open.pop() {
            match incoming {
                Incoming::Request(request) => requests.push(*request),
                Incoming::Batch(all) => open.extend(all.into_iter().rev()),
                // What the connection says to a cancellation is what is left of a batch: it goes where the
                // batch came from.
                Incoming::Cancelled(id) => self.cancel(&mut state, &id, &mut said),
                Incoming::Answered(ask, outcome) => {
                    if let Some(asked) = state.asked.remove(&ask) {
                        // The handler may be gone by now.
                        let _ = asked.asking.send(outcome.and_then(|result| read_answer(&result)));
                    }
                }
                Incoming::Ready | Incoming::RootsChanged | Incoming::TasksWatched | Incoming::Nothing => {}
            }
        }
        if !requests.is_empty() {
            return Taken::Requests(requests);
        }
        match said.pop() {
            Some(answer) => Taken::Answered(answer),
            None => Taken::Nothing,
        }
    }

    fn cancel(&self, state: &mut State, id: &RequestId, said: &mut Vec<Vec<u8>>) {
        let Some(running) = state.running.remove(id) else {
            return;
        };
        if let Some(abort) = running.abort {
            abort.abort();
        }
        let is_shared = state
            .running
            .values()
            .any(|other| Arc::ptr_eq(&other.stream, &running.stream));
        if is_shared || self.shared_stream.is_some() {
            return;
        }
        running.stream.close(said.pop());
    }

    /// A stream for the answer to a message with requests.
    pub(super) fn open_stream(self: &Arc<Self>) -> Arc<Stream> {
        if let Some(shared) = &self.shared_stream {
            return Arc::clone(shared);
        }
        let mut state = self.lock();
        let polls = state
            .connection
            .session_profile()
            .is_some_and(|profile| profile.polling);
        let resumable = Resumable {
            name: state.name_stream(),
            budget: Arc::clone(&self.budget),
            retry: polls.then_some(self.retry),
        };
        Stream::new(Arc::downgrade(self), Some(resumable))
    }

    /// Starts a request. If it has to wait, it becomes a task, which goes on when the client's connection breaks
    /// ([rule](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#sending-messages-to-the-server)).
    pub(super) async fn start(
        self: &Arc<Self>,
        application: &dyn Application,
        request: IncomingRequest<'_>,
        stream: &Arc<Stream>,
    ) {
        let id = request.id;
        {
            let mut state = self.lock();
            if state.ended {
                return stream.close(None);
            }
            let running = Running {
                stream: Arc::clone(stream),
                abort: None,
            };
            state.running.insert(id.clone(), running);
        }
        let mut running = application.answer(ApplicationRequest {
            method: request.method,
            profile: request.profile,
            client: request.client,
            meta: request.meta,
            log_level: request.log_level,
            principal: self.principal.clone(),
            params: request.params.map(RawValue::to_owned),
            outlet: Arc::clone(stream) as _,
        });
        let first = poll_fn(|cx| Poll::Ready(running.as_mut().poll(cx))).await;
        if let Poll::Ready(reply) = first {
            return self.finish(&id, reply, stream);
        }
        let (session, to, name) = (Arc::clone(self), Arc::clone(stream), id.clone());
        let task = tokio::spawn(async move {
            let reply = running.await;
            session.finish(&name, reply, &to);
        });
        let mut state = self.lock();
        match state.running.get_mut(&id) {
            Some(running) => running.abort = Some(task.abort_handle()),
            // It is done, or was cancelled before it could be found.
            None => task.abort(),
        }
    }

    /// Sends an answer of the session's own, where everything leaves by one stream.
    pub(super) fn say(&self, answer: Vec<u8>) {
        if let Some(shared) = &self.shared_stream {
            shared.push(answer);
        }
    }

    fn finish(&self, id: &RequestId, reply: Reply, stream: &Arc<Stream>) {
        let mut state = self.lock();
        state.used = Instant::now();
        state.running.remove(id);
        Self::withdraw(&mut state);
        state.connection.finish(id, reply);
        // A batch is answered with its last one.
        let Some(answer) = state.said().pop() else { return };
        drop(state);
        match &self.shared_stream {
            Some(shared) => shared.push(answer),
            None => stream.close(Some(answer)),
        }
    }

    /// Questions whose handler is gone are not wanted any more.
    fn withdraw(state: &mut State) {
        let gone = state.asked.extract_if(|_, asked| asked.asking.is_closed());
        for (ask, asked) in gone.collect::<Vec<_>>() {
            state.connection.withdraw(&ask);
            for notice in state.said() {
                asked.stream.push(notice);
            }
        }
    }

    /// Asks the client on the stream of the request that wants to know.
    pub(super) fn ask(&self, stream: &Stream, request: &InputRequest, asking: Asking) {
        let now = self.now();
        let mut state = self.lock();
        let Some(stream) = self.stream_of(&state, stream) else {
            return;
        };
        match state.connection.ask(now, request, ASK) {
            Ok(ask) => {
                for question in state.said() {
                    stream.push(question);
                }
                state.asked.insert(ask, Asked { asking, stream });
            }
            Err(error) => {
                let refused = AskError::Refused(ErrorObject::internal(error.to_string()));
                drop(asking.send(Err(refused)));
            }
        }
    }

    fn stream_of(&self, state: &State, stream: &Stream) -> Option<Arc<Stream>> {
        let known = state.running.values().map(|running| &running.stream);
        let mut known = known.chain(&self.shared_stream);
        known.find(|known| std::ptr::eq(Arc::as_ptr(known), stream)).cloned()
    }

    /// Keeps a stream whose events were begun, so that the client can come back to it.
    pub(super) fn keep(&self, stream: &Arc<Stream>) {
        let mut state = self.lock();
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

    /// Opens a stream that belongs to no request. `None` if there are too many.
    pub(super) fn stand(self: &Arc<Self>) -> Option<Arc<Stream>> {
        let mut state = self.lock();
        if state.ended || state.standing.len() >= STANDING {
            return None;
        }
        state.used = Instant::now();
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
        match news {
            News::Change(change) => state.connection.publish(change),
            News::Everything => state.connection.publish_all(),
        }
        for notice in state.said() {
            super::application::Outlet::notify(&**stream, notice);
        }
    }

    /// A stream that belongs to no request is over. The one that speaks from now on may have missed something.
    pub(super) fn leave(&self, stream: &Arc<Stream>) {
        let next = {
            let mut state = self.lock();
            state.used = Instant::now();
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
        for incoming in state.connection.handle_timeout(now) {
            if let Incoming::Answered(ask, Err(error)) = incoming
                && let Some(asked) = state.asked.remove(&ask)
            {
                for notice in state.said() {
                    asked.stream.push(notice);
                }
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
        let is_busy = !state.running.is_empty() || !state.standing.is_empty() || self.shared_stream.is_some();
        is_busy || state.used.elapsed() < idle
    }

    /// Ends the session: what runs is stopped, and its streams are closed.
    pub(super) fn end(&self) {
        let mut state = self.lock();
        state.ended = true;
        state.asked.clear();
        for (_, running) in state.running.drain() {
            if let Some(abort) = running.abort {
                abort.abort();
            }
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

/// The answer to a question, decoded.
fn read_answer(result: &RawValue) -> Result<Value, AskError> {
    serde_json::from_str(result.get()).map_err(|error| AskError::Unusable(error.to_string()))
}
