//! What comes back for a request: its answer, messages before it, a refusal, or nothing.

use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use trunkline_transport::Received;
use trunkline_types::{ErrorObject, Method, RequestId, code, encode};

use super::event_link::is_other_transport;
use super::exchange::Step;
use super::failure::{Failure, Refusal, first_words};
use super::http::{Goes, Http, Job, Mode, News, Slot, Stage};
use super::outgoing::{Kind, Outgoing};
use super::reconnect::Reconnect;
use super::remote::RemoteKind;
use super::said::{self, Said};
use super::sessions::session_id;
use super::url;
use crate::sse::Event;

/// Events in a row on one stream that are no messages, before the stream is given up.
pub const MAX_JUNK: usize = 100_000;
/// How much of an answer that is none is looked at to be shown, in bytes.
const SHOWN: usize = 1024;
/// How long a stream may go on after the answer that ends it.
const AFTER_ANSWER: Duration = Duration::from_secs(1);

/// One request that waits for its answer.
#[derive(Debug)]
pub(super) struct RequestJob {
    id: RequestId,
    outgoing: Outgoing,
    /// Its answer comes elsewhere; here only its delivery is told.
    elsewhere: bool,
    state: State,
    junk: usize,
    reconnect: Reconnect,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Waiting,
    /// Its first stream has ended, and another one goes on from there.
    Resuming,
    /// What may have been its answer was too long.
    Missed,
    Answered,
}

impl RequestJob {
    pub(super) fn new(id: RequestId, outgoing: Outgoing, elsewhere: bool) -> Self {
        Self {
            id,
            outgoing,
            elsewhere,
            state: State::Waiting,
            junk: 0,
            reconnect: Reconnect::new(),
        }
    }

    pub(super) fn outgoing(&self) -> &Outgoing {
        &self.outgoing
    }

    fn is(&self, method: Method) -> bool {
        matches!(self.outgoing.kind, Kind::Request { method: Some(this), .. } if this == method)
    }
}

/// Whether an event is one that carries a message. One without data only says where the stream is.
pub(super) fn is_message(event: &Event) -> bool {
    !event.data.is_empty() && event.event.as_deref().is_none_or(|kind| kind == "message")
}

impl Http {
    pub(super) fn handle_request(&mut self, slot: &mut Slot, news: News) -> Goes {
        let Job::Request(job) = &mut slot.job else {
            return Goes::Over;
        };
        match news {
            News::Step(Step::Opened(headers)) => {
                job.reconnect.opened();
                self.prove(&job.outgoing);
                // A stream that goes on from there need not name the session again.
                if job.is(Method::Initialize)
                    && job.state == State::Waiting
                    && let Mode::Sessions(sessions) = &mut self.mode
                {
                    match session_id(&headers) {
                        Ok(session) => sessions.begin(session),
                        Err(why) => return self.give_up(job, Failure::broken(why)),
                    }
                }
                Goes::On
            }
            News::Step(Step::Whole(body)) => {
                self.take_message(job, body.clone());
                if job.state == State::Answered {
                    return Goes::Over;
                }
                let start = first_words(&String::from_utf8_lossy(&body[..body.len().min(SHOWN)]));
                let url = url::shown(&self.url);
                let why = format!("{url} answered with something that is no answer to this request: {start}");
                self.give_up(job, Failure::broken(why))
            }
            News::Step(Step::Event(event)) => {
                if is_message(&event) {
                    self.take_message(job, event.data);
                }
                if job.junk > MAX_JUNK {
                    let why = format!("{MAX_JUNK} events in a row were no messages; the stream was given up");
                    return self.give_up(job, Failure::broken(why));
                }
                if let (State::Answered, Stage::Running(exchange)) = (job.state, &mut slot.stage) {
                    exchange.end_within(AFTER_ANSWER);
                }
                Goes::On
            }
            News::Step(Step::TooLong(start)) => {
                if job.state != State::Answered {
                    job.state = State::Missed;
                }
                self.received_too_long(start);
                Goes::On
            }
            News::Step(Step::Refused(refusal)) if job.state == State::Resuming => {
                self.resumption_refused(slot, &refusal)
            }
            News::Step(Step::Refused(refusal)) => self.refused(job, refusal),
            News::Step(Step::Failed(_)) if job.state == State::Resuming => {
                let wait = job.reconnect.after_failure();
                slot.wait(wait);
                Goes::On
            }
            News::Step(Step::Failed(failure)) => self.give_up(job, failure),
            News::Step(Step::Ended(_)) if job.elsewhere => {
                self.finish(&job.outgoing);
                Goes::Over
            }
            News::Step(Step::Ended(why)) => self.broke_off(slot, why),
            News::Due => self.resume_request(slot),
        }
    }

    /// Hands on a message that came for a request.
    fn take_message(&mut self, job: &mut RequestJob, bytes: Bytes) {
        match said::read(&bytes, &job.id) {
            Said::Answer => {
                self.learn(job, &bytes);
                self.answered(job, bytes);
            }
            Said::OwnError(error) => self.answered_by(job, &error),
            Said::Other => {
                job.junk = 0;
                job.reconnect.progressed();
                self.ready.push_back(Received::Message(bytes));
            }
            // It is counted and shown as noise.
            Said::Junk => {
                job.junk += 1;
                self.ready.push_back(Received::Message(bytes));
            }
        }
    }

    fn answered(&mut self, job: &mut RequestJob, message: Bytes) {
        job.state = State::Answered;
        self.ready.push_back(Received::Message(message));
        // The stream may go on for a moment; the request does not.
        self.finish(&job.outgoing);
    }

    fn answered_by(&mut self, job: &mut RequestJob, error: &ErrorObject) {
        let message = encode::error(Some(&job.id), error);
        self.answered(job, message.into());
    }

    /// What an answer tells the transport itself.
    fn learn(&mut self, job: &RequestJob, answer: &[u8]) {
        if job.is(Method::ListTools) && job.outgoing.modern.is_some() {
            self.mirrors.learn(answer);
        }
        if job.is(Method::Initialize)
            && let Mode::Sessions(sessions) = &mut self.mode
        {
            sessions.agree(answer);
        }
    }

    /// The end of an exchange: without an answer, the request fails.
    fn give_up(&mut self, job: &RequestJob, failure: Failure) -> Goes {
        if job.state != State::Answered {
            self.undeliver(&job.outgoing, failure);
            self.finish(&job.outgoing);
        }
        Goes::Over
    }

    /// The server refused a request.
    fn refused(&mut self, job: &mut RequestJob, refusal: Refusal) -> Goes {
        if job.is(Method::Initialize) && self.may_be_http_sse(&refusal) {
            self.finish(&job.outgoing);
            self.try_http_sse(job.outgoing.clone(), refusal);
            return Goes::Over;
        }
        // A session that is not known any more says nothing else than that, whatever else stands in the body
        // (https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management), but for a
        // server that answers an unknown method so.
        let unknown_method =
            || said::read_error(&refusal.body).is_some_and(|error| error.code == code::METHOD_NOT_FOUND);
        if refusal.status == StatusCode::NOT_FOUND && self.in_session(&job.outgoing) && !unknown_method() {
            self.finish(&job.outgoing);
            self.session_refused(job.outgoing.clone());
            return Goes::Over;
        }
        // A protocol error in the body is the answer, but not where whoever guards the server refused the request:
        // then the status says what to do.
        let is_error = refusal.status.is_client_error() || refusal.status.is_server_error();
        let is_answer = is_error && !refusal.wants_authorization();
        if let Some(error) = said::read_error(&refusal.body).filter(|_| is_answer) {
            self.answered_by(job, &error);
        }
        let mut failure = refusal.failure();
        if job.is(Method::Initialize)
            && self.kind == RemoteKind::Streamable
            && is_other_transport(refusal.status.as_u16())
        {
            failure.why.push_str("; only Streamable HTTP was tried, not HTTP+SSE");
        }
        self.give_up(job, failure)
    }

    /// A stream ended before the answer. A legacy server that said where it was can go on from there.
    fn broke_off(&mut self, slot: &mut Slot, why: Option<String>) -> Goes {
        let (Job::Request(job), Stage::Running(exchange)) = (&mut slot.job, &slot.stage) else {
            return Goes::Over;
        };
        let wait = job.reconnect.after_end(exchange, why.is_some());
        let waits = matches!(job.state, State::Waiting | State::Resuming);
        let resumes = waits && job.outgoing.modern.is_none();
        if job.state == State::Missed {
            let why = format!(
                "what came for it is longer than {} bytes, and nothing else did",
                self.limit()
            );
            return self.give_up(job, Failure::broken(why));
        }
        if !resumes || job.reconnect.last_event_id().is_none() {
            let why = why.unwrap_or_else(|| "the stream ended without the answer".to_owned());
            return self.give_up(job, Failure::broken(why));
        }
        job.state = State::Resuming;
        slot.wait(wait);
        Goes::On
    }

    fn resume_request(&mut self, slot: &mut Slot) -> Goes {
        let Job::Request(job) = &mut slot.job else {
            return Goes::Over;
        };
        if job.outgoing.generation != self.generation() {
            let why = "its stream broke off, and its session ended before it could be resumed".to_owned();
            return self.give_up(job, Failure::broken(why));
        }
        let last_event_id = job.reconnect.last_event_id().map(str::to_owned);
        self.resume(slot, last_event_id.as_deref());
        Goes::On
    }

    /// The server refused the stream that was to bring the rest.
    fn resumption_refused(&mut self, slot: &mut Slot, refusal: &Refusal) -> Goes {
        let Job::Request(job) = &mut slot.job else {
            return Goes::Over;
        };
        if refusal.status.is_server_error() || refusal.status == StatusCode::TOO_MANY_REQUESTS {
            let wait = job.reconnect.after_failure();
            slot.wait(wait);
            return Goes::On;
        }
        if refusal.status == StatusCode::NOT_FOUND && self.in_session(&job.outgoing) {
            self.session_missed(job.outgoing.generation);
        }
        let why = format!("its stream broke off and cannot be resumed: {refusal}");
        self.give_up(job, Failure::broken(why))
    }
}
