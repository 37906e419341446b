//! What tests share: a simulated pair with a fake clock, and peers that speak raw lines or raw HTTP.
//!
//! Not for use outside of tests; nothing here is stable.

#![expect(clippy::expect_used, reason = "a test that cannot go on says so by a panic")]

mod http_peer;
mod line_client;
mod pair;
mod raw;

pub use http_peer::{Answer, Asked, HttpPeer};
pub use line_client::{BOTH, LineClient, MODERN, assert_plain};
pub use pair::{Direction, Fault, Pair};
pub use raw::RawPeer;
