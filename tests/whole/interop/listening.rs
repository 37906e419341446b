//! A server that listens on a port of this machine, as a process of its own.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Node and Python take their time to start, and to answer, on a loaded machine.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// The process is gone when this is, whatever becomes of the test.
pub(super) struct Listening {
    child: Child,
    /// What it says on stdout and stderr, line by line, after the line that told where it listens.
    said: Receiver<String>,
    /// `http://127.0.0.1:PORT`, without a path.
    origin: String,
}

impl Listening {
    /// Starts the command and waits until it says an address of this machine, one that no server had before it: a client
    /// remembers which servers are legacy by their address, and the system gives a port again once its server is gone.
    pub(super) fn start(mut command: Command) -> Self {
        static USED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
        let mut refused = Vec::new();
        loop {
            let listening = Self::begin(&mut command);
            let mut used = USED.lock().unwrap_or_else(PoisonError::into_inner);
            if used.insert(listening.origin.clone()) {
                return listening;
            }
            // It keeps its port until another one has come.
            refused.push(listening);
        }
    }

    fn begin(command: &mut Command) -> Self {
        // Some servers end with their stdin, so that none outlives a test that was killed.
        let piped = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = piped.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let (say, said) = channel();
        pass_on(child.stdout.take().expect("a pipe"), say.clone());
        pass_on(child.stderr.take().expect("a pipe"), say);
        let mut listening = Self {
            child,
            said,
            origin: String::new(),
        };
        let mut before = Vec::new();
        while listening.origin.is_empty() {
            let line = listening.said.recv_timeout(PATIENCE);
            let line = line.unwrap_or_else(|error| panic!("{command:?} names no address ({error}): {before:#?}"));
            listening.origin = origin(&line).unwrap_or_default();
            before.push(line);
        }
        listening
    }

    /// The address of a path, such as `/mcp`.
    pub(super) fn at(&self, path: &str) -> String {
        format!("{}{path}", self.origin)
    }

    /// Asks the process to end, waits until it did, and returns how it ended and what it said meanwhile.
    pub(super) fn end(mut self) -> (ExitStatus, Vec<String>) {
        let asked = Command::new("kill").arg(self.child.id().to_string()).status();
        assert!(asked.expect("kill is there").success());
        let mut said = Vec::new();
        loop {
            match self.said.recv_timeout(PATIENCE) {
                Ok(line) => said.push(line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("it does not end: {said:#?}"),
            }
        }
        (self.child.wait().expect("it was started here"), said)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads a pipe until it ends, since nobody else does and it must never be full.
fn pass_on(pipe: impl Read + Send + 'static, to: Sender<String>) {
    let lines = BufReader::new(pipe).lines().map_while(Result::ok);
    // A test that is over hears nothing more.
    std::thread::spawn(move || lines.for_each(|line| to.send(line).unwrap_or_default()));
}

/// The address that a line names, without its path.
fn origin(line: &str) -> Option<String> {
    let (_, rest) = line.split_once("http://127.0.0.1:")?;
    let port: String = rest.chars().take_while(char::is_ascii_digit).collect();
    (!port.is_empty()).then(|| format!("http://127.0.0.1:{port}"))
}

#[test]
fn an_address_is_found_in_what_a_server_says() {
    let said = "note      serving http://127.0.0.1:40123/mcp; ctrl-c ends it";
    assert_eq!(origin(said).as_deref(), Some("http://127.0.0.1:40123"));
    assert_eq!(origin("serving http://127.0.0.1:"), None);
    assert_eq!(origin("starting"), None);
}
