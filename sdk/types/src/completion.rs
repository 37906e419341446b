//! Completion of the arguments of prompts and resource templates.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::meta::is_empty;
use crate::{Extra, Meta, RequestMeta};

/// The most values that one completion may return
/// ([rule](https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/completion#completion-results)).
pub const MAX_COMPLETIONS: usize = 100;

open_enum! {
    /// What kind of thing is completed.
    pub enum ReferenceKind {
        /// A prompt, by name.
        Prompt = "ref/prompt",
        /// A resource template, by its template.
        Resource = "ref/resource",
    }
}

/// What is completed: a prompt by `name` or a resource template by `uri`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reference {
    /// Which of both.
    #[serde(rename = "type")]
    pub kind: ReferenceKind,
    /// The prompt's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// Fields this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Reference {
    /// A prompt.
    pub fn prompt(name: impl Into<String>) -> Self {
        Self {
            kind: ReferenceKind::Prompt,
            name: Some(name.into()),
            uri: None,
            extra: Extra::new(),
        }
    }

    /// A resource template.
    pub fn resource(template: impl Into<String>) -> Self {
        Self {
            kind: ReferenceKind::Resource,
            name: None,
            uri: Some(template.into()),
            extra: Extra::new(),
        }
    }
}

/// The argument being written.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CompletedArgument {
    /// Its name.
    pub name: String,
    /// What is written so far.
    pub value: String,
    /// Fields this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What is known beside the argument being written.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CompletionContext {
    /// The arguments already decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<BTreeMap<String, String>>,
    /// Fields this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Params of `completion/complete`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CompleteParams {
    /// What is completed.
    #[serde(rename = "ref")]
    pub reference: Reference,
    /// The argument being written.
    pub argument: CompletedArgument,
    /// What is known beside it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<CompletionContext>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "RequestMeta::is_empty")]
    pub meta: RequestMeta,
    /// Fields this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Suggested values, best first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Completion {
    /// At most [`MAX_COMPLETIONS`] values.
    pub values: Vec<String>,
    /// How many there are in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// Whether there are more than these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub has_more: Option<bool>,
    /// Fields this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Result of `completion/complete`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CompleteResult {
    /// The suggestions.
    pub completion: Completion,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "is_empty")]
    pub meta: Meta,
    /// Fields this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl CompleteResult {
    /// The suggestions, cut to what one answer may hold.
    pub fn new(values: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let mut values: Vec<String> = values.into_iter().map(Into::into).collect();
        let total = values.len();
        values.truncate(MAX_COMPLETIONS);
        let has_more = Some(total > values.len());
        let completion = Completion {
            values,
            total: u64::try_from(total).ok(),
            has_more,
            extra: Extra::new(),
        };
        Self {
            completion,
            ..Self::default()
        }
    }
}
