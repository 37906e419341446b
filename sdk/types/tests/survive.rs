//! What is decoded and encoded again is the same, fields and values of later revisions included.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so by a panic")]

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use trunkline_types::*;

#[track_caller]
fn survives<T: DeserializeOwned + Serialize>(value: &Value) {
    let text = value.to_string();
    let decoded: T = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let encoded = serde_json::to_value(&decoded).unwrap();
    assert_eq!(&encoded, value);
    // Through a tree of values as well as through text.
    let decoded: T = serde_json::from_value(value.clone()).unwrap();
    assert_eq!(&serde_json::to_value(&decoded).unwrap(), value);
}

/// Adds a field of a later revision to every object.
fn later(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let mut object: Extra = object
                .iter()
                .map(|(name, value)| (name.clone(), later(value)))
                .collect();
            object.insert("later".to_owned(), json!({ "deep": [1, "two", null] }));
            Value::Object(object)
        }
        Value::Array(items) => items.iter().map(later).collect(),
        other => other.clone(),
    }
}

/// The same value as it is, and with later fields in every object.
macro_rules! check {
    ($($type:ty: $value:tt),+ $(,)?) => { $({
        let value = json!($value);
        survives::<$type>(&value);
        survives::<$type>(&later(&value));
    })+ };
}

#[test]
fn params_and_results() {
    check! {
        InitializeParams: { "protocolVersion": "x", "capabilities": { "roots": { "listChanged": true }, "sampling": { "tools": {} }, "elicitation": { "form": {}, "url": {} } }, "clientInfo": { "name": "a", "version": "1", "icons": [{ "src": "data:,", "theme": "sepia" }] } },
        InitializeResult: { "protocolVersion": "x", "capabilities": { "tools": { "listChanged": true }, "resources": { "subscribe": true }, "prompts": {}, "completions": {}, "logging": {} }, "serverInfo": { "name": "a", "version": "1" }, "instructions": "use it" },
        DiscoverResult: { "supportedVersions": ["x"], "capabilities": { "extensions": { "io.example/x": {} } }, "ttlMs": 5, "cacheScope": "shared-by-some", "_meta": { "a": 1 } },
        CallToolParams: { "name": "t", "arguments": { "a": [1, 2.5, null] }, "inputResponses": { "k": { "action": "accept" } }, "requestState": "s", "_meta": { "progressToken": 7 } },
        CallToolResult: { "content": [{ "type": "text", "text": "t", "annotations": { "audience": ["user", "ghost"], "priority": 0.5 } }], "structuredContent": null, "isError": false },
        ListToolsResult: { "tools": [{ "name": "t", "inputSchema": { "type": "object" }, "annotations": { "readOnlyHint": true }, "execution": { "taskSupport": "optional" } }], "nextCursor": "" },
        ReadResourceResult: { "contents": [{ "uri": "a:b", "mimeType": "text/plain", "text": "t" }, { "uri": "a:c", "blob": "AA==" }, { "uri": "a:d", "stream": 3 }] },
        ListResourcesResult: { "resources": [{ "uri": "a:b", "name": "b", "size": 18_446_744_073_709_551_615_u64 }] },
        ListResourceTemplatesResult: { "resourceTemplates": [{ "uriTemplate": "a:{b}", "name": "b" }] },
        GetPromptResult: { "description": "d", "messages": [{ "role": "narrator", "content": { "type": "text", "text": "t" } }] },
        ListPromptsResult: { "prompts": [{ "name": "p", "arguments": [{ "name": "a", "required": true }] }] },
        CompleteParams: { "ref": { "type": "ref/prompt", "name": "p" }, "argument": { "name": "a", "value": "v" } },
        CompleteResult: { "completion": { "values": ["a"], "total": 1, "hasMore": false } },
        ListenParams: { "notifications": { "toolsListChanged": true, "resourceSubscriptions": ["a:b"], "taskIds": ["t"] } },
        LegacyTask: { "taskId": "t", "status": "dreaming", "createdAt": "now", "lastUpdatedAt": "now", "ttl": null },
        CreateTaskResult: { "taskId": "t", "status": "dreaming", "statusMessage": "m", "createdAt": "now", "lastUpdatedAt": "now", "ttlMs": null, "pollIntervalMs": 5 },
        Task: { "taskId": "t", "status": "working", "createdAt": "now", "lastUpdatedAt": "now", "ttlMs": 60000 },
        Task: { "taskId": "t", "status": "input_required", "createdAt": "now", "lastUpdatedAt": "now", "ttlMs": 1, "inputRequests": { "k": { "method": "future/ask", "params": { "a": 1 } } } },
        Task: { "taskId": "t", "status": "completed", "createdAt": "now", "lastUpdatedAt": "now", "ttlMs": null, "result": { "content": [], "isError": true } },
        Task: { "taskId": "t", "status": "failed", "createdAt": "now", "lastUpdatedAt": "now", "ttlMs": null, "error": { "code": -32603, "message": "m" } },
        Task: { "taskId": "t", "status": "dreaming", "createdAt": "now", "lastUpdatedAt": "now", "ttlMs": null, "dream": { "result": 1 } },
        UpdateTaskParams: { "taskId": "t", "inputResponses": { "k": { "action": "accept" } }, "_meta": { "progressToken": 7 } },
        InputRequiredResult: { "inputRequests": { "k": { "method": "elicitation/create", "params": { "message": "m" } } }, "requestState": "s" },
        ErrorObject: { "code": -32602, "message": "m", "data": { "a": 1 } },
    }
    // Arguments of a prompt are texts, nothing else.
    survives::<CompletionContext>(&json!({ "arguments": { "b": "c" }, "later": 1 }));
    survives::<GetPromptParams>(&json!({ "name": "p", "arguments": { "a": "b" }, "later": 1 }));
}

#[test]
fn questions_and_answers() {
    check! {
        ElicitParams: { "message": "m", "requestedSchema": { "type": "object", "properties": {} } },
        ElicitParams: { "mode": "url", "message": "m", "url": "https://example.com", "elicitationId": "e" },
        ElicitParams: { "mode": "voice", "message": "m", "language": "ko" },
        ElicitResult: { "action": "postpone", "content": { "a": 1 } },
        CreateMessageParams: { "messages": [{ "role": "user", "content": { "type": "text", "text": "t" } }], "maxTokens": 5, "toolChoice": { "mode": "sometimes" }, "modelPreferences": { "hints": [{ "name": "m" }], "costPriority": 0.1 } },
        CreateMessageResult: { "role": "assistant", "content": [{ "type": "text", "text": "t" }, { "type": "tool_use", "id": "1", "name": "n", "input": { "a": 1 } }], "model": "m", "stopReason": "tired" },
        SamplingMessage: { "role": "user", "content": [{ "type": "tool_result", "toolUseId": "1", "content": [{ "type": "hologram", "depth": 3 }] }, { "type": "image", "data": "AA==", "mimeType": "image/png" }] },
        ListRootsResult: { "roots": [{ "uri": "file:///a", "name": "a" }] },
    }
}

/// The map of questions stays raw in its result; a single question keeps its params.
#[test]
fn questions_keep_their_params() {
    survives::<InputRequest>(&json!({ "method": "roots/list", "params": { "_meta": { "a": 1 }, "later": 1 } }));
    survives::<InputRequest>(&json!({ "method": "future/ask", "params": { "a": 1 } }));
    survives::<InputRequest>(
        &json!({ "method": "elicitation/create", "params": { "message": "m", "requestedSchema": {}, "later": 1 } }),
    );
}

#[test]
fn notices() {
    check! {
        Progress: { "progressToken": "p", "progress": 50, "total": 100.5, "message": "m" },
        Cancelled: { "requestId": 9_007_199_254_740_993_i64, "reason": "r" },
        LogMessage: { "level": "warning", "logger": "l", "data": { "a": [] } },
        ResourceUpdated: { "uri": "a:b", "_meta": { "io.modelcontextprotocol/subscriptionId": 1 } },
        SubscriptionAcknowledged: { "notifications": { "toolsListChanged": true } },
        ElicitationComplete: { "elicitationId": "e" },
    }
}

#[test]
fn content_of_every_type() {
    for value in [
        json!({ "type": "text", "text": "t", "_meta": { "a": 1 } }),
        json!({ "type": "image", "data": "AA==", "mimeType": "image/png" }),
        json!({ "type": "audio", "data": "AA==", "mimeType": "audio/wav" }),
        json!({ "type": "resource_link", "uri": "a:b", "name": "b" }),
        json!({ "type": "resource", "resource": { "uri": "a:b", "text": "t" } }),
        json!({ "type": "hologram", "depth": 3 }),
    ] {
        survives::<Content>(&value);
        survives::<Content>(&later(&value));
    }
    assert!(serde_json::from_value::<Content>(json!({ "text": "no type" })).is_err());
}

#[test]
fn numbers_keep_their_form() {
    for number in ["1", "1.0", "-0.5", "1e300", "9007199254740993"] {
        let text = format!(r#"{{"progressToken":1,"progress":{number}}}"#);
        let progress: Progress = serde_json::from_str(&text).unwrap();
        let expected: serde_json::Number = serde_json::from_str(number).unwrap();
        assert_eq!(progress.progress, expected);
    }
}

/// Each method's params and results are decoded by the types that the table names.
#[test]
fn the_table_covers_what_each_revision_has() {
    let count = |revision: Revision| {
        // What an extension adds does not stand in the schema of a revision.
        let of = |facts: &&MethodFacts| facts.method.exists_in(revision) && !matches!(facts.needs, Needs::Extension(_));
        let requests = Method::TABLE.iter().filter(of).filter(|facts| facts.is_request).count();
        (requests, Method::TABLE.iter().filter(of).count() - requests)
    };
    let counts: Vec<_> = Revision::ALL.into_iter().map(count).collect();
    // As their schemas list them: requests and notifications, both directions together.
    assert_eq!(counts, [(15, 9), (15, 9), (16, 9), (20, 11), (13, 8)]);
}
