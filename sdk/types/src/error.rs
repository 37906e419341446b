//! JSON-RPC error objects and the codes that MCP gives a meaning.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Extension, Extra};

/// Error codes ([list](https://modelcontextprotocol.io/specification/2026-07-28/basic/index#error-codes)).
pub mod code {
    /// The bytes are not JSON.
    pub const PARSE_ERROR: i64 = -32700;
    /// The JSON is not a JSON-RPC message.
    pub const INVALID_REQUEST: i64 = -32600;
    /// The method does not exist, not in this revision, or its capability was not declared.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The params do not fit the method, or name something that does not exist.
    pub const INVALID_PARAMS: i64 = -32602;
    /// The receiver failed in a way that the sender cannot mend.
    pub const INTERNAL_ERROR: i64 = -32603;
    /// A resource does not exist (legacy revisions; modern ones use [`INVALID_PARAMS`]).
    pub const RESOURCE_NOT_FOUND: i64 = -32002;
    /// HTTP headers and body disagree (modern).
    pub const HEADER_MISMATCH: i64 = -32020;
    /// The request needs a client capability that was not declared (modern).
    pub const MISSING_CLIENT_CAPABILITY: i64 = -32021;
    /// The protocol version is not supported (modern).
    pub const UNSUPPORTED_VERSION: i64 = -32022;
    /// The person must visit an address first (the newest legacy revision only).
    pub const URL_ELICITATION_REQUIRED: i64 = -32042;
}

/// A protocol error: the `error` member of a response.
///
/// It says that the integration is broken; a tool that ran and failed reports that in its
/// [`CallToolResult`](crate::CallToolResult) instead.
///
/// ```
/// use trunkline_types::ErrorObject;
/// let error = ErrorObject::invalid_params("unknown tool `get_wether`");
/// assert_eq!(error.to_string(), "unknown tool `get_wether` (-32602)");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ErrorObject {
    /// One of [`code`], or a code of the application's own.
    pub code: i64,
    /// One short sentence.
    #[serde(default)]
    pub message: String,
    /// More about the error, in a form that the sender defines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Box<Value>>,
    /// Fields this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ErrorObject {
    /// An error with a code and a message.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
            extra: Extra::new(),
        }
    }

    /// The same error with further details.
    pub fn with_data(mut self, data: Value) -> Self {
        self.data = Some(Box::new(data));
        self
    }

    /// [`code::PARSE_ERROR`]
    pub fn parse_error(message: impl Into<String>) -> Self {
        Self::new(code::PARSE_ERROR, message)
    }

    /// [`code::INVALID_REQUEST`]
    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(code::INVALID_REQUEST, message)
    }

    /// [`code::METHOD_NOT_FOUND`], naming the method.
    pub fn method_not_found(method: &str) -> Self {
        Self::new(code::METHOD_NOT_FOUND, format!("method not found: {}", clip(method)))
    }

    /// [`code::INVALID_PARAMS`]
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(code::INVALID_PARAMS, message)
    }

    /// [`code::INTERNAL_ERROR`]
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(code::INTERNAL_ERROR, message)
    }

    /// [`code::UNSUPPORTED_VERSION`] with the versions that would be accepted.
    pub fn unsupported_version(requested: &str, supported: &[&str]) -> Self {
        Self::new(
            code::UNSUPPORTED_VERSION,
            format!("protocol version {} is not supported", clip(requested)),
        )
        .with_data(serde_json::json!({ "supported": supported, "requested": requested }))
    }

    /// [`code::MISSING_CLIENT_CAPABILITY`] with the capabilities that the client would have to declare.
    pub fn missing_client_capability(message: impl Into<String>, required: &Value) -> Self {
        Self::new(code::MISSING_CLIENT_CAPABILITY, message)
            .with_data(serde_json::json!({ "requiredCapabilities": required }))
    }

    /// [`code::MISSING_CLIENT_CAPABILITY`] for an extension that the client did not declare.
    pub fn missing_extension(extension: Extension) -> Self {
        let id = extension.id();
        Self::missing_client_capability(
            format!("this needs the extension `{id}`, which the client did not declare"),
            &serde_json::json!({ "extensions": { id: {} } }),
        )
    }

    /// Whether the error can only come from a server of the modern era.
    ///
    /// A client that probes stays modern on these and falls back to `initialize` on anything else
    /// ([rule](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio#backward-compatibility)).
    pub fn is_modern(&self) -> bool {
        match self.code {
            code::UNSUPPORTED_VERSION => self.data.as_ref().is_some_and(|data| data.get("supported").is_some()),
            code::MISSING_CLIENT_CAPABILITY => self
                .data
                .as_ref()
                .is_some_and(|data| data.get("requiredCapabilities").is_some()),
            code::HEADER_MISMATCH => true,
            _ => false,
        }
    }
}

/// Text of a peer's inside of a message of ours, cut to a length that stays readable.
///
/// ```
/// assert_eq!(trunkline_types::clip("short"), "short");
/// assert_eq!(trunkline_types::clip(&"x".repeat(1000)).chars().count(), 121);
/// ```
pub fn clip(text: &str) -> String {
    const MOST: usize = 120;
    if text.chars().count() <= MOST {
        text.to_owned()
    } else {
        text.chars().take(MOST).chain("…".chars()).collect()
    }
}

impl fmt::Display for ErrorObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code)
    }
}

impl std::error::Error for ErrorObject {}
