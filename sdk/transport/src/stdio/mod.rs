//! This process's own stdin and stdout, for a server.

use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use crate::{Limits, Lines, Received, Transport, TransportError, TransportErrorKind};

#[cfg(not(unix))]
mod other;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
use other::{Input, Output, open};
#[cfg(unix)]
use unix::{Input, Output, open};

/// The connection over this process's stdin and stdout. Made by [`stdio`].
#[derive(Debug)]
pub struct Stdio {
    lines: Lines<Input, Output>,
}

static TAKEN: AtomicBool = AtomicBool::new(false);

/// Takes this process's stdin and stdout for a connection. Call it once, on a tokio runtime with
/// I/O enabled.
///
/// **They are taken for good.** From here on only messages reach the peer: what this process or a
/// program it starts prints to stdout goes to stderr, and its stdin is empty. (Where stdout and
/// stderr are the same file, a stray print goes nowhere.) Elsewhere than on Unix nothing is
/// redirected, and a stray print is seen by the peer.
///
/// Pipes and sockets are polled. They become non-blocking, which another process that holds the
/// very same end would notice: they are made blocking again when the transport is closed or
/// dropped. Files, terminals and `/dev/null` cannot be polled; each is served by a thread.
///
/// A server started with an empty stdin receives [`Received::End`] at once. A peer that has gone is
/// an error of kind [`Closed`](TransportErrorKind::Closed) from `poll_flush`, never a signal.
/// [`poll_close`](Transport::poll_close) lets the peer see the end of the output.
///
/// ```no_run
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), trunkline_transport::TransportError> {
/// use std::future::poll_fn;
/// use trunkline_transport::{Received, Transport, stdio};
///
/// let mut peer = stdio()?;
/// while let Received::Message(message) = poll_fn(|cx| peer.poll_receive(cx)).await? {
///     peer.send(message.to_vec());
///     poll_fn(|cx| peer.poll_flush(cx)).await?;
/// }
/// # Ok(()) }
/// ```
///
/// # Errors
/// [`Setup`](TransportErrorKind::Setup) without a runtime, when called a second time, or when the
/// system refuses what is needed.
pub fn stdio() -> Result<Stdio, TransportError> {
    stdio_with(Limits::default())
}

/// [`stdio`] with other limits.
///
/// # Errors
/// See [`stdio`].
pub fn stdio_with(limits: Limits) -> Result<Stdio, TransportError> {
    if tokio::runtime::Handle::try_current().is_err() {
        return Err(setup("serving stdio needs a tokio runtime: call it from async code"));
    }
    if TAKEN.swap(true, Ordering::Relaxed) {
        return Err(setup(
            "stdin and stdout are taken already: a process can serve stdio only once",
        ));
    }
    let (input, output) = open().map_err(|error| setup("cannot take over stdin and stdout").with_source(error))?;
    Ok(Stdio {
        lines: Lines::with_limits(input, output, limits),
    })
}

fn setup(message: &str) -> TransportError {
    TransportError::new(TransportErrorKind::Setup, message)
}

impl Transport for Stdio {
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
