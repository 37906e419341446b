//! What can go wrong below the messages.

use std::error::Error;
use std::fmt;
use std::io;
use std::sync::Arc;

/// Why a transport failed: what happened, where, and what to try.
///
/// Cloning is cheap, so one failure can be told to every call that waits on the connection.
///
/// ```
/// use trunkline_transport::{TransportError, TransportErrorKind};
///
/// let error = TransportError::new(TransportErrorKind::Closed, "the peer has gone");
/// assert_eq!(error.kind(), TransportErrorKind::Closed);
/// assert_eq!(error.to_string(), "the peer has gone");
/// ```
#[derive(Clone, Debug)]
pub struct TransportError {
    kind: TransportErrorKind,
    message: String,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

/// The kinds of [`TransportError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TransportErrorKind {
    /// The peer no longer takes messages. What it sent before may still be waiting to be received.
    Closed,
    /// The operating system reported another fault while reading or writing.
    Io,
    /// A child process could not be started.
    Spawn,
    /// The peer frames its messages in another way than one JSON text per line.
    ForeignFraming,
    /// The endpoint cannot be set up here: no runtime, or standard input and output are already taken.
    Setup,
}

impl TransportError {
    /// An error with the text that [`Display`](fmt::Display) shows.
    pub fn new(kind: TransportErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            source: None,
        }
    }

    /// Adds the error that caused this one.
    pub fn with_source(mut self, source: impl Error + Send + Sync + 'static) -> Self {
        self.source = Some(Arc::new(source));
        self
    }

    /// The kind, to decide by.
    pub fn kind(&self) -> TransportErrorKind {
        self.kind
    }

    /// The peer has stopped reading.
    pub(crate) fn closed() -> Self {
        Self::new(
            TransportErrorKind::Closed,
            "the peer no longer takes messages: it closed its input or has ended",
        )
    }

    /// A fault while `doing` something with the peer's streams, `Closed` if the peer has gone.
    pub(crate) fn io(doing: &str, error: io::Error) -> Self {
        if is_disconnect(&error) {
            return Self::closed().with_source(error);
        }
        Self::new(TransportErrorKind::Io, format!("{doing} failed")).with_source(error)
    }

    /// The peer uses header framing; `seen` is the first header line.
    pub(crate) fn foreign_framing(seen: &[u8]) -> Self {
        let seen = String::from_utf8_lossy(seen);
        Self::new(
            TransportErrorKind::ForeignFraming,
            format!(
                "the peer frames its messages with headers (\"{}\"), as language servers do; MCP is one JSON \
                 message per line: start a program that speaks MCP, or a release of it that does",
                seen.trim().escape_debug()
            ),
        )
    }
}

/// Whether `error` says that the other end is gone, which is an end and not a fault.
pub(crate) fn is_disconnect(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::BrokenPipe
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::NotConnected
    )
}

impl fmt::Display for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for TransportError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_peer_is_closed_and_other_faults_are_io() {
        let lost = TransportError::io("writing", io::ErrorKind::BrokenPipe.into());
        assert_eq!(lost.kind(), TransportErrorKind::Closed);
        let fault = TransportError::io("writing to the peer", io::Error::other("no room"));
        assert_eq!(fault.kind(), TransportErrorKind::Io);
        assert_eq!(fault.to_string(), "writing to the peer failed");
        assert_eq!(fault.source().unwrap().to_string(), "no room");
    }

    #[test]
    fn foreign_framing_names_what_was_seen_on_one_line() {
        let error = TransportError::foreign_framing(b"Content-Length: 40\r");
        assert!(error.to_string().contains("(\"Content-Length: 40\")"), "{error}");
        assert!(
            !TransportError::foreign_framing(b"Content-Length: \x1b[2J\n7")
                .to_string()
                .contains(['\n', '\x1b'])
        );
    }
}
