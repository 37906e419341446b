//! One server: how it is reached, how it came up, what is known about it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use serde::Serialize;
use tokio::time::Instant;
use trunkline_client::types::Tool;
use trunkline_client::{CallError, Client, Connector, Listing, Timeouts};
use trunkline_journal::Journal;

use crate::catalogue::Trust;
use crate::changes::{Changes, listen};
use crate::listen::Listener;
use crate::text::one_line;

/// How long a server may take to start, connect and list its tools, unless told otherwise. A program that is fetched
/// when it is first used needs its time.
pub const DEFAULT_CONNECT_WAIT: Duration = Duration::from_secs(20);

/// How long a call may stay without a sign of progress, unless told otherwise.
pub const DEFAULT_CALL_WAIT: Duration = Duration::from_secs(60);

/// A call that shows progress may take so many times as long as one that shows none.
const WITH_PROGRESS: u32 = 10;

/// How long a server may be silent after it was asked for its era.
const PROBE: Duration = Duration::from_secs(3);

/// How much longer than its own waits a connection may take before it is given up from outside: it may be started
/// twice, and be shut down each time.
const MARGIN: Duration = Duration::from_secs(8);

/// How often a server is looked at while it comes up.
const LOOK: Duration = Duration::from_millis(100);

/// A server to connect to.
#[derive(Debug)]
pub struct ServerSpec {
    pub(crate) id: String,
    pub(crate) trust: Trust,
    pub(crate) connector: Connector,
    pub(crate) wait: Option<Duration>,
}

impl ServerSpec {
    /// A server by its id in the configuration, not trusted.
    pub fn new(id: impl Into<String>, connector: Connector) -> Self {
        Self {
            id: id.into(),
            trust: Trust::Untrusted,
            connector,
            wait: None,
        }
    }

    /// How far its word is taken.
    pub fn trust(mut self, trust: Trust) -> Self {
        self.trust = trust;
        self
    }

    /// How long it may take to connect, and to answer a call. Default [`DEFAULT_CONNECT_WAIT`] and
    /// [`DEFAULT_CALL_WAIT`].
    pub fn wait(mut self, wait: Duration) -> Self {
        self.wait = Some(wait);
        self
    }
}

/// How a server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ServerState {
    /// It can be used.
    Connected,
    /// It never could be used.
    Failed,
    /// It was connected and has ended since, or, over HTTP, could not be reached any more when it was last needed.
    Ended,
    /// It is not used: switched off, or of a kind that this version cannot use.
    Skipped,
}

/// What is known about a server.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ServerReport {
    /// Its id in the configuration.
    pub id: String,
    /// How it is.
    pub state: ServerState,
    /// How far its word is taken.
    pub trust: Trust,
    /// What it calls itself, for display.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The revision of the protocol that was agreed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// How many of its tools can be used.
    pub tools: usize,
    /// Whether it could not list its tools though it is connected: what is known of them is not whole. The
    /// warnings say why.
    #[serde(skip)]
    pub unlisted: bool,
    /// Why it cannot be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What is odd about it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// How many lines or messages it sent that nobody asked for; they were set aside.
    pub noise: u64,
    /// How long it took to connect and to list its tools, in milliseconds.
    pub took_ms: u64,
}

impl ServerReport {
    /// A server that is not used, with the reason.
    pub fn skipped(id: impl Into<String>, trust: Trust, reason: impl Into<String>) -> Self {
        Self::without(id.into(), trust, ServerState::Skipped, reason.into())
    }

    /// A server that cannot be used, with the reason.
    pub fn failed(id: impl Into<String>, trust: Trust, reason: impl Into<String>) -> Self {
        Self::without(id.into(), trust, ServerState::Failed, reason.into())
    }

    fn without(id: String, trust: Trust, state: ServerState, reason: String) -> Self {
        Self {
            id,
            state,
            trust,
            name: None,
            revision: None,
            tools: 0,
            unlisted: false,
            error: Some(reason),
            warnings: Vec::new(),
            noise: 0,
            took_ms: 0,
        }
    }

    /// Whether it failed or ended.
    pub fn is_down(&self) -> bool {
        matches!(self.state, ServerState::Failed | ServerState::Ended)
    }
}

/// A connected server.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) client: Client,
    pub(crate) timeouts: Timeouts,
    /// Calls in flight.
    pub(crate) calls: AtomicUsize,
    pub(crate) changes: Changes,
    reach: Reach,
}

/// Whether a server could be reached when it was last needed. Over HTTP a connection goes on where its server does not.
#[derive(Debug, Default)]
struct Reach {
    lost: AtomicBool,
}

impl Reach {
    fn learn<T>(&self, ended: &Result<T, CallError>) {
        match ended {
            Err(CallError::Undelivered(why)) if why.status.is_none() && !why.may_have_run => {
                self.lost.store(true, Ordering::Relaxed);
            }
            Ok(_) | Err(CallError::Refused(_)) => self.lost.store(false, Ordering::Relaxed),
            Err(_) => {}
        }
    }
}

impl Server {
    /// Takes note of how a request ended.
    pub(crate) fn learn<T>(&self, ended: Result<T, CallError>) -> Result<T, CallError> {
        self.reach.learn(&ended);
        ended
    }

    /// Whether it has ended, or could not be reached when it was last needed.
    pub(crate) fn is_gone(&self) -> bool {
        self.client.is_closed() || self.reach.lost.load(Ordering::Relaxed)
    }

    /// Reads the list of tools again if the server told that it has changed.
    ///
    /// # Errors
    /// Why the list cannot be read, in words.
    pub(crate) async fn refresh(&self, id: &str, trust: Trust) -> Result<(), String> {
        let wait = self.timeouts.idle;
        let read = self.changes.refresh(&self.client, id, trust, wait).await;
        read.map_err(|error| {
            format!(
                "server `{}` told that its list of tools has changed, and the list cannot be read again: {}",
                one_line(id, 100),
                one_line(&error.to_string(), 500)
            )
        })
    }
}

/// How one server came up.
pub(crate) struct CameUp {
    pub(crate) report: ServerReport,
    pub(crate) server: Option<(Arc<Server>, Listing<Tool>)>,
}

/// A server that is being connected.
pub(crate) struct Starting {
    pub(crate) id: String,
    pub(crate) trust: Trust,
    connector: Connector,
    wait: Duration,
    timeouts: Timeouts,
    journal: Option<Journal>,
    pub(crate) listener: Arc<Listener>,
}

impl Starting {
    pub(crate) fn new(spec: ServerSpec, journal: Option<Journal>) -> Self {
        let wait = spec.wait.unwrap_or(DEFAULT_CONNECT_WAIT);
        let call = spec.wait.unwrap_or(DEFAULT_CALL_WAIT);
        let timeouts = Timeouts {
            idle: call,
            total: call.saturating_mul(WITH_PROGRESS),
        };
        let listener = Arc::new(Listener::new(&spec.id, journal.as_ref()));
        let probe = PROBE.min(wait / 3);
        let connector = spec
            .connector
            .probe(probe)
            .handshake(wait.saturating_sub(probe))
            .timeouts(timeouts)
            .tap(listener.clone());
        Self {
            id: spec.id,
            trust: spec.trust,
            connector,
            wait,
            timeouts,
            journal,
            listener,
        }
    }

    /// Connects and lists the tools.
    pub(crate) async fn come_up(self) -> CameUp {
        let began = Instant::now();
        let Self {
            id,
            trust,
            connector,
            wait,
            timeouts,
            journal,
            listener,
        } = self;
        let failed = |reason: String| {
            let reason = match listener.oddity() {
                Some(oddity) => format!("{reason}; {oddity}"),
                None => reason,
            };
            CameUp {
                report: ServerReport {
                    took_ms: millis(began),
                    ..ServerReport::failed(id.clone(), trust, one_line(&reason, 1500))
                },
                server: None,
            }
        };
        let connected = tokio::select! {
            connected = tokio::time::timeout(wait.saturating_mul(2).saturating_add(MARGIN), connector.connect()) => connected,
            () = astray(&listener) => {
                return failed("it does not follow JSON-RPC, so it cannot be talked to; update it, or ask its makers".to_owned());
            }
        };
        let client = match connected {
            Ok(Ok(client)) => client,
            Ok(Err(error)) => return failed(error.to_string()),
            Err(_) => {
                return failed(format!(
                    "it was not ready within {wait:?}; allow it more time, or run its command by hand"
                ));
            }
        };
        listener.connected();
        let agreement = client.agreement();
        let revision = agreement.profile.revision.name();
        if let Some(journal) = &journal {
            journal.set_revision(&id, revision);
        }
        let mut report = ServerReport {
            id: id.clone(),
            state: ServerState::Connected,
            trust,
            name: Some(one_line(
                &format!("{} {}", agreement.server.name, agreement.server.version),
                120,
            )),
            revision: Some(revision.to_owned()),
            tools: 0,
            unlisted: false,
            error: None,
            warnings: Vec::new(),
            noise: 0,
            took_ms: 0,
        };
        let left = wait.saturating_sub(began.elapsed()).max(LOOK);
        // It listens first, so that no change after the list is missed.
        let (subscription, listing) = tokio::join!(listen(&client), tokio::time::timeout(left, client.tools()));
        let listing = match listing {
            Ok(Ok(listing)) => listing,
            Ok(Err(error)) if client.is_closed() => {
                return failed(format!("it ended while it listed its tools: {error}"));
            }
            // A server without usable tools may still have resources and prompts.
            Ok(Err(error)) => {
                report.unlisted = true;
                Listing {
                    warnings: vec![format!("its tools cannot be listed: {error}")],
                    ..Listing::default()
                }
            }
            Err(_) => {
                return failed(format!("it did not list its tools within {wait:?}; allow it more time"));
            }
        };
        report
            .warnings
            .extend(listing.warnings.iter().map(|warning| one_line(warning, 500)));
        report.took_ms = millis(began);
        let server = Server {
            changes: Changes::new(&client, subscription),
            client,
            timeouts,
            calls: AtomicUsize::new(0),
            reach: Reach::default(),
        };
        CameUp {
            report,
            server: Some((Arc::new(server), listing)),
        }
    }
}

fn millis(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// Ready when the server has answered the handshake with an id that no request has, and the right answer has not come
/// for a while after.
async fn astray(listener: &Listener) {
    loop {
        tokio::time::sleep(LOOK).await;
        if listener.is_astray() {
            tokio::time::sleep(5 * LOOK).await;
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trunkline_client::Undelivered;
    use trunkline_client::types::ErrorObject;

    #[test]
    fn a_server_is_gone_while_it_cannot_be_reached_and_no_longer() {
        let reach = Reach::default();
        let is_lost = |ended: Result<(), CallError>| {
            reach.learn(&ended);
            reach.lost.load(Ordering::Relaxed)
        };
        let undelivered = |may_have_run, status| {
            let why = String::new();
            Err(CallError::Undelivered(Undelivered {
                may_have_run,
                status,
                why,
            }))
        };
        assert!(
            !is_lost(undelivered(true, None)),
            "it was there when the exchange began"
        );
        assert!(!is_lost(undelivered(false, Some(401))), "it is there, and says no");
        assert!(is_lost(undelivered(false, None)));
        assert!(is_lost(Err(CallError::TimedOut)), "this says nothing");
        assert!(!is_lost(Err(CallError::Refused(ErrorObject::internal("busy")))));
        assert!(is_lost(undelivered(false, None)) && !is_lost(Ok(())));
    }
}
