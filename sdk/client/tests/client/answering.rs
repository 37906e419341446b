//! What a server asks its client for, in both eras.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{Barrier, Notify, mpsc};
use trunkline_client::types::{
    ClientCapabilities, CreateMessageParams, CreateMessageResult, ElicitParams, ElicitResult, ElicitationCapability,
    ErrorObject, Extra, Revision, Root, RootsCapability, SamplingCapability,
};
use trunkline_client::{
    CallError, CallOptions, Client, Connector, Inputs, MAX_QUESTIONS, MAX_QUEUED, MAX_ROUNDS, Timeouts,
};

use crate::peer::{Peer, legacy_with, modern, modern_with, soon, text};

/// Answers everything at once.
struct Willing;

impl Inputs for Willing {
    fn capabilities(&self) -> ClientCapabilities {
        ClientCapabilities {
            elicitation: Some(ElicitationCapability::default()),
            sampling: Some(SamplingCapability::default()),
            roots: Some(RootsCapability::default()),
            ..ClientCapabilities::default()
        }
    }

    async fn elicit(&self, params: ElicitParams) -> Result<ElicitResult, ErrorObject> {
        match params.message() {
            "panic" => panic!("a test panic"),
            "refuse" => Err(ErrorObject::internal("the person is asleep")),
            message => Ok(ElicitResult::accept(object(json!({ "you said": message })))),
        }
    }

    async fn sample(&self, params: CreateMessageParams) -> Result<CreateMessageResult, ErrorObject> {
        Ok(CreateMessageResult::text(
            "parrot",
            format!("{} tokens", params.max_tokens),
        ))
    }

    async fn roots(&self) -> Result<Vec<Root>, ErrorObject> {
        Ok(vec![Root::new("file:///home")])
    }
}

fn object(value: Value) -> Extra {
    value.as_object().cloned().unwrap()
}

fn tools() -> Value {
    json!({ "tools": {}, "prompts": {}, "resources": {} })
}

fn form(message: &str) -> Value {
    json!({ "method": "elicitation/create", "params": { "message": message, "requestedSchema": { "type": "object", "properties": {} } } })
}

fn wants(questions: Value, state: Option<&str>) -> Value {
    let mut result = json!({ "resultType": "input_required", "inputRequests": questions });
    if let Some(state) = state {
        result["requestState"] = state.into();
    }
    result
}

#[tokio::test]
async fn questions_are_answered_and_the_request_is_sent_again() {
    let (mut peer, client) = modern_with(tools(), |connector| connector.inputs(Willing)).await;
    let serve = async {
        let first = peer.expect("tools/call").await;
        assert!(first["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"]["roots"].is_object());
        let questions = json!({
            "who": form("Ann?"),
            "model": { "method": "sampling/createMessage", "params": { "messages": [], "maxTokens": 5 } },
            "where": { "method": "roots/list" },
        });
        peer.answer(&first, wants(questions, Some("  s\u{e9}aled \"as it is\"\\ ")))
            .await;
        let second = peer.expect("tools/call").await;
        assert_ne!(first["id"], second["id"]);
        assert_eq!(second["params"]["name"], "cancel_order");
        assert_eq!(second["params"]["arguments"], json!({ "id": 7 }));
        assert_eq!(second["params"]["requestState"], "  s\u{e9}aled \"as it is\"\\ ");
        let answers = &second["params"]["inputResponses"];
        assert_eq!(
            answers["who"],
            json!({ "action": "accept", "content": { "you said": "Ann?" } })
        );
        assert_eq!(answers["model"]["content"]["text"], "5 tokens");
        assert_eq!(answers["where"], json!({ "roots": [{ "uri": "file:///home" }] }));
        // The answers of one round are not repeated in the next; the state is gone with the result that held it.
        peer.answer(&second, wants(json!({ "b": form("Sure?") }), None)).await;
        let third = peer.expect("tools/call").await;
        assert_eq!(third["params"].get("requestState"), None);
        let keys: Vec<_> = third["params"]["inputResponses"]
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect();
        assert_eq!(keys, ["b"]);
        peer.answer(&third, text("cancelled")).await;
    };
    let (called, ()) = tokio::join!(client.call("cancel_order", &json!({ "id": 7 })), serve);
    assert_eq!(called.unwrap().text(), "cancelled");
}

#[tokio::test]
async fn a_state_without_questions_is_sent_back_at_once() {
    let (mut peer, client) = modern(tools()).await;
    let serve = async {
        let first = peer.expect("prompts/get").await;
        peer.answer(
            &first,
            json!({ "resultType": "input_required", "requestState": "later" }),
        )
        .await;
        let second = peer.expect("prompts/get").await;
        assert_eq!(second["params"]["requestState"], "later");
        assert_eq!(second["params"].get("inputResponses"), None);
        peer.answer(&second, json!({ "resultType": "complete", "messages": [] }))
            .await;
    };
    let (prompt, ()) = tokio::join!(client.prompt("p", BTreeMap::new()), serve);
    prompt.unwrap();
}

#[tokio::test]
async fn reading_may_ask_and_listing_may_not() {
    let (mut peer, client) = modern_with(tools(), |connector| connector.inputs(Willing)).await;
    let serve = async {
        let first = peer.expect("resources/read").await;
        peer.answer(&first, wants(json!({ "a": form("?") }), None)).await;
        peer.serve("resources/read", json!({ "resultType": "complete", "contents": [] }))
            .await;
        peer.serve("resources/list", wants(json!({ "a": form("?") }), None))
            .await;
    };
    let ask = async {
        client.read("test://a").await.unwrap();
        client.resources().await.unwrap_err()
    };
    let (error, ()) = tokio::join!(ask, serve);
    assert!(matches!(error, CallError::Invalid(_)), "{error}");
}

#[tokio::test]
async fn progress_goes_on_through_the_rounds_under_new_tokens() {
    let (mut peer, client) = modern_with(tools(), |connector| connector.inputs(Willing)).await;
    let options = CallOptions {
        progress: true,
        ..CallOptions::default()
    };
    let mut call = client.request_call("t", Extra::new(), options);
    let serve = async {
        let report = async |peer: &mut Peer, request: &Value, value: i64| {
            let token = &request["params"]["_meta"]["progressToken"];
            assert_eq!(*token, request["id"]);
            peer.notify(
                "notifications/progress",
                json!({ "progressToken": token, "progress": value }),
            )
            .await;
        };
        let first = peer.expect("tools/call").await;
        report(&mut peer, &first, 1).await;
        peer.answer(&first, wants(json!({ "a": form("?") }), None)).await;
        let second = peer.expect("tools/call").await;
        report(&mut peer, &second, 2).await;
        peer.answer(&second, text("ok")).await;
    };
    let watch = async {
        let mut seen = Vec::new();
        while let Some(progress) = call.progress().await {
            seen.push(progress.value());
        }
        call.await.unwrap();
        seen
    };
    let (seen, ()) = tokio::join!(watch, serve);
    assert_eq!(seen, [1.0, 2.0]);
}

#[tokio::test]
async fn the_number_of_rounds_has_an_end() {
    for rounds in [MAX_ROUNDS, MAX_ROUNDS + 1] {
        let (mut peer, client) = modern_with(tools(), |connector| connector.inputs(Willing)).await;
        let serve = async {
            for _ in 0..rounds {
                peer.serve("tools/call", wants(json!({ "a": form("?") }), None)).await;
            }
            if rounds == MAX_ROUNDS {
                peer.serve("tools/call", text("ok")).await;
            }
        };
        let (called, ()) = tokio::join!(client.call("t", &()), serve);
        if rounds == MAX_ROUNDS {
            called.unwrap();
        } else {
            assert_eq!(called, Err(CallError::TooManyRounds));
        }
    }
}

#[tokio::test]
async fn what_was_not_declared_or_is_refused_ends_the_call() {
    let url =
        json!({ "method": "elicitation/create", "params": { "mode": "url", "message": "go", "url": "https://x" } });
    let sampled =
        json!({ "method": "sampling/createMessage", "params": { "messages": [], "maxTokens": 5, "tools": [] } });
    for (question, why) in [
        (url, "elicitation.url"),
        (sampled, "sampling.tools"),
        (json!({ "method": "person/wake" }), "person/wake"),
        (
            json!({ "method": "elicitation/create", "params": { "mode": "smell", "message": "?" } }),
            "mode",
        ),
        (json!({ "params": {} }), "method"),
        (form("refuse"), "asleep"),
        (form("panic"), "panicked"),
    ] {
        let (mut peer, client) = modern_with(tools(), |connector| connector.inputs(Willing)).await;
        let result = wants(json!({ "q": question }), Some("s"));
        let (called, _) = tokio::join!(client.call("t", &()), peer.serve("tools/call", result));
        let error = called.unwrap_err();
        assert!(matches!(error, CallError::Unanswered(_)), "{error}");
        assert!(error.to_string().contains(why), "{error}");
        let (called, _) = tokio::join!(client.call("next", &()), peer.serve("tools/call", text("ok")));
        called.unwrap();
    }
}

#[tokio::test]
async fn a_client_without_inputs_refuses() {
    let (mut peer, client) = modern(tools()).await;
    let (called, _) = tokio::join!(
        client.call("t", &()),
        peer.serve("tools/call", wants(json!({ "q": form("?") }), None))
    );
    assert!(
        called
            .unwrap_err()
            .to_string()
            .contains("did not declare `elicitation`")
    );
}

#[tokio::test]
async fn the_number_of_questions_has_an_end() {
    for count in [MAX_QUESTIONS, MAX_QUESTIONS + 1] {
        let (mut peer, client) = modern_with(tools(), |connector| connector.inputs(Willing)).await;
        let questions: Extra = (0..count).map(|n| (n.to_string(), form("?"))).collect();
        let serve = async {
            peer.serve("tools/call", wants(Value::Object(questions), None)).await;
            if count == MAX_QUESTIONS {
                let again = peer.serve("tools/call", text("ok")).await;
                assert_eq!(again["params"]["inputResponses"].as_object().unwrap().len(), count);
            }
        };
        let (called, ()) = tokio::join!(client.call("t", &()), serve);
        assert_eq!(called.is_ok(), count == MAX_QUESTIONS);
    }
}

/// Answers only when all questions are there.
struct Together(Barrier);

impl Inputs for Together {
    fn capabilities(&self) -> ClientCapabilities {
        Willing.capabilities()
    }

    async fn elicit(&self, _: ElicitParams) -> Result<ElicitResult, ErrorObject> {
        self.0.wait().await;
        Ok(ElicitResult::decline())
    }
}

#[tokio::test]
async fn questions_are_answered_side_by_side() {
    let inputs = Together(Barrier::new(3));
    let (mut peer, client) = modern_with(tools(), |connector| connector.inputs(inputs)).await;
    let serve = async {
        let questions = json!({ "a": form("?"), "b": form("?"), "c": form("?") });
        peer.serve("tools/call", wants(questions, None)).await;
        peer.serve("tools/call", text("ok")).await;
    };
    let (called, ()) = tokio::join!(client.call("t", &()), serve);
    called.unwrap();
}

/// Tells when it is asked and when its question is dropped, and answers when it is told to.
struct Slow {
    asked: mpsc::UnboundedSender<&'static str>,
    go: Arc<Notify>,
}

struct Gone(mpsc::UnboundedSender<&'static str>);

impl Drop for Gone {
    fn drop(&mut self) {
        let _ = self.0.send("over");
    }
}

impl Inputs for Slow {
    fn capabilities(&self) -> ClientCapabilities {
        Willing.capabilities()
    }

    async fn elicit(&self, _: ElicitParams) -> Result<ElicitResult, ErrorObject> {
        let _gone = Gone(self.asked.clone());
        self.asked.send("asked").unwrap();
        self.go.notified().await;
        Ok(ElicitResult::decline())
    }
}

fn slow() -> (Slow, mpsc::UnboundedReceiver<&'static str>, Arc<Notify>) {
    let (asked, heard) = mpsc::unbounded_channel();
    let go = Arc::new(Notify::new());
    let slow = Slow {
        asked,
        go: Arc::clone(&go),
    };
    (slow, heard, go)
}

/// A call goes through, and its request is the next message of the client's.
async fn call_is_next(client: &Client, peer: &mut Peer) {
    let (called, _) = tokio::join!(
        client.call("t", &()),
        peer.serve("tools/call", json!({ "content": [] }))
    );
    called.unwrap();
}

fn ask(id: Value, question: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": question["method"], "params": question["params"] })
}

#[tokio::test]
async fn a_slow_person_holds_up_nothing() {
    let (inputs, mut heard, go) = slow();
    let (mut peer, client) = legacy_with(Revision::LATEST_LEGACY, tools(), |connector| connector.inputs(inputs)).await;
    peer.send(ask(json!("q-1"), &form("?"))).await;
    assert_eq!(soon(heard.recv()).await, Some("asked"));
    call_is_next(&client, &mut peer).await;
    go.notify_one();
    let answer = peer.next().await.unwrap();
    assert_eq!(answer["id"], "q-1");
    assert_eq!(answer["result"], json!({ "action": "decline" }));
}

#[tokio::test(start_paused = true)]
async fn the_time_of_a_call_stands_still_while_a_person_is_asked() {
    let (inputs, mut heard, go) = slow();
    let timeouts = Timeouts::fixed(Duration::from_secs(5));
    let with = |connector: Connector| connector.inputs(inputs).timeouts(timeouts);
    let (mut peer, client) = legacy_with(Revision::LATEST_LEGACY, tools(), with).await;
    let serve = async {
        let request = peer.expect("tools/call").await;
        peer.send(ask(json!("q"), &form("?"))).await;
        assert_eq!(soon(heard.recv()).await, Some("asked"));
        tokio::time::sleep(Duration::from_secs(100)).await;
        go.notify_one();
        assert_eq!(peer.next().await.unwrap()["id"], "q", "and nothing was cancelled");
        peer.answer(&request, json!({ "content": [] })).await;
    };
    let (called, ()) = tokio::join!(client.call("t", &()), serve);
    called.unwrap();
}

#[tokio::test]
async fn a_withdrawn_question_is_dropped() {
    let (inputs, mut heard, _go) = slow();
    let (mut peer, client) = legacy_with(Revision::LATEST_LEGACY, tools(), |connector| connector.inputs(inputs)).await;
    peer.send(ask(json!(5), &form("?"))).await;
    assert_eq!(soon(heard.recv()).await, Some("asked"));
    peer.notify("notifications/cancelled", json!({ "requestId": 5 })).await;
    assert_eq!(soon(heard.recv()).await, Some("over"));
    // The next message is the call, not an answer.
    call_is_next(&client, &mut peer).await;
}

/// Answers the first question as [`Slow`] does, and the other by another word, when it is told to.
struct TwoQuestions {
    slow: Slow,
    may_delete: Arc<Notify>,
}

impl Inputs for TwoQuestions {
    fn capabilities(&self) -> ClientCapabilities {
        Willing.capabilities()
    }

    async fn elicit(&self, params: ElicitParams) -> Result<ElicitResult, ErrorObject> {
        if params.message() != "May I delete?" {
            return self.slow.elicit(params).await;
        }
        self.slow.asked.send("asked").unwrap();
        self.may_delete.notified().await;
        Ok(ElicitResult::cancel())
    }
}

#[tokio::test]
async fn the_answer_to_a_withdrawn_question_is_not_given_to_the_next_one_of_its_id() {
    let (slow, mut heard, may_read) = slow();
    let may_delete = Arc::new(Notify::new());
    let inputs = TwoQuestions {
        slow,
        may_delete: Arc::clone(&may_delete),
    };
    let (mut peer, client) = legacy_with(Revision::LATEST_LEGACY, tools(), |connector| connector.inputs(inputs)).await;
    peer.send(ask(json!(5), &form("May I read?"))).await;
    assert_eq!(soon(heard.recv()).await, Some("asked"));
    // Before the client looks again, the person has answered and the server has withdrawn the question.
    may_read.notify_one();
    peer.notify("notifications/cancelled", json!({ "requestId": 5 })).await;
    peer.send(ask(json!(5), &form("May I delete?"))).await;
    assert_eq!(soon(heard.recv()).await, Some("over"));
    assert_eq!(soon(heard.recv()).await, Some("asked"));
    // The next message is the call, not an answer.
    call_is_next(&client, &mut peer).await;
    may_delete.notify_one();
    assert_eq!(peer.next().await.unwrap()["result"]["action"], "cancel");
}

#[tokio::test]
async fn a_call_that_is_dropped_takes_its_questions_along() {
    let (inputs, mut heard, _go) = slow();
    let (mut peer, client) = modern_with(tools(), |connector| connector.inputs(inputs)).await;
    let call = tokio::spawn(client.request_call("t", Extra::new(), CallOptions::default()));
    peer.serve("tools/call", wants(json!({ "a": form("?") }), None)).await;
    assert_eq!(soon(heard.recv()).await, Some("asked"));
    call.abort();
    assert_eq!(soon(heard.recv()).await, Some("over"));
}

#[tokio::test]
async fn legacy_requests_are_answered() {
    let (mut peer, _client) =
        legacy_with(Revision::LATEST_LEGACY, tools(), |connector| connector.inputs(Willing)).await;
    for (question, check) in [
        (form("Ann?"), "/result/content/you said"),
        (
            json!({ "method": "sampling/createMessage", "params": { "messages": [], "maxTokens": 5 } }),
            "/result/model",
        ),
        (json!({ "method": "roots/list" }), "/result/roots/0/uri"),
        (json!({ "method": "ping" }), "/result"),
        (
            json!({ "method": "elicitation/create", "params": { "mode": "url", "message": "go", "url": "https://x" } }),
            "/error/message",
        ),
        (json!({ "method": "person/wake" }), "/error/message"),
        (json!({ "method": "elicitation/create", "params": 7 }), "/error/message"),
        (form("panic"), "/error/message"),
        (form("refuse"), "/error/message"),
    ] {
        peer.send(ask(json!(9_007_199_254_740_993_i64), &question)).await;
        let answer = peer.next().await.unwrap();
        assert_eq!(answer["id"], json!(9_007_199_254_740_993_i64));
        assert!(answer.pointer(check).is_some(), "{question}: {answer}");
    }
}

#[tokio::test]
async fn changed_roots_are_told_to_legacy_servers_only() {
    let (mut peer, client) = legacy_with(Revision::LATEST_LEGACY, tools(), |connector| connector.inputs(Willing)).await;
    client.roots_changed();
    peer.expect("notifications/roots/list_changed").await;
    let (mut peer, client) = modern_with(tools(), |connector| connector.inputs(Willing)).await;
    client.roots_changed();
    let (called, _) = tokio::join!(client.call("t", &()), peer.serve("tools/call", text("ok")));
    called.unwrap();
}

// With a paused clock a second passes only when nobody can go on.
#[tokio::test(start_paused = true)]
async fn a_server_that_asks_without_end_and_does_not_read_is_held_back() {
    let ping = |n: usize| json!({ "jsonrpc": "2.0", "id": format!("{n:04000}"), "method": "ping" });
    let enough = MAX_QUEUED / 4000;
    for (count, taken) in [(enough / 2, true), (enough + 100, false)] {
        let (mut peer, _client) = legacy_with(Revision::LATEST_LEGACY, tools(), |connector| connector).await;
        assert_eq!(peer.flood((0..count).map(ping)).await, taken);
        for n in 0..count {
            let answer = peer.next().await.unwrap();
            assert_eq!(answer["id"], ping(n)["id"], "nothing is lost");
        }
    }
}
