//! Content blocks: what tools and prompts return.

use serde::de::{Deserialize, Deserializer, Error};
use serde::{Deserialize as DeriveDeserialize, Serialize, Serializer};
use serde_json::Value;

use crate::meta::is_empty;
use crate::{Annotations, Extra, Meta, Resource, ResourceContents};

/// One piece of content
/// ([tool results](https://modelcontextprotocol.io/specification/2026-07-28/server/tools#tool-result)).
///
/// ```
/// use trunkline_types::Content;
/// let later: Content = serde_json::from_str(r#"{"type":"hologram","depth":3}"#).unwrap();
/// assert!(matches!(later, Content::Other(_)));
/// assert_eq!(serde_json::to_string(&later).unwrap(), r#"{"type":"hologram","depth":3}"#);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// Text.
    Text(TextContent),
    /// A picture.
    Image(MediaContent),
    /// Sound.
    Audio(MediaContent),
    /// A link to a resource.
    ResourceLink(Box<Resource>),
    /// A resource, whole.
    Resource(Box<EmbeddedResource>),
    /// A type this crate does not know, kept as it came.
    Other(Extra),
}

impl Content {
    /// How many bytes of text or Base64 it carries.
    pub(crate) fn bulk(&self) -> usize {
        match self {
            Self::Text(text) => text.text.len(),
            Self::Image(media) | Self::Audio(media) => media.data.len(),
            Self::Resource(embedded) => embedded.resource.bulk(),
            Self::ResourceLink(_) | Self::Other(_) => 0,
        }
    }
}

/// Text content.
#[derive(Debug, Clone, Default, PartialEq, Serialize, DeriveDeserialize)]
pub struct TextContent {
    /// The text.
    pub text: String,
    /// Hints about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "is_empty")]
    pub meta: Meta,
    /// Fields this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A picture or sound, in Base64.
#[derive(Debug, Clone, Default, PartialEq, Serialize, DeriveDeserialize)]
#[serde(rename_all = "camelCase")]
pub struct MediaContent {
    /// The bytes, in Base64.
    pub data: String,
    /// Their type.
    pub mime_type: String,
    /// Hints about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "is_empty")]
    pub meta: Meta,
    /// Fields this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A resource inside of other content.
#[derive(Debug, Clone, PartialEq, Serialize, DeriveDeserialize)]
pub struct EmbeddedResource {
    /// What it holds.
    pub resource: ResourceContents,
    /// Hints about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "is_empty")]
    pub meta: Meta,
    /// Fields this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Content {
    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextContent {
            text: text.into(),
            ..TextContent::default()
        })
    }

    /// A picture from Base64 and its type.
    pub fn image(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self::Image(MediaContent {
            data: data.into(),
            mime_type: mime_type.into(),
            ..MediaContent::default()
        })
    }

    /// Sound from Base64 and its type.
    pub fn audio(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self::Audio(MediaContent {
            data: data.into(),
            mime_type: mime_type.into(),
            ..MediaContent::default()
        })
    }

    /// A resource, whole.
    pub fn resource(resource: ResourceContents) -> Self {
        Self::Resource(Box::new(EmbeddedResource {
            resource,
            annotations: None,
            meta: Meta::new(),
            extra: Extra::new(),
        }))
    }

    /// A link to a resource.
    pub fn link(resource: Resource) -> Self {
        Self::ResourceLink(Box::new(resource))
    }

    /// The text, if it is text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(content) => Some(&content.text),
            _ => None,
        }
    }
}

/// Writes `type` in front of the fields of `inner`.
#[derive(Serialize)]
struct Tagged<'a, T> {
    r#type: &'static str,
    #[serde(flatten)]
    inner: &'a T,
}

pub(crate) fn tagged<S: Serializer, T: Serialize>(
    serializer: S,
    kind: &'static str,
    inner: &T,
) -> Result<S::Ok, S::Error> {
    Tagged { r#type: kind, inner }.serialize(serializer)
}

/// Takes the `type` out of an object, so that the rest can be read as that type.
pub(crate) fn untag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(String, Extra), D::Error> {
    let mut object = Extra::deserialize(deserializer)?;
    match object.shift_remove("type") {
        Some(Value::String(kind)) => Ok((kind, object)),
        _ => Err(D::Error::custom("content needs a string `type`")),
    }
}

/// Puts the `type` back in front of an object of a type this crate does not know.
pub(crate) fn retag(kind: String, object: Extra) -> Extra {
    std::iter::once(("type".to_owned(), Value::String(kind)))
        .chain(object)
        .collect()
}

impl Serialize for Content {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(inner) => tagged(serializer, "text", inner),
            Self::Image(inner) => tagged(serializer, "image", inner),
            Self::Audio(inner) => tagged(serializer, "audio", inner),
            Self::ResourceLink(inner) => tagged(serializer, "resource_link", inner),
            Self::Resource(inner) => tagged(serializer, "resource", inner),
            Self::Other(object) => object.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (kind, object) = untag(deserializer)?;
        let value = |object| Value::Object(object);
        match kind.as_str() {
            "text" => serde_json::from_value(value(object)).map(Self::Text),
            "image" => serde_json::from_value(value(object)).map(Self::Image),
            "audio" => serde_json::from_value(value(object)).map(Self::Audio),
            "resource_link" => serde_json::from_value(value(object)).map(Self::ResourceLink),
            "resource" => serde_json::from_value(value(object)).map(Self::Resource),
            _ => Ok(Self::Other(retag(kind, object))),
        }
        .map_err(D::Error::custom)
    }
}
