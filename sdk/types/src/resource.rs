//! Resources: data that the application chooses to read.

use serde::de::{Deserialize, Deserializer, Error};
use serde::{Deserialize as DeriveDeserialize, Serialize, Serializer};
use serde_json::Value;

use crate::meta::is_empty;
use crate::{Annotations, CacheScope, Extra, Icon, InputResponses, Meta, RequestMeta};

/// A resource that a server can read
/// ([resources](https://modelcontextprotocol.io/specification/2026-07-28/server/resources)).
#[derive(Debug, Clone, Default, PartialEq, Serialize, DeriveDeserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    /// Its address.
    pub uri: String,
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// The name shown to people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Hints about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Its size in bytes, before any encoding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
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

impl Resource {
    /// A resource by address and name.
    pub fn new(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            name: name.into(),
            ..Self::default()
        }
    }
}

/// Resources whose addresses follow a template
/// ([RFC 6570](https://datatracker.ietf.org/doc/html/rfc6570)).
#[derive(Debug, Clone, Default, PartialEq, Serialize, DeriveDeserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceTemplate {
    /// The template of the addresses.
    pub uri_template: String,
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// The name shown to people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What its resources are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The type of all its resources.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Hints about its resources.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
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

/// What a resource holds.
#[derive(Debug, Clone, PartialEq)]
pub enum ResourceContents {
    /// Text.
    Text(ResourceBody<TextBody>),
    /// Bytes, in Base64.
    Blob(ResourceBody<BlobBody>),
    /// Neither text nor bytes, kept as it came.
    Other(Extra),
}

impl ResourceContents {
    /// How many bytes of text or Base64 it carries.
    pub(crate) fn bulk(&self) -> usize {
        match self {
            Self::Text(part) => part.body.text.len(),
            Self::Blob(part) => part.body.blob.len(),
            Self::Other(_) => 0,
        }
    }
}

/// What text and bytes have in common, around one of both.
#[derive(Debug, Clone, Default, PartialEq, Serialize, DeriveDeserialize)]
pub struct ResourceBody<B> {
    /// The address.
    pub uri: String,
    /// The type.
    #[serde(rename = "mimeType", skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Text or bytes.
    #[serde(flatten)]
    pub body: B,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "is_empty")]
    pub meta: Meta,
    /// Fields this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Text of a resource.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, DeriveDeserialize)]
pub struct TextBody {
    /// The text.
    pub text: String,
}

/// Bytes of a resource.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, DeriveDeserialize)]
pub struct BlobBody {
    /// The bytes, in Base64.
    pub blob: String,
}

impl ResourceContents {
    /// Text with its type.
    pub fn text(uri: impl Into<String>, mime_type: impl Into<String>, text: impl Into<String>) -> Self {
        Self::Text(ResourceBody {
            uri: uri.into(),
            mime_type: Some(mime_type.into()),
            body: TextBody { text: text.into() },
            meta: Meta::new(),
            extra: Extra::new(),
        })
    }

    /// Base64 bytes with their type.
    pub fn blob(uri: impl Into<String>, mime_type: impl Into<String>, blob: impl Into<String>) -> Self {
        Self::Blob(ResourceBody {
            uri: uri.into(),
            mime_type: Some(mime_type.into()),
            body: BlobBody { blob: blob.into() },
            meta: Meta::new(),
            extra: Extra::new(),
        })
    }

    /// The text, if it is text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(contents) => Some(&contents.body.text),
            Self::Blob(_) | Self::Other(_) => None,
        }
    }

    /// The address, if there is one.
    pub fn uri(&self) -> Option<&str> {
        match self {
            Self::Text(contents) => Some(&contents.uri),
            Self::Blob(contents) => Some(&contents.uri),
            Self::Other(object) => object.get("uri").and_then(Value::as_str),
        }
    }
}

impl Serialize for ResourceContents {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(contents) => contents.serialize(serializer),
            Self::Blob(contents) => contents.serialize(serializer),
            Self::Other(object) => object.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ResourceContents {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let object = Extra::deserialize(deserializer)?;
        if object.contains_key("text") {
            serde_json::from_value(Value::Object(object))
                .map(Self::Text)
                .map_err(D::Error::custom)
        } else if object.contains_key("blob") {
            serde_json::from_value(Value::Object(object))
                .map(Self::Blob)
                .map_err(D::Error::custom)
        } else {
            Ok(Self::Other(object))
        }
    }
}

/// Params of `resources/list`, `resources/templates/list`, `prompts/list` and `tools/list`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, DeriveDeserialize)]
pub struct ListParams {
    /// Where to go on; an opaque text that may be empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "RequestMeta::is_empty")]
    pub meta: RequestMeta,
    /// Fields this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Params of `resources/read`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, DeriveDeserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadResourceParams {
    /// The address to read.
    pub uri: String,
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

/// Params of `resources/subscribe` and `resources/unsubscribe` (legacy).
#[derive(Debug, Clone, Default, PartialEq, Serialize, DeriveDeserialize)]
pub struct SubscribeParams {
    /// The address to watch.
    pub uri: String,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "RequestMeta::is_empty")]
    pub meta: RequestMeta,
    /// Fields this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Declares the result of a list method: one page of items.
macro_rules! list_result {
    ($(#[$meta:meta])* $name:ident { $(#[$fmeta:meta])* $field:ident: $item:ty }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Default, PartialEq, Serialize, serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        pub struct $name {
            $(#[$fmeta])*
            pub $field: Vec<$item>,
            /// Where the next page begins; absent on the last page. May be empty.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub next_cursor: Option<String>,
            /// How many milliseconds the page may be kept (modern).
            #[serde(skip_serializing_if = "Option::is_none")]
            pub ttl_ms: Option<i64>,
            /// Who may share a kept page (modern).
            #[serde(skip_serializing_if = "Option::is_none")]
            pub cache_scope: Option<crate::CacheScope>,
            /// Metadata.
            #[serde(rename = "_meta", default, skip_serializing_if = "crate::meta::is_empty")]
            pub meta: crate::Meta,
            /// Fields this crate does not know.
            #[serde(flatten)]
            pub extra: crate::Extra,
        }
    };
}
pub(crate) use list_result;

list_result! {
    /// Result of `resources/list`.
    ListResourcesResult {
        /// The resources of this page.
        resources: Resource
    }
}

list_result! {
    /// Result of `resources/templates/list`.
    ListResourceTemplatesResult {
        /// The templates of this page.
        resource_templates: ResourceTemplate
    }
}

/// Result of `resources/read`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, DeriveDeserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadResourceResult {
    /// What the resource holds; several parts for a folder.
    pub contents: Vec<ResourceContents>,
    /// How many milliseconds it may be kept (modern).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<i64>,
    /// Who may share what is kept (modern).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_scope: Option<CacheScope>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "is_empty")]
    pub meta: Meta,
    /// Fields this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl From<ResourceContents> for ReadResourceResult {
    fn from(contents: ResourceContents) -> Self {
        Self {
            contents: vec![contents],
            ..Self::default()
        }
    }
}
