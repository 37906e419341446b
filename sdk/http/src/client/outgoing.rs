//! What a message that is to be sent says, as far as its headers need it.

use bytes::Bytes;
use http::{HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::value::RawValue;
use trunkline_types::{Message, Method, RequestId};

use super::mirrors::Mirrors;
use crate::header::{METHOD, NAME, Named, PROTOCOL_VERSION, encode_value, named};

/// A message with what its headers need.
#[derive(Clone, Debug)]
pub(crate) struct Outgoing {
    pub(crate) bytes: Bytes,
    pub(crate) kind: Kind,
    /// The headers of a modern request; none makes it a legacy one.
    pub(crate) modern: Option<Vec<(HeaderName, HeaderValue)>>,
    /// The session that it was sent in, counted from the first.
    pub(crate) generation: u64,
    /// It was sent before, in a session that the server did not know any more.
    pub(crate) resent: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Request {
        id: RequestId,
        method: Option<Method>,
    },
    Notification(Option<Method>),
    /// Takes a request back.
    Cancelled(RequestId),
    Response,
}

/// The members of params that matter here.
#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow, default)]
    name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    uri: Option<&'a RawValue>,
    #[serde(rename = "taskId", borrow, default)]
    task_id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
    #[serde(rename = "requestId", default)]
    request_id: Option<RequestId>,
    #[serde(rename = "_meta", borrow, default)]
    meta: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Meta {
    #[serde(rename = "io.modelcontextprotocol/protocolVersion", default)]
    version: Option<String>,
}

impl Outgoing {
    /// Reads a message. What cannot be read is sent as it is: the server says what is wrong with it.
    pub(crate) fn read(bytes: Vec<u8>, mirrors: &Mirrors) -> Self {
        let (kind, modern) = match Message::parse(&bytes) {
            Ok(Message::Request { id, method, params }) => {
                let params = params.and_then(|params| serde_json::from_str::<Params<'_>>(params.get()).ok());
                let modern = params.as_ref().and_then(|params| headers(&method, params, mirrors));
                let method = Method::from_name(&method);
                (Kind::Request { id, method }, modern)
            }
            Ok(Message::Notification { method, params }) => {
                let method = Method::from_name(&method);
                let params = params.filter(|_| method == Some(Method::CancelledNotice));
                let id = params.and_then(|params| serde_json::from_str::<Params<'_>>(params.get()).ok()?.request_id);
                (id.map_or(Kind::Notification(method), Kind::Cancelled), None)
            }
            Ok(Message::Response { .. }) | Err(_) => (Kind::Response, None),
        };
        Self {
            bytes: bytes.into(),
            kind,
            modern,
            generation: 0,
            resent: false,
        }
    }

    pub(crate) fn is_initialize(&self) -> bool {
        matches!(
            self.kind,
            Kind::Request {
                method: Some(Method::Initialize),
                ..
            }
        )
    }

    pub(crate) fn is_initialized(&self) -> bool {
        self.kind == Kind::Notification(Some(Method::Initialized))
    }

    pub(crate) fn is_listen(&self) -> bool {
        matches!(
            self.kind,
            Kind::Request {
                method: Some(Method::Listen),
                ..
            }
        )
    }

    pub(crate) fn request_id(&self) -> Option<&RequestId> {
        match &self.kind {
            Kind::Request { id, .. } => Some(id),
            _ => None,
        }
    }
}

/// The headers that mirror a modern request; none if it is not one
/// (<https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#request-metadata>).
fn headers(method: &str, params: &Params<'_>, mirrors: &Mirrors) -> Option<Vec<(HeaderName, HeaderValue)>> {
    let meta: Meta = serde_json::from_str(params.meta?.get()).ok()?;
    let version = HeaderValue::try_from(meta.version?).ok()?;
    let mut headers = vec![(PROTOCOL_VERSION, version)];
    headers.extend(HeaderValue::from_str(method).ok().map(|method| (METHOD, method)));
    let named = match Method::from_name(method).and_then(named) {
        Some(Named::Name) => params.name,
        Some(Named::Uri) => params.uri,
        Some(Named::TaskId) => params.task_id,
        None => None,
    };
    let name: Option<String> = named.and_then(|name| serde_json::from_str(name.get()).ok());
    if let Some(name) = &name {
        headers.extend(HeaderValue::from_str(&encode_value(name)).ok().map(|name| (NAME, name)));
        if Method::from_name(method) == Some(Method::CallTool) {
            headers.extend(mirrors.values(name, params.arguments));
        }
    }
    Some(headers)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(message: &serde_json::Value) -> Outgoing {
        Outgoing::read(message.to_string().into_bytes(), &Mirrors::default())
    }

    fn modern(method: &str, mut params: serde_json::Value) -> Vec<String> {
        params["_meta"] = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28" });
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let headers = read(&message).modern.unwrap().into_iter();
        headers
            .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
            .collect()
    }

    #[test]
    fn a_modern_request_is_mirrored_into_headers() {
        assert_eq!(
            modern("tools/list", json!({})),
            ["mcp-protocol-version: 2026-07-28", "mcp-method: tools/list"]
        );
        assert_eq!(
            modern("tools/call", json!({ "name": "get_weather" }))[2],
            "mcp-name: get_weather"
        );
        assert_eq!(
            modern("prompts/get", json!({ "name": "é" }))[2],
            "mcp-name: =?base64?w6k=?="
        );
        assert_eq!(
            modern("resources/read", json!({ "uri": "file:///a b" }))[2],
            "mcp-name: file:///a b"
        );
        for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
            assert_eq!(modern(method, json!({ "taskId": "t" }))[2], "mcp-name: t");
        }
        assert_eq!(
            modern("completion/complete", json!({ "name": "x", "uri": "y" })).len(),
            2
        );
    }

    #[test]
    fn legacy_messages_have_no_such_headers() {
        for message in [
            json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "a" } }),
            json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }),
            json!({ "jsonrpc": "2.0", "id": 1, "method": "x", "params": { "_meta": { "progressToken": 1 } } }),
            json!({ "jsonrpc": "2.0", "id": 1, "method": "x", "params": [] }),
            json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
            json!({ "jsonrpc": "2.0", "id": 1, "result": {} }),
            json!("nonsense"),
        ] {
            assert!(read(&message).modern.is_none(), "{message}");
        }
    }

    #[test]
    fn what_takes_a_request_back_names_it() {
        let notice =
            |params| read(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params })).kind;
        assert_eq!(notice(json!({ "requestId": "7" })), Kind::Cancelled("7".into()));
        assert_eq!(notice(json!({})), Kind::Notification(Some(Method::CancelledNotice)));
    }
}
