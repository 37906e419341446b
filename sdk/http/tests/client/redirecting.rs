//! Redirects and proxies.

use serde_json::json;
use trunkline_http::client::{Proxies, Remote};

use crate::server::Server;
use crate::wire::Wire;

#[tokio::test]
async fn a_body_follows_a_redirect_that_keeps_it() {
    let mut server = Server::start().await;
    let mut wire = Wire::open(&Remote::new(server.url()).header("Authorization", "Bearer k"));
    for status in [307, 308] {
        wire.ask(1, "tools/call", json!({ "name": "x" }));
        let first = wire.while_(server.next()).await;
        let body = first.body.clone();
        first.answer(status, "Location: /mcp/\r\n", "").await;
        let second = wire.while_(server.next()).await;
        assert_eq!((second.verb(), second.path(), &second.body), ("POST", "/mcp/", &body));
        assert_eq!(second.header("authorization"), Some("Bearer k"));
        assert_eq!(second.header("mcp-name"), Some("x"));
        second.result(json!({})).await;
        wire.message().await;
    }
}

#[tokio::test]
async fn another_origin_gets_the_message_and_no_secret() {
    let mut server = Server::start().await;
    let mut other = Server::start().await;
    let mut wire = Wire::open(&Remote::new(server.url()).header("Authorization", "Bearer k"));
    wire.shake_hands(&mut server, "2025-06-18", Some("s")).await;
    wire.request(2, "tools/list", json!({}));
    let location = format!("Location: {}\r\n", other.url());
    wire.while_(server.expect("tools/list"))
        .await
        .answer(307, &location, "")
        .await;
    let asked = wire.while_(other.expect("tools/list")).await;
    assert_eq!(asked.header("authorization"), None);
    assert_eq!(asked.header("mcp-session-id"), None);
    assert_eq!(asked.header("mcp-protocol-version"), Some("2025-06-18"));
    asked.result(json!({})).await;
    wire.message().await;
}

#[tokio::test]
async fn a_redirect_that_cannot_be_followed_names_its_target() {
    let mut server = Server::start().await;
    let mut wire = Wire::to(&server);
    for (status, may_have_run) in [(301, false), (302, false), (303, true)] {
        wire.ask(1, "tools/call", json!({ "name": "x" }));
        wire.while_(server.next())
            .await
            .answer(status, "Location: /mcp/v2?key=secret\r\n", "")
            .await;
        let failed = wire.failed().await;
        assert_eq!((failed.may_have_run, failed.status), (may_have_run, Some(status)));
        assert!(
            failed.why.contains("/mcp/v2") && !failed.why.contains("secret"),
            "{failed:?}"
        );
    }
}

#[tokio::test]
async fn redirects_in_a_circle_end() {
    let mut server = Server::start().await;
    let mut wire = Wire::to(&server);
    wire.ask(1, "tools/call", json!({ "name": "x" }));
    for _ in 0..6 {
        wire.while_(server.next())
            .await
            .answer(307, "Location: /mcp\r\n", "")
            .await;
    }
    let failed = wire.failed().await;
    assert!(!failed.may_have_run && failed.why.contains("5 redirects"), "{failed:?}");
}

#[tokio::test]
async fn a_named_proxy_gets_whole_addresses_and_its_password() {
    let mut proxy = Server::start().await;
    let through = Proxies::Through(format!("http://user:secret@{}", proxy.address));
    let mut wire = Wire::open(&Remote::new("http://inner.example/mcp").proxies(through.clone()));
    wire.ask(1, "tools/list", json!({}));
    let asked = wire.while_(proxy.next()).await;
    assert_eq!(asked.path(), "http://inner.example/mcp");
    assert_eq!(asked.header("host"), Some("inner.example"));
    assert_eq!(asked.header("proxy-authorization"), Some("Basic dXNlcjpzZWNyZXQ="));
    asked.result(json!({})).await;
    wire.message().await;

    let mut wire = Wire::open(&Remote::new("https://inner.example/mcp").proxies(through));
    wire.ask(1, "tools/list", json!({}));
    let tunnel = wire.while_(proxy.next()).await;
    assert_eq!((tunnel.verb(), tunnel.path()), ("CONNECT", "inner.example:443"));
    assert_eq!(tunnel.header("proxy-authorization"), Some("Basic dXNlcjpzZWNyZXQ="));
    tunnel.status(403).await;
    let failed = wire.failed().await;
    assert!(!failed.may_have_run && failed.why.contains("proxy"), "{failed:?}");
}
