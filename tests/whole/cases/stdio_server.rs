//! A server as a process: what its client may do to it.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{PATIENCE, modern};

struct Process {
    child: Child,
}

impl Process {
    fn start() -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_scenario-server"));
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        Self {
            child: command.spawn().unwrap(),
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        self.child.stdin.as_mut().unwrap().write_all(bytes).unwrap();
    }

    /// Closes stdin, reads the rest of stdout, and waits for the end.
    fn finish(mut self) -> (String, std::process::ExitStatus, Duration) {
        drop(self.child.stdin.take());
        let start = Instant::now();
        let mut text = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        let status = self.child.wait().unwrap();
        (text, status, start.elapsed())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn call(id: &Value, tool: &str, arguments: Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": { "name": tool, "arguments": arguments, "_meta": modern() } })
    .to_string()
}

fn answers(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).expect("stdout carries only messages"))
        .collect()
}

/// C-05: the end of stdin ends the server, soon and with status 0, whatever waits inside of it.
#[test]
fn c05_the_end_of_stdin_ends_the_server() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_scenario-server"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let start = Instant::now();
    assert!(child.wait().unwrap().success());
    assert!(start.elapsed() < PATIENCE);

    let (text, status, took) = {
        let mut process = Process::start();
        process.write(format!("{}\n", call(&json!(1), "echo", json!({ "text": "last" }))).as_bytes());
        process.finish()
    };
    assert!(status.success());
    assert!(took < Duration::from_secs(4), "nothing was left to wait for: {took:?}");
    assert_eq!(
        answers(&text)[0]["result"]["content"][0]["text"],
        "last",
        "what was accepted is answered"
    );
}

/// Work that does not end is given up after a bounded grace.
#[test]
fn work_that_does_not_end_is_given_up() {
    let mut process = Process::start();
    process.write(format!("{}\n", call(&json!(1), "wait", json!({}))).as_bytes());
    let (_, status, took) = process.finish();
    assert!(status.success());
    assert!(
        took >= Duration::from_secs(4) && took < PATIENCE,
        "the grace is five seconds: {took:?}"
    );
}

/// C-02 and C-04, as a server meets them: a mark, line ends, a line without an end, and one that is too long.
#[test]
fn c02_c04_framing_is_forgiving_and_bounded() {
    let mut process = Process::start();
    process.write(b"\xEF\xBB\xBF");
    process.write(format!("{}\r\n\r\n \n", call(&json!(1), "echo", json!({ "text": "marked" }))).as_bytes());
    let long = r#"{"jsonrpc":"2.0","id":"long","method":"tools/call","params":{"x":""#;
    process.write(long.as_bytes());
    let part = vec![b'a'; 1024 * 1024];
    for _ in 0..17 {
        process.write(&part);
    }
    process.write(b"\"}}\n");
    process.write(call(&json!(2), "echo", json!({ "text": "no line end" })).as_bytes());
    let (text, status, _) = process.finish();
    assert!(status.success());
    let answers = answers(&text);
    let of = |id: Value| {
        answers
            .iter()
            .find(|answer| answer["id"] == id)
            .unwrap_or_else(|| panic!("no answer for {id}"))
    };
    assert_eq!(of(json!(1))["result"]["content"][0]["text"], "marked");
    assert_eq!(of(json!("long"))["error"]["code"], -32600, "its sender learns why");
    assert_eq!(of(json!(2))["result"]["content"][0]["text"], "no line end");
}

/// C-07, as a server meets it: a client that is gone is no crash.
#[test]
fn c07_a_client_that_has_gone_ends_the_server_quietly() {
    let mut process = Process::start();
    drop(process.child.stdout.take());
    for n in 0..50 {
        // The server may have noticed already, and closed its stdin.
        let line = format!("{}\n", call(&json!(n), "echo", json!({ "text": "x".repeat(10_000) })));
        if process
            .child
            .stdin
            .as_mut()
            .unwrap()
            .write_all(line.as_bytes())
            .is_err()
        {
            break;
        }
    }
    drop(process.child.stdin.take());
    let status = process.child.wait().unwrap();
    assert!(status.success(), "{status}");
}

/// A client that writes without reading, then reads: nothing is lost and nothing locks up.
#[test]
fn a_client_that_reads_late_gets_everything() {
    let mut process = Process::start();
    let mut stdin = process.child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || {
        for n in 0..2000 {
            let line = format!("{}\n", call(&json!(n), "echo", json!({ "text": "x".repeat(2000) })));
            stdin.write_all(line.as_bytes()).unwrap();
        }
    });
    let mut lines = BufReader::new(process.child.stdout.take().unwrap()).lines();
    let mut seen = vec![false; 2000];
    for _ in 0..2000 {
        let answer: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        let id = usize::try_from(answer["id"].as_u64().unwrap()).unwrap();
        assert!(!std::mem::replace(&mut seen[id], true), "{id} is answered once");
    }
    writer.join().unwrap();
}
