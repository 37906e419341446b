//! Clients, each calling a fast server one call after another.

use std::io::Read as _;
use std::time::Duration;

use serde::Deserialize;

use crate::arguments::{Options, Peer};
use crate::fault::{Fault, Outcome};
use crate::http::Server;
use crate::output;
use crate::process::Process;
use crate::sample::{Recorder, Sample};

/// What a client prints, in one line.
#[derive(Deserialize)]
struct Report {
    calls_per_s: f64,
    cpu_us: f64,
}

/// Runs each client against the same server: over stdio each starts it, over HTTP one serves all of a round.
pub(crate) fn measure(clients: &[Peer], servers: &[Peer], options: &Options) -> Outcome<Vec<Sample>> {
    let mut order: Vec<&Peer> = clients.iter().collect();
    let mut samples = Vec::new();
    for round in 0..options.rounds {
        for server in servers {
            let (_running, target) = if server.is_http() {
                let running = Server::start(&server.command, options.wait)?;
                let target = vec!["http".to_owned(), format!("http://{}/mcp", running.address)];
                (Some(running), target)
            } else {
                (None, [vec!["stdio".to_owned()], server.command.clone()].concat())
            };
            for client in &order {
                let seconds = options.time.as_secs_f64().to_string();
                let command = [client.command.clone(), vec![seconds], target.clone()].concat();
                let report = run(&command, options.time * 2 + options.wait)
                    .map_err(|fault| fault.during(format!("{} over {}", client.name, server.transport())))?;
                let mut recorder = Recorder {
                    peer: &client.name,
                    transport: server.transport(),
                    revision: "",
                    round,
                    samples: &mut samples,
                };
                recorder.record("client.calls", report.calls_per_s);
                recorder.record("client.cpu", report.cpu_us);
            }
        }
        order.reverse();
        output::progress(&format!("clients: round {} of {} is done", round + 1, options.rounds));
    }
    Ok(samples)
}

fn run(command: &[String], wait: Duration) -> Outcome<Report> {
    let (process, input, mut output) = Process::start_piped(command)?;
    drop(input);
    let _watch = process.watch(wait);
    let mut printed = String::new();
    let ran = output.read_to_string(&mut printed).map_err(Fault::from);
    ran.and_then(|_| process.wait())
        .map_err(|fault| process.explain(fault))?;
    let line = printed.lines().last().unwrap_or_default();
    serde_json::from_str(line).map_err(|error| Fault::new(format!("{error}: `{line}`")))
}
