//! The transport: what is sent when, and what came.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use http::{Method as Verb, Uri};
use tokio::time::{Sleep, sleep};
use trunkline_transport::{Limits, Received, Transport, TransportError, TransportErrorKind};
use trunkline_types::RequestId;

use super::answers::RequestJob;
use super::event_link::EventLink;
use super::exchange::{Exchange, Step, Wants};
use super::failure::Failure;
use super::listening::Listening;
use super::mirrors::Mirrors;
use super::outgoing::{self, Outgoing};
use super::remote::RemoteKind;
use super::renewal::Renewal;
use super::sender::{Outline, Sender};
use super::sessions::Sessions;
use super::wakes::{Key, WakeSet};

/// Requests that wait for their answers at the same time, each on a connection of its own; further ones wait.
pub const MAX_CALLS: usize = 256;
/// Streams of notices that are open at the same time; further ones are refused.
pub const MAX_STREAMS: usize = 64;
/// How long the head of an answer may take that nobody else waits for.
const HEAD_WAIT: Duration = Duration::from_secs(30);
/// How long the end may take: for what is still being sent, and for the session.
const FLUSH_WAIT: Duration = Duration::from_secs(1);
const DELETE_WAIT: Duration = Duration::from_secs(2);
/// What is received while nobody reads, before it is left where it is.
const READ_AHEAD: usize = 256;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
/// Both, always
/// (<https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#sending-messages>).
const EITHER: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");

/// A connection to a server over HTTP, from [`Remote::open`](super::Remote::open).
///
/// It finds out by itself what the server speaks: a message says whether it is a modern one, and a server that
/// refuses `initialize` is asked for the stream of HTTP+SSE. In the legacy era it keeps the session, listens for what
/// the server says unasked, resumes streams that break off, and makes a forgotten session anew.
///
/// It must be driven on the tokio runtime that it was opened on.
pub struct Http {
    pub(super) sender: Sender,
    pub(super) url: Uri,
    pub(super) kind: RemoteKind,
    limits: Limits,
    pub(super) mode: Mode,
    pub(super) slots: WakeSet<Slot>,
    /// The requests that wait for their answers.
    pub(super) open: HashMap<RequestId, Key>,
    calls: usize,
    streams: usize,
    pub(super) held: VecDeque<Outgoing>,
    pub(super) ready: VecDeque<Received>,
    pub(super) mirrors: Mirrors,
    fault: Option<TransportError>,
    /// Why the connection has ended.
    pub(super) ended: Option<String>,
    closing: Closing,
}

/// What was found out about the server.
#[derive(Debug)]
pub(super) enum Mode {
    /// Each request stands for itself; or nothing is known yet.
    Stateless,
    /// A legacy server at one address.
    Sessions(Box<Sessions>),
    /// A legacy server at two addresses.
    HttpSse(Box<EventLink>),
}

#[derive(Debug)]
enum Closing {
    No,
    Flushing(Pin<Box<Sleep>>),
    Deleting,
    Done,
}

/// One exchange, or the wait for the next one, and what it is for.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) job: Job,
    pub(super) stage: Stage,
}

#[derive(Debug)]
pub(super) enum Stage {
    Running(Box<Exchange>),
    Waiting(Pin<Box<Sleep>>),
}

#[derive(Debug)]
pub(super) enum Job {
    Request(Box<RequestJob>),
    /// A notification or a response.
    Notice(Outgoing),
    /// The stream of what a legacy server says unasked.
    Listening(Box<Listening>),
    /// The stream of HTTP+SSE.
    EventLink,
    /// A step of making a session anew.
    Renewal(Renewal),
    /// The end of a session.
    Delete,
}

/// What a slot has to say.
pub(super) enum News {
    Step(Step),
    /// The wait is over.
    Due,
}

impl Slot {
    fn poll(&mut self, sender: &mut Sender, cx: &mut Context<'_>) -> Poll<News> {
        match &mut self.stage {
            Stage::Running(exchange) => exchange.poll(sender, cx).map(News::Step),
            Stage::Waiting(timer) => timer.as_mut().poll(cx).map(|()| News::Due),
        }
    }

    pub(super) fn wait(&mut self, wait: Duration) {
        self.stage = Stage::Waiting(Box::pin(sleep(wait)));
    }
}

/// Whether a slot goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Goes {
    On,
    /// It is over and dropped.
    Over,
}

impl Http {
    pub(super) fn new(sender: Sender, url: Uri, kind: RemoteKind, limits: Limits) -> Self {
        let mode = match kind {
            RemoteKind::HttpSse => Mode::HttpSse(Box::default()),
            RemoteKind::Auto | RemoteKind::Streamable => Mode::Stateless,
        };
        Self {
            sender,
            url,
            kind,
            limits,
            mode,
            slots: WakeSet::new(),
            open: HashMap::new(),
            calls: 0,
            streams: 0,
            held: VecDeque::new(),
            ready: VecDeque::new(),
            mirrors: Mirrors::default(),
            fault: None,
            ended: None,
            closing: Closing::No,
        }
    }

    /// Whether nothing can be sent or received any more.
    fn is_over(&self) -> bool {
        self.fault.is_some() || self.ended.is_some() || !matches!(self.closing, Closing::No)
    }

    pub(super) fn limit(&self) -> usize {
        self.limits.max_message
    }

    // What is sent.

    /// Sends a message as soon as it may be.
    fn submit(&mut self, outgoing: Outgoing) {
        match &outgoing.kind {
            outgoing::Kind::Cancelled(id) => {
                let id = id.clone();
                if self.take_back(&id) {
                    self.start(outgoing);
                }
            }
            // The question was asked in the session that has ended; the next one may ask something else by its id.
            outgoing::Kind::Response if self.has_lost_session() => {}
            _ if outgoing.is_listen() && self.streams >= MAX_STREAMS => {
                let why = format!("{MAX_STREAMS} streams of notices are open already; end one first");
                self.undeliver(&outgoing, Failure::unreachable(why));
            }
            _ if self.may_start(&outgoing) => self.start(outgoing),
            _ => self.held.push_back(outgoing),
        }
    }

    /// Whether a message may be sent now: in its order, and with room for it.
    fn may_start(&mut self, outgoing: &Outgoing) -> bool {
        let in_order = match &mut self.mode {
            Mode::Stateless => true,
            Mode::Sessions(_) if outgoing.modern.is_some() || outgoing.is_initialize() => true,
            Mode::Sessions(sessions) => sessions.is_ready(),
            Mode::HttpSse(link) => link.is_ready(),
        };
        let has_room = outgoing.request_id().is_none() || outgoing.is_listen() || self.calls < MAX_CALLS;
        if !in_order {
            self.hasten();
        }
        in_order && has_room
    }

    /// Sees to it that what holds messages back is under way.
    fn hasten(&mut self) {
        match &self.mode {
            Mode::Sessions(sessions) if sessions.wants_renewal() => self.renew(),
            Mode::HttpSse(link) if link.wants_stream() => self.open_event_link(),
            _ => {}
        }
    }

    /// Sends what was held back and may go now.
    pub(super) fn start_held(&mut self) {
        for _ in 0..self.held.len() {
            let Some(outgoing) = self.held.pop_front() else {
                return;
            };
            self.submit(outgoing);
        }
    }

    /// Sends the first of what was held back, if it may go now. Where things may go in their order, only requests
    /// wait, for room; looking at all of them for each that ends would cost the square of their number.
    fn start_next(&mut self) {
        if let Some(next) = self.held.pop_front() {
            if self.may_start(&next) {
                self.start(next);
            } else {
                self.held.push_front(next);
            }
        }
    }

    fn start(&mut self, mut outgoing: Outgoing) {
        if outgoing.is_initialize() && !matches!(self.mode, Mode::HttpSse(_)) {
            self.mode = Mode::Sessions(Box::new(Sessions::new(outgoing.clone())));
        }
        if outgoing.is_initialized()
            && let Mode::Sessions(sessions) = &mut self.mode
        {
            sessions.confirm(outgoing.clone());
        }
        outgoing.generation = self.generation();
        let (url, wants) = match (&self.mode, outgoing.request_id()) {
            (Mode::HttpSse(link), _) => (link.address().unwrap_or(&self.url).clone(), Wants::Nothing),
            (_, Some(_)) => (self.url.clone(), Wants::Answer),
            (_, None) => (self.url.clone(), Wants::Nothing),
        };
        let mut headers = vec![(ACCEPT, EITHER), (CONTENT_TYPE, JSON)];
        match &outgoing.modern {
            Some(mirrored) => headers.extend(mirrored.iter().cloned()),
            None if outgoing.is_initialize() => {}
            None => headers.extend(self.legacy_headers()),
        }
        let outline = Outline {
            method: Verb::POST,
            url,
            headers,
            body: outgoing.bytes.clone(),
        };
        // Whoever waits for an answer bounds that wait.
        let head_wait = outgoing.request_id().is_none().then_some(HEAD_WAIT);
        let Some(id) = outgoing.request_id().cloned() else {
            self.run(Job::Notice(outgoing), outline, wants, head_wait);
            return;
        };
        *self.count(&outgoing) += 1;
        let job = RequestJob::new(id.clone(), outgoing, wants == Wants::Nothing);
        let key = self.run(Job::Request(Box::new(job)), outline, wants, head_wait);
        self.open.insert(id, key);
    }

    fn run(&mut self, job: Job, outline: Outline, wants: Wants, head_wait: Option<Duration>) -> Key {
        let exchange = Exchange::new(outline, wants, self.limit(), head_wait);
        self.slots.insert(Slot {
            job,
            stage: Stage::Running(Box::new(exchange)),
        })
    }

    /// Sends `body`, or asks for a stream if there is none, for the transport itself.
    pub(super) fn run_own(&mut self, job: Job, outgoing: Option<&Outgoing>) -> Key {
        let wants = match (outgoing, &job) {
            (None, _) => Wants::Events,
            (Some(outgoing), _) if outgoing.request_id().is_some() => Wants::Answer,
            (Some(_), _) => Wants::Nothing,
        };
        let outline = match outgoing {
            Some(outgoing) => {
                let mut headers = vec![(ACCEPT, EITHER), (CONTENT_TYPE, JSON)];
                if !outgoing.is_initialize() {
                    headers.extend(self.legacy_headers());
                }
                Outline {
                    method: Verb::POST,
                    url: self.url.clone(),
                    headers,
                    body: outgoing.bytes.clone(),
                }
            }
            None => self.stream_outline(None),
        };
        self.run(job, outline, wants, Some(HEAD_WAIT))
    }

    /// Asks for a stream of events, in the place of what the slot did before.
    pub(super) fn resume(&self, slot: &mut Slot, last_event_id: Option<&str>) {
        let outline = self.stream_outline(last_event_id);
        let exchange = Exchange::new(outline, Wants::Events, self.limit(), Some(HEAD_WAIT));
        slot.stage = Stage::Running(Box::new(exchange));
    }

    fn stream_outline(&self, last_event_id: Option<&str>) -> Outline {
        let mut headers = vec![(ACCEPT, EVENTS)];
        headers.extend(self.legacy_headers());
        let id = last_event_id.and_then(|id| HeaderValue::from_bytes(id.as_bytes()).ok());
        headers.extend(id.map(|id| (crate::header::LAST_EVENT_ID, id)));
        Outline {
            method: Verb::GET,
            url: self.url.clone(),
            headers,
            body: Bytes::new(),
        }
    }

    fn legacy_headers(&self) -> Vec<(HeaderName, HeaderValue)> {
        match &self.mode {
            Mode::Stateless => Vec::new(),
            Mode::Sessions(sessions) => sessions.headers(),
            Mode::HttpSse(link) => link.headers(),
        }
    }

    /// The number of the present session.
    pub(super) fn generation(&self) -> u64 {
        match &self.mode {
            Mode::Sessions(sessions) => sessions.generation(),
            Mode::Stateless | Mode::HttpSse(_) => 0,
        }
    }

    fn count(&mut self, outgoing: &Outgoing) -> &mut usize {
        if outgoing.is_listen() {
            &mut self.streams
        } else {
            &mut self.calls
        }
    }

    /// A request is over: there is room for another one.
    pub(super) fn finish(&mut self, outgoing: &Outgoing) {
        if let Some(id) = outgoing.request_id()
            && self.open.remove(id).is_some()
        {
            *self.count(outgoing) -= 1;
            self.start_next();
        }
    }

    /// Gives up on a request. Returns whether the server is to be told by a message: a modern one is told by the end
    /// of the exchange
    /// (<https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#cancellation>).
    fn take_back(&mut self, id: &RequestId) -> bool {
        let held = self.held.len();
        self.held.retain(|held| held.request_id() != Some(id));
        if self.held.len() < held {
            return false;
        }
        let Some(key) = self.open.get(id).copied() else {
            // The answers of HTTP+SSE come on another stream.
            return matches!(self.mode, Mode::HttpSse(_));
        };
        let Some(Job::Request(job)) = self.slots.remove(key).map(|slot| slot.job) else {
            return false;
        };
        self.finish(job.outgoing());
        job.outgoing().modern.is_none() && !job.outgoing().is_initialize()
    }

    // What came.

    /// Tells that a request has no answer.
    pub(super) fn undeliver(&mut self, outgoing: &Outgoing, failure: Failure) {
        match outgoing.request_id() {
            Some(id) => self.ready.push_back(Received::Undelivered {
                id: id.clone(),
                may_have_run: failure.may_have_run,
                status: failure.status,
                why: failure.why,
            }),
            None => self.warn(format!("a message was not delivered: {}", failure.why)),
        }
    }

    pub(super) fn warn(&mut self, text: String) {
        self.ready.push_back(Received::Warning(text));
    }

    pub(super) fn received_too_long(&mut self, start: Bytes) {
        let limit = self.limit();
        self.ready.push_back(Received::TooLong { limit, start });
    }

    /// The connection cannot go on.
    pub(super) fn fail(&mut self, why: String) {
        self.fault
            .get_or_insert(TransportError::new(TransportErrorKind::Closed, why));
        self.slots.retain(|_| false);
        self.held.clear();
    }

    /// Moves everything on that was woken, until there is so much to be received.
    fn drive(&mut self, cx: &mut Context<'_>, enough: usize) {
        self.sender.tidy(cx);
        while self.ready.len() < enough {
            let Some(mut taken) = self.slots.take_woken(cx) else {
                return;
            };
            let waker = taken.waker();
            let mut item_cx = Context::from_waker(&waker);
            let goes = loop {
                match taken.item.poll(&mut self.sender, &mut item_cx) {
                    Poll::Pending => break Goes::On,
                    Poll::Ready(news) => {
                        if self.handle(&mut taken.item, news) == Goes::Over {
                            break Goes::Over;
                        }
                    }
                }
                if self.ready.len() >= enough {
                    taken.wake();
                    break Goes::On;
                }
            };
            if goes == Goes::On && self.fault.is_none() {
                self.slots.put_back(taken);
            }
        }
    }

    fn handle(&mut self, slot: &mut Slot, news: News) -> Goes {
        if !matches!(self.closing, Closing::No) {
            // It was sent; what comes back has nobody to go to.
            return Goes::Over;
        }
        match slot.job {
            Job::Request(_) => self.handle_request(slot, news),
            Job::Notice(_) => self.handle_notice(slot, news),
            Job::Listening(_) => self.handle_listening(slot, news),
            Job::EventLink => self.handle_event_link(news),
            Job::Renewal(_) => self.handle_renewal(slot, news),
            Job::Delete => Goes::Over,
        }
    }
}

impl Transport for Http {
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Result<Received, TransportError>> {
        if !matches!(self.closing, Closing::No) {
            return Poll::Ready(Ok(Received::End));
        }
        if self.ready.is_empty() && !self.is_over() {
            self.drive(cx, 1);
        }
        if let Some(received) = self.ready.pop_front() {
            return Poll::Ready(Ok(received));
        }
        match (&self.fault, &self.ended) {
            (Some(fault), _) => Poll::Ready(Err(fault.clone())),
            (None, Some(_)) => Poll::Ready(Ok(Received::End)),
            (None, None) => Poll::Pending,
        }
    }

    fn send(&mut self, message: Vec<u8>) {
        if self.is_over() {
            return;
        }
        let outgoing = Outgoing::read(message, &self.mirrors);
        self.submit(outgoing);
    }

    /// What waits for its turn. What was handed to a connection counts as written.
    fn queued(&self) -> usize {
        self.held.iter().map(|held| held.bytes.len()).sum()
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), TransportError>> {
        if !self.is_over() {
            let before = self.ready.len();
            self.drive(cx, READ_AHEAD);
            if self.ready.len() > before || self.is_over() {
                // There is something to be received, which nobody else tells.
                cx.waker().wake_by_ref();
            }
        }
        Poll::Ready(Ok(()))
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), TransportError>> {
        loop {
            match &mut self.closing {
                Closing::No => {
                    self.held.clear();
                    self.open.clear();
                    self.slots.retain(|slot| matches!(slot.job, Job::Notice(_)));
                    self.closing = Closing::Flushing(Box::pin(sleep(FLUSH_WAIT)));
                }
                Closing::Flushing(timer) => {
                    let late = timer.as_mut().poll(cx).is_ready();
                    self.drive(cx, usize::MAX);
                    if !self.slots.is_empty() && !late {
                        return Poll::Pending;
                    }
                    self.slots.retain(|_| false);
                    self.delete_session();
                    self.closing = Closing::Deleting;
                }
                Closing::Deleting => {
                    self.drive(cx, usize::MAX);
                    if !self.slots.is_empty() {
                        return Poll::Pending;
                    }
                    self.closing = Closing::Done;
                }
                Closing::Done => return Poll::Ready(Ok(())),
            }
        }
    }

    fn diagnosis(&self) -> Option<String> {
        self.ended.clone()
    }
}

impl Http {
    /// Tells the server that its session is not needed any more. Whatever it answers will do
    /// (<https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management>).
    fn delete_session(&mut self) {
        let Mode::Sessions(sessions) = &self.mode else { return };
        if !sessions.has_session() {
            return;
        }
        let outline = Outline {
            method: Verb::DELETE,
            url: self.url.clone(),
            headers: sessions.headers(),
            body: Bytes::new(),
        };
        self.run(Job::Delete, outline, Wants::Nothing, Some(DELETE_WAIT));
    }
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http")
            .field("url", &super::url::shown(&self.url))
            .field("kind", &self.kind)
            .field("open", &self.open.len())
            .field("held", &self.held.len())
            .field("ended", &self.ended)
            .finish_non_exhaustive()
    }
}
