//! What is measured of each server, and in which order.

use std::thread;
use std::time::Instant;

use crate::arguments::{Options, Peer};
use crate::fault::{Fault, Outcome};
use crate::http::{self, Connection, Server};
use crate::message::{BLOB_KIB, Era, Tool};
use crate::output;
use crate::phase::Phase;
use crate::sample::{Recorder, Sample};
use crate::stdio::Pipes;

/// What is called, and with how many calls in flight.
const LOADS: &[(Tool, &[usize])] = &[
    (Tool::Echo, &[1, 16, 64]),
    (Tool::Add, &[1, 16, 64]),
    (Tool::Blob, &[1]),
];

/// Measures all peers, round after round; every second round goes through them backwards.
pub(crate) fn measure(peers: &[Peer], options: &Options) -> Outcome<Vec<Sample>> {
    let mut jobs: Vec<(&Peer, Era)> = Vec::new();
    for era in Era::ALL {
        jobs.extend(peers.iter().map(|peer| (peer, era)));
    }
    let mut samples = Vec::new();
    for round in 0..options.rounds {
        for (peer, era) in &jobs {
            let mut recorder = Recorder {
                peer: &peer.name,
                transport: peer.transport(),
                revision: era.revision(),
                round,
                samples: &mut samples,
            };
            let measured = if peer.is_http() {
                measure_http(peer, *era, options, &mut recorder)
            } else {
                measure_stdio(peer, *era, options, &mut recorder)
            };
            measured.map_err(|fault| {
                fault.during(format!("{} over {}, {}", peer.name, peer.transport(), era.revision()))
            })?;
        }
        jobs.reverse();
        output::progress(&format!("servers: round {} of {} is done", round + 1, options.rounds));
    }
    Ok(samples)
}

fn measure_stdio(peer: &Peer, era: Era, options: &Options, recorder: &mut Recorder) -> Outcome<()> {
    let mut start = || {
        let begun = Instant::now();
        let mut pipes = Pipes::connect(&peer.command, era, options.wait)?;
        pipes.list(options.wait)?;
        recorder.record("cold", milliseconds(begun));
        Ok::<_, Fault>(pipes)
    };
    for _ in 1..options.starts {
        start()?;
    }
    let mut pipes = start()?;
    thread::sleep(options.settle);
    recorder.record("memory.idle", pipes.process.memory_kib()? / 1024.0);
    for (tool, in_flight) in LOADS {
        let most = in_flight.iter().copied().max().unwrap_or(1);
        pipes.load(*tool, most, options.warm_up, options.wait)?;
        for count in *in_flight {
            let phase = pipes.load(*tool, *count, options.time, options.wait)?;
            record_phase(recorder, *tool, *count, phase);
        }
    }
    Ok(())
}

fn measure_http(peer: &Peer, era: Era, options: &Options, recorder: &mut Recorder) -> Outcome<()> {
    http::block_on(async {
        for _ in 1..options.starts {
            start_http(peer, era, options, recorder).await?;
        }
        let (server, connection) = start_http(peer, era, options, recorder).await?;
        thread::sleep(options.settle);
        recorder.record("memory.idle", server.process.memory_kib()? / 1024.0);
        let mut connections = vec![connection];
        for (tool, in_flight) in LOADS {
            let most = in_flight.iter().copied().max().unwrap_or(1);
            server.connect_all(&mut connections, most, era, options.wait).await?;
            server
                .load(&mut connections, most, *tool, options.warm_up, options.wait)
                .await?;
            for count in *in_flight {
                let phase = server
                    .load(&mut connections, *count, *tool, options.time, options.wait)
                    .await?;
                record_phase(recorder, *tool, *count, phase);
            }
        }
        drop((connections, server));
        if era == Era::Legacy {
            measure_sessions(peer, options, recorder).await?;
        }
        Ok(())
    })
}

async fn start_http(
    peer: &Peer,
    era: Era,
    options: &Options,
    recorder: &mut Recorder<'_>,
) -> Outcome<(Server, Connection)> {
    let begun = Instant::now();
    let server = Server::start(&peer.command, options.wait)?;
    let mut connection = server.connect(era, options.wait).await?;
    {
        let _watch = server.process.watch(options.wait);
        let listed = connection.list().await;
        listed.map_err(|fault| server.process.explain(fault))?;
    }
    recorder.record("cold", milliseconds(begun));
    Ok((server, connection))
}

/// In a process that has done nothing else, so that no memory is there to be used again.
async fn measure_sessions(peer: &Peer, options: &Options, recorder: &mut Recorder<'_>) -> Outcome<()> {
    let server = Server::start(&peer.command, options.wait)?;
    let mut opener = server.connect(Era::Legacy, options.wait).await?;
    let _watch = server.process.watch(options.wait);
    opener.list().await?;
    thread::sleep(options.settle);
    let before = server.process.memory_kib()?;
    let mut sessions = Vec::new();
    for _ in 0..options.sessions {
        let Some(session) = opener.handshake().await? else {
            // It has no sessions.
            return Ok(());
        };
        sessions.push(session);
    }
    thread::sleep(options.settle);
    let count = f64::from(options.sessions);
    recorder.record("memory.session", (server.process.memory_kib()? - before) / count);
    let mut streams = Vec::new();
    for session in &sessions {
        let mut stream = Connection::new(server.address, Era::Legacy).await?;
        stream
            .open_stream(session)
            .await
            .map_err(|fault| server.process.explain(fault))?;
        streams.push(stream);
    }
    thread::sleep(options.settle);
    recorder.record("memory.stream", (server.process.memory_kib()? - before) / count);
    Ok(())
}

fn record_phase(recorder: &mut Recorder, tool: Tool, in_flight: usize, mut phase: Phase) {
    let metric = |kind: &str| format!("{}.{in_flight}.{kind}", tool.name());
    if tool == Tool::Blob {
        let mib = f64::from(phase.calls()) * (f64::from(BLOB_KIB) / 1024.0);
        recorder.record(metric("mib"), mib / phase.time.as_secs_f64());
        recorder.record(metric("cpu"), phase.cpu_us());
        return;
    }
    recorder.record(metric("calls"), phase.calls_per_s());
    recorder.record(metric("p50"), phase.percentile(50));
    recorder.record(metric("p99"), phase.percentile(99));
    recorder.record(metric("cpu"), phase.cpu_us());
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}
