//! Streams of a session that belong to no request
//! ([listening](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#listening-for-messages-from-the-server)).

use serde_json::json;
use trunkline_server::NoArguments;

use crate::speak::{Client, LEGACY, NEWEST_LEGACY};
use crate::stage::Served;

async fn nothing(_: NoArguments) -> &'static str {
    "nothing"
}

#[tokio::test]
async fn changes_are_told_on_the_stream() {
    let served = Served::start().await;
    for revision in LEGACY {
        let client = Client::open(&served, revision).await;
        let mut stream = client.listen(&served).await;
        served.server.add_tool("new", nothing).unwrap();
        assert_eq!(
            stream.message().await["method"],
            "notifications/tools/list_changed",
            "{revision}"
        );
        // A resource only if it is watched.
        served.server.resource_changed("stage://notes");
        let watch = client.request(1, "resources/subscribe", json!({ "uri": "stage://notes" }));
        assert_eq!(served.ask(&watch).await.json()["result"], json!({}));
        served.server.resource_changed("stage://other");
        served.server.resource_changed("stage://notes");
        let changed = stream.message().await;
        assert_eq!(changed["method"], "notifications/resources/updated");
        assert_eq!(changed["params"], json!({ "uri": "stage://notes" }));
        let forget = client.request(1, "resources/unsubscribe", json!({ "uri": "stage://notes" }));
        assert_eq!(served.ask(&forget).await.json()["result"], json!({}));
        served.server.resource_changed("stage://notes");
        served.server.remove_tool("new");
        assert_eq!(stream.message().await["method"], "notifications/tools/list_changed");
        served.ask(&client.delete()).await;
        assert_eq!(stream.block().await, None);
    }
    served.stop().await;
}

/// Each message goes to one stream of a session only, and two streams live side by side (C-29).
#[tokio::test]
async fn two_streams_of_one_session_do_not_fight() {
    let served = Served::start().await;
    let client = Client::open(&served, NEWEST_LEGACY).await;
    let mut first = client.listen(&served).await;
    let mut second = client.listen(&served).await;
    let mut other = Client::open(&served, NEWEST_LEGACY).await.listen(&served).await;
    served.server.add_tool("new", nothing).unwrap();
    assert_eq!(second.message().await["method"], "notifications/tools/list_changed");
    assert_eq!(
        other.message().await["method"],
        "notifications/tools/list_changed",
        "of another session"
    );
    // When the one that speaks is left, the other one takes over, and may have missed something.
    drop(second);
    for kind in ["tools", "prompts", "resources"] {
        let expected = format!("notifications/{kind}/list_changed");
        assert_eq!(
            first.message().await["method"],
            expected.as_str(),
            "nothing came before"
        );
    }
    served.server.remove_tool("new");
    assert_eq!(first.message().await["method"], "notifications/tools/list_changed");
    served.stop().await;
}

/// A client whose connections broke unseen comes back again and again: the newest ones stay.
#[tokio::test]
async fn so_many_streams_at_once_and_one_more_ends_the_oldest() {
    let served = Served::start().await;
    let client = Client::open(&served, NEWEST_LEGACY).await;
    let mut streams = Vec::new();
    for _ in 0..8 {
        streams.push(client.listen(&served).await);
    }
    served.server.add_tool("a", nothing).unwrap();
    assert_eq!(streams[7].message().await["method"], "notifications/tools/list_changed");
    let mut newest = client.listen(&served).await;
    assert_eq!(streams.remove(0).block().await, None, "the oldest ends in good order");
    served.server.add_tool("b", nothing).unwrap();
    assert_eq!(newest.message().await["method"], "notifications/tools/list_changed");
    // The others are still there, in their order.
    drop(newest);
    for _ in 0..3 {
        streams[6].message().await;
    }
    served.stop().await;
}

#[tokio::test]
async fn log_messages_and_progress_do_not_come_here() {
    let served = Served::start().await;
    let client = Client::open(&served, NEWEST_LEGACY).await;
    let mut stream = client.listen(&served).await;
    let burst = client.followed(1, "burst", json!({ "notices": 3, "bytes": 5 }));
    assert_eq!(served.events(&burst).await.messages().await.len(), 7);
    served.server.add_tool("new", nothing).unwrap();
    assert_eq!(stream.message().await["method"], "notifications/tools/list_changed");
    served.stop().await;
}
