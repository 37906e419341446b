//! JSON Schema between server and client.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use trunkline::transport::memory;
use trunkline::types::Revision;
use trunkline::{
    CallError, Client, DefinitionError, NoArguments, Server, Tool, proto::client::Opening, schema::Schema,
};
use trunkline_testkit::RawPeer;

/// A client of a server with one tool that answers each call with what stands in `results`, in turn.
async fn with_tool(definition: Value, results: Vec<Value>) -> Client {
    let (here, there) = memory();
    tokio::spawn(async move {
        let mut peer = RawPeer::on(there);
        let mut results = results.into_iter();
        while let Some(line) = peer.receive_text().await {
            let message: Value = serde_json::from_str(&line).unwrap();
            let result = match message["method"].as_str() {
                Some("initialize") => json!({ "protocolVersion": "2025-11-25", "capabilities": { "tools": {} },
                    "serverInfo": { "name": "s", "version": "1" } }),
                Some("tools/list") => json!({ "tools": [definition] }),
                Some("tools/call") => results.next().expect("one result a call"),
                _ => continue,
            };
            peer.send(json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }))
                .await;
        }
    });
    Client::over(here)
        .opening(Opening::Fixed(Revision::LATEST_LEGACY))
        .connect()
        .await
        .unwrap()
}

/// C-16: definitions stay whole on their way, and what they say is checked.
#[tokio::test]
async fn c16_definitions_and_references_stay_together() {
    let schema = json!({ "type": "object", "properties": { "q": { "$ref": "#/$defs/Q" } }, "required": ["q"],
        "$defs": { "Q": { "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] } } });
    let server = Server::new("s", "1").tool(
        "t",
        Tool::from_schema(schema.clone(), |ask: Value| async move { ask.to_string() }),
    );
    let client = Client::in_memory(&server).connect().await.unwrap();
    assert_eq!(client.tools().await.unwrap().items[0].input_schema, schema);
    assert_eq!(
        client.call("t", &json!({ "q": { "n": 1 } })).await.unwrap().text(),
        r#"{"q":{"n":1}}"#
    );
    let wrong = client.call("t", &json!({ "q": { "n": "x" } })).await.unwrap();
    assert!(wrong.failed() && wrong.text().contains("/q/n"), "{}", wrong.text());
}

/// C-17: nothing is ever fetched, and what cannot be resolved is refused, not waved through.
#[tokio::test]
async fn c17_references_are_never_fetched() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let touched = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&touched);
    tokio::spawn(async move {
        let _ = listener.accept().await;
        seen.store(true, Ordering::SeqCst);
    });
    for target in [format!("http://{address}/x"), "file:///etc/hostname".to_owned()] {
        let schema = json!({ "type": "object", "properties": { "a": { "$ref": target } } });
        assert!(Schema::compile(&schema).is_err());
        let server = Server::new("s", "1").tool("t", Tool::from_schema(schema.clone(), |_: Value| async { "" }));
        let error = server.check().unwrap_err();
        assert!(
            matches!(&error, DefinitionError::Unusable { why, .. } if why.contains("$ref")),
            "{error}"
        );
        // A client meets such a tool: the result is not checked against what cannot be read, and that is said.
        let definition = json!({ "name": "t", "inputSchema": { "type": "object" }, "outputSchema": schema });
        let client = with_tool(
            definition,
            vec![json!({ "content": [], "structuredContent": { "a": 1 } })],
        )
        .await;
        let listing = client.tools().await.unwrap();
        assert!(!listing.warnings.is_empty() || !listing.rejected.is_empty());
    }
    tokio::task::yield_now().await;
    assert!(!touched.load(Ordering::SeqCst), "nobody called");
}

/// C-19: only the structured part is checked, not the envelope around it.
#[tokio::test]
async fn c19_only_the_structured_part_is_checked() {
    let output = json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"], "additionalProperties": false });
    let definition = json!({ "name": "t", "inputSchema": { "type": "object" }, "outputSchema": output });
    let results = vec![
        json!({ "content": [], "structuredContent": { "n": 1 }, "isError": false, "x": 1 }),
        json!({ "content": [], "structuredContent": { "n": "one" } }),
        json!({ "content": [{ "type": "text", "text": "it failed" }], "isError": true }),
        json!({ "content": [], "structuredContent": [1] }),
    ];
    let client = with_tool(definition, results).await;
    client.tools().await.unwrap();
    assert_eq!(
        client.call("t", &json!({})).await.unwrap().structured_content,
        Some(json!({ "n": 1 }))
    );
    let mismatch = client.call("t", &json!({})).await.unwrap_err();
    assert!(
        matches!(&mismatch, CallError::Mismatch(why) if why.contains("/n")),
        "{mismatch:?}"
    );
    assert!(
        client.call("t", &json!({})).await.unwrap().failed(),
        "an error is not checked"
    );
    let array = client.call("t", &json!({})).await.unwrap_err();
    assert!(
        matches!(array, CallError::Mismatch(_)),
        "not an object before the revision that allows it"
    );
}

/// C-20: what fits the schema is sent as it is; null is never turned into text.
#[tokio::test]
async fn c20_arguments_that_fit_are_passed_as_they_are() {
    let schema = json!({ "type": "object", "properties": { "a": { "anyOf": [{ "type": "array" }, { "type": "null" }], "default": null } } });
    let server = Server::new("s", "1").tool(
        "t",
        Tool::from_schema(schema, |ask: Value| async move { ask.to_string() }),
    );
    let client = Client::in_memory(&server).connect().await.unwrap();
    assert_eq!(client.call("t", &json!({})).await.unwrap().text(), "{}");
    assert_eq!(
        client.call("t", &json!({ "a": null })).await.unwrap().text(),
        r#"{"a":null}"#
    );
}

/// A server that cannot keep its own promises does not start.
#[test]
fn broken_definitions_are_found_before_serving() {
    let bad = |schema: Value| {
        Server::new("s", "1")
            .tool("t", Tool::from_schema(schema, |_: Value| async { "" }))
            .check()
    };
    assert!(bad(json!({ "type": "array" })).is_err());
    assert!(bad(json!({ "type": "object", "properties": { "a": { "type": "no such type" } } })).is_err());
    assert!(bad(json!({ "$schema": "https://example.com/mine", "type": "object" })).is_err());
    assert!(
        bad(json!({ "type": "object", "properties": { "a": true } })).is_ok(),
        "a boolean is a schema"
    );
    let twice = |_: NoArguments| async { "" };
    assert!(matches!(
        Server::new("s", "1").tool("t", twice).tool("t", twice).check(),
        Err(DefinitionError::Duplicate { .. })
    ));
    for name in ["", "a b", "a/b", &"x".repeat(129)] {
        assert!(Server::new("s", "1").tool(name, twice).check().is_err(), "{name:?}");
    }
}
