//! Reading a recording back, line by line.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use trunkline_transport::Direction;

use crate::line::MAX_LINE;

/// One line of a recording.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The line's number in the file, from 1.
    pub line: u64,
    /// The entry's number in the recording, from 0.
    pub seq: u64,
    /// When it was written: RFC 3339, UTC, microseconds.
    pub time: String,
    /// What was recorded.
    pub event: Event,
    /// How many places were masked.
    pub masked: u64,
}

/// What was recorded.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Event {
    /// The first line.
    Header {
        /// The version of the format.
        format: u64,
        /// The program that recorded.
        tool: String,
        /// Its version.
        tool_version: String,
    },
    /// A message on a connection.
    Message {
        /// The connection's name.
        connection: String,
        /// The revision in force, once it was known.
        revision: Option<String>,
        /// Which way it went, seen from the side that recorded.
        direction: Direction,
        /// The message.
        body: Body,
    },
    /// A line from a server's standard error.
    Stderr {
        /// The connection's name.
        connection: String,
        /// The line.
        text: Text,
    },
    /// A line between messages that is none.
    Noise {
        /// The connection's name.
        connection: String,
        /// The line.
        text: Text,
    },
    /// Entries are missing here because they could not be written.
    Gap {
        /// How many.
        lost: u64,
    },
    /// The last line of a recording that was closed.
    End {
        /// How many entries could not be written.
        lost: u64,
    },
    /// A decision, a note, or whatever else was recorded under a word of its own.
    Record {
        /// `decision`, `note`, …
        kind: String,
        /// What was recorded.
        body: Value,
    },
}

/// A recorded message.
#[derive(Debug, Clone)]
pub enum Body {
    /// The JSON as it came, but for what was masked and the spaces between tokens.
    Json(Box<RawValue>),
    /// What was not JSON, too deep, or too long.
    Text(Text),
}

/// Recorded text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// The text, or its beginning.
    pub content: String,
    /// How many bytes there were.
    pub bytes: u64,
    /// The SHA-256 of all of them, where only the beginning is here.
    pub sha256: Option<String>,
}

/// Why a line could not be read. The lines after it can.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineError {
    /// The line's number in the file, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub reason: String,
}

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "journal line {}: {}", self.line, self.reason)
    }
}

impl std::error::Error for LineError {}

/// Reads the recording in a file.
///
/// # Errors
///
/// When the file cannot be opened. What is wrong with a line comes as that line's item.
pub fn read(path: impl AsRef<Path>) -> io::Result<Entries<BufReader<File>>> {
    Ok(read_from(BufReader::new(File::open(path)?)))
}

/// Reads a recording.
pub fn read_from<R: BufRead>(reader: R) -> Entries<R> {
    Entries {
        lines: Lines::new(reader),
        done: false,
    }
}

/// The entries of a recording, in order; blank lines are passed over. Whether they are as they were written is for
/// [`verify`](crate::verify()) to say.
#[derive(Debug)]
pub struct Entries<R> {
    lines: Lines<R>,
    done: bool,
}

impl<R: BufRead> Iterator for Entries<R> {
    type Item = Result<Entry, LineError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        loop {
            let number = self.lines.number + 1;
            let reason = match self.lines.next() {
                Ok(None) => return None,
                Ok(Some(Line::Whole(bytes) | Line::Unended(bytes))) => {
                    if bytes.trim_ascii().is_empty() {
                        continue;
                    }
                    match parse(&bytes, number) {
                        Ok(entry) => return Some(Ok(entry)),
                        Err(reason) => reason,
                    }
                }
                Ok(Some(Line::TooLong)) => format!("longer than {MAX_LINE} bytes"),
                Err(error) => {
                    // A reader that failed may fail for ever.
                    self.done = true;
                    error.to_string()
                }
            };
            return Some(Err(LineError { line: number, reason }));
        }
    }
}

/// One line as it came from the file, without its line end.
pub(crate) enum Line {
    Whole(Vec<u8>),
    /// The file ends inside the line.
    Unended(Vec<u8>),
    TooLong,
}

/// Lines of bounded length.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    reader: R,
    pub(crate) number: u64,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self { reader, number: 0 }
    }

    pub(crate) fn next(&mut self) -> io::Result<Option<Line>> {
        let mut bytes = Vec::new();
        let limit = u64::try_from(MAX_LINE).unwrap_or(u64::MAX);
        self.reader.by_ref().take(limit + 1).read_until(b'\n', &mut bytes)?;
        if bytes.is_empty() {
            return Ok(None);
        }
        self.number += 1;
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
            return Ok(Some(Line::Whole(bytes)));
        }
        if bytes.len() <= MAX_LINE {
            return Ok(Some(Line::Unended(bytes)));
        }
        self.reader.skip_until(b'\n')?;
        Ok(Some(Line::TooLong))
    }
}

/// A line as it stands; which members it needs depends on its kind.
#[derive(Deserialize)]
struct Raw<'a> {
    seq: u64,
    time: String,
    kind: String,
    #[serde(default)]
    masked: u64,
    format: Option<u64>,
    tool: Option<String>,
    tool_version: Option<String>,
    connection: Option<String>,
    revision: Option<String>,
    direction: Option<Way>,
    // `Option` would read a message or body that is `null` as none.
    #[serde(borrow, default, deserialize_with = "present")]
    message: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "present")]
    body: Option<Value>,
    text: Option<String>,
    bytes: Option<u64>,
    sha256: Option<String>,
    lost: Option<u64>,
}

/// [`Direction`] as it is written.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Way {
    Sent,
    Received,
}

fn present<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}

fn parse(bytes: &[u8], line: u64) -> Result<Entry, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
    let mut raw: Raw<'_> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let kind = std::mem::take(&mut raw.kind);
    let (seq, time, masked) = (raw.seq, std::mem::take(&mut raw.time), raw.masked);
    let event = event(&kind, raw).map_err(|member| format!("`{kind}` without `{member}`"))?;
    Ok(Entry {
        line,
        seq,
        time,
        event,
        masked,
    })
}

/// Makes the event, or names the member that is missing.
fn event(kind: &str, raw: Raw<'_>) -> Result<Event, &'static str> {
    let connection = raw.connection.ok_or("connection");
    let text = match (raw.text, raw.bytes) {
        (Some(content), Some(bytes)) => Ok(Text {
            content,
            bytes,
            sha256: raw.sha256,
        }),
        (None, _) => Err("text"),
        (_, None) => Err("bytes"),
    };
    Ok(match kind {
        "header" => Event::Header {
            format: raw.format.ok_or("format")?,
            tool: raw.tool.ok_or("tool")?,
            tool_version: raw.tool_version.ok_or("tool_version")?,
        },
        "message" => Event::Message {
            connection: connection?,
            revision: raw.revision,
            direction: match raw.direction.ok_or("direction")? {
                Way::Sent => Direction::Sent,
                Way::Received => Direction::Received,
            },
            body: match raw.message {
                Some(json) => Body::Json(json.to_owned()),
                None => Body::Text(text.map_err(|_| "message")?),
            },
        },
        "stderr" => Event::Stderr {
            connection: connection?,
            text: text?,
        },
        "noise" => Event::Noise {
            connection: connection?,
            text: text?,
        },
        "gap" => Event::Gap {
            lost: raw.lost.ok_or("lost")?,
        },
        "end" => Event::End {
            lost: raw.lost.ok_or("lost")?,
        },
        _ => Event::Record {
            kind: kind.to_owned(),
            body: raw.body.ok_or("body")?,
        },
    })
}
