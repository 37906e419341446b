//! The server's side of a connection.

mod batch;
mod config;
mod garbage;
mod handshake;
mod meta;
mod subscriptions;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use trunkline_types::{
    Cancelled, ClientCapabilities, Era, ErrorObject, Implementation, InputRequest, JsonText, LogLevel, Malformed,
    Message, Method, Needs, Profile, RequestId, RequestMeta, Revision, SetLevelParams, SubscribeParams, encode,
};

use crate::Timeouts;
use crate::outgoing::{Outgoing, cancelled};
use crate::prefix::read_head;
use batch::Batches;
pub use config::{Config, Limits};
use garbage::Garbage;
pub use meta::{KnownMeta, Said};
use subscriptions::Subscriptions;
pub use subscriptions::{Change, MAX_ADDRESS, MAX_WATCHED, News};

/// Who the client is and what it can do: for the connection (legacy) or for one request (modern).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClientFacts {
    /// Who it says it is; for display only.
    pub info: Implementation,
    /// What it can do.
    pub capabilities: ClientCapabilities,
}

/// A request that the application has to answer, by [`Connection::finish`].
#[derive(Debug)]
pub struct IncomingRequest<'a> {
    /// Names the request.
    pub id: RequestId,
    /// The method; it exists in the revision and its feature was declared.
    pub method: Method,
    /// The revision that the request speaks.
    pub profile: &'static Profile,
    /// The client, as far as this request may know.
    pub client: Arc<ClientFacts>,
    /// Its metadata.
    pub meta: Arc<RequestMeta>,
    /// The lowest level of log messages that the client wants for it; `None` for no messages.
    pub log_level: Option<LogLevel>,
    /// Its params, an object.
    pub params: Option<&'a RawValue>,
}

/// Names a request of the server's to its client (legacy).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AskId(RequestId);

/// What a message means to the application.
#[derive(Debug)]
pub enum Incoming<'a> {
    /// A request to answer.
    Request(IncomingRequest<'a>),
    /// Several messages at once; the answers leave together.
    Batch(Vec<Incoming<'a>>),
    /// A request is no longer wanted. It is forgotten already and must not be finished.
    Cancelled {
        /// Names the request.
        id: RequestId,
        /// The other answers of its batch, if none but it was missing. They go where that batch is answered, which
        /// need not be where this message came from.
        rest: Option<Vec<u8>>,
    },
    /// The client answered a request of the server's.
    Answered(AskId, Result<Box<RawValue>, AskError>),
    /// The client finished the handshake.
    Ready,
    /// The client's roots changed.
    RootsChanged,
    /// The client listens to these tasks on a new stream: [`Connection::watched_tasks`] are those of all streams.
    /// It is to be told how they stand, because one may have ended just before.
    TasksWatched(BTreeSet<String>),
    /// Nothing to do: the connection answered it, or set it aside.
    Nothing,
}

/// Why a request of the server's got no result.
#[derive(Debug, Clone, PartialEq)]
pub enum AskError {
    /// The client refused.
    Refused(ErrorObject),
    /// The client answered something that is no answer.
    Unusable(String),
    /// The client did not answer in time.
    TimedOut,
}

impl std::fmt::Display for AskError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused(error) => write!(f, "the client refused: {error}"),
            Self::Unusable(why) => write!(f, "the client's answer cannot be used: {why}"),
            Self::TimedOut => f.write_str("the client did not answer in time"),
        }
    }
}

impl std::error::Error for AskError {}

/// What was agreed by the handshake. A modern connection never agrees on anything.
#[derive(Debug)]
enum Session {
    Fresh,
    Legacy {
        profile: &'static Profile,
        client: Arc<ClientFacts>,
        level: LogLevel,
    },
}

/// A request that the connection does not answer by itself.
enum Accepted<'a> {
    Request(IncomingRequest<'a>),
    /// It opened a stream of notices about these tasks.
    TaskStream(BTreeSet<String>),
}

#[derive(Debug)]
struct InFlight {
    batch: Option<u64>,
}

/// The state of one connection, for the server.
#[derive(Debug)]
pub struct Connection {
    config: Arc<Config>,
    session: Session,
    in_flight: BTreeMap<RequestId, InFlight>,
    batches: Batches,
    asks: Outgoing<()>,
    subscriptions: Subscriptions,
    garbage: Garbage,
    known: KnownMeta,
    transmit: VecDeque<Vec<u8>>,
}

impl Connection {
    /// A connection on which nothing was said yet.
    pub fn new(config: Arc<Config>) -> Self {
        Self::knowing(config, KnownMeta::default())
    }

    /// The same, where other connections may have read what the client says of itself.
    pub fn knowing(config: Arc<Config>, known: KnownMeta) -> Self {
        Self {
            config,
            session: Session::Fresh,
            in_flight: BTreeMap::new(),
            batches: Batches::default(),
            asks: Outgoing::default(),
            subscriptions: Subscriptions::default(),
            garbage: Garbage::default(),
            known,
            transmit: VecDeque::new(),
        }
    }

    /// The revision that the handshake agreed on, if there was one.
    pub fn session_profile(&self) -> Option<&'static Profile> {
        match &self.session {
            Session::Fresh => None,
            Session::Legacy { profile, .. } => Some(profile),
        }
    }

    /// How many requests are accepted and not finished, open subscriptions not counted.
    pub fn in_flight(&self) -> usize {
        self.in_flight.len() - self.subscriptions.listening()
    }

    /// How many streams of notices are open (modern).
    pub fn streams(&self) -> usize {
        self.subscriptions.listening()
    }

    /// The next message to send. Ask until there is none, after every other call.
    pub fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        self.transmit.pop_front()
    }

    /// When [`handle_timeout`](Self::handle_timeout) has something to say at the earliest.
    pub fn poll_timeout(&self) -> Option<Duration> {
        self.asks.deadline()
    }

    /// Takes one message that is read already. A transport that looks into messages reads each only once.
    pub fn handle<'a>(&mut self, now: Duration, message: Message<'a>) -> Incoming<'a> {
        self.handle_said(now, message, None)
    }

    /// The same, where the `_meta` of a request was read already.
    pub fn handle_said<'a>(&mut self, now: Duration, message: Message<'a>, said: Option<Said>) -> Incoming<'a> {
        self.handle_parsed(now, message, said, None)
    }

    /// Takes one message.
    pub fn handle_message<'a>(&mut self, now: Duration, message: &'a [u8]) -> Incoming<'a> {
        match Message::parse(message) {
            Ok(message) => self.handle_parsed(now, message, None, None),
            Err(Malformed::Batch) if self.session_profile().is_some_and(|profile| profile.batches) => {
                self.handle_batch(now, message)
            }
            Err(malformed) => self.handle_malformed(now, malformed, None),
        }
    }

    /// A broken answer ends its question; a broken request is refused. An answer is never answered.
    fn handle_malformed<'a>(&mut self, now: Duration, malformed: Malformed, batch: Option<u64>) -> Incoming<'a> {
        if let Malformed::NotAMessage { id, why, answers: true } = malformed {
            self.garbage.may_answer(now);
            return id.map_or(Incoming::Nothing, |id| self.broken_answer(&id, why));
        }
        self.refuse_garbage(now, &malformed, batch);
        Incoming::Nothing
    }

    /// The question that an unusable answer belongs to, by its id or by one that looks like it.
    fn broken_answer<'a>(&mut self, id: &RequestId, why: &str) -> Incoming<'a> {
        let exact = self.asks.get(id).is_some();
        let asked = if exact { Some(id) } else { self.asks.look_alike(id) };
        let Some(asked) = asked.cloned() else {
            return Incoming::Nothing;
        };
        if self.asks.close(&asked).is_none() {
            return Incoming::Nothing;
        }
        Incoming::Answered(AskId(asked), Err(AskError::Unusable(why.to_owned())))
    }

    /// Takes the beginning of a message that was too long to be kept.
    pub fn handle_too_long(&mut self, now: Duration, limit: usize, start: &[u8]) -> Incoming<'static> {
        let head = read_head(start);
        let why = format!("a message may have at most {limit} bytes");
        let may = self.garbage.may_answer(now);
        match head.id {
            Some(id) if head.answers => return self.broken_answer(&id, &why),
            Some(id) => self
                .transmit
                .push_back(encode::error(Some(&id), &ErrorObject::invalid_request(why))),
            None if may && !head.answers => {
                self.transmit
                    .push_back(encode::error(None, &ErrorObject::parse_error(why)));
            }
            None => {}
        }
        Incoming::Nothing
    }

    /// How many messages could not be read.
    pub fn garbage(&self) -> u64 {
        self.garbage.seen()
    }

    fn refuse_garbage(&mut self, now: Duration, malformed: &Malformed, batch: Option<u64>) {
        let answer = self.garbage.may_answer(now) || malformed.id().is_some();
        if answer {
            self.send_to(batch, encode::error(malformed.id(), &malformed.to_error()));
        }
    }

    fn handle_batch<'a>(&mut self, now: Duration, message: &'a [u8]) -> Incoming<'a> {
        let parts = match Message::split_batch(message) {
            Ok(parts) if parts.len() <= self.config.limits.batch => parts,
            Ok(_) => {
                let why = format!("a batch may hold at most {} messages", self.config.limits.batch);
                self.transmit
                    .push_back(encode::error(None, &ErrorObject::invalid_request(why)));
                return Incoming::Nothing;
            }
            Err(malformed) => {
                self.refuse_garbage(now, &malformed, None);
                return Incoming::Nothing;
            }
        };
        let batch = self.batches.open();
        let mut all = Vec::new();
        for part in parts {
            match Message::parse(part.get().as_bytes()) {
                Ok(Message::Request { id, method, .. }) if method == Method::Initialize.name() => {
                    let error = ErrorObject::invalid_request("`initialize` must not be part of a batch");
                    self.send_to(Some(batch), encode::error(Some(&id), &error));
                }
                Ok(message) => {
                    let incoming = self.handle_parsed(now, message, None, Some(batch));
                    if let Incoming::Cancelled { id, .. } = &incoming {
                        // What stands before in the same batch is not even started.
                        all.retain(|other| !matches!(other, Incoming::Request(request) if request.id == *id));
                    }
                    all.push(incoming);
                }
                Err(malformed) => all.push(self.handle_malformed(now, malformed, Some(batch))),
            }
        }
        self.batches.forget(batch);
        self.settle(batch);
        Incoming::Batch(all)
    }

    fn handle_parsed<'a>(
        &mut self,
        now: Duration,
        message: Message<'a>,
        said: Option<Said>,
        batch: Option<u64>,
    ) -> Incoming<'a> {
        match message {
            Message::Request { id, method, params } => {
                if self.in_flight.contains_key(&id) {
                    // The first one stays untouched and gets its answer.
                    let error = ErrorObject::invalid_request("a request with this id is in flight");
                    self.send_to(batch, encode::error(Some(&id), &error));
                    return Incoming::Nothing;
                }
                match self.accept(&id, &method, params, said, batch) {
                    Ok(Some(Accepted::Request(request))) => Incoming::Request(request),
                    Ok(Some(Accepted::TaskStream(tasks))) => Incoming::TasksWatched(tasks),
                    Ok(None) => Incoming::Nothing,
                    Err(error) => {
                        self.send_to(batch, encode::error(Some(&id), &error));
                        Incoming::Nothing
                    }
                }
            }
            Message::Notification { method, params } => self.handle_notification(&method, params),
            Message::Response { id, outcome } => {
                let Some(id) = id else {
                    self.garbage.may_answer(now);
                    return Incoming::Nothing;
                };
                if self.asks.close(&id).is_none() {
                    // Late, or never asked for, or under an id of another JSON type: an answer is not answered.
                    self.garbage.may_answer(now);
                    return self.broken_answer(&id, "its id has another JSON type than the request's");
                }
                Incoming::Answered(AskId(id), outcome.map(ToOwned::to_owned).map_err(AskError::Refused))
            }
        }
    }

    fn handle_notification<'a>(&mut self, method: &str, params: Option<&'a RawValue>) -> Incoming<'a> {
        match Method::from_name(method) {
            Some(Method::CancelledNotice) => {
                // Unknown, finished and malformed ones are ignored
                // (https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/cancellation#error-handling).
                let Some(id) = decode::<Cancelled>(params).ok().and_then(|notice| notice.request_id) else {
                    return Incoming::Nothing;
                };
                let Some(entry) = self.in_flight.remove(&id) else {
                    return Incoming::Nothing;
                };
                self.subscriptions.close(&id);
                let rest = entry.batch.and_then(|batch| {
                    self.batches.forget(batch);
                    self.batches.take_if_whole(batch)
                });
                Incoming::Cancelled { id, rest }
            }
            Some(Method::Initialized) => Incoming::Ready,
            Some(Method::RootsChanged) => Incoming::RootsChanged,
            _ => Incoming::Nothing,
        }
    }

    /// Checks a request from the outside in: revision, method, capability, params. What the connection
    /// answers by itself is `Ok(None)`.
    fn accept<'a>(
        &mut self,
        id: &RequestId,
        method: &str,
        params: Option<&'a RawValue>,
        said: Option<Said>,
        batch: Option<u64>,
    ) -> Result<Option<Accepted<'a>>, ErrorObject> {
        let said = said.map_or_else(|| self.known.read(params), Ok)?;
        let (profile, client, log_level) = match (&said.meta.protocol_version, &self.session) {
            (Some(version), _) => {
                let profile = self.modern_profile(version)?;
                (profile, said.modern_client()?, said.meta.log_level)
            }
            (None, Session::Legacy { profile, client, level }) => (*profile, Arc::clone(client), Some(*level)),
            (None, Session::Fresh) => return self.before_handshake(id, method, params, batch).map(|()| None),
        };
        if batch.is_some() && !profile.batches {
            return Err(ErrorObject::invalid_request(
                "a request of this version must not be part of a batch",
            ));
        }
        let known = Method::in_revision(method, profile.revision)
            .filter(|method| method.facts().is_request && method.facts().direction.reaches_server())
            .filter(|method| match method.facts().needs {
                Needs::Server(feature) => self.config.capabilities.has(feature),
                Needs::Extension(extension) => self.config.capabilities.has_extension(extension),
                Needs::Nothing | Needs::Client(_) => true,
            });
        let Some(method) = known else {
            return Err(ErrorObject::method_not_found(method));
        };
        // (https://modelcontextprotocol.io/seps/2663-tasks-extension#protocol-errors)
        if let Needs::Extension(extension) = method.facts().needs
            && !client.capabilities.has_extension(extension)
        {
            return Err(ErrorObject::missing_extension(extension));
        }
        let reply = match method {
            Method::Initialize => return Err(ErrorObject::invalid_request("the connection is initialized already")),
            Method::Ping => JsonText::empty_object(),
            Method::Discover => self.discover(profile)?,
            Method::SetLevel => {
                let wanted = decode::<SetLevelParams>(params)?;
                if let Session::Legacy { level, .. } = &mut self.session {
                    *level = wanted.level;
                }
                JsonText::empty_object()
            }
            Method::Subscribe | Method::Unsubscribe => {
                let wanted = decode::<SubscribeParams>(params)?;
                self.watch(method == Method::Subscribe, wanted.uri)?;
                JsonText::empty_object()
            }
            Method::Listen => {
                let tasks = self.listen(id, params, batch, &client.capabilities)?;
                return Ok((!tasks.is_empty()).then_some(Accepted::TaskStream(tasks)));
            }
            _ => {
                let running = self.in_flight();
                if running >= self.config.limits.in_flight {
                    let why = format!("{running} requests are in flight already; wait for an answer");
                    return Err(ErrorObject::internal(why));
                }
                self.open(id.clone(), batch);
                return Ok(Some(Accepted::Request(IncomingRequest {
                    id: id.clone(),
                    method,
                    profile,
                    client,
                    meta: said.meta,
                    log_level,
                    params,
                })));
            }
        };
        self.send_to(batch, encode::result(id, reply));
        Ok(None)
    }

    /// The profile of a request that carries its version.
    fn modern_profile(&self, version: &str) -> Result<&'static Profile, ErrorObject> {
        Revision::from_name(version)
            .filter(|revision| revision.era() == Era::Modern && self.config.revisions.contains(revision))
            .map(Revision::profile)
            .ok_or_else(|| self.config.unsupported(version))
    }

    fn open(&mut self, id: RequestId, batch: Option<u64>) {
        if let Some(batch) = batch {
            self.batches.expect(batch);
        }
        self.in_flight.insert(id, InFlight { batch });
    }

    /// Answers a request. One that was cancelled meanwhile gets no answer.
    pub fn finish(&mut self, id: &RequestId, outcome: Result<JsonText, ErrorObject>) {
        let Some(entry) = self.in_flight.remove(id) else { return };
        let message = match outcome {
            Ok(result) => encode::result(id, result),
            Err(error) => encode::error(Some(id), &error),
        };
        if let Some(batch) = entry.batch {
            self.batches.forget(batch);
            self.send_to(Some(batch), message);
            self.settle(batch);
        } else {
            self.transmit.push_back(message);
        }
    }

    fn send_to(&mut self, batch: Option<u64>, message: Vec<u8>) {
        match batch {
            Some(batch) => self.batches.collect(batch, message),
            None => self.transmit.push_back(message),
        }
    }

    fn settle(&mut self, batch: u64) {
        if let Some(message) = self.batches.take_if_whole(batch) {
            self.transmit.push_back(message);
        }
    }

    /// Asks the client for something by a request of the server's own (legacy).
    ///
    /// # Errors
    /// If the params cannot be written as JSON.
    pub fn ask(&mut self, now: Duration, request: &InputRequest, timeouts: Timeouts) -> serde_json::Result<AskId> {
        let params = request.params()?;
        let id = self.asks.open(now, (), timeouts);
        self.transmit
            .push_back(encode::request(&id, request.method(), &params)?);
        Ok(AskId(id))
    }

    /// How many requests of the server's wait for their answers.
    pub fn asking(&self) -> usize {
        self.asks.len()
    }

    /// Gives up on a request of the server's: the answer is not wanted any more (legacy).
    pub fn withdraw(&mut self, ask: &AskId) {
        if self.asks.close(&ask.0).is_some() {
            self.cancel_ask(&ask.0, "no longer wanted");
        }
    }

    fn cancel_ask(&mut self, id: &RequestId, reason: &str) {
        self.transmit.extend(cancelled(id.clone(), Some(reason)));
    }

    /// Takes the time: requests of the server's whose wait is over.
    pub fn handle_timeout(&mut self, now: Duration) -> Vec<Incoming<'static>> {
        let over = self.asks.expired(now);
        for (id, ()) in &over {
            self.cancel_ask(id, "no answer in time");
        }
        over.into_iter()
            .map(|(id, ())| Incoming::Answered(AskId(id), Err(AskError::TimedOut)))
            .collect()
    }
}

/// Decodes params by the type that the method calls for. Absent params are an empty object.
///
/// # Errors
/// [`code::INVALID_PARAMS`](trunkline_types::code::INVALID_PARAMS), saying what does not fit.
pub fn decode<'a, T: Deserialize<'a>>(params: Option<&'a RawValue>) -> Result<T, ErrorObject> {
    let text = params.map_or("{}", RawValue::get);
    serde_json::from_str(text).map_err(|error| ErrorObject::invalid_params(format!("invalid params: {error}")))
}

fn unwritable(error: serde_json::Error) -> ErrorObject {
    ErrorObject::internal(format!("the result cannot be written: {error}"))
}
