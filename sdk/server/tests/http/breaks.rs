//! Connections that break, anywhere and by the thousand.

use serde_json::json;
use tokio::runtime::Handle;

use crate::speak::{Client, NEWEST_LEGACY, initialize, message, modern, modern_call, send};
use crate::stage::Served;
use crate::wire::{Connection, Request, within};

/// Waits until the server has no more tasks than this.
async fn tasks_end(at_most: usize) {
    let metrics = Handle::current().metrics();
    let end = async {
        while metrics.num_alive_tasks() > at_most {
            tokio::task::yield_now().await;
        }
    };
    within("the end of every task", end).await;
}

#[tokio::test]
async fn a_request_cut_at_any_byte_does_no_harm() {
    let served = Served::start().await;
    let requests = [
        modern_call(1, "echo", json!({ "text": "hi" })),
        initialize(1, NEWEST_LEGACY, json!({})),
    ];
    for request in &requests {
        let bytes = request.bytes();
        for cut in 0..bytes.len() {
            let mut connection = served.connect().await;
            connection.write(&bytes[..cut]).await;
            // Half of them say that this was all, the others are just gone.
            if cut % 2 == 0 {
                connection.finish_writing().await;
                let head = connection.try_head().await;
                assert!(
                    head.is_none_or(|head| (400..500).contains(&head.status)),
                    "cut at {cut}"
                );
            }
        }
        assert_eq!(served.ask(request).await.status(), 200);
    }
    // The one that was whole.
    assert_eq!(served.endpoint.sessions(), 1);
    served.stop().await;
}

/// A request that comes a byte at a time is a request.
#[tokio::test]
async fn a_request_in_single_bytes_is_answered() {
    let served = Served::start().await;
    let mut connection = served.connect().await;
    for byte in modern_call(1, "echo", json!({ "text": "hi" })).bytes() {
        connection.write(&[byte]).await;
        tokio::task::yield_now().await;
    }
    assert_eq!(connection.answer().await.status(), 200);
    // And so are three of them that come in one piece.
    let bytes = modern_call(1, "echo", json!({ "text": "hi" })).bytes();
    connection.write(&bytes.repeat(3)).await;
    for _ in 0..3 {
        assert_eq!(connection.answer().await.status(), 200);
    }
    served.stop().await;
}

#[tokio::test]
async fn a_storm_of_connections_leaves_nothing_behind() {
    let served = Served::start().await;
    let client = Client::open(&served, NEWEST_LEGACY).await;
    tasks_end(2).await;
    let before = Handle::current().metrics().num_alive_tasks();
    let filter = json!({ "notifications": { "toolsListChanged": true } });
    let storm = [
        Request::new("GET", "/sse").header("Accept", "text/event-stream"),
        modern(1, "subscriptions/listen", filter),
        client.get(),
        modern_call(1, "puppet", json!({ "name": "nobody" })),
        client.request(1, "ping", json!({})),
        Request::new("POST", "/mcp"),
    ];
    for round in 0..1000 {
        let mut connection = served.connect().await;
        let request = &storm[round % storm.len()];
        match round % 4 {
            0 => {}
            1 => {
                let bytes = request.bytes();
                connection.write(&bytes[..bytes.len() / 2]).await;
            }
            _ => connection.write(&request.bytes()).await,
        }
    }
    tasks_end(before).await;
    assert_eq!(served.endpoint.sessions(), 1, "the one that was opened for good");
    assert_eq!(client.ping(&served).await.status(), 200);
    served.stop().await;
}

/// Streams of a session that are opened and left, again and again, and a change in between.
#[tokio::test]
async fn a_client_that_reconnects_for_ever_is_told_of_changes_all_the_same() {
    let served = Served::start().await;
    let client = Client::open(&served, NEWEST_LEGACY).await;
    for round in 0..100 {
        let mut stream = client.listen(&served).await;
        if round % 10 == 0 {
            served.server.resource_changed("stage://notes");
            served.server.remove_tool("echo");
            served.server.remove_prompt(&format!("none{round}"));
            served
                .server
                .add_tool("echo", |_: trunkline_server::NoArguments| async { "again" })
                .unwrap();
            assert_eq!(stream.message().await["method"], "notifications/tools/list_changed");
        }
    }
    served.stop().await;
}

/// A handler keeps running for a client that is gone, its answer goes nowhere, and nothing is kept of it.
#[tokio::test]
async fn an_answer_that_nobody_waits_for_is_not_kept() {
    let served = Served::start().await;
    let client = Client::open(&served, NEWEST_LEGACY).await;
    tasks_end(2).await;
    let before = Handle::current().metrics().num_alive_tasks();
    for round in 0..20 {
        let gone = send(&served, &client.call(round, "puppet", json!({ "name": "a" }))).await;
        let puppet = served.stage.puppet("a").await;
        drop(gone);
        puppet.finish("unheard");
        puppet.end().await;
    }
    tasks_end(before).await;
    let answer = served.ask(&client.post(&message(1, "tools/list", json!({})))).await;
    assert_eq!(answer.status(), 200);
    served.stop().await;
}

/// Both sides of a connection may be closed while the server writes.
#[tokio::test]
async fn leaving_in_the_middle_of_a_large_answer_does_no_harm() {
    let served = Served::start().await;
    for _ in 0..10 {
        let mut connection: Connection = send(&served, &modern_call(1, "big", json!({ "bytes": 500_000 }))).await;
        assert_eq!(connection.head().await.status, 200);
    }
    tasks_end(1).await;
    served.stop().await;
}
