//! The commands.

mod ask;
mod call;
pub(crate) mod generate;
mod list;
mod offer;
pub(crate) mod serve;

use std::future::Future;
use std::sync::Arc;

use serde::Serialize;
use trunkline_gate::ServerReport;

use crate::args::{Command, Global};
use crate::exit::Exit;
use crate::output::Output;
use crate::session::{Needs, Session};

/// Runs a command that needs servers: connects, does it, and leaves nothing behind, whatever happens in between.
pub(crate) async fn with_servers(global: &Global, command: Command, output: &Arc<Output>) -> Exit {
    // What is wrong with the command line itself starts no server.
    let command = match Prepared::new(command) {
        Ok(command) => command,
        Err(why) => return failed(global, output, None, Exit::Usage, &why),
    };
    let session = match or_signal(Session::open(global, output, command.needs())).await {
        Some(Ok(session)) => session,
        Some(Err(problem)) => return failed(global, output, None, problem.exit, &problem.text),
        None => return interrupted(output),
    };
    let exit = match or_signal(command.run(global, &session, output)).await {
        Some(exit) => exit.or_server_failed(session.any_down()),
        None => interrupted(output),
    };
    // A second signal does not wait for servers that take their time; they are killed with this program.
    let _ = or_signal(session.close(output)).await;
    exit
}

/// What standard output holds in place of a result, where JSON is asked for.
#[derive(Serialize)]
struct Failure<'a> {
    error: &'a str,
    exit: &'static str,
    servers: Vec<ServerReport>,
}

/// Tells why there is no result.
fn failed(global: &Global, output: &Output, session: Option<&Session>, exit: Exit, why: &str) -> Exit {
    output.error(why);
    no_result(global, output, session, exit, why)
}

/// The same where it was told already: in JSON only.
fn no_result(global: &Global, output: &Output, session: Option<&Session>, exit: Exit, why: &str) -> Exit {
    if global.json {
        output.json(&Failure {
            error: why,
            exit: exit.word(),
            servers: session.map(|session| session.gate.reports()).unwrap_or_default(),
        });
    }
    exit
}

fn interrupted(output: &Output) -> Exit {
    output.error("interrupted; the servers are ended");
    Exit::Interrupted
}

/// A command with its arguments read.
enum Prepared {
    Ask(String),
    Tools,
    Resources,
    Prompts,
    Call(call::Wanted),
    Read(String, Option<String>),
    Prompt(offer::Wanted),
}

impl Prepared {
    fn new(command: Command) -> Result<Self, String> {
        Ok(match command {
            Command::Ask { question } => {
                let question = question.join(" ");
                if question.trim().is_empty() {
                    return Err("the question is empty; write it after `ask`".to_owned());
                }
                Self::Ask(question)
            }
            Command::Tools => Self::Tools,
            Command::Resources => Self::Resources,
            Command::Prompts => Self::Prompts,
            Command::Call { tool, arguments } => Self::Call(call::Wanted::new(tool, arguments.as_deref())?),
            Command::Read { uri, server } => Self::Read(uri, server),
            Command::Prompt {
                name,
                arguments,
                server,
            } => Self::Prompt(offer::Wanted::new(name, arguments, server)?),
            Command::Serve { .. } | Command::Completions { .. } | Command::Man { .. } => {
                return Err("this command needs no servers".to_owned());
            }
        })
    }

    fn needs(&self) -> Needs<'_> {
        match self {
            Self::Call(wanted) => Needs::Tool(&wanted.tool),
            Self::Read(_, Some(server)) => Needs::One(server),
            Self::Prompt(wanted) => wanted.server.as_deref().map_or(Needs::All, Needs::One),
            _ => Needs::All,
        }
    }

    async fn run(self, global: &Global, session: &Session, output: &Arc<Output>) -> Exit {
        match self {
            Self::Ask(question) => ask::ask(global, session, &question, output).await,
            Self::Tools => list::tools(global, session, output),
            Self::Resources => list::resources(global, session, output).await,
            Self::Prompts => list::prompts(global, session, output).await,
            Self::Call(wanted) => call::call(global, session, wanted, output).await,
            Self::Read(uri, server) => offer::read(global, session, &uri, server.as_deref(), output).await,
            Self::Prompt(wanted) => offer::prompt(global, session, wanted, output).await,
        }
    }
}

/// The work's result, or none when a signal came first.
async fn or_signal<T>(work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        done = work => Some(done),
        () = signal() => None,
    }
}

/// Waits for a signal that asks the program to end.
async fn signal() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let (Ok(mut terminate), Ok(mut hang_up)) = (signal(SignalKind::terminate()), signal(SignalKind::hangup()))
        else {
            return std::future::pending().await;
        };
        tokio::select! {
            Ok(()) = tokio::signal::ctrl_c() => {}
            Some(()) = terminate.recv() => {}
            Some(()) = hang_up.recv() => {}
        }
    }
    #[cfg(not(unix))]
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
