//! The server's side of a connection, written by hand in each test: raw JSON, one message a line.

use std::future::poll_fn;
use std::time::Duration;

use serde_json::{Value, json};
use trunkline_client::types::Revision;
use trunkline_client::{Client, Connector, Transport};
use trunkline_transport::{Memory, Received, memory};

/// What a script waits for, so that a client that says nothing fails a test instead of holding it up.
/// Where the clock is paused, twenty seconds of its time pass at once, and much more is allowed.
pub(crate) async fn soon<T>(waited_for: impl Future<Output = T>) -> T {
    const PATIENCE: Duration = Duration::from_secs(20);
    let began = std::time::Instant::now();
    let mut waited_for = std::pin::pin!(waited_for);
    for _ in 0..10_000 {
        if let Ok(came) = tokio::time::timeout(PATIENCE, &mut waited_for).await {
            return came;
        }
        assert!(began.elapsed() < PATIENCE, "nothing came for {PATIENCE:?}");
    }
    panic!("nothing came, however long it was waited for");
}

/// A server that does what the test says and nothing else.
pub(crate) struct Peer {
    transport: Memory,
}

impl Peer {
    /// The next message from the client; none at its end.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        let receiving = poll_fn(|cx| {
            // What the client did not take yet goes on meanwhile.
            let _ = self.transport.poll_flush(cx);
            self.transport.poll_receive(cx)
        });
        match soon(receiving).await.unwrap() {
            Received::Message(message) => Some(serde_json::from_slice(&message).unwrap()),
            Received::End => None,
            other => panic!("{other:?}"),
        }
    }

    /// The next message, which must be of this method.
    pub(crate) async fn expect(&mut self, method: &str) -> Value {
        let message = self
            .next()
            .await
            .unwrap_or_else(|| panic!("the end instead of {method}"));
        assert_eq!(message["method"], method, "{message}");
        message
    }

    /// Sends a line that may be anything.
    pub(crate) async fn line(&mut self, line: &str) {
        self.transport.send(line.as_bytes().to_vec());
        // A client that is gone does not disturb the script.
        let _ = poll_fn(|cx| self.transport.poll_flush(cx)).await;
    }

    /// Sends many messages without reading. Whether the client took them all.
    pub(crate) async fn flood(&mut self, messages: impl Iterator<Item = Value>) -> bool {
        for message in messages {
            self.transport.send(message.to_string().into_bytes());
        }
        let flushing = poll_fn(|cx| self.transport.poll_flush(cx));
        tokio::time::timeout(Duration::from_secs(1), flushing).await.is_ok()
    }

    pub(crate) async fn send(&mut self, message: Value) {
        self.line(&message.to_string()).await;
    }

    /// Answers a request of the client's.
    pub(crate) async fn answer(&mut self, request: &Value, result: Value) {
        self.send(json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }))
            .await;
    }

    pub(crate) async fn refuse(&mut self, request: &Value, code: i64, message: &str) {
        let error = json!({ "code": code, "message": message });
        self.send(json!({ "jsonrpc": "2.0", "id": request["id"], "error": error }))
            .await;
    }

    pub(crate) async fn notify(&mut self, method: &str, params: Value) {
        self.send(json!({ "jsonrpc": "2.0", "method": method, "params": params }))
            .await;
    }

    /// Expects a request and answers it.
    pub(crate) async fn serve(&mut self, method: &str, result: Value) -> Value {
        let request = self.expect(method).await;
        self.answer(&request, result).await;
        request
    }

    /// Answers the probe of a client as a modern server.
    pub(crate) async fn be_modern(&mut self, capabilities: Value) {
        let result = json!({
            "resultType": "complete", "supportedVersions": [Revision::LATEST.name()], "capabilities": capabilities,
            "_meta": { "io.modelcontextprotocol/serverInfo": { "name": "peer", "version": "1" } },
        });
        self.serve("server/discover", result).await;
    }

    /// Refuses the probe and shakes hands as a legacy server.
    pub(crate) async fn be_legacy(&mut self, revision: Revision, capabilities: Value) {
        let probe = self.expect("server/discover").await;
        self.refuse(&probe, -32601, "what?").await;
        self.shake_hands(revision, capabilities).await;
    }

    pub(crate) async fn shake_hands(&mut self, revision: Revision, capabilities: Value) {
        let result = json!({
            "protocolVersion": revision.name(), "capabilities": capabilities,
            "serverInfo": { "name": "peer", "version": "1" },
        });
        self.serve("initialize", result).await;
        self.expect("notifications/initialized").await;
    }
}

/// A peer, and a connector to it.
pub(crate) fn peer() -> (Peer, Connector) {
    let (near, far) = memory();
    (Peer { transport: far }, Client::over(near))
}

pub(crate) async fn modern(capabilities: Value) -> (Peer, Client) {
    modern_with(capabilities, |connector| connector).await
}

pub(crate) async fn modern_with(capabilities: Value, with: impl FnOnce(Connector) -> Connector) -> (Peer, Client) {
    let (mut peer, connector) = peer();
    let (client, ()) = tokio::join!(with(connector).connect(), peer.be_modern(capabilities));
    (peer, client.unwrap())
}

pub(crate) async fn legacy(capabilities: Value) -> (Peer, Client) {
    legacy_with(Revision::LATEST_LEGACY, capabilities, |connector| connector).await
}

pub(crate) async fn legacy_with(
    revision: Revision,
    capabilities: Value,
    with: impl FnOnce(Connector) -> Connector,
) -> (Peer, Client) {
    let (mut peer, connector) = peer();
    let (client, ()) = tokio::join!(with(connector).connect(), peer.be_legacy(revision, capabilities));
    (peer, client.unwrap())
}

/// A result of a tool, of a modern server.
pub(crate) fn text(text: &str) -> Value {
    json!({ "resultType": "complete", "content": [{ "type": "text", "text": text }] })
}
