//! The stream of what a legacy server says unasked
//! (<https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#listening-for-messages-from-the-server>).

use http::StatusCode;
use trunkline_transport::Received;
use trunkline_types::Message;

use super::answers::{MAX_JUNK, is_message};
use super::exchange::Step;
use super::failure::Refusal;
use super::http::{Goes, Http, Job, News, Slot, Stage};
use super::reconnect::Reconnect;

/// The state of that stream.
#[derive(Debug)]
pub(super) struct Listening {
    reconnect: Reconnect,
    /// It was open once, so the server has it.
    opened: bool,
    junk: usize,
}

impl Http {
    /// Opens the stream, if it is not open.
    pub(super) fn listen(&mut self) {
        let open = self.slots.iter().any(|(_, slot)| matches!(slot.job, Job::Listening(_)));
        if !open {
            let listening = Listening {
                reconnect: Reconnect::new(),
                opened: false,
                junk: 0,
            };
            self.run_own(Job::Listening(Box::new(listening)), None);
        }
    }

    pub(super) fn handle_listening(&mut self, slot: &mut Slot, news: News) -> Goes {
        let Job::Listening(listening) = &mut slot.job else {
            return Goes::Over;
        };
        let wait = match news {
            News::Step(Step::Opened(_)) => {
                listening.opened = true;
                listening.reconnect.opened();
                return Goes::On;
            }
            News::Step(Step::Event(event)) => {
                if is_message(&event) {
                    if Message::parse(&event.data).is_ok() || event.data.starts_with(b"[") {
                        listening.junk = 0;
                        listening.reconnect.progressed();
                    } else {
                        listening.junk += 1;
                    }
                    self.ready.push_back(Received::Message(event.data));
                }
                if listening.junk <= MAX_JUNK {
                    return Goes::On;
                }
                listening.junk = 0;
                let wait = listening.reconnect.after_failure();
                self.warn(format!(
                    "{MAX_JUNK} events in a row of the server's stream were no messages; it is opened anew"
                ));
                wait
            }
            News::Step(Step::TooLong(start)) => {
                self.received_too_long(start);
                return Goes::On;
            }
            News::Step(Step::Ended(why)) => {
                let Stage::Running(exchange) = &slot.stage else {
                    return Goes::Over;
                };
                listening.reconnect.after_end(exchange, why.is_some())
            }
            News::Step(Step::Failed(_)) => listening.reconnect.after_failure(),
            News::Step(Step::Refused(refusal)) => {
                if !self.listening_goes_on(listening, &refusal) {
                    return Goes::Over;
                }
                listening.reconnect.after_failure()
            }
            News::Step(Step::Whole(_)) => return Goes::Over,
            News::Due => {
                let last_event_id = listening.reconnect.last_event_id().map(str::to_owned);
                self.resume(slot, last_event_id.as_deref());
                return Goes::On;
            }
        };
        slot.wait(wait);
        Goes::On
    }

    /// Whether the stream is asked for again after a refusal. A server need not have it, and not all say so by 405.
    fn listening_goes_on(&mut self, listening: &mut Listening, refusal: &Refusal) -> bool {
        let status = refusal.status;
        if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
            return true;
        }
        if listening.opened && status == StatusCode::NOT_FOUND && self.has_session() {
            self.session_missed(self.generation());
            return false;
        }
        if listening.opened && listening.reconnect.last_event_id().is_some() && status.is_client_error() {
            // It may be the last event that the server does not know.
            listening.reconnect.forget_event();
            return true;
        }
        if status != StatusCode::METHOD_NOT_ALLOWED {
            self.warn(format!("the server has no stream to listen to: {refusal}"));
        }
        false
    }
}
