//! A server on its own stdin and stdout, seen from the process that started it.
//!
//! This program is both: with [`ECHO`] as its first argument it is the server, else it runs the tests.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

#[cfg(unix)]
mod echo;
#[cfg(unix)]
mod served;

/// Makes this program the server.
#[cfg(unix)]
const ECHO: &str = "--echo";

#[cfg(unix)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|arg| arg == ECHO) {
        return echo::run(args.iter().any(|arg| arg == "--stray"));
    }
    let filters: Vec<&String> = args.iter().filter(|arg| !arg.starts_with('-')).collect();
    for (name, test) in served::TESTS {
        if filters.is_empty() || filters.iter().any(|filter| name.contains(filter.as_str())) {
            use std::io::Write;
            writeln!(std::io::stderr(), "test {name}")?;
            test();
        }
    }
    Ok(())
}

#[cfg(not(unix))]
fn main() {}
