//! The client's end of HTTP against servers written by hand: bytes on loopback, one script a test.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod calling;
mod client;
mod closing;
mod faults;
mod http_sse;
mod listening;
mod redirecting;
mod renewing;
mod resuming;
mod server;
mod sessions;
mod wire;
