//! Whether a call costs the same however much there is, and a long message in proportion to its length.

use std::time::Duration;

use crate::arguments::Options;
use crate::fault::{Fault, Outcome};
use crate::http::{self, Server};
use crate::message::{Era, Tool};
use crate::output;
use crate::sample::{Recorder, Sample};
use crate::stdio::Pipes;

const TOOLS: [usize; 4] = [1, 10, 100, 1000];
/// The last is as many as a server keeps by default.
const SESSIONS: [usize; 3] = [1, 100, 10_000];
const MESSAGE_MIB: [usize; 2] = [8, 64];
/// What a server has to accept for the longest message and what stands around its text.
const MAX_MESSAGE_MIB: usize = 65;
const IN_FLIGHT: usize = 64;
const MIB: usize = 1024 * 1024;

/// Measures `bench-server` at each size, round after round.
pub(crate) fn measure(program: &[String], options: &Options) -> Outcome<Vec<Sample>> {
    let mut samples = Vec::new();
    let command = |words: &[&str]| -> Vec<String> {
        let words = words.iter().map(|word| (*word).to_owned());
        program.iter().cloned().chain(words).collect()
    };
    for round in 0..options.rounds {
        for (transport, era) in [("stdio", Era::Legacy), ("http", Era::Legacy), ("http", Era::Modern)] {
            let mut recorder = Recorder {
                peer: "ours",
                transport,
                revision: era.revision(),
                round,
                samples: &mut samples,
            };
            let start: &[&str] = if transport == "stdio" {
                &["stdio"]
            } else {
                &["http", http::PORT]
            };
            for tools in TOOLS.into_iter().filter(|tools| *tools <= options.most) {
                let tools_text = tools.to_string();
                let command = command(&[start, &["--tools", &tools_text]].concat());
                let cpu = if transport == "stdio" {
                    with_tools_stdio(&command, era, options)
                } else {
                    with_tools_http(&command, era, options)
                };
                let cpu = cpu.map_err(|fault| fault.during(format!("{tools} tools over {transport}")))?;
                recorder.record(format!("tools.{tools}.cpu"), cpu);
            }
            if era == Era::Modern {
                continue;
            }
            let command = command(&[start, &["--max-message", &MAX_MESSAGE_MIB.to_string()]].concat());
            for mib in MESSAGE_MIB.into_iter().filter(|mib| *mib <= options.most) {
                let cpu = if transport == "stdio" {
                    long_message_stdio(&command, mib, options)
                } else {
                    long_message_http(&command, mib, options)
                };
                let cpu = cpu.map_err(|fault| fault.during(format!("a message of {mib} MiB over {transport}")))?;
                recorder.record(format!("message.{mib}.cpu"), cpu.as_secs_f64() * 1e3);
            }
        }
        let mut recorder = Recorder {
            peer: "ours",
            transport: "http",
            revision: Era::Legacy.revision(),
            round,
            samples: &mut samples,
        };
        for sessions in SESSIONS.into_iter().filter(|sessions| *sessions <= options.most) {
            let cpu = with_sessions(&command(&["http", http::PORT]), sessions, options)
                .map_err(|fault| fault.during(format!("{sessions} sessions")))?;
            recorder.record(format!("sessions.{sessions}.cpu"), cpu);
        }
        output::progress(&format!("growth: round {} of {} is done", round + 1, options.rounds));
    }
    Ok(samples)
}

fn with_tools_stdio(command: &[String], era: Era, options: &Options) -> Outcome<f64> {
    let mut pipes = Pipes::connect(command, era, options.wait)?;
    pipes.load(Tool::Echo, IN_FLIGHT, options.warm_up, options.wait)?;
    let phase = pipes.load(Tool::Echo, IN_FLIGHT, options.time, options.wait)?;
    Ok(phase.cpu_us())
}

fn with_tools_http(command: &[String], era: Era, options: &Options) -> Outcome<f64> {
    http::block_on(async {
        let server = Server::start(command, options.wait)?;
        let mut connections = Vec::new();
        server
            .connect_all(&mut connections, IN_FLIGHT, era, options.wait)
            .await?;
        let (warm_up, time, wait) = (options.warm_up, options.time, options.wait);
        server
            .load(&mut connections, IN_FLIGHT, Tool::Echo, warm_up, wait)
            .await?;
        let phase = server.load(&mut connections, IN_FLIGHT, Tool::Echo, time, wait).await?;
        Ok(phase.cpu_us())
    })
}

/// One session calls, the others are open and idle.
fn with_sessions(command: &[String], sessions: usize, options: &Options) -> Outcome<f64> {
    http::block_on(async {
        let server = Server::start(command, options.wait)?;
        let mut opener = server.connect(Era::Legacy, options.wait).await?;
        {
            let _watch = server.process.watch(options.wait);
            for _ in 1..sessions {
                let opened = opener
                    .handshake()
                    .await
                    .map_err(|fault| server.process.explain(fault))?;
                opened.ok_or_else(|| Fault::new("the server has no sessions"))?;
            }
        }
        // The last session is the one that calls.
        let mut connections = vec![opener];
        let (warm_up, time, wait) = (options.warm_up, options.time, options.wait);
        server.load(&mut connections, 1, Tool::Echo, warm_up, wait).await?;
        let phase = server.load(&mut connections, 1, Tool::Echo, time, wait).await?;
        Ok(phase.cpu_us())
    })
}

fn long_message_stdio(command: &[String], mib: usize, options: &Options) -> Outcome<Duration> {
    let mut pipes = Pipes::connect(command, Era::Legacy, options.wait)?;
    pipes.long_echo(mib * MIB, options.wait)
}

fn long_message_http(command: &[String], mib: usize, options: &Options) -> Outcome<Duration> {
    http::block_on(async {
        let server = Server::start(command, options.wait)?;
        let mut connection = server.connect(Era::Legacy, options.wait).await?;
        let _watch = server.process.watch(options.wait);
        let cpu = server.process.cpu()?;
        let echoed = connection.long_echo(mib * MIB).await;
        echoed.map_err(|fault| server.process.explain(fault))?;
        Ok(server.process.cpu()?.saturating_sub(cpu))
    })
}
