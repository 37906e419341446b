//! What a server does around its handlers: who may ask, what is sent when, and how a connection ends.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use trunkline::transport::{InMemory, Memory, Received, Transport};
use trunkline::types::{ElicitationForms, LogLevel, Resource, ResourceTemplate, Revision};
use trunkline::{Completing, Context, InputError, NoArguments, Server, Tool, ToolError, UriVariables};
use trunkline_testkit::RawPeer;

/// Long enough for a loaded machine; a test that waits this long has failed.
const PATIENCE: Duration = Duration::from_secs(20);

/// Whether to go on.
#[derive(Deserialize, JsonSchema)]
struct Confirm {
    /// Yes or no.
    confirm: bool,
}

fn server() -> Server {
    Server::new("runtime", "1")
}

/// A peer after a handshake of the newest legacy revision, or of another one.
async fn shaken(server: &Server, revision: Revision) -> RawPeer {
    let mut peer = RawPeer::of(server);
    let params = json!({ "protocolVersion": revision.name(), "clientInfo": { "name": "t", "version": "1" },
        "capabilities": { "elicitation": { "form": {}, "url": {} } } });
    let hello = json!({ "jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": params });
    assert_eq!(peer.request(hello).await["result"]["protocolVersion"], revision.name());
    peer.send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))
        .await;
    peer
}

/// A modern request.
fn modern(id: u32, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({ "io.modelcontextprotocol/protocolVersion": Revision::LATEST.name(),
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
        "io.modelcontextprotocol/logLevel": "debug", "progressToken": "p" });
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

/// A modern call of the tool `t`.
fn call(more: Value) -> Value {
    let mut params = more;
    params["name"] = json!("t");
    modern(1, "tools/call", params)
}

fn legacy_call() -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "t", "_meta": { "progressToken": "p" } } })
}

/// The only question of an `input_required` result, answered with yes.
fn yes(answer: &Value) -> Value {
    let result = &answer["result"];
    assert_eq!(result["resultType"], "input_required", "{answer}");
    let (key, _) = result["inputRequests"].as_object().unwrap().iter().next().unwrap();
    json!({ "requestState": result["requestState"],
        "inputResponses": { key.as_str(): { "action": "accept", "content": { "confirm": true } } } })
}

/// The next question of the server's own requests, answered with yes.
async fn say_yes(peer: &mut RawPeer) -> Value {
    let question = peer.receive().await;
    assert_eq!(question["method"], "elicitation/create", "{question}");
    let answer = json!({ "action": "accept", "content": { "confirm": true } });
    peer.send(json!({ "jsonrpc": "2.0", "id": question["id"], "result": answer }))
        .await;
    question
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("no text: {answer}"))
}

/// All messages up to the end of a connection on which nothing more is sent.
async fn rest(mut end: Memory) -> Vec<Value> {
    poll_fn(|cx| end.poll_close(cx)).await.unwrap();
    let mut all = Vec::new();
    loop {
        let next = poll_fn(|cx| end.poll_receive(cx));
        match tokio::time::timeout(PATIENCE, next)
            .await
            .expect("an end in time")
            .unwrap()
        {
            Received::Message(line) => all.push(serde_json::from_slice(&line).unwrap()),
            Received::End => return all,
            other => panic!("unexpected: {other:?}"),
        }
    }
}

/// A tool that asks in a task of its own, and tells what each of these tasks got.
fn asks_in_a_task() -> (Server, mpsc::UnboundedReceiver<Result<bool, InputError>>) {
    let (tell, told) = mpsc::unbounded_channel();
    let server = server().tool("t", move |_: NoArguments, context: Context| {
        let tell = tell.clone();
        let asking = tokio::spawn(async move {
            tokio::task::yield_now().await;
            let got = context.elicit::<Confirm>("Sure?").await.map(|answer| answer.confirm);
            tell.send(got.clone()).unwrap();
            got
        });
        async move { Ok::<_, ToolError>(asking.await.map_err(ToolError::internal)??.to_string()) }
    });
    (server, told)
}

#[tokio::test]
async fn a_question_asked_in_a_task_reaches_the_client_and_the_task_ends_with_its_attempt() {
    let (server, mut told) = asks_in_a_task();
    let mut peer = RawPeer::of(&server);
    let asked = peer.request(call(json!({}))).await;
    assert_eq!(text(&peer.request(call(yes(&asked))).await), "true");
    assert_eq!(
        told.recv().await,
        Some(Err(InputError::Over)),
        "the first attempt's task is let go"
    );
    assert_eq!(told.recv().await, Some(Ok(true)));

    let mut peer = shaken(&server, Revision::LATEST_LEGACY).await;
    peer.send(legacy_call()).await;
    say_yes(&mut peer).await;
    assert_eq!(text(&peer.response(&json!(1)).await), "true");
}

#[tokio::test]
async fn who_may_not_ask_is_told_so() {
    let kept = Arc::new(Mutex::new(None));
    let keep = Arc::clone(&kept);
    let tool = Tool::new(|_: NoArguments| async { "called" }).access(move |context: &Context| {
        *keep.lock().unwrap() = Some(context.clone());
        Ok(())
    });
    let server = server()
        .tool("t", tool)
        .resource_template(
            ResourceTemplate {
                uri_template: "note://{name}".to_owned(),
                name: "notes".to_owned(),
                ..ResourceTemplate::default()
            },
            |_: UriVariables| async { "text" },
        )
        .complete("note://{name}", "name", |_: Completing, context: Context| async move {
            match context.elicit::<Confirm>("Which?").await {
                Ok(_) => vec!["answered".to_owned()],
                Err(error) => vec![error.to_string()],
            }
        });
    let mut peer = RawPeer::of(&server);
    let params = json!({ "ref": { "type": "ref/resource", "uri": "note://{name}" }, "argument": { "name": "name", "value": "" } });
    let answer = peer.request(modern(1, "completion/complete", params)).await;
    let said = answer["result"]["completion"]["values"][0].as_str().unwrap();
    assert!(said.contains("may not ask"), "{said}");

    assert_eq!(text(&peer.request(call(json!({}))).await), "called");
    let context = kept.lock().unwrap().take().unwrap();
    let asked = tokio::time::timeout(PATIENCE, context.roots()).await.unwrap();
    assert_eq!(asked.unwrap_err(), InputError::NotHere);
}

#[tokio::test]
async fn a_client_that_does_not_read_costs_no_memory() {
    const NOTICES: usize = 6000;
    let (done, mut is_done) = mpsc::channel(1);
    let server = server().tool("t", move |_: NoArguments, context: Context| {
        let done = done.clone();
        async move {
            for _ in 0..NOTICES {
                context.log(LogLevel::Info, "x".repeat(1024));
                tokio::task::yield_now().await;
            }
            done.send(()).await.unwrap();
            "flooded"
        }
    });
    let mut end = server.open();
    end.send(call(json!({})).to_string().into_bytes());
    poll_fn(|cx| end.poll_flush(cx)).await.unwrap();
    is_done.recv().await.unwrap();
    let all = rest(end).await;
    let answer = all.last().unwrap();
    assert_eq!(text(answer), "flooded", "the answer is no hint");
    // A megabyte waits at most, beside what the pipe and the queue of notices hold.
    assert!(all.len() < NOTICES / 2, "{} of {NOTICES} notices were kept", all.len());
    assert!(all.len() > 500, "only {} notices came", all.len());
}

#[tokio::test]
async fn changes_wait_for_a_client_that_does_not_read_and_none_is_lost() {
    let long = format!("note://{}", "x".repeat(4000));
    let server = server().resource(Resource::new(long.clone(), "long"), |_: UriVariables| async { "text" });
    let mut peer = shaken(&server, Revision::LATEST_LEGACY).await;
    for (id, uri) in [(1, long.as_str()), (2, "note://other")] {
        peer.request(json!({ "jsonrpc": "2.0", "id": id, "method": "resources/subscribe", "params": { "uri": uri } }))
            .await;
    }
    let changes = 2000;
    for _ in 0..changes {
        server.resource_changed(long.clone());
        tokio::task::yield_now().await;
    }
    // By now the connection lags: this one alone is lost.
    server.resource_changed("note://other");
    let mut seen = 0;
    loop {
        let message = peer.receive().await;
        match message["params"]["uri"].as_str() {
            Some("note://other") => break,
            Some(_) => seen += 1,
            None => assert!(
                message["method"].as_str().unwrap().ends_with("list_changed"),
                "{message}"
            ),
        }
    }
    assert!(seen < changes / 2, "{seen} of {changes} were kept");
    // The connection is well and hears of what comes.
    while peer.receive().await["params"]["uri"] != json!(long) {}
    peer.request(json!({ "jsonrpc": "2.0", "id": 3, "method": "ping" }))
        .await;
    server.resource_changed("note://other");
    while peer.receive().await["params"]["uri"] != "note://other" {}
}

#[tokio::test]
async fn a_lag_announces_every_watched_resource() {
    let server = server().resource(Resource::new("note://a", "a"), |_: UriVariables| async { "text" });
    let mut peer = shaken(&server, Revision::LATEST_LEGACY).await;
    peer.request(
        json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": { "uri": "note://a" } }),
    )
    .await;
    let mut stream = RawPeer::of(&server);
    let filter = json!({ "notifications": { "resourceSubscriptions": ["note://a"] } });
    stream.send(modern(1, "subscriptions/listen", filter)).await;
    stream.receive().await;
    // More than a connection holds, before it runs.
    for n in 0..400 {
        server.resource_changed(format!("note://nobody/{n}"));
    }
    server.resource_changed("note://a");
    for peer in [&mut peer, &mut stream] {
        while peer.receive().await["params"]["uri"] != "note://a" {}
    }
}

/// A tool that hands its context out and returns, or waits for ever.
fn leaks_its_context(waits: bool) -> (Server, mpsc::UnboundedReceiver<Context>) {
    let (give, given) = mpsc::unbounded_channel();
    let server = server().tool("t", move |_: NoArguments, context: Context| {
        context.progress(1.0, None, "begun");
        give.send(context).unwrap();
        async move {
            if waits {
                std::future::pending::<()>().await;
            }
            "done"
        }
    });
    (server, given)
}

/// Uses a context whose request is over, and sees that nothing comes of it.
async fn is_silent(peer: &mut RawPeer, context: &Context) {
    context.progress(5.0, None, "late");
    context.log(LogLevel::Error, "late");
    peer.send(modern(7, "tools/list", json!({}))).await;
    let next = peer.receive().await;
    assert_eq!(next["id"], 7, "{next}");
}

#[tokio::test]
async fn nothing_is_sent_for_a_request_that_is_over() {
    let (server, mut given) = leaks_its_context(false);
    let mut peer = RawPeer::of(&server);
    peer.send(call(json!({}))).await;
    assert_eq!(
        peer.receive().await["method"],
        "notifications/progress",
        "what was sent before comes before the answer"
    );
    assert_eq!(text(&peer.receive().await), "done");
    let context = given.recv().await.unwrap();
    is_silent(&mut peer, &context).await;

    let (server, mut given) = leaks_its_context(true);
    let mut peer = RawPeer::of(&server);
    peer.send(call(json!({}))).await;
    assert_eq!(peer.receive().await["method"], "notifications/progress");
    let context = given.recv().await.unwrap();
    peer.send(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } }))
        .await;
    peer.request(modern(8, "tools/list", json!({}))).await;
    is_silent(&mut peer, &context).await;
}

#[tokio::test]
async fn a_question_that_changes_each_time_is_given_up_with_its_cause() {
    let count = Arc::new(AtomicU32::new(0));
    let server = server().tool("t", move |_: NoArguments, context: Context| {
        let n = count.fetch_add(1, Ordering::SeqCst);
        async move {
            let sure: Confirm = context.elicit(format!("Sure of {n}?")).await?;
            Ok::<_, ToolError>(sure.confirm.to_string())
        }
    });
    let mut peer = RawPeer::of(&server);
    let mut answer = peer.request(call(json!({}))).await;
    let mut asked = 0;
    while answer["result"]["resultType"] == "input_required" {
        asked += 1;
        answer = peer.request(call(yes(&answer))).await;
    }
    assert_eq!(
        (asked, answer["result"]["isError"].as_bool()),
        (3, Some(true)),
        "{answer}"
    );
    assert!(text(&answer).contains("changes each time"), "{answer}");

    let mut peer = shaken(&server, Revision::LATEST_LEGACY).await;
    peer.send(legacy_call()).await;
    for _ in 0..3 {
        say_yes(&mut peer).await;
    }
    let answer = peer.receive().await;
    assert!(text(&answer).contains("changes each time"), "{answer}");
}

/// A tool that spends something after a yes.
fn spends(spent: &Arc<AtomicU32>) -> Tool {
    let spent = Arc::clone(spent);
    Tool::new(move |_: NoArguments, context: Context| {
        let spent = Arc::clone(&spent);
        async move {
            context.elicit::<Confirm>("Spend?").await?;
            spent.fetch_add(1, Ordering::SeqCst);
            Ok::<_, ToolError>("spent".to_owned())
        }
    })
}

#[tokio::test]
async fn a_state_serves_once() {
    let spent = Arc::new(AtomicU32::new(0));
    let server = server().tool("t", spends(&spent));
    let mut peer = RawPeer::of(&server);
    let answered = call(yes(&peer.request(call(json!({}))).await));
    assert_eq!(text(&peer.request(answered.clone()).await), "spent");
    let mut other = RawPeer::of(&server);
    for peer in [&mut peer, &mut other] {
        let refused = peer.request(answered.clone()).await;
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
        let why = refused["error"]["message"].as_str().unwrap();
        assert!(why.contains("used already"), "{why}");
    }
    assert_eq!(spent.load(Ordering::SeqCst), 1);
    // A new question serves anew.
    let answered = call(yes(&peer.request(call(json!({}))).await));
    assert_eq!(text(&peer.request(answered).await), "spent");
}

#[tokio::test]
async fn who_is_turned_away_before_the_handler_may_come_again_with_the_state() {
    let spent = Arc::new(AtomicU32::new(0));
    let open = Arc::new(AtomicBool::new(true));
    let gate = Arc::clone(&open);
    let check = move |_: &Context| {
        let open = gate.load(Ordering::SeqCst);
        open.then_some(()).ok_or_else(|| "closed".to_owned())
    };
    let server = server().tool("t", spends(&spent).access(check));
    let mut peer = RawPeer::of(&server);
    let answered = call(yes(&peer.request(call(json!({}))).await));
    open.store(false, Ordering::SeqCst);
    assert_eq!(peer.request(answered.clone()).await["result"]["isError"], true);
    open.store(true, Ordering::SeqCst);
    assert_eq!(text(&peer.request(answered).await), "spent");
}

/// The answers to the tool's own questions are no further calls.
#[tokio::test]
async fn a_call_counts_once_against_the_rate_however_often_it_asks() {
    let spent = Arc::new(AtomicU32::new(0));
    let server = server().tool("t", spends(&spent).rate_limit(2, Duration::from_secs(3600)));
    let mut peer = RawPeer::of(&server);
    for _ in 0..2 {
        let answered = call(yes(&peer.request(call(json!({}))).await));
        assert_eq!(text(&peer.request(answered).await), "spent");
    }
    let refused = peer.request(call(json!({}))).await;
    assert!(text(&refused).contains("allows 2 calls"), "{refused}");
    assert_eq!(spent.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn the_end_of_input_closes_streams_with_an_answer() {
    let server = server().tool("t", |_: NoArguments| async { "called" });
    let mut end = server.open();
    let filter = json!({ "notifications": { "toolsListChanged": true } });
    end.send(modern(5, "subscriptions/listen", filter).to_string().into_bytes());
    let all = rest(end).await;
    assert_eq!(all[0]["method"], "notifications/subscriptions/acknowledged");
    let answers: Vec<&Value> = all.iter().filter(|message| message["id"] == 5).collect();
    assert!(
        matches!(answers[..], [answer] if answer["result"].is_object()),
        "{all:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn what_does_not_finish_within_the_grace_is_answered_with_an_error() {
    let server = server().tool("t", |_: NoArguments| async {
        std::future::pending::<()>().await;
        "never"
    });
    let mut end = server.open();
    end.send(call(json!({})).to_string().into_bytes());
    let all = rest(end).await;
    assert_eq!(all.len(), 1, "{all:?}");
    assert_eq!((&all[0]["id"], &all[0]["error"]["code"]), (&json!(1), &json!(-32603)));
    assert!(all[0]["error"]["message"].as_str().unwrap().contains("shutting down"));
}

#[tokio::test]
async fn the_id_of_a_visit_is_new_for_each_request_and_the_same_for_its_attempts() {
    let server = server().tool("t", |_: NoArguments, context: Context| async move {
        for _ in 0..2 {
            context.elicit_url("Sign in", "https://example.com/").await?;
        }
        Ok::<_, ToolError>("visited".to_owned())
    });
    let mut peer = shaken(&server, Revision::LATEST_LEGACY).await;
    let mut ids = std::collections::BTreeSet::new();
    for _ in 0..2 {
        peer.send(legacy_call()).await;
        for _ in 0..2 {
            let question = say_yes(&mut peer).await;
            ids.insert(question["params"]["elicitationId"].as_str().unwrap().to_owned());
        }
        let answer = peer.receive().await;
        assert_eq!(text(&answer), "visited", "an answer serves the next attempt: {answer}");
    }
    assert_eq!(ids.len(), 4, "{ids:?}");
}

#[tokio::test]
async fn a_form_made_by_hand_must_be_one_of_the_revision() {
    let server = server().tool("t", |_: NoArguments, context: Context| async move {
        let nested = json!({ "type": "object", "properties": { "inner": { "type": "object" } } });
        let nested = context.elicit_form::<Value>("Nested?", nested).await.unwrap_err();
        let many = json!({ "type": "object", "properties": { "confirm": { "type": "boolean" },
            "sizes": { "type": "array", "items": { "type": "string", "enum": ["s", "l"] } } } });
        match context.elicit_form::<Value>("Which?", many).await {
            Ok(_) => Ok::<_, ToolError>(format!("{nested}; asked")),
            Err(error) => Ok(format!("{nested}; {error}")),
        }
    });
    let mut peer = RawPeer::of(&server);
    let answer = peer.request(call(json!({}))).await;
    let answer = peer.request(call(yes(&answer))).await;
    assert!(
        text(&answer).contains("`inner`") && text(&answer).ends_with("; asked"),
        "{answer}"
    );

    let revisions = || Revision::ALL.into_iter().map(Revision::profile);
    let older = revisions().find(|profile| profile.elicitation == ElicitationForms::Form);
    let mut peer = shaken(&server, older.unwrap().revision).await;
    let answer = peer.request(legacy_call()).await;
    assert!(
        text(&answer).contains("`inner`") && text(&answer).contains("`sizes`"),
        "{answer}"
    );
}

#[tokio::test]
async fn a_question_is_withdrawn_when_its_call_is_cancelled() {
    let server = server().tool("t", spends(&Arc::default()));
    let mut peer = shaken(&server, Revision::LATEST_LEGACY).await;
    peer.send(legacy_call()).await;
    let question = peer.receive().await;
    assert_eq!(question["method"], "elicitation/create");
    peer.send(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } }))
        .await;
    let withdrawn = peer.receive().await;
    assert_eq!(withdrawn["method"], "notifications/cancelled");
    assert_eq!(withdrawn["params"]["requestId"], question["id"]);
}
