//! The end of a connection, whoever ends it.

use serde_json::json;
use tokio::time::Instant;
use trunkline_client::types::{Extra, Revision, SubscriptionFilter};
use trunkline_client::{CallError, CallOptions, Client};
use trunkline_transport::Lines;

use crate::peer::{modern, text};

#[tokio::test]
async fn whoever_waits_is_told_and_so_is_whoever_comes_later() {
    let (mut peer, client) = modern(json!({ "tools": {} })).await;
    let waiting: Vec<_> = (0..5)
        .map(|_| tokio::spawn(client.request_call("t", Extra::new(), CallOptions::default())))
        .collect();
    for _ in &waiting {
        peer.expect("tools/call").await;
    }
    drop(peer);
    for call in waiting {
        let error = call.await.unwrap().unwrap_err();
        assert!(matches!(error, CallError::Lost { .. }), "C-07: {error}");
        assert!(error.may_have_run());
    }
    client.closed().await;
    assert!(client.is_closed());
    let error = client.call("t", &()).await.unwrap_err();
    assert!(matches!(error, CallError::Closed { .. }), "{error}");
    assert!(!error.may_have_run(), "it was never sent");
    assert!(client.tools().await.is_err());
    assert!(client.listen(SubscriptionFilter::default()).await.is_err());
}

#[tokio::test]
async fn closing_ends_everything() {
    let (mut peer, client) = modern(json!({ "tools": {} })).await;
    let call = tokio::spawn(client.request_call("t", Extra::new(), CallOptions::default()));
    peer.expect("tools/call").await;
    let other = client.clone();
    assert!(!other.is_closed());
    client.close().await;
    assert!(matches!(
        call.await.unwrap(),
        Err(CallError::Lost { diagnosis: Some(why) }) if why.contains("this side")
    ));
    assert!(other.is_closed());
    assert_eq!(peer.next().await, None);
    other.close().await;
}

#[tokio::test]
async fn the_last_clone_ends_the_connection() {
    let (mut peer, client) = modern(json!({ "tools": {} })).await;
    let second = client.clone();
    drop(client);
    let (called, _) = tokio::join!(second.call("t", &()), peer.serve("tools/call", text("ok")));
    called.unwrap();
    drop(second);
    assert_eq!(peer.next().await, None);
}

#[tokio::test]
async fn a_running_call_keeps_the_connection() {
    let (mut peer, client) = modern(json!({ "tools": {} })).await;
    let call = client.request_call("t", Extra::new(), CallOptions::default());
    drop(client);
    let (called, _) = tokio::join!(call, peer.serve("tools/call", text("ok")));
    assert_eq!(called.unwrap().text(), "ok");
    assert_eq!(peer.next().await, None);
}

#[tokio::test]
async fn a_dropped_call_is_cancelled_even_by_the_last_client() {
    let (mut peer, client) = modern(json!({ "tools": {} })).await;
    let call = tokio::spawn(client.request_call("t", Extra::new(), CallOptions::default()));
    drop(client);
    peer.expect("tools/call").await;
    call.abort();
    peer.expect("notifications/cancelled").await;
    assert_eq!(peer.next().await, None);
}

#[tokio::test]
async fn what_arrived_before_the_end_still_counts() {
    let (mut peer, client) = modern(json!({ "tools": {} })).await;
    let serve = async {
        peer.serve("tools/call", text("last words")).await;
        drop(peer);
    };
    let (called, ()) = tokio::join!(client.call("t", &()), serve);
    assert_eq!(called.unwrap().text(), "last words");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_only_stops_reading_is_told_of_within_a_second() {
    let (ours, theirs) = tokio::io::duplex(1024 * 1024);
    let (closed, reader) = tokio::io::duplex(1);
    drop(closed);
    // It writes its answer to the probe before it is asked, never reads, and never ends.
    let (_, mut writer) = tokio::io::split(theirs);
    let discovered = json!({ "resultType": "complete", "supportedVersions": [Revision::LATEST.name()], "capabilities": { "tools": {} } });
    let answer = json!({ "jsonrpc": "2.0", "id": 1, "result": discovered });
    tokio::io::AsyncWriteExt::write_all(&mut writer, format!("{answer}\n").as_bytes())
        .await
        .unwrap();
    let (our_reader, _) = tokio::io::split(ours);
    let client = Client::over(Lines::new(our_reader, reader)).connect().await.unwrap();
    let started = Instant::now();
    let error = client.call("t", &()).await.unwrap_err();
    assert!(
        matches!(&error, CallError::Closed { diagnosis: Some(why) } if why.contains("no longer takes")),
        "{error}"
    );
    assert_eq!(started.elapsed().as_secs(), 1);
    assert!(!client.is_closed());
}
