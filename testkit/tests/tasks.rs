//! Tasks in the states of both connections, and the one promise that every store of tasks gives.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;
use trunkline::proto::client::{Answer, Config, Event, Opening, RequestError, RequestOptions};
use trunkline::proto::server::{self, Change};
use trunkline::types::{
    ErrorObject, Extension, Extra, ListCapability, Method, RequestId, ResourcesCapability, Revision,
    ServerCapabilities, Task, TaskState,
};
use trunkline::{InMemoryTasks, TaskStore, TaskStoreError};
use trunkline_testkit::Pair;

/// A connected pair whose sides declare the extension or do not.
fn pair(revision: Revision, client: bool, server: bool) -> Pair {
    let mut config = Config::new("client", "1");
    config.opening = Opening::Fixed(revision);
    let mut offered = server::Config::new("server", "1");
    offered.capabilities = ServerCapabilities {
        tools: Some(ListCapability::default()),
        prompts: Some(ListCapability::default()),
        resources: Some(ResourcesCapability::default()),
        ..ServerCapabilities::default()
    };
    if client {
        config.capabilities.add_extension(Extension::Tasks);
    }
    if server {
        offered.capabilities.add_extension(Extension::Tasks);
    }
    let mut pair = Pair::with_configs(config, offered);
    pair.run();
    assert!(pair.client.agreement().is_some());
    pair.events.clear();
    pair.sent.clear();
    pair
}

fn task(id: &str, state: TaskState) -> Task {
    Task {
        task_id: id.to_owned(),
        state,
        status_message: None,
        created_at: "2026-11-30T09:05:00Z".to_owned(),
        last_updated_at: "2026-11-30T09:05:00Z".to_owned(),
        ttl_ms: Some(60_000),
        poll_interval_ms: None,
        meta: Extra::new(),
        extra: Extra::new(),
    }
}

fn created() -> serde_json::Value {
    json!({ "resultType": "task", "taskId": "t", "status": "working", "createdAt": "a", "lastUpdatedAt": "b", "ttlMs": null })
}

#[test]
fn methods_of_an_extension_need_both_sides() {
    for (client, server) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut pair = pair(Revision::LATEST, client, server);
        let sent = pair
            .client
            .request(pair.now, Method::GetTask, &Extra::new(), &RequestOptions::default());
        match (client && server, sent) {
            (true, Ok(_)) => {}
            (false, Err(RequestError::NoExtension { extension, .. })) => assert_eq!(extension, Extension::Tasks),
            (both, other) => panic!("{both}: {other:?}"),
        }
        // What a client sends all the same is refused by what it did not do, or the server.
        let meta = json!({ "io.modelcontextprotocol/protocolVersion": Revision::LATEST.name(),
            "io.modelcontextprotocol/clientCapabilities": { "extensions": if client { json!({ "io.modelcontextprotocol/tasks": {} }) } else { json!({}) } } });
        pair.sent.clear();
        pair.inject(
            &json!({ "jsonrpc": "2.0", "id": 77, "method": "tasks/get", "params": { "taskId": "t", "_meta": meta } })
                .to_string(),
        );
        match (client, server) {
            (true, true) => assert_eq!(pair.accepted, [(RequestId::from(77), Method::GetTask)]),
            (false, true) => assert!(pair.sent[0].1.contains("-32021"), "{:?}", pair.sent),
            (_, false) => assert!(pair.sent[0].1.contains("-32601"), "{:?}", pair.sent),
        }
    }
}

#[test]
fn legacy_revisions_never_hear_of_the_extension() {
    for revision in Revision::ALL
        .into_iter()
        .filter(|revision| !revision.profile().tasks_extension)
    {
        let mut config = Config::new("client", "1");
        config.opening = Opening::Fixed(revision);
        config.capabilities.add_extension(Extension::Tasks);
        let mut offered = server::Config::new("server", "1");
        offered.capabilities.add_extension(Extension::Tasks);
        let mut pair = Pair::with_configs(config, offered);
        pair.run();
        assert!(pair.client.agreement().is_some());
        assert!(
            pair.sent
                .iter()
                .all(|(_, message)| !message.contains("modelcontextprotocol/tasks"))
        );
        pair.server
            .publish(&Change::Task(Arc::new(task("t", TaskState::Working))));
        pair.run();
        assert!(
            pair.sent
                .iter()
                .all(|(_, message)| !message.contains("notifications/tasks"))
        );
    }
}

#[test]
fn only_a_call_of_a_tool_becomes_a_task() {
    for (method, params, fits) in [
        (Method::CallTool, json!({ "name": "t" }), true),
        (Method::GetPrompt, json!({ "name": "t" }), false),
        (Method::ReadResource, json!({ "uri": "a:b" }), false),
    ] {
        for declared in [true, false] {
            let mut pair = pair(Revision::LATEST, declared, true);
            let id = pair.request(method, params.clone());
            pair.run();
            pair.finish_first(created());
            pair.run();
            let answers = pair.answers(&id);
            match answers.as_slice() {
                [Answer::Task(task)] => assert!(fits && declared && task.task_id == "t", "{method}"),
                [Answer::Invalid(_)] => assert!(!(fits && declared), "{method}"),
                other => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn a_task_that_a_given_up_call_became_is_told_of() {
    let mut pair = pair(Revision::LATEST, true, true);
    let id = pair.request(Method::CallTool, json!({ "name": "t" }));
    pair.run();
    // The answer and the cancellation cross each other.
    pair.finish_first(created());
    pair.client.cancel(&id, "enough");
    pair.run();
    assert!(pair.answers(&id).is_empty());
    let left = pair
        .events
        .iter()
        .filter(|event| matches!(event, Event::TaskLeft { task_id } if task_id == "t"));
    assert_eq!(left.count(), 1);
}

#[test]
fn a_task_of_an_unknown_form_is_an_invalid_answer() {
    let mut pair = pair(Revision::LATEST, true, true);
    let id = pair.request(Method::CallTool, json!({ "name": "t" }));
    pair.run();
    pair.finish_first(json!({ "resultType": "task", "task": created() }));
    pair.run();
    assert!(matches!(pair.answers(&id).as_slice(), [Answer::Invalid(_)]));
}

#[test]
fn a_stream_tells_of_its_tasks_and_of_no_other() {
    let mut pair = pair(Revision::LATEST, true, true);
    let stream = pair.request(Method::Listen, json!({ "notifications": { "taskIds": ["a", "b"] } }));
    pair.run();
    assert!(matches!(pair.events.as_slice(), [Event::Listening { filter, .. }] if filter.task_ids.is_some()));
    assert!(pair.server.watched_tasks().into_iter().eq(["a", "b"]));
    pair.events.clear();
    for id in ["a", "c"] {
        pair.server
            .publish(&Change::Task(Arc::new(task(id, TaskState::Cancelled))));
    }
    pair.server.publish_all();
    pair.run();
    let [
        Event::Notice {
            method: Method::TaskNotice,
            params,
            subscription,
        },
    ] = pair.events.as_slice()
    else {
        panic!("{:?}", pair.events)
    };
    assert_eq!((&params["taskId"], subscription), (&json!("a"), &Some(stream.clone())));
    pair.client.cancel(&stream, "enough");
    pair.run();
    assert!(pair.server.watched_tasks().is_empty());
}

#[test]
fn as_many_tasks_are_watched_as_addresses_and_not_one_more() {
    let ids = |count: usize| -> Vec<String> { (0..count).map(|n| n.to_string()).collect() };
    for (tasks, addresses, fits) in [(1024, 0, true), (1000, 24, true), (1025, 0, false), (1000, 25, false)] {
        let mut pair = pair(Revision::LATEST, true, true);
        let filter = json!({ "taskIds": ids(tasks), "resourceSubscriptions": ids(addresses) });
        let id = pair.request(Method::Listen, json!({ "notifications": filter }));
        pair.run();
        match pair.answers(&id).as_slice() {
            [] => assert!(fits, "{tasks} and {addresses}"),
            [Answer::Refused(error)] => assert!(!fits && error.code == -32602),
            other => panic!("{other:?}"),
        }
    }
    for (length, fits) in [(server::MAX_ADDRESS, true), (server::MAX_ADDRESS + 1, false)] {
        let mut pair = pair(Revision::LATEST, true, true);
        let id = pair.request(
            Method::Listen,
            json!({ "notifications": { "taskIds": ["x".repeat(length)] } }),
        );
        pair.run();
        assert_eq!(pair.answers(&id).is_empty(), fits, "{length}");
    }
}

fn state() -> impl Strategy<Value = TaskState> {
    prop_oneof![
        Just(TaskState::Working),
        any::<u8>().prop_map(|n| TaskState::InputRequired(Extra::from_iter([(n.to_string(), json!({}))]))),
        any::<u8>().prop_map(|n| TaskState::Completed(Extra::from_iter([("n".to_owned(), json!(n))]))),
        any::<u8>().prop_map(|n| TaskState::Failed(ErrorObject::internal(n.to_string()))),
        Just(TaskState::Cancelled),
    ]
}

proptest! {
    /// Whatever is written, by whomever and in whatever order: the first terminal state of a task is its last.
    #[test]
    fn a_terminal_task_never_changes(
        writes in proptest::collection::vec((0..3_usize, 0..2_usize, state()), 0..60),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let store = InMemoryTasks::new();
            let (ids, principals) = (["a", "b", "c"], ["ann", "bob"]);
            let owner = |id: usize| principals[id % 2];
            let mut kept = Vec::new();
            for (n, id) in ids.iter().enumerate() {
                kept.push(store.create(owner(n), task(id, TaskState::Working)).await.unwrap().state);
            }
            for (id, principal, state) in writes {
                let written = store.update(principals[principal], task(ids[id], state.clone())).await;
                let expected = if principals[principal] != owner(id) {
                    Err(TaskStoreError::Unknown)
                } else if kept[id].is_terminal() {
                    Err(TaskStoreError::Ended)
                } else {
                    kept[id] = state;
                    Ok(())
                };
                prop_assert_eq!(written, expected);
                for (n, state) in kept.iter().enumerate() {
                    let found = store.get(owner(n), ids[n]).await.unwrap();
                    prop_assert_eq!(&found.state, state);
                }
            }
            Ok(())
        })?;
    }
}
