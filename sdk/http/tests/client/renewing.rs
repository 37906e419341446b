//! A server that forgot the session.

use std::future::poll_fn;
use std::time::Duration;

use serde_json::json;
use trunkline_transport::{Received, Transport};

use crate::server::{Asked, Server};
use crate::wire::Wire;

async fn connect() -> (Server, Wire) {
    let mut server = Server::start().await;
    let mut wire = Wire::to(&server);
    wire.shake_hands(&mut server, "2025-06-18", Some("old")).await;
    (server, wire)
}

/// The server shakes hands once more, and the client says that it did.
async fn renewed(server: &mut Server, wire: &mut Wire, session: &str) {
    let initialize = wire.while_(server.expect("initialize")).await;
    renewed_by(initialize, server, wire, session).await;
}

async fn renewed_by(initialize: Asked, server: &mut Server, wire: &mut Wire, session: &str) {
    assert_eq!(initialize.header("mcp-session-id"), None);
    assert_eq!(
        initialize.json()["params"]["protocolVersion"],
        "2025-06-18",
        "the bytes of the first one"
    );
    let result = json!({ "protocolVersion": "2025-06-18" });
    initialize
        .result_with(&format!("Mcp-Session-Id: {session}\r\n"), result)
        .await;
    let initialized = wire.while_(server.expect("notifications/initialized")).await;
    assert_eq!(initialized.header("mcp-session-id"), Some(session));
    initialized.status(202).await;
    assert!(matches!(wire.received().await.unwrap(), Received::Renewed));
}

#[tokio::test]
async fn a_forgotten_session_is_begun_anew_and_what_was_refused_is_sent_again() {
    let (mut server, mut wire) = connect().await;
    wire.request(2, "tools/call", json!({ "name": "order" }));
    let running = wire.while_(server.expect("tools/call")).await.events().await;
    wire.request(3, "tools/list", json!({}));
    wire.while_(server.expect("tools/list"))
        .await
        .error(404, -32001, "Session not found")
        .await;
    let initialize = wire.while_(server.expect("initialize")).await;
    wire.request(4, "resources/list", json!({}));
    renewed_by(initialize, &mut server, &mut wire, "new").await;
    let mut methods = Vec::new();
    for _ in 0..3 {
        let asked = wire.while_(server.next()).await;
        assert_eq!(asked.header("mcp-session-id"), Some("new"));
        methods.push(format!("{} {}", asked.verb(), asked.method()));
        match asked.verb() {
            "GET" => asked.status(405).await,
            _ => asked.result(json!({})).await,
        }
    }
    methods.sort();
    assert_eq!(methods, ["GET ", "POST resources/list", "POST tools/list"]);
    let ids = [wire.message().await["id"].clone(), wire.message().await["id"].clone()];
    assert!(ids.contains(&json!(3)) && ids.contains(&json!(4)));
    drop(running);
    let failed = wire.failed().await;
    assert!(
        failed.may_have_run && failed.id == 2,
        "what ran in the old session is unknown: {failed:?}"
    );
}

#[tokio::test]
async fn two_that_are_refused_begin_one_session() {
    let (mut server, mut wire) = connect().await;
    wire.request(2, "tools/list", json!({}));
    let first = wire.while_(server.next()).await;
    wire.request(3, "tools/list", json!({}));
    let second = wire.while_(server.next()).await;
    first.status(404).await;
    let initialize = wire.while_(server.expect("initialize")).await;
    second.status(404).await;
    initialize
        .result_with("Mcp-Session-Id: new\r\n", json!({ "protocolVersion": "2025-06-18" }))
        .await;
    wire.while_(server.expect("notifications/initialized"))
        .await
        .status(202)
        .await;
    assert!(matches!(wire.received().await.unwrap(), Received::Renewed));
    for _ in 0..3 {
        let asked = wire.while_(server.next()).await;
        assert_ne!(asked.method(), "initialize");
        assert_eq!(asked.header("mcp-session-id"), Some("new"));
        match asked.verb() {
            "GET" => asked.status(405).await,
            _ => asked.result(json!({})).await,
        }
    }
    wire.message().await;
    wire.message().await;
}

#[tokio::test]
async fn twice_in_a_row_ends_the_connection() {
    let (mut server, mut wire) = connect().await;
    wire.request(2, "tools/list", json!({}));
    wire.while_(server.expect("tools/list")).await.status(404).await;
    renewed(&mut server, &mut wire, "new").await;
    for _ in 0..2 {
        let asked = wire.while_(server.next()).await;
        match asked.verb() {
            "GET" => asked.status(405).await,
            _ => asked.status(404).await,
        }
    }
    let failed = wire.failed().await;
    assert!(!failed.may_have_run && failed.id == 2, "{failed:?}");
    let error = wire.received().await.unwrap_err().to_string();
    assert!(error.contains("twice in a row"), "{error}");
    assert!(wire.received().await.is_err(), "it stays so");
}

#[tokio::test]
async fn another_revision_ends_the_connection() {
    let (mut server, mut wire) = connect().await;
    wire.request(2, "tools/list", json!({}));
    wire.while_(server.expect("tools/list")).await.status(404).await;
    let initialize = wire.while_(server.expect("initialize")).await;
    initialize.result(json!({ "protocolVersion": "2025-03-26" })).await;
    assert!(!wire.failed().await.may_have_run);
    let error = wire.received().await.unwrap_err().to_string();
    assert!(error.contains("2025-03-26 instead of 2025-06-18"), "{error}");
}

#[tokio::test]
async fn a_server_that_is_away_meanwhile_is_tried_again_with_the_next_message() {
    let (mut server, mut wire) = connect().await;
    wire.request(2, "tools/call", json!({ "name": "a" }));
    wire.while_(server.expect("tools/call")).await.status(404).await;
    drop(wire.while_(server.expect("initialize")).await);
    let failed = wire.failed().await;
    assert!(!failed.may_have_run && failed.id == 2, "{failed:?}");
    wire.request(3, "tools/call", json!({ "name": "b" }));
    renewed(&mut server, &mut wire, "new").await;
    for _ in 0..2 {
        let asked = wire.while_(server.next()).await;
        match asked.verb() {
            "GET" => asked.status(405).await,
            _ => asked.result(json!({})).await,
        }
    }
    assert_eq!(wire.message().await["id"], 3);
}

/// Some servers answer an unknown method with the status of the modern era; their session lives on.
#[tokio::test]
async fn an_unknown_method_ends_no_session() {
    let (mut server, mut wire) = connect().await;
    wire.request(2, "prompts/list", json!({}));
    wire.while_(server.expect("prompts/list"))
        .await
        .error(404, -32601, "Method not found")
        .await;
    assert_eq!(wire.message().await["error"]["code"], -32601);
    wire.request(3, "tools/list", json!({}));
    let asked = wire.while_(server.expect("tools/list")).await;
    assert_eq!(asked.header("mcp-session-id"), Some("old"));
}

#[tokio::test]
async fn without_a_session_404_is_just_a_refusal() {
    let mut server = Server::start().await;
    let mut wire = Wire::to(&server);
    wire.shake_hands(&mut server, "2025-06-18", None).await;
    wire.request(2, "tools/list", json!({}));
    wire.while_(server.expect("tools/list")).await.status(404).await;
    assert_eq!(wire.failed().await.status, Some(404));
}

#[tokio::test]
async fn a_handshake_that_begins_and_does_not_end_is_given_up() {
    let (mut server, mut wire) = connect().await;
    wire.request(2, "tools/list", json!({}));
    wire.while_(server.expect("tools/list")).await.status(404).await;
    let mut silent = wire.while_(server.expect("initialize")).await.events().await;
    silent
        .notify("notifications/message", json!({ "level": "info", "data": 1 }))
        .await;
    // Its head has come when the client has nothing to do but to wait.
    tokio::time::pause();
    let received = poll_fn(|cx| {
        let _ = wire.http.poll_flush(cx);
        wire.http.poll_receive(cx)
    });
    match tokio::time::timeout(Duration::from_secs(60), received).await {
        Ok(Ok(Received::Undelivered { may_have_run, why, .. })) => {
            assert!(!may_have_run && why.contains("no new one could be begun"), "{why}");
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_answer_does_not_follow_into_another_session() {
    let (mut server, mut wire) = connect().await;
    wire.request(2, "tools/list", json!({}));
    wire.while_(server.expect("tools/list")).await.status(404).await;
    let initialize = wire.while_(server.expect("initialize")).await;
    wire.send(json!({ "jsonrpc": "2.0", "id": 1, "result": { "action": "accept" } }));
    renewed_by(initialize, &mut server, &mut wire, "new").await;
    for _ in 0..2 {
        let asked = wire.while_(server.next()).await;
        if asked.verb() == "GET" {
            asked.status(405).await;
        } else {
            let said = "the new session may have asked something else as 1";
            assert_eq!(asked.method(), "tools/list", "{said}");
            asked.result(json!({})).await;
        }
    }
    assert_eq!(wire.message().await["id"], 2);
    assert!(server.is_quiet());
}
