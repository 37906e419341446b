//! HTTP+SSE, the transport of the first revision.

use serde_json::json;
use trunkline_http::client::{Remote, RemoteKind};
use trunkline_transport::{Received, Transport};

use crate::server::{Events, Server};
use crate::wire::Wire;

/// Answers the request for the stream with the address for messages.
async fn link(server: &mut Server, wire: &mut Wire) -> Events {
    let asked = wire.while_(server.expect_get()).await;
    assert_eq!(
        (asked.path(), asked.header("accept")),
        ("/mcp", Some("text/event-stream"))
    );
    let mut events = asked.events().await;
    events.raw("event: endpoint\ndata: /messages?sessionId=7\n\n").await;
    events
}

/// Shakes hands over the two addresses and makes a call.
async fn works(server: &mut Server, wire: &mut Wire, mut events: Events) -> Events {
    for (id, method) in [(1, "initialize"), (2, "tools/call")] {
        if id == 2 {
            wire.request(id, method, json!({ "name": "x" }));
        }
        let asked = wire.while_(server.expect(method)).await;
        assert_eq!(asked.path(), "/messages?sessionId=7");
        asked.answer(202, "Content-Type: text/plain\r\n", "Accepted").await;
        let result = json!({ "protocolVersion": "2024-11-05" });
        events
            .raw(&format!(
                "event: message\ndata: {}\n\n",
                json!({ "jsonrpc": "2.0", "id": id, "result": result })
            ))
            .await;
        assert_eq!(wire.message().await["id"], id);
    }
    events
}

#[tokio::test]
async fn a_server_of_this_kind_is_spoken_to_over_two_addresses() {
    let mut server = Server::start().await;
    let mut wire = Wire::open(&Remote::new(server.url()).kind(RemoteKind::HttpSse));
    wire.request(1, "initialize", json!({ "protocolVersion": "2025-11-25" }));
    let events = link(&mut server, &mut wire).await;
    let events = works(&mut server, &mut wire, events).await;
    wire.request(3, "tools/call", json!({ "name": "slow" }));
    wire.while_(server.expect("tools/call")).await.status(202).await;
    drop(events);
    assert!(
        matches!(wire.received().await.unwrap(), Received::End),
        "the stream was the connection"
    );
    assert!(wire.http.diagnosis().unwrap().contains("ended its stream"));
}

#[tokio::test]
async fn a_server_that_refuses_the_newer_transport_is_asked_for_this_one() {
    for status in [400, 404, 405] {
        let mut server = Server::start().await;
        let mut wire = Wire::to(&server);
        wire.request(1, "initialize", json!({ "protocolVersion": "2025-11-25" }));
        wire.while_(server.expect("initialize")).await.status(status).await;
        let events = link(&mut server, &mut wire).await;
        works(&mut server, &mut wire, events).await;
    }
}

#[tokio::test]
async fn a_server_that_speaks_neither_is_told_by_its_first_answer() {
    let mut server = Server::start().await;
    let mut wire = Wire::to(&server);
    wire.request(1, "initialize", json!({ "protocolVersion": "2025-11-25" }));
    wire.while_(server.expect("initialize"))
        .await
        .answer(404, "", "no such page")
        .await;
    wire.while_(server.expect_get()).await.status(404).await;
    let failed = wire.failed().await;
    assert_eq!((failed.may_have_run, failed.status), (false, Some(404)), "{failed:?}");
    assert!(
        failed.why.contains("no such page") && failed.why.contains("HTTP+SSE"),
        "{failed:?}"
    );

    wire.request(2, "initialize", json!({ "protocolVersion": "2025-11-25" }));
    wire.while_(server.expect("initialize"))
        .await
        .error(400, -32600, "no")
        .await;
    wire.while_(server.expect_get()).await.status(405).await;
    let message = wire.message().await;
    assert_eq!((&message["id"], &message["error"]["code"]), (&json!(2), &json!(-32600)));
}

#[tokio::test]
async fn other_refusals_and_other_kinds_do_not_lead_here() {
    for (kind, status, code) in [
        (RemoteKind::Streamable, 404, None),
        (RemoteKind::Auto, 401, None),
        (RemoteKind::Auto, 500, None),
        (RemoteKind::Auto, 400, Some(-32022)),
    ] {
        let mut server = Server::start().await;
        let mut wire = Wire::open(&Remote::new(server.url()).kind(kind));
        wire.request(1, "initialize", json!({}));
        let asked = wire.while_(server.expect("initialize")).await;
        match code {
            None => asked.status(status).await,
            Some(code) => {
                let error = json!({ "code": code, "message": "no", "data": { "supported": ["2026-07-28"] } });
                asked
                    .json_body(status, "", &json!({ "jsonrpc": "2.0", "id": 1, "error": error }))
                    .await;
            }
        }
        let received = wire.received().await.unwrap();
        assert_eq!(matches!(received, Received::Message(_)), code.is_some(), "{received:?}");
        assert!(server.is_quiet());
    }
}

#[tokio::test]
async fn messages_are_not_sent_to_another_origin() {
    let mut server = Server::start().await;
    let mut wire = Wire::open(&Remote::new(server.url()).kind(RemoteKind::HttpSse));
    for (first, why) in [
        ("event: endpoint\ndata: http://evil.example/m\n\n", "another origin"),
        ("data: {}\n\n", "instead of \"endpoint\""),
        ("", "ended its stream"),
    ] {
        wire.request(1, "initialize", json!({}));
        let mut events = wire.while_(server.expect_get()).await.events().await;
        events.raw(first).await;
        drop(events);
        let failed = wire.failed().await;
        assert!(!failed.may_have_run && failed.why.contains(why), "{failed:?}");
    }
}

#[tokio::test]
async fn a_message_that_is_refused_fails_its_request_only() {
    let mut server = Server::start().await;
    let mut wire = Wire::open(&Remote::new(server.url()).kind(RemoteKind::HttpSse));
    wire.request(1, "initialize", json!({ "protocolVersion": "2025-11-25" }));
    let events = link(&mut server, &mut wire).await;
    let mut events = works(&mut server, &mut wire, events).await;
    wire.request(3, "tools/call", json!({ "name": "x" }));
    wire.while_(server.expect("tools/call")).await.status(400).await;
    let failed = wire.failed().await;
    assert_eq!((failed.id, failed.may_have_run), (json!(3), false));
    wire.send(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 2 } }));
    wire.while_(server.expect("notifications/cancelled"))
        .await
        .status(202)
        .await;
    events.notify("notifications/tools/list_changed", json!({})).await;
    assert_eq!(wire.message().await["method"], "notifications/tools/list_changed");
}

#[tokio::test]
async fn what_a_slow_modern_server_is_asked_meanwhile_goes_out_when_it_has_no_such_stream() {
    let mut server = Server::start().await;
    let mut wire = Wire::to(&server);
    // The client gave up on the probe, and then its late answer came.
    wire.request(1, "initialize", json!({ "protocolVersion": "2025-11-25" }));
    wire.while_(server.expect("initialize"))
        .await
        .error(404, -32601, "no such method")
        .await;
    let stream = wire.while_(server.expect_get()).await;
    wire.ask(2, "tools/list", json!({}));
    stream.status(405).await;
    wire.while_(server.expect("tools/list")).await.result(json!({})).await;
    assert_eq!(wire.message().await["id"], 1);
    assert_eq!(wire.message().await["id"], 2);
}
