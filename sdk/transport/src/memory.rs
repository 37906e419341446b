//! Two connected ends inside one process.

use std::task::{Context, Poll};

use tokio::io::{DuplexStream, duplex};

use crate::{Limits, Lines, Received, Transport, TransportError};

/// Bytes that one end of a memory pair takes before the other end has read them.
pub const MEMORY_BUFFER: usize = 64 * 1024;

/// One end of a pair made by [`memory`].
///
/// The bytes are the ones a pipe would carry, through the same framing, so a test in memory tests
/// the encoding too. When an end is dropped, the other receives what was written and then
/// [`Received::End`].
#[derive(Debug)]
pub struct Memory {
    lines: Lines<DuplexStream, DuplexStream>,
}

/// Something that can be connected to without a process or a socket, such as a server.
pub trait InMemory {
    /// Opens a new connection and returns the far end of it.
    fn open(&self) -> Memory;
}

/// Two connected ends. Each direction holds at most [`MEMORY_BUFFER`] bytes: a sender whose peer
/// does not read is held back as it would be by a pipe.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// use std::future::poll_fn;
/// use trunkline_transport::{Received, Transport, memory};
///
/// let (mut client, mut server) = memory();
/// client.send(br#"{"jsonrpc":"2.0","method":"ping","id":1}"#.to_vec());
/// poll_fn(|cx| client.poll_close(cx)).await.unwrap();
///
/// let received = poll_fn(|cx| server.poll_receive(cx)).await.unwrap();
/// assert!(matches!(received, Received::Message(_)));
/// let received = poll_fn(|cx| server.poll_receive(cx)).await.unwrap();
/// assert!(matches!(received, Received::End));
/// # }
/// ```
pub fn memory() -> (Memory, Memory) {
    memory_with(Limits::default())
}

/// [`memory`] with other limits, on both ends.
pub fn memory_with(limits: Limits) -> (Memory, Memory) {
    // One stream per direction: halves of one stream would share a lock.
    let (near_writer, far_reader) = duplex(MEMORY_BUFFER);
    let (far_writer, near_reader) = duplex(MEMORY_BUFFER);
    let near = Memory {
        lines: Lines::with_limits(near_reader, near_writer, limits),
    };
    let far = Memory {
        lines: Lines::with_limits(far_reader, far_writer, limits),
    };
    (near, far)
}

impl Transport for Memory {
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Result<Received, TransportError>> {
        self.lines.poll_receive(cx)
    }

    fn send(&mut self, message: Vec<u8>) {
        self.lines.send(message);
    }

    fn queued(&self) -> usize {
        self.lines.queued()
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), TransportError>> {
        self.lines.poll_flush(cx)
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), TransportError>> {
        self.lines.poll_close(cx)
    }
}
