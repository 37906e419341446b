//! How a call ended.

use std::collections::BTreeSet;

use serde::ser::{Serialize, SerializeStruct, Serializer};
use serde_json::Value;
use trunkline_types::CallToolResult;

use crate::text::Flag;

/// How a call ended.
///
/// ```
/// use trunkline_gate::Outcome;
/// let refused = Outcome::Refused { reason: "the person refused this call".into() };
/// assert!(refused.for_model().starts_with("The call was not made"));
/// ```
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Outcome {
    /// The server answered; the tool itself may have failed.
    Answered(Box<Answer>),
    /// The call was not made: a rule or a person said no.
    Refused {
        /// Why.
        reason: String,
    },
    /// The call was not made: there is no such tool, or the arguments do not fit.
    Invalid {
        /// What is wrong, so that it can be mended.
        why: String,
    },
    /// The call failed, and nothing was done.
    Failed {
        /// Why.
        why: String,
    },
    /// The call was sent, and nobody knows whether it ran. It is not made again until a person says what happened.
    Unknown {
        /// What is known.
        why: String,
    },
}

impl Outcome {
    /// The word for the kind of end, as the JSON form has it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Answered(_) => "answered",
            Self::Refused { .. } => "refused",
            Self::Invalid { .. } => "invalid",
            Self::Failed { .. } => "failed",
            Self::Unknown { .. } => "unknown",
        }
    }

    /// Whether the tool did what it was asked.
    pub fn succeeded(&self) -> bool {
        matches!(self, Self::Answered(answer) if !answer.is_error)
    }

    /// What a model is told: every call has exactly one such text.
    pub fn for_model(&self) -> String {
        match self {
            Self::Answered(answer) => answer.for_model(),
            Self::Refused { reason } => {
                format!("The call was not made: {reason}. Do not try to get around this; tell the user.")
            }
            Self::Invalid { why } => format!("The call was not made: {why}."),
            Self::Failed { why } => format!("The call failed and nothing was done: {why}."),
            Self::Unknown { why } => format!(
                "The outcome of this call is unknown: {why}. It may have been carried out. Do not make it again; tell \
                 the user to look."
            ),
        }
    }
}

/// What a server answered, made fit to show.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Answer {
    /// The text, cleaned and cut to what a model is given.
    pub text: String,
    pub(crate) structured: Structured,
    /// Whether the tool says that it failed.
    pub is_error: bool,
    /// What was found in the text.
    pub flags: BTreeSet<Flag>,
    pub(crate) whole: CallToolResult,
}

/// What a model is given of a structured result.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Structured {
    /// None came, or one that is too long.
    Absent,
    /// There was nothing to clean.
    AsItCame,
    Cleaned(Value),
}

impl Serialize for Answer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut answer = serializer.serialize_struct("Answer", 4)?;
        answer.serialize_field("text", &self.text)?;
        if let Some(structured) = self.structured() {
            answer.serialize_field("structured", structured)?;
        }
        answer.serialize_field("is_error", &self.is_error)?;
        if !self.flags.is_empty() {
            answer.serialize_field("flags", &self.flags)?;
        }
        answer.end()
    }
}

impl Answer {
    /// The result as it came.
    pub fn whole(&self) -> &CallToolResult {
        &self.whole
    }

    /// The structured result, cleaned; none where it is too long to be given to a model.
    pub fn structured(&self) -> Option<&Value> {
        match &self.structured {
            Structured::Absent => None,
            Structured::AsItCame => self.whole.structured_content.as_ref(),
            Structured::Cleaned(cleaned) => Some(cleaned),
        }
    }

    fn for_model(&self) -> String {
        let mut said = self.text.clone();
        if said.is_empty() {
            said = match self.structured() {
                Some(structured) => structured.to_string(),
                None => "The tool gave nothing back.".to_owned(),
            };
        }
        if !self.flags.is_empty() {
            let flags: Vec<&str> = self.flags.iter().map(|flag| flag.text()).collect();
            said = format!("{said}\n[About this result: {}.]", flags.join("; "));
        }
        said
    }
}
