//! The one trait that every connection offers.

use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use trunkline_types::RequestId;

use crate::{Tap, TransportError};

/// One endpoint that carries whole messages as bytes.
///
/// A connection is driven by one task. It calls [`poll_receive`](Self::poll_receive) and
/// [`poll_flush`](Self::poll_flush) in turn, whichever of them is pending, so that two peers whose
/// pipes are full in both directions still make progress. A poll that returns `Pending` wakes the
/// task that polled last.
///
/// A failed `poll_flush` says that the *writing* half is lost. What the peer sent before can still
/// be received: go on until [`Received::End`].
pub trait Transport: Send + 'static {
    /// The next thing the peer sent. After [`Received::End`] it stays at the end.
    ///
    /// # Errors
    /// Reading failed, or the peer speaks another framing. The same error is returned from then on.
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Result<Received, TransportError>>;

    /// Queues one message, a JSON text; the transport adds its frame. Never waits.
    ///
    /// The queue has no bound of its own: look at [`queued`](Self::queued) before sending more. A
    /// message queued after the connection failed or was closed is dropped.
    fn send(&mut self, message: Vec<u8>);

    /// Bytes that are queued and not yet written.
    fn queued(&self) -> usize;

    /// Writes what is queued, in as few writes as possible. `Pending` until all of it is written.
    ///
    /// # Errors
    /// The peer no longer reads ([`Closed`](crate::TransportErrorKind::Closed)), or writing failed.
    /// What was queued is dropped, and the same error is returned from then on.
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), TransportError>>;

    /// Flushes, then ends the connection. Idempotent.
    ///
    /// A child process is taken through its whole shutdown, which is bounded in time. Elsewhere the
    /// flush lasts as long as the peer lets it: bound it, and drop the transport when time is up.
    ///
    /// # Errors
    /// What was queued could not be written, or the connection could not be ended properly. It is
    /// over in either case.
    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), TransportError>>;

    /// What is known about why the peer went away, such as its exit status and the end of its
    /// stderr, for error messages.
    fn diagnosis(&self) -> Option<String> {
        None
    }

    /// Lets `tap` hear the peer's stderr, where there is one. [`tapped`](crate::tapped) calls it.
    fn tap_stderr(&mut self, _tap: &Arc<dyn Tap>) {}
}

/// What arrived from the peer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Received {
    /// One line that is not blank, without its line end or a leading byte order mark.
    Message(Bytes),
    /// A line longer than the limit. The rest of it, up to the next line end, is skipped, so that
    /// the connection stays in step.
    TooLong {
        /// The limit that was passed, in bytes.
        limit: usize,
        /// The first bytes of the line, at most 1 KiB.
        start: Bytes,
    },
    /// One request has no answer and will get none, though the connection goes on. Only a transport that carries
    /// each request by itself, as HTTP does, can tell; if the request was answered all the same, it means nothing.
    Undelivered {
        /// The request.
        id: RequestId,
        /// Whether the peer may have done what was asked. False only where it certainly did not.
        may_have_run: bool,
        /// The HTTP status, where the peer answered with one.
        status: Option<u16>,
        /// What went wrong and where, in one line.
        why: String,
    },
    /// The peer had forgotten the connection, and it was made anew with the same agreement: what the peer was told
    /// to remember, it does not remember, and what it said before may have changed.
    Renewed,
    /// Something is wrong that fails no request, in one line.
    Warning(String),
    /// The peer will send no more.
    End,
}

/// Default for [`Limits::max_message`]: 16 MiB.
pub const DEFAULT_MAX_MESSAGE: usize = 16 * 1024 * 1024;

/// What a transport accepts from its peer.
///
/// ```
/// use trunkline_transport::Limits;
///
/// assert_eq!(Limits::default().max_message, 16 * 1024 * 1024);
/// assert_eq!(Limits::default().with_max_message(1024).max_message, 1024);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The most bytes one message may have, not counting its frame.
    pub max_message: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_message: DEFAULT_MAX_MESSAGE,
        }
    }
}

impl Limits {
    /// The same limits with another size for messages.
    pub fn with_max_message(mut self, bytes: usize) -> Self {
        self.max_message = bytes;
        self
    }
}

impl Transport for Box<dyn Transport> {
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Result<Received, TransportError>> {
        (**self).poll_receive(cx)
    }

    fn send(&mut self, message: Vec<u8>) {
        (**self).send(message);
    }

    fn queued(&self) -> usize {
        (**self).queued()
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), TransportError>> {
        (**self).poll_flush(cx)
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), TransportError>> {
        (**self).poll_close(cx)
    }

    fn diagnosis(&self) -> Option<String> {
        (**self).diagnosis()
    }

    fn tap_stderr(&mut self, tap: &Arc<dyn Tap>) {
        (**self).tap_stderr(tap);
    }
}
