//! The stream of what a legacy server says unasked.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::server::{Asked, Server};
use crate::wire::Wire;

/// Shakes hands, up to the request for the stream.
async fn connect(server: &mut Server) -> (Wire, Asked) {
    let mut wire = Wire::to(server);
    wire.request(1, "initialize", json!({ "protocolVersion": "2025-11-25" }));
    let asked = wire.while_(server.expect("initialize")).await;
    asked
        .result_with("Mcp-Session-Id: s\r\n", json!({ "protocolVersion": "2025-11-25" }))
        .await;
    wire.message().await;
    wire.notify("notifications/initialized");
    wire.while_(server.expect("notifications/initialized"))
        .await
        .status(202)
        .await;
    let listening = wire.while_(server.expect_get()).await;
    (wire, listening)
}

async fn still_works(wire: &mut Wire, server: &mut Server) {
    wire.request(7, "tools/list", json!({}));
    wire.while_(server.expect("tools/list")).await.result(json!({})).await;
    assert_eq!(wire.message().await["id"], 7);
}

#[tokio::test]
async fn a_server_without_the_stream_may_say_so_in_many_ways() {
    for (status, warned) in [
        (405, false),
        (404, true),
        (406, true),
        (400, true),
        (401, true),
        (403, true),
        (200, true),
    ] {
        let mut server = Server::start().await;
        let (mut wire, listening) = connect(&mut server).await;
        listening.status(status).await;
        if warned {
            let warning = wire.warning().await;
            assert!(warning.contains(&status.to_string()), "C-24: {warning}");
            assert_eq!(warning.contains("authorization"), status == 401, "{warning}");
        }
        still_works(&mut wire, &mut server).await;
        assert!(server.is_quiet(), "it is not asked again");
    }
}

#[tokio::test]
async fn a_server_that_fails_is_asked_again_later() {
    let mut server = Server::start().await;
    let (mut wire, listening) = connect(&mut server).await;
    listening.status(500).await;
    let began = Instant::now();
    still_works(&mut wire, &mut server).await;
    let again = wire.while_(server.expect_get()).await;
    assert!(began.elapsed() >= Duration::from_millis(200), "C-24");
    drop(again);
    let mut events = wire.while_(server.expect_get()).await.events().await;
    assert!(began.elapsed() >= Duration::from_millis(700), "and later still");
    events.notify("notifications/tools/list_changed", json!({})).await;
    assert_eq!(wire.message().await["method"], "notifications/tools/list_changed");
}

#[tokio::test]
async fn the_stream_goes_on_where_it_broke_off_and_when_the_server_wants() {
    let mut server = Server::start().await;
    let (mut wire, listening) = connect(&mut server).await;
    let mut events = listening.events().await;
    let notice = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
    events.raw("retry: 400\n").await;
    events.event(Some("e-1"), &notice).await;
    wire.message().await;
    drop(events);
    let began = Instant::now();
    let again = wire.while_(server.expect_get()).await;
    assert_eq!(again.header("last-event-id"), Some("e-1"));
    assert!(began.elapsed() >= Duration::from_millis(380), "{:?}", began.elapsed());
    // It does not know that event any more: the stream begins anew.
    again.status(400).await;
    let anew = wire.while_(server.expect_get()).await;
    assert_eq!(anew.header("last-event-id"), None);
    drop(anew.events().await);
    assert!(wire.while_(server.expect_get()).await.header("last-event-id").is_none());
}

#[tokio::test]
async fn a_stream_that_always_ends_at_once_makes_no_storm() {
    let mut server = Server::start().await;
    let (mut wire, listening) = connect(&mut server).await;
    let began = Instant::now();
    let mut next = Some(listening);
    let mut count = 0;
    while began.elapsed() < Duration::from_millis(2500) {
        if let Some(asked) = next.take() {
            count += 1;
            let mut events = asked.events().await;
            events.raw("id: 1\nretry: 1\ndata:\n\n").await;
        }
        let patience = tokio::time::timeout(
            Duration::from_millis(2500).saturating_sub(began.elapsed()),
            server.next(),
        );
        next = wire.while_(patience).await.ok();
    }
    assert!(count <= 5, "C-29: asked {count} times");
}
