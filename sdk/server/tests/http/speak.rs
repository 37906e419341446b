//! What clients say, in each era.

use serde_json::{Value, json};

use crate::events::Events;
use crate::stage::Served;
use crate::wire::{Answer, Connection, Request};

pub(crate) const MODERN: &str = "2026-07-28";
/// The revisions with sessions.
pub(crate) const LEGACY: [&str; 3] = ["2025-03-26", "2025-06-18", "2025-11-25"];
pub(crate) const NEWEST_LEGACY: &str = "2025-11-25";

pub(crate) const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub(crate) const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
pub(crate) const META_SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// A request of no particular era.
pub(crate) fn message(id: impl Into<Value>, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id.into(), "method": method, "params": params })
}

/// The params of a call.
pub(crate) fn call(tool: &str, arguments: Value) -> Value {
    json!({ "name": tool, "arguments": arguments })
}

/// A modern request without its headers: metadata included.
pub(crate) fn modern_message(id: impl Into<Value>, method: &str, mut params: Value) -> Value {
    let meta = params["_meta"].take();
    params["_meta"] = json!({ META_VERSION: MODERN, META_CAPABILITIES: {} });
    if let (Some(all), Value::Object(more)) = (params["_meta"].as_object_mut(), meta) {
        all.extend(more);
    }
    message(id, method, params)
}

/// A modern request with the headers that go with it.
pub(crate) fn modern(id: impl Into<Value>, method: &str, params: Value) -> Request {
    with_headers(&modern_message(id, method, params))
}

/// The headers that go with a modern message.
pub(crate) fn with_headers(message: &Value) -> Request {
    let request = Request::post(message)
        .header("MCP-Protocol-Version", MODERN)
        .header("Mcp-Method", message["method"].as_str().unwrap());
    match message["params"].get("name").and_then(Value::as_str) {
        Some(name) => request.header("Mcp-Name", name),
        None => request,
    }
}

/// A modern call.
pub(crate) fn modern_call(id: impl Into<Value>, tool: &str, arguments: Value) -> Request {
    modern(id, "tools/call", call(tool, arguments))
}

/// The text that a tool answered with.
pub(crate) fn text(message: &Value) -> &str {
    message["result"]["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("no text in {message}"))
}

/// The client of a session.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(crate) session: String,
    pub(crate) revision: &'static str,
}

impl Client {
    /// Opens a session.
    pub(crate) async fn open(served: &Served, revision: &'static str) -> Self {
        Self::with(served, revision, json!({ "elicitation": {}, "sampling": {} })).await
    }

    pub(crate) async fn with(served: &Served, revision: &'static str, capabilities: Value) -> Self {
        let answer = served.ask(&initialize(0, revision, capabilities)).await;
        assert_eq!(answer.status(), 200, "{answer:?}");
        assert_eq!(answer.json()["result"]["protocolVersion"], revision);
        let session = answer.head.get("mcp-session-id").expect("a session").to_owned();
        let client = Self { session, revision };
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let answer = served.ask(&client.post(&ready)).await;
        assert_eq!((answer.status(), answer.body.len()), (202, 0));
        client
    }

    /// Makes a request one of this session.
    pub(crate) fn dress(&self, request: Request) -> Request {
        let request = request.header("Mcp-Session-Id", &self.session);
        // Older clients do not know the header.
        match self.revision {
            "2025-03-26" => request,
            revision => request.header("MCP-Protocol-Version", revision),
        }
    }

    pub(crate) fn post(&self, message: &Value) -> Request {
        self.dress(Request::post(message))
    }

    pub(crate) fn request(&self, id: impl Into<Value>, method: &str, params: Value) -> Request {
        self.post(&message(id, method, params))
    }

    pub(crate) fn call(&self, id: impl Into<Value>, tool: &str, arguments: Value) -> Request {
        self.request(id, "tools/call", call(tool, arguments))
    }

    /// A call that wants to hear of progress.
    pub(crate) fn followed(&self, id: impl Into<Value>, tool: &str, arguments: Value) -> Request {
        let mut params = call(tool, arguments);
        params["_meta"] = json!({ "progressToken": "p" });
        self.request(id, "tools/call", params)
    }

    pub(crate) fn cancel(&self, id: impl Into<Value>) -> Request {
        let params = json!({ "requestId": id.into() });
        self.post(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }))
    }

    pub(crate) fn get(&self) -> Request {
        self.dress(Request::get())
    }

    pub(crate) fn resume(&self, after: &str) -> Request {
        self.get().header("Last-Event-ID", after)
    }

    pub(crate) fn delete(&self) -> Request {
        self.dress(Request::new("DELETE", "/mcp"))
    }

    /// The stream that belongs to no request.
    pub(crate) async fn listen(&self, served: &Served) -> Events {
        served.events(&self.get()).await
    }

    /// Asks for something that is answered at once.
    pub(crate) async fn ping(&self, served: &Served) -> Answer {
        served.ask(&self.request("ping", "ping", json!({}))).await
    }
}

/// Opens a session, if it is answered well.
pub(crate) fn initialize(id: impl Into<Value>, revision: &str, capabilities: Value) -> Request {
    let params = json!({
        "protocolVersion": revision,
        "capabilities": capabilities,
        "clientInfo": { "name": "test", "version": "1" },
    });
    Request::post(&message(id, "initialize", params))
}

/// Sends a request whose answer is not read yet.
pub(crate) async fn send(served: &Served, request: &Request) -> Connection {
    let mut connection = served.connect().await;
    connection.write(&request.bytes()).await;
    connection
}
