//! Notices and subscriptions, in both eras.

use std::time::Duration;

use serde_json::{Value, json};
use trunkline_client::types::{LogLevel, Method, Revision, SubscriptionFilter};
use trunkline_client::{CallError, Client, MAX_NOTICE_BYTES, MAX_NOTICES, Notice, Subscription, Timeouts};

use crate::peer::{Peer, legacy, legacy_with, modern, modern_with, soon};

fn all_of(uris: &[&str]) -> SubscriptionFilter {
    SubscriptionFilter {
        tools_list_changed: Some(true),
        prompts_list_changed: Some(true),
        resources_list_changed: Some(true),
        resource_subscriptions: Some(uris.iter().map(|uri| (*uri).to_owned()).collect()),
        ..SubscriptionFilter::default()
    }
}

fn updated(uri: &str) -> Notice {
    Notice::ResourceUpdated { uri: uri.to_owned() }
}

async fn acknowledge(peer: &mut Peer, request: &Value, filter: Value) {
    let params =
        json!({ "notifications": filter, "_meta": { "io.modelcontextprotocol/subscriptionId": request["id"] } });
    peer.notify("notifications/subscriptions/acknowledged", params).await;
}

async fn open(client: &Client, peer: &mut Peer, uris: &[&str]) -> (Subscription, Value) {
    let serve = async {
        let request = peer.expect("subscriptions/listen").await;
        acknowledge(peer, &request, json!({ "resourceSubscriptions": uris })).await;
        request
    };
    let (subscription, request) = tokio::join!(client.listen(all_of(uris)), serve);
    (subscription.unwrap(), request)
}

fn on(request: &Value, uri: &str) -> Value {
    json!({ "uri": uri, "_meta": { "io.modelcontextprotocol/subscriptionId": request["id"] } })
}

#[tokio::test]
async fn a_modern_subscription_hears_its_own_notices() {
    let (mut peer, client) = modern(json!({ "resources": { "subscribe": true } })).await;
    let (mut first, request) = open(&client, &mut peer, &["test://a"]).await;
    assert_eq!(
        request["params"]["notifications"]["resourceSubscriptions"],
        json!(["test://a"])
    );
    assert_eq!(request["params"]["notifications"]["toolsListChanged"], true);
    assert_eq!(first.filter().tools_list_changed, None, "the server serves a part");
    let (mut second, other) = open(&client, &mut peer, &["test://b"]).await;
    let mut notices = client.notices();
    peer.notify("notifications/resources/updated", on(&other, "test://b"))
        .await;
    peer.notify("notifications/resources/updated", on(&request, "test://a"))
        .await;
    assert_eq!(soon(first.next()).await, Some(updated("test://a")));
    assert_eq!(soon(second.next()).await, Some(updated("test://b")));
    assert_eq!(soon(notices.next()).await, Some(updated("test://b")));
    assert_eq!(soon(notices.next()).await, Some(updated("test://a")));
}

#[tokio::test]
async fn dropping_a_modern_subscription_cancels_it() {
    let (mut peer, client) = modern(json!({ "resources": {} })).await;
    let (subscription, request) = open(&client, &mut peer, &["test://a"]).await;
    drop(subscription);
    let cancelled = peer.expect("notifications/cancelled").await;
    assert_eq!(cancelled["params"]["requestId"], request["id"]);
}

#[tokio::test]
async fn a_modern_server_ends_a_subscription() {
    let (mut peer, client) = modern(json!({ "resources": {} })).await;
    let (mut subscription, request) = open(&client, &mut peer, &["test://a"]).await;
    peer.notify("notifications/resources/updated", on(&request, "test://a"))
        .await;
    peer.answer(&request, json!({ "resultType": "complete" })).await;
    assert_eq!(soon(subscription.next()).await, Some(updated("test://a")));
    assert_eq!(soon(subscription.next()).await, None);
    let (mut subscription, request) = open(&client, &mut peer, &["test://a"]).await;
    peer.notify("notifications/cancelled", json!({ "requestId": request["id"] }))
        .await;
    assert_eq!(soon(subscription.next()).await, None);
}

#[tokio::test(start_paused = true)]
async fn a_modern_subscription_outlives_every_timeout_and_its_opening_does_not() {
    let timeouts = Timeouts::fixed(Duration::from_secs(5));
    let (mut peer, client) = modern_with(json!({ "resources": {} }), |connector| connector.timeouts(timeouts)).await;
    let (mut subscription, request) = open(&client, &mut peer, &["test://a"]).await;
    tokio::time::advance(Duration::from_secs(100_000)).await;
    peer.notify("notifications/resources/updated", on(&request, "test://a"))
        .await;
    assert_eq!(soon(subscription.next()).await, Some(updated("test://a")));
    let serve = async {
        let request = peer.expect("subscriptions/listen").await;
        let cancelled = peer.expect("notifications/cancelled").await;
        assert_eq!(cancelled["params"]["requestId"], request["id"]);
    };
    let (silent, ()) = tokio::join!(client.listen(all_of(&[])), serve);
    assert_eq!(silent.map(drop), Err(CallError::TimedOut));
}

#[tokio::test]
async fn a_refused_subscription_says_why() {
    let (mut peer, client) = modern(json!({})).await;
    let serve = async {
        let request = peer.expect("subscriptions/listen").await;
        peer.refuse(&request, -32602, "too many").await;
        peer.serve("subscriptions/listen", json!({ "resultType": "complete" }))
            .await;
    };
    let ask = async {
        let refused = client.listen(all_of(&[])).await.map(drop).unwrap_err();
        assert!(matches!(&refused, CallError::Refused(_)), "{refused}");
        let ended = client.listen(all_of(&[])).await.map(drop).unwrap_err();
        assert!(matches!(&ended, CallError::Invalid(_)), "{ended}");
    };
    tokio::join!(ask, serve);
}

#[tokio::test]
async fn a_legacy_subscription_asks_for_each_resource_and_gives_them_back() {
    let capabilities = json!({ "resources": { "subscribe": true, "listChanged": true }, "tools": {} });
    let (mut peer, client) = legacy(capabilities).await;
    let serve = async {
        for uri in ["test://a", "test://b"] {
            let request = peer.serve("resources/subscribe", json!({})).await;
            assert_eq!(request["params"]["uri"], uri);
        }
        peer
    };
    let (subscription, mut peer) = tokio::join!(client.listen(all_of(&["test://a", "test://b"])), serve);
    let mut subscription = subscription.unwrap();
    assert_eq!(subscription.filter().resources_list_changed, Some(true));
    assert_eq!(
        subscription.filter().tools_list_changed,
        None,
        "the server does not announce that"
    );
    for (method, params) in [
        ("notifications/tools/list_changed", json!({})),
        ("notifications/resources/updated", json!({ "uri": "test://other" })),
        ("notifications/resources/updated", json!({ "uri": "test://b/part" })),
        ("notifications/resources/list_changed", json!({})),
    ] {
        peer.notify(method, params).await;
    }
    assert_eq!(soon(subscription.next()).await, Some(updated("test://b/part")));
    assert_eq!(soon(subscription.next()).await, Some(Notice::ResourcesChanged));
    drop(subscription);
    for uri in ["test://a", "test://b"] {
        let request = peer.serve("resources/unsubscribe", json!({})).await;
        assert_eq!(request["params"]["uri"], uri);
    }
}

#[tokio::test]
async fn a_resource_is_given_back_by_the_last_who_watches_it() {
    let (mut peer, client) = legacy(json!({ "resources": { "subscribe": true } })).await;
    let (first, _) = tokio::join!(
        client.listen(all_of(&["test://a"])),
        peer.serve("resources/subscribe", json!({}))
    );
    let (second, _) = tokio::join!(
        client.listen(all_of(&["test://a"])),
        peer.serve("resources/subscribe", json!({}))
    );
    let mut second = second.unwrap();
    drop(first);
    peer.notify("notifications/resources/updated", json!({ "uri": "test://a" }))
        .await;
    assert_eq!(soon(second.next()).await, Some(updated("test://a")));
    let (pong, _) = tokio::join!(client.ping(), peer.serve("ping", json!({})));
    pong.unwrap();
    drop(second);
    peer.serve("resources/unsubscribe", json!({})).await;
}

#[tokio::test]
async fn a_legacy_server_that_offers_nothing_is_not_asked() {
    let (mut peer, client) = legacy(json!({ "resources": {} })).await;
    let subscription = client.listen(all_of(&["test://a"])).await.unwrap();
    assert_eq!(*subscription.filter(), SubscriptionFilter::default());
    let (pong, _) = tokio::join!(client.ping(), peer.serve("ping", json!({})));
    pong.unwrap();
}

#[tokio::test]
async fn a_refused_legacy_subscription_says_why() {
    let (mut peer, client) = legacy(json!({ "resources": { "subscribe": true } })).await;
    let serve = async {
        let request = peer.expect("resources/subscribe").await;
        peer.refuse(&request, -32002, "no such resource").await;
        peer.expect("resources/unsubscribe").await;
    };
    let (refused, ()) = tokio::join!(client.listen(all_of(&["test://a"])), serve);
    assert!(matches!(refused.map(drop), Err(CallError::Refused(_))));
}

#[tokio::test]
async fn notices_are_heard_from_the_beginning() {
    let (mut peer, client) = legacy(json!({ "logging": {} })).await;
    peer.notify("notifications/message", json!({ "level": "error", "data": "early" }))
        .await;
    peer.notify(
        "notifications/message",
        json!({ "level": "loud", "data": "what level is that?" }),
    )
    .await;
    peer.notify("notifications/tools/list_changed", json!({})).await;
    let mut first = client.notices();
    assert!(
        matches!(soon(first.next()).await, Some(Notice::Log(log)) if log.level == LogLevel::Error && log.data == "early")
    );
    assert!(matches!(
        soon(first.next()).await,
        Some(Notice::Other {
            method: Method::LogNotice,
            ..
        })
    ));
    assert_eq!(soon(first.next()).await, Some(Notice::ToolsChanged));
    let mut second = client.notices();
    peer.notify("notifications/prompts/list_changed", json!({})).await;
    assert_eq!(
        soon(second.next()).await,
        Some(Notice::PromptsChanged),
        "a later stream begins with what comes"
    );
    assert_eq!(soon(first.next()).await, Some(Notice::PromptsChanged));
    drop(peer);
    assert_eq!(
        soon(first.next()).await,
        None,
        "the end of the connection ends the stream"
    );
    assert_eq!(soon(client.notices().next()).await, None);
}

#[tokio::test]
async fn a_slow_reader_loses_the_oldest_and_learns_how_many() {
    let (mut peer, client) = legacy_with(Revision::LATEST_LEGACY, json!({}), |connector| connector).await;
    let mut notices = client.notices();
    for n in 0..MAX_NOTICES + 5 {
        peer.notify("notifications/resources/updated", json!({ "uri": n.to_string() }))
            .await;
    }
    let (pong, _) = tokio::join!(client.ping(), peer.serve("ping", json!({})));
    pong.unwrap();
    assert_eq!(soon(notices.next()).await, Some(Notice::Missed(5)));
    for n in 5..MAX_NOTICES + 5 {
        assert_eq!(soon(notices.next()).await, Some(updated(&n.to_string())));
    }
}

#[tokio::test]
async fn large_notices_are_bounded_by_their_bytes() {
    let (mut peer, client) = legacy(json!({})).await;
    let mut notices = client.notices();
    let large = "x".repeat(MAX_NOTICE_BYTES / 3);
    for n in 0..4 {
        peer.notify(
            "notifications/message",
            json!({ "level": "info", "data": large, "logger": n.to_string() }),
        )
        .await;
    }
    let (pong, _) = tokio::join!(client.ping(), peer.serve("ping", json!({})));
    pong.unwrap();
    assert_eq!(soon(notices.next()).await, Some(Notice::Missed(2)));
    assert!(matches!(soon(notices.next()).await, Some(Notice::Log(log)) if log.logger.as_deref() == Some("2")));
}
