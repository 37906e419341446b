//! The server that the suite is run against, as a child process.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// How long it may take to listen.
const START_LIMIT: Duration = Duration::from_secs(20);
/// How long it may take to end once its stdin is closed.
const END_LIMIT: Duration = Duration::from_secs(10);
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// A running server. It is gone when this is, whatever happens.
#[derive(Debug)]
pub(super) struct Fixture {
    child: Child,
    url: String,
}

impl Fixture {
    /// Starts it and waits for its first line, which is its address.
    pub(super) fn start(mut command: Command) -> Result<Self, String> {
        let shown = command.get_program().to_string_lossy().into_owned();
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{shown} could not be started: {error}"))?;
        let stdout = child.stdout.take();
        let mut fixture = Self {
            child,
            url: String::new(),
        };
        let (first_line, listening) = mpsc::channel();
        thread::spawn(move || {
            let mut line = String::new();
            let read = stdout.map(|stdout| BufReader::new(stdout).read_line(&mut line));
            let _ = first_line.send(read.map(|_| line));
        });
        let line = listening.recv_timeout(START_LIMIT).ok().flatten().unwrap_or_default();
        if !line.starts_with("http://") {
            return Err(format!("{shown} did not tell where it listens; it wrote {line:?}"));
        }
        line.trim_end().clone_into(&mut fixture.url);
        Ok(fixture)
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Closes its stdin and sees that it ends in order.
    pub(super) fn end(mut self) -> Result<(), String> {
        drop(self.child.stdin.take());
        let start = Instant::now();
        while start.elapsed() < END_LIMIT {
            match self.child.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(()),
                Ok(Some(status)) => return Err(format!("the server ended with {status}")),
                Ok(None) => thread::sleep(LOOK_AGAIN),
                Err(error) => return Err(format!("the end of the server could not be awaited: {error}")),
            }
        }
        let limit = END_LIMIT.as_secs();
        Err(format!(
            "the server still ran {limit} s after its stdin was closed; it was killed"
        ))
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        // Both fail only if it is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that does what the script says.
    fn scripted(script: &str) -> Result<Fixture, String> {
        let mut shell = Command::new("sh");
        shell.args(["-c", script]);
        Fixture::start(shell)
    }

    #[test]
    fn a_server_tells_its_address_and_ends_with_its_stdin() {
        let fixture = scripted("echo http://127.0.0.1:1/mcp; cat > /dev/null").expect("it tells its address");
        assert_eq!(fixture.url(), "http://127.0.0.1:1/mcp");
        assert_eq!(fixture.end(), Ok(()));
    }

    #[test]
    fn a_server_without_an_address_or_with_a_bad_end_is_told() {
        assert!(scripted("echo hello").is_err_and(|why| why.contains("hello")));
        let fixture = scripted("echo http://127.0.0.1:1/mcp; cat > /dev/null; exit 3").expect("it tells its address");
        assert!(fixture.end().is_err_and(|why| why.contains('3')));
    }
}
