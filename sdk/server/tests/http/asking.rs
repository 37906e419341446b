//! What a handler asks its client in the legacy era: a request of the server's, on the stream of the request that
//! wants to know, and an answer that comes by another one
//! ([rules](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#sending-messages-to-the-server)).

use std::time::Duration;

use serde_json::{Value, json};
use trunkline_server::HttpOptions;

use crate::events::Events;
use crate::speak::{Client, MODERN, modern_call, send, text};
use crate::stage::{End, Served, Stage};
use crate::wire::Request;

/// The revisions that can ask a person.
const ASKING: [&str; 2] = ["2025-06-18", "2025-11-25"];

/// Starts a handler that asks; its question, and the stream that it came by.
async fn asked(served: &Served, client: &Client, id: u32, name: &str) -> (Events, Value) {
    let connection = send(served, &client.call(id, "confirm", json!({ "name": name }))).await;
    let mut events = Events::begin(connection).await;
    let question = events.message().await;
    assert_eq!(question["method"], "elicitation/create");
    assert!(
        question["params"]["message"].as_str().unwrap().contains(name),
        "{question}"
    );
    (events, question)
}

fn yes(client: &Client, question: &Value) -> Request {
    let result = json!({ "action": "accept", "content": { "yes": true } });
    client.post(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": result }))
}

#[tokio::test]
async fn a_question_is_asked_on_the_stream_of_its_request_and_answered_by_another() {
    let served = Served::start().await;
    for revision in ASKING {
        let client = Client::open(&served, revision).await;
        let _elsewhere = client.listen(&served).await;
        let (mut ann, about_ann) = asked(&served, &client, 1, "Ann").await;
        let (mut bob, about_bob) = asked(&served, &client, 2, "Bob").await;
        assert_ne!(about_ann["id"], about_bob["id"]);
        for question in [&about_bob, &about_ann] {
            let accepted = served.ask(&yes(&client, question)).await;
            assert_eq!((accepted.status(), accepted.body.len()), (202, 0));
        }
        for (events, answer) in [(&mut ann, "Ann: true"), (&mut bob, "Bob: true")] {
            let messages = events.messages().await;
            assert_eq!(messages.len(), 1, "{messages:?}");
            assert_eq!(text(&messages[0]), answer, "{revision}");
        }
    }
    served.stop().await;
}

#[tokio::test]
async fn a_client_may_refuse_or_answer_nonsense() {
    let served = Served::start().await;
    let client = Client::open(&served, "2025-11-25").await;
    let refusals = [
        json!({ "error": { "code": -1, "message": "no" } }),
        json!({ "result": { "action": "decline" } }),
        json!({ "result": { "action": "accept", "content": { "yes": "maybe" } } }),
        json!({ "result": 5 }),
    ];
    for (id, refusal) in (1..).zip(refusals) {
        let (mut events, question) = asked(&served, &client, id, "Ann").await;
        let mut message = json!({ "jsonrpc": "2.0", "id": question["id"] });
        message
            .as_object_mut()
            .unwrap()
            .extend(refusal.as_object().unwrap().clone());
        assert_eq!(served.ask(&client.post(&message)).await.status(), 202);
        let last = events.messages().await.pop().unwrap();
        assert_eq!(last["result"]["isError"], true, "{message}");
    }
    // What cannot be read at all is refused, and ends the question.
    let (mut events, question) = asked(&served, &client, 9, "Ann").await;
    let broken = json!({ "jsonrpc": "2.0", "id": question["id"], "result": {}, "error": { "code": 1, "message": "" } });
    assert_eq!(served.ask(&client.post(&broken)).await.status(), 400);
    assert_eq!(events.messages().await.pop().unwrap()["result"]["isError"], true);
    // An answer to nothing is accepted and means nothing.
    let stray = client.post(&json!({ "jsonrpc": "2.0", "id": 4711, "result": {} }));
    assert_eq!(served.ask(&stray).await.status(), 202);
    served.stop().await;
}

/// Another session cannot answer, whatever ids it tries.
#[tokio::test]
async fn only_who_was_asked_can_answer() {
    let served = Served::start().await;
    let (client, stranger) = (
        Client::open(&served, "2025-11-25").await,
        Client::open(&served, "2025-11-25").await,
    );
    let (mut events, question) = asked(&served, &client, 1, "Ann").await;
    assert_eq!(served.ask(&yes(&stranger, &question)).await.status(), 202);
    served.ask(&yes(&client, &question)).await;
    assert_eq!(text(&events.message().await), "Ann: true");
    served.stop().await;
}

#[tokio::test]
async fn a_cancelled_request_takes_its_question_back() {
    let served = Served::start().await;
    let client = Client::open(&served, "2025-11-25").await;
    let (mut events, question) = asked(&served, &client, 1, "Ann").await;
    let handler = served.stage.puppet("Ann").await;
    served.ask(&client.cancel(1)).await;
    assert_eq!(events.messages().await, [] as [Value; 0]);
    assert_eq!(handler.end().await, End::Dropped);
    let late = served.ask(&yes(&client, &question)).await;
    assert_eq!(late.status(), 202, "it means nothing any more");
    served.stop().await;
}

/// A question that nobody answers ends in its time, each on its own stream.
#[tokio::test(start_paused = true)]
async fn questions_that_nobody_answers_are_given_up() {
    use crate::tower::{begin, open, plain, read};

    let stage = Stage::default();
    let options = HttpOptions::default().with_keep_alive(Duration::from_secs(3600));
    let endpoint = crate::stage::server(stage.clone()).http(options).unwrap();
    let client = open(&endpoint, "2025-11-25").await;
    let mut streams = Vec::new();
    for (id, name) in [(1, "Ann"), (2, "Bob")] {
        let call = client.call(id, "confirm", json!({ "name": name }));
        streams.push(begin(&endpoint, plain(&call)).await);
        let puppet = stage.puppet(name).await;
        drop(puppet);
    }
    let begun = tokio::time::Instant::now();
    for (stream, id) in streams.into_iter().zip([1, 2]) {
        let messages = read(stream).await;
        let [question, withdrawn, answer] = messages.as_slice() else {
            panic!("{messages:?}")
        };
        assert_eq!(withdrawn["method"], "notifications/cancelled");
        assert_eq!(
            withdrawn["params"]["requestId"], question["id"],
            "it is told where it was asked"
        );
        assert_eq!(
            (&answer["id"], &answer["result"]["isError"]),
            (&json!(id), &json!(true))
        );
    }
    assert!(begun.elapsed() >= Duration::from_secs(600) && begun.elapsed() < Duration::from_secs(610));
}

/// In the modern era a question is a result; the answer comes with the request's next round.
#[tokio::test]
async fn a_modern_handler_asks_by_its_result() {
    let served = Served::start().await;
    let mut params = crate::speak::call("confirm", json!({ "name": "Ann" }));
    params["_meta"] = json!({ crate::speak::META_CAPABILITIES: { "elicitation": {} } });
    let answer = served
        .ask(&crate::speak::modern(1, "tools/call", params.clone()))
        .await
        .json();
    let result = &answer["result"];
    assert_eq!(result["resultType"], "input_required", "{answer}");
    let key = result["inputRequests"]
        .as_object()
        .unwrap()
        .keys()
        .next()
        .unwrap()
        .clone();
    params["inputResponses"] = json!({ key: { "action": "accept", "content": { "yes": true } } });
    params["requestState"] = result["requestState"].clone();
    let answer = served.ask(&crate::speak::modern(2, "tools/call", params)).await.json();
    assert_eq!(text(&answer), "Ann: true");
    // Who cannot be asked is told what it would need.
    let answer = served.ask(&modern_call(3, "confirm", json!({ "name": "Bob" }))).await;
    assert_eq!(answer.error(), (400, -32021, json!(3)), "{MODERN}");
    assert_eq!(served.stage.puppet("Bob").await.end().await, End::Dropped);
    served.stop().await;
}
