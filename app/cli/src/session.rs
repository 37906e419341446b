//! From the command line to a gate with connected servers, and back to nothing left behind.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use trunkline_gate::client::{Client, Command, Connector, Opening, Remote};
use trunkline_gate::text::one_line;
use trunkline_gate::{Gate, ServerReport, ServerSpec, ServerState, Trust, near};
use trunkline_host::config::{self, Configuration, Launch, ServerEntry, Start};
use trunkline_journal::{Journal, Mask};

use crate::args::Global;
use crate::exit::Exit;
use crate::output::Output;
use crate::person::{Person, ServerQuestions};

/// How long a connection to an address may take, its TLS and its proxy with it.
const REACHED_WITHIN: Duration = Duration::from_secs(10);

/// Why a command could not begin.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) exit: Exit,
    pub(crate) text: String,
}

impl Problem {
    pub(crate) fn usage(text: impl Into<String>) -> Self {
        Self {
            exit: Exit::Usage,
            text: text.into(),
        }
    }
}

/// Which servers a command needs.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Needs<'a> {
    /// All of them.
    All,
    /// The one with this id.
    One(&'a str),
    /// The one that this tool belongs to.
    Tool(&'a str),
}

/// A gate with its servers.
pub(crate) struct Session {
    pub(crate) gate: Gate,
    journal: Option<Journal>,
}

impl Session {
    /// Reads the configuration and connects.
    pub(crate) async fn open(global: &Global, output: &Arc<Output>, needs: Needs<'_>) -> Result<Self, Problem> {
        let program = program()?;
        let variables = |name: &str| std::env::var(name).ok();
        let configuration = config::load(global.config.as_deref(), &program, &variables)
            .map_err(|error| Problem::usage(format!("configuration {error}")))?;
        for note in &configuration.notes {
            output.note(note);
        }
        // The name of a server is no secret, even where a variable has the same value.
        let known = |secret: &&String| !configuration.servers.iter().any(|entry| entry.id == **secret);
        output.hide(configuration.secrets.iter().filter(known));
        if configuration.secrets.len() > Mask::MAX_KNOWN {
            output.warning(&format!(
                "the configuration holds {} secret values, of which {} can be masked; take out what is not needed",
                configuration.secrets.len(),
                Mask::MAX_KNOWN
            ));
        }
        let servers = chosen(&configuration, needs)?;
        let journal = global
            .journal
            .as_deref()
            .map(|file| journal(file, &configuration))
            .transpose()?;
        let person = Arc::new(Person::new(Arc::clone(output), !global.no_input));

        let mut builder = Gate::builder().watch(output.clone()).approver(person.clone());
        if let Some(journal) = &journal {
            builder = builder.journal(journal.clone());
        }
        for entry in servers {
            warn(entry, output);
            builder = match spec(entry, global, &person) {
                Ok(spec) => builder.server(spec),
                Err(report) => builder.absent(*report),
            };
        }
        let gate = builder.connect().await;
        output.clear();
        let session = Self { gate, journal };
        session.tell_servers(global, output);
        Ok(session)
    }

    fn tell_servers(&self, global: &Global, output: &Output) {
        for report in self.gate.reports() {
            let id = one_line(&report.id, 100);
            let why = report.error.as_deref().unwrap_or("it cannot be used");
            match report.state {
                ServerState::Failed => output.error(&format!("server `{id}`: {why}")),
                ServerState::Skipped if !why.contains("switched off") => {
                    output.warning(&format!("server `{id}` is not used: {why}"));
                }
                ServerState::Skipped if global.verbose => output.note(&format!("server `{id}`: {why}")),
                _ => {}
            }
            if report.state == ServerState::Connected {
                for warning in &report.warnings {
                    output.tell_once(&report.id, &format!("server `{id}`: {warning}"));
                }
            }
        }
        let set_aside = self.gate.catalogue().all_set_aside();
        if global.verbose {
            for aside in set_aside {
                output.warning(&format!(
                    "server `{}`: tool {} is set aside: {}",
                    one_line(&aside.server, 100),
                    one_line(&aside.name, 200),
                    one_line(&aside.reason, 300)
                ));
            }
        } else if !set_aside.is_empty() {
            output.warning(&format!(
                "{} tool definitions are set aside; -v tells why",
                set_aside.len()
            ));
        }
    }

    /// The servers as they are by now.
    pub(crate) fn any_down(&self) -> bool {
        self.gate.reports().iter().any(ServerReport::is_down)
    }

    /// Ends all servers, and tells what went wrong beside the command itself.
    pub(crate) async fn close(self, output: &Output) {
        self.gate.close().await;
        if let Some(journal) = self.journal {
            journal.close();
            if let Some(failure) = journal.failure() {
                output.warning(&failure.to_string());
            }
        }
    }
}

/// This very program, which the shipped servers are started from.
fn program() -> Result<PathBuf, Problem> {
    std::env::current_exe().map_err(|error| Problem {
        exit: Exit::Failed,
        text: format!("the path of this program cannot be found, so the shipped servers cannot be started: {error}"),
    })
}

fn journal(file: &Path, configuration: &Configuration) -> Result<Journal, Problem> {
    let journal = Journal::create(file).map_err(|error| {
        let why = match error.kind() {
            std::io::ErrorKind::AlreadyExists => "the file exists and is not written over; name another".to_owned(),
            _ => error.to_string(),
        };
        Problem::usage(format!("journal {}: {why}", file.display()))
    })?;
    for secret in &configuration.secrets {
        journal.add_secret(secret);
    }
    Ok(journal)
}

/// The entries that a command needs.
fn chosen<'a>(configuration: &'a Configuration, needs: Needs<'_>) -> Result<Vec<&'a ServerEntry>, Problem> {
    let all = &configuration.servers;
    let ids = || all.iter().map(|entry| entry.id.as_str());
    let found: Vec<&ServerEntry> = match needs {
        Needs::All => return Ok(all.iter().collect()),
        Needs::One(id) => all.iter().filter(|entry| entry.id == id).collect(),
        Needs::Tool(tool) => {
            let found: Vec<&ServerEntry> = all.iter().filter(|entry| holds(&entry.id, tool)).collect();
            if found.is_empty() && may_be_any(tool) {
                return Ok(all.iter().collect());
            }
            found
        }
    };
    if !found.is_empty() {
        return Ok(found);
    }
    let (wanted, form) = match needs {
        Needs::Tool(tool) => match tool.split_once('/') {
            Some((server, _)) => (server, ""),
            None => (tool, "; write SERVER/TOOL"),
        },
        Needs::One(id) => (id, ""),
        Needs::All => ("", ""),
    };
    let near = near(wanted, ids(), 1);
    let hint = match near.first() {
        Some(near) => format!("did you mean `{}`?", one_line(near, 60)),
        None if all.is_empty() => "none is configured".to_owned(),
        None => format!(
            "the servers are: {}",
            ids().map(|id| one_line(id, 60)).collect::<Vec<_>>().join(", ")
        ),
    };
    Err(Problem::usage(format!(
        "there is no server `{}`{form}; {hint}",
        one_line(wanted, 80)
    )))
}

/// Whether a tool named on the command line can belong to a server: `server/tool`, or the public name `server__tool`.
fn holds(id: &str, tool: &str) -> bool {
    let rest = tool.strip_prefix(id);
    rest.is_some_and(|rest| rest.starts_with('/') || rest.starts_with("__"))
}

/// Whether a name is a public one that ends in a hash. Such a name does not tell which server it belongs to.
fn may_be_any(tool: &str) -> bool {
    let hash = tool.rsplit_once('_').map(|(_, hash)| hash);
    let is_hash = |hash: &str| hash.len() == 10 && hash.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    !tool.contains('/') && hash.is_some_and(is_hash)
}

/// The server of an entry, or the report that says why there is none.
fn spec(entry: &ServerEntry, global: &Global, person: &Arc<Person>) -> Result<ServerSpec, Box<ServerReport>> {
    let trust = if entry.trusted {
        Trust::Trusted
    } else {
        Trust::Untrusted
    };
    let wait = global.timeout.or(entry.timeout);
    let connector = match &entry.launch {
        Launch::Start(start) => program_of(start),
        Launch::Http(remote) => Client::remote(within(remote.clone(), wait)),
        other => return Err(Box::new(not_reached(&entry.id, trust, other))),
    };
    let opening = global.revision.map_or(Opening::Auto, Opening::Fixed);
    let connector = connector
        .name("trunkline", env!("CARGO_PKG_VERSION"))
        .opening(opening)
        .inputs(ServerQuestions::new(&entry.id, person));
    let mut spec = ServerSpec::new(&entry.id, connector).trust(trust);
    if let Some(wait) = wait {
        spec = spec.wait(wait);
    }
    Ok(spec)
}

/// Says so before secrets leave this machine in the clear.
fn warn(entry: &ServerEntry, output: &Output) {
    if let Launch::Http(remote) = &entry.launch
        && remote.exposes_secrets()
    {
        output.warning(&format!(
            "server `{}`: what is in its headers and its query crosses the network unencrypted ({}); use https:// where \
             the server has it",
            one_line(&entry.id, 100),
            one_line(remote.without_query(), 200)
        ));
    }
}

fn program_of(start: &Start) -> Connector {
    let mut command = Command::new(&start.command).args(&start.args);
    for (name, value) in &start.env {
        command = command.env(name, value);
    }
    if let Some(folder) = &start.cwd {
        command = command.cwd(folder);
    }
    Client::command(command)
}

/// A server that has little time in all has half of it to be reached, so that what keeps it away is told in time.
fn within(remote: Remote, wait: Option<Duration>) -> Remote {
    match wait {
        Some(wait) => remote.connect_wait(REACHED_WITHIN.min(wait / 2)),
        None => remote.connect_wait(REACHED_WITHIN),
    }
}

fn not_reached(id: &str, trust: Trust, launch: &Launch) -> ServerReport {
    match launch {
        Launch::Disabled => ServerReport::skipped(id, trust, "it is switched off in the configuration"),
        Launch::Broken { reason } => ServerReport::failed(id, trust, one_line(reason, 1500)),
        _ => ServerReport::skipped(id, trust, "this version cannot reach it"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_holds_a_hash_may_belong_to_any_server() {
        assert!(may_be_any("my_files_read_text_64463b9844"));
        for other in ["get_weather", "weather__get_weather", "a/b_64463b9844", "_64463B9844"] {
            assert!(!may_be_any(other), "{other}");
        }
    }

    #[test]
    fn a_tool_is_looked_for_on_its_own_server_only() {
        assert!(holds("weather", "weather/get_weather"));
        assert!(holds("weather", "weather__get_weather"));
        assert!(holds("a/b", "a/b/c"));
        assert!(!holds("weather", "weather2/get_weather"));
        assert!(!holds("weather", "get_weather"));
        assert!(!holds("weather", "weather"));
    }
}
