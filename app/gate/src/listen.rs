//! What a server says while nothing can be said of it yet: lines that are no messages, answers nobody asked for.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Deserialize;
use serde_json::value::RawValue;
use trunkline_client::Tap;
use trunkline_journal::{Direction, Journal};

use crate::text::one_line;

/// Most ids of requests that are remembered; a connection that begins sends two or three.
const MAX_IDS: usize = 16;

/// Most characters of a line that are shown.
const SHOWN: usize = 80;

/// Listens to a connection while it begins, and passes everything on to the journal.
pub(crate) struct Listener {
    recording: Option<Recording>,
    heard: Mutex<Heard>,
}

/// One connection's part of the journal.
struct Recording {
    journal: Journal,
    connection: String,
    tap: Arc<dyn Tap>,
}

#[derive(Default)]
struct Heard {
    /// Connected: nothing more is looked at.
    done: bool,
    sent: BTreeSet<String>,
    /// Whether the handshake has begun, after a probe or without one.
    handshake: bool,
    noise: Option<String>,
    stray: Option<String>,
    stray_in_handshake: bool,
}

/// As much of a message as is needed here.
#[derive(Deserialize)]
struct Outline<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    method: Option<&'a str>,
}

impl Listener {
    /// Listens to the connection with this name.
    pub(crate) fn new(connection: &str, journal: Option<&Journal>) -> Self {
        let recording = journal.map(|journal| Recording {
            journal: journal.clone(),
            connection: connection.to_owned(),
            tap: journal.tap(connection),
        });
        Self {
            recording,
            heard: Mutex::default(),
        }
    }

    /// What is odd about the server so far, in words.
    pub(crate) fn oddity(&self) -> Option<String> {
        let heard = self.lock();
        if let Some(stray) = &heard.stray {
            return Some(format!("it answers with an id that no request has: {stray}"));
        }
        let noise = heard.noise.as_ref()?;
        Some(format!("it sends texts that are no MCP messages: {noise}"))
    }

    /// Whether it answered the handshake with an id that no request has: the right answer will not come.
    pub(crate) fn is_astray(&self) -> bool {
        self.lock().stray_in_handshake
    }

    /// The connection stands: from here on its client keeps count.
    pub(crate) fn connected(&self) {
        self.lock().done = true;
    }

    fn lock(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hear(&self, direction: Direction, message: &[u8]) {
        let mut heard = self.lock();
        if heard.done {
            return;
        }
        let Ok(outline) = serde_json::from_slice::<Outline<'_>>(message) else {
            if direction == Direction::Received && heard.noise.is_none() {
                heard.noise = Some(shown(message));
            }
            return;
        };
        let id = outline.id.map(|id| id.get().to_owned());
        match (direction, id, outline.method) {
            (Direction::Sent, Some(id), Some(method)) if heard.sent.len() < MAX_IDS => {
                heard.handshake |= method == "initialize";
                heard.sent.insert(id);
            }
            (Direction::Received, Some(id), None) if id != "null" && !heard.sent.contains(&id) => {
                heard.stray_in_handshake |= heard.handshake;
                heard.stray = Some(one_line(&id, SHOWN));
            }
            _ => {}
        }
    }
}

/// Messages are objects, or in one revision lists of them. Whether it really is one is for the client to say.
fn looks_like_a_message(line: &[u8]) -> bool {
    matches!(line.trim_ascii_start().first(), Some(b'{' | b'['))
}

fn shown(line: &[u8]) -> String {
    let line = &line[..line.len().min(8 * SHOWN)];
    format!("\"{}\"", one_line(&String::from_utf8_lossy(line), SHOWN))
}

impl Tap for Listener {
    fn message(&self, direction: Direction, message: &[u8]) {
        if let Some(recording) = &self.recording {
            if direction == Direction::Received && !looks_like_a_message(message) {
                recording.journal.noise(&recording.connection, message);
            } else {
                recording.tap.message(direction, message);
            }
        }
        self.hear(direction, message);
    }

    fn stderr(&self, line: &[u8]) {
        if let Some(recording) = &self.recording {
            recording.tap.stderr(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listener(lines: &[(Direction, &str)]) -> Listener {
        let listener = Listener::new("s", None);
        for (direction, line) in lines {
            listener.message(*direction, line.as_bytes());
        }
        listener
    }

    const PROBE: (Direction, &str) = (
        Direction::Sent,
        r#"{"jsonrpc":"2.0","id":1,"method":"server/discover"}"#,
    );
    const HELLO: (Direction, &str) = (Direction::Sent, r#"{"jsonrpc":"2.0","id":2,"method":"initialize"}"#);

    #[test]
    fn an_orderly_beginning_is_nothing_to_speak_of() {
        let refused = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}"#;
        let without_id = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}"#;
        let asks = r#"{"jsonrpc":"2.0","id":"x","method":"ping"}"#;
        let received = |line| (Direction::Received, line);
        let orderly = listener(&[PROBE, received(refused), received(without_id), HELLO, received(asks)]);
        assert_eq!((orderly.oddity(), orderly.is_astray()), (None, false));
    }

    #[test]
    fn rubbish_is_shown_on_one_line() {
        let listener = listener(&[PROBE, (Direction::Received, "Starting\x1b[2J up")]);
        let oddity = listener.oddity().unwrap();
        assert!(oddity.contains(r#""Starting\x1b[2J up""#), "{oddity}");
        assert!(!listener.is_astray());
    }

    #[test]
    fn rubbish_is_recorded_as_such() {
        let journal = Journal::memory();
        let listener = Listener::new("s", Some(&journal));
        for line in ["hello", r#" {"jsonrpc":"2.0","method":"x"}"#] {
            listener.message(Direction::Received, line.as_bytes());
        }
        let written = String::from_utf8(journal.contents()).unwrap();
        let kinds = |kind: &str| written.matches(&format!("\"kind\":\"{kind}\"")).count();
        assert_eq!((kinds("noise"), kinds("message")), (1, 1), "{written}");
    }

    #[test]
    fn an_id_of_another_type_is_astray_only_in_the_handshake() {
        let answer = (Direction::Received, r#"{"jsonrpc":"2.0","id":"1","result":{}}"#);
        let probed = listener(&[PROBE, answer]);
        assert!(probed.oddity().unwrap().contains("id that no request has"));
        assert!(!probed.is_astray(), "an old server may stumble over the probe");
        assert!(listener(&[PROBE, HELLO, answer]).is_astray());
    }
}
