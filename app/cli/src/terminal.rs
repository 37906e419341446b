//! The terminal that a person sits at: where questions are shown and answers are typed.

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, Read, Write};
use std::sync::mpsc;

use tokio::sync::oneshot;

/// Longest line that is read, in bytes.
const MAX_LINE: u64 = 64 << 10;

/// Columns of a terminal that does not say how many it has.
const USUAL_COLUMNS: usize = 80;

type Reply = oneshot::Sender<Option<String>>;

/// A terminal. Lines are read by a thread of its own, because such a read cannot be given up: it waits there while the
/// rest of the program goes on or ends.
#[derive(Debug)]
pub(crate) struct Terminal {
    out: File,
    requests: mpsc::Sender<Reply>,
}

impl Terminal {
    /// The terminal of this process, if there is one and it is in the foreground there.
    pub(crate) fn open() -> Option<Self> {
        let (input, out) = open()?;
        let (requests, wanted) = mpsc::channel();
        std::thread::Builder::new()
            .name("terminal".to_owned())
            .spawn(move || read_lines(BufReader::new(input), &wanted))
            .ok()?;
        Some(Self { out, requests })
    }

    /// How many columns it has now.
    pub(crate) fn columns(&self) -> usize {
        columns(&self.out)
    }

    /// Writes a text, which must be fit to show.
    pub(crate) fn write(&self, text: &str) -> io::Result<()> {
        let mut out = &self.out;
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    /// Shows a prompt and reads the line that is typed after it; none at the end of input. What was typed before the
    /// prompt stood there is thrown away: nobody can agree to what they have not seen.
    pub(crate) async fn ask(&self, prompt: &str) -> Option<String> {
        discard_typed(&self.out);
        self.write(prompt).ok()?;
        let (reply, line) = oneshot::channel();
        self.requests.send(reply).ok()?;
        line.await.ok()?
    }
}

/// Reads one line for each request. A line that comes for a request that was given up goes to the next one.
fn read_lines(mut input: impl BufRead, wanted: &mpsc::Receiver<Reply>) {
    while let Ok(mut reply) = wanted.recv() {
        let mut line = Vec::new();
        let read = input.by_ref().take(MAX_LINE).read_until(b'\n', &mut line);
        let line = match read {
            Ok(count) if count > 0 => Some(String::from_utf8_lossy(&line).trim().to_owned()),
            _ => None,
        };
        let mut line = Some(line);
        while let Some(answer) = line.take() {
            if let Err(answer) = reply.send(answer) {
                match wanted.try_recv() {
                    Ok(next) => (reply, line) = (next, Some(answer)),
                    Err(_) => break,
                }
            } else {
                break;
            }
        }
    }
}

#[cfg(unix)]
fn open() -> Option<(File, File)> {
    let terminal = File::options().read(true).write(true).open("/dev/tty").ok()?;
    // A process in the background that reads from its terminal is stopped by the system.
    let foreground = rustix::termios::tcgetpgrp(&terminal).ok()? == rustix::process::getpgrp();
    if !terminal.is_terminal() || !foreground {
        return None;
    }
    Some((terminal.try_clone().ok()?, terminal))
}

/// The columns of a terminal; the usual number where it does not say.
#[cfg(unix)]
fn columns(of: impl std::os::fd::AsFd) -> usize {
    match rustix::termios::tcgetwinsize(of) {
        Ok(size) if size.ws_col > 0 => usize::from(size.ws_col),
        _ => USUAL_COLUMNS,
    }
}

#[cfg(not(unix))]
fn columns<T>(_: T) -> usize {
    USUAL_COLUMNS
}

/// The columns of the terminal that standard error is.
pub(crate) fn columns_of_stderr() -> usize {
    columns(io::stderr())
}

#[cfg(unix)]
fn discard_typed(terminal: &File) {
    // Where it cannot be done there is nothing to throw away.
    let _ = rustix::termios::tcflush(terminal, rustix::termios::QueueSelector::IFlush);
}

#[cfg(windows)]
fn open() -> Option<(File, File)> {
    let input = File::options().read(true).write(true).open("CONIN$").ok()?;
    let out = File::options().read(true).write(true).open("CONOUT$").ok()?;
    input.is_terminal().then_some((input, out))
}

#[cfg(not(any(unix, windows)))]
fn open() -> Option<(File, File)> {
    None
}

#[cfg(not(unix))]
fn discard_typed(_: &File) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_typed_after_a_question_was_given_up_answers_the_next_one() {
        let (requests, wanted) = mpsc::channel();
        let (given_up, gone) = oneshot::channel();
        let (next, mut line) = oneshot::channel();
        let (last, mut end) = oneshot::channel();
        drop(gone);
        for request in [given_up, next, last] {
            requests.send(request).unwrap();
        }
        drop(requests);
        read_lines("yes\r\n".as_bytes(), &wanted);
        assert_eq!(line.try_recv().unwrap().as_deref(), Some("yes"));
        assert_eq!(end.try_recv().unwrap(), None, "the end of input is no answer");
    }
}
