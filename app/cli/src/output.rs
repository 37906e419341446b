//! Everything that is printed is printed here: results on standard output, all else on standard error.

use std::io::{self, ErrorKind, IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anstyle::{AnsiColor, Style};
use serde::Serialize;
use trunkline_gate::text::{one_line, visible_json_text};
use trunkline_gate::{News, Watch};

const FAINT: Style = Style::new().dimmed();
const LABEL: Style = AnsiColor::Cyan.on_default();
const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default();

/// Width of the words in front of the steps.
const LABEL_WIDTH: usize = 9;

/// Where things are printed.
#[derive(Debug)]
pub(crate) struct Output {
    choice: anstream::ColorChoice,
    terminal: bool,
    live: Mutex<Live>,
}

#[derive(Debug, Default)]
struct Live {
    /// Whether a line about progress stands on the terminal.
    drawn: bool,
    /// A person is being asked: nothing is drawn.
    asking: bool,
    /// What was said already about servers that are waited for.
    said: Vec<String>,
    /// Standard output was closed by its reader, or cannot be written.
    stdout_failed: Option<io::Error>,
}

impl Output {
    pub(crate) fn new(no_color: bool) -> Self {
        Self {
            choice: if no_color {
                anstream::ColorChoice::Never
            } else {
                anstream::AutoStream::choice(&io::stderr())
            },
            terminal: io::stderr().is_terminal() && std::env::var_os("TERM").is_some_and(|term| term != "dumb"),
            live: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Prints a result, with a line end.
    pub(crate) fn result(&self, text: &str) {
        let mut live = self.lock();
        Self::erase(&mut live);
        if live.stdout_failed.is_some() {
            return;
        }
        let mut stdout = io::stdout().lock();
        let newline = if text.ends_with('\n') { "" } else { "\n" };
        let written = stdout
            .write_all(text.as_bytes())
            .and_then(|()| stdout.write_all(newline.as_bytes()))
            .and_then(|()| stdout.flush());
        if let Err(error) = written {
            live.stdout_failed = Some(error);
        }
    }

    /// Prints a result as JSON.
    pub(crate) fn json(&self, value: &impl Serialize) {
        match serde_json::to_string_pretty(value) {
            Ok(text) => self.result(&visible_json_text(&text)),
            Err(error) => self.error(&format!("the result cannot be written as JSON: {error}")),
        }
    }

    /// What kept a result from being printed. A reader that has read enough is none.
    pub(crate) fn stdout_failure(&self) -> Option<String> {
        let live = self.lock();
        let error = live.stdout_failed.as_ref()?;
        (error.kind() != ErrorKind::BrokenPipe).then(|| format!("standard output cannot be written: {error}"))
    }

    /// Prints one step.
    pub(crate) fn step(&self, label: &str, text: &str) {
        self.line(&format!("{LABEL}{label:<LABEL_WIDTH$}{LABEL:#} {text}"));
    }

    /// Prints a remark.
    pub(crate) fn note(&self, text: &str) {
        self.line(&format!("{FAINT}{:<LABEL_WIDTH$} {text}{FAINT:#}", "note"));
    }

    /// Prints a warning.
    pub(crate) fn warning(&self, text: &str) {
        self.line(&format!("{WARNING}warning:{WARNING:#} {text}"));
    }

    /// Prints an error: what, where, what to do.
    pub(crate) fn error(&self, text: &str) {
        self.line(&format!("{ERROR}error:{ERROR:#} {text}"));
    }

    fn line(&self, text: &str) {
        let mut live = self.lock();
        Self::erase(&mut live);
        // Where standard error cannot be written there is nobody to tell.
        let _ = writeln!(anstream::AutoStream::new(io::stderr().lock(), self.choice), "{text}");
    }

    fn erase(live: &mut Live) {
        if live.drawn {
            live.drawn = false;
            let _ = write!(io::stderr().lock(), "\r\x1b[K");
        }
    }

    /// Draws a line that the next one replaces, on terminals only.
    fn draw(&self, text: &str) {
        let mut live = self.lock();
        if !self.terminal || live.asking {
            return;
        }
        // A line that wraps could not be replaced.
        let text = one_line(text, 78);
        let mut stderr = anstream::AutoStream::new(io::stderr().lock(), self.choice);
        let _ = write!(io::stderr().lock(), "\r\x1b[K");
        let _ = write!(stderr, "{FAINT}{text}{FAINT:#}");
        let _ = stderr.flush();
        live.drawn = true;
    }

    /// Keeps progress off the terminal while a person is being asked.
    pub(crate) fn asking(&self, asking: bool) {
        let mut live = self.lock();
        Self::erase(&mut live);
        live.asking = asking;
    }

    /// Takes the line about progress away.
    pub(crate) fn clear(&self) {
        let mut live = self.lock();
        Self::erase(&mut live);
    }

    /// Prints a warning about a server, unless something was said about it already.
    pub(crate) fn tell_once(&self, server: &str, text: &str) {
        let about = format!("`{server}`");
        if !self.lock().said.iter().any(|said| said.contains(&about)) {
            self.warning(text);
        }
    }

    /// Says something about a server, once.
    fn once(&self, text: String, say: impl Fn(&Self, &str)) {
        {
            let mut live = self.lock();
            if live.said.contains(&text) {
                return;
            }
            live.said.push(text.clone());
        }
        say(self, &text);
    }
}

impl Watch for Output {
    fn news(&self, news: &News) {
        match news {
            News::Waiting {
                server,
                seconds,
                oddity,
            } => {
                match oddity {
                    Some(oddity) => self.once(format!("server `{server}` is not ready yet: {oddity}"), Self::warning),
                    None if !self.terminal => {
                        self.once(format!("server `{server}` is not ready yet; waiting"), Self::note);
                    }
                    None => {}
                }
                self.draw(&format!("waiting for {server} … {seconds} s"));
            }
            News::Running { server, tool, seconds } => self.draw(&format!("{server}/{tool} … {seconds} s")),
            News::Progress {
                server,
                tool,
                progress,
                total,
                message,
            } => {
                let share = total
                    .filter(|total| *total > 0.0)
                    .map(|total| format!(" {:.0}%", progress / total * 100.0));
                let share = share.unwrap_or_else(|| format!(" {progress}"));
                let message = message.as_deref().unwrap_or_default();
                self.draw(&format!("{server}/{tool}{share} {message}"));
            }
            News::Noise { server, text } => self.once(format!("server `{server}` sent {text}"), Self::warning),
            _ => {}
        }
    }
}

/// Prints for clap, which brings its own text and chooses its own stream.
pub(crate) fn print_clap(error: &clap::Error) {
    // Help that nobody reads any more is no fault.
    let _ = error.print();
}
