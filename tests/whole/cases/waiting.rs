//! Timeouts, cancellation and progress, end to end. Order and time in every detail: `testkit/tests/pair.rs`.

use std::time::{Duration, Instant};

use serde_json::json;
use trunkline::proto::Timeouts;
use trunkline::types::{Extra, Revision};
use trunkline::{CallError, CallOptions};
use trunkline_testkit::RawPeer;
use trunkline_tests::scenario_server;

use super::{ANSWER, met, modern, right, shaken};

/// A server that never answers costs its call the timeout, and the next call nothing.
#[tokio::test]
async fn a_call_that_is_not_answered_ends_by_its_timeout() {
    let client = met(&["<tools/call", "<notifications/cancelled", "<tools/call", ANSWER, "eof"]).await;
    let start = Instant::now();
    let options = CallOptions {
        timeouts: Some(Timeouts::fixed(Duration::from_millis(100))),
        ..CallOptions::default()
    };
    let error = client.request_call("t", Extra::new(), options).await.unwrap_err();
    assert!(matches!(error, CallError::TimedOut) && error.may_have_run());
    assert!(start.elapsed() < Duration::from_secs(10));
    right(&client).await;
}

/// C-33: a cancel for an id that is not there poisons nothing, nor does one whose id has another JSON type.
#[tokio::test]
async fn c33_cancelling_what_is_not_there_does_no_harm() {
    let mut peer = shaken(Revision::LATEST_LEGACY).await;
    for id in [json!(9), json!("9"), json!("hello"), json!(null), json!({})] {
        peer.send(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }))
            .await;
    }
    peer.send(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled" }))
        .await;
    let answer = peer
        .request(json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/list" }))
        .await;
    assert!(answer["result"]["tools"].is_array());
    peer.send(json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": { "name": "wait" } }))
        .await;
    peer.send(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": "9" } }))
        .await;
    let refused = peer
        .request(json!({ "jsonrpc": "2.0", "id": 9, "method": "ping" }))
        .await;
    assert_eq!(
        refused["error"]["code"], -32600,
        "the call with the number is still in flight"
    );
}

/// C-34, the server's side: only who gave a token hears of progress, under that very token.
#[tokio::test]
async fn c34_progress_uses_the_token_that_was_given() {
    let mut peer = RawPeer::of(&scenario_server());
    for token in [None, Some(json!("p")), Some(json!(0)), Some(json!(-7))] {
        let mut meta = modern();
        if let Some(token) = &token {
            meta["progressToken"] = token.clone();
        }
        peer.send(
            json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "work", "_meta": meta } }),
        )
        .await;
        let mut values = Vec::new();
        loop {
            let message = peer.receive().await;
            if message["method"] == "notifications/progress" {
                assert_eq!(Some(&message["params"]["progressToken"]), token.as_ref());
                values.push(message["params"]["progress"].clone());
            } else if message["id"] == 1 {
                break;
            }
        }
        let expected = if token.is_some() { json!([1, 2, 3]) } else { json!([]) };
        assert_eq!(json!(values), expected, "growing values, none after the answer");
    }
}

/// C-34, the client's side: strangers, latecomers and falling values are ignored; the caller's own metadata stays.
#[tokio::test]
async fn c34_strange_progress_is_ignored_and_metadata_is_merged() {
    let progress = |token: &str, value: u32| {
        format!(
            r#">{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":{value}}}}}"#
        )
    };
    let steps = [
        progress("$ID", 1),
        progress("\"stranger\"", 9),
        progress("$ID", 1),
        progress("$ID", 5),
        progress("$ID", 3),
    ];
    let late = progress("$ID", 9);
    let mut script = vec!["<tools/call"];
    script.extend(steps.iter().map(String::as_str));
    script.extend([ANSWER, &late, "<tools/call", ANSWER, "eof"]);
    let client = met(&script).await;
    let meta = json!({ "traceparent": "00-1", "progressToken": "mine" });
    let options = CallOptions {
        progress: true,
        meta: meta.as_object().cloned().unwrap(),
        ..CallOptions::default()
    };
    let mut call = client.request_call("t", Extra::new(), options);
    let mut seen = Vec::new();
    while let Some(progress) = call.progress().await {
        seen.push(progress.value());
    }
    assert_eq!(call.await.unwrap().text(), "right");
    assert_eq!(seen, [1.0, 5.0]);
    right(&client).await;
}
