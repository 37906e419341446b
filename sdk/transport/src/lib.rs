//! Framed bytes between two MCP peers.
//!
//! A [`Transport`] carries whole messages as bytes and knows nothing of what they say: no JSON, no
//! ids, no revisions. One task drives it by polling; there are no locks, channels or tasks per
//! message. The transports:
//!
//! - [`memory`]: two connected ends in one process, for tests and for embedding;
//! - [`stdio`]: this process's own stdin and stdout, for a server;
//! - [`Command`] and [`Child`]: a program started as the far end, for a client;
//! - [`Lines`]: one message per line over any other pair of byte streams. The others are built on it.
//!
//! HTTP is not here: `trunkline-http` builds on this crate.
//!
//! | bound | value |
//! | --- | --- |
//! | message received | 16 MiB ([`DEFAULT_MAX_MESSAGE`], [`Limits`]); a longer line is skipped and reported |
//! | message sent, queue | none: see [`Transport::queued`] |
//! | memory pair, each direction | 64 KiB ([`MEMORY_BUFFER`]) |
//! | programs that are being started | 4 at a time ([`MAX_STARTING`]), further ones wait |
//! | stderr kept of a child | 64 lines, 8 KiB each |
//! | end of a child, until it is reported | 0.5 s after its output has ended |
//! | shutdown of a child | 2 s to end by itself, 2 s after SIGTERM, 2 s after SIGKILL |
//!
//! ```
//! # #[cfg(unix)]
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), trunkline_transport::TransportError> {
//! use std::future::poll_fn;
//! use trunkline_transport::{Command, Received, Transport};
//!
//! // `cat` answers every message with itself.
//! let mut peer = Command::new("cat").spawn()?;
//! peer.send(br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#.to_vec());
//! poll_fn(|cx| peer.poll_flush(cx)).await?;
//! let Received::Message(message) = poll_fn(|cx| peer.poll_receive(cx)).await? else {
//!     panic!("{:?}", peer.diagnosis());
//! };
//! assert_eq!(message, br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#[..]);
//! poll_fn(|cx| peer.poll_close(cx)).await?;
//! # Ok(()) }
//! # #[cfg(not(unix))]
//! # fn main() {}
//! ```

mod backoff;
mod bridge;
mod child;
mod command;
mod error;
mod frame;
mod lines;
mod memory;
mod outbox;
mod process;
mod spawn_error;
mod stderr;
mod stdio;
mod tap;
mod transport;

pub use backoff::Backoff;
pub use child::Child;
pub use command::{Command, INHERITED_ENV, MAX_STARTING};
pub use error::{TransportError, TransportErrorKind};
pub use lines::Lines;
pub use memory::{InMemory, MEMORY_BUFFER, Memory, memory, memory_with};
pub use stdio::{Stdio, stdio, stdio_with};
pub use tap::{Direction, Tap, Tapped, tapped};
pub use transport::{DEFAULT_MAX_MESSAGE, Limits, Received, Transport};
