//! A child process as the far end of a connection.

use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, ReadBuf};
use tokio::time::{Sleep, sleep};

use crate::process::{Input, Output, Process};
use crate::stderr::Stderr;
use crate::{Command, Lines, Received, Tap, Transport, TransportError, TransportErrorKind};

/// How long the end of the connection is held back so that the exit status and the last words can be told.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// How long a killed process may take to disappear.
const KILL_WAIT: Duration = Duration::from_secs(2);
/// Lines of stderr in a diagnosis, and characters of each.
const DIAGNOSIS_LINES: usize = 5;
const DIAGNOSIS_CHARS: usize = 300;
/// Reads in one poll while what arrives is thrown away.
const DISCARD_READS: usize = 64;

/// A running program that is spoken to over its stdin and stdout. Made by [`Command::spawn`].
///
/// **stderr** is read all the time. The last 64 lines, 8 KiB of each, are kept for
/// [`diagnosis`](Transport::diagnosis).
///
/// **Its end.** The connection ends with the program that was started. What it wrote before is
/// still received, then [`Received::End`], even if a process it left behind holds the pipe.
///
/// **Shutdown.** [`poll_close`](Transport::poll_close) closes stdin and waits (2 s,
/// [`Command::close_wait`]), asks the whole process group to end with SIGTERM and waits (2 s,
/// [`Command::terminate_wait`]), then kills the group with SIGKILL. It is over as soon as the
/// program has ended and nobody holds its stdout and stderr. What arrives meanwhile is thrown away.
/// When the program ends by itself but others of its group hold its pipes, those get the
/// SIGTERM at once. In every case the group is killed at last, so nothing of it is left.
///
/// **Drop** kills the group at once. A process that left the group on purpose (`setsid`) is out of
/// reach. A program started here is not in the foreground group of the terminal, so Ctrl-C does not
/// reach it; when this process is killed, the program sees the end of its stdin.
///
/// Signals are sent only while the program has not been waited for: until then neither its number
/// nor that of its group can belong to anybody else.
///
/// **Elsewhere than on Unix** there are no groups: only the program itself is killed, without the
/// SIGTERM step, and its end is seen when its pipes close.
pub struct Child {
    lines: Lines<Output, Input>,
    process: Process,
    stderr: Stderr,
    name: String,
    waits: Waits,
    stage: Stage,
    /// The end of the present wait.
    timer: Option<Pin<Box<Sleep>>>,
    leader_ended: bool,
    /// The end was reported, with all that can be known about it.
    ended: bool,
}

/// How long each step of the shutdown may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waits {
    pub(crate) close: Duration,
    pub(crate) terminate: Duration,
}

impl Default for Waits {
    fn default() -> Self {
        Self {
            close: Duration::from_secs(2),
            terminate: Duration::from_secs(2),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Open,
    /// stdin is being closed, the program should end.
    Closing,
    /// The group was asked to end.
    Terminating,
    /// The group was killed.
    Killed,
    Done,
}

impl Child {
    pub(crate) fn spawn(command: &Command, prepared: std::process::Command) -> io::Result<Self> {
        let (process, pipes) = Process::spawn(prepared)?;
        Ok(Self {
            lines: Lines::with_limits(pipes.stdout, pipes.stdin, command.limits),
            process,
            stderr: Stderr::new(pipes.stderr, command.on_stderr.clone()),
            name: command.to_string(),
            waits: command.waits,
            stage: Stage::Open,
            timer: None,
            leader_ended: false,
            ended: false,
        })
    }

    /// The process id, which is the id of its group too.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// The last lines of stderr, oldest first, with control characters escaped.
    pub fn stderr_tail(&self) -> Vec<String> {
        self.stderr.tail()
    }

    /// Whether the program has ended. What it wrote is all there is, from then on.
    fn poll_leader_ended(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        ready!(self.process.poll_exit(cx));
        if !self.leader_ended {
            self.leader_ended = true;
            self.lines.reader_mut().leader_ended();
            self.stderr.leader_ended();
        }
        Poll::Ready(())
    }

    /// Whether the time of the present wait, which is `wait` from its first poll, is over.
    fn poll_timer(&mut self, wait: Duration, cx: &mut Context<'_>) -> Poll<()> {
        self.timer
            .get_or_insert_with(|| Box::pin(sleep(wait)))
            .as_mut()
            .poll(cx)
    }

    /// After the output has ended: waits a little for the exit status and the rest of stderr.
    fn poll_last_words(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let known = self.poll_leader_ended(cx).is_ready() && self.stderr.poll_caught_up(cx).is_ready();
        if !known {
            ready!(self.poll_timer(LAST_WORDS, cx));
        }
        self.timer = None;
        Poll::Ready(())
    }

    /// Ready when nobody holds the program's stdout and stderr any more. Throws away what comes.
    fn poll_released(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut scratch = [0; 8 * 1024];
        let output = self.lines.reader_mut();
        output.follow();
        for _ in 0..DISCARD_READS {
            let mut buffer = ReadBuf::new(&mut scratch);
            match ready!(Pin::new(&mut *output).poll_read(cx, &mut buffer)) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(()) if !buffer.filled().is_empty() => {}
                Ok(()) | Err(_) => return self.stderr.poll_finished(cx),
            }
        }
        // Others get their turn before a peer that never stops.
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn enter(&mut self, stage: Stage) {
        match stage {
            Stage::Terminating => self.process.terminate(),
            Stage::Killed => self.process.kill(),
            Stage::Open | Stage::Closing | Stage::Done => {}
        }
        self.stage = stage;
        self.timer = None;
    }

    /// Kills what is left of the group and waits for the program.
    fn finish(&mut self) {
        if self.stage != Stage::Killed {
            self.process.kill();
        }
        self.process.reap();
        self.stage = Stage::Done;
        self.timer = None;
    }
}

impl Transport for Child {
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Result<Received, TransportError>> {
        if self.ended || self.stage != Stage::Open {
            return Poll::Ready(Ok(Received::End));
        }
        loop {
            match self.lines.poll_receive(cx) {
                Poll::Ready(Ok(Received::End)) => break,
                Poll::Pending if !self.leader_ended => ready!(self.poll_leader_ended(cx)),
                received => return received,
            }
        }
        ready!(self.poll_last_words(cx));
        self.ended = true;
        Poll::Ready(Ok(Received::End))
    }

    fn send(&mut self, message: Vec<u8>) {
        if self.stage == Stage::Open {
            self.lines.send(message);
        }
    }

    fn queued(&self) -> usize {
        self.lines.queued()
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), TransportError>> {
        self.lines.poll_flush(cx)
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), TransportError>> {
        loop {
            let next = match self.stage {
                Stage::Open => Stage::Closing,
                Stage::Done => return Poll::Ready(Ok(())),
                Stage::Killed => {
                    if self.poll_leader_ended(cx).is_pending() {
                        ready!(self.poll_timer(KILL_WAIT, cx));
                        self.finish();
                        let message = format!("{} (process {}) cannot be killed", self.name, self.process.id());
                        return Poll::Ready(Err(TransportError::new(TransportErrorKind::Io, message)));
                    }
                    self.finish();
                    continue;
                }
                Stage::Closing | Stage::Terminating => {
                    let (wait, after) = match self.stage {
                        Stage::Closing => (self.waits.close, Stage::Terminating),
                        _ => (self.waits.terminate, Stage::Killed),
                    };
                    if self.poll_timer(wait, cx).is_ready() {
                        after
                    } else {
                        // A program that was asked to end has ended all the same when its input could not be written.
                        let _ = self.lines.poll_close(cx);
                        let released = self.poll_released(cx).is_ready();
                        ready!(self.poll_leader_ended(cx));
                        if released {
                            self.finish();
                            continue;
                        }
                        if self.stage == Stage::Terminating {
                            return Poll::Pending;
                        }
                        Stage::Terminating
                    }
                }
            };
            self.enter(next);
        }
    }

    fn diagnosis(&self) -> Option<String> {
        let mut text = match self.process.exit() {
            Some(exit) => exit.to_string(),
            None if self.ended => "closed its output but still runs".to_owned(),
            None => "still runs".to_owned(),
        };
        let tail = self.stderr.tail();
        if !tail.is_empty() {
            let last: Vec<String> = tail[tail.len().saturating_sub(DIAGNOSIS_LINES)..]
                .iter()
                .map(|line| line.chars().take(DIAGNOSIS_CHARS).collect())
                .collect();
            text.push_str("; last lines of stderr: ");
            text.push_str(&last.join(" | "));
        }
        Some(text)
    }

    fn tap_stderr(&mut self, tap: &Arc<dyn Tap>) {
        self.stderr.tap(tap);
    }
}

impl fmt::Debug for Child {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Child")
            .field("name", &self.name)
            .field("id", &self.process.id())
            .field("exit", &self.process.exit())
            .field("stage", &self.stage)
            .field("lines", &self.lines)
            .finish_non_exhaustive()
    }
}
