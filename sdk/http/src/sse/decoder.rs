//! Bytes as events.

use bytes::{Buf, Bytes};
use memchr::memchr2;

/// The most bytes of an `id` or an `event` field: 4 KiB. An event with a longer one counts as too long.
pub const MAX_FIELD: usize = 4 * 1024;
/// How much of an event that is too long is kept to show.
const SHOWN: usize = 1024;
/// Data up to this size is copied out, so that keeping it does not keep a whole read alive.
const COPIED: usize = 2 * 1024;
const BOM: &[u8] = b"\xEF\xBB\xBF";

/// One event of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its type; none is `message`.
    pub event: Option<String>,
    /// Its data: the values of its `data` fields, joined by LF.
    pub data: Bytes,
}

/// What a stream brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decoded {
    /// An event, whole.
    Event(Event),
    /// An event whose data is longer than the limit, or whose id or type is longer than [`MAX_FIELD`]. The rest of
    /// it is skipped, so that the stream stays in step.
    TooLong {
        /// The limit for data, in bytes.
        limit: usize,
        /// The first bytes of the data, or of the field that is too long; at most 1 KiB.
        start: Bytes,
    },
}

/// Reads a stream of events that comes in pieces of any size.
///
/// It follows the [standard](https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation)
/// to the letter: lines end by CR, LF or both; one byte order mark in front is passed over; an event counts once its
/// blank line has come, and without a `data` field it changes only [`last_event_id`](Self::last_event_id). Data is
/// handed out as it came: whether it is UTF-8 is for the reader of its JSON to say.
///
/// Memory is bounded by the limit: comments and unknown fields are skipped as they come, however long they are. Each
/// byte is looked at once.
#[derive(Debug)]
pub struct Decoder {
    limit: usize,
    chunk: Bytes,
    /// The start of a line whose end has not come yet.
    line: Vec<u8>,
    /// The last line ended by CR: an LF right behind it belongs to it.
    after_cr: bool,
    /// Nothing but a part of a byte order mark was seen.
    beginning: bool,
    /// Inside a line that means nothing.
    skipping_line: bool,
    event: Pending,
    last_id: Option<String>,
    retry: Option<u64>,
}

/// The event that is being read.
#[derive(Debug, Default)]
struct Pending {
    data: Option<Data>,
    name: Option<String>,
    /// The last `id` of the stream so far, which counts from the next blank line on.
    id: Option<String>,
    /// It is too long, and that was said.
    skipped: bool,
}

#[derive(Debug)]
enum Data {
    /// The value of one field, often a part of what was read.
    One(Bytes),
    Many(Vec<u8>),
}

impl Data {
    fn as_slice(&self) -> &[u8] {
        match self {
            Self::One(data) => data,
            Self::Many(data) => data,
        }
    }
}

impl Decoder {
    /// A decoder for a new stream. `limit` bounds the data of one event, in bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            chunk: Bytes::new(),
            line: Vec::new(),
            after_cr: false,
            beginning: true,
            skipping_line: false,
            event: Pending::default(),
            last_id: None,
            retry: None,
        }
    }

    /// Takes the next bytes of the stream. Take what they bring by [`next`](Self::next) before pushing more.
    pub fn push(&mut self, bytes: impl Into<Bytes>) {
        let bytes = bytes.into();
        if self.chunk.is_empty() {
            self.chunk = bytes;
        } else {
            self.chunk = [&self.chunk[..], &bytes[..]].concat().into();
        }
    }

    /// The next thing that the bytes so far brought; none asks for more bytes.
    #[expect(
        clippy::should_implement_trait,
        reason = "it goes on after `None`, which an iterator does not promise"
    )]
    pub fn next(&mut self) -> Option<Decoded> {
        loop {
            if self.chunk.is_empty() {
                return None;
            }
            if std::mem::take(&mut self.after_cr) && self.chunk[0] == b'\n' {
                self.chunk.advance(1);
                continue;
            }
            let decoded = match memchr2(b'\r', b'\n', &self.chunk) {
                Some(end) => {
                    self.after_cr = self.chunk[end] == b'\r';
                    let line = self.take_line(end);
                    self.chunk.advance(1);
                    line.and_then(|line| self.handle_line(&line))
                }
                None => self.keep_part(),
            };
            if decoded.is_some() {
                return decoded;
            }
        }
    }

    /// The id of the last event, to resume the stream after; none if there was none, or the last one was empty.
    pub fn last_event_id(&self) -> Option<&str> {
        self.last_id.as_deref().filter(|id| !id.is_empty())
    }

    /// How many milliseconds the server wants a reader to wait before it connects again.
    pub fn retry(&self) -> Option<u64> {
        self.retry
    }

    /// Removes a line of `end` bytes from the chunk; none if it is to be skipped.
    fn take_line(&mut self, end: usize) -> Option<Bytes> {
        if std::mem::take(&mut self.skipping_line) {
            self.beginning = false;
            self.chunk.advance(end);
            return None;
        }
        let mut line = if self.line.is_empty() {
            self.chunk.split_to(end)
        } else {
            let mut line = std::mem::take(&mut self.line);
            line.extend_from_slice(&self.chunk[..end]);
            self.chunk.advance(end);
            line.into()
        };
        if std::mem::take(&mut self.beginning) && line.starts_with(BOM) {
            line.advance(BOM.len());
        }
        Some(line)
    }

    /// Keeps the rest of the chunk, which is the start of a line, unless that line is known to be of no use.
    fn keep_part(&mut self) -> Option<Decoded> {
        let part = std::mem::take(&mut self.chunk);
        if self.skipping_line {
            return None;
        }
        self.line.extend_from_slice(&part);
        if self.beginning && self.line.len() >= BOM.len() {
            self.beginning = false;
            if self.line.starts_with(BOM) {
                self.line.drain(..BOM.len());
            }
        }
        if self.line.starts_with(b":") || (self.event.skipped && self.line.starts_with(b"data:")) {
            self.skip_line();
            return None;
        }
        if self.line.starts_with(b"data:") {
            // A space behind the colon is not part of the data, and may be all that has come.
            let value = value_of(&self.line, b"data".len());
            if self.fits(value.len()) {
                return None;
            }
            let start = self.start_of_data(value);
            self.skip_line();
            return self.too_long(start);
        }
        if self.line.len() <= MAX_FIELD + b"event: ".len() {
            return None;
        }
        let matters = self.line.starts_with(b"id:") || self.line.starts_with(b"event:");
        let start = self.shown(&self.line);
        self.skip_line();
        if matters { self.too_long(start) } else { None }
    }

    fn skip_line(&mut self) {
        // Even one that is skipped was the first line.
        self.beginning = false;
        self.skipping_line = true;
        self.line = Vec::new();
    }

    fn handle_line(&mut self, line: &Bytes) -> Option<Decoded> {
        if line.is_empty() {
            return self.dispatch();
        }
        let name_end = memchr::memchr(b':', line).unwrap_or(line.len());
        let value = value_of(line, name_end);
        match &line[..name_end] {
            b"data" => self.add_data(line.slice(line.len() - value.len()..)),
            b"id" | b"event" if value.len() > MAX_FIELD => self.too_long(self.shown(line)),
            b"id" if value.contains(&0) => None,
            b"id" => {
                self.event.id = Some(String::from_utf8_lossy(value).into_owned());
                None
            }
            b"event" => {
                self.event.name = Some(String::from_utf8_lossy(value).into_owned());
                None
            }
            b"retry" => {
                if (1..=MAX_FIELD).contains(&value.len()) && value.iter().all(u8::is_ascii_digit) {
                    let digits = std::str::from_utf8(value).unwrap_or_default();
                    // Longer than any clock counts.
                    self.retry = Some(digits.parse().unwrap_or(u64::MAX));
                }
                None
            }
            _ => None,
        }
    }

    /// Whether so many more bytes of data, in a field of their own, are within the limit.
    fn fits(&self, more: usize) -> bool {
        let before = self.event.data.as_ref().map_or(0, |data| data.as_slice().len() + 1);
        before.saturating_add(more) <= self.limit
    }

    fn add_data(&mut self, value: Bytes) -> Option<Decoded> {
        if self.event.skipped {
            return None;
        }
        if !self.fits(value.len()) {
            return self.too_long(self.start_of_data(&value));
        }
        self.event.data = Some(match self.event.data.take() {
            None if value.len() <= COPIED => Data::One(Bytes::copy_from_slice(&value)),
            None => Data::One(value),
            Some(data) => {
                let mut joined = match data {
                    Data::One(first) => first.to_vec(),
                    Data::Many(joined) => joined,
                };
                joined.push(b'\n');
                joined.extend_from_slice(&value);
                Data::Many(joined)
            }
        });
        None
    }

    /// Says once that the event is too long.
    fn too_long(&mut self, start: Bytes) -> Option<Decoded> {
        self.event.data = None;
        let limit = self.limit;
        (!std::mem::replace(&mut self.event.skipped, true)).then_some(Decoded::TooLong { limit, start })
    }

    /// The beginning of the data with one more field. It does not depend on how the bytes arrived.
    fn start_of_data(&self, more: &[u8]) -> Bytes {
        let Some(data) = &self.event.data else {
            return self.shown(more);
        };
        let mut start = self.shown(data.as_slice()).to_vec();
        start.push(b'\n');
        start.extend_from_slice(&self.shown(more));
        self.shown(&start)
    }

    fn shown(&self, bytes: &[u8]) -> Bytes {
        Bytes::copy_from_slice(&bytes[..bytes.len().min(self.limit).min(SHOWN)])
    }

    fn dispatch(&mut self) -> Option<Decoded> {
        let Pending {
            data,
            name,
            id,
            skipped,
        } = std::mem::take(&mut self.event);
        if id.is_some() {
            self.last_id = id;
        }
        let data = match data.filter(|_| !skipped)? {
            Data::One(data) => data,
            Data::Many(data) => data.into(),
        };
        Some(Decoded::Event(Event {
            event: name.filter(|name| !name.is_empty()),
            data,
        }))
    }
}

/// The value of a field whose name ends at `name_end`.
fn value_of(line: &[u8], name_end: usize) -> &[u8] {
    let value = line.get(name_end + 1..).unwrap_or_default();
    value.strip_prefix(b" ").unwrap_or(value)
}

#[cfg(test)]
#[path = "decoder_tests.rs"]
mod tests;
