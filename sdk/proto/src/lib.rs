//! The state of one connection, for client and server, in both eras.
//!
//! This crate does no I/O: bytes go in through `handle_message`, bytes come out of `poll_transmit`.
//! It knows no clock: every function that needs the time takes it, as the time since some moment that
//! the caller chose. It knows no randomness: keys are given to it.
//!
//! The types to know first:
//! - [`server::Connection`] and [`client::Connection`]: order of the handshake, version negotiation, ids
//!   in flight, cancellation, timeouts, subscriptions,
//! - [`Shape`]: what a result looks like in a revision,
//! - [`Sealer`]: the state that a modern server hands to its client and gets back.
//!
//! ```
//! use std::time::Duration;
//! use trunkline_proto::{client, server};
//!
//! let now = Duration::ZERO;
//! let mut server = server::Connection::new(server::Config::new("echo", "1.0").into());
//! let mut client = client::Connection::new(client::Config::new("demo", "1.0"), now);
//! while client.agreement().is_none() {
//!     while let Some(message) = client.poll_transmit() {
//!         server.handle_message(now, &message);
//!     }
//!     while let Some(message) = server.poll_transmit() {
//!         client.handle_message(now, &message);
//!     }
//! }
//! assert_eq!(client.agreement().unwrap().server.name, "echo");
//! ```

pub mod client;
mod outgoing;
mod prefix;
mod seal;
pub mod server;
mod shape;

pub use outgoing::{Timeouts, Wanted};
pub use seal::{MAX_STATE, SealError, Sealed, Sealer};
pub use shape::Shape;
