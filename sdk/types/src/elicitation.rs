//! Elicitation: the server asks the person something.

use serde::de::{Deserialize, Deserializer, Error};
use serde::{Deserialize as DeriveDeserialize, Serialize, Serializer};
use serde_json::{Value, json};

use crate::Extra;
use crate::meta::is_empty;

/// Params of `elicitation/create`
/// ([elicitation](https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation)).
#[derive(Debug, Clone, PartialEq)]
pub enum ElicitParams {
    /// A form to fill in.
    Form(FormElicitation),
    /// An address to visit.
    Url(UrlElicitation),
    /// A mode this crate does not know, kept as it came.
    Other(Extra),
}

/// A form to fill in.
#[derive(Debug, Clone, Default, PartialEq, Serialize, DeriveDeserialize)]
#[serde(rename_all = "camelCase")]
pub struct FormElicitation {
    /// What is asked.
    pub message: String,
    /// The fields: a JSON Schema of one object whose properties are primitive.
    pub requested_schema: Value,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "is_empty")]
    pub meta: Extra,
    /// Fields this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// An address to visit. What happens there stays out of the protocol.
#[derive(Debug, Clone, Default, PartialEq, Serialize, DeriveDeserialize)]
#[serde(rename_all = "camelCase")]
pub struct UrlElicitation {
    /// What is asked.
    pub message: String,
    /// Where to go. Shown to the person in full before it is opened.
    pub url: String,
    /// Names the visit, so that its end can be announced (the newest legacy revision only).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elicitation_id: Option<String>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "is_empty")]
    pub meta: Extra,
    /// Fields this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ElicitParams {
    /// A form from a message and the schema of its fields.
    pub fn form(message: impl Into<String>, requested_schema: Value) -> Self {
        Self::Form(FormElicitation {
            message: message.into(),
            requested_schema,
            ..FormElicitation::default()
        })
    }

    /// A visit to an address.
    pub fn url(message: impl Into<String>, url: impl Into<String>) -> Self {
        Self::Url(UrlElicitation {
            message: message.into(),
            url: url.into(),
            ..UrlElicitation::default()
        })
    }

    /// What is asked.
    pub fn message(&self) -> &str {
        match self {
            Self::Form(form) => &form.message,
            Self::Url(url) => &url.message,
            Self::Other(object) => object.get("message").and_then(Value::as_str).unwrap_or_default(),
        }
    }
}

/// Writes the mode in front. A form's mode is implied by its absence, which the first revision with
/// elicitation requires and the later ones allow.
impl Serialize for ElicitParams {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct WithMode<'a> {
            mode: &'static str,
            #[serde(flatten)]
            inner: &'a UrlElicitation,
        }
        match self {
            Self::Form(form) => form.serialize(serializer),
            Self::Url(inner) => WithMode { mode: "url", inner }.serialize(serializer),
            Self::Other(object) => object.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ElicitParams {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut object = Extra::deserialize(deserializer)?;
        let mode = object.get("mode").and_then(Value::as_str).unwrap_or("form").to_owned();
        match mode.as_str() {
            "form" => {
                object.shift_remove("mode");
                serde_json::from_value(Value::Object(object))
                    .map(Self::Form)
                    .map_err(D::Error::custom)
            }
            "url" => {
                object.shift_remove("mode");
                serde_json::from_value(Value::Object(object))
                    .map(Self::Url)
                    .map_err(D::Error::custom)
            }
            _ => Ok(Self::Other(object)),
        }
    }
}

open_enum! {
    /// What the person did.
    pub enum ElicitAction {
        /// Answered.
        Accept = "accept",
        /// Said no.
        Decline = "decline",
        /// Went away without an answer.
        Cancel = "cancel",
    }
}

/// Result of `elicitation/create`.
///
/// What stands here never counts as a person's consent to a tool call.
#[derive(Debug, Clone, PartialEq, Serialize, DeriveDeserialize)]
pub struct ElicitResult {
    /// What the person did.
    pub action: ElicitAction,
    /// The filled-in fields, if accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<Extra>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "is_empty")]
    pub meta: Extra,
    /// Fields this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ElicitResult {
    fn of(action: ElicitAction, content: Option<Extra>) -> Self {
        Self {
            action,
            content,
            meta: Extra::new(),
            extra: Extra::new(),
        }
    }

    /// The person answered.
    pub fn accept(content: Extra) -> Self {
        Self::of(ElicitAction::Accept, Some(content))
    }

    /// The person said no.
    pub fn decline() -> Self {
        Self::of(ElicitAction::Decline, None)
    }

    /// The person went away.
    pub fn cancel() -> Self {
        Self::of(ElicitAction::Cancel, None)
    }
}

/// The fields of a form that were left out, taken from the defaults of its schema
/// ([defaults](https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#requested-schema)).
///
/// ```
/// use trunkline_types::form_defaults;
/// let schema = serde_json::json!({"type":"object","properties":{"size":{"type":"integer","default":3},"name":{"type":"string"}}});
/// assert_eq!(serde_json::Value::Object(form_defaults(&schema)), serde_json::json!({"size": 3}));
/// ```
pub fn form_defaults(requested_schema: &Value) -> Extra {
    let properties = requested_schema.get("properties").and_then(Value::as_object);
    let default = |(name, field): (&String, &Value)| Some((name.clone(), field.get("default")?.clone()));
    properties.into_iter().flatten().filter_map(default).collect()
}

/// A form schema of one yes-or-no field, which servers ask for most often.
pub fn confirm_schema(field: &str, description: &str) -> Value {
    json!({ "type": "object", "properties": { field: { "type": "boolean", "description": description } }, "required": [field] })
}
