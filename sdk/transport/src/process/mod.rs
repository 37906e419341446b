//! A process and everything it starts, as the operating system offers it.

use std::fmt;

#[cfg(not(unix))]
mod other;
#[cfg(unix)]
mod session;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
pub(crate) use other::{Input, Output, Process};
#[cfg(unix)]
pub(crate) use unix::{Input, Output, Process};

/// The ends of a child's three pipes that are ours.
pub(crate) struct Pipes {
    pub(crate) stdin: Input,
    pub(crate) stdout: Output,
    pub(crate) stderr: Output,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Status(i32),
    #[cfg_attr(not(unix), expect(dead_code, reason = "there are no signals"))]
    Signal(i32),
    /// Something else in this program has waited for the process and took its status away.
    #[cfg_attr(not(unix), expect(dead_code, reason = "a handle cannot be taken away"))]
    Unknown,
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => write!(f, "exited with status {status}"),
            Self::Signal(signal) => match signal_name(*signal) {
                Some(name) => write!(f, "was ended by signal {signal} ({name})"),
                None => write!(f, "was ended by signal {signal}"),
            },
            Self::Unknown => f.write_str("has ended"),
        }
    }
}

/// The signals a server is likely to end by.
fn signal_name(signal: i32) -> Option<&'static str> {
    // These numbers are the same on every Unix.
    Some(match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        6 => "SIGABRT",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        15 => "SIGTERM",
        _ => return None,
    })
}
