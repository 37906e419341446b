//! Sampling: the server asks the client's model something.

use serde::de::{Deserialize, Deserializer, Error};
use serde::{Deserialize as DeriveDeserialize, Serialize, Serializer};
use serde_json::Value;

use crate::content::{retag, tagged, untag};
use crate::meta::is_empty;
use crate::{Content, Extra, Meta, Role, Tool};

/// Params of `sampling/createMessage`
/// ([sampling](https://modelcontextprotocol.io/specification/2026-07-28/client/sampling)).
#[derive(Debug, Clone, Default, PartialEq, Serialize, DeriveDeserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreateMessageParams {
    /// The conversation so far.
    pub messages: Vec<SamplingMessage>,
    /// Which model would suit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_preferences: Option<ModelPreferences>,
    /// A system prompt the server would like.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// Whose context to include: `none`, `thisServer` or `allServers`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub include_context: Option<String>,
    /// How freely to choose words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The most tokens to make.
    pub max_tokens: u64,
    /// Texts that end the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_sequences: Option<Vec<String>>,
    /// Settings for the model's provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
    /// Tools the model may ask for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<Tool>>,
    /// How it may use them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "is_empty")]
    pub meta: Meta,
    /// Fields this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

open_enum! {
    /// Whether tools are used.
    pub enum ToolChoiceMode {
        /// The model decides.
        Auto = "auto",
        /// At least one.
        Required = "required",
        /// None.
        None = "none",
    }
}

/// How the model may use tools.
#[derive(Debug, Clone, Default, PartialEq, Serialize, DeriveDeserialize)]
pub struct ToolChoice {
    /// Whether tools are used. Default: the model decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<ToolChoiceMode>,
    /// Fields this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Which model would suit; each priority from 0 to 1.
#[derive(Debug, Clone, Default, PartialEq, Serialize, DeriveDeserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelPreferences {
    /// Names that would suit, best first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hints: Option<Vec<ModelHint>>,
    /// How much cost matters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_priority: Option<f64>,
    /// How much speed matters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed_priority: Option<f64>,
    /// How much ability matters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intelligence_priority: Option<f64>,
    /// Fields this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A name, or part of one, of a model that would suit.
#[derive(Debug, Clone, Default, PartialEq, Serialize, DeriveDeserialize)]
pub struct ModelHint {
    /// The name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Fields this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// One message of a sampled conversation.
#[derive(Debug, Clone, PartialEq, Serialize, DeriveDeserialize)]
pub struct SamplingMessage {
    /// Who says it.
    pub role: Role,
    /// What is said. One block is written as an object, several as an array.
    #[serde(with = "one_or_many")]
    pub content: Vec<SamplingContent>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "is_empty")]
    pub meta: Meta,
    /// Fields this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl SamplingMessage {
    /// A text of the person's.
    pub fn user(text: impl Into<String>) -> Self {
        Self {
            role: Role::User,
            content: vec![SamplingContent::Content(Content::text(text))],
            meta: Meta::new(),
            extra: Extra::new(),
        }
    }
}

/// Content of a sampled conversation: what tools and prompts return, and the use of tools.
#[derive(Debug, Clone, PartialEq)]
pub enum SamplingContent {
    /// Text, a picture, sound, or a type this crate does not know.
    Content(Content),
    /// The model asks for a tool.
    ToolUse(ToolUse),
    /// What the tool returned.
    ToolResult(ToolUseResult),
}

/// The model asks for a tool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, DeriveDeserialize)]
pub struct ToolUse {
    /// Names this use.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments.
    #[serde(default)]
    pub input: Extra,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "is_empty")]
    pub meta: Meta,
    /// Fields this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What a tool returned to a sampled conversation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, DeriveDeserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolUseResult {
    /// The use that it belongs to.
    pub tool_use_id: String,
    /// What was returned.
    #[serde(default)]
    pub content: Vec<Content>,
    /// What was returned, for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
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

impl Serialize for SamplingContent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Content(content) => content.serialize(serializer),
            Self::ToolUse(inner) => tagged(serializer, "tool_use", inner),
            Self::ToolResult(inner) => tagged(serializer, "tool_result", inner),
        }
    }
}

impl<'de> Deserialize<'de> for SamplingContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (kind, object) = untag(deserializer)?;
        match kind.as_str() {
            "tool_use" => serde_json::from_value(Value::Object(object)).map(Self::ToolUse),
            "tool_result" => serde_json::from_value(Value::Object(object)).map(Self::ToolResult),
            _ => serde_json::from_value(Value::Object(retag(kind, object))).map(Self::Content),
        }
        .map_err(D::Error::custom)
    }
}

mod one_or_many {
    use super::{Deserialize, Deserializer, Error, SamplingContent, Serialize, Serializer, Value};

    pub(super) fn serialize<S: Serializer>(content: &[SamplingContent], serializer: S) -> Result<S::Ok, S::Error> {
        match content {
            [one] => one.serialize(serializer),
            many => many.serialize(serializer),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<SamplingContent>, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Array(many) => many.into_iter().map(serde_json::from_value).collect(),
            one => serde_json::from_value(one).map(|one| vec![one]),
        }
        .map_err(D::Error::custom)
    }
}

/// Result of `sampling/createMessage`.
#[derive(Debug, Clone, PartialEq, Serialize, DeriveDeserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreateMessageResult {
    /// Who says it: the model.
    pub role: Role,
    /// What is said. One block is written as an object, several as an array.
    #[serde(with = "one_or_many")]
    pub content: Vec<SamplingContent>,
    /// The model's name.
    pub model: String,
    /// Why it stopped: `endTurn`, `stopSequence`, `maxTokens`, `toolUse`, or a provider's own reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "is_empty")]
    pub meta: Meta,
    /// Fields this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl CreateMessageResult {
    /// A text of a model's.
    pub fn text(model: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            role: Role::Assistant,
            content: vec![SamplingContent::Content(Content::text(text))],
            model: model.into(),
            stop_reason: Some("endTurn".to_owned()),
            meta: Meta::new(),
            extra: Extra::new(),
        }
    }
}
