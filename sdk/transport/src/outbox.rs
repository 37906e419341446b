//! Outgoing messages, framed and waiting to be written.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use memchr::memchr2;
use tokio::io::AsyncWrite;

/// A message up to this size joins others in one buffer; a larger one is written from where it is.
const LARGE: usize = 64 * 1024;
/// Buffers given to one vectored write.
const SLICES: usize = 16;

/// A queue of lines. Messages that wait together are written together.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    chunks: VecDeque<Vec<u8>>,
    /// Bytes of the first chunk that are already written.
    written: usize,
    queued: usize,
}

impl Outbox {
    pub(crate) fn push(&mut self, mut message: Vec<u8>) {
        replace_line_ends(&mut message);
        self.queued += message.len() + 1;
        if message.len() > LARGE {
            // Its line end goes into the next chunk: growing a large buffer by one byte could copy it.
            self.chunks.push_back(message);
            self.chunks.push_back(vec![b'\n']);
            return;
        }
        match self.chunks.back_mut() {
            Some(last) if last.len() + message.len() < LARGE => {
                last.extend_from_slice(&message);
                last.push(b'\n');
            }
            _ => {
                message.push(b'\n');
                self.chunks.push_back(message);
            }
        }
    }

    /// Bytes not yet written.
    pub(crate) fn queued(&self) -> usize {
        self.queued
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Writes everything, or as much as `writer` takes.
    pub(crate) fn poll_write<W: AsyncWrite + Unpin>(
        &mut self,
        writer: &mut W,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        while let Some(first) = self.chunks.front() {
            let rest = &first[self.written..];
            let count = if self.chunks.len() > 1 && writer.is_write_vectored() {
                let mut slices = [IoSlice::new(&[]); SLICES];
                slices[0] = IoSlice::new(rest);
                let mut used = 1;
                for (slice, chunk) in slices[1..].iter_mut().zip(self.chunks.iter().skip(1)) {
                    *slice = IoSlice::new(chunk);
                    used += 1;
                }
                ready!(Pin::new(&mut *writer).poll_write_vectored(cx, &slices[..used]))?
            } else {
                ready!(Pin::new(&mut *writer).poll_write(cx, rest))?
            };
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.consume(count);
        }
        Poll::Ready(Ok(()))
    }

    fn consume(&mut self, mut count: usize) {
        self.queued = self.queued.saturating_sub(count);
        while let Some(first) = self.chunks.front() {
            let rest = first.len() - self.written;
            if count < rest {
                self.written += count;
                return;
            }
            count -= rest;
            self.written = 0;
            self.chunks.pop_front();
        }
    }
}

/// A line end inside a JSON text can only be white space between its parts, as it is in JSON that
/// was printed for reading and is passed on. On this wire it would end the message: it becomes a space.
fn replace_line_ends(message: &mut [u8]) {
    let mut from = 0;
    while let Some(at) = memchr2(b'\n', b'\r', &message[from..]) {
        message[from + at] = b' ';
        from += at + 1;
    }
}
