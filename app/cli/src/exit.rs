//! Exit statuses.

use std::process::ExitCode;

use trunkline_gate::Outcome;

/// How the command ends. The numbers are part of its interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// It did what was asked.
    Done,
    /// The tool or the question failed.
    Failed,
    /// The command line or the configuration is wrong.
    Usage,
    /// A rule or a person refused the call.
    Refused,
    /// A server failed; what could be done without it was done.
    ServerFailed,
    /// A call was sent, and nobody knows whether it ran.
    Unknown,
    /// A signal ended it.
    Interrupted,
}

/// For the help of every command.
pub(crate) const HELP: &str = "\
Exit status:
  0    done
  1    the tool or the question failed
  2    the command line or the configuration is wrong
  3    a rule or a person refused the call
  4    a configured server failed (what could be done without it was done)
  5    the outcome of a call is unknown: it may have been carried out
  130  ended by a signal";

impl Exit {
    /// The word for it in JSON.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Usage => "usage",
            Self::Refused => "refused",
            Self::ServerFailed => "server_failed",
            Self::Unknown => "unknown",
            Self::Interrupted => "interrupted",
        }
    }

    fn number(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Refused => 3,
            Self::ServerFailed => 4,
            Self::Unknown => 5,
            Self::Interrupted => 130,
        }
    }

    /// The status for a call's outcome.
    pub(crate) fn of(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Answered(answer) if !answer.is_error => Self::Done,
            Outcome::Refused { .. } => Self::Refused,
            Outcome::Unknown { .. } => Self::Unknown,
            _ => Self::Failed,
        }
    }

    /// The same, or [`Exit::ServerFailed`] where all is well but for a server.
    pub(crate) fn or_server_failed(self, any_down: bool) -> Self {
        if self == Self::Done && any_down {
            Self::ServerFailed
        } else {
            self
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.number())
    }
}
