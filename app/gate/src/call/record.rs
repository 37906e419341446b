//! What was decided and how it ended, for the journal and for the caller.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::{Map, Value, json};
use trunkline_journal::Journal;

use super::{Approved, DecidedBy, Decision, Outcome, Stop, ToolCall};
use crate::text::Flag;

/// One call from beginning to end.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// The public name that was called.
    pub tool: String,
    /// The server that it belongs to; none where there is no such tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The arguments as they were given.
    pub arguments: Value,
    /// What was decided; none where it never came to that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// How it ended.
    pub outcome: Outcome,
    /// From the proposal to the end, in milliseconds. The time that a person takes to decide is part of it.
    pub took_ms: u64,
}

#[derive(Serialize)]
struct Permitted<'a> {
    server: &'a str,
    tool: &'a str,
    definition: &'a str,
    arguments: &'a Map<String, Value>,
    digest: &'a str,
    effect: &'a str,
    by: DecidedBy,
    reason: &'a str,
}

/// Records a call that is not made.
pub(crate) fn stopped(journal: Option<&Journal>, tool: &str, arguments: &Value, stop: &Stop) {
    let Some(journal) = journal else { return };
    let (effect, by, reason) = match stop {
        Stop::Invalid(why) => ("invalid", None, why),
        Stop::Refused(decision) => ("refuse", Some(decision.by), &decision.reason),
    };
    let body = json!({ "tool": tool, "arguments": arguments, "effect": effect, "by": by, "reason": reason });
    journal.record("decision", &body);
}

/// A permitted call whose outcome is still to be recorded. One that is given up before is recorded as unknown.
pub(crate) struct Pending<'a> {
    journal: Option<&'a Journal>,
    digest: String,
}

impl<'a> Pending<'a> {
    /// Records a permission before the call is made, so that it stands there even if nothing after it does.
    pub(crate) fn permitted(journal: Option<&'a Journal>, approved: &Approved<ToolCall>) -> Self {
        let (call, decision) = (approved.value(), approved.decision());
        if let Some(journal) = journal {
            let body = Permitted {
                server: call.tool().server(),
                tool: &call.tool().definition().name,
                definition: call.tool().hash(),
                arguments: call.arguments(),
                digest: call.digest(),
                effect: "permit",
                by: decision.by,
                reason: &decision.reason,
            };
            journal.record("decision", &body);
        }
        let digest = call.digest().to_owned();
        Self { journal, digest }
    }

    /// Records how it ended.
    pub(crate) fn end(mut self, outcome: &Outcome) {
        ended(self.journal.take(), &self.digest, outcome);
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        if self.journal.is_some() {
            let why = "the call was given up before its end was known; it may have run".to_owned();
            ended(self.journal, &self.digest, &Outcome::Unknown { why });
        }
    }
}

/// Records how a call ended that was made.
fn ended(journal: Option<&Journal>, digest: &str, outcome: &Outcome) {
    let Some(journal) = journal else { return };
    let mut body = Ended {
        digest,
        kind: outcome.kind(),
        is_error: None,
        flags: None,
        why: None,
    };
    match outcome {
        Outcome::Answered(answer) => {
            body.is_error = Some(answer.is_error);
            body.flags = Some(&answer.flags);
        }
        Outcome::Refused { reason: why }
        | Outcome::Invalid { why }
        | Outcome::Failed { why }
        | Outcome::Unknown { why } => body.why = Some(why),
    }
    journal.record("outcome", &body);
}

#[derive(Serialize)]
struct Ended<'a> {
    digest: &'a str,
    kind: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    is_error: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    flags: Option<&'a BTreeSet<Flag>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
}
