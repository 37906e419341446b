//! The end of a connection.

use std::time::{Duration, Instant};

use serde_json::json;
use trunkline_transport::{Received, Transport};

use crate::server::Server;
use crate::wire::Wire;

#[tokio::test]
async fn what_is_being_sent_leaves_first_and_then_the_session_ends() {
    let mut server = Server::start().await;
    let mut wire = Wire::to(&server);
    wire.shake_hands(&mut server, "2025-11-25", Some("s")).await;
    wire.request(2, "tools/call", json!({ "name": "slow" }));
    let running = wire.while_(server.expect("tools/call")).await;
    wire.send(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 2 } }));
    let closing = tokio::spawn(wire.close());
    server.expect("notifications/cancelled").await.status(202).await;
    let end = server.next().await;
    assert_eq!((end.verb(), end.header("mcp-session-id")), ("DELETE", Some("s")));
    end.status(200).await;
    closing.await.unwrap();
    running.closed().await;
}

#[tokio::test]
async fn a_server_that_does_not_answer_holds_nobody_up() {
    let mut server = Server::start().await;
    let mut wire = Wire::to(&server);
    wire.shake_hands(&mut server, "2025-11-25", Some("s")).await;
    wire.notify("notifications/roots/list_changed");
    let silent = wire.while_(server.next()).await;
    let began = Instant::now();
    wire.close().await;
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    silent.closed().await;
    assert_eq!(server.next().await.verb(), "DELETE");
}

#[tokio::test]
async fn a_modern_connection_has_nothing_to_end() {
    let mut server = Server::start().await;
    let mut wire = Wire::to(&server);
    wire.ask(1, "tools/list", json!({}));
    wire.while_(server.next())
        .await
        .result_with("Mcp-Session-Id: ignored\r\n", json!({}))
        .await;
    wire.message().await;
    wire.close().await;
    assert!(server.is_quiet());
}

#[tokio::test]
async fn after_the_end_nothing_is_sent_or_received() {
    let mut server = Server::start().await;
    let mut wire = Wire::to(&server);
    std::future::poll_fn(|cx| wire.http.poll_close(cx)).await.unwrap();
    wire.ask(1, "tools/list", json!({}));
    assert!(matches!(wire.received().await.unwrap(), Received::End));
    assert!(matches!(wire.received().await.unwrap(), Received::End));
    std::future::poll_fn(|cx| wire.http.poll_close(cx)).await.unwrap();
    assert!(server.is_quiet());
}

#[tokio::test]
async fn dropping_the_transport_closes_its_connections() {
    let mut server = Server::start().await;
    let mut wire = Wire::to(&server);
    wire.ask(1, "subscriptions/listen", json!({ "notifications": {} }));
    let events = wire.while_(server.next()).await.events().await;
    drop(wire);
    events.asked.closed().await;
}
