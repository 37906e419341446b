//! A real server behind a real socket, and a client that sends what it likes: every revision over HTTP, what may go
//! wrong, and what somebody may do on purpose.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so by a panic")]
#![expect(clippy::expect_used, reason = "a test that cannot go on says so by a panic")]

mod asking;
mod batches;
mod bounds;
mod breaks;
mod disconnects;
mod eras;
mod events;
mod http_sse;
mod listening;
mod modern;
mod modern_headers;
mod origins;
mod requests;
mod resuming;
mod sessions;
mod speak;
mod stage;
mod standing;
mod stopping;
mod tower;
mod wire;
