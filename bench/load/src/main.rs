//! `bench-load`: measures MCP servers and clients side by side, in rounds, and prints tables. It starts what it
//! measures and checks every answer; a wrong one ends the run. `cargo xtask bench` builds and calls it;
//! `docs/performance.md` says what each number means.

mod arguments;
mod clients;
mod fault;
mod growth;
mod http;
mod message;
mod output;
mod phase;
mod process;
mod report;
mod sample;
mod servers;
mod stdio;

use std::process::ExitCode;

use arguments::{Arguments, Part};
use fault::Outcome;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let arguments = match Arguments::read(&words) {
        Ok(arguments) => arguments,
        Err(fault) => {
            output::progress(&format!("{}\n{}", fault.text(), arguments::USAGE));
            return ExitCode::from(2);
        }
    };
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            output::progress(fault.text());
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Outcome<()> {
    let Arguments { part, options, json } = arguments;
    let samples = match part {
        Part::Servers { peers } => servers::measure(peers, options)?,
        Part::Clients { clients, servers } => clients::measure(clients, servers, options)?,
        Part::Growth { program } => growth::measure(program, options)?,
    };
    if *json {
        for sample in &samples {
            output::result(&serde_json::to_string(sample)?);
        }
    } else {
        let text = match part {
            Part::Servers { .. } => report::servers(&samples),
            Part::Clients { .. } => report::clients(&samples),
            Part::Growth { .. } => report::growth(&samples),
        };
        output::result(text.trim_end());
    }
    Ok(())
}
