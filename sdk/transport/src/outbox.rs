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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Takes a given number of bytes per write and notes the writes.
    struct Narrow {
        takes: usize,
        vectored: bool,
        writes: usize,
        taken: Vec<u8>,
    }

    impl Narrow {
        fn new(takes: usize, vectored: bool) -> Self {
            Self {
                takes,
                vectored,
                writes: 0,
                taken: Vec::new(),
            }
        }
    }

    impl AsyncWrite for Narrow {
        fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
            self.poll_write_vectored(cx, &[IoSlice::new(buf)])
        }

        fn poll_write_vectored(
            mut self: Pin<&mut Self>,
            _cx: &mut Context<'_>,
            bufs: &[IoSlice<'_>],
        ) -> Poll<io::Result<usize>> {
            self.writes += 1;
            let mut left = self.takes;
            for buf in bufs {
                let count = buf.len().min(left);
                self.taken.extend_from_slice(&buf[..count]);
                left -= count;
            }
            Poll::Ready(Ok(self.takes - left))
        }

        fn is_write_vectored(&self) -> bool {
            self.vectored
        }

        fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    fn write_all(outbox: &mut Outbox, writer: &mut Narrow) {
        let mut cx = Context::from_waker(std::task::Waker::noop());
        assert!(matches!(outbox.poll_write(writer, &mut cx), Poll::Ready(Ok(()))));
        assert_eq!(outbox.queued(), 0);
    }

    #[test]
    fn small_messages_leave_in_one_write() {
        let mut outbox = Outbox::default();
        for _ in 0..100 {
            outbox.push(br#"{"id":1}"#.to_vec());
        }
        assert_eq!(outbox.queued(), 900);
        let mut writer = Narrow::new(usize::MAX, false);
        write_all(&mut outbox, &mut writer);
        assert_eq!(writer.writes, 1);
        assert_eq!(writer.taken, b"{\"id\":1}\n".repeat(100));
    }

    #[test]
    fn a_large_message_is_not_copied_and_joins_the_others_in_one_vectored_write() {
        let mut outbox = Outbox::default();
        let large = vec![b'x'; LARGE + 1];
        let place = large.as_ptr();
        outbox.push(b"[1]".to_vec());
        outbox.push(large);
        outbox.push(b"[2]".to_vec());
        assert!(
            outbox
                .chunks
                .iter()
                .any(|chunk| chunk.as_ptr() == place && chunk.len() == LARGE + 1)
        );
        let mut writer = Narrow::new(usize::MAX, true);
        write_all(&mut outbox, &mut writer);
        assert_eq!(writer.writes, 1);
        assert_eq!(
            writer.taken,
            [b"[1]\n", &vec![b'x'; LARGE + 1][..], b"\n[2]\n"].concat()
        );
    }

    #[test]
    fn line_ends_inside_a_message_become_spaces() {
        let mut outbox = Outbox::default();
        outbox.push(b"{\n  \"id\": 1\r\n}".to_vec());
        let mut writer = Narrow::new(usize::MAX, false);
        write_all(&mut outbox, &mut writer);
        assert_eq!(writer.taken, b"{   \"id\": 1  }\n");
    }

    #[test]
    fn a_writer_that_takes_nothing_is_a_fault() {
        let mut outbox = Outbox::default();
        outbox.push(b"{}".to_vec());
        let mut cx = Context::from_waker(std::task::Waker::noop());
        let result = outbox.poll_write(&mut Narrow::new(0, true), &mut cx);
        assert!(matches!(result, Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::WriteZero));
    }

    proptest! {
        #[test]
        fn what_is_pushed_arrives_in_order_however_little_is_taken(
            sizes in prop::collection::vec(prop_oneof![0_usize..200, LARGE - 2..LARGE + 3], 1..40),
            takes in prop_oneof![200_usize..3000, Just(LARGE)],
            vectored: bool,
        ) {
            let mut outbox = Outbox::default();
            let mut expected = Vec::new();
            for (n, size) in sizes.iter().enumerate() {
                let message = vec![b'a' + u8::try_from(n % 26).unwrap(); *size];
                expected.extend_from_slice(&message);
                expected.push(b'\n');
                outbox.push(message);
            }
            prop_assert_eq!(outbox.queued(), expected.len());
            let mut writer = Narrow::new(takes, vectored);
            write_all(&mut outbox, &mut writer);
            prop_assert!(writer.taken == expected);
        }
    }
}
