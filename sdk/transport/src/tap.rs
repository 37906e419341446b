//! Listening to a connection.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use crate::{Received, Transport, TransportError};

/// Hears every message of a connection, in both directions.
///
/// It is called by the task that drives the connection, so it should be quick: write to a buffer,
/// hand over to a channel.
pub trait Tap: Send + Sync + 'static {
    /// One message, without its frame. A sent message is heard when it is queued.
    fn message(&self, direction: Direction, message: &[u8]);

    /// One line that a child process wrote to its stderr, without its line end.
    fn stderr(&self, _line: &[u8]) {}
}

/// Which way a message goes, seen from our end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From us to the peer.
    Sent,
    /// From the peer to us.
    Received,
}

/// A transport with a [`Tap`] on it, made by [`tapped`].
pub struct Tapped<T> {
    transport: T,
    tap: Arc<dyn Tap>,
}

/// Puts `tap` on `transport`.
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use trunkline_transport::{Direction, Tap, Transport, memory, tapped};
///
/// struct Heard(Mutex<Vec<(Direction, Vec<u8>)>>);
/// impl Tap for Heard {
///     fn message(&self, direction: Direction, message: &[u8]) {
///         self.0.lock().unwrap().push((direction, message.to_vec()));
///     }
/// }
///
/// let heard = Arc::new(Heard(Mutex::default()));
/// let (client, _server) = memory();
/// let mut client = tapped(client, heard.clone());
/// client.send(b"{}".to_vec());
/// assert_eq!(*heard.0.lock().unwrap(), [(Direction::Sent, b"{}".to_vec())]);
/// ```
pub fn tapped<T: Transport>(mut transport: T, tap: Arc<dyn Tap>) -> Tapped<T> {
    transport.tap_stderr(&tap);
    Tapped { transport, tap }
}

impl<T: Transport> Transport for Tapped<T> {
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Result<Received, TransportError>> {
        let received = ready!(self.transport.poll_receive(cx))?;
        if let Received::Message(message) = &received {
            self.tap.message(Direction::Received, message);
        }
        Poll::Ready(Ok(received))
    }

    fn send(&mut self, message: Vec<u8>) {
        self.tap.message(Direction::Sent, &message);
        self.transport.send(message);
    }

    fn queued(&self) -> usize {
        self.transport.queued()
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), TransportError>> {
        self.transport.poll_flush(cx)
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), TransportError>> {
        self.transport.poll_close(cx)
    }

    fn diagnosis(&self) -> Option<String> {
        self.transport.diagnosis()
    }

    fn tap_stderr(&mut self, tap: &Arc<dyn Tap>) {
        self.transport.tap_stderr(tap);
    }
}

impl<T: fmt::Debug> fmt::Debug for Tapped<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tapped")
            .field("transport", &self.transport)
            .finish_non_exhaustive()
    }
}
