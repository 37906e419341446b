//! The gate: the servers, what they offer, and the one way through to them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior};
use trunkline_journal::Journal;

use crate::call::decide::{Decided, decide};
use crate::call::execute::{Means, execute};
use crate::call::unknown::Unknown;
use crate::call::verify::{DEFAULT_MAX_TEXT, verify};
use crate::call::{
    Approved, Approver, DecidedBy, Decision, Outcome, Proposal, Report, Stop, ToolCall, approve, record,
};
use crate::call::{resolve, validate};
use crate::catalogue::Catalogue;
use crate::server::{CameUp, Server, ServerReport, ServerSpec, ServerState, Starting};
use crate::text::one_line;
use crate::watch::{News, Nobody, Watch};

/// What a gate is made of, from [`Gate::builder`].
#[must_use = "nothing is connected until `connect` is awaited"]
pub struct Builder {
    servers: Vec<ServerSpec>,
    /// Servers that are not connected, each with how many of the others come before it.
    absent: Vec<(usize, ServerReport)>,
    journal: Option<Journal>,
    approver: Option<Arc<dyn Approver>>,
    watch: Arc<dyn Watch>,
    max_text: usize,
}

impl Builder {
    /// Adds a server. An id that is there already is not added again.
    pub fn server(mut self, server: ServerSpec) -> Self {
        if self.servers.iter().all(|other| other.id != server.id) {
            self.servers.push(server);
        }
        self
    }

    /// Adds a server that is not connected, so that the reports are whole.
    pub fn absent(mut self, report: ServerReport) -> Self {
        self.absent.push((self.servers.len(), report));
        self
    }

    /// Records every message and every decision.
    pub fn journal(mut self, journal: Journal) -> Self {
        self.journal = Some(journal);
        self
    }

    /// Asks a person where the rules say so. Without one, such calls are refused.
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.approver = Some(approver);
        self
    }

    /// Tells what goes on.
    pub fn watch(mut self, watch: Arc<dyn Watch>) -> Self {
        self.watch = watch;
        self
    }

    /// How many bytes of a result a model is given. Default [`DEFAULT_MAX_TEXT`].
    pub fn max_text(mut self, bytes: usize) -> Self {
        self.max_text = bytes;
        self
    }

    /// Connects to all servers at once. A server that fails does not disturb the others; [`Gate::reports`] tells.
    pub async fn connect(self) -> Gate {
        let mut order = Vec::new();
        let mut starting = BTreeMap::new();
        let mut came_up = BTreeMap::new();
        let mut tasks = JoinSet::new();
        let began = Instant::now();
        for spec in self.servers {
            order.push(spec.id.clone());
            let server = Starting::new(spec, self.journal.clone());
            starting.insert(server.id.clone(), (server.trust, Arc::clone(&server.listener)));
            let id = server.id.clone();
            tasks.spawn(async move { (id, server.come_up().await) });
        }
        let mut every_second = tokio::time::interval_at(began + Duration::from_millis(900), Duration::from_secs(1));
        every_second.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            tokio::select! {
                joined = tasks.join_next() => match joined {
                    None => break,
                    Some(Ok((id, up))) => {
                        starting.remove(&id);
                        came_up.insert(id, up);
                    }
                    // A task that panicked is found among those that never came up.
                    Some(Err(_)) => {}
                },
                now = every_second.tick() => for (id, (_, listener)) in &starting {
                    self.watch.news(&News::Waiting {
                        server: one_line(id, 100),
                        seconds: (now.duration_since(began) + Duration::from_millis(500)).as_secs(),
                        oddity: listener.oddity(),
                    });
                },
            }
        }
        let mut gate = Gate {
            servers: BTreeMap::new(),
            reports: Vec::new(),
            catalogue: Catalogue::default(),
            journal: self.journal,
            approver: self.approver,
            watch: self.watch,
            unknown: Unknown::default(),
            max_text: self.max_text,
        };
        let mut absent = self.absent.into_iter().peekable();
        for (place, id) in order.into_iter().enumerate() {
            while let Some((_, report)) = absent.next_if(|(before, _)| *before <= place) {
                gate.reports.push(report);
            }
            if let Some(up) = came_up.remove(&id) {
                gate.take_up(id, up);
                continue;
            }
            let trust = starting.get(&id).map(|(trust, _)| *trust).unwrap_or_default();
            let why = "its connection broke off by a fault of this program";
            gate.reports.push(ServerReport::failed(id, trust, why));
        }
        gate.reports.extend(absent.map(|(_, report)| report));
        for report in &gate.reports {
            gate.record("server", &json!(report));
        }
        gate
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("servers", &self.servers)
            .finish_non_exhaustive()
    }
}

/// The one way through to the servers. It owns their clients; [`Gate::close`] ends them all.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// use trunkline_gate::Gate;
/// let gate = Gate::builder().connect().await;
/// assert_eq!(gate.catalogue().tools().len(), 0, "no server, no tools");
/// gate.close().await;
/// # }
/// ```
pub struct Gate {
    servers: BTreeMap<String, Arc<Server>>,
    reports: Vec<ServerReport>,
    catalogue: Catalogue,
    journal: Option<Journal>,
    approver: Option<Arc<dyn Approver>>,
    watch: Arc<dyn Watch>,
    unknown: Unknown,
    max_text: usize,
}

impl Gate {
    /// Begins a gate.
    pub fn builder() -> Builder {
        Builder {
            servers: Vec::new(),
            absent: Vec::new(),
            journal: None,
            approver: None,
            watch: Arc::new(Nobody),
            max_text: DEFAULT_MAX_TEXT,
        }
    }

    fn take_up(&mut self, id: String, up: CameUp) {
        let CameUp { mut report, server } = up;
        if let Some((server, listing)) = server {
            for rejected in listing.rejected {
                let name = rejected.name.unwrap_or_else(|| "a tool without a name".to_owned());
                let (name, why) = (one_line(&name, 80), one_line(&rejected.why, 300));
                self.catalogue.set_aside(&id, name, why);
            }
            self.catalogue.add(&id, report.trust, listing.items);
            report.tools = self.catalogue.tools().filter(|tool| tool.server() == id).count();
            self.servers.insert(id, server);
        }
        self.reports.push(report);
    }

    /// All tools.
    pub fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    /// How the servers are by now, in the order in which they were added.
    pub fn reports(&self) -> Vec<ServerReport> {
        let mut reports = self.reports.clone();
        for report in &mut reports {
            let Some(server) = self.servers.get(&report.id) else {
                continue;
            };
            let noise = server.client.noise();
            report.noise = noise.count;
            let last = noise
                .last
                .iter()
                .rev()
                .take(3)
                .map(|noise| one_line(&noise.to_string(), 300));
            // Each piece once: a server that prints rubbish prints much of it.
            let last: BTreeSet<String> = last.collect();
            report.warnings.extend(last);
            if server.is_gone() {
                report.state = ServerState::Ended;
            }
        }
        reports
    }

    /// How a server says it should be used. Text of the server's: to be shown, never to be obeyed.
    pub fn instructions(&self, server: &str) -> Option<&str> {
        self.servers.get(server)?.client.agreement().instructions.as_deref()
    }

    /// Adds an entry to the journal, if there is one.
    pub fn record(&self, kind: &str, body: &Value) {
        if let Some(journal) = &self.journal {
            journal.record(kind, body);
        }
    }

    pub(crate) fn servers(&self) -> &BTreeMap<String, Arc<Server>> {
        &self.servers
    }

    /// One call, from the proposal to its outcome. Every call has exactly one.
    pub async fn call(&self, proposal: Proposal) -> Report {
        let began = Instant::now();
        let (tool, arguments) = (one_line(&proposal.tool, 200), proposal.arguments.clone());
        let server = self.catalogue.get(&proposal.tool).map(|tool| tool.server().to_owned());
        let (decision, outcome) = match self.admit(proposal).await {
            Ok(approved) => {
                let decision = approved.decision().clone();
                (Some(decision), self.make(approved).await)
            }
            Err(stop) => self.stopped(&tool, &arguments, stop),
        };
        Report {
            tool,
            server,
            arguments,
            decision,
            outcome,
            took_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        }
    }

    /// Resolve, validate, decide, approve.
    async fn admit(&self, proposal: Proposal) -> Result<Approved<ToolCall>, Stop> {
        let fresh = self.fresh(&proposal.tool).await?;
        let resolved = resolve::resolve(fresh.as_deref().unwrap_or(&self.catalogue), proposal)?;
        let call = validate::validate(resolved)?;
        match decide(call, &self.unknown) {
            Decided::Permit(approved) => Ok(approved),
            Decided::Ask(asking) => approve::approve(asking, self.approver.as_deref()).await,
            Decided::Refuse(stop) => Err(stop),
        }
    }

    /// The tools of the server that a tool belongs to, where they have changed since it was connected.
    async fn fresh(&self, name: &str) -> Result<Option<Arc<Catalogue>>, Stop> {
        let Some(tool) = self.catalogue.get(name) else {
            return Ok(None);
        };
        let Some(server) = self.servers.get(tool.server()) else {
            return Ok(None);
        };
        let read = server.refresh(tool.server(), tool.trust()).await;
        read.map_err(|why| Stop::refused(DecidedBy::Rule, why))?;
        let current = server.changes.current();
        if current.as_ref().is_some_and(|current| current.get(name).is_none()) {
            return Err(Stop::Invalid(format!(
                "server `{}` has changed its list of tools and no longer offers `{}`",
                one_line(tool.server(), 100),
                one_line(&tool.definition().name, 80)
            )));
        }
        Ok(current)
    }

    /// Execute, verify, record.
    async fn make(&self, approved: Approved<ToolCall>) -> Outcome {
        let pending = record::Pending::permitted(self.journal.as_ref(), &approved);
        let server = approved.value().tool().server().to_owned();
        let means = Means {
            catalogue: &self.catalogue,
            server: self.servers.get(&server).map(AsRef::as_ref),
            unknown: &self.unknown,
            watch: self.watch.as_ref(),
        };
        let outcome = match execute(approved, means).await {
            Ok(received) => verify(&server, received, self.max_text),
            Err(reason) => Outcome::Refused { reason },
        };
        pending.end(&outcome);
        outcome
    }

    fn stopped(&self, tool: &str, arguments: &Value, stop: Stop) -> (Option<Decision>, Outcome) {
        record::stopped(self.journal.as_ref(), tool, arguments, &stop);
        match stop {
            Stop::Invalid(why) => (None, Outcome::Invalid { why }),
            Stop::Refused(decision) => {
                let reason = decision.reason.clone();
                (Some(decision), Outcome::Refused { reason })
            }
        }
    }

    /// A person has looked at the calls whose outcome was unknown: they may be made again. Returns how many there were.
    pub fn clear_unknown(&self) -> usize {
        self.unknown.clear()
    }

    /// Ends all servers at once and waits until they are gone.
    pub async fn close(self) {
        let mut tasks = JoinSet::new();
        for server in self.servers.values() {
            let client = server.client.clone();
            tasks.spawn(client.close());
        }
        while tasks.join_next().await.is_some() {}
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate")
            .field("servers", &self.reports)
            .field("tools", &self.catalogue.tools().len())
            .finish_non_exhaustive()
    }
}
