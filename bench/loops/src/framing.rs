//! Lines cut from pieces of 4 KiB.

use std::hint::black_box;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use tokio::io::{AsyncRead, ReadBuf, Sink, sink};
use trunkline::transport::{Lines, Received, Transport};

use crate::samples::{MIB, PIECE, echo_request};
use crate::{Iteration, Loop};

pub(crate) const LOOPS: &[Loop] = &[
    Loop::new(
        "framing/small_lines",
        "reads a piece of 4 KiB that holds 16 messages",
        500,
        || {
            let mut line = echo_request(1);
            line.resize(PIECE / 16 - 1, b' ');
            line.push(b'\n');
            reading(line.repeat(16), 16)
        },
    ),
    Loop::new(
        "framing/line_1mib",
        "reads one message of 1 MiB from 256 pieces of 4 KiB",
        10,
        || {
            let mut line = echo_request(MIB);
            line.truncate(MIB - 1);
            line.push(b'\n');
            reading(line, 1)
        },
    ),
    Loop::new("framing/write_16", "writes 16 messages in one go", 500, writing),
];

/// Brings the same text again and again, a piece at a time.
struct Pieces {
    text: Vec<u8>,
    at: usize,
}

impl AsyncRead for Pieces {
    fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let count = PIECE.min(buffer.remaining()).min(self.text.len() - self.at);
        buffer.put_slice(&self.text[self.at..self.at + count]);
        self.at = (self.at + count) % self.text.len();
        Poll::Ready(Ok(()))
    }
}

fn lines(text: Vec<u8>) -> Lines<Pieces, Sink> {
    Lines::new(Pieces { text, at: 0 }, sink())
}

fn reading(text: Vec<u8>, messages: usize) -> Iteration {
    let length = text.len() / messages - 1;
    let mut lines = lines(text);
    Box::new(move || {
        let mut cx = Context::from_waker(Waker::noop());
        (0..messages).all(|_| match lines.poll_receive(&mut cx) {
            Poll::Ready(Ok(Received::Message(message))) => black_box(message).len() == length,
            _ => false,
        })
    })
}

fn writing() -> Iteration {
    let message = echo_request(5);
    let mut lines = lines(message.clone());
    Box::new(move || {
        let mut cx = Context::from_waker(Waker::noop());
        for _ in 0..16 {
            lines.send(black_box(&message).clone());
        }
        let queued = lines.queued();
        lines.poll_flush(&mut cx).is_ready() && queued >= 16 * message.len() && lines.queued() == 0
    })
}
