//! What becomes of a task.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tokio::sync::Notify;
use tokio::time::sleep;
use trunkline::{InMemoryTasks, NoArguments, Server, TaskSupport, Tool};
use trunkline_testkit::{LineClient, MODERN};

use super::{
    Alive, S, accept, cancel, code_of, connect, get, keys, server, server_with, start, start_id, until, update,
};

#[tokio::test(start_paused = true)]
async fn a_call_becomes_a_task_works_and_ends_with_the_result_of_the_call() {
    let server = server();
    let mut client = connect(&server).await;
    let created = start(&mut client, "slow_compute", json!({ "seconds": 2 })).await;
    let members: Vec<&str> = created.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = [
        "resultType",
        "taskId",
        "status",
        "createdAt",
        "lastUpdatedAt",
        "ttlMs",
        "pollIntervalMs",
        "_meta",
    ];
    assert_eq!(members, expected, "flat, and nothing of what comes later");
    assert_eq!(
        (&created["ttlMs"], &created["pollIntervalMs"]),
        (&json!(3_600_000), &json!(1000))
    );
    let id = created["taskId"].as_str().unwrap();
    assert_eq!(id.len(), 32);
    // Without any wait in between: it is known before its id is told.
    let working = get(&mut client, id).await;
    assert_eq!(
        (&working["status"], &working["taskId"]),
        (&json!("working"), &json!(id))
    );
    assert!(working.get("result").is_none() && working.get("error").is_none());
    let done = until(&mut client, id, "completed").await;
    assert!(done["lastUpdatedAt"].as_str() >= done["createdAt"].as_str());
    assert!(done.get("error").is_none() && done.get("statusMessage").is_none());
    let mut without = LineClient::connect(&server, MODERN, json!({})).await;
    let inline = without.call("slow_compute", json!({ "seconds": 2 })).await;
    assert_eq!(done["result"], inline, "exactly what the call would have had");
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_fails_completes_and_a_broken_one_fails() {
    let mut client = connect(&server()).await;
    let id = start_id(&mut client, "failing_job", json!({})).await;
    let done = until(&mut client, &id, "completed").await;
    assert_eq!(done["result"]["isError"], true);
    assert_eq!(done["result"]["content"][0]["text"], "it did not work");
    for (tool, code, word) in [
        ("protocol_error_job", -32050, "broken"),
        ("panic_job", -32603, "panicked"),
    ] {
        let id = start_id(&mut client, tool, json!({})).await;
        let failed = until(&mut client, &id, "failed").await;
        assert_eq!(failed["error"]["code"], code);
        assert!(failed["error"]["message"].as_str().unwrap().contains(word), "{failed}");
        assert!(failed.get("result").is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn it_says_how_it_stands_in_the_words_of_its_handler() {
    let mut client = connect(&server()).await;
    let id = start_id(&mut client, "slow_compute", json!({ "seconds": 3 })).await;
    sleep(S * 3 / 2).await;
    assert_eq!(get(&mut client, &id).await["statusMessage"], "second 1");
    sleep(S).await;
    assert_eq!(get(&mut client, &id).await["statusMessage"], "second 2");
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_task_is_cancelled_at_once_and_its_handler_dropped() {
    let alive = Alive::default();
    let server = server().tool("endless", alive.tool().task(TaskSupport::optional()));
    let mut client = connect(&server).await;
    let id = start_id(&mut client, "endless", json!({})).await;
    alive.reaches(1).await;
    cancel(&mut client, &id).await;
    let cancelled = get(&mut client, &id).await;
    assert_eq!(cancelled["status"], "cancelled");
    assert_eq!(cancelled["statusMessage"], "cancelled on request");
    alive.reaches(0).await;
    cancel(&mut client, &id).await;
    assert_eq!(get(&mut client, &id).await, cancelled, "a second time changes nothing");
}

#[tokio::test(start_paused = true)]
async fn a_task_that_waits_for_a_person_can_be_cancelled_too() {
    let mut client = connect(&server()).await;
    let id = start_id(&mut client, "confirm_delete", json!({ "filename": "a" })).await;
    let asking = until(&mut client, &id, "input_required").await;
    cancel(&mut client, &id).await;
    update(
        &mut client,
        &id,
        json!({ &keys(&asking)[0]: accept(json!({ "confirm": true })) }),
    )
    .await;
    let after = get(&mut client, &id).await;
    assert_eq!(after["status"], "cancelled");
    assert!(after.get("inputRequests").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_task_that_has_ended_is_acknowledged_and_stays_as_it_is() {
    let mut client = connect(&server()).await;
    for (tool, arguments, last) in [
        ("slow_compute", json!({ "seconds": 1 }), "completed"),
        ("protocol_error_job", json!({}), "failed"),
    ] {
        let id = start_id(&mut client, tool, arguments).await;
        let ended = until(&mut client, &id, last).await;
        cancel(&mut client, &id).await;
        update(&mut client, &id, json!({ "k": accept(json!({})) })).await;
        sleep(S * 60).await;
        assert_eq!(get(&mut client, &id).await, ended);
    }
}

/// A handler that does not stop cannot bring a cancelled task back to life.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_that_finishes_late_changes_nothing() {
    // It blocks until it may go, or until this test is over: a runtime waits for it when it is dropped.
    let (go, may_go) = std::sync::mpsc::channel::<()>();
    let may_go = Arc::new(Mutex::new(may_go));
    let (begun, finished) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (has_begun, has_finished) = (Arc::clone(&begun), Arc::clone(&finished));
    let blocking = Tool::new(move |_: NoArguments| {
        let (begun, may_go, finished) = (Arc::clone(&begun), Arc::clone(&may_go), Arc::clone(&finished));
        async move {
            begun.notify_one();
            let _ = may_go.lock().unwrap().recv();
            finished.notify_one();
            "finished after all"
        }
    });
    let server = Server::new("s", "1")
        .tasks(InMemoryTasks::new())
        .tool("blocking", blocking.task(TaskSupport::optional()));
    let mut client = connect(&server).await;
    let id = start_id(&mut client, "blocking", json!({})).await;
    has_begun.notified().await;
    cancel(&mut client, &id).await;
    go.send(()).unwrap();
    has_finished.notified().await;
    server.end_tasks().await;
    assert_eq!(get(&mut client, &id).await["status"], "cancelled");
}

#[tokio::test(start_paused = true)]
async fn a_task_goes_on_without_the_connection_it_came_over() {
    let server = server();
    let mut client = connect(&server).await;
    let id = start_id(&mut client, "slow_compute", json!({ "seconds": 2 })).await;
    drop(client);
    let mut again = connect(&server).await;
    let done = until(&mut again, &id, "completed").await;
    assert_eq!(done["result"]["content"][0]["text"], "computed for 2 s");
}

#[tokio::test(start_paused = true)]
async fn its_time_ends_it_and_what_came_of_it_is_kept_for_a_while() {
    let alive = Alive::default();
    let endless = alive
        .tool()
        .task(TaskSupport::optional().ttl(S * 30).poll_interval(S * 5));
    let server = server_with(InMemoryTasks::new().ttl(S * 100)).tool("endless", endless);
    let mut client = connect(&server).await;
    let created = start(&mut client, "endless", json!({})).await;
    assert_eq!(
        (&created["ttlMs"], &created["pollIntervalMs"]),
        (&json!(30_000), &json!(5000))
    );
    let id = created["taskId"].as_str().unwrap();
    sleep(Duration::from_millis(29_990)).await;
    assert_eq!(get(&mut client, id).await["status"], "working");
    sleep(S / 50).await;
    let failed = get(&mut client, id).await;
    assert_eq!(failed["error"]["code"], -32603, "{failed}");
    alive.reaches(0).await;
    sleep(S * 59).await;
    assert_eq!(get(&mut client, id).await, failed);
    sleep(S).await;
    let gone = client.request("tasks/get", json!({ "taskId": id })).await;
    let never = client.request("tasks/get", json!({ "taskId": "0".repeat(32) })).await;
    assert_eq!(
        gone["error"], never["error"],
        "what is over and what never was look alike"
    );
    assert_eq!(code_of(&gone), -32602);
    for (method, params) in [
        ("tasks/cancel", json!({ "taskId": id })),
        ("tasks/update", json!({ "taskId": id, "inputResponses": {} })),
    ] {
        assert_eq!(code_of(&client.request(method, params).await), -32602, "{method}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_goes_ends_its_tasks_in_order() {
    let alive = Alive::default();
    let server = server().tool("endless", alive.tool().task(TaskSupport::optional()));
    let mut client = connect(&server).await;
    let endless = start_id(&mut client, "endless", json!({})).await;
    let asking = start_id(&mut client, "confirm_delete", json!({ "filename": "a" })).await;
    until(&mut client, &asking, "input_required").await;
    alive.reaches(1).await;
    server.end_tasks().await;
    assert_eq!(alive.count(), 0);
    for id in [&endless, &asking] {
        let failed = get(&mut client, id).await;
        assert_eq!(failed["status"], "failed");
        assert!(failed["error"]["message"].as_str().unwrap().contains("shutting down"));
    }
    let reply = client.request("tools/call", json!({ "name": "endless" })).await;
    assert_eq!(code_of(&reply), -32603, "no more are started");
}

#[tokio::test(start_paused = true)]
async fn dropping_the_server_frees_its_tasks() {
    let alive = Alive::default();
    let server = server().tool("endless", alive.tool().task(TaskSupport::optional()));
    let clone = server.clone();
    let mut client = connect(&server).await;
    start_id(&mut client, "endless", json!({})).await;
    alive.reaches(1).await;
    drop((client, server));
    tokio::task::yield_now().await;
    assert_eq!(alive.count(), 1, "a clone is left");
    drop(clone);
    alive.reaches(0).await;
}
