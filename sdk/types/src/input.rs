//! What a server asks its client for: the same requests in both eras.
//!
//! A modern server returns them in an `input_required` result
//! ([multi round-trip requests](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr)),
//! a legacy server sends each as a request of its own.

use serde::de::{Deserialize, Deserializer, Error};
use serde::{Deserialize as DeriveDeserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::meta::is_empty;
use crate::{ClientFeature, CreateMessageParams, ElicitParams, Extra, Meta, Method};

/// One thing that a server wants from its client.
#[derive(Debug, Clone, PartialEq)]
pub enum InputRequest {
    /// Ask the person.
    Elicit(ElicitParams),
    /// Ask the model.
    Sample(Box<CreateMessageParams>),
    /// List the roots; the params, which hold nothing but metadata.
    Roots(Extra),
    /// A method this crate does not know, kept as it came.
    Other {
        /// The method.
        method: String,
        /// Its params.
        params: Value,
    },
}

impl InputRequest {
    /// The method's wire name.
    pub fn method(&self) -> &str {
        match self {
            Self::Elicit(_) => Method::Elicit.name(),
            Self::Sample(_) => Method::CreateMessage.name(),
            Self::Roots(_) => Method::ListRoots.name(),
            Self::Other { method, .. } => method,
        }
    }

    /// The client feature that it needs.
    pub fn feature(&self) -> Option<ClientFeature> {
        match self {
            Self::Elicit(_) => Some(ClientFeature::Elicitation),
            Self::Sample(_) => Some(ClientFeature::Sampling),
            Self::Roots(_) => Some(ClientFeature::Roots),
            Self::Other { .. } => None,
        }
    }

    /// The params as JSON.
    ///
    /// # Errors
    /// If they cannot be written as JSON.
    pub fn params(&self) -> serde_json::Result<Value> {
        match self {
            Self::Elicit(params) => serde_json::to_value(params),
            Self::Sample(params) => serde_json::to_value(params),
            Self::Roots(params) => Ok(Value::Object(params.clone())),
            Self::Other { params, .. } => Ok(params.clone()),
        }
    }

    /// Reads a request from its method and params.
    ///
    /// # Errors
    /// If the params do not fit the method.
    pub fn from_parts(method: &str, params: Value) -> serde_json::Result<Self> {
        match Method::from_name(method) {
            Some(Method::Elicit) => serde_json::from_value(params).map(Self::Elicit),
            Some(Method::CreateMessage) => serde_json::from_value(params).map(Self::Sample),
            Some(Method::ListRoots) if params.is_null() => Ok(Self::Roots(Extra::new())),
            Some(Method::ListRoots) => serde_json::from_value(params).map(Self::Roots),
            _ => Ok(Self::Other {
                method: method.to_owned(),
                params,
            }),
        }
    }
}

impl Serialize for InputRequest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Parts<'a> {
            method: &'a str,
            params: Value,
        }
        let params = self.params().map_err(serde::ser::Error::custom)?;
        Parts {
            method: self.method(),
            params,
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for InputRequest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(DeriveDeserialize)]
        struct Parts {
            method: String,
            #[serde(default)]
            params: Value,
        }
        let parts = Parts::deserialize(deserializer)?;
        Self::from_parts(&parts.method, parts.params).map_err(D::Error::custom)
    }
}

/// Answers by the key of their question; each is decoded by the type that its question calls for.
pub type InputResponses = Map<String, Value>;

/// A result that asks for input before the request can be completed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, DeriveDeserialize)]
#[serde(rename_all = "camelCase")]
pub struct InputRequiredResult {
    /// The questions by key, in the order asked.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub input_requests: Map<String, Value>,
    /// What the client must send back as it came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_state: Option<String>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "is_empty")]
    pub meta: Meta,
    /// Fields this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

open_enum! {
    /// How to read a result
    /// ([result types](https://modelcontextprotocol.io/specification/2026-07-28/basic/index#resulttype)).
    pub enum ResultType {
        /// It is complete.
        Complete = "complete",
        /// It asks for input.
        InputRequired = "input_required",
        /// It will come later: the request became a task, which the result names.
        Task = "task",
    }
}
