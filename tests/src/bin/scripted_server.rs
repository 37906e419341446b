//! A server that does what its arguments say, one step after another, however wrong that is.
//!
//! | step | does |
//! | --- | --- |
//! | `meet` | answers the probe with an error and the handshake as a legacy server, takes `initialized` |
//! | `meet:JSON` | the same with these capabilities |
//! | `<METHOD` | waits for a message with that method and remembers its id |
//! | `>TEXT` | writes a line; `$ID` is the id remembered, in its JSON form |
//! | `=TEXT` | writes bytes without a line end; `\n`, `\r` and `\xHH` are escapes |
//! | `2TEXT` | writes a line to stderr |
//! | `flood:N` | writes N bytes `a` without a line end |
//! | `stderr:N` | writes N bytes to stderr, in lines |
//! | `exit:N` | exits with this status |
//! | `eof` | waits for the end of stdin |
//! | `hang` | waits for ever, whatever happens |

use std::io::{BufRead, StdinLock, Write};
use std::process::ExitCode;

use serde_json::{Value, json};

/// What comes after a step.
enum Next {
    Step,
    Exit(u8),
}

impl Next {
    /// A script whose other side is gone is over.
    fn if_there(there: bool) -> Self {
        if there { Self::Step } else { Self::Exit(0) }
    }
}

struct Script {
    stdin: StdinLock<'static>,
    id: Value,
}

impl Script {
    fn receive(&mut self) -> Option<Value> {
        let mut line = String::new();
        while self.stdin.read_line(&mut line).ok()? > 0 {
            if let Ok(message) = serde_json::from_str(&line) {
                return Some(message);
            }
            line.clear();
        }
        None
    }

    fn wait_for(&mut self, method: &str) -> Option<Value> {
        loop {
            let message = self.receive()?;
            if message["method"] == method {
                self.id = message["id"].clone();
                return Some(message);
            }
        }
    }

    fn meet(&mut self, capabilities: &Value) -> Option<()> {
        loop {
            let message = self.receive()?;
            let id = &message["id"];
            match message["method"].as_str() {
                Some("initialize") => {
                    let result = json!({ "protocolVersion": message["params"]["protocolVersion"],
                        "capabilities": capabilities, "serverInfo": { "name": "scripted", "version": "1" } });
                    write(
                        json!({ "jsonrpc": "2.0", "id": id, "result": result })
                            .to_string()
                            .as_bytes(),
                        true,
                    );
                }
                Some("notifications/initialized") => return Some(()),
                _ => {
                    let error = json!({ "code": -32601, "message": "Method not found" });
                    write(
                        json!({ "jsonrpc": "2.0", "id": id, "error": error })
                            .to_string()
                            .as_bytes(),
                        true,
                    );
                }
            }
        }
    }

    /// Does one step.
    fn step(&mut self, step: &str) -> Next {
        let rest = step.get(1..).unwrap_or_default();
        match step.chars().next() {
            Some('<') => Next::if_there(self.wait_for(rest).is_some()),
            Some('>') => {
                write(rest.replace("$ID", &self.id.to_string()).as_bytes(), true);
                Next::Step
            }
            Some('=') => {
                write(&unescape(&rest.replace("$ID", &self.id.to_string())), false);
                Next::Step
            }
            Some('2') => {
                let _ = writeln!(std::io::stderr(), "{rest}");
                Next::Step
            }
            _ => self.word(step),
        }
    }

    fn word(&mut self, step: &str) -> Next {
        let (word, value) = step.split_once(':').unwrap_or((step, ""));
        match word {
            "meet" => {
                let capabilities = serde_json::from_str(value).unwrap_or_else(|_| json!({ "tools": {} }));
                Next::if_there(self.meet(&capabilities).is_some())
            }
            "flood" => {
                let mut left: usize = value.parse().unwrap_or(0);
                while left > 0 {
                    let part = left.min(65536);
                    write(&vec![b'a'; part], false);
                    left -= part;
                }
                Next::Step
            }
            "stderr" => {
                let line = format!("{}\n", "e".repeat(9999));
                for _ in 0..value.parse().unwrap_or(0) / line.len() {
                    let _ = std::io::stderr().write_all(line.as_bytes());
                }
                Next::Step
            }
            "exit" => Next::Exit(value.parse().unwrap_or(1)),
            "eof" => {
                while self.receive().is_some() {}
                Next::Step
            }
            _ => loop {
                std::thread::park();
            },
        }
    }
}

fn write(bytes: &[u8], line: bool) {
    let mut out = std::io::stdout().lock();
    // The other side may be gone; the script goes on.
    let _ = out.write_all(bytes);
    if line {
        let _ = out.write_all(b"\n");
    }
    let _ = out.flush();
}

fn unescape(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let (byte, used) = match (bytes[at], bytes.get(at + 1)) {
            (b'\\', Some(b'n')) => (b'\n', 2),
            (b'\\', Some(b'r')) => (b'\r', 2),
            (b'\\', Some(b'x')) => {
                let hex = text
                    .get(at + 2..at + 4)
                    .and_then(|hex| u8::from_str_radix(hex, 16).ok());
                (hex.unwrap_or(b'?'), 4)
            }
            (byte, _) => (byte, 1),
        };
        out.push(byte);
        at += used;
    }
    out
}

fn main() -> ExitCode {
    let mut script = Script {
        stdin: std::io::stdin().lock(),
        id: Value::Null,
    };
    for step in std::env::args().skip(1) {
        match script.step(&step) {
            Next::Step => {}
            Next::Exit(status) => return ExitCode::from(status),
        }
    }
    ExitCode::SUCCESS
}
