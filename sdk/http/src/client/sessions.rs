//! The session of a legacy server
//! (<https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management>).

use http::StatusCode;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use trunkline_types::{Era, Profile, Revision};

use super::exchange::Step;
use super::http::{Goes, Http, Job, Mode, News, Slot};
use super::outgoing::{Kind, Outgoing};
use crate::header::{PROTOCOL_VERSION, SESSION_ID};

/// The most bytes of a session id: it goes into a header of every request.
const MAX_SESSION_ID: usize = 4096;

/// What is known of a legacy server, and what it takes to meet it anew.
#[derive(Debug)]
pub(super) struct Sessions {
    pub(super) initialize: Outgoing,
    pub(super) initialized: Option<Outgoing>,
    profile: Option<&'static Profile>,
    session: Option<HeaderValue>,
    /// How many sessions came before.
    generation: u64,
    pub(super) state: State,
    /// The session was made anew and nothing was done in it yet.
    unproven: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// What is sent is sent at once.
    Open,
    /// The server is told that the handshake is done: nothing overtakes that.
    Confirming,
    /// The session is being made anew.
    Renewing,
    /// The session has ended and could not be made anew; the next message tries again.
    Gone,
}

impl Sessions {
    pub(super) fn new(initialize: Outgoing) -> Self {
        Self {
            initialize,
            initialized: None,
            profile: None,
            session: None,
            generation: 0,
            state: State::Open,
            unproven: false,
        }
    }

    /// The handshake is being confirmed.
    pub(super) fn confirm(&mut self, initialized: Outgoing) {
        self.initialized = Some(initialized);
        self.state = State::Confirming;
    }

    pub(super) fn is_ready(&self) -> bool {
        self.state == State::Open
    }

    pub(super) fn wants_renewal(&self) -> bool {
        self.state == State::Gone
    }

    pub(super) fn generation(&self) -> u64 {
        self.generation
    }

    pub(super) fn has_session(&self) -> bool {
        self.session.is_some()
    }

    /// A session begins, where the server has them.
    pub(super) fn begin(&mut self, session: Option<HeaderValue>) {
        self.session = session;
    }

    /// The session is not known any more.
    pub(super) fn end(&mut self) {
        self.session = None;
        self.generation += 1;
        self.state = State::Renewing;
        self.unproven = true;
    }

    /// Takes what an answer to `initialize` agrees on.
    pub(super) fn agree(&mut self, answer: &[u8]) {
        self.profile = agreed(answer).map(Revision::profile);
    }

    pub(super) fn revision(&self) -> Option<Revision> {
        self.profile.map(|profile| profile.revision)
    }

    /// The headers of everything that is sent once the handshake is done.
    pub(super) fn headers(&self) -> Vec<(HeaderName, HeaderValue)> {
        let session = self.session.clone().map(|session| (SESSION_ID, session));
        session.into_iter().chain(version_header(self.profile)).collect()
    }
}

/// `MCP-Protocol-Version`, where the agreed revision has it.
pub(super) fn version_header(profile: Option<&'static Profile>) -> Option<(HeaderName, HeaderValue)> {
    let profile = profile.filter(|profile| profile.version_header)?;
    Some((PROTOCOL_VERSION, HeaderValue::from_static(profile.revision.name())))
}

/// The legacy revision that an answer to `initialize` agrees on.
pub(super) fn agreed(answer: &[u8]) -> Option<Revision> {
    #[derive(Deserialize)]
    struct Response {
        result: Agreed,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Agreed {
        protocol_version: String,
    }
    let response: Response = serde_json::from_slice(answer).ok()?;
    Revision::from_name(&response.result.protocol_version).filter(|revision| revision.era() == Era::Legacy)
}

/// The session id in the head of an answer. A proxy may have doubled the header: one value twice is one value.
///
/// # Errors
/// If there are two, or it holds anything but visible ASCII, or is longer than 4 KiB.
pub(super) fn session_id(headers: &HeaderMap) -> Result<Option<HeaderValue>, String> {
    let mut values = headers.get_all(SESSION_ID).iter();
    let Some(first) = values.next() else {
        return Ok(None);
    };
    if values.any(|other| other != first) {
        return Err("the server gave two different session ids at once".to_owned());
    }
    let bytes = first.as_bytes();
    let visible = bytes.iter().all(|byte| (0x21..=0x7e).contains(byte));
    if !visible || bytes.is_empty() || bytes.len() > MAX_SESSION_ID {
        return Err(format!(
            "the server gave a session id that is not 1 to {MAX_SESSION_ID} visible ASCII characters"
        ));
    }
    let mut session = first.clone();
    session.set_sensitive(true);
    Ok(Some(session))
}

impl Http {
    /// Whether a message was sent with a session id.
    pub(super) fn in_session(&self, outgoing: &Outgoing) -> bool {
        match &self.mode {
            Mode::Sessions(sessions) if outgoing.modern.is_none() => {
                sessions.has_session() || outgoing.generation < sessions.generation()
            }
            _ => false,
        }
    }

    /// Whether the session has ended and the next one has not begun.
    pub(super) fn has_lost_session(&self) -> bool {
        matches!(&self.mode, Mode::Sessions(sessions) if matches!(sessions.state, State::Renewing | State::Gone))
    }

    pub(super) fn has_session(&self) -> bool {
        matches!(&self.mode, Mode::Sessions(sessions) if sessions.has_session())
    }

    /// The server took a message in the present session.
    pub(super) fn prove(&mut self, outgoing: &Outgoing) {
        if let Mode::Sessions(sessions) = &mut self.mode
            && sessions.generation() == outgoing.generation
        {
            sessions.unproven = false;
        }
    }

    pub(super) fn handle_notice(&mut self, slot: &mut Slot, news: News) -> Goes {
        let Job::Notice(outgoing) = &slot.job else {
            return Goes::Over;
        };
        let outgoing = outgoing.clone();
        let confirms = outgoing.is_initialized();
        let trouble = match news {
            News::Step(Step::Opened(_)) => {
                self.prove(&outgoing);
                if confirms {
                    self.confirmed();
                }
                return Goes::On;
            }
            News::Step(Step::Refused(refusal)) => {
                if refusal.status == StatusCode::NOT_FOUND && self.in_session(&outgoing) && !confirms {
                    // An answer belongs to a question of the session that has ended.
                    match outgoing.kind {
                        Kind::Response => self.session_missed(outgoing.generation),
                        _ => self.session_refused(outgoing),
                    }
                    return Goes::Over;
                }
                refusal.to_string()
            }
            News::Step(Step::Failed(failure)) => failure.why,
            News::Step(_) | News::Due => return Goes::Over,
        };
        let what = match &outgoing.kind {
            Kind::Notification(Some(method)) => format!("`{method}`"),
            Kind::Response => "an answer of ours".to_owned(),
            _ => "a notification".to_owned(),
        };
        self.warn(format!("{what} was not taken by the server: {trouble}"));
        if confirms {
            self.confirmed();
        }
        Goes::Over
    }

    /// The handshake is done: what was held back goes out, and the server is listened to.
    pub(super) fn confirmed(&mut self) {
        if let Mode::Sessions(sessions) = &mut self.mode {
            sessions.state = State::Open;
            self.listen();
        }
        self.start_held();
    }

    /// The server does not know the session that a message was sent in. It did not run: it goes out once more, in
    /// the next session and before all else.
    pub(super) fn session_refused(&mut self, outgoing: Outgoing) {
        let Mode::Sessions(sessions) = &self.mode else {
            return;
        };
        let is_current = outgoing.generation == sessions.generation();
        let in_a_row = outgoing.resent || (is_current && sessions.unproven);
        let generation = outgoing.generation;
        self.held.push_front(Outgoing {
            resent: true,
            ..outgoing
        });
        if in_a_row {
            let why = "the server does not know the session that it has just begun anew (HTTP 404 twice in a row); \
                       connect again, and check whether several servers share this address";
            return self.lose_held(why);
        }
        if is_current {
            self.session_missed(generation);
        }
        self.start_held();
    }

    /// The server does not know a session any more. A new one is begun, unless that was found out before. One in
    /// which nothing was done yet waits for the next message: nothing else bounds how often it would be begun.
    pub(super) fn session_missed(&mut self, generation: u64) {
        if let Mode::Sessions(sessions) = &mut self.mode
            && sessions.generation() == generation
            && sessions.state == State::Open
        {
            if sessions.unproven {
                sessions.state = State::Gone;
            } else {
                self.renew();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(values: &[&'static str]) -> HeaderMap {
        values
            .iter()
            .map(|value| (SESSION_ID, HeaderValue::from_static(value)))
            .fold(HeaderMap::new(), |mut headers, (name, value)| {
                headers.append(name, value);
                headers
            })
    }

    #[test]
    fn a_session_id_is_one_and_visible() {
        let id = |values: &[&'static str]| {
            session_id(&headers(values)).map(|id| id.map(|id| id.to_str().unwrap().to_owned()))
        };
        assert_eq!(id(&[]), Ok(None));
        assert_eq!(id(&["abc"]), Ok(Some("abc".to_owned())));
        assert_eq!(id(&["abc", "abc"]), Ok(Some("abc".to_owned())), "C-30");
        assert!(id(&["abc", "abd"]).unwrap_err().contains("two different"), "C-30");
        assert!(id(&["a b"]).is_err() && id(&[""]).is_err());
        let longest: &'static str = "x".repeat(MAX_SESSION_ID).leak();
        let longer: &'static str = "x".repeat(MAX_SESSION_ID + 1).leak();
        assert!(id(&[longest]).is_ok() && id(&[longer]).is_err());
    }

    #[test]
    fn the_agreed_revision_is_a_legacy_one() {
        let agreed = |version: &str| {
            agreed(format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"protocolVersion":"{version}"}}}}"#).as_bytes())
        };
        assert_eq!(agreed("2025-06-18"), Some(Revision::V2025_06_18));
        assert_eq!(agreed("2026-07-28"), None);
        assert_eq!(agreed("2099-01-01"), None);
        assert_eq!(super::agreed(b"{}"), None);
    }
}
