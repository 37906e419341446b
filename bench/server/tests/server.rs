//! The benchmark server does what its drivers count on.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so by a panic")]

use serde_json::{Value, json};
use trunkline::transport::Command;
use trunkline::types::Extra;
use trunkline::{CallOptions, Client};

async fn connect() -> Client {
    let command = Command::new(env!("CARGO_BIN_EXE_bench-server")).arg("stdio");
    Client::command(command).connect().await.unwrap()
}

async fn counts(client: &Client) -> Value {
    let text = client.call("counts", &json!({})).await.unwrap().text();
    serde_json::from_str(&text).unwrap()
}

#[tokio::test]
async fn the_three_measured_tools() {
    let client = connect().await;
    assert_eq!(
        client.call("echo", &json!({ "text": "a\n한" })).await.unwrap().text(),
        "a\n한"
    );
    let sum = client.call("add", &json!({ "a": 7, "b": 0.5 })).await.unwrap();
    assert_eq!(sum.structured_content, Some(json!({ "sum": 7.5 })));
    let blob = client.call("blob", &json!({ "kib": 64 })).await.unwrap().text();
    assert!(blob.len() == 64 * 1024 && blob.bytes().all(|byte| byte == b'x'));
    assert!(
        client.call("blob", &json!({ "kib": 65_537 })).await.unwrap().failed(),
        "a bound"
    );
    client.close().await;
}

#[tokio::test]
async fn sleeps_are_counted_as_they_end() {
    let client = connect().await;
    assert_eq!(
        client.call("sleep", &json!({ "ms": 1 })).await.unwrap().text(),
        "slept 1 ms"
    );
    assert_eq!(
        counts(&client).await,
        json!({ "running": 0, "finished": 1, "cancelled": 0 })
    );
    let arguments: Extra = json!({ "ms": 3_600_000 }).as_object().cloned().unwrap();
    let mut sleeping = Box::pin(client.request_call("sleep", arguments, CallOptions::default()));
    while counts(&client).await["running"] != 1 {
        // A call runs while it is awaited.
        tokio::select! {
            _ = &mut sleeping => panic!("it sleeps for an hour"),
            () = tokio::task::yield_now() => {}
        }
    }
    drop(sleeping);
    while counts(&client).await["cancelled"] != 1 {
        tokio::task::yield_now().await;
    }
    assert_eq!(
        counts(&client).await,
        json!({ "running": 0, "finished": 1, "cancelled": 1 })
    );
    client.close().await;
}
