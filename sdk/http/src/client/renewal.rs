//! A session that the server forgot is made anew, with the same handshake as the first one.

use std::time::Duration;

use trunkline_transport::Received;

use super::exchange::Step;
use super::failure::Failure;
use super::http::{Goes, Http, Job, Mode, News, Slot, Stage};
use super::said::{self, Said};
use super::sessions::{State, agreed, session_id};

/// How long the answer to the new handshake may take once its head has come.
const ANSWER_WAIT: Duration = Duration::from_secs(30);

/// A step of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Renewal {
    /// `initialize` was sent again.
    Initialize,
    /// The server agreed, and is told that the handshake is done.
    Initialized,
}

impl Http {
    /// Begins a new session. What is to be sent meanwhile waits.
    pub(super) fn renew(&mut self) {
        let Mode::Sessions(sessions) = &mut self.mode else {
            return;
        };
        sessions.end();
        let initialize = sessions.initialize.clone();
        self.slots.retain(|slot| !matches!(slot.job, Job::Listening(_)));
        self.run_own(Job::Renewal(Renewal::Initialize), Some(&initialize));
    }

    pub(super) fn handle_renewal(&mut self, slot: &mut Slot, news: News) -> Goes {
        let Job::Renewal(step) = slot.job else {
            return Goes::Over;
        };
        match (step, news) {
            (Renewal::Initialize, News::Step(Step::Opened(headers))) => {
                let Mode::Sessions(sessions) = &mut self.mode else {
                    return Goes::Over;
                };
                match session_id(&headers) {
                    Ok(session) => sessions.begin(session),
                    Err(why) => return self.lose_session(&why),
                }
                // Everything else waits for it.
                if let Stage::Running(exchange) = &mut slot.stage {
                    exchange.end_within(ANSWER_WAIT);
                }
                Goes::On
            }
            (Renewal::Initialize, News::Step(Step::Whole(answer))) => self.renewal_answered(&answer),
            (Renewal::Initialize, News::Step(Step::Event(event))) => {
                let Mode::Sessions(sessions) = &self.mode else {
                    return Goes::Over;
                };
                let id = sessions.initialize.request_id();
                if id.is_some_and(|id| said::read(&event.data, id) == Said::Answer) {
                    return self.renewal_answered(&event.data);
                }
                Goes::On
            }
            (Renewal::Initialize, News::Step(Step::Refused(refusal))) => {
                if refusal.status.is_client_error() {
                    return self.lose_session(&refusal.to_string());
                }
                self.renewal_failed(&refusal.to_string())
            }
            (Renewal::Initialize, News::Step(Step::Ended(why))) => {
                self.renewal_failed(&why.unwrap_or_else(|| "no answer came".to_owned()))
            }
            (Renewal::Initialize, News::Step(Step::TooLong(_))) => self.lose_session("the answer is too long"),
            (Renewal::Initialized, News::Step(Step::Opened(_))) => self.renewed(),
            (Renewal::Initialized, News::Step(Step::Refused(refusal))) => {
                self.warn(format!("the server did not take the end of the handshake: {refusal}"));
                self.renewed()
            }
            (_, News::Step(Step::Failed(Failure { why, .. }))) => self.renewal_failed(&why),
            (_, News::Due) | (Renewal::Initialized, _) => Goes::Over,
        }
    }

    fn renewal_answered(&mut self, answer: &[u8]) -> Goes {
        let Mode::Sessions(sessions) = &mut self.mode else {
            return Goes::Over;
        };
        match (agreed(answer), sessions.revision()) {
            (Some(now), Some(before)) if now == before => {}
            (Some(now), before) => {
                let before = before.map_or_else(|| "nothing".to_owned(), |before| before.to_string());
                return self.lose_session(&format!("it now speaks revision {now} instead of {before}"));
            }
            (None, _) => return self.lose_session("it refuses the handshake that it took before"),
        }
        let Some(initialized) = sessions.initialized.clone() else {
            return self.renewed();
        };
        self.run_own(Job::Renewal(Renewal::Initialized), Some(&initialized));
        Goes::Over
    }

    fn renewed(&mut self) -> Goes {
        if let Mode::Sessions(sessions) = &mut self.mode {
            sessions.state = State::Open;
            self.ready.push_back(Received::Renewed);
            self.listen();
            self.start_held();
        }
        Goes::Over
    }

    /// There is no new session now. What waited for it did not run; the next message tries again.
    fn renewal_failed(&mut self, why: &str) -> Goes {
        if let Mode::Sessions(sessions) = &mut self.mode {
            sessions.state = State::Gone;
        }
        self.give_up_held(&format!("the session ended, and no new one could be begun: {why}"));
        Goes::Over
    }

    /// There will be no session any more: the connection ends.
    fn lose_session(&mut self, why: &str) -> Goes {
        self.lose_held(&format!(
            "the session ended, and the server does not begin a new one: {why}; connect again"
        ));
        Goes::Over
    }

    /// Ends the connection. What waits was not sent, or was refused.
    pub(super) fn lose_held(&mut self, why: &str) {
        self.give_up_held(why);
        self.fail(why.to_owned());
    }

    pub(super) fn give_up_held(&mut self, why: &str) {
        for outgoing in std::mem::take(&mut self.held) {
            self.undeliver(&outgoing, Failure::unreachable(why.to_owned()));
        }
    }
}
