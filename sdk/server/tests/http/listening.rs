//! Streams of notices of the modern era
//! ([subscriptions](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions)).

use serde_json::{Value, json};
use trunkline_server::NoArguments;

use crate::events::Events;
use crate::speak::{META_SUBSCRIPTION, modern, modern_call};
use crate::stage::Served;
use crate::wire::within;

async fn listen(served: &Served, id: impl Into<Value>, wanted: Value) -> Events {
    let request = modern(id, "subscriptions/listen", json!({ "notifications": wanted }));
    served.events(&request).await
}

fn method(message: &Value) -> &str {
    message["method"].as_str().unwrap_or_default()
}

/// The id of the subscription that a message belongs to.
fn belongs_to(message: &Value) -> &Value {
    let place = if message["result"].is_object() {
        "result"
    } else {
        "params"
    };
    &message[place]["_meta"][META_SUBSCRIPTION]
}

async fn nothing(_: NoArguments) -> &'static str {
    "nothing"
}

#[tokio::test]
async fn the_acknowledgement_is_first_and_only_what_was_asked_for_follows() {
    let served = Served::start().await;
    let mut tools = listen(&served, 1_790_000_000_000_i64, json!({ "toolsListChanged": true })).await;
    let mut notes = listen(
        &served,
        "notes",
        json!({ "resourceSubscriptions": ["stage://Grüße", "stage://x"] }),
    )
    .await;
    let first = tools.message().await;
    assert_eq!(method(&first), "notifications/subscriptions/acknowledged");
    assert_eq!(belongs_to(&first), &json!(1_790_000_000_000_i64));
    assert_eq!(first["params"]["notifications"], json!({ "toolsListChanged": true }));
    let first = notes.message().await;
    assert_eq!(method(&first), "notifications/subscriptions/acknowledged");

    served.server.resource_changed("stage://other");
    served.server.resource_changed("stage://x");
    served.server.add_tool("new", nothing).unwrap();
    served.server.resource_changed("stage://Grüße");
    let changed = tools.message().await;
    assert_eq!(method(&changed), "notifications/tools/list_changed");
    assert_eq!(belongs_to(&changed), &json!(1_790_000_000_000_i64));
    for uri in ["stage://x", "stage://Grüße"] {
        let changed = notes.message().await;
        assert_eq!(method(&changed), "notifications/resources/updated");
        assert_eq!(changed["params"]["uri"], uri);
        assert_eq!(belongs_to(&changed), "notes");
    }
    served.stop().await;
}

/// A change that a call makes is told on every stream that wants it, each under its own id.
#[tokio::test]
async fn many_streams_hear_of_one_change() {
    let served = Served::start().await;
    let mut streams = Vec::new();
    for id in 1..=20 {
        let mut stream = listen(&served, id, json!({ "promptsListChanged": true })).await;
        stream.message().await;
        streams.push(stream);
    }
    served.server.remove_prompt("greet");
    for (id, stream) in (1..).zip(&mut streams) {
        let changed = stream.message().await;
        assert_eq!(
            (method(&changed), belongs_to(&changed)),
            ("notifications/prompts/list_changed", &json!(id))
        );
    }
    served.stop().await;
}

#[tokio::test]
async fn a_filter_of_nothing_is_acknowledged_and_bad_ones_are_refused() {
    let served = Served::start().await;
    let mut stream = listen(&served, 1, json!({})).await;
    assert_eq!(stream.message().await["params"]["notifications"], json!({}));
    for params in [
        json!({}),
        json!({ "notifications": 5 }),
        json!({ "notifications": { "toolsListChanged": "yes" } }),
    ] {
        let answer = served.ask(&modern(2, "subscriptions/listen", params.clone())).await;
        assert_eq!(answer.error(), (400, -32602, json!(2)), "{params}");
    }
    // As many addresses as a connection may watch, and one more.
    let watch = |addresses: usize| {
        let uris: Vec<String> = (0..addresses).map(|number| format!("stage://{number}")).collect();
        modern(
            3,
            "subscriptions/listen",
            json!({ "notifications": { "resourceSubscriptions": uris } }),
        )
    };
    served.events(&watch(1024)).await.message().await;
    assert_eq!(served.ask(&watch(1025)).await.error(), (400, -32602, json!(3)));
    served.stop().await;
}

/// What a request itself says never strays onto another stream.
#[tokio::test]
async fn notices_of_requests_do_not_come_here() {
    let served = Served::start().await;
    let mut stream = listen(&served, 1, json!({ "toolsListChanged": true })).await;
    stream.message().await;
    let mut params = json!({ "name": "burst", "arguments": { "notices": 3, "bytes": 1 } });
    params["_meta"] = json!({ "progressToken": 1, "io.modelcontextprotocol/logLevel": "debug" });
    served.events(&modern(2, "tools/call", params)).await.messages().await;
    served.server.add_tool("new", nothing).unwrap();
    assert_eq!(method(&stream.message().await), "notifications/tools/list_changed");
    served.stop().await;
}

#[tokio::test]
async fn a_server_that_goes_ends_its_streams_with_their_result() {
    let served = Served::start().await;
    let mut stream = listen(&served, "me", json!({ "toolsListChanged": true })).await;
    stream.message().await;
    let serving = served.begin_stop();
    let last = stream.message().await;
    assert_eq!(
        (&last["id"], &last["result"]["resultType"]),
        (&json!("me"), &json!("complete"))
    );
    assert_eq!(belongs_to(&last), "me");
    assert_eq!(stream.block().await, None);
    within("the end of the server", serving).await.unwrap();
}

/// More changes at once than are held for anybody: who missed some is told that everything may have changed.
#[tokio::test]
async fn a_flood_of_changes_loses_nothing_that_matters() {
    let served = Served::start().await;
    let wanted = json!({ "toolsListChanged": true, "resourceSubscriptions": ["stage://last"] });
    let mut stream = listen(&served, 1, wanted).await;
    stream.message().await;
    // Nothing is awaited here, so the stream cannot keep up.
    for number in 0..1000 {
        served.server.resource_changed(format!("stage://{number}"));
    }
    let mut heard = [stream.message().await, stream.message().await];
    heard.sort_by_key(|message| method(message).to_owned());
    assert_eq!(heard[0]["params"]["uri"], "stage://last");
    assert_eq!(method(&heard[1]), "notifications/tools/list_changed");
    served.stop().await;
}

#[tokio::test]
async fn the_server_knows_nothing_of_a_client_that_left() {
    let served = Served::start().await;
    // The listener, and whatever else the runtime has.
    served.ask(&modern_call(1, "echo", json!({ "text": "hi" }))).await;
    let alive = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let streams_end = |at_most: usize| async move {
        while alive() > at_most {
            tokio::task::yield_now().await;
        }
    };
    within("the end of the first connection", streams_end(1)).await;
    for id in 0..50 {
        listen(&served, id, json!({ "toolsListChanged": true }))
            .await
            .message()
            .await;
    }
    within("the end of every stream", streams_end(1)).await;
    served.stop().await;
}
