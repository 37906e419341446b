//! Cuts incoming bytes into messages, one per line.

use bytes::buf::Limit;
use bytes::{Buf, BufMut, Bytes, BytesMut};
use memchr::memchr;

/// Bytes asked for in one read.
const READ: usize = 64 * 1024;
/// The buffer grows when less room than this is left.
const LEAST_ROOM: usize = 8 * 1024;
/// A message up to this size is copied out, so that keeping it does not keep the read buffer alive.
const COPIED: usize = 2 * 1024;
/// How much of a line that is too long is kept to show.
const SHOWN: usize = 1024;
const BOM: &[u8] = b"\xEF\xBB\xBF";
/// What a line may hold beside its message: a BOM in front and a CR behind.
const EXTRA: usize = BOM.len() + 1;
const HEADER: &[u8] = b"content-length:";
/// How much of a foreign header is waited for, to show it.
const SHOWN_HEADER: usize = 64;

/// One line, judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    Message(Bytes),
    /// The line is longer than the limit; its rest will be skipped. Holds its first bytes.
    TooLong(Bytes),
    /// The line is a header of another framing. Nothing after it can be understood.
    Foreign(Bytes),
}

/// The bytes received and not yet delivered.
///
/// Each byte is looked at once: the search for a line end goes on where it stopped.
#[derive(Debug)]
pub(crate) struct Incoming {
    buffer: BytesMut,
    /// No line end in this many bytes at the front of the buffer.
    searched: usize,
    limit: usize,
    /// Inside a line that is too long.
    skipping: bool,
    /// A line that starts like JSON was seen, so the peer does not use headers.
    lines: bool,
}

impl Incoming {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            buffer: BytesMut::new(),
            searched: 0,
            limit,
            skipping: false,
            lines: false,
        }
    }

    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// Room for one read.
    pub(crate) fn room(&mut self) -> Limit<&mut BytesMut> {
        if self.buffer.capacity() - self.buffer.len() < LEAST_ROOM {
            self.buffer.reserve(READ);
        }
        (&mut self.buffer).limit(READ)
    }

    /// The next line that is not blank; `None` asks for more bytes.
    pub(crate) fn next(&mut self) -> Option<Frame> {
        loop {
            if self.skipping {
                let Some(end) = memchr(b'\n', &self.buffer) else {
                    self.buffer.clear();
                    return None;
                };
                self.buffer.advance(end + 1);
                self.skipping = false;
            }
            if let Some(header) = self.foreign_header() {
                return Some(Frame::Foreign(header));
            }
            let Some(end) = memchr(b'\n', &self.buffer[self.searched..]) else {
                self.searched = self.buffer.len();
                return self.too_long_already();
            };
            let end = self.searched + end;
            self.searched = 0;
            let line = self.take(end);
            self.buffer.advance(1);
            self.shrink(end);
            if line.is_some() {
                return line;
            }
        }
    }

    /// The last line, which has no line end because the stream has ended.
    pub(crate) fn finish(&mut self) -> Option<Frame> {
        if self.skipping {
            self.buffer.clear();
            return None;
        }
        self.searched = 0;
        let header = self.header_start().map(Bytes::copy_from_slice);
        let end = self.buffer.len();
        let line = header.map(Frame::Foreign).or_else(|| self.take(end));
        self.buffer = BytesMut::new();
        line
    }

    /// Removes the line of `end` bytes; `None` if it is blank.
    fn take(&mut self, end: usize) -> Option<Frame> {
        let line = &self.buffer[..end];
        let from = if line.starts_with(BOM) { BOM.len() } else { 0 };
        let to = if line.ends_with(b"\r") { end - 1 } else { end };
        let content = &line[from..to];
        if content.len() > self.limit {
            let start = self.start_of(content);
            self.buffer.advance(end);
            return Some(Frame::TooLong(start));
        }
        let Some(first) = content.iter().find(|byte| !matches!(byte, b' ' | b'\t' | b'\r')) else {
            self.buffer.advance(end);
            return None;
        };
        self.lines |= matches!(first, b'{' | b'[');
        if content.len() <= COPIED {
            let message = Bytes::copy_from_slice(content);
            self.buffer.advance(end);
            return Some(Frame::Message(message));
        }
        let line = self.buffer.split_to(end).freeze();
        Some(Frame::Message(line.slice(from..to)))
    }

    /// Whether the unfinished line is too long whatever follows.
    fn too_long_already(&mut self) -> Option<Frame> {
        // A header is told from a message first, also where the limit is tiny.
        if self.buffer.len() <= self.limit.max(SHOWN_HEADER).saturating_add(EXTRA) {
            return None;
        }
        let start = self.start_of(self.buffer.strip_prefix(BOM).unwrap_or(&self.buffer));
        self.skipping = true;
        self.searched = 0;
        self.buffer = BytesMut::new();
        Some(Frame::TooLong(start))
    }

    /// Never more than the limit, so that it does not depend on how the bytes arrived.
    fn start_of(&self, content: &[u8]) -> Bytes {
        Bytes::copy_from_slice(&content[..content.len().min(self.limit).min(SHOWN)])
    }

    /// After a large line the few bytes behind it move out, so that its memory is not kept for ever.
    fn shrink(&mut self, line: usize) {
        if line > READ {
            self.buffer = BytesMut::from(&self.buffer[..]);
        }
    }

    /// The line at the front, if it is a header of a framing that is not ours and as much of it has
    /// come as is shown.
    fn foreign_header(&self) -> Option<Bytes> {
        let header = self.header_start()?;
        let shown = &header[..header.len().min(SHOWN_HEADER)];
        match memchr(b'\n', shown) {
            Some(end) => Some(Bytes::copy_from_slice(&shown[..end])),
            None => (shown.len() == SHOWN_HEADER).then(|| Bytes::copy_from_slice(shown)),
        }
    }

    fn header_start(&self) -> Option<&[u8]> {
        if self.lines {
            return None;
        }
        let line = self.buffer.strip_prefix(BOM).unwrap_or(&self.buffer);
        line.get(..HEADER.len())?.eq_ignore_ascii_case(HEADER).then_some(line)
    }
}

#[cfg(test)]
#[path = "frame_tests.rs"]
mod tests;
