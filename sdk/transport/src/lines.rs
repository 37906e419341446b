//! One JSON text per line, over any pair of byte streams.

use std::fmt;
use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};

use crate::error::is_disconnect;
use crate::frame::{Frame, Incoming};
use crate::outbox::Outbox;
use crate::{Limits, Received, Transport, TransportError};

/// Messages as lines over a reader and a writer: a pipe pair, a Unix or TCP socket, anything.
///
/// Line ends may be LF or CRLF, blank lines and a byte order mark in front of a line are passed
/// over, and a last line without a line end still counts. The memory held for receiving is at most
/// twice [`Limits::max_message`] and falls back after a large message.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// use std::future::poll_fn;
/// use trunkline_transport::{Lines, Received, Transport};
///
/// let (ours, theirs) = tokio::io::duplex(1024);
/// let (reader, writer) = tokio::io::split(ours);
/// let mut near = Lines::new(reader, writer);
/// let (reader, writer) = tokio::io::split(theirs);
/// let mut far = Lines::new(reader, writer);
///
/// near.send(br#"{"jsonrpc":"2.0","method":"ping","id":1}"#.to_vec());
/// poll_fn(|cx| near.poll_flush(cx)).await.unwrap();
/// let received = poll_fn(|cx| far.poll_receive(cx)).await.unwrap();
/// assert!(matches!(received, Received::Message(line) if line.ends_with(b"\"id\":1}")));
/// # }
/// ```
pub struct Lines<R, W> {
    reader: R,
    writer: W,
    incoming: Incoming,
    outbox: Outbox,
    ended: bool,
    receive_fault: Option<TransportError>,
    send_fault: Option<TransportError>,
    closed: bool,
}

impl<R, W> Lines<R, W>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    /// Lines with the default [`Limits`].
    pub fn new(reader: R, writer: W) -> Self {
        Self::with_limits(reader, writer, Limits::default())
    }

    /// Lines with other limits.
    pub fn with_limits(reader: R, writer: W, limits: Limits) -> Self {
        Self {
            reader,
            writer,
            incoming: Incoming::new(limits.max_message),
            outbox: Outbox::default(),
            ended: false,
            receive_fault: None,
            send_fault: None,
            closed: false,
        }
    }

    pub(crate) fn reader_mut(&mut self) -> &mut R {
        &mut self.reader
    }

    fn received(&mut self, frame: Frame) -> Result<Received, TransportError> {
        match frame {
            Frame::Message(line) => Ok(Received::Message(line)),
            Frame::TooLong(start) => Ok(Received::TooLong {
                limit: self.incoming.limit(),
                start,
            }),
            Frame::Foreign(header) => Err(self.receive_failed(TransportError::foreign_framing(&header))),
        }
    }

    fn receive_failed(&mut self, error: TransportError) -> TransportError {
        self.receive_fault = Some(error.clone());
        error
    }

    fn send_failed(&mut self, error: TransportError) -> TransportError {
        self.outbox.clear();
        self.send_fault = Some(error.clone());
        error
    }
}

impl<R, W> Transport for Lines<R, W>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Result<Received, TransportError>> {
        if let Some(error) = &self.receive_fault {
            return Poll::Ready(Err(error.clone()));
        }
        loop {
            if let Some(frame) = self.incoming.next() {
                return Poll::Ready(self.received(frame));
            }
            if self.ended {
                return Poll::Ready(Ok(Received::End));
            }
            // The future holds no state of its own, so it can be made anew for every poll.
            let read = pin!(self.reader.read_buf(&mut self.incoming.room())).poll(cx);
            match ready!(read) {
                Ok(0) => self.ended = true,
                Ok(_) => continue,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if is_disconnect(&error) => self.ended = true,
                Err(error) => {
                    let error = TransportError::io("reading from the peer", error);
                    return Poll::Ready(Err(self.receive_failed(error)));
                }
            }
            if let Some(frame) = self.incoming.finish() {
                return Poll::Ready(self.received(frame));
            }
        }
    }

    fn send(&mut self, message: Vec<u8>) {
        // After a fault nothing can leave any more; keeping it would only grow.
        if self.send_fault.is_none() && !self.closed {
            self.outbox.push(message);
        }
    }

    fn queued(&self) -> usize {
        self.outbox.queued()
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), TransportError>> {
        if let Some(error) = &self.send_fault {
            return Poll::Ready(Err(error.clone()));
        }
        if self.closed {
            return Poll::Ready(Ok(()));
        }
        let written = match ready!(self.outbox.poll_write(&mut self.writer, cx)) {
            Ok(()) => ready!(Pin::new(&mut self.writer).poll_flush(cx)),
            Err(error) => Err(error),
        };
        Poll::Ready(written.map_err(|error| self.send_failed(TransportError::io("writing to the peer", error))))
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), TransportError>> {
        if self.closed {
            return Poll::Ready(Ok(()));
        }
        let flushed = ready!(self.poll_flush(cx));
        let shut = ready!(Pin::new(&mut self.writer).poll_shutdown(cx));
        self.closed = true;
        self.outbox.clear();
        flushed?;
        match shut {
            Err(error) if !is_disconnect(&error) => {
                Poll::Ready(Err(TransportError::io("closing the connection", error)))
            }
            _ => Poll::Ready(Ok(())),
        }
    }
}

impl<R, W> fmt::Debug for Lines<R, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lines")
            .field("queued", &self.outbox.queued())
            .field("ended", &self.ended)
            .field("closed", &self.closed)
            .finish_non_exhaustive()
    }
}
