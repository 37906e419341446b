//! An MCP client: connect, list, call, answer what the server asks.
//!
//! The same calls speak both eras of the protocol; which one a server speaks is found out when connecting.
//! What this crate is not: it decides nothing. Whether a tool may be called, and what a result is worth, is
//! the application's matter.
//!
//! The types to know first:
//! - [`Connector`], from [`Client::spawn`], [`Client::command`], `Client::http`, [`Client::in_memory`] or [`Client::over`]:
//!   a server to connect to,
//! - [`Client`]: a connection to one server; clones share it,
//! - [`Call`]: a running call, with its progress; dropping it cancels it,
//! - [`TaskHandle`]: a call that goes on after its first answer, to hold on to,
//! - [`Inputs`]: answers to what a server asks its client for,
//! - [`CallError`]: a failure, or an outcome that nobody knows.
//!
//! ```
//! # #[cfg(unix)]
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use serde_json::json;
//! use trunkline_client::{Client, Command};
//!
//! // A server in one line of shell: it answers the probe, then one call.
//! let server = r#"
//!     read probe; echo '{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}}'
//!     read call; echo '{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","content":[{"type":"text","text":"21 °C"}]}}'
//! "#;
//! let weather = Client::command(Command::new("sh").arg("-c").arg(server)).connect().await?;
//! let now = weather.call("get_weather", &json!({ "city": "Seoul" })).await?;
//! assert_eq!(now.text(), "21 °C");
//! weather.close().await;
//! # Ok(()) }
//! # #[cfg(not(unix))]
//! # fn main() {}
//! ```
//!
//! | bound | value |
//! | --- | --- |
//! | wait for an answer | 1 min without a sign, 10 min in all ([`Timeouts`], [`Connector::timeouts`], [`CallOptions`]) |
//! | wait for the probe, the handshake | 3 s, 30 s ([`Connector::probe`], [`Connector::handshake`]) |
//! | end of a connection | 10 s; a child process bounds its own |
//! | bytes that wait to be written, requests that wait for answers | 64 MiB ([`MAX_QUEUED`]), 16 384 ([`MAX_WAITING`]); further requests are refused at once |
//! | rounds of input in one request, questions in one round | 16 ([`MAX_ROUNDS`]), 64 ([`MAX_QUESTIONS`]) |
//! | a call that became a task | followed for 1 hour ([`TASK_WAIT`], [`CallOptions::task_wait`]), polled every 0.1 to 60 s ([`MIN_POLL`], [`MAX_POLL`]) |
//! | questions of a legacy server that are answered at the same time | 64 |
//! | one list: pages, items, bytes | 1000 ([`MAX_LIST_PAGES`]), 100 000 ([`MAX_LIST_ITEMS`]), 64 MiB ([`MAX_LIST_BYTES`]) |
//! | pages in a row without a new item | 3 ([`MAX_BARREN_PAGES`]) |
//! | a list is kept | as long as the server says, at most a day ([`MAX_TTL`]) |
//! | notices held for each slow reader | 256, 4 MiB ([`MAX_NOTICES`], [`MAX_NOTICE_BYTES`]) |
//! | signs of progress held for each call | 64, 1 MiB |
//! | streams of notices that broke off | opened again after 0.25 s to 30 s, longer from one failure to the next |
//! | noise kept | the last 32 pieces, 200 bytes each ([`MAX_NOISE`]); all are counted |
//! | a request over HTTP that only asks and broke off | sent once more |
//! | command lines and addresses whose era is remembered | 64 |

mod address;
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
mod ports;
mod repeat;
mod subscription;
mod task;

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
pub use task::{MAX_POLL, MIN_POLL, Started, TASK_WAIT, TaskError, TaskFailure, TaskHandle};
#[cfg(feature = "http")]
pub use trunkline_http::client::{Proxies, Remote, RemoteKind};
pub use trunkline_proto::Timeouts;
pub use trunkline_proto::client::{
    Agreement, ConnectError as HandshakeError, Noise, NoiseReason, Opening, RequestError, Undelivered,
};
pub use trunkline_transport::{Command, InMemory, Tap, Transport, TransportError};
/// The messages of the protocol.
pub use trunkline_types as types;

/// Nothing here is left half done by a panic.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
