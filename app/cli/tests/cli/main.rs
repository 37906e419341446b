//! The command, run as a person runs it: the built program, its output, its exit status, and what it leaves behind.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so by a panic")]

mod bad_input;
mod commands;
mod help;
mod http_faults;
mod over_http;
mod questions;
mod run;
#[cfg(unix)]
mod signals;
#[cfg(unix)]
mod terminal;
