//! Signals end the command and everything that it started, and a server that serves an address.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use serde_json::json;
use trunkline_testkit::{Answer, HttpPeer};

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

#[test]
fn a_signal_ends_the_wait_for_a_server_over_http() {
    let home = Home::new();
    let silent = HttpPeer::always(Answer::Silence);
    let config = home.configure(json!({ "silent": { "url": silent.url() } }));
    let mut command = home.command(TRUNKLINE);
    command.arg("--config").arg(config).arg("tools").stderr(Stdio::piped());
    let mut running = command.stdout(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(running.stderr.take().unwrap()).lines();
    let waiting = lines.next().unwrap().unwrap();
    assert!(waiting.contains("`silent` is not ready yet"), "{waiting}");
    let killed = Command::new("kill").arg(running.id().to_string()).status().unwrap();
    assert!(killed.success());
    assert_eq!(running.wait().unwrap().code(), Some(130));
    home.check_nothing_left();
}

#[test]
fn a_shipped_server_serves_an_address_until_a_signal() {
    let home = Home::new();
    for server in ["weather", "orders"] {
        let mut served = home.serve(&[server]);
        let address = served.address.clone();
        assert!(
            address.starts_with("127.0.0.1:"),
            "only this machine reaches it: {address}"
        );

        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" },
        }});
        let body = body.to_string();
        let mut connection = TcpStream::connect(&address).unwrap();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        connection.write_all((head + &body).as_bytes()).unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        assert!(
            answer.starts_with("HTTP/1.1 200 OK") && answer.contains(&format!("\"name\":\"{server}\"")),
            "{answer}"
        );

        let killed = Command::new("kill")
            .arg(served.child.id().to_string())
            .status()
            .unwrap();
        assert!(killed.success());
        assert_eq!(
            served.child.wait().unwrap().code(),
            Some(0),
            "{server} was asked to end, and did"
        );
    }
    home.check_nothing_left();
}

#[test]
fn an_address_that_cannot_be_served_is_named() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let home = Home::new();
    let ran = home.run(&["serve", "weather", "--http", &address]);
    let error = ran.one_error(1);
    assert!(
        error.contains(&address) && error.contains("choose another port"),
        "{error}"
    );
    for wrong in ["port", ":3000", "host:", "host:70000", "70000"] {
        let ran = home.run(&["serve", "weather", "--http", wrong]);
        assert_eq!(ran.status, Some(2), "{wrong}: {ran:?}");
        assert!(ran.stderr.contains("host:port"), "{ran:?}");
    }
}
