//! The client's side of a connection.

mod config;
mod connecting;
mod event;
mod meta;

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;
use trunkline_types::{
    Cancelled, Era, ErrorObject, Extension, Extra, InputRequest, InputRequiredResult, JsonText, LogLevel, Malformed,
    Message, Method, Needs, Progress, RequestId, ResultType, SubscriptionAcknowledged, encode, subscription_id,
};

use crate::Timeouts;
use crate::outgoing::{Outgoing, cancelled};
use crate::prefix::read_head;
pub use config::{Agreement, Config, Opening};
use connecting::State;
pub use event::{Answer, ConnectError, Event, Noise, NoiseReason, RequestError, Undelivered};
use meta::{CommonMeta, WithMeta};

/// Requests of the server's that wait for the application at the same time; further ones are refused.
const MAX_ASKED: usize = 64;
/// How long the waits of requests stand still while the server waits for an answer of the client's: a person
/// may have to think before a form is filled in, and the call that asked is not late because of it.
const LONGEST_PAUSE: Duration = Duration::from_secs(30 * 60);
/// Ids of requests that were given up, remembered so that their late answers are not taken for noise.
const REMEMBERED: usize = 256;

/// Why a batch is not taken.
const NO_BATCHES: &str = "a batch, which this revision does not have";

/// What a request wants beside its params.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RequestOptions {
    /// How long to wait; the connection's own timeouts where absent.
    pub timeouts: Option<Timeouts>,
    /// Whether progress is wanted.
    pub progress: bool,
    /// The lowest level of log messages wanted for this request (modern).
    pub log_level: Option<LogLevel>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sent {
    Probe,
    Initialize,
    Call(Method),
}

/// The state of one connection, for the client.
#[derive(Debug)]
pub struct Connection {
    config: Config,
    state: State,
    agreement: Option<Agreement>,
    /// The metadata that every request carries (modern), written once.
    meta: CommonMeta,
    sent: Outgoing<Sent>,
    given_up: VecDeque<RequestId>,
    asked: HashSet<RequestId>,
    /// Since when the server waits for an answer, and the waits of requests stand still.
    paused: Option<Duration>,
    transmit: VecDeque<Vec<u8>>,
    events: VecDeque<Event>,
}

impl Connection {
    /// A connection that begins at once: its first message waits in [`poll_transmit`](Self::poll_transmit).
    pub fn new(config: Config, now: Duration) -> Self {
        let mut connection = Self {
            config,
            state: State::Probing,
            agreement: None,
            meta: CommonMeta::default(),
            sent: Outgoing::default(),
            given_up: VecDeque::new(),
            asked: HashSet::new(),
            paused: None,
            transmit: VecDeque::new(),
            events: VecDeque::new(),
        };
        connection.begin(now);
        connection
    }

    /// What was agreed, once the connection is ready.
    pub fn agreement(&self) -> Option<&Agreement> {
        self.agreement.as_ref()
    }

    /// The next message to send. Ask until there is none, after every other call.
    pub fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        self.transmit.pop_front()
    }

    /// The next thing that happened. Ask until there is none, after every `handle_*` call.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// When [`handle_timeout`](Self::handle_timeout) has something to say at the earliest.
    pub fn poll_timeout(&self) -> Option<Duration> {
        let deadline = self.sent.deadline()?;
        Some(
            self.paused
                .map_or(deadline, |since| since.saturating_add(LONGEST_PAUSE)),
        )
    }

    /// How many requests wait for their answers.
    pub fn waiting(&self) -> usize {
        self.sent.len()
    }

    /// Sends a request. Its answer comes as an [`Event::Answered`].
    ///
    /// # Errors
    /// If the connection is not ready, or the method is not in what was agreed.
    pub fn request(
        &mut self,
        now: Duration,
        method: Method,
        params: &Extra,
        options: &RequestOptions,
    ) -> Result<RequestId, RequestError> {
        let agreement = self.agreed_on(method)?;
        match method.facts().needs {
            Needs::Server(feature)
                if !agreement.capabilities.has(feature)
                    // The first revision had completion without a capability for it.
                    && (method != Method::Complete || agreement.profile.completions_capability) =>
            {
                return Err(RequestError::NotDeclared { method, feature });
            }
            Needs::Extension(extension) if !self.has_extension(extension) => {
                return Err(RequestError::NoExtension { method, extension });
            }
            _ => {}
        }
        let timeouts = options.timeouts.unwrap_or(self.config.timeouts);
        let id = self.sent.open(now, Sent::Call(method), timeouts);
        let with_meta = WithMeta {
            params,
            common: &self.meta,
            progress_token: options.progress.then_some(&id),
            log_level: options.log_level,
        };
        match encode::request(&id, method.name(), &with_meta) {
            Ok(message) => self.transmit.push_back(message),
            Err(error) => {
                self.sent.close(&id);
                return Err(RequestError::Unwritable(error.to_string()));
            }
        }
        Ok(id)
    }

    /// The agreement, if it has the method.
    fn agreed_on(&self, method: Method) -> Result<&Agreement, RequestError> {
        let agreement = self.agreement.as_ref().ok_or(RequestError::NotConnected)?;
        let revision = agreement.profile.revision;
        if !method.exists_in(revision) || !method.facts().direction.reaches_server() {
            return Err(RequestError::NotInRevision { method, revision });
        }
        Ok(agreement)
    }

    /// Whether both sides declared an extension.
    fn has_extension(&self, extension: Extension) -> bool {
        let server = self.agreement.as_ref().map(|agreement| &agreement.capabilities);
        server.is_some_and(|server| server.has_extension(extension))
            && self.config.capabilities.has_extension(extension)
    }

    /// Sends a notification.
    ///
    /// # Errors
    /// If the connection is not ready, or the method is not in what was agreed.
    pub fn notify(&mut self, method: Method, params: &Extra) -> Result<(), RequestError> {
        self.agreed_on(method)?;
        let params = (!params.is_empty()).then_some(params);
        let message =
            encode::notification(method.name(), params).map_err(|error| RequestError::Unwritable(error.to_string()))?;
        self.transmit.push_back(message);
        Ok(())
    }

    /// Gives up on a request: the server is told, a late answer is ignored.
    pub fn cancel(&mut self, id: &RequestId, reason: &str) {
        let Some(Sent::Call(_)) = self.sent.get(id) else { return };
        self.sent.close(id);
        self.give_up(id.clone(), reason);
    }

    fn give_up(&mut self, id: RequestId, reason: &str) {
        self.transmit.extend(cancelled(id.clone(), Some(reason)));
        self.remember(id);
    }

    fn remember(&mut self, id: RequestId) {
        if self.given_up.len() == REMEMBERED {
            self.given_up.pop_front();
        }
        self.given_up.push_back(id);
    }

    /// Answers a request of the server's (legacy).
    pub fn answer(&mut self, now: Duration, id: &RequestId, outcome: Result<Value, ErrorObject>) {
        if self.take_asked(now, id) {
            self.respond(id, outcome);
        }
    }

    fn respond(&mut self, id: &RequestId, outcome: Result<Value, ErrorObject>) {
        let message = match outcome.map(|result| JsonText::write(&result)) {
            Ok(Ok(result)) => encode::result(id, result),
            Ok(Err(error)) => encode::error(Some(id), &ErrorObject::internal(error.to_string())),
            Err(error) => encode::error(Some(id), &error),
        };
        self.transmit.push_back(message);
    }

    /// Takes a question that is answered or withdrawn. With the last one the waits go on.
    fn take_asked(&mut self, now: Duration, id: &RequestId) -> bool {
        let taken = self.asked.remove(id);
        if self.asked.is_empty()
            && let Some(since) = self.paused.take()
        {
            self.sent.shift(now.saturating_sub(since));
        }
        taken
    }

    /// Takes one message.
    pub fn handle_message(&mut self, now: Duration, message: &[u8]) {
        match Message::parse(message) {
            Ok(message) => self.handle_parsed(now, message),
            Err(Malformed::Batch) => self.handle_batch(now, message),
            Err(malformed) => self.handle_malformed(now, &malformed, message),
        }
    }

    /// A broken answer that names a request fails it at once; anything else is noise.
    fn handle_malformed(&mut self, now: Duration, malformed: &Malformed, bytes: &[u8]) {
        let broken = match malformed.id() {
            Some(id) if answers(malformed) => Some(id.clone()),
            _ => {
                // What can be read of its beginning may name one, and be an answer, whatever follows.
                let head = read_head(bytes);
                head.id.filter(|_| head.answers)
            }
        };
        if let Some(id) = broken {
            self.answer_broken(now, &id, format!("not a message: {malformed}"));
        }
        self.noise(NoiseReason::NotAMessage(malformed.to_string()), bytes);
    }

    /// A request was answered by something that cannot be used. An id that does not wait is ignored.
    fn answer_broken(&mut self, now: Duration, id: &RequestId, why: String) {
        match self.sent.close(id) {
            Some(Sent::Probe) => self.not_modern(now, ConnectError::Invalid(why)),
            Some(Sent::Initialize) => self.fail(ConnectError::Invalid(why)),
            Some(Sent::Call(_)) => self.events.push_back(Event::Answered {
                id: id.clone(),
                answer: Answer::Invalid(why),
            }),
            None => {}
        }
    }

    fn handle_batch(&mut self, now: Duration, message: &[u8]) {
        let parts = Message::split_batch(message).unwrap_or_default();
        let has_batches = self
            .agreement
            .as_ref()
            .is_some_and(|agreement| agreement.profile.batches);
        for part in parts {
            let part = part.get().as_bytes();
            match Message::parse(part) {
                Ok(parsed) if has_batches => self.handle_parsed(now, parsed),
                Err(malformed) if has_batches => self.handle_malformed(now, &malformed, part),
                Ok(Message::Response { id: Some(id), .. }) => self.answer_broken(now, &id, NO_BATCHES.to_owned()),
                Ok(_) | Err(_) => {}
            }
        }
        if !has_batches {
            self.noise(NoiseReason::NotAMessage(NO_BATCHES.to_owned()), message);
        }
    }

    /// Takes the beginning of a message that was too long to be kept.
    pub fn handle_too_long(&mut self, limit: usize, start: &[u8]) {
        let why = format!("the answer is longer than {limit} bytes");
        match read_head(start).id.and_then(|id| Some((self.sent.close(&id)?, id))) {
            Some((Sent::Call(_), id)) => self.events.push_back(Event::Answered {
                id,
                answer: Answer::Invalid(why),
            }),
            Some(_) => self.fail(ConnectError::Invalid(why)),
            None => self.noise(NoiseReason::TooLong(limit), start),
        }
    }

    /// Takes the news that a request has no answer and will get none, though the connection goes on. An id that
    /// does not wait, or not any more, is ignored.
    pub fn handle_undelivered(&mut self, now: Duration, id: &RequestId, undelivered: Undelivered) {
        match self.sent.close(id) {
            Some(Sent::Probe) => self.probe_undelivered(now, undelivered),
            Some(Sent::Initialize) => self.fail(ConnectError::Undelivered(undelivered)),
            Some(Sent::Call(_)) => self.events.push_back(Event::Answered {
                id: id.clone(),
                answer: Answer::Undelivered(undelivered),
            }),
            None => {}
        }
    }

    /// Takes the news that the server forgot this connection and was met anew: it does not know any more what it asked
    /// before, and may ask something else under the same id.
    pub fn handle_renewed(&mut self, now: Duration) {
        let asked: Vec<RequestId> = self.asked.iter().cloned().collect();
        for id in asked {
            self.take_asked(now, &id);
            self.events.push_back(Event::AskWithdrawn { id });
        }
    }

    /// Takes a warning of the transport's.
    pub fn handle_warning(&mut self, text: &str) {
        self.noise(NoiseReason::Transport, text.as_bytes());
    }

    /// Takes the end of the connection: whatever waits is lost.
    pub fn handle_end(&mut self) {
        let probing = matches!(self.state, State::Probing | State::ProbingAgain);
        for (id, kind) in self.sent.drain() {
            if matches!(kind, Sent::Call(_)) {
                self.events.push_back(Event::Answered {
                    id,
                    answer: Answer::Lost,
                });
            }
        }
        self.asked.clear();
        if self.agreement.is_none() {
            self.fail(ConnectError::Ended {
                by_probe: probing && self.config.opening == Opening::Auto,
            });
        }
    }

    /// Takes the time: requests whose wait is over.
    pub fn handle_timeout(&mut self, now: Duration) {
        if let Some(since) = self.paused {
            if now.saturating_sub(since) < LONGEST_PAUSE {
                return;
            }
            self.sent.shift(LONGEST_PAUSE);
            self.paused = None;
        }
        for (id, kind) in self.sent.expired(now) {
            match kind {
                Sent::Probe => {
                    self.remember(id);
                    self.probe_was_silent(now);
                }
                Sent::Initialize => self.fail(ConnectError::Silent),
                Sent::Call(_) => {
                    self.give_up(id.clone(), "no answer in time");
                    self.events.push_back(Event::Answered {
                        id,
                        answer: Answer::TimedOut,
                    });
                }
            }
        }
    }

    fn handle_parsed(&mut self, now: Duration, message: Message<'_>) {
        match message {
            Message::Response { id, outcome } => self.handle_response(now, id, outcome),
            Message::Request { id, method, params } => self.handle_request(now, id, &method, params),
            Message::Notification { method, params } => self.handle_notification(now, &method, params),
        }
    }

    fn handle_response(&mut self, now: Duration, id: Option<RequestId>, outcome: Result<&RawValue, ErrorObject>) {
        let Some(id) = id else {
            let text = outcome.err().map(|error| error.to_string()).unwrap_or_default();
            // A server that cannot even read the first message tells so without an id.
            if self.agreement.is_none() {
                self.connection_refused(now, ErrorObject::invalid_request(text));
            } else {
                self.noise(NoiseReason::AnswerWithoutId, text.as_bytes());
            }
            return;
        };
        match self.sent.close(&id) {
            Some(Sent::Probe) => self.probe_answered(now, outcome),
            Some(Sent::Initialize) => self.initialize_answered(now, outcome),
            Some(Sent::Call(method)) => {
                let answer = self.read_answer(method, outcome);
                self.events.push_back(Event::Answered { id, answer });
            }
            None if self.given_up.contains(&id) => {
                // Of what was given up, only a call of a tool can have become a task.
                if let Some(Answer::Task(created)) = self
                    .agreement
                    .is_some()
                    .then(|| self.read_answer(Method::CallTool, outcome.clone()))
                {
                    let task_id = created.task_id;
                    self.events.push_back(Event::TaskLeft { task_id });
                }
                self.late_answer(now, outcome);
            }
            None => {
                let reason = match self.sent.look_alike(&id) {
                    Some(expected) => NoiseReason::WrongIdType(expected.clone()),
                    None => NoiseReason::UnknownId,
                };
                self.noise(reason, id.to_string().as_bytes());
            }
        }
    }

    /// What an answer means, by its result type
    /// ([result types](https://modelcontextprotocol.io/specification/2026-07-28/basic/index#resulttype)).
    fn read_answer(&self, method: Method, outcome: Result<&RawValue, ErrorObject>) -> Answer {
        let result = match outcome {
            Ok(result) => result,
            Err(error) => return Answer::Refused(error),
        };
        if !result.get().starts_with('{') {
            return Answer::Invalid("the result is not an object".to_owned());
        }
        let modern = self
            .agreement
            .as_ref()
            .is_some_and(|agreement| agreement.profile.result_type);
        if !modern {
            return Answer::Complete(result.to_owned());
        }
        match read_result_type(result) {
            Ok(ResultType::Complete) => Answer::Complete(result.to_owned()),
            Ok(ResultType::InputRequired) => match serde_json::from_str::<InputRequiredResult>(result.get()) {
                Ok(wanted) if wanted.input_requests.is_empty() && wanted.request_state.is_none() => {
                    Answer::Invalid("the server asks for input without saying which".to_owned())
                }
                Ok(wanted) => Answer::InputRequired(Box::new(wanted)),
                Err(error) => Answer::Invalid(format!("the result asks for input in an unknown form: {error}")),
            },
            // Only what may become a task does, and only if this side said that it can follow one
            // (https://modelcontextprotocol.io/seps/2663-tasks-extension#capability-negotiation).
            Ok(ResultType::Task) if method != Method::CallTool => {
                Answer::Invalid(format!("`{method}` became a task, which only a call of a tool may"))
            }
            Ok(ResultType::Task) if !self.config.capabilities.has_extension(Extension::Tasks) => {
                Answer::Invalid("the call became a task, which this client did not say it can follow".to_owned())
            }
            Ok(ResultType::Task) => match serde_json::from_str(result.get()) {
                Ok(created) => Answer::Task(Box::new(created)),
                Err(error) => Answer::Invalid(format!("the call became a task of an unknown form: {error}")),
            },
            Ok(ResultType::Other(kind)) => Answer::Invalid(format!("the result is of the unknown type {kind:?}")),
            Err(error) => Answer::Invalid(error),
        }
    }

    fn handle_request(&mut self, now: Duration, id: RequestId, method: &str, params: Option<&RawValue>) {
        let profile = self.agreement.as_ref().map(|agreement| agreement.profile);
        if profile.is_some_and(|profile| profile.era == Era::Modern) {
            // Such a server must not send requests, and its client must not send responses
            // (https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio#sending-messages).
            self.noise(NoiseReason::UnexpectedRequest, method.as_bytes());
            return;
        }
        if self.asked.contains(&id) {
            // An answer to this one would be taken for the answer to the first.
            return;
        }
        let named = match profile {
            Some(profile) => Method::in_revision(method, profile.revision),
            None => Method::from_name(method),
        };
        let known = named.filter(|method| method.facts().is_request && method.facts().direction.reaches_client());
        let outcome = match known {
            Some(Method::Ping) => Ok(Value::Object(Extra::new())),
            Some(known) => match self.take_request(known, params) {
                Ok(request) => {
                    self.asked.insert(id.clone());
                    self.paused.get_or_insert(now);
                    self.events.push_back(Event::Asked { id, request });
                    return;
                }
                Err(error) => Err(error),
            },
            None => Err(ErrorObject::method_not_found(method)),
        };
        self.respond(&id, outcome);
    }

    fn take_request(&self, method: Method, params: Option<&RawValue>) -> Result<InputRequest, ErrorObject> {
        if let Needs::Client(feature) = method.facts().needs
            && !self.config.capabilities.has(feature)
        {
            return Err(ErrorObject::method_not_found(method.name()));
        }
        if self.asked.len() >= MAX_ASKED {
            return Err(ErrorObject::internal(format!(
                "{MAX_ASKED} requests are in flight already"
            )));
        }
        let params: Value = decode(params).map_err(|error| ErrorObject::invalid_params(error.to_string()))?;
        match InputRequest::from_parts(method.name(), params) {
            Ok(InputRequest::Other { .. }) => Err(ErrorObject::method_not_found(method.name())),
            Ok(request) => Ok(request),
            Err(error) => Err(ErrorObject::invalid_params(format!("invalid params: {error}"))),
        }
    }

    fn handle_notification(&mut self, now: Duration, method: &str, params: Option<&RawValue>) {
        let event = match Method::from_name(method) {
            Some(Method::ProgressNotice) => {
                let Ok(progress) = decode::<Progress>(params) else {
                    return;
                };
                // Strangers, repetitions and latecomers are ignored
                // (https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/progress#behavior-requirements).
                if !self.sent.progress(now, &progress.progress_token, progress.value()) {
                    return;
                }
                Event::Progress {
                    id: progress.progress_token.clone(),
                    progress,
                }
            }
            Some(Method::CancelledNotice) => {
                let Some(id) = decode::<Cancelled>(params).ok().and_then(|notice| notice.request_id) else {
                    return;
                };
                if self.take_asked(now, &id) {
                    Event::AskWithdrawn { id }
                } else if self.sent.get(&id) == Some(&Sent::Call(Method::Listen)) {
                    // The server ends a stream of notices.
                    self.sent.close(&id);
                    Event::Answered {
                        id,
                        answer: Answer::Lost,
                    }
                } else {
                    return;
                }
            }
            Some(Method::SubscriptionAcknowledgedNotice) => {
                let Ok(notice) = decode::<SubscriptionAcknowledged>(params) else {
                    return;
                };
                let Some(id) = subscription_id(&notice.meta) else {
                    return;
                };
                Event::Listening {
                    id,
                    filter: notice.notifications,
                }
            }
            Some(known) if known.facts().direction.reaches_client() => {
                let params: Extra = decode(params).unwrap_or_default();
                let subscription = params.get("_meta").and_then(Value::as_object).and_then(subscription_id);
                Event::Notice {
                    method: known,
                    params,
                    subscription,
                }
            }
            _ => {
                self.noise(NoiseReason::UnknownNotification, method.as_bytes());
                return;
            }
        };
        self.events.push_back(event);
    }

    fn noise(&mut self, reason: NoiseReason, bytes: &[u8]) {
        self.events.push_back(Event::Noise(Noise::new(reason, bytes)));
    }
}

/// Whether it was meant as an answer.
fn answers(malformed: &Malformed) -> bool {
    matches!(malformed, Malformed::NotAMessage { answers: true, .. })
}

/// Decodes params; absent ones are an empty object.
fn decode<T: DeserializeOwned>(params: Option<&RawValue>) -> serde_json::Result<T> {
    serde_json::from_str(params.map_or("{}", RawValue::get))
}

fn read_result_type(result: &RawValue) -> Result<ResultType, String> {
    #[derive(serde::Deserialize)]
    struct OnlyType {
        #[serde(rename = "resultType")]
        kind: Option<ResultType>,
    }
    let only: OnlyType =
        serde_json::from_str(result.get()).map_err(|error| format!("`resultType` cannot be read: {error}"))?;
    // Servers of earlier revisions do not say it.
    Ok(only.kind.unwrap_or(ResultType::Complete))
}

#[cfg(test)]
#[path = "undelivered_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "broken_tests.rs"]
mod broken_tests;
