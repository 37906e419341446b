//! Requests that ask for input, in the modern era: what a client may do with the state it was given.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use trunkline::types::Revision;
use trunkline::{Context, Elicited, NoArguments, Server, Tool, ToolError};
use trunkline_testkit::RawPeer;

/// Whether to go on.
#[derive(Deserialize, JsonSchema)]
struct Confirm {
    /// Yes or no.
    confirm: bool,
}

/// How many, and of what.
#[derive(Deserialize, JsonSchema)]
struct Count {
    n: u32,
}

async fn twice(ask: Count, context: Context) -> Result<String, ToolError> {
    for step in ["first", "second"] {
        match context
            .elicit_or_not::<Confirm>(format!("{step} of {}?", ask.n))
            .await?
        {
            Elicited::Accepted(Confirm { confirm: true }) => {}
            other => {
                return Ok(format!(
                    "{step}: {}",
                    if matches!(other, Elicited::Declined) {
                        "no"
                    } else {
                        "away"
                    }
                ));
            }
        }
    }
    Ok(format!("both of {}", ask.n))
}

fn server() -> Server {
    Server::new("rounds", "1").tool("twice", twice)
}

fn call(arguments: Value, more: Value) -> Value {
    let mut params = json!({ "name": "twice", "arguments": arguments, "_meta": {
        "io.modelcontextprotocol/protocolVersion": Revision::LATEST.name(),
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} } } });
    for (key, value) in more.as_object().cloned().unwrap_or_default() {
        params[key] = value;
    }
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })
}

/// The one question of an `input_required` result: its key, its message and the state.
fn question(answer: &Value) -> (String, String, String) {
    let result = &answer["result"];
    assert_eq!(result["resultType"], "input_required", "{answer}");
    let (key, request) = result["inputRequests"].as_object().unwrap().iter().next().unwrap();
    assert_eq!(request["method"], "elicitation/create");
    let message = request["params"]["message"].as_str().unwrap().to_owned();
    (
        key.clone(),
        message,
        result["requestState"].as_str().unwrap().to_owned(),
    )
}

fn yes(key: &str, state: &str) -> Value {
    json!({ "inputResponses": { key: { "action": "accept", "content": { "confirm": true } } }, "requestState": state })
}

#[tokio::test]
async fn two_rounds_end_in_a_result_without_any_state_on_the_server() {
    // Each round is a connection of its own: the state travels with the client.
    let server = server();
    let ask = json!({ "n": 3 });
    let (key, message, state) = question(&RawPeer::of(&server).request(call(ask.clone(), json!({}))).await);
    assert_eq!(message, "first of 3?");
    let (second, message, state) = question(&RawPeer::of(&server).request(call(ask.clone(), yes(&key, &state))).await);
    assert_eq!(message, "second of 3?");
    let done = RawPeer::of(&server).request(call(ask, yes(&second, &state))).await;
    assert_eq!(done["result"]["content"][0]["text"], "both of 3");
    assert_eq!(done["result"]["resultType"], "complete");
}

#[tokio::test]
async fn a_state_serves_its_own_request_only() {
    let server = server();
    let mut peer = RawPeer::of(&server);
    let (key, _, state) = question(&peer.request(call(json!({ "n": 3 }), json!({}))).await);
    let mut altered = state.clone();
    altered.replace_range(4..5, if &state[4..5] == "A" { "B" } else { "A" });
    for (arguments, state) in [
        (json!({ "n": 4 }), state.as_str()),
        (json!({ "n": 3 }), altered.as_str()),
        (json!({ "n": 3 }), "rubbish"),
        (json!({ "n": 3 }), ""),
    ] {
        let refused = peer.request(call(arguments.clone(), yes(&key, state))).await;
        assert_eq!(refused["error"]["code"], -32602, "{arguments}: {refused}");
    }
    // Another server with another key did not make it either.
    let elsewhere = RawPeer::of(&self::server())
        .request(call(json!({ "n": 3 }), yes(&key, &state)))
        .await;
    assert_eq!(elsewhere["error"]["code"], -32602);
}

#[tokio::test]
async fn servers_with_one_key_stand_in_for_each_other() {
    let [one, other] = [server().state_key([9; 32]), server().state_key([9; 32])];
    let (key, _, state) = question(&RawPeer::of(&one).request(call(json!({ "n": 1 }), json!({}))).await);
    let (_, message, _) = question(
        &RawPeer::of(&other)
            .request(call(json!({ "n": 1 }), yes(&key, &state)))
            .await,
    );
    assert_eq!(message, "second of 1?");
}

#[tokio::test]
async fn answers_that_were_not_asked_for_are_ignored_and_missing_ones_asked_again() {
    let server = server();
    let mut peer = RawPeer::of(&server);
    let ask = json!({ "n": 1 });
    // Answers without a state: nothing was asked yet, so nothing is taken from them.
    let unasked = json!({ "inputResponses": { "1-whatever": { "action": "accept", "content": { "confirm": true } } } });
    let (key, message, state) = question(&peer.request(call(ask.clone(), unasked)).await);
    assert_eq!(message, "first of 1?");
    let without = json!({ "requestState": state, "inputResponses": { "2-other": { "action": "accept", "content": { "confirm": true } } } });
    let (again, message, state) = question(&peer.request(call(ask.clone(), without)).await);
    assert_eq!((again, message.as_str()), (key.clone(), "first of 1?"));
    let wrong = json!({ "requestState": state, "inputResponses": { key.as_str(): { "action": "accept", "content": { "confirm": "maybe" } } } });
    let refused = peer.request(call(ask.clone(), wrong)).await;
    assert_eq!(
        refused["result"]["isError"], true,
        "an answer that does not fit: {refused}"
    );
    let (key, _, state) = question(&peer.request(call(ask.clone(), json!({}))).await);
    let no = json!({ "requestState": state, "inputResponses": { key.as_str(): { "action": "decline" } } });
    assert_eq!(
        peer.request(call(ask, no)).await["result"]["content"][0]["text"],
        "first: no"
    );
}

#[tokio::test]
async fn access_is_checked_at_every_round() {
    let open = Arc::new(AtomicBool::new(true));
    let gate = Arc::clone(&open);
    let check = move |_: &Context| {
        if gate.load(Ordering::SeqCst) {
            Ok(())
        } else {
            Err("closed".to_owned())
        }
    };
    let server = Server::new("rounds", "1").tool("twice", Tool::new(twice).access(check));
    let mut peer = RawPeer::of(&server);
    let (key, _, state) = question(&peer.request(call(json!({ "n": 1 }), json!({}))).await);
    open.store(false, Ordering::SeqCst);
    let refused = peer.request(call(json!({ "n": 1 }), yes(&key, &state))).await;
    assert_eq!(refused["result"]["isError"], true, "{refused}");
}

#[tokio::test]
async fn a_question_that_changed_is_asked_anew() {
    // The question tells the balance; while the person thinks, it changes.
    let balance = Arc::new(std::sync::atomic::AtomicU32::new(10));
    let shown = Arc::clone(&balance);
    let server = Server::new("rounds", "1").tool("twice", move |_: NoArguments, context: Context| {
        let now = shown.load(Ordering::SeqCst);
        async move {
            let sure: Confirm = context.elicit(format!("Spend all {now}?")).await?;
            Ok::<_, ToolError>(format!("spent {now}: {}", sure.confirm))
        }
    });
    let mut peer = RawPeer::of(&server);
    let (key, message, state) = question(&peer.request(call(json!({}), json!({}))).await);
    assert_eq!(message, "Spend all 10?");
    balance.store(999, Ordering::SeqCst);
    let (key, message, state) = question(&peer.request(call(json!({}), yes(&key, &state))).await);
    assert_eq!(message, "Spend all 999?", "a yes to ten is no yes to more");
    let done = peer.request(call(json!({}), yes(&key, &state))).await;
    assert_eq!(done["result"]["content"][0]["text"], "spent 999: true");
}

/// Asks for a name under one, and then, if there is more to ask, for a yes.
async fn named(ask: Count, context: Context) -> Result<String, ToolError> {
    let who = context.named("user_name");
    let Count { n } = who.elicit(format!("How many of {}?", ask.n)).await?;
    if ask.n > 1 {
        let sure: Confirm = context.elicit("Sure?").await?;
        return Ok(format!("{n}, sure: {}", sure.confirm));
    }
    if ask.n == 0 {
        who.elicit::<Confirm>("And again?").await?;
    }
    Ok(format!("{n}"))
}

fn call_named(n: u32, more: Value) -> Value {
    let mut call = call(json!({ "n": n }), more);
    call["params"]["name"] = json!("named");
    call
}

fn count(key: &str, n: u32) -> Value {
    json!({ key: { "action": "accept", "content": { "n": n } } })
}

#[tokio::test]
async fn a_named_question_has_its_name_as_key() {
    let server = Server::new("rounds", "1").tool("named", named);
    let mut peer = RawPeer::of(&server);
    let (key, message, state) = question(&peer.request(call_named(1, json!({}))).await);
    assert_eq!((key.as_str(), message.as_str()), ("user_name", "How many of 1?"));
    let answered = json!({ "inputResponses": count("user_name", 7), "requestState": state });
    let done = peer.request(call_named(1, answered)).await;
    assert_eq!(done["result"]["content"][0]["text"], "7");
}

#[tokio::test]
async fn an_answer_brought_along_under_a_name_is_taken_and_kept() {
    let server = Server::new("rounds", "1").tool("named", named);
    let mut peer = RawPeer::of(&server);
    let mut brought = count("user_name", 7);
    brought["unheard_of"] = json!({ "action": "accept" });
    let done = peer.request(call_named(1, json!({ "inputResponses": brought }))).await;
    assert_eq!(done["result"]["content"][0]["text"], "7");
    // What was taken travels with the state of the next question.
    let (key, message, state) = question(&peer.request(call_named(2, json!({ "inputResponses": brought }))).await);
    assert_eq!(message, "Sure?");
    let done = peer.request(call_named(2, yes(&key, &state))).await;
    assert_eq!(done["result"]["content"][0]["text"], "7, sure: true");
    // Under another name nothing is taken.
    let other = json!({ "inputResponses": count("wrong_key", 7) });
    assert_eq!(question(&peer.request(call_named(1, other)).await).0, "user_name");
}

#[tokio::test]
async fn an_answer_to_a_named_question_that_changed_is_not_taken() {
    let balance = Arc::new(std::sync::atomic::AtomicU32::new(10));
    let shown = Arc::clone(&balance);
    let server = Server::new("rounds", "1").tool("twice", move |_: NoArguments, context: Context| {
        let now = shown.load(Ordering::SeqCst);
        async move {
            let sure: Confirm = context.named("sure").elicit(format!("Spend all {now}?")).await?;
            Ok::<_, ToolError>(format!("spent {now}: {}", sure.confirm))
        }
    });
    let mut peer = RawPeer::of(&server);
    let (key, _, state) = question(&peer.request(call(json!({}), json!({}))).await);
    balance.store(999, Ordering::SeqCst);
    let (again, message, state) = question(&peer.request(call(json!({}), yes(&key, &state))).await);
    assert_eq!((again.as_str(), message.as_str()), ("sure", "Spend all 999?"));
    let done = peer.request(call(json!({}), yes(&again, &state))).await;
    assert_eq!(done["result"]["content"][0]["text"], "spent 999: true");
}

#[tokio::test]
async fn a_name_stands_for_one_question_and_has_its_form() {
    let server = Server::new("rounds", "1").tool("named", named);
    let mut peer = RawPeer::of(&server);
    let twice = peer
        .request(call_named(0, json!({ "inputResponses": count("user_name", 7) })))
        .await;
    assert_eq!(twice["result"]["isError"], true, "{twice}");
    let text = twice["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("two questions are named `user_name`"), "{text}");

    let longest = "n".repeat(64);
    for (name, fits) in [
        ("n", true),
        (&longest, true),
        (&format!("{longest}n"), false),
        ("", false),
        ("1-n", false),
        ("a#b", false),
    ] {
        let name = name.to_owned();
        let server = Server::new("rounds", "1").tool("twice", move |_: NoArguments, context: Context| {
            let name = name.clone();
            async move {
                let Count { n } = context.named(&name).elicit("How many?").await?;
                Ok::<_, ToolError>(format!("{n}"))
            }
        });
        let answer = RawPeer::of(&server).request(call(json!({}), json!({}))).await;
        assert_eq!(answer["result"]["resultType"] == "input_required", fits, "{answer}");
    }
}

#[tokio::test]
async fn an_answer_that_is_no_object_is_refused_with_and_without_a_state() {
    let server = Server::new("rounds", "1").tool("named", named);
    let mut peer = RawPeer::of(&server);
    let (_, _, state) = question(&peer.request(call_named(1, json!({}))).await);
    for more in [
        json!({ "inputResponses": { "user_name": 12345 } }),
        json!({ "inputResponses": { "user_name": 12345 }, "requestState": state }),
        json!({ "inputResponses": [] }),
    ] {
        let refused = peer.request(call_named(1, more)).await;
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    }
    let nothing = json!({ "inputResponses": null });
    question(&peer.request(call_named(1, nothing)).await);
}
