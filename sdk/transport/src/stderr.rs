//! Keeps a child's stderr flowing and remembers the end of it.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use memchr::memchr;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::Tap;
use crate::command::StderrListener;
use crate::process::Output;

/// Lines kept.
pub(crate) const KEPT_LINES: usize = 64;
/// Bytes kept of one line; the rest is counted.
pub(crate) const KEPT_BYTES: usize = 8 * 1024;
/// Bytes asked for in one read.
const READ: usize = 8 * 1024;

/// The reading of one child's stderr, done by a task of its own: a child whose stderr is full stands
/// still, whatever the connection is doing.
pub(crate) struct Stderr {
    heard: Arc<Mutex<Heard>>,
    task: JoinHandle<()>,
    finished: bool,
    leader_ended: Option<oneshot::Sender<()>>,
    caught_up: Option<oneshot::Receiver<()>>,
}

/// What was read, and who wants to hear it.
#[derive(Default)]
struct Heard {
    tail: VecDeque<Line>,
    listeners: Vec<StderrListener>,
}

#[derive(Clone)]
struct Line {
    kept: Vec<u8>,
    cut: usize,
}

impl Stderr {
    pub(crate) fn new(output: Output, listener: Option<StderrListener>) -> Self {
        let heard = Arc::new(Mutex::new(Heard {
            tail: VecDeque::new(),
            listeners: Vec::from_iter(listener),
        }));
        let (leader_ended, ended) = oneshot::channel();
        let (caught_up_sender, caught_up) = oneshot::channel();
        let task = tokio::spawn(drain(output, Arc::clone(&heard), ended, caught_up_sender));
        Self {
            heard,
            task,
            finished: false,
            leader_ended: Some(leader_ended),
            caught_up: Some(caught_up),
        }
    }

    /// Lets `tap` hear every line, those that are still remembered first.
    pub(crate) fn tap(&self, tap: &Arc<dyn Tap>) {
        let mut heard = lock(&self.heard);
        for line in &heard.tail {
            tap.stderr(&line.kept);
        }
        let tap = Arc::clone(tap);
        heard.listeners.push(Arc::new(move |line| tap.stderr(line)));
    }

    /// The child has ended: what it wrote is in the pipe.
    pub(crate) fn leader_ended(&mut self) {
        if let Some(sender) = self.leader_ended.take() {
            // It fails when the stream has ended already, and then there is nothing to catch up with.
            let _ = sender.send(());
        }
    }

    /// Ready when everything that the ended child wrote has been read.
    pub(crate) fn poll_caught_up(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(caught_up) = &mut self.caught_up {
            // An error says that the reading has ended, so all of it was read.
            let _ = ready!(Pin::new(caught_up).poll(cx));
            self.caught_up = None;
        }
        Poll::Ready(())
    }

    /// Ready when nobody holds the other end any more.
    pub(crate) fn poll_finished(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if !self.finished {
            let _ = ready!(Pin::new(&mut self.task).poll(cx));
            self.finished = true;
        }
        Poll::Ready(())
    }

    /// The last lines, oldest first, fit to be shown: without control characters.
    pub(crate) fn tail(&self) -> Vec<String> {
        lock(&self.heard).tail.iter().map(Line::shown).collect()
    }
}

/// A process that escaped from its group may hold the pipe for ever. It does not hold the task.
impl Drop for Stderr {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A listener that panicked leaves nothing half done here.
fn lock(heard: &Mutex<Heard>) -> MutexGuard<'_, Heard> {
    heard.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn drain(
    mut output: Output,
    heard: Arc<Mutex<Heard>>,
    mut ended: oneshot::Receiver<()>,
    caught_up: oneshot::Sender<()>,
) {
    let mut lines = Lines::default();
    let mut caught_up = Some(caught_up);
    let mut buffer = [0; READ];
    loop {
        let step = poll_fn(|cx| {
            if caught_up.is_some() && Pin::new(&mut ended).poll(cx).is_ready() {
                return Poll::Ready(None);
            }
            pin!(output.read(&mut buffer)).poll(cx).map(Some)
        });
        match step.await {
            None => {
                output.leader_ended();
                read_rest(&mut output, &mut buffer, &mut lines, &heard).await;
                output.follow();
                // Its descendants may write on; the shutdown of the group waits for them elsewhere.
                if let Some(caught_up) = caught_up.take() {
                    let _ = caught_up.send(());
                }
            }
            Some(Ok(0)) => break,
            Some(Ok(count)) => lines.push(&buffer[..count], |line| hear(&heard, &line)),
            Some(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
            Some(Err(_)) => break,
        }
    }
    lines.finish(|line| hear(&heard, &line));
}

async fn read_rest(output: &mut (impl AsyncRead + Unpin), buffer: &mut [u8], lines: &mut Lines, heard: &Mutex<Heard>) {
    while let Ok(count @ 1..) = output.read(buffer).await {
        lines.push(&buffer[..count], |line| hear(heard, &line));
    }
    lines.finish(|line| hear(heard, &line));
}

fn hear(heard: &Mutex<Heard>, line: &Line) {
    let listeners = {
        let mut heard = lock(heard);
        if !line.kept.trim_ascii().is_empty() {
            if heard.tail.len() == KEPT_LINES {
                heard.tail.pop_front();
            }
            heard.tail.push_back(line.clone());
        }
        heard.listeners.clone()
    };
    for listener in listeners {
        // A listener that panics must not stop the reading, which would stop the child.
        let _ = catch_unwind(AssertUnwindSafe(|| listener(&line.kept)));
    }
}

/// Cuts bytes into lines of bounded length.
#[derive(Default)]
struct Lines {
    kept: Vec<u8>,
    cut: usize,
}

impl Lines {
    fn push(&mut self, mut bytes: &[u8], mut each: impl FnMut(Line)) {
        while let Some(end) = memchr(b'\n', bytes) {
            self.extend(&bytes[..end]);
            each(self.take());
            bytes = &bytes[end + 1..];
        }
        self.extend(bytes);
    }

    fn finish(&mut self, each: impl FnOnce(Line)) {
        if !self.kept.is_empty() {
            each(self.take());
        }
    }

    fn extend(&mut self, bytes: &[u8]) {
        let room = (KEPT_BYTES - self.kept.len()).min(bytes.len());
        self.kept.extend_from_slice(&bytes[..room]);
        self.cut += bytes.len() - room;
    }

    fn take(&mut self) -> Line {
        let mut line = Line {
            kept: std::mem::take(&mut self.kept),
            cut: std::mem::take(&mut self.cut),
        };
        if line.cut == 0 && line.kept.ends_with(b"\r") {
            line.kept.pop();
        }
        line
    }
}

impl Line {
    fn shown(&self) -> String {
        let kept = printable(&self.kept);
        if self.cut == 0 {
            kept
        } else {
            format!("{kept}… ({} bytes cut)", self.cut)
        }
    }
}

/// Text that cannot steer a terminal or turn the direction of what stands around it.
fn printable(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for c in String::from_utf8_lossy(bytes).chars() {
        match c {
            '\t' => text.push(' '),
            '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                text.extend(c.escape_unicode());
            }
            c if c.is_control() => text.extend(c.escape_unicode()),
            c => text.push(c),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(pieces: &[&[u8]]) -> Vec<String> {
        let mut cut = Lines::default();
        let mut found = Vec::new();
        for piece in pieces {
            cut.push(piece, |line| found.push(line.shown()));
        }
        cut.finish(|line| found.push(line.shown()));
        found
    }

    #[test]
    fn lines_are_put_together_from_pieces() {
        assert_eq!(lines(&[b"on", b"e\r\ntwo\n\nth", b"ree"]), ["one", "two", "", "three"]);
    }

    #[test]
    fn a_long_line_is_cut_and_counted() {
        let exact = vec![b'x'; KEPT_BYTES];
        assert_eq!(lines(&[&exact, b"\n"]), ["x".repeat(KEPT_BYTES)]);
        assert_eq!(
            lines(&[&exact, b"yy\nnext\n"]),
            [format!("{}… (2 bytes cut)", "x".repeat(KEPT_BYTES)), "next".into()]
        );
    }

    #[test]
    fn what_is_shown_cannot_steer_the_terminal() {
        assert_eq!(printable(b"\x1b[2J\ta\x07"), "\\u{1b}[2J a\\u{7}");
        assert_eq!(printable("오류: \u{202e}txt.exe".as_bytes()), "오류: \\u{202e}txt.exe");
        assert_eq!(printable(b"\xff\"quoted\""), "\u{fffd}\"quoted\"");
    }

    #[test]
    fn only_the_last_lines_are_kept_and_a_panicking_listener_changes_nothing() {
        let heard = Mutex::new(Heard::default());
        lock(&heard)
            .listeners
            .push(Arc::new(|line| assert_ne!(line, b"5", "a test panic")));
        for n in 0..=KEPT_LINES {
            hear(
                &heard,
                &Line {
                    kept: n.to_string().into_bytes(),
                    cut: 0,
                },
            );
        }
        hear(
            &heard,
            &Line {
                kept: b"  ".to_vec(),
                cut: 0,
            },
        );
        let tail: Vec<String> = lock(&heard).tail.iter().map(Line::shown).collect();
        let expected: Vec<String> = (1..=KEPT_LINES).map(|n| n.to_string()).collect();
        assert_eq!(tail, expected);
    }
}
