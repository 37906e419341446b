//! The benchmark client drives a server over both transports and says what it should.
//!
//! This program is the server too: with [`SERVE`] as its first argument it serves stdio, else it runs the test.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so by a panic")]

use std::process::Command;

use serde_json::{Map, Value, json};
use tokio::runtime::Runtime;
use trunkline::Server;

const SERVE: &str = "--serve";

fn server() -> Server {
    Server::new("echo", "1").tool("echo", |arguments: Map<String, Value>| async move {
        arguments["text"].as_str().unwrap_or_default().to_owned()
    })
}

fn main() {
    let runtime = Runtime::new().unwrap();
    if std::env::args().nth(1).as_deref() == Some(SERVE) {
        return runtime.block_on(server().serve_stdio()).unwrap();
    }
    let socket = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    let url = format!("http://{}/mcp", socket.local_addr().unwrap());
    runtime.spawn(async move { server().serve_http_until(socket, std::future::pending()).await });
    let program = std::env::current_exe().unwrap();
    let program = program.to_str().unwrap();
    for target in [["stdio", program, SERVE].as_slice(), ["http", &url].as_slice()] {
        for threads in [["--threads"].as_slice(), [].as_slice()] {
            let told = told(&[threads, &["0.004"], target].concat());
            assert_eq!(
                (&told["client"], &told["transport"]),
                (&json!("ours"), &json!(target[0]))
            );
            assert!(told["calls_per_s"].as_f64().unwrap() > 0.0, "{told}");
            assert!(told["cpu_us"].is_number(), "{told}");
            let told = told_of_many(&[threads, &["many", "3"], target].concat());
            assert_eq!((&told["servers"], &told["transport"]), (&json!(3), &json!(target[0])));
        }
    }
    for wrong in [
        [].as_slice(),
        &["x"],
        &["1", "ftp", "x"],
        &["many", "3"],
        &["0.004", "http", "http://127.0.0.1:1/"],
    ] {
        let output = run(wrong);
        assert!(!output.status.success() && output.stdout.is_empty(), "{wrong:?}");
        assert!(output.stderr.starts_with(b"bench-client: "), "{wrong:?}");
    }
}

fn run(arguments: &[&str]) -> std::process::Output {
    Command::new(env!("CARGO_BIN_EXE_bench-client"))
        .args(arguments)
        .output()
        .unwrap()
}

/// The one line that the client prints.
fn told(arguments: &[&str]) -> Value {
    let output = run(arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn told_of_many(arguments: &[&str]) -> Value {
    let told = told(arguments);
    for time in [
        "single_median_ms",
        "single_slowest_ms",
        "all_ms",
        "slowest_of_all_ms",
        "close_all_ms",
    ] {
        assert!(told[time].as_f64().unwrap() > 0.0, "{time} of {told}");
    }
    told
}
