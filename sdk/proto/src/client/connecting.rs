//! From the first message to an agreement
//! ([stdio](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio#backward-compatibility)).

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use trunkline_types::{
    ClientCapabilities, DiscoverResult, EmptyNotice, Era, ErrorObject, Extension, Extra, Implementation,
    InitializeParams, InitializeResult, Method, RequestId, Revision, encode, meta_key,
};

use super::meta::{CommonMeta, WithMeta};
use super::{Agreement, ConnectError, Connection, Event, Opening, Sent, Undelivered};
use crate::Timeouts;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// `server/discover` was sent.
    Probing,
    /// It was sent once more, in a revision that the server named when it refused the first.
    ProbingAgain,
    /// `initialize` was sent.
    Initializing,
    Ready,
    Failed,
}

impl Connection {
    pub(super) fn begin(&mut self, now: Duration) {
        match self.config.opening {
            Opening::Auto => self.probe(now, Revision::LATEST, self.config.probe),
            Opening::Fixed(revision) if revision.era() == Era::Modern => {
                self.probe(now, revision, self.config.handshake);
            }
            Opening::Fixed(revision) => self.initialize(now, revision),
        }
    }

    /// The metadata that every modern request carries.
    fn modern_meta(&self, revision: Revision) -> CommonMeta {
        CommonMeta::new(revision, &self.config.info, &self.capabilities_in(revision))
    }

    /// What this client can do in a revision.
    fn capabilities_in(&self, revision: Revision) -> ClientCapabilities {
        let mut capabilities = self.config.capabilities.clone();
        if !revision.profile().tasks_extension {
            capabilities.remove_extension(Extension::Tasks);
        }
        capabilities
    }

    fn probe(&mut self, now: Duration, revision: Revision, wait: Duration) {
        let id = self.sent.open(now, Sent::Probe, Timeouts::fixed(wait));
        let params = WithMeta {
            params: &Extra::new(),
            common: &self.modern_meta(revision),
            progress_token: None,
            log_level: None,
        };
        self.transmit_handshake(&id, Method::Discover, &params);
    }

    fn initialize(&mut self, now: Duration, revision: Revision) {
        self.state = State::Initializing;
        let id = self
            .sent
            .open(now, Sent::Initialize, Timeouts::fixed(self.config.handshake));
        let params = InitializeParams {
            protocol_version: revision.name().to_owned(),
            capabilities: self.capabilities_in(revision),
            client_info: self.config.info.clone(),
            ..InitializeParams::default()
        };
        self.transmit_handshake(&id, Method::Initialize, &params);
    }

    fn transmit_handshake(&mut self, id: &RequestId, method: Method, params: &impl serde::Serialize) {
        match encode::request(id, method.name(), params) {
            Ok(message) => self.transmit.push_back(message),
            Err(error) => self.fail(ConnectError::Invalid(error.to_string())),
        }
    }

    pub(super) fn fail(&mut self, error: ConnectError) {
        if self.state != State::Failed {
            self.state = State::Failed;
            self.events.push_back(Event::ConnectFailed(error));
        }
    }

    fn ready(&mut self, agreement: Agreement) {
        self.state = State::Ready;
        if agreement.profile.era == Era::Modern {
            self.meta = self.modern_meta(agreement.profile.revision);
        }
        self.agreement = Some(agreement);
        self.events.push_back(Event::Connected);
    }

    /// Silence: the server is taken for a legacy one, unless it must be modern.
    pub(super) fn probe_was_silent(&mut self, now: Duration) {
        match self.config.opening {
            Opening::Auto => self.initialize(now, Revision::LATEST_LEGACY),
            Opening::Fixed(_) => self.fail(ConnectError::Silent),
        }
    }

    pub(super) fn probe_answered(&mut self, now: Duration, outcome: Result<&RawValue, ErrorObject>) {
        match outcome {
            Ok(result) => match serde_json::from_str::<DiscoverResult>(result.get()) {
                Ok(discovered) => self.discovered(now, discovered),
                // A legacy server may answer anything to a method that it does not know.
                Err(error) => self.not_modern(now, ConnectError::Invalid(error.to_string())),
            },
            Err(error) if error.is_modern() => {
                let offered = supported(&error);
                match self.common(&offered) {
                    // A server that names what we speak is asked for that, but not over and over
                    // (https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#protocol-version-negotiation).
                    Some(revision) if self.state == State::Probing => {
                        self.state = State::ProbingAgain;
                        self.probe(now, revision, self.config.handshake);
                    }
                    _ => self.choose(now, offered, ConnectError::Refused(error)),
                }
            }
            Err(error) => self.not_modern(now, ConnectError::Refused(error)),
        }
    }

    /// A server that answers by a mere HTTP status, or breaks off, may be a legacy one
    /// ([rule](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#backward-compatibility)).
    /// One that cannot be reached, or wants authorization, would meet the handshake in the same way.
    pub(super) fn probe_undelivered(&mut self, now: Duration, undelivered: Undelivered) {
        let may_be_legacy = match undelivered.status {
            Some(401 | 403) => false,
            Some(_) => true,
            None => undelivered.may_have_run,
        };
        let error = ConnectError::Undelivered(undelivered);
        if may_be_legacy {
            self.not_modern(now, error);
        } else {
            self.fail(error);
        }
    }

    /// An error without an id during the handshake can only mean the handshake.
    pub(super) fn connection_refused(&mut self, now: Duration, error: ErrorObject) {
        let open = self.sent.drain();
        for (id, _) in open {
            self.remember(id);
        }
        match self.state {
            State::Probing | State::ProbingAgain => self.not_modern(now, ConnectError::Refused(error)),
            _ => self.fail(ConnectError::Refused(error)),
        }
    }

    pub(super) fn not_modern(&mut self, now: Duration, error: ConnectError) {
        match self.config.opening {
            Opening::Auto => self.initialize(now, Revision::LATEST_LEGACY),
            Opening::Fixed(_) => self.fail(error),
        }
    }

    /// The newest modern revision that both sides speak, if it may be that one.
    fn common(&self, offered: &[String]) -> Option<Revision> {
        let wanted = match self.config.opening {
            Opening::Auto => None,
            Opening::Fixed(revision) => Some(revision),
        };
        offered
            .iter()
            .filter_map(|name| Revision::from_name(name))
            .filter(|revision| revision.era() == Era::Modern && wanted.is_none_or(|wanted| wanted == *revision))
            .max()
    }

    fn discovered(&mut self, now: Duration, result: DiscoverResult) {
        let Some(revision) = self.common(&result.supported_versions) else {
            let offered = result.supported_versions;
            return self.choose(now, offered.clone(), ConnectError::NoCommonRevision { offered });
        };
        let server = result.meta.get(meta_key::SERVER_INFO);
        let server = server
            .and_then(|info| Implementation::deserialize(info).ok())
            .unwrap_or_default();
        self.ready(Agreement {
            profile: revision.profile(),
            server,
            capabilities: result.capabilities,
            instructions: result.instructions,
        });
    }

    /// The server is modern but does not speak what was asked: a legacy revision that both speak is left.
    fn choose(&mut self, now: Duration, offered: Vec<String>, otherwise: ConnectError) {
        let legacy = offered
            .iter()
            .filter_map(|name| Revision::from_name(name))
            .filter(|revision| revision.era() == Era::Legacy)
            .max();
        match (legacy, self.config.opening) {
            (Some(revision), Opening::Auto) => self.initialize(now, revision),
            _ if offered.is_empty() || self.common(&offered).is_some() => self.fail(otherwise),
            _ => self.fail(ConnectError::NoCommonRevision { offered }),
        }
    }

    pub(super) fn initialize_answered(&mut self, now: Duration, outcome: Result<&RawValue, ErrorObject>) {
        let result = match outcome {
            Ok(result) => match serde_json::from_str::<InitializeResult>(result.get()) {
                Ok(result) => result,
                Err(error) => return self.fail(ConnectError::Invalid(error.to_string())),
            },
            Err(error) => return self.initialize_refused(now, error),
        };
        // Any revision that both speak will do
        // (https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#version-negotiation).
        let spoken = Revision::from_name(&result.protocol_version).filter(|revision| revision.era() == Era::Legacy);
        let Some(revision) = spoken else {
            return self.fail(ConnectError::NoCommonRevision {
                offered: vec![result.protocol_version],
            });
        };
        match encode::notification::<EmptyNotice>(Method::Initialized.name(), None) {
            Ok(message) => self.transmit.push_back(message),
            Err(error) => return self.fail(ConnectError::Invalid(error.to_string())),
        }
        self.ready(Agreement {
            profile: revision.profile(),
            server: result.server_info,
            capabilities: result.capabilities,
            instructions: result.instructions,
        });
    }

    /// Some servers refuse a version that they do not know and list the ones they do.
    fn initialize_refused(&mut self, now: Duration, error: ErrorObject) {
        let offered = supported(&error);
        let asked = match self.config.opening {
            Opening::Auto => Revision::LATEST_LEGACY,
            Opening::Fixed(revision) => revision,
        };
        let other = offered
            .iter()
            .filter_map(|name| Revision::from_name(name))
            .filter(|revision| revision.era() == Era::Legacy && *revision < asked)
            .max();
        match other {
            Some(revision) if self.config.opening == Opening::Auto => {
                self.config.opening = Opening::Fixed(revision);
                self.initialize(now, revision);
            }
            _ => self.fail(ConnectError::Refused(error)),
        }
    }

    /// An answer to something that was given up: of interest only if it is the probe's.
    pub(super) fn late_answer(&mut self, now: Duration, outcome: Result<&RawValue, ErrorObject>) {
        let waiting = self.state == State::Initializing && self.config.opening == Opening::Auto;
        if let (true, Ok(result)) = (waiting, outcome)
            && serde_json::from_str::<DiscoverResult>(result.get()).is_ok()
        {
            // Slow, not legacy. Both eras are open to it, and the newer one was wanted.
            for (id, _) in self.sent.drain() {
                self.remember(id);
            }
            self.probe_answered(now, Ok(result));
        }
    }
}

/// The revisions that an error lists.
fn supported(error: &ErrorObject) -> Vec<String> {
    let list = error
        .data
        .as_ref()
        .and_then(|data| data.get("supported"))
        .and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}
