//! A real server behind a real socket, and a client that sends what it likes: every revision over HTTP, what may go
//! wrong, and what somebody may do on purpose.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so by a panic")]
#![expect(clippy::expect_used, reason = "a test that cannot go on says so by a panic")]

mod asking;
mod batches;
mod disconnects;
mod events;
mod listening;
mod modern;
mod modern_headers;
mod requests;
mod sessions;
mod speak;
mod stage;
mod standing;
mod tower;
mod wire;
