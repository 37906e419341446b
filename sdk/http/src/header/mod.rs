//! The headers of MCP over HTTP
//! ([request metadata](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#request-metadata)).
//!
//! ```
//! use trunkline_http::header::{decode_value, encode_value};
//!
//! let value = encode_value("Hello, 世界");
//! assert_eq!(value, "=?base64?SGVsbG8sIOS4lueVjA==?=");
//! assert_eq!(decode_value(value.as_bytes()).unwrap(), "Hello, 世界");
//! ```

mod mirror;
mod mirror_schema;
mod value;

use trunkline_types::Method;

pub use http::header::{HeaderName, HeaderValue};
pub use mirror::{Mirrored, MirroredParams, Mismatch, matches};
pub use mirror_schema::{InvalidMirror, MAX_MIRRORED, ParamType};
pub use value::{InvalidValue, decode_value, encode_value};

/// `MCP-Protocol-Version`: the revision that a request speaks.
pub const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// `Mcp-Session-Id`: the session of a legacy connection.
pub const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
/// `Mcp-Method`: the method of a modern request.
pub const METHOD: HeaderName = HeaderName::from_static("mcp-method");
/// `Mcp-Name`: the tool, prompt, resource or task that a modern request is about, as [`encode_value`] writes it.
pub const NAME: HeaderName = HeaderName::from_static("mcp-name");
/// What the names of the headers that mirror a tool's parameters begin with.
pub const PARAM_PREFIX: &str = "mcp-param-";
/// `Last-Event-ID`: where a stream is to be resumed (legacy).
pub const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// A member of params that [`NAME`] repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Named {
    /// `name`
    Name,
    /// `uri`
    Uri,
    /// `taskId`
    TaskId,
}

/// What [`NAME`] repeats for a method
/// ([table](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#standard-request-headers),
/// [tasks](https://modelcontextprotocol.io/seps/2663-tasks-extension#streamable-http-routing-headers)).
pub(crate) fn named(method: Method) -> Option<Named> {
    Some(match method {
        Method::CallTool | Method::GetPrompt => Named::Name,
        Method::ReadResource => Named::Uri,
        Method::GetTask | Method::UpdateTask | Method::CancelTask => Named::TaskId,
        _ => return None,
    })
}
