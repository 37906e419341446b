//! Tools: functions that the model may ask for.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::meta::is_empty;
use crate::resource::list_result;
use crate::{Content, Extra, Icon, InputResponses, Meta, RequestMeta};

/// The definition of a tool
/// ([tools](https://modelcontextprotocol.io/specification/2026-07-28/server/tools#tool)).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tool {
    /// The name, unique within its server and case-sensitive.
    pub name: String,
    /// The name shown to people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it does, for the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The JSON Schema of the arguments: an object whose `type` is `object`.
    pub input_schema: Value,
    /// The JSON Schema of the structured result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// Hints about what it does. They prove nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<ToolAnnotations>,
    /// Whether it can run as a task (the newest legacy revision).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution: Option<Value>,
    /// Pictures to show beside it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icons: Option<Vec<Icon>>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "is_empty")]
    pub meta: Meta,
    /// Fields this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Tool {
    /// The name to show to a person.
    pub fn display_name(&self) -> &str {
        let annotated = self.annotations.as_ref().and_then(|a| a.title.as_deref());
        self.title.as_deref().or(annotated).unwrap_or(&self.name)
    }

    /// Whether the server claims that the tool changes nothing. A claim, not a proof.
    pub fn claims_read_only(&self) -> bool {
        self.annotations
            .as_ref()
            .and_then(|a| a.read_only_hint)
            .unwrap_or(false)
    }

    /// Whether the server claims that the tool destroys nothing. A claim, not a proof.
    pub fn claims_harmless(&self) -> bool {
        self.claims_read_only() || self.annotations.as_ref().and_then(|a| a.destructive_hint) == Some(false)
    }
}

/// Hints about what a tool does. Unless the server is trusted they prove nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolAnnotations {
    /// The name shown to people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// It changes nothing. Default: false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// It may destroy something. Default: true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// Repeating a call adds nothing. Default: false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// It reaches beyond a closed set of things. Default: true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_world_hint: Option<bool>,
    /// Fields this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Params of `tools/call`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallToolParams {
    /// The tool to call.
    pub name: String,
    /// The arguments; absent equals an empty object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Extra>,
    /// Answers to what the server asked for before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_responses: Option<InputResponses>,
    /// The state that the server gave with its question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_state: Option<String>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "RequestMeta::is_empty")]
    pub meta: RequestMeta,
    /// Fields this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Result of `tools/call`, execution errors included.
///
/// ```
/// use trunkline_types::CallToolResult;
/// let failed = CallToolResult::error("the date must lie in the future");
/// assert!(failed.failed());
/// assert_eq!(failed.text(), "the date must lie in the future");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallToolResult {
    /// What the tool returned, for the model.
    #[serde(default)]
    pub content: Vec<Content>,
    /// What it returned, for programs.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Value>,
    /// Whether the tool failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "is_empty")]
    pub meta: Meta,
    /// Fields this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// `null` is a structured result of its own, not an absent one.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl CallToolResult {
    /// A result of one text.
    pub fn text_result(text: impl Into<String>) -> Self {
        Self {
            content: vec![Content::text(text)],
            ..Self::default()
        }
    }

    /// An execution error that the model can read.
    pub fn error(text: impl Into<String>) -> Self {
        Self {
            is_error: Some(true),
            ..Self::text_result(text)
        }
    }

    /// Whether the tool failed.
    pub fn failed(&self) -> bool {
        self.is_error == Some(true)
    }

    /// All text content, one piece a line.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self.content.iter().filter_map(Content::as_text).collect();
        texts.join("\n")
    }
}

list_result! {
    /// Result of `tools/list`.
    ListToolsResult {
        /// The tools of this page.
        tools: Tool
    }
}
