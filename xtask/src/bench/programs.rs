//! The parts that `bench-load` measures.

use std::path::Path;
use std::process::{Command, Stdio};

use super::build::{CLIENT, FLOOR, LOAD, RMCP, RMCP_CLIENT, SERVER};
use super::{Asked, Form};

/// Servers: ours first, which is what the others are compared with.
pub(super) fn servers(asked: &Asked) -> Result<String, String> {
    let (ours, floor, rmcp) = (SERVER.build()?, FLOOR.build()?, RMCP.build()?);
    let mut command = load()?;
    command.arg("servers");
    for (name, program, words) in [
        ("ours", &ours, "stdio"),
        ("floor", &floor, "stdio"),
        ("rmcp", &rmcp, "stdio"),
        ("ours", &ours, "http {port}"),
        ("floor", &floor, "http {port}"),
        ("rmcp", &rmcp, "http {port}"),
        ("rmcp-json", &rmcp, "http {port} json"),
    ] {
        command.arg("--peer").arg(format!("{name}={} {words}", quoted(program)));
    }
    for peer in &asked.peers {
        command.arg("--peer").arg(peer);
    }
    if asked.quick {
        command.args(["--ms", "150", "--warm-up-ms", "100", "--starts", "3"]);
    }
    measure(command, asked)
}

/// Clients: each against the quickest server that there is.
pub(super) fn clients(asked: &Asked) -> Result<String, String> {
    let (ours, floor, rmcp) = (CLIENT.build()?, FLOOR.build()?, RMCP_CLIENT.build()?);
    let mut command = load()?;
    command.arg("clients");
    for words in ["stdio-blocking", "http {port}"] {
        command.arg("--server").arg(format!("{} {words}", quoted(&floor)));
    }
    for (name, program) in [("ours", &ours), ("rmcp", &rmcp)] {
        command.arg("--client").arg(format!("{name}={}", quoted(program)));
    }
    for client in &asked.clients {
        command.arg("--client").arg(client);
    }
    command.args(["--ms", if asked.quick { "300" } else { "1000" }]);
    measure(command, asked)
}

/// Growth: our server alone, against itself.
pub(super) fn growth(asked: &Asked) -> Result<String, String> {
    let ours = SERVER.build()?;
    let mut command = load()?;
    command.arg("growth").arg("--server").arg(quoted(&ours));
    if asked.quick {
        command.args(["--ms", "150", "--warm-up-ms", "100"]);
    }
    measure(command, asked)
}

fn load() -> Result<Command, String> {
    Ok(Command::new(LOAD.build()?))
}

/// A path in a command line of `bench-load`.
fn quoted(path: &Path) -> String {
    format!("\"{}\"", path.display())
}

/// Runs `bench-load`, which says itself how far it is and ends what does not answer. What it printed.
fn measure(mut command: Command, asked: &Asked) -> Result<String, String> {
    command.args(["--rounds", &asked.rounds().to_string()]);
    if asked.form == Form::Values {
        command.arg("--json");
    }
    let ran = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("bench-load could not be started: {error}"))?;
    if !ran.status.success() {
        return Err(format!("bench-load ended with {}", ran.status));
    }
    String::from_utf8(ran.stdout).map_err(|error| error.to_string())
}
