//! The path of one call, one module for each stage, in this order: resolve, validate, decide, approve, execute,
//! verify, record. Each stage takes what the one before gave.

pub(crate) mod approve;
pub(crate) mod decide;
pub(crate) mod execute;
mod outcome;
pub(crate) mod record;
pub(crate) mod resolve;
pub(crate) mod unknown;
pub(crate) mod validate;
pub(crate) mod verify;

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};

pub use approve::{Approver, MAX_ASKED, Question, Verdict};
pub use outcome::{Answer, Outcome};
pub use record::Report;

use crate::catalogue::OfferedTool;
use crate::name::hex;

/// What somebody wants to call.
#[derive(Debug, Clone, PartialEq)]
pub struct Proposal {
    /// The public name of a tool.
    pub tool: String,
    /// The arguments as they were given.
    pub arguments: Value,
}

impl Proposal {
    /// A proposal.
    pub fn new(tool: impl Into<String>, arguments: Value) -> Self {
        Self {
            tool: tool.into(),
            arguments,
        }
    }
}

/// A call that exists and whose arguments fit: exactly what is shown, approved, sent and recorded.
#[derive(Debug)]
pub struct ToolCall {
    tool: Arc<OfferedTool>,
    arguments: Map<String, Value>,
    /// The SHA-256 over server, definition and the bytes of the arguments.
    digest: String,
    /// What it has in common with the same call in other words.
    key: String,
}

impl ToolCall {
    fn new(tool: Arc<OfferedTool>, arguments: Map<String, Value>) -> Self {
        let digest = digest(&tool, &arguments);
        let key = unknown::key(&tool, &arguments);
        Self {
            tool,
            arguments,
            digest,
            key,
        }
    }

    /// The tool.
    pub fn tool(&self) -> &OfferedTool {
        &self.tool
    }

    /// The arguments.
    pub fn arguments(&self) -> &Map<String, Value> {
        &self.arguments
    }

    /// The SHA-256 over the server's id, the tool's definition and the bytes of the arguments.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Under which [`unknown::Unknown`] remembers it.
    fn key(&self) -> &str {
        &self.key
    }
}

fn digest(tool: &OfferedTool, arguments: &Map<String, Value>) -> String {
    let bytes = serde_json::to_vec(arguments).unwrap_or_default();
    hex(&[tool.server().as_bytes(), tool.hash().as_bytes(), &bytes])
}

/// Who decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DecidedBy {
    /// A rule.
    Rule,
    /// A person.
    Person,
}

/// What was decided, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Decision {
    /// Whether the call may be made.
    pub permitted: bool,
    /// Who decided.
    pub by: DecidedBy,
    /// Why.
    pub reason: String,
}

/// A value that may be used: only the stages `decide` and `approve` make one, and `execute` takes nothing else.
///
/// It cannot be cloned, so it serves once.
#[derive(Debug)]
pub struct Approved<T> {
    value: T,
    decision: Decision,
    at: tokio::time::Instant,
}

impl<T> Approved<T> {
    fn new(value: T, by: DecidedBy, reason: String) -> Self {
        let decision = Decision {
            permitted: true,
            by,
            reason,
        };
        Self {
            value,
            decision,
            at: tokio::time::Instant::now(),
        }
    }

    /// What was approved.
    pub fn value(&self) -> &T {
        &self.value
    }

    /// By whom and why.
    pub fn decision(&self) -> &Decision {
        &self.decision
    }
}

/// Where a call ends that is not made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stop {
    /// There is no such tool, or the arguments do not fit: for the model to mend.
    Invalid(String),
    /// It may not be made.
    Refused(Decision),
}

impl Stop {
    pub(crate) fn refused(by: DecidedBy, reason: impl Into<String>) -> Self {
        Self::Refused(Decision {
            permitted: false,
            by,
            reason: reason.into(),
        })
    }
}
