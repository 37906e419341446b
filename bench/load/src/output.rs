//! The one place of this program that prints.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the results go to stdout, how far it is and what went wrong to stderr"
)]

/// A part of the result.
pub(crate) fn result(text: &str) {
    println!("{text}");
}

/// How far it is, or why nothing more will happen.
pub(crate) fn progress(text: &str) {
    eprintln!("bench-load: {text}");
}
