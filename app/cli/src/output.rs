//! Everything that is printed is printed here: results on standard output, all else on standard error.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use anstyle::{AnsiColor, Style};
use serde::Serialize;
use serde_json::Value;
use trunkline_gate::text::{one_line, visible_json_text};
use trunkline_gate::{News, Watch};
use trunkline_journal::Mask;

use crate::quote::{cut, folded};
use crate::terminal::columns_of_stderr;

const FAINT: Style = Style::new().dimmed();
const LABEL: Style = AnsiColor::Cyan.on_default();
const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default();

/// Width of the words in front of the steps.
const LABEL_WIDTH: usize = 9;

/// Most lines about one server that nobody asked for; further ones are counted.
const MAX_NOISE: usize = 3;

/// Most characters of such a line.
const MAX_NOISE_TEXT: usize = 500;

/// Most lines that wait for the end of a question; further ones are counted.
const MAX_HELD: usize = 500;

/// Where things are printed.
#[derive(Debug)]
pub(crate) struct Output {
    choice: anstream::ColorChoice,
    terminal: bool,
    mask: OnceLock<Mask>,
    live: Mutex<Live>,
}

#[derive(Debug, Default)]
struct Live {
    /// Whether a line about progress stands on the terminal.
    drawn: bool,
    /// A person is being asked: nothing is drawn or printed.
    asking: bool,
    /// Lines that wait for the end of a question.
    held: Vec<String>,
    /// Lines that found no room among them.
    left_out: u64,
    /// What was said about each server that nobody asked for, by its id.
    said: BTreeMap<String, Said>,
    /// Standard output was closed by its reader, or cannot be written.
    stdout_failed: Option<io::Error>,
}

/// What a server made us say.
#[derive(Debug, Default)]
struct Said {
    /// At most [`MAX_NOISE`] lines.
    lines: Vec<String>,
    /// How many more there were.
    more: u64,
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
            mask: OnceLock::new(),
            live: Mutex::default(),
        }
    }

    /// Keeps these values, and what looks like a secret, out of messages from here on.
    pub(crate) fn hide<'a>(&self, secrets: impl IntoIterator<Item = &'a String>) {
        let mut mask = Mask::default();
        for secret in secrets {
            mask.add(secret);
        }
        // There is one configuration in a run, so it is set once.
        let _ = self.mask.set(mask);
    }

    fn masked<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.mask.get().map_or_else(|| text.into(), |mask| mask.text(text).0)
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

    /// Prints a result as JSON. Messages in it hold no secrets; what a server answered stays as it is.
    pub(crate) fn json(&self, value: &impl Serialize) {
        let text = serde_json::to_value(value).and_then(|mut value| {
            self.mask_messages(&mut value, false);
            serde_json::to_string_pretty(&value)
        });
        match text {
            Ok(text) => self.result(&visible_json_text(&text)),
            Err(error) => self.error(&format!("the result cannot be written as JSON: {error}")),
        }
    }

    /// Masks what this program says in a value, by the names of its members.
    fn mask_messages(&self, value: &mut Value, message: bool) {
        match value {
            Value::String(text) if message => *text = self.masked(text).into_owned(),
            Value::Array(items) => items.iter_mut().for_each(|item| self.mask_messages(item, message)),
            Value::Object(members) => {
                let answered = members.get("kind").is_some_and(|kind| kind == "answered");
                if !answered {
                    for (name, value) in members {
                        match name.as_str() {
                            "definition" | "arguments" | "contents" | "messages" | "items" => {}
                            "error" | "warnings" | "why" | "reason" | "problem" | "text" => {
                                self.mask_messages(value, true);
                            }
                            _ => self.mask_messages(value, false),
                        }
                    }
                }
            }
            _ => {}
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
        let text = self.fit(text);
        self.line(format!("{LABEL}{label:<LABEL_WIDTH$}{LABEL:#} {text}"));
    }

    /// Prints a remark.
    pub(crate) fn note(&self, text: &str) {
        let text = self.fit(text);
        self.line(format!("{FAINT}{:<LABEL_WIDTH$} {text}{FAINT:#}", "note"));
    }

    /// Prints a warning.
    pub(crate) fn warning(&self, text: &str) {
        let text = self.fit(text);
        self.line(format!("{WARNING}warning:{WARNING:#} {text}"));
    }

    /// Prints an error: what, where, what to do.
    pub(crate) fn error(&self, text: &str) {
        let text = self.fit(text);
        self.line(format!("{ERROR}error:{ERROR:#} {text}"));
    }

    /// A message as it may stand on the terminal: without secrets, and without lines that pass for others.
    fn fit(&self, text: &str) -> String {
        folded(&self.masked(text))
    }

    fn line(&self, text: String) {
        let mut live = self.lock();
        if !live.asking {
            self.print(&mut live, &text);
        } else if live.held.len() < MAX_HELD {
            live.held.push(text);
        } else {
            live.left_out += 1;
        }
    }

    fn print(&self, live: &mut Live, text: &str) {
        Self::erase(live);
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
        let text = one_line(&self.masked(text), 200);
        let text = cut(&text, columns_of_stderr().saturating_sub(2));
        let mut stderr = anstream::AutoStream::new(io::stderr().lock(), self.choice);
        let _ = write!(io::stderr().lock(), "\r\x1b[K");
        let _ = write!(stderr, "{FAINT}{text}{FAINT:#}");
        let _ = stderr.flush();
        live.drawn = true;
    }

    /// Keeps everything off the terminal while a person is being asked; it is printed afterwards.
    pub(crate) fn asking(&self, asking: bool) {
        let mut live = self.lock();
        Self::erase(&mut live);
        live.asking = asking;
        if asking {
            return;
        }
        for line in std::mem::take(&mut live.held) {
            self.print(&mut live, &line);
        }
        let left_out = std::mem::take(&mut live.left_out);
        drop(live);
        if left_out > 0 {
            self.note(&format!(
                "{left_out} more messages came while you were asked; they are left out"
            ));
        }
    }

    /// Takes the line about progress away, and tells how much was not told.
    pub(crate) fn finish(&self) {
        self.clear();
        let said = std::mem::take(&mut self.lock().said);
        for (server, said) in said.iter().filter(|(_, said)| said.more > 0) {
            let server = one_line(server, 100);
            self.warning(&format!("server `{server}` sent {} more such messages", said.more));
        }
    }

    /// Takes the line about progress away.
    pub(crate) fn clear(&self) {
        let mut live = self.lock();
        Self::erase(&mut live);
    }

    /// Prints a warning about the server `id`, unless something was said about it already.
    pub(crate) fn tell_once(&self, id: &str, text: &str) {
        let told = self.lock().said.get(id).is_some_and(|said| !said.lines.is_empty());
        if !told {
            self.warning(text);
        }
    }

    /// Says something about a server that it gave rise to: once, and not without end.
    pub(crate) fn once(&self, id: &str, text: &str, say: impl Fn(&Self, &str)) {
        let text = one_line(text, MAX_NOISE_TEXT);
        {
            let mut live = self.lock();
            let said = live.said.entry(id.to_owned()).or_default();
            if said.lines.contains(&text) {
                return;
            }
            if said.lines.len() >= MAX_NOISE {
                said.more += 1;
                return;
            }
            said.lines.push(text.clone());
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
                    Some(oddity) => {
                        let text = format!("server `{server}` is not ready yet: {oddity}");
                        self.once(server, &text, Self::warning);
                    }
                    None if !self.terminal => {
                        self.once(
                            server,
                            &format!("server `{server}` is not ready yet; waiting"),
                            Self::note,
                        );
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
            News::Noise { server, text } => {
                self.once(server, &format!("server `{server}` sent {text}"), Self::warning);
            }
            _ => {}
        }
    }
}

/// Prints for clap, which brings its own text and chooses its own stream.
pub(crate) fn print_clap(error: &clap::Error) {
    // Help that nobody reads any more is no fault.
    let _ = error.print();
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn noise(output: &Output, server: &str, number: usize) {
        output.news(&News::Noise {
            server: server.to_owned(),
            text: format!("rubbish {number}"),
        });
    }

    #[test]
    fn nothing_is_printed_over_a_question_and_all_of_it_afterwards() {
        let output = Output::new(true);
        output.asking(true);
        for number in 0..3 {
            noise(&output, "a", number);
        }
        output.error("an error");
        assert_eq!(output.lock().held.len(), 4);
        output.asking(false);
        assert!(output.lock().held.is_empty());
        output.asking(true);
        for number in 0..=MAX_HELD {
            output.note(&number.to_string());
        }
        let live = output.lock();
        assert_eq!((live.held.len(), live.left_out), (MAX_HELD, 1));
    }

    #[test]
    fn a_noisy_server_is_told_about_three_times_and_then_counted() {
        let output = Output::new(true);
        output.asking(true);
        for number in 0..1000 {
            noise(&output, "a", number);
        }
        noise(&output, "b", 0);
        assert_eq!(output.lock().held.len(), MAX_NOISE + 1);
        let live = output.lock();
        assert_eq!((live.said["a"].lines.len(), live.said["a"].more), (MAX_NOISE, 997));
    }

    #[test]
    fn what_was_said_of_one_server_says_nothing_of_another() {
        let output = Output::new(true);
        output.asking(true);
        output.news(&News::Noise {
            server: "a".to_owned(),
            text: "words about `b`".to_owned(),
        });
        output.tell_once("b", "server `b`: odd");
        output.tell_once("a", "server `a`: odd");
        let held = output.lock().held.join("\n");
        assert!(held.contains("`b`: odd") && !held.contains("`a`: odd"), "{held}");
    }

    #[test]
    fn messages_hold_no_secrets_and_results_stay_as_they_are() {
        let output = Output::new(true);
        output.hide(&["open-sesame".to_owned()]);
        assert_eq!(output.fit("it said open-sesame"), "it said [masked 9-16]");
        let mut value = json!({
            "servers": [{ "id": "a", "error": "open-sesame", "warnings": ["open-sesame"] }],
            "steps": [{ "kind": "result", "text": "open-sesame" }],
            "outcome": { "kind": "failed", "why": "open-sesame" },
            "calls": [{ "arguments": { "why": "open-sesame" },
                "outcome": { "kind": "answered", "text": "open-sesame", "structured": { "error": "open-sesame" } } }],
        });
        output.mask_messages(&mut value, false);
        let shown = value.to_string();
        assert_eq!(shown.matches("[masked").count(), 4, "{shown}");
        assert_eq!(value["calls"][0]["outcome"]["text"], "open-sesame");
        assert_eq!(value["calls"][0]["arguments"]["why"], "open-sesame");
    }
}
