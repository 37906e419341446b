//! A legacy request whose stream ends before its answer.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::server::Server;
use crate::wire::Wire;

async fn connect(session: Option<&str>) -> (Server, Wire) {
    let mut server = Server::start().await;
    let mut wire = Wire::to(&server);
    wire.shake_hands(&mut server, "2025-11-25", session).await;
    wire.request(2, "tools/call", json!({ "name": "slow" }));
    (server, wire)
}

#[tokio::test]
async fn a_stream_that_is_polled_is_asked_for_again_after_the_wait() {
    let (mut server, mut wire) = connect(Some("s")).await;
    let mut events = wire.while_(server.expect("tools/call")).await.events().await;
    events.raw("id: e-1\nretry: 500\ndata: \n\n").await;
    drop(events);
    for (last, next) in [("e-1", "e-2"), ("e-2", "e-3")] {
        let began = Instant::now();
        let resumed = wire.while_(server.expect_get()).await;
        let waited = began.elapsed();
        assert!(
            waited >= Duration::from_millis(450) && waited < Duration::from_secs(5),
            "{waited:?}"
        );
        assert_eq!(resumed.header("last-event-id"), Some(last));
        assert_eq!(resumed.header("mcp-session-id"), Some("s"));
        assert_eq!(resumed.header("accept"), Some("text/event-stream"));
        let mut events = resumed.events().await;
        events.raw(&format!("id: {next}\ndata: \n\n")).await;
        if next == "e-3" {
            events
                .event(Some("e-4"), &json!({ "jsonrpc": "2.0", "id": 2, "result": {} }))
                .await;
        }
    }
    assert_eq!(wire.message().await["id"], 2);
}

#[tokio::test]
async fn without_an_event_id_the_outcome_is_unknown() {
    let (mut server, mut wire) = connect(None).await;
    let mut events = wire.while_(server.expect("tools/call")).await.events().await;
    events
        .notify("notifications/message", json!({ "level": "info", "data": 1 }))
        .await;
    wire.message().await;
    drop(events);
    let failed = wire.failed().await;
    assert!(failed.may_have_run && failed.id == 2, "{failed:?}");
    assert!(server.is_quiet());
}

#[tokio::test]
async fn a_stream_that_broke_in_the_middle_is_resumed_through_failures() {
    let (mut server, mut wire) = connect(None).await;
    let mut asked = wire.while_(server.expect("tools/call")).await;
    asked
        .raw("HTTP/1.1 200 X\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\nb\r\nid: 9\ndata:\r\n2\r\n\n\n\r\n")
        .await;
    drop(asked);
    wire.while_(server.expect_get()).await.status(503).await;
    drop(wire.while_(server.expect_get()).await);
    let resumed = wire.while_(server.expect_get()).await;
    assert_eq!(resumed.header("last-event-id"), Some("9"));
    let mut events = resumed.events().await;
    events
        .event(None, &json!({ "jsonrpc": "2.0", "id": 2, "result": {} }))
        .await;
    assert_eq!(wire.message().await["id"], 2);
}

#[tokio::test]
async fn a_server_that_does_not_resume_leaves_the_outcome_unknown() {
    for status in [400, 404, 405, 401] {
        let (mut server, mut wire) = connect(None).await;
        let mut events = wire.while_(server.expect("tools/call")).await.events().await;
        events.raw("id: 1\ndata:\n\n").await;
        drop(events);
        wire.while_(server.expect_get()).await.status(status).await;
        let failed = wire.failed().await;
        assert!(
            failed.may_have_run && failed.why.contains(&status.to_string()),
            "{failed:?}"
        );
        assert_eq!(failed.status, None, "the status is not the request's");
    }
}

#[tokio::test]
async fn a_request_that_is_taken_back_is_not_resumed() {
    let (mut server, mut wire) = connect(None).await;
    let mut events = wire.while_(server.expect("tools/call")).await.events().await;
    events.raw("id: 1\nretry: 100\ndata:\n\n").await;
    drop(events);
    wire.send(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 2 } }));
    let mut seen = Vec::new();
    let watching = async {
        while let Ok(asked) = tokio::time::timeout(Duration::from_millis(600), server.next()).await {
            seen.push(asked.verb().to_owned());
            asked.status(202).await;
        }
    };
    wire.while_(watching).await;
    assert_eq!(seen, ["POST"], "the message that takes it back, and nothing else");
}

#[tokio::test]
async fn a_handshake_that_is_resumed_keeps_its_session() {
    let mut server = Server::start().await;
    let mut wire = Wire::to(&server);
    wire.request(1, "initialize", json!({ "protocolVersion": "2025-11-25" }));
    let mut asked = wire.while_(server.expect("initialize")).await;
    asked
        .raw(
            "HTTP/1.1 200 X\r\nContent-Type: text/event-stream\r\nMcp-Session-Id: s\r\nConnection: close\r\n\r\n\
             id: e-1\nretry: 100\ndata: \n\n",
        )
        .await;
    drop(asked);
    let resumed = wire.while_(server.expect_get()).await;
    assert_eq!(resumed.header("mcp-session-id"), Some("s"));
    let mut events = resumed.events().await;
    let result = json!({ "protocolVersion": "2025-11-25" });
    events
        .event(None, &json!({ "jsonrpc": "2.0", "id": 1, "result": result }))
        .await;
    assert_eq!(wire.message().await["id"], 1);
    wire.notify("notifications/initialized");
    let initialized = wire.while_(server.expect("notifications/initialized")).await;
    assert_eq!(initialized.header("mcp-session-id"), Some("s"), "said once, it stays");
}
