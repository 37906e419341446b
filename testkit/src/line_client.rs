//! A client of a few lines: it sends JSON as it is written in a test and returns JSON as it came.

use serde_json::{Value, json};
use trunkline::transport::InMemory;

use crate::RawPeer;

/// The modern revision.
pub const MODERN: &str = "2026-07-28";
/// The revisions of a test that holds in both eras.
pub const BOTH: [&str; 2] = ["2025-11-25", MODERN];

/// A client of a server in the same process, in either era.
#[derive(Debug)]
pub struct LineClient {
    peer: RawPeer,
    revision: &'static str,
    capabilities: Value,
    last_id: u64,
}

impl LineClient {
    /// Connects as the revision asks: by a handshake, or by nothing at all.
    pub async fn connect(server: &impl InMemory, revision: &'static str, capabilities: Value) -> Self {
        let mut client = Self {
            peer: RawPeer::of(server),
            revision,
            capabilities,
            last_id: 0,
        };
        if revision != MODERN {
            let hello = json!({
                "protocolVersion": revision,
                "capabilities": client.capabilities,
                "clientInfo": { "name": "lines", "version": "1" },
            });
            let welcome = client.request("initialize", hello).await;
            assert_eq!(welcome["result"]["protocolVersion"], revision, "{welcome}");
            client
                .send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))
                .await;
        }
        client
    }

    /// Whether it speaks the modern revision.
    pub fn is_modern(&self) -> bool {
        self.revision == MODERN
    }

    /// Sends one message.
    pub async fn send(&mut self, message: Value) {
        self.peer.send(message).await;
    }

    /// The next message.
    pub async fn receive(&mut self) -> Value {
        self.peer.receive().await
    }

    /// Sends a request with what its revision wants beside the params. Returns its id.
    pub async fn start(&mut self, method: &str, mut params: Value) -> u64 {
        if self.is_modern() {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": self.revision,
                "io.modelcontextprotocol/clientInfo": { "name": "lines", "version": "1" },
                "io.modelcontextprotocol/clientCapabilities": self.capabilities,
            });
        }
        self.last_id += 1;
        let id = self.last_id;
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
            .await;
        id
    }

    /// Sends a request and returns the whole reply, which must be the next message.
    pub async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.start(method, params).await;
        let reply = self.receive().await;
        assert_eq!(reply["id"], id, "{reply}");
        reply
    }

    /// Calls a tool and returns its result.
    pub async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let reply = self
            .request("tools/call", json!({ "name": tool, "arguments": arguments }))
            .await;
        assert!(reply.get("error").is_none(), "{reply}");
        reply["result"].clone()
    }

    /// Lists everything of one kind, which fits on one page.
    pub async fn list(&mut self, method: &str, field: &str) -> Vec<Value> {
        let reply = self.request(method, json!({})).await;
        assert!(reply["result"].get("nextCursor").is_none(), "{reply}");
        reply["result"][field].as_array().expect("a list").clone()
    }

    /// Reads a resource that has one text, which is JSON.
    pub async fn read_json(&mut self, uri: &str) -> Value {
        let reply = self.request("resources/read", json!({ "uri": uri })).await;
        let contents = &reply["result"]["contents"];
        assert_eq!(contents.as_array().map(Vec::len), Some(1), "{reply}");
        assert_eq!(contents[0]["uri"], uri);
        assert_eq!(contents[0]["mimeType"], "application/json");
        serde_json::from_str(contents[0]["text"].as_str().expect("a text")).expect("JSON")
    }

    /// The values suggested for an argument.
    pub async fn complete(&mut self, reference: Value, argument: &str, typed: &str) -> Vec<String> {
        let params = json!({ "ref": reference, "argument": { "name": argument, "value": typed } });
        let reply = self.request("completion/complete", params).await;
        serde_json::from_value(reply["result"]["completion"]["values"].clone()).expect("texts")
    }
}

/// Checks that a schema stays within what the strictest model providers take, and that everything is described.
pub fn assert_plain(schema: &Value, path: &str) {
    let Some(object) = schema.as_object() else { return };
    assert!(object.get("type").is_none_or(Value::is_string), "{path}: {schema}");
    for keyword in ["$ref", "$defs", "$schema", "format", "oneOf", "anyOf", "allOf", "const"] {
        assert!(!object.contains_key(keyword), "{path} has {keyword}: {schema}");
    }
    // A comment meant for people who read the code shows by its line ends.
    let description = object.get("description").and_then(Value::as_str).unwrap_or_default();
    assert!(!description.contains('\n'), "{path}: {description}");
    let properties = object.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        let path = format!("{path}.{name}");
        let described = property["description"].as_str().is_some_and(|text| text.len() > 10);
        assert!(described, "{path} says nothing of itself: {property}");
        assert_plain(property, &path);
    }
    if let Some(items) = object.get("items") {
        assert_plain(items, &format!("{path}[]"));
    }
}
