//! The client against scripted servers.
#![expect(clippy::unwrap_used, reason = "a script that goes wrong fails its test")]

mod answering;
mod calling;
#[cfg(unix)]
mod child;
mod connecting;
mod ending;
mod listening;
mod listing;
mod peer;
