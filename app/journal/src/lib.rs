//! The one recording format: written, verified, read.
//!
//! A journal is JSON Lines: one object per line, readable by `jq`, each line chained to the one before by SHA-256, with
//! secrets masked before anything is written. The same file is the host's log, the guard's audit, the picture's source
//! and the fixture for a replay.
//!
//! What this crate is not: a policy (it records decisions, it takes none) and a transport (it fills the
//! [`Tap`](trunkline_transport::Tap) that a transport offers).
//!
//! - [`Journal`] writes. [`Journal::tap`] gives the tap for one connection.
//! - [`read()`] and [`read_from`] give the entries back; one bad line spoils itself alone.
//! - [`verify`] follows the chain and names the first line that is not as it was written.
//!
//! ```
//! use trunkline_journal::{Event, Journal, read_from, verify};
//! use trunkline_transport::Direction;
//!
//! let journal = Journal::memory();
//! let tap = journal.tap("weather");
//! tap.message(Direction::Sent, br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
//! journal.record("decision", &serde_json::json!({ "who": "person", "outcome": "permit" }));
//! journal.close();
//!
//! let written = journal.contents();
//! assert!(verify(&written[..])?.is_whole());
//! let messages = read_from(&written[..])
//!     .filter_map(Result::ok)
//!     .filter(|entry| matches!(entry.event, Event::Message { .. }));
//! assert_eq!(messages.count(), 1);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # The format
//!
//! Every line starts with `seq` (0, 1, 2 …) and `time` (RFC 3339, UTC, microseconds), then `kind` and what belongs to the
//! kind, and ends with `hash`. The first line is the `header`, the last one of a journal that was closed is the `end`.
//!
//! | `kind` | members |
//! | --- | --- |
//! | `header` | `format` (1), `tool`, `tool_version` |
//! | `message` | `connection`, `revision` once known, `direction` (`sent`, `received`), then a *body* |
//! | `stderr`, `noise` | `connection`, then a body that is always text |
//! | `decision`, `note`, any other lower-case word | `body`: the JSON value that was given |
//! | `gap` | `lost`: entries that could not be written just before this line |
//! | `end` | `lost`: the same over the whole journal |
//!
//! A *body* is `message` (the JSON as it came, spaces between tokens left out) or, when it is not JSON or is nested
//! deeper than [`MAX_DEPTH`], `text` with `bytes`, the count before decoding. Over [`MAX_BODY`] it is `text` (the
//! beginning), `bytes` and `sha256` of the whole. `masked` counts the places masked in the line.
//!
//! `hash` is the SHA-256, in lower-case hexadecimal, over the previous line's `hash` (64 zeros for the header)
//! followed by the bytes of this line up to `,"hash":`. So a change anywhere breaks the chain from there on. Cutting
//! whole lines off the end is seen by the missing `end` line; rewriting the whole file is seen only by who kept
//! a hash from it, so keep [`Verdict::head`] elsewhere where that matters.

mod entry;
mod journal;
mod key_lines;
mod line;
mod mask;
mod secrets;
mod time;
mod verify;
mod walk;

pub use entry::{Body, Entries, Entry, Event, LineError, Text, read, read_from};
pub use journal::{Journal, MAX_MEMORY, WriteFailure};
pub use line::{FORMAT, MAX_BODY, MAX_DEPTH, MAX_LINE, hex};
pub use mask::Mask;
pub use time::rfc3339;
pub use trunkline_transport::Direction;
pub use verify::{Broken, Verdict, Why, verify};
