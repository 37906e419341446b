//! Everything that needs more than one crate: one executable, one module for each question asked.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on says so by a panic"
)]

mod cases;
mod definitions;
mod interop;
mod rounds;
mod runtime;
mod scenarios;
mod tasks;
mod tidy;
