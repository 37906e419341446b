//! Faults that people met in this field, each with the right behaviour; each test stands for a kind.
//!
//! Those of HTTP stand where its two ends are tested: `sdk/server/tests/http` and `sdk/http/tests/client`.

mod envelope;
mod lifecycle;
mod lists;
mod schemas;
mod stdio_client;
mod stdio_server;
mod waiting;

use std::time::Duration;

use serde_json::{Value, json};
use trunkline::proto::client::Opening;
use trunkline::transport::Command;
use trunkline::types::Revision;
use trunkline::{Client, Connector};
use trunkline_testkit::RawPeer;
use trunkline_tests::scenario_server;

/// Long enough for a loaded machine; a test that waits this long has failed.
const PATIENCE: Duration = Duration::from_secs(20);

/// A client of a server that follows a script.
fn scripted(steps: &[&str]) -> Connector {
    Client::command(Command::new(env!("CARGO_BIN_EXE_scripted-server")).args(steps.iter().copied()))
}

/// The same, connected without a probe.
async fn met(steps: &[&str]) -> Client {
    let steps: Vec<&str> = std::iter::once("meet").chain(steps.iter().copied()).collect();
    scripted(&steps)
        .opening(Opening::Fixed(Revision::LATEST_LEGACY))
        .connect()
        .await
        .unwrap()
}

const ANSWER: &str = r#">{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"right"}]}}"#;

/// Calls a tool that the script answers.
async fn right(client: &Client) {
    let called = tokio::time::timeout(PATIENCE, client.call("t", &json!({})))
        .await
        .expect("an answer in time");
    assert_eq!(called.unwrap().text(), "right");
}

/// A raw peer of the scenario server after a handshake with this revision.
async fn shaken(revision: Revision) -> RawPeer {
    let mut peer = RawPeer::of(&scenario_server());
    let params = json!({ "protocolVersion": revision.name(), "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let answer = peer
        .request(json!({ "jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": params }))
        .await;
    assert_eq!(answer["result"]["protocolVersion"], revision.name());
    peer.send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))
        .await;
    peer
}

/// The metadata that makes a request a modern one.
fn modern() -> Value {
    json!({ "io.modelcontextprotocol/protocolVersion": Revision::LATEST.name(), "io.modelcontextprotocol/clientCapabilities": {} })
}
