//! Why a call has no result, and why there is no connection.

use std::error::Error;
use std::fmt;

use trunkline_proto::client::{ConnectError as HandshakeError, RequestError, Undelivered};
use trunkline_transport::TransportError;
use trunkline_types::{ErrorObject, code};

use crate::TaskError;
use crate::call::MAX_ROUNDS;

/// Why a request has no usable result.
///
/// A tool that ran and failed is not here: its result says so, see [`Called::failed`](crate::Called::failed).
/// [`may_have_run`](Self::may_have_run) tells a failure from an outcome that nobody knows.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum CallError {
    /// The server answered with a protocol error.
    Refused(ErrorObject),
    /// The request was not sent: it is not in what was agreed with the server.
    NotSent(RequestError),
    /// The server answered something that is no answer to the request.
    Invalid(String),
    /// No answer came in time. The server was told that none is wanted any more.
    TimedOut,
    /// The connection ended while the request waited.
    Lost {
        /// What is known about the end, such as the exit status and the last lines of stderr.
        diagnosis: Option<String>,
    },
    /// The request got no answer, though the connection goes on: over HTTP each request is an exchange of its own.
    /// [`Undelivered::may_have_run`] tells one that broke off from one that did not get through.
    Undelivered(Undelivered),
    /// The connection had ended before: the request was not sent.
    Closed {
        /// What is known about the end.
        diagnosis: Option<String>,
    },
    /// The request was not sent: the server does not take what was sent before.
    Congested {
        /// How many bytes wait to be taken.
        queued: usize,
        /// How many requests wait for an answer.
        waiting: usize,
    },
    /// The server asked for input again and again.
    TooManyRounds,
    /// The server asked for something that this client does not give.
    Unanswered(ErrorObject),
    /// The tool ran, and its structured result is not what it must be.
    Mismatch(String),
    /// The arguments are not a JSON object.
    Arguments(String),
    /// The call became a task, which has no usable result.
    Task(Box<TaskError>),
}

/// The errors that come before any work: no valid request, no such method, no valid parameters; headers that do not
/// fit the body, no such revision.
const BEFORE_THE_WORK: [i64; 5] = [
    code::INVALID_REQUEST,
    code::METHOD_NOT_FOUND,
    code::INVALID_PARAMS,
    code::HEADER_MISMATCH,
    code::UNSUPPORTED_VERSION,
];

impl CallError {
    /// Whether the server may have done what was asked. Such a request must not be repeated blindly.
    ///
    /// Nothing was done where the request was not sent, or the server says that it is no request, that it does not know
    /// the method or the revision, or that the parameters or headers do not fit (-32600, -32601, -32602, -32020,
    /// -32022). Any other error proves nothing.
    ///
    /// ```
    /// use trunkline_client::CallError;
    /// assert!(CallError::TimedOut.may_have_run());
    /// assert!(!CallError::Arguments("not an object".into()).may_have_run());
    /// ```
    pub fn may_have_run(&self) -> bool {
        match self {
            Self::TimedOut
            | Self::Lost { .. }
            | Self::Invalid(_)
            | Self::Mismatch(_)
            // The work had begun when it became a task.
            | Self::Task(_)
            // The server was at it already when it asked.
            | Self::TooManyRounds
            | Self::Unanswered(_) => true,
            // Any other code may come from the middle of the work, or from after it.
            Self::Refused(error) => !BEFORE_THE_WORK.contains(&error.code),
            Self::Undelivered(undelivered) => undelivered.may_have_run,
            Self::NotSent(_) | Self::Closed { .. } | Self::Congested { .. } | Self::Arguments(_) => false,
        }
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(error) => write!(f, "the server refused: {error}"),
            Self::NotSent(error) => error.fmt(f),
            Self::Invalid(why) => write!(f, "the server's answer cannot be used: {why}"),
            Self::TimedOut => f.write_str("the server did not answer in time; the request may have run"),
            Self::Lost { diagnosis } => {
                f.write_str("the connection ended before the answer; the request may have run")?;
                write_diagnosis(f, diagnosis.as_deref())
            }
            Self::Undelivered(Undelivered { may_have_run, why, .. }) => {
                f.write_str(if *may_have_run {
                    "no answer came; the request may have run ("
                } else {
                    "the request did not get through and was not run ("
                })?;
                write_plain(f, why)?;
                f.write_str(")")
            }
            Self::Closed { diagnosis } => {
                f.write_str("the connection has ended; connect again")?;
                write_diagnosis(f, diagnosis.as_deref())
            }
            Self::Congested { queued, waiting } => write!(
                f,
                "the server does not keep up: {queued} bytes wait to be written and {waiting} requests for an answer; \
                 try again later"
            ),
            Self::TooManyRounds => write!(
                f,
                "the server asked for input more than {MAX_ROUNDS} times in one request"
            ),
            Self::Unanswered(error) => write!(f, "the server asked for input that it does not get: {error}"),
            Self::Mismatch(why) => write!(f, "the tool ran, but its structured result is wrong: {why}"),
            Self::Task(error) => error.fmt(f),
            Self::Arguments(why) => write!(f, "arguments must be a JSON object: {why}"),
        }
    }
}

impl Error for CallError {}

fn write_diagnosis(f: &mut fmt::Formatter<'_>, diagnosis: Option<&str>) -> fmt::Result {
    match diagnosis {
        Some(diagnosis) => write!(f, " ({diagnosis})"),
        None => Ok(()),
    }
}

/// Why there is no connection, in one line: the fault and the next thing to try.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ConnectError {
    /// The server cannot be reached, or does not frame its messages as MCP does.
    Transport(TransportError),
    /// The server was reached, and no agreement was found; with what is known about the server.
    Handshake(HandshakeError, Option<String>),
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Transport(error) => {
                error.fmt(f)?;
                match error.source() {
                    Some(source) => write!(f, ": {source}"),
                    None => Ok(()),
                }
            }
            Self::Handshake(error, diagnosis) => {
                // Some of it is the server's text, which may hold anything.
                write_plain(f, &error.to_string())?;
                write_diagnosis(f, diagnosis.as_deref())?;
                write!(f, "; {}", next_step(error))
            }
        }
    }
}

fn write_plain(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    text.chars().try_for_each(|c| {
        if c.is_control() {
            write!(f, "{}", c.escape_debug())
        } else {
            write!(f, "{c}")
        }
    })
}

fn next_step(error: &HandshakeError) -> &'static str {
    match error {
        HandshakeError::NoCommonRevision { .. } => "update the older of both",
        HandshakeError::Silent => "check that it is an MCP server, or allow it more time for its start",
        HandshakeError::Ended { .. } => "run its command in a terminal, or read its log, to see why it ends",
        HandshakeError::Refused(_) => "check its own configuration, or update it",
        HandshakeError::Undelivered(undelivered) => next_step_over_http(undelivered),
        _ => "check that it is an MCP server and speaks this transport",
    }
}

fn next_step_over_http(undelivered: &Undelivered) -> &'static str {
    match undelivered.status {
        None if undelivered.may_have_run => "check that an MCP server runs at this address",
        None => "check its address, and that it runs",
        Some(300..=399) => "if that is where the server is now, use that address",
        Some(401 | 403) => "give it a header that authorizes you, or check the one that it was given",
        Some(407) => "write a user name and a password into the address of the proxy",
        Some(408 | 425 | 429 | 500..=599) => "try again later, or look into its log",
        Some(200..=299 | 400 | 404..=406 | 410 | 415) => {
            "check its address and its transport: this is not how an MCP server answers"
        }
        Some(_) => "check its address and its headers",
    }
}

impl Error for ConnectError {}

impl From<TransportError> for ConnectError {
    fn from(error: TransportError) -> Self {
        Self::Transport(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TaskFailure;
    use trunkline_transport::TransportErrorKind;

    #[test]
    fn every_reason_is_one_line_with_the_next_thing_to_try() {
        let ended = HandshakeError::Ended { by_probe: true };
        let error = ConnectError::Handshake(ended, Some("exit status 3; last lines of stderr: no token".to_owned()));
        assert_eq!(
            error.to_string(),
            "the server ended before the handshake was done (exit status 3; last lines of stderr: no token); run its \
             command in a terminal, or read its log, to see why it ends"
        );
        let refused = HandshakeError::Refused(ErrorObject::internal("no\n\x1b[2J"));
        let refused = ConnectError::Handshake(refused, None).to_string();
        assert!(
            refused.contains(r"no\n\u{1b}[2J") && !refused.contains('\n'),
            "{refused}"
        );
        let fault = TransportError::new(TransportErrorKind::Io, "reading failed");
        let fault = fault.with_source(std::io::Error::other("disk on fire"));
        assert_eq!(ConnectError::from(fault).to_string(), "reading failed: disk on fire");
    }

    fn undelivered(may_have_run: bool) -> Undelivered {
        Undelivered {
            may_have_run,
            status: None,
            why: "connection\nrefused".to_owned(),
        }
    }

    #[test]
    fn a_request_without_an_answer_says_whether_it_may_have_run() {
        assert_eq!(
            CallError::Undelivered(undelivered(true)).to_string(),
            r"no answer came; the request may have run (connection\nrefused)"
        );
        assert_eq!(
            CallError::Undelivered(undelivered(false)).to_string(),
            r"the request did not get through and was not run (connection\nrefused)"
        );
        let connect = |status| {
            let undelivered = Undelivered {
                status,
                ..undelivered(false)
            };
            ConnectError::Handshake(HandshakeError::Undelivered(undelivered), None).to_string()
        };
        for (status, next) in [
            (None, "check its address, and that it runs"),
            (Some(200), "not how an MCP server answers"),
            (Some(308), "use that address"),
            (Some(401), "give it a header that authorizes you"),
            (Some(404), "its address and its transport"),
            (Some(407), "the proxy"),
            (Some(413), "its address and its headers"),
            (Some(503), "try again later"),
        ] {
            let said = connect(status);
            assert!(
                said.starts_with(r"connection\nrefused; ") && said.contains(next),
                "{said}"
            );
        }
    }

    #[test]
    fn an_unknown_outcome_is_told_from_a_failure() {
        let diagnosis = Some("exit status 1".to_owned());
        for error in [
            CallError::TimedOut,
            CallError::Invalid("x".into()),
            CallError::Mismatch("x".into()),
            CallError::Refused(ErrorObject::internal("crashed after the commit")),
            CallError::Refused(ErrorObject::new(-32000, "x")),
            CallError::Unanswered(ErrorObject::internal("x")),
            CallError::TooManyRounds,
            CallError::Task(Box::new(TaskError {
                id: "t".into(),
                why: TaskFailure::Failed(ErrorObject::invalid_params("found out halfway")),
            })),
            CallError::Lost {
                diagnosis: diagnosis.clone(),
            },
            CallError::Undelivered(undelivered(true)),
        ] {
            assert!(error.may_have_run(), "{error}");
        }
        for error in [
            CallError::Refused(ErrorObject::new(-32600, "x")),
            CallError::Refused(ErrorObject::new(-32601, "x")),
            CallError::Refused(ErrorObject::new(-32602, "x")),
            CallError::Refused(ErrorObject::new(-32020, "x")),
            CallError::Refused(ErrorObject::new(-32022, "x")),
            CallError::NotSent(RequestError::NotConnected),
            CallError::Undelivered(undelivered(false)),
            CallError::Closed { diagnosis },
            CallError::Congested { queued: 1, waiting: 1 },
        ] {
            assert!(!error.may_have_run(), "{error}");
        }
    }
}
