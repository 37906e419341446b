//! `_meta`: metadata beside params, results and definitions.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ClientCapabilities, Extra, Implementation, LogLevel, ProgressToken, RequestId};

/// Free metadata of a result, a notification or a definition.
pub type Meta = Extra;

/// Reserved keys of `_meta`
/// ([list](https://modelcontextprotocol.io/specification/2026-07-28/basic/index#meta)).
pub mod meta_key {
    /// The revision of a request.
    pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
    /// The client's name and version.
    pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
    /// The client's capabilities for one request.
    pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
    /// The log level wanted for one request.
    pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
    /// The server's name and version, in results.
    pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
    /// The subscription that a notification belongs to.
    pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
}

/// The `_meta` of a request: progress token and, in the modern era, version, identity and capabilities.
///
/// ```
/// use trunkline_types::{ProgressToken, RequestMeta};
/// let meta: RequestMeta = serde_json::from_str(r#"{"progressToken":"p","traceparent":"00-1"}"#).unwrap();
/// assert_eq!(meta.progress_token, Some(ProgressToken::from("p")));
/// assert_eq!(meta.extra["traceparent"], "00-1");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RequestMeta {
    /// Asks for progress notices under this token.
    #[serde(rename = "progressToken", skip_serializing_if = "Option::is_none")]
    pub progress_token: Option<ProgressToken>,
    /// The revision that the request speaks; its presence marks a modern request.
    #[serde(
        rename = "io.modelcontextprotocol/protocolVersion",
        skip_serializing_if = "Option::is_none"
    )]
    pub protocol_version: Option<String>,
    /// Who asks; for display only.
    #[serde(
        rename = "io.modelcontextprotocol/clientInfo",
        skip_serializing_if = "Option::is_none"
    )]
    pub client_info: Option<Implementation>,
    /// What the client can do for this request.
    #[serde(
        rename = "io.modelcontextprotocol/clientCapabilities",
        skip_serializing_if = "Option::is_none"
    )]
    pub client_capabilities: Option<ClientCapabilities>,
    /// The lowest level of log messages wanted.
    #[serde(rename = "io.modelcontextprotocol/logLevel", skip_serializing_if = "Option::is_none")]
    pub log_level: Option<LogLevel>,
    /// Everything else, trace context included.
    #[serde(flatten)]
    pub extra: Extra,
}

impl RequestMeta {
    /// Whether nothing is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The subscription named in the `_meta` of a notification or result, if there is one.
pub fn subscription_id(meta: &Meta) -> Option<RequestId> {
    meta.get(meta_key::SUBSCRIPTION_ID)
        .and_then(|value| RequestId::deserialize(value).ok())
}

/// Serde's test for leaving out an empty map.
pub(crate) fn is_empty(map: &serde_json::Map<String, Value>) -> bool {
    map.is_empty()
}
