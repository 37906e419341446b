//! Everything that needs more than one crate: one executable, one module for each question asked.

#![expect(clippy::panic, reason = "tests say what is wrong by a panic")]

mod scenarios;
mod tidy;
