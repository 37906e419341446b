//! Tasks that ask.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};
use trunkline::{Context, InMemoryTasks, NoArguments, Server, TaskSupport, Tool, ToolError};

use super::{Confirm, Turns, accept, code_of, connect, get, keys, server, start, start_id, until, update};

#[tokio::test(start_paused = true)]
async fn a_question_waits_in_the_task_and_its_answer_restarts_the_handler() {
    let mut client = connect(&server()).await;
    let id = start_id(&mut client, "confirm_delete", json!({ "filename": "a.txt" })).await;
    let asking = until(&mut client, &id, "input_required").await;
    let [key] = keys(&asking).try_into().unwrap();
    let question = &asking["inputRequests"][&key];
    assert_eq!(question["method"], "elicitation/create");
    assert_eq!(question["params"]["message"], "Delete a.txt?");
    assert!(asking.get("requestState").is_none());
    assert_eq!(get(&mut client, &id).await, asking, "it is shown as long as it is open");
    update(&mut client, &id, json!({ &key: accept(json!({ "confirm": true })) })).await;
    let done = until(&mut client, &id, "completed").await;
    assert_eq!(done["result"]["content"][0]["text"], "deleted a.txt");
    assert!(done.get("inputRequests").is_none());
}

#[tokio::test(start_paused = true)]
async fn answers_may_come_one_by_one() {
    let mut client = connect(&server()).await;
    let id = start_id(&mut client, "multi_input", json!({})).await;
    let asking = until(&mut client, &id, "input_required").await;
    let [name, sure] = keys(&asking).try_into().unwrap();
    update(&mut client, &id, json!({ &name: accept(json!({ "name": "Ann" })) })).await;
    let left = get(&mut client, &id).await;
    assert_eq!(
        (left["status"].as_str(), keys(&left)),
        (Some("input_required"), vec![sure.clone()])
    );
    // What was answered is answered, and what was never asked is no answer.
    let late = json!({ &name: accept(json!({ "name": "Bob" })), "9-other": accept(json!({})) });
    update(&mut client, &id, late).await;
    assert_eq!(get(&mut client, &id).await, left);
    update(&mut client, &id, json!({ &sure: accept(json!({ "confirm": false })) })).await;
    let done = until(&mut client, &id, "completed").await;
    assert_eq!(done["result"]["content"][0]["text"], "Ann: false");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_does_not_fit_and_a_no_reach_the_handler() {
    let mut client = connect(&server()).await;
    for (answer, text, failed) in [
        (json!({ "action": "decline" }), "nothing was deleted", json!(null)),
        (json!({ "action": "cancel" }), "nothing was deleted", json!(null)),
        (accept(json!({ "confirm": "maybe" })), "does not fit", json!(true)),
    ] {
        let id = start_id(&mut client, "confirm_delete", json!({ "filename": "a" })).await;
        let asking = until(&mut client, &id, "input_required").await;
        update(&mut client, &id, json!({ &keys(&asking)[0]: answer })).await;
        let done = until(&mut client, &id, "completed").await;
        assert!(
            done["result"]["content"][0]["text"].as_str().unwrap().contains(text),
            "{done}"
        );
        assert_eq!(done["result"]["isError"], failed);
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_an_object() {
    let mut client = connect(&server()).await;
    let id = start_id(&mut client, "multi_input", json!({})).await;
    let asking = until(&mut client, &id, "input_required").await;
    let [name, sure] = keys(&asking).try_into().unwrap();
    for answer in [json!(7), json!(null), json!([])] {
        let answers = json!({ &name: answer, &sure: accept(json!({ "confirm": true })) });
        let params = json!({ "taskId": id, "inputResponses": answers });
        assert_eq!(code_of(&client.request("tasks/update", params).await), -32602);
    }
    assert_eq!(keys(&get(&mut client, &id).await), [name, sure], "all or nothing");
}

/// A name is the key of the first question that has it, and of no other as long as the task lives.
#[tokio::test(start_paused = true)]
async fn a_named_question_is_known_by_its_name_once() {
    let asked = Arc::new(AtomicU32::new(0));
    let tool = Tool::new(move |_: NoArguments, context: Context| {
        let n = asked.fetch_add(1, Ordering::SeqCst).min(1);
        async move {
            let Confirm { confirm } = context.named("sure").elicit(format!("Sure of {n}?")).await?;
            Ok::<_, ToolError>(format!("{n}: {confirm}"))
        }
    });
    let server = Server::new("asking", "1")
        .tasks(InMemoryTasks::new())
        .tool("ask", tool.task(TaskSupport::optional()));
    let mut client = connect(&server).await;
    let id = start_id(&mut client, "ask", json!({})).await;
    let first = until(&mut client, &id, "input_required").await;
    assert_eq!(keys(&first), ["sure"]);
    update(&mut client, &id, json!({ "sure": accept(json!({ "confirm": true })) })).await;
    let second = until(&mut client, &id, "input_required").await;
    let [key] = keys(&second).try_into().unwrap();
    assert!(key.starts_with("sure") && key != "sure", "{key}");
    update(&mut client, &id, json!({ "sure": accept(json!({ "confirm": true })) })).await;
    assert_eq!(
        keys(&get(&mut client, &id).await),
        [key.as_str()],
        "the old key is no longer asked"
    );
    update(&mut client, &id, json!({ &key: accept(json!({ "confirm": false })) })).await;
    let done = until(&mut client, &id, "completed").await;
    assert_eq!(done["result"]["content"][0]["text"], "1: false");
}

#[tokio::test(start_paused = true)]
async fn what_the_client_cannot_be_asked_fails_the_task() {
    let capabilities = json!({ "extensions": { super::TASKS: {} } });
    let mut client = trunkline_testkit::LineClient::connect(&server(), super::MODERN, capabilities).await;
    let id = start_id(&mut client, "confirm_delete", json!({ "filename": "a" })).await;
    let failed = until(&mut client, &id, "failed").await;
    assert_eq!(failed["error"]["code"], -32021);
    assert!(failed["error"]["data"]["requiredCapabilities"]["elicitation"].is_object());
}

/// Asks as often as it is told to.
fn asking(times: u32) -> Server {
    let tool = Tool::new(move |_: NoArguments, context: Context| async move {
        for n in 1..=times {
            context.elicit::<Confirm>(format!("Question {n}?")).await?;
        }
        Ok::<_, ToolError>("no more questions")
    });
    Server::new("asking", "1")
        .tasks(InMemoryTasks::new())
        .tool("ask", tool.task(TaskSupport::optional()))
}

async fn answer_all(server: &Server) -> Value {
    let mut client = connect(server).await;
    let id = start_id(&mut client, "ask", json!({})).await;
    let mut seen = Vec::new();
    let mut turns = Turns(0);
    loop {
        let task = get(&mut client, &id).await;
        match task["status"].as_str().unwrap() {
            "input_required" => {
                let [key] = keys(&task).try_into().unwrap();
                assert!(!seen.contains(&key), "a key is used once: {key}");
                update(&mut client, &id, json!({ &key: accept(json!({ "confirm": true })) })).await;
                seen.push(key);
            }
            "working" => turns.take().await,
            _ => return task,
        }
    }
}

#[tokio::test(start_paused = true)]
async fn sixteen_rounds_are_played_and_not_one_more() {
    let done = answer_all(&asking(16)).await;
    assert_eq!(done["result"]["content"][0]["text"], "no more questions");
    let failed = answer_all(&asking(17)).await;
    assert_eq!(failed["error"]["code"], -32603, "{failed}");
}

#[tokio::test(start_paused = true)]
async fn the_answers_to_a_task_are_bounded() {
    let mut client = connect(&server()).await;
    let id = start_id(&mut client, "multi_input", json!({})).await;
    let asking = until(&mut client, &id, "input_required").await;
    let [name, sure] = keys(&asking).try_into().unwrap();
    // `{"action":"accept","content":{"name":"…"}}` has 41 bytes around the name.
    let sized = |bytes: usize| accept(json!({ "name": "x".repeat(bytes - 41) }));
    assert_eq!(sized(100).to_string().len(), 100);
    let most = 1024 * 1024;
    let too_much = json!({ "taskId": id, "inputResponses": { &name: sized(most + 1) } });
    assert_eq!(code_of(&client.request("tasks/update", too_much).await), -32602);
    assert_eq!(keys(&get(&mut client, &id).await).len(), 2, "nothing was taken");
    update(&mut client, &id, json!({ &name: sized(most) })).await;
    let one_more = json!({ "taskId": id, "inputResponses": { &sure: accept(json!({ "confirm": true })) } });
    assert_eq!(code_of(&client.request("tasks/update", one_more).await), -32602);
    assert_eq!(keys(&get(&mut client, &id).await), [sure]);
}

#[tokio::test(start_paused = true)]
async fn a_handler_asks_first_and_becomes_a_task_then() {
    let mut client = connect(&server()).await;
    let asked = client.call("ask_and_go", json!({})).await;
    assert_eq!(asked["resultType"], "input_required");
    assert!(asked.get("taskId").is_none());
    let [key] = keys(&asked).try_into().unwrap();
    let answered = |name: &str| {
        json!({ "name": "ask_and_go", "arguments": {}, "requestState": asked["requestState"],
            "inputResponses": { &key: accept(json!({ "name": name })) } })
    };
    let created = client.request("tools/call", answered("Alice")).await["result"].clone();
    assert_eq!(created["resultType"], "task", "{created}");
    assert!(created.get("requestState").is_none() && created.get("inputRequests").is_none());
    let id = created["taskId"].as_str().unwrap();
    // From here on it asks as a task, and knows what was answered before it was one.
    let asking = until(&mut client, id, "input_required").await;
    let [key] = keys(&asking).try_into().unwrap();
    assert_eq!(asking["inputRequests"][&key]["params"]["message"], "Sure, Alice?");
    update(&mut client, id, json!({ &key: accept(json!({ "confirm": true })) })).await;
    let done = until(&mut client, id, "completed").await;
    assert_eq!(
        done["result"]["content"][0]["text"],
        "Alice as a task: true, sure: true"
    );
    // The state served once, also for a task.
    assert_eq!(code_of(&client.request("tools/call", answered("Alice")).await), -32602);
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_does_not_become_a_task_has_an_ordinary_result() {
    let mut client = connect(&server()).await;
    let asked = client.call("ask_and_go", json!({})).await;
    let params = json!({ "name": "ask_and_go", "arguments": {}, "requestState": asked["requestState"],
        "inputResponses": { &keys(&asked)[0]: accept(json!({ "name": "nobody" })) } });
    let reply = client.request("tools/call", params).await;
    assert_eq!(reply["result"]["content"][0]["text"], "not worth a task");
    assert_eq!(reply["result"]["resultType"], "complete");
}

#[tokio::test(start_paused = true)]
async fn becoming_a_task_is_declined_where_there_is_none() {
    let tool = |support: Option<TaskSupport>| {
        let tool = Tool::new(|_: NoArguments, context: Context| async move {
            let both = tokio::join!(context.continue_as_task(), context.continue_as_task());
            format!("{both:?} {:?}", context.continue_as_task().await)
        });
        match support {
            Some(support) => tool.task(support),
            None => tool,
        }
    };
    let server = Server::new("s", "1")
        .tasks(InMemoryTasks::new())
        .tool("plain", tool(None))
        .tool("at_once", tool(Some(TaskSupport::optional())))
        .tool("on_demand", tool(Some(TaskSupport::optional().on_demand())));
    let mut without = trunkline_testkit::LineClient::connect(&server, super::MODERN, json!({})).await;
    for name in ["plain", "at_once", "on_demand"] {
        let result = without.call(name, json!({})).await;
        assert_eq!(
            result["content"][0]["text"], "(Ok(false), Ok(false)) Ok(false)",
            "{name}"
        );
    }
    let mut client = connect(&server).await;
    let result = client.call("plain", json!({})).await;
    assert_eq!(result["content"][0]["text"], "(Ok(false), Ok(false)) Ok(false)");
    for name in ["at_once", "on_demand"] {
        let created = start(&mut client, name, json!({})).await;
        let done = until(&mut client, created["taskId"].as_str().unwrap(), "completed").await;
        assert_eq!(
            done["result"]["content"][0]["text"], "(Ok(true), Ok(true)) Ok(true)",
            "{name}"
        );
    }
}
