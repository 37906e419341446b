//! Who gets tasks, and who does not.

use serde_json::{Value, json};
use trunkline::types::Revision;
use trunkline::{DefinitionError, InMemoryTasks, NoArguments, Server, TaskSupport, Tool};
use trunkline_testkit::{LineClient, MODERN, RawPeer};

use super::{TASKS, assert_acknowledged, capabilities, code_of, connect, server, start};

#[tokio::test(start_paused = true)]
async fn the_extension_is_declared_by_a_server_that_keeps_tasks() {
    let mut client = connect(&server()).await;
    let discovered = client.request("server/discover", json!({})).await;
    let declared = &discovered["result"]["capabilities"];
    assert_eq!(declared["extensions"], json!({ TASKS: {} }));
    assert!(declared.get("tasks").is_none());
    let plain = Server::new("plain", "1").tool("t", |_: NoArguments| async { "t" });
    let mut client = LineClient::connect(&plain, MODERN, capabilities()).await;
    let discovered = client.request("server/discover", json!({})).await;
    assert!(discovered["result"]["capabilities"].get("extensions").is_none());
    // What a server does not declare it does not have.
    let reply = client.request("tasks/get", json!({ "taskId": "t" })).await;
    assert_eq!(code_of(&reply), -32601);
}

#[tokio::test(start_paused = true)]
async fn a_legacy_client_sees_nothing_of_it() {
    for revision in Revision::ALL
        .into_iter()
        .filter(|revision| !revision.profile().tasks_extension)
    {
        let mut peer = RawPeer::of(&server());
        let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": revision.name(), "capabilities": capabilities(),
            "clientInfo": { "name": "c", "version": "1" } } });
        let welcome = peer.request(hello).await;
        let declared = &welcome["result"]["capabilities"];
        assert!(
            declared.get("extensions").is_none() && declared.get("tasks").is_none(),
            "{welcome}"
        );
        let call = |tool: &str, arguments: Value| json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": tool, "arguments": arguments } });
        let inline = peer.request(call("slow_compute", json!({ "seconds": 2 }))).await;
        assert_eq!(inline["result"]["content"][0]["text"], "computed for 2 s");
        assert!(inline["result"].get("taskId").is_none());
        assert_eq!(code_of(&peer.request(call("failing_job", json!({}))).await), -32601);
        for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
            let params = json!({ "taskId": "t", "inputResponses": {} });
            let reply = peer
                .request(json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }))
                .await;
            assert_eq!(code_of(&reply), -32601, "{revision} {method}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_declare_it_gets_ordinary_calls() {
    let server = server();
    let mut client = LineClient::connect(&server, MODERN, json!({ "elicitation": {} })).await;
    let result = client.call("slow_compute", json!({ "seconds": 0 })).await;
    assert_eq!(result["resultType"], "complete");
    assert!(result.get("taskId").is_none() && result.get("task").is_none());
    // It is asked as for any other tool.
    let asked = client.call("confirm_delete", json!({ "filename": "a" })).await;
    assert_eq!(asked["resultType"], "input_required");
    let cases = [
        ("tasks/get", json!({ "taskId": "t" })),
        ("tasks/update", json!({ "taskId": "t", "inputResponses": {} })),
        ("tasks/cancel", json!({ "taskId": "t" })),
        ("subscriptions/listen", json!({ "notifications": { "taskIds": ["t"] } })),
        ("tools/call", json!({ "name": "failing_job", "arguments": {} })),
        ("tools/call", json!({ "name": "ask_and_go", "arguments": {} })),
    ];
    for (method, params) in cases {
        let reply = client.request(method, params).await;
        assert_eq!(code_of(&reply), -32021, "{method}");
        let required = &reply["error"]["data"]["requiredCapabilities"]["extensions"];
        assert_eq!(*required, json!({ TASKS: {} }), "{method}");
    }
    // One request that declares it gets a task, whatever the others say.
    let mut other = connect(&server).await;
    start(&mut other, "slow_compute", json!({ "seconds": 1 })).await;
}

#[tokio::test(start_paused = true)]
async fn the_server_alone_decides_and_the_legacy_wish_is_ignored() {
    let mut client = connect(&server()).await;
    let params =
        json!({ "name": "greet", "arguments": { "name": "W" }, "task": { "ttl": 60_000, "pollInterval": 100 } });
    let reply = client.request("tools/call", params).await;
    assert_eq!(reply["result"]["content"][0]["text"], "Hello, W!");
    assert_eq!(reply["result"]["resultType"], "complete");
    assert!(reply["result"].get("taskId").is_none());
    for method in ["tasks/result", "tasks/list"] {
        let reply = client.request(method, json!({ "taskId": "t" })).await;
        assert_eq!(code_of(&reply), -32601, "{method} is of the legacy form");
    }
}

#[tokio::test(start_paused = true)]
async fn bad_arguments_make_no_task() {
    let mut client = connect(&server()).await;
    let result = client.call("slow_compute", json!({ "seconds": "many" })).await;
    assert_eq!(result["isError"], true);
    assert_eq!(result["resultType"], "complete");
    let reply = client.request("tasks/get", json!({ "taskId": 7 })).await;
    assert_eq!(code_of(&reply), -32602);
    let reply = client.request("tasks/update", json!({ "taskId": "t" })).await;
    assert_eq!(code_of(&reply), -32602, "the answers are missing");
}

#[test]
fn a_tool_that_runs_as_a_task_only_needs_a_store() {
    let tool = || Tool::new(|_: NoArguments| async { "t" }).task(TaskSupport::required());
    let without = Server::new("s", "1").tool("t", tool());
    let error = without.check().unwrap_err();
    assert!(matches!(&error, DefinitionError::Unusable { name, .. } if name == "t"));
    assert!(error.to_string().contains(".tasks("), "{error}");
    assert!(without.tasks(InMemoryTasks::new()).check().is_ok());
    let twice = Server::new("s", "1")
        .tasks(InMemoryTasks::new())
        .tasks(InMemoryTasks::new());
    assert!(matches!(twice.check(), Err(DefinitionError::Duplicate { .. })));
}

#[tokio::test(start_paused = true)]
async fn a_tool_without_a_store_runs_inline() {
    let tool = Tool::new(|_: NoArguments| async { "t" }).task(TaskSupport::optional());
    let server = Server::new("s", "1").tool("t", tool);
    let mut client = connect(&server).await;
    assert_eq!(client.call("t", json!({})).await["resultType"], "complete");
    // Added while serving, it is refused when it is called.
    let only = Tool::new(|_: NoArguments| async { "t" }).task(TaskSupport::required());
    server.add_tool("only", only).unwrap();
    let reply = client.request("tools/call", json!({ "name": "only" })).await;
    assert_eq!(code_of(&reply), -32603);
}

#[tokio::test(start_paused = true)]
async fn an_acknowledgement_carries_nothing() {
    let mut client = connect(&server()).await;
    let id = super::start_id(&mut client, "slow_compute", json!({ "seconds": 60 })).await;
    let reply = client
        .request("tasks/update", json!({ "taskId": id, "inputResponses": { "k": 1 } }))
        .await;
    assert_acknowledged(&reply);
    assert_acknowledged(&client.request("tasks/cancel", json!({ "taskId": id })).await);
}
