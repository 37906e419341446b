//! The session of a legacy server, from its first message on.

use serde_json::json;
use trunkline_http::client::Remote;
use trunkline_transport::Received;

use crate::server::Server;
use crate::wire::Wire;

#[tokio::test]
async fn what_is_agreed_is_said_with_everything_that_follows() {
    for (revision, version) in [
        ("2025-11-25", Some("2025-11-25")),
        ("2025-06-18", Some("2025-06-18")),
        ("2025-03-26", None),
        ("2024-11-05", None),
    ] {
        let mut server = Server::start().await;
        let mut wire = Wire::open(&Remote::new(server.url()).header("X-Key", "k"));
        wire.request(1, "initialize", json!({ "protocolVersion": "2025-11-25" }));
        let asked = wire.while_(server.expect("initialize")).await;
        for absent in ["mcp-protocol-version", "mcp-session-id", "mcp-method"] {
            assert_eq!(asked.header(absent), None, "{}", asked.head);
        }
        let result = json!({ "protocolVersion": revision });
        asked.result_with("Mcp-Session-Id: s-1\r\n", result).await;
        wire.message().await;
        wire.notify("notifications/initialized");
        let initialized = wire.while_(server.expect("notifications/initialized")).await;
        assert_eq!(initialized.header("mcp-session-id"), Some("s-1"));
        assert_eq!(initialized.header("mcp-protocol-version"), version);
        initialized.status(202).await;
        let listening = wire.while_(server.expect_get()).await;
        for (name, value) in [
            ("accept", Some("text/event-stream")),
            ("mcp-session-id", Some("s-1")),
            ("mcp-protocol-version", version),
            ("x-key", Some("k")),
            ("last-event-id", None),
        ] {
            assert_eq!(listening.header(name), value, "{}", listening.head);
        }
        listening.status(405).await;
        wire.request(2, "tools/list", json!({}));
        let asked = wire.while_(server.expect("tools/list")).await;
        assert_eq!(asked.header("mcp-session-id"), Some("s-1"));
        assert_eq!(asked.header("mcp-protocol-version"), version);
        assert_eq!(asked.header("mcp-method"), None);
        asked.result(json!({})).await;
        assert_eq!(wire.message().await["id"], 2);
        tokio::spawn(async move {
            let end = server.next().await;
            assert_eq!((end.verb(), end.header("mcp-session-id")), ("DELETE", Some("s-1")));
            end.status(405).await;
        });
        wire.close().await;
    }
}

#[tokio::test]
async fn nothing_overtakes_the_end_of_the_handshake() {
    let mut server = Server::start().await;
    let mut wire = Wire::to(&server);
    wire.request(1, "initialize", json!({ "protocolVersion": "2025-11-25" }));
    let asked = wire.while_(server.expect("initialize")).await;
    asked.result(json!({ "protocolVersion": "2025-11-25" })).await;
    wire.message().await;
    wire.notify("notifications/initialized");
    wire.request(2, "tools/list", json!({}));
    let initialized = wire.while_(server.expect("notifications/initialized")).await;
    assert!(server.is_quiet());
    initialized.status(202).await;
    let mut methods = Vec::new();
    for _ in 0..2 {
        let asked = wire.while_(server.next()).await;
        assert_eq!(asked.header("mcp-session-id"), None, "a server need not have sessions");
        methods.push(format!("{} {}", asked.verb(), asked.method()));
    }
    methods.sort();
    assert_eq!(methods, ["GET ", "POST tools/list"]);
}

#[tokio::test]
async fn a_session_header_that_a_proxy_doubled_is_one_and_two_are_refused() {
    for (headers, accepted) in [
        ("Mcp-Session-Id: abc\r\nmcp-session-id: abc\r\n", true),
        ("Mcp-Session-Id: abc\r\nmcp-session-id: abd\r\n", false),
        ("Mcp-Session-Id: a b\r\n", false),
    ] {
        let mut server = Server::start().await;
        let mut wire = Wire::to(&server);
        wire.request(1, "initialize", json!({ "protocolVersion": "2025-11-25" }));
        let asked = wire.while_(server.expect("initialize")).await;
        asked
            .result_with(headers, json!({ "protocolVersion": "2025-11-25" }))
            .await;
        if accepted {
            wire.message().await;
            wire.notify("notifications/initialized");
            let next = wire.while_(server.next()).await;
            assert_eq!(next.header("mcp-session-id"), Some("abc"), "C-30");
        } else {
            let failed = wire.failed().await;
            assert!(failed.id == 1 && failed.why.contains("session id"), "C-30: {failed:?}");
        }
    }
}

#[tokio::test]
async fn a_legacy_request_is_taken_back_by_a_message() {
    let mut server = Server::start().await;
    let mut wire = Wire::to(&server);
    wire.shake_hands(&mut server, "2025-11-25", Some("s")).await;
    wire.request(2, "tools/call", json!({ "name": "slow" }));
    let events = wire.while_(server.expect("tools/call")).await.events().await;
    wire.send(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 2 } }));
    let cancelled = wire.while_(server.expect("notifications/cancelled")).await;
    assert_eq!(cancelled.json()["params"]["requestId"], 2);
    cancelled.status(202).await;
    wire.while_(events.asked.closed()).await;
}

#[tokio::test]
async fn a_question_on_a_stream_is_answered_by_a_post() {
    let mut server = Server::start().await;
    let mut wire = Wire::to(&server);
    wire.shake_hands(&mut server, "2025-06-18", Some("s")).await;
    wire.request(2, "tools/call", json!({ "name": "ask" }));
    let mut events = wire.while_(server.expect("tools/call")).await.events().await;
    events
        .event(None, &json!({ "jsonrpc": "2.0", "id": "q", "method": "roots/list" }))
        .await;
    assert_eq!(wire.message().await["method"], "roots/list");
    wire.send(json!({ "jsonrpc": "2.0", "id": "q", "result": { "roots": [] } }));
    let answer = wire.while_(server.next()).await;
    assert_eq!((answer.id(), answer.header("mcp-session-id")), (json!("q"), Some("s")));
    answer.status(202).await;
    events.result(json!({})).await;
    assert_eq!(wire.message().await["id"], 2);
}

#[tokio::test]
async fn batches_of_the_one_revision_that_has_them_are_handed_on() {
    let mut server = Server::start().await;
    let mut wire = Wire::to(&server);
    wire.shake_hands(&mut server, "2025-03-26", None).await;
    wire.request(2, "tools/list", json!({}));
    let batch = json!([
        { "jsonrpc": "2.0", "method": "notifications/tools/list_changed" },
        { "jsonrpc": "2.0", "id": 2, "result": {} },
    ]);
    wire.while_(server.expect("tools/list"))
        .await
        .json_body(200, "", &batch)
        .await;
    assert_eq!(wire.message().await, batch);
    // Nothing says that the request has no answer.
    wire.request(3, "tools/list", json!({}));
    wire.while_(server.expect("tools/list")).await.result(json!({})).await;
    assert!(matches!(wire.received().await.unwrap(), Received::Message(_)));
}
