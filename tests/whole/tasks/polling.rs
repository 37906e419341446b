//! How a client follows a task at a server that does as it likes.

use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use trunkline::types::{ClientCapabilities, ElicitParams, ElicitResult, ErrorObject};
use trunkline::{CallError, Called, Client, Inputs, MAX_POLL, MIN_POLL, TaskFailure};
use trunkline_testkit::RawPeer;

use super::{S, TASKS};

/// The server's end, after `server/discover`.
struct Script(RawPeer);

impl Script {
    /// The next request, which must be of this method.
    async fn expect(&mut self, method: &str) -> Value {
        let request = self.0.receive().await;
        assert_eq!(request["method"], method, "{request}");
        request
    }

    async fn answer(&mut self, request: &Value, mut result: Value) {
        if result.get("resultType").is_none() {
            result["resultType"] = json!("complete");
        }
        self.0
            .send(json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }))
            .await;
    }

    async fn refuse(&mut self, request: &Value, code: i64) {
        let error = json!({ "code": code, "message": "no" });
        self.0
            .send(json!({ "jsonrpc": "2.0", "id": request["id"], "error": error }))
            .await;
    }

    /// Takes the call and makes a task of it.
    async fn create(&mut self, more: Value) {
        let call = self.expect("tools/call").await;
        let declared = &call["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
        assert_eq!(declared["extensions"], json!({ TASKS: {} }));
        let mut created = task("working", more);
        created["resultType"] = json!("task");
        self.answer(&call, created).await;
    }

    /// Answers the next poll.
    async fn poll(&mut self, task: Value) {
        let request = self.expect("tasks/get").await;
        assert_eq!(request["params"]["taskId"], "t");
        self.answer(&request, task).await;
    }
}

fn task(status: &str, more: Value) -> Value {
    let mut task =
        json!({ "taskId": "t", "status": status, "createdAt": "now", "lastUpdatedAt": "now", "ttlMs": null });
    for (field, value) in more.as_object().unwrap() {
        task[field] = value.clone();
    }
    task
}

fn done() -> Value {
    task(
        "completed",
        json!({ "result": { "content": [{ "type": "text", "text": "done" }] } }),
    )
}

/// A person who says yes.
struct Yes;

impl Inputs for Yes {
    fn capabilities(&self) -> ClientCapabilities {
        serde_json::from_value(json!({ "elicitation": {} })).unwrap()
    }

    async fn elicit(&self, _: ElicitParams) -> Result<ElicitResult, ErrorObject> {
        Ok(ElicitResult::accept(
            json!({ "yes": true }).as_object().cloned().unwrap(),
        ))
    }
}

/// A client that has called a tool, and the server's end.
async fn called() -> (JoinHandle<Result<Called, CallError>>, Script) {
    let (here, there) = trunkline::transport::memory();
    let mut script = Script(RawPeer::on(there).patient(S * 600));
    let calling = tokio::spawn(async move {
        let client = Client::over(here).inputs(Yes).connect().await.unwrap();
        client.call("t", &json!({})).await
    });
    let discover = script.expect("server/discover").await;
    let declared = json!({ "tools": {}, "extensions": { TASKS: {} } });
    let server =
        json!({ "supportedVersions": ["2026-07-28"], "capabilities": declared, "ttlMs": 0, "cacheScope": "private" });
    script.answer(&discover, server).await;
    (calling, script)
}

#[tokio::test(start_paused = true)]
async fn the_server_says_how_often_within_bounds() {
    let (calling, mut script) = called().await;
    script.create(json!({ "pollIntervalMs": 5000 })).await;
    let mut at = Instant::now();
    // Each poll is as far away as the answer before it said.
    for (says, waited) in [
        (json!({ "pollIntervalMs": 100 }), 5 * S),
        (json!({ "pollIntervalMs": 99 }), MIN_POLL),
        (json!({ "pollIntervalMs": 0 }), MIN_POLL),
        (json!({ "pollIntervalMs": 60_000 }), MIN_POLL),
        (json!({ "pollIntervalMs": 60_001 }), MAX_POLL),
        (json!({ "pollIntervalMs": u64::MAX }), MAX_POLL),
        (json!({}), MAX_POLL),
    ] {
        script.poll(task("working", says)).await;
        assert_eq!(at.elapsed().as_millis(), waited.as_millis());
        at = Instant::now();
    }
    script.poll(done()).await;
    assert_eq!(at.elapsed(), S, "a second where nothing is said");
    assert_eq!(calling.await.unwrap().unwrap().text(), "done");
}

#[tokio::test(start_paused = true)]
async fn failures_of_polls_pass_and_three_in_a_row_do_not() {
    let (calling, mut script) = called().await;
    script.create(json!({})).await;
    for _ in 0..2 {
        for _ in 0..2 {
            let request = script.expect("tasks/get").await;
            script.refuse(&request, -32603).await;
        }
        script.poll(task("working", json!({}))).await;
    }
    script.poll(done()).await;
    assert!(calling.await.unwrap().is_ok());
    let (calling, mut script) = called().await;
    script.create(json!({})).await;
    for _ in 0..3 {
        let request = script.expect("tasks/get").await;
        script.refuse(&request, -32603).await;
    }
    let error = calling.await.unwrap().unwrap_err();
    assert!(
        matches!(&error, CallError::Task(error) if matches!(error.why, TaskFailure::Unreachable(_))),
        "{error:?}"
    );
    // A server that does not know the task will not know it later.
    let (calling, mut script) = called().await;
    script.create(json!({})).await;
    let request = script.expect("tasks/get").await;
    script.refuse(&request, -32602).await;
    let error = calling.await.unwrap().unwrap_err();
    assert!(error.may_have_run(), "{error:?}");
}

fn asking(keys: &[&str]) -> Value {
    let form = json!({ "method": "elicitation/create", "params": { "message": "?", "requestedSchema":
        { "type": "object", "properties": { "yes": { "type": "boolean" } } } } });
    let questions: serde_json::Map<String, Value> = keys.iter().map(|key| ((*key).to_owned(), form.clone())).collect();
    task("input_required", json!({ "inputRequests": questions }))
}

#[tokio::test(start_paused = true)]
async fn a_question_is_answered_once_however_often_it_is_shown() {
    let (calling, mut script) = called().await;
    script.create(json!({})).await;
    script.poll(asking(&["a", "b"])).await;
    let update = script.expect("tasks/update").await;
    let answers = update["params"]["inputResponses"].as_object().unwrap();
    assert_eq!(answers.keys().collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(answers["a"], json!({ "action": "accept", "content": { "yes": true } }));
    script.answer(&update, json!({})).await;
    // The answers are on their way there: what is shown again is not answered again.
    script.poll(asking(&["a", "b"])).await;
    script.poll(asking(&["b", "c"])).await;
    let update = script.expect("tasks/update").await;
    let answers = update["params"]["inputResponses"].as_object().unwrap();
    assert_eq!(answers.keys().collect::<Vec<_>>(), ["c"]);
    script.answer(&update, json!({})).await;
    script.poll(done()).await;
    assert_eq!(calling.await.unwrap().unwrap().text(), "done");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_asks_without_end_is_left() {
    let (calling, mut script) = called().await;
    script.create(json!({})).await;
    for round in 0..trunkline::MAX_ROUNDS {
        script.poll(asking(&[&format!("k{round}")])).await;
        let update = script.expect("tasks/update").await;
        script.answer(&update, json!({})).await;
    }
    script.poll(asking(&["one more"])).await;
    let cancel = script.expect("tasks/cancel").await;
    assert_eq!(cancel["params"]["taskId"], "t");
    assert_eq!(calling.await.unwrap().unwrap_err(), CallError::TooManyRounds);
}

#[tokio::test(start_paused = true)]
async fn a_status_of_a_later_revision_is_no_end() {
    let (calling, mut script) = called().await;
    script.create(json!({ "later": true })).await;
    script.poll(task("paused", json!({ "until": "later" }))).await;
    script.poll(done()).await;
    assert!(calling.await.unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_task_without_what_its_status_needs_is_no_answer() {
    for broken in [
        task("completed", json!({})),
        task("failed", json!({})),
        json!({ "taskId": "t" }),
    ] {
        let (calling, mut script) = called().await;
        script.create(json!({})).await;
        script.poll(broken).await;
        let error = calling.await.unwrap().unwrap_err();
        assert!(error.may_have_run(), "{error:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_connection_leaves_the_outcome_open() {
    let (calling, mut script) = called().await;
    script.create(json!({})).await;
    script.poll(task("working", json!({}))).await;
    drop(script);
    let error = calling.await.unwrap().unwrap_err();
    let CallError::Task(task) = &error else {
        panic!("{error:?}")
    };
    assert_eq!(task.id, "t", "whoever wants to can ask for it again");
    assert!(matches!(task.why, TaskFailure::Unreachable(_)) && error.may_have_run());
}

#[tokio::test(start_paused = true)]
async fn only_a_tool_call_becomes_a_task_and_only_where_that_was_agreed() {
    let (here, there) = trunkline::transport::memory();
    let mut script = Script(RawPeer::on(there));
    let calling = tokio::spawn(async move {
        let client = Client::over(here).tasks(false).connect().await.unwrap();
        let read = client.read("a:b").await.unwrap_err();
        (read, client.call("t", &json!({})).await.unwrap_err())
    });
    let discover = script.expect("server/discover").await;
    let declared = &discover["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
    assert!(declared.get("extensions").is_none());
    let capabilities = json!({ "tools": {}, "resources": {}, "extensions": { TASKS: {} } });
    let server = json!({ "supportedVersions": ["2026-07-28"], "capabilities": capabilities, "ttlMs": 0, "cacheScope": "private" });
    script.answer(&discover, server).await;
    for method in ["resources/read", "tools/call"] {
        let request = script.expect(method).await;
        let mut created = task("working", json!({}));
        created["resultType"] = json!("task");
        script.answer(&request, created).await;
    }
    let (read, call) = calling.await.unwrap();
    assert!(matches!(read, CallError::Invalid(_)) && matches!(call, CallError::Invalid(_)));
}
