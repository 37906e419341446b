//! Signals end the command and everything that it started.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::json;

use crate::run::{Home, TRUNKLINE};

#[test]
fn a_signal_ends_the_servers_too() {
    for signal in ["-TERM", "-INT", "-HUP"] {
        let home = Home::new();
        // A server with a child of its own that does not hear the end of its input.
        let servers = json!({ "stubborn": { "command": "sh", "args": ["-c", "sleep 600 & sleep 600"] } });
        let config = home.configure(servers);
        let mut command = home.command(TRUNKLINE);
        command
            .arg("--config")
            .arg(config)
            .arg("tools")
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut running = command.spawn().unwrap();
        let mut lines = BufReader::new(running.stderr.take().unwrap()).lines();
        let waiting = lines.next().unwrap().unwrap();
        assert!(waiting.contains("`stubborn` is not ready yet"), "{waiting}");
        let killed = Command::new("kill")
            .args([signal, &running.id().to_string()])
            .status()
            .unwrap();
        assert!(killed.success());
        assert_eq!(running.wait().unwrap().code(), Some(130), "{signal}");
        home.check_nothing_left();
    }
}
