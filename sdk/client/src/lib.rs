//! An MCP client: connect, list, call, answer what the server asks.
mod cache;
mod call;
mod client;
mod connector;
mod driver;
mod error;
mod feed;
mod inputs;
mod listing;
mod notices;
mod output;
mod subscription;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use cache::MAX_TTL;
pub use call::{Call, CallOptions, MAX_ROUNDS};
pub use client::Client;
pub use connector::Connector;
pub use driver::{MAX_QUEUED, MAX_WAITING};
pub use error::{CallError, ConnectError};
pub use inputs::{Inputs, MAX_QUESTIONS};
pub use listing::{Listing, MAX_BARREN_PAGES, MAX_LIST_BYTES, MAX_LIST_ITEMS, MAX_LIST_PAGES, Rejected};
pub use notices::{MAX_NOISE, MAX_NOTICE_BYTES, MAX_NOTICES, NoiseReport, Notice, NoticeStream};
pub use output::Called;
pub use subscription::Subscription;
pub use trunkline_proto::Timeouts;
pub use trunkline_proto::client::{
    Agreement, ConnectError as HandshakeError, Noise, NoiseReason, Opening, RequestError,
};
pub use trunkline_transport::{Command, InMemory, Tap, Transport, TransportError};
/// The messages of the protocol.
pub use trunkline_types as types;

/// Nothing here is left half done by a panic.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
