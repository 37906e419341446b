//! Lists that do not end, that hold rubbish, or that change all the time.

use serde_json::{Value, json};
use trunkline::transport::memory;
use trunkline::types::Revision;
use trunkline::{Client, proto::client::Opening};
use trunkline_testkit::RawPeer;

fn tool(name: &str) -> Value {
    json!({ "name": name, "inputSchema": { "type": "object" } })
}

/// A client of a server whose `tools/list` is answered by `page`, which gets the cursor and how often it was asked.
/// The second value counts the questions.
async fn listed(
    page: impl Fn(Option<&str>, usize) -> Value + Send + 'static,
) -> (Client, tokio::task::JoinHandle<usize>) {
    let (here, there) = memory();
    let server = tokio::spawn(async move {
        let mut peer = RawPeer::on(there);
        let mut asked = 0;
        while let Some(line) = peer.receive_text().await {
            let message: Value = serde_json::from_str(&line).unwrap();
            let result = match message["method"].as_str() {
                Some("initialize") => {
                    json!({ "protocolVersion": "2025-11-25", "serverInfo": { "name": "s", "version": "1" },
                    "capabilities": { "tools": { "listChanged": true } } })
                }
                Some("tools/list") => {
                    asked += 1;
                    page(message["params"]["cursor"].as_str(), asked)
                }
                Some("tools/call") => {
                    for _ in 0..200 {
                        peer.send(json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" }))
                            .await;
                    }
                    json!({ "content": [] })
                }
                _ => continue,
            };
            peer.send(json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }))
                .await;
        }
        asked
    });
    let client = Client::over(here)
        .opening(Opening::Fixed(Revision::LATEST_LEGACY))
        .connect()
        .await
        .unwrap();
    (client, server)
}

async fn names(client: &Client) -> (Vec<String>, usize) {
    let listing = client.tools().await.unwrap();
    (
        listing.items.into_iter().map(|tool| tool.name).collect(),
        listing.warnings.len(),
    )
}

/// C-22: a cursor that comes back ends the list with a warning; what came is kept.
#[tokio::test]
async fn c22_a_cursor_that_never_moves_ends_the_list() {
    let (client, server) = listed(|_, _| json!({ "tools": [tool("t1")], "nextCursor": "c" })).await;
    let (names, warnings) = names(&client).await;
    assert_eq!((names, warnings > 0), (vec!["t1".to_owned()], true));
    client.close().await;
    assert!(server.await.unwrap() <= 3);
}

#[tokio::test]
async fn c22_cursors_in_a_circle_end_the_list() {
    let (client, server) = listed(|cursor, _| {
        let (name, next) = if cursor == Some("c1") {
            ("t2", "c2")
        } else {
            ("t1", "c1")
        };
        json!({ "tools": [tool(name)], "nextCursor": next })
    })
    .await;
    let (names, warnings) = names(&client).await;
    assert_eq!((names, warnings > 0), (vec!["t1".to_owned(), "t2".to_owned()], true));
    client.close().await;
    assert!(server.await.unwrap() <= 5);
}

#[tokio::test]
async fn c22_fresh_cursors_without_anything_new_end_the_list() {
    let (client, server) = listed(|_, asked| json!({ "tools": [tool("t1")], "nextCursor": format!("c{asked}") })).await;
    let (names, warnings) = names(&client).await;
    assert_eq!((names, warnings > 0), (vec!["t1".to_owned()], true));
    client.close().await;
    assert!(server.await.unwrap() <= 10);
}

/// An empty cursor is a cursor.
#[tokio::test]
async fn an_empty_cursor_is_followed() {
    let (client, _server) = listed(|cursor, _| match cursor {
        None => json!({ "tools": [tool("t1")], "nextCursor": "" }),
        Some("") => json!({ "tools": [tool("t2")] }),
        Some(other) => panic!("{other}"),
    })
    .await;
    assert_eq!(names(&client).await, (vec!["t1".to_owned(), "t2".to_owned()], 0));
}

/// One bad definition spoils itself alone.
#[tokio::test]
async fn one_bad_definition_is_set_aside_with_its_reason() {
    let (client, _server) = listed(|_, _| {
        json!({ "tools": [tool("good"), { "name": 7 }, "text", null, { "name": "no schema" }, tool("fine"), tool("good")] })
    })
    .await;
    let listing = client.tools().await.unwrap();
    let names: Vec<&str> = listing.items.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["good", "fine"]);
    assert_eq!(
        listing.rejected.len() + listing.warnings.len(),
        5,
        "{:?} {:?}",
        listing.rejected,
        listing.warnings
    );
    assert!(
        listing
            .rejected
            .iter()
            .any(|rejected| rejected.name.as_deref() == Some("no schema"))
    );
}

/// C-23: a storm of notices costs one list, not one for each.
#[tokio::test]
async fn c23_a_storm_of_notices_is_one_refresh() {
    let (client, server) = listed(|_, _| json!({ "tools": [tool("t1")] })).await;
    client.tools().await.unwrap();
    client.call("t1", &json!({})).await.unwrap();
    client.tools().await.unwrap();
    client.tools().await.unwrap();
    client.close().await;
    assert!(server.await.unwrap() <= 3, "two hundred notices, at most three lists");
}
