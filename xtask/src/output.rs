//! The one place of this crate that prints.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a task runner tells people what it does"
)]

/// One line of progress or result, on stdout.
pub(crate) fn line(text: &str) {
    println!("{text}");
}

/// What is being done, on stderr, where stdout has a result.
pub(crate) fn progress(text: &str) {
    eprintln!("xtask: {text}");
}

/// Why nothing more will happen, on stderr.
pub(crate) fn problem(text: &str) {
    eprintln!("{text}");
}
