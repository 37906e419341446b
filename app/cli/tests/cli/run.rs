//! Runs the command in a home of its own, with a time limit, and looks for processes that it left.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

/// The program under test.
pub(crate) const TRUNKLINE: &str = env!("CARGO_BIN_EXE_trunkline");

/// Longest time one run may take.
const LIMIT: Duration = Duration::from_secs(60);

/// A home folder in which the command runs. Its path is in the environment of everything that is started there.
pub(crate) struct Home {
    folder: TempDir,
}

/// What a run left.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A run that goes on.
pub(crate) struct Running {
    pub(crate) child: Child,
    stdout: Option<JoinHandle<String>>,
    stderr: Option<JoinHandle<String>>,
}

impl Home {
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file and returns its path.
    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// A command that sees nothing of the person's own settings.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.path())
            .env("HOME", self.path())
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("APPDATA")
            .env_remove("TRUNKLINE_CONFIG")
            .env_remove("NO_COLOR")
            .env_remove("CLICOLOR_FORCE")
            .stdin(Stdio::null());
        for proxy in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"] {
            command.env_remove(proxy).env_remove(proxy.to_lowercase());
        }
        command
    }

    /// Serves a shipped server over HTTP on a free port, as `serve` does with these arguments.
    pub(crate) fn serve(&self, args: &[&str]) -> Served {
        let mut command = self.command(TRUNKLINE);
        command
            .arg("serve")
            .args(args)
            .args(["--http", "0"])
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let said = BufReader::new(child.stderr.take().unwrap())
            .lines()
            .next()
            .unwrap()
            .unwrap();
        let address = said
            .split("http://")
            .nth(1)
            .and_then(|rest| rest.split("/mcp").next())
            .unwrap();
        Served {
            address: address.to_owned(),
            child,
        }
    }

    /// Runs the command to its end.
    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        let mut command = self.command(TRUNKLINE);
        command.args(args);
        start(command).end()
    }

    /// Writes a configuration with these servers, the shipped weather server last, and runs the command with it.
    pub(crate) fn run_with(&self, servers: Value, args: &[&str]) -> Ran {
        let file = self.configure(servers);
        let mut all = vec!["--config", file.to_str().unwrap(), "--no-input"];
        all.extend(args);
        self.run(&all)
    }

    /// Writes a configuration with these servers and the shipped weather server.
    pub(crate) fn configure(&self, mut servers: Value) -> PathBuf {
        let weather = json!({ "command": TRUNKLINE, "args": ["serve", "weather"], "trunkline": { "trusted": true } });
        servers["weather"] = weather;
        self.file("servers.json", &json!({ "mcpServers": servers }).to_string())
    }

    /// Waits until nothing that was started here is alive any more.
    pub(crate) fn check_nothing_left(&self) {
        let until = Instant::now() + Duration::from_secs(5);
        loop {
            let left = self.processes();
            if left.is_empty() {
                return;
            }
            assert!(Instant::now() < until, "left behind: {left:?}");
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// The command lines of all processes with this home. Only Linux tells the environment of others.
    fn processes(&self) -> Vec<String> {
        let mark = format!("HOME={}", self.path().display());
        let Ok(folders) = std::fs::read_dir("/proc") else {
            return Vec::new();
        };
        let alive = folders.flatten().filter_map(|folder| {
            let environment = std::fs::read(folder.path().join("environ")).ok()?;
            let marked = environment
                .split(|byte| *byte == 0)
                .any(|variable| variable == mark.as_bytes());
            let line = std::fs::read(folder.path().join("cmdline")).ok()?;
            marked.then(|| String::from_utf8_lossy(&line).replace('\0', " "))
        });
        alive.collect()
    }
}

/// Starts a command with its output collected.
pub(crate) fn start(mut command: Command) -> Running {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let stdout = child.stdout.take().map(collect);
    let stderr = child.stderr.take().map(collect);
    Running { child, stdout, stderr }
}

fn collect(mut from: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = from.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// A shipped server on an address of its own, which ends with this value.
pub(crate) struct Served {
    /// Host and port.
    pub(crate) address: String,
    pub(crate) child: Child,
}

impl Served {
    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Running {
    /// Waits for the end, at most so long as one run may take.
    pub(crate) fn end(mut self) -> Ran {
        let until = Instant::now() + LIMIT;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if Instant::now() > until {
                let _ = self.child.kill();
                panic!("still running after {LIMIT:?}");
            }
            thread::sleep(Duration::from_millis(5));
        };
        let text = |reader: Option<JoinHandle<String>>| reader.map(|reader| reader.join().unwrap()).unwrap_or_default();
        Ran {
            status: status.code(),
            stdout: text(self.stdout.take()),
            stderr: text(self.stderr.take()),
        }
    }
}

impl Ran {
    /// The run as it must be where all is well; returns what it printed.
    #[track_caller]
    pub(crate) fn done(&self) -> &str {
        assert_eq!(self.status, Some(0), "{self:#?}");
        &self.stdout
    }

    /// Checks the status and that exactly one line is an error; returns that line.
    #[track_caller]
    pub(crate) fn one_error(&self, status: i32) -> &str {
        assert_eq!(self.status, Some(status), "{self:#?}");
        let errors: Vec<&str> = self.stderr.lines().filter(|line| line.starts_with("error:")).collect();
        assert_eq!(errors.len(), 1, "{self:#?}");
        errors[0]
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }
}

/// The same value without what differs from run to run: times and the version.
pub(crate) fn settled(value: Value) -> Value {
    match value {
        Value::Object(members) => Value::Object(
            members
                .into_iter()
                .map(|(name, value)| {
                    let value = if name.ends_with("_ms") {
                        json!("[ms]")
                    } else {
                        settled(value)
                    };
                    (name, value)
                })
                .collect(),
        ),
        Value::Array(items) => Value::Array(items.into_iter().map(settled).collect()),
        Value::String(text) => Value::String(settled_text(&text)),
        other => other,
    }
}

/// The same text without times and the version.
pub(crate) fn settled_text(text: &str) -> String {
    let text = text.replace(env!("CARGO_PKG_VERSION"), "[version]");
    let mut parts = text.split(" ms");
    let mut settled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = settled.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        settled.truncate(digits);
        settled.push_str("[n] ms");
        settled.push_str(part);
    }
    settled
}
