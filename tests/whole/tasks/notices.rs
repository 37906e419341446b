//! Changes of tasks on streams of notices.

use serde_json::{Value, json};

use trunkline::TaskSupport;
use trunkline_testkit::LineClient;

use super::{Alive, accept, cancel, connect, keys, server, start_id, until, update};

/// Opens a stream and returns its id and what the server agreed to.
async fn listen(client: &mut LineClient, filter: Value) -> (u64, Value) {
    let id = client
        .start("subscriptions/listen", json!({ "notifications": filter }))
        .await;
    let first = client.receive().await;
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged", "{first}");
    (id, first["params"]["notifications"].clone())
}

/// The next notice, which must be one of a task on that stream.
async fn next(client: &mut LineClient, stream: u64) -> Value {
    let notice = client.receive().await;
    assert_eq!(notice["method"], "notifications/tasks", "{notice}");
    let mut task = notice["params"].clone();
    assert_eq!(task["_meta"]["io.modelcontextprotocol/subscriptionId"], stream);
    task.as_object_mut().unwrap().shift_remove("_meta");
    task
}

#[tokio::test(start_paused = true)]
async fn every_change_is_told_to_who_listens_and_the_state_before_it_first() {
    let server = server();
    let (mut client, mut ears) = (connect(&server).await, connect(&server).await);
    let id = start_id(&mut client, "confirm_delete", json!({ "filename": "a" })).await;
    let asking = until(&mut client, &id, "input_required").await;
    let (stream, agreed) = listen(&mut ears, json!({ "taskIds": [id], "toolsListChanged": true })).await;
    assert_eq!(agreed, json!({ "taskIds": [id], "toolsListChanged": true }));
    // Whatever happened before: it is told how the task stands.
    let told = next(&mut ears, stream).await;
    assert_eq!(
        (&told["status"], &told["inputRequests"]),
        (&json!("input_required"), &asking["inputRequests"])
    );
    update(
        &mut client,
        &id,
        json!({ &keys(&asking)[0]: accept(json!({ "confirm": true })) }),
    )
    .await;
    assert_eq!(next(&mut ears, stream).await["status"], "working");
    let told = next(&mut ears, stream).await;
    let mut done = until(&mut client, &id, "completed").await;
    for beside in ["resultType", "_meta"] {
        done.as_object_mut().unwrap().shift_remove(beside);
    }
    assert_eq!(told, done, "as `tasks/get` tells it");
}

#[tokio::test(start_paused = true)]
async fn messages_are_told_and_only_of_tasks_that_are_listened_to() {
    let server = server();
    let (mut client, mut ears) = (connect(&server).await, connect(&server).await);
    let quiet = start_id(&mut client, "slow_compute", json!({ "seconds": 5 })).await;
    let id = start_id(&mut client, "slow_compute", json!({ "seconds": 2 })).await;
    let (stream, _) = listen(&mut ears, json!({ "taskIds": [id] })).await;
    let mut heard = Vec::new();
    loop {
        let task = next(&mut ears, stream).await;
        assert_eq!(task["taskId"], json!(id));
        heard.push((task["status"].clone(), task["statusMessage"].clone()));
        if task["status"] == "completed" {
            break;
        }
    }
    heard.dedup();
    assert_eq!(heard.last(), Some(&(json!("completed"), json!(null))));
    assert!(heard.contains(&(json!("working"), json!("second 1"))), "{heard:?}");
    cancel(&mut client, &quiet).await;
    // The stream of the other task stays silent: the next message is the answer.
    assert!(ears.request("server/discover", json!({})).await["result"].is_object());
}

#[tokio::test(start_paused = true)]
async fn a_task_that_ended_before_is_told_once_and_an_unknown_one_never() {
    let server = server();
    let mut client = connect(&server).await;
    let id = start_id(&mut client, "protocol_error_job", json!({})).await;
    until(&mut client, &id, "failed").await;
    let (stream, _) = listen(&mut client, json!({ "taskIds": [id, "0".repeat(32)] })).await;
    let told = next(&mut client, stream).await;
    assert_eq!((&told["taskId"], &told["status"]), (&json!(id), &json!("failed")));
    assert!(client.request("server/discover", json!({})).await["result"].is_object());
}

#[tokio::test(start_paused = true)]
async fn a_second_stream_hears_of_its_own_task_alone() {
    let server = server().tool("endless", Alive::default().tool().task(TaskSupport::optional()));
    let mut client = connect(&server).await;
    let id = start_id(&mut client, "endless", json!({})).await;
    let (first, _) = listen(&mut client, json!({ "taskIds": [id] })).await;
    assert_eq!(next(&mut client, first).await["status"], "working");
    let other = start_id(&mut client, "confirm_delete", json!({ "filename": "a" })).await;
    until(&mut client, &other, "input_required").await;
    let (second, _) = listen(&mut client, json!({ "taskIds": [other] })).await;
    assert_eq!(next(&mut client, second).await["status"], "input_required");
}

/// It may have ended before the second stream began, and then nothing else would ever tell of it there.
#[tokio::test(start_paused = true)]
async fn a_task_that_one_stream_told_of_is_told_again_on_the_next() {
    let mut client = connect(&server()).await;
    let id = start_id(&mut client, "protocol_error_job", json!({})).await;
    until(&mut client, &id, "failed").await;
    let (first, _) = listen(&mut client, json!({ "taskIds": [id] })).await;
    assert_eq!(next(&mut client, first).await["status"], "failed");
    client
        .send(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": first } }))
        .await;
    let (second, _) = listen(&mut client, json!({ "taskIds": [id] })).await;
    assert_eq!(next(&mut client, second).await["status"], "failed");
}

#[tokio::test(start_paused = true)]
async fn a_server_without_tasks_agrees_to_none() {
    let server = trunkline::Server::new("plain", "1").tool("t", |_: trunkline::NoArguments| async { "t" });
    let mut client = connect(&server).await;
    let (_, agreed) = listen(&mut client, json!({ "taskIds": ["t"], "toolsListChanged": true })).await;
    assert_eq!(agreed, json!({ "toolsListChanged": true }));
}

/// More tasks than a connection may lag behind: telling of all of them at once must not make it lag again.
#[tokio::test(start_paused = true)]
async fn a_stream_about_many_tasks_hears_of_each_once_and_comes_to_rest() {
    const MANY: usize = 300;
    let server = server();
    let (mut client, mut ears) = (connect(&server).await, connect(&server).await);
    let mut ids = Vec::with_capacity(MANY);
    for _ in 0..MANY {
        ids.push(start_id(&mut client, "protocol_error_job", json!({})).await);
    }
    for id in &ids {
        until(&mut client, id, "failed").await;
    }
    let (stream, _) = listen(&mut ears, json!({ "taskIds": ids })).await;
    let mut heard = Vec::with_capacity(MANY);
    for _ in 0..MANY {
        // Where the server goes round in circles, the paused clock stands still: turns are counted instead.
        let turns = async {
            for _ in 0..500 {
                tokio::task::yield_now().await;
            }
        };
        let told = tokio::select! {
            biased;
            told = next(&mut ears, stream) => told,
            () = turns => panic!("{} of {MANY} tasks are told, and no more", heard.len()),
        };
        heard.push(told["taskId"].as_str().unwrap().to_owned());
    }
    heard.sort();
    ids.sort();
    assert_eq!(heard, ids);
    assert!(ears.request("server/discover", json!({})).await["result"].is_object());
}
