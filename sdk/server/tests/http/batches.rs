//! Several messages at once, which one revision has
//! ([2025-03-26](https://modelcontextprotocol.io/specification/2025-03-26/basic/transports#sending-messages-to-the-server)).

use serde_json::{Value, json};

use crate::events::Events;
use crate::speak::{Client, LEGACY, MODERN, call, message, send};
use crate::stage::{End, Order, Served};
use crate::wire::Request;

const WITH: &str = "2025-03-26";

fn puppet(id: u32, name: &str) -> Value {
    let mut params = call("puppet", json!({ "name": name }));
    params["_meta"] = json!({ "progressToken": name });
    message(id, "tools/call", params)
}

fn cancel(id: u32) -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } })
}

fn ids(answers: &Value) -> Vec<Value> {
    let answers = answers.as_array().unwrap_or_else(|| panic!("no batch: {answers}"));
    answers.iter().map(|answer| answer["id"].clone()).collect()
}

#[tokio::test]
async fn the_answers_of_a_batch_leave_together() {
    let served = Served::start().await;
    let client = Client::open(&served, WITH).await;
    let batch = json!([
        puppet(1, "a"),
        message(2, "ping", json!({})),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        message(3, "tools/call", call("echo", json!({ "text": "hi" }))),
        message(4, "no/such", json!({})),
    ]);
    let mut connection = send(&served, &client.post(&batch)).await;
    served.stage.puppet("a").await.finish("done");
    let answer = connection.answer().await;
    assert_eq!(answer.status(), 200);
    let mut found = ids(&answer.json());
    found.sort_by_key(Value::to_string);
    assert_eq!(found, [1, 2, 3, 4]);
    served.stop().await;
}

#[tokio::test]
async fn what_the_requests_of_a_batch_say_comes_first() {
    let served = Served::start().await;
    let client = Client::open(&served, WITH).await;
    let connection = send(&served, &client.post(&json!([puppet(1, "a"), puppet(2, "b")]))).await;
    let (a, b) = (served.stage.puppet("a").await, served.stage.puppet("b").await);
    b.tell(Order::Progress(1.0));
    let mut events = Events::begin(connection).await;
    assert_eq!(events.message().await["params"]["progressToken"], "b");
    b.finish("b");
    assert_eq!(b.end().await, End::Finished);
    a.tell(Order::Progress(1.0));
    assert_eq!(events.message().await["params"]["progressToken"], "a");
    a.finish("a");
    assert_eq!(ids(&events.message().await), [2, 1]);
    assert_eq!(events.block().await, None);
    served.stop().await;
}

#[tokio::test]
async fn one_bad_member_spoils_itself_alone() {
    let served = Served::start().await;
    let client = Client::open(&served, WITH).await;
    let batch = json!([
        5,
        message(1, "ping", json!({})),
        json!({ "jsonrpc": "2.0", "id": null, "method": "ping" }),
        message(2, "initialize", json!({})),
    ]);
    let answer = served.ask(&client.post(&batch)).await;
    assert_eq!(answer.status(), 200);
    let answers = answer.json();
    assert_eq!(ids(&answers), [json!(null), json!(1), json!(null), json!(2)]);
    assert_eq!(answers[1]["result"], json!({}));
    for bad in [0, 2, 3] {
        assert_eq!(answers[bad]["error"]["code"], -32600, "{answers}");
    }
    served.stop().await;
}

#[tokio::test]
async fn a_batch_without_requests_is_accepted() {
    let served = Served::start().await;
    let client = Client::open(&served, WITH).await;
    let answer = json!({ "jsonrpc": "2.0", "id": 77, "result": {} });
    for batch in [
        json!([cancel(9), { "jsonrpc": "2.0", "method": "notifications/initialized" }]),
        json!([answer, answer]),
        json!([answer, cancel(9)]),
    ] {
        let accepted = served.ask(&client.post(&batch)).await;
        assert_eq!((accepted.status(), accepted.body.len()), (202, 0), "{batch}");
        // Who gets no answer need not say which types it takes.
        let narrow = client.post(&batch).with("Accept", "application/json");
        assert_eq!(served.ask(&narrow).await.status(), 202, "{batch}");
    }
    served.stop().await;
}

#[tokio::test]
async fn a_batch_has_its_bounds() {
    let served = Served::start().await;
    let client = Client::open(&served, WITH).await;
    let pings = |count: u32| Value::Array((0..count).map(|id| message(id, "ping", json!({}))).collect());
    assert_eq!(ids(&served.ask(&client.post(&pings(100))).await.json()).len(), 100);
    for batch in [pings(101), json!([])] {
        assert_eq!(
            served.ask(&client.post(&batch)).await.error(),
            (400, -32600, Value::Null)
        );
    }
    assert_eq!(client.ping(&served).await.status(), 200);
    served.stop().await;
}

#[tokio::test]
async fn other_revisions_have_no_batches() {
    let served = Served::start().await;
    let batch = json!([message(1, "ping", json!({}))]);
    for revision in LEGACY.into_iter().filter(|revision| *revision != WITH) {
        let client = Client::open(&served, revision).await;
        assert_eq!(
            served.ask(&client.post(&batch)).await.error(),
            (400, -32600, Value::Null),
            "{revision}"
        );
    }
    let modern = Request::post(&batch).header("MCP-Protocol-Version", MODERN);
    assert_eq!(served.ask(&modern).await.error(), (400, -32600, Value::Null));
    served.stop().await;
}

/// The answers that are left of one batch do not leave with another one.
#[tokio::test]
async fn a_batch_that_cancels_what_another_asked_for_mixes_nothing_up() {
    let served = Served::start().await;
    let client = Client::open(&served, WITH).await;
    let batch = json!([puppet(1, "a"), message(2, "ping", json!({}))]);
    let mut first = send(&served, &client.post(&batch)).await;
    let mut alone = send(&served, &client.post(&puppet(3, "b"))).await;
    let (a, b) = (served.stage.puppet("a").await, served.stage.puppet("b").await);
    let second = json!([message(4, "ping", json!({})), cancel(1), cancel(3)]);
    assert_eq!(ids(&served.ask(&client.post(&second)).await.json()), [4]);
    assert_eq!(ids(&first.answer().await.json()), [2]);
    let nothing = alone.answer().await;
    assert_eq!((nothing.status(), nothing.body.len()), (200, 0));
    assert_eq!((a.end().await, b.end().await), (End::Dropped, End::Dropped));
    served.stop().await;
}

#[tokio::test]
async fn a_batch_whose_requests_are_cancelled_one_by_one_ends_without_a_word() {
    let served = Served::start().await;
    let client = Client::open(&served, WITH).await;
    let mut connection = send(&served, &client.post(&json!([puppet(1, "a"), puppet(2, "b")]))).await;
    let (a, b) = (served.stage.puppet("a").await, served.stage.puppet("b").await);
    assert_eq!(served.ask(&client.cancel(1)).await.status(), 202);
    assert_eq!(a.end().await, End::Dropped);
    assert_eq!(served.ask(&client.cancel(2)).await.status(), 202);
    assert_eq!(b.end().await, End::Dropped);
    let nothing = connection.answer().await;
    assert_eq!((nothing.status(), nothing.body.len()), (200, 0));
    served.stop().await;
}
