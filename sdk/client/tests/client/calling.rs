//! Calls, their results, their progress, and what becomes of those that are given up.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;
use trunkline_client::types::{Extra, LogLevel, Reference, RequestMeta, Revision, SetLevelParams, methods};
use trunkline_client::{CallError, CallOptions, RequestError, Timeouts};

use crate::peer::{legacy, legacy_with, modern, modern_with, text};

fn tools() -> Value {
    json!({ "tools": {} })
}

fn object(value: Value) -> Extra {
    value.as_object().cloned().unwrap()
}

fn with_progress() -> CallOptions {
    CallOptions {
        progress: true,
        ..CallOptions::default()
    }
}

#[tokio::test]
async fn a_call_and_its_result() {
    let (mut peer, client) = modern(tools()).await;
    let arguments = json!({ "city": "Seoul", "when": null });
    let (called, request) = tokio::join!(
        client.call("get_weather", &arguments),
        peer.serve(
            "tools/call",
            json!({ "resultType": "complete", "content": [{ "type": "text", "text": "{\"t\":21}" }], "structuredContent": { "t": 21 }, "later": 1 })
        )
    );
    assert_eq!(request["params"]["name"], "get_weather");
    assert_eq!(
        request["params"]["arguments"], arguments,
        "C-20: null is sent as it was given"
    );
    let called = called.unwrap();
    assert!(!called.failed());
    assert_eq!(called.structured::<BTreeMap<String, i64>>().unwrap()["t"], 21);
    assert_eq!(
        called.extra,
        object(json!({ "later": 1 })),
        "the type of the result is not part of it"
    );
}

#[tokio::test]
async fn the_text_stands_in_for_a_structured_result() {
    #[derive(Debug, Deserialize, PartialEq)]
    struct Weather {
        t: i64,
    }
    let (mut peer, client) = modern(tools()).await;
    let (called, _) = tokio::join!(client.call("w", &()), peer.serve("tools/call", text("{\"t\":3}")));
    assert_eq!(called.unwrap().structured(), Ok(Weather { t: 3 }));
    let failed =
        json!({ "resultType": "complete", "content": [{ "type": "text", "text": "no such city" }], "isError": true });
    let (called, _) = tokio::join!(client.call("w", &()), peer.serve("tools/call", failed));
    let called = called.unwrap();
    assert!(called.failed());
    let error = called.structured::<Weather>().unwrap_err();
    assert!(error.to_string().contains("no such city"), "{error}");
}

#[tokio::test]
async fn arguments_must_be_an_object() {
    let (mut peer, client) = modern(tools()).await;
    for wrong in [json!([1]), json!("{}"), json!(7), json!(true)] {
        let error = client.call("t", &wrong).await.unwrap_err();
        assert!(matches!(error, CallError::Arguments(_)), "{wrong}: {error}");
        assert!(!error.may_have_run());
    }
    let (called, request) = tokio::join!(client.call("t", &()), peer.serve("tools/call", text("ok")));
    assert_eq!(request["params"]["arguments"], json!({}), "nothing is an empty object");
    called.unwrap();
}

#[tokio::test]
async fn many_calls_are_answered_in_any_order() {
    let (mut peer, client) = modern(tools()).await;
    let calls: Vec<_> = (0..200)
        .map(|n| {
            let client = client.clone();
            tokio::spawn(async move { client.call("echo", &json!({ "n": n })).await.unwrap().text() })
        })
        .collect();
    let mut requests = Vec::new();
    for _ in &calls {
        requests.push(peer.expect("tools/call").await);
    }
    for request in requests.iter().rev() {
        peer.answer(request, text(&request["params"]["arguments"]["n"].to_string()))
            .await;
    }
    for (n, call) in calls.into_iter().enumerate() {
        assert_eq!(call.await.unwrap(), n.to_string());
    }
}

#[tokio::test]
async fn a_protocol_error_is_not_a_failed_tool() {
    let (mut peer, client) = modern(tools()).await;
    let serve = async {
        let request = peer.expect("tools/call").await;
        peer.refuse(&request, -32602, "unknown tool").await;
    };
    let (called, ()) = tokio::join!(client.call("t", &()), serve);
    let error = called.unwrap_err();
    assert!(matches!(&error, CallError::Refused(refused) if refused.code == -32602));
    assert!(!error.may_have_run());
}

#[tokio::test]
async fn what_was_not_declared_is_not_sent() {
    let (_peer, client) = modern(json!({})).await;
    for error in [
        client.call("t", &()).await.map(drop).unwrap_err(),
        client.read("test://a").await.map(drop).unwrap_err(),
        client.prompt("p", BTreeMap::new()).await.map(drop).unwrap_err(),
        client
            .request::<methods::SetLevel>(SetLevelParams {
                level: LogLevel::Info,
                meta: RequestMeta::default(),
                extra: Extra::new(),
            })
            .await
            .map(drop)
            .unwrap_err(),
    ] {
        assert!(
            matches!(
                error,
                CallError::NotSent(RequestError::NotDeclared { .. } | RequestError::NotInRevision { .. })
            ),
            "{error}"
        );
        assert!(!error.may_have_run());
    }
}

#[tokio::test]
async fn reading_prompting_completing() {
    let (mut peer, client) = modern(json!({ "resources": {}, "prompts": {}, "completions": {} })).await;
    let contents = json!({ "resultType": "complete", "contents": [{ "uri": "test://a", "text": "A" }], "ttlMs": 0, "cacheScope": "private" });
    let (read, request) = tokio::join!(client.read("test://a"), peer.serve("resources/read", contents));
    assert_eq!(request["params"]["uri"], "test://a");
    assert_eq!(read.unwrap().contents[0].as_text(), Some("A"));

    let messages = json!({ "resultType": "complete", "messages": [{ "role": "user", "content": { "type": "text", "text": "hi" } }] });
    let arguments = BTreeMap::from([("who".to_owned(), "ann".to_owned())]);
    let (prompt, request) = tokio::join!(client.prompt("greet", arguments), peer.serve("prompts/get", messages));
    assert_eq!(request["params"]["arguments"], json!({ "who": "ann" }));
    assert_eq!(prompt.unwrap().messages.len(), 1);

    let completion = json!({ "resultType": "complete", "completion": { "values": ["ann", "anna"], "hasMore": false } });
    let known = BTreeMap::from([("city".to_owned(), "Bonn".to_owned())]);
    let (completed, request) = tokio::join!(
        client.complete(Reference::prompt("greet"), "who", "an", known),
        peer.serve("completion/complete", completion)
    );
    assert_eq!(
        request["params"]["ref"],
        json!({ "type": "ref/prompt", "name": "greet" })
    );
    assert_eq!(request["params"]["argument"], json!({ "name": "who", "value": "an" }));
    assert_eq!(request["params"]["context"], json!({ "arguments": { "city": "Bonn" } }));
    assert_eq!(completed.unwrap().values, ["ann", "anna"]);
}

#[tokio::test]
async fn a_dropped_call_is_cancelled_and_its_late_answer_ignored() {
    let (mut peer, client) = modern(tools()).await;
    let call = tokio::spawn(client.request_call("slow", Extra::new(), CallOptions::default()));
    let request = peer.expect("tools/call").await;
    call.abort();
    let cancelled = peer.expect("notifications/cancelled").await;
    assert_eq!(cancelled["params"]["requestId"], request["id"]);
    peer.answer(&request, text("too late")).await;
    let (called, _) = tokio::join!(client.call("next", &()), peer.serve("tools/call", text("in time")));
    assert_eq!(called.unwrap().text(), "in time");
    assert_eq!(client.noise().count, 0, "a late answer is no noise");
}

/// The cancellation and the answer crossed each other: nobody else knows of the task.
#[tokio::test]
async fn the_task_that_a_dropped_call_became_is_cancelled() {
    let capabilities = json!({ "tools": {}, "extensions": { "io.modelcontextprotocol/tasks": {} } });
    let (mut peer, client) = modern(capabilities).await;
    let call = tokio::spawn(client.request_call("slow", Extra::new(), CallOptions::default()));
    let request = peer.expect("tools/call").await;
    call.abort();
    peer.expect("notifications/cancelled").await;
    let task = json!({ "resultType": "task", "taskId": "t", "status": "working", "ttlMs": 1000,
        "createdAt": "2026-11-30T09:05:00Z", "lastUpdatedAt": "2026-11-30T09:05:00Z" });
    peer.answer(&request, task).await;
    let cancel = peer.expect("tasks/cancel").await;
    assert_eq!(cancel["params"]["taskId"], "t");
    assert_eq!(client.noise().count, 0);
}

#[tokio::test]
async fn a_call_that_was_never_awaited_is_never_sent() {
    let (mut peer, client) = modern(tools()).await;
    drop(client.request_call("never", Extra::new(), CallOptions::default()));
    let (called, request) = tokio::join!(client.call("t", &()), peer.serve("tools/call", text("ok")));
    assert_eq!(request["params"]["name"], "t");
    called.unwrap();
}

#[tokio::test]
async fn a_call_that_is_dropped_on_its_way_is_never_sent() {
    let (mut peer, client) = modern(tools()).await;
    let mut call = client.request_call("never", Extra::new(), CallOptions::default());
    // It waits in the channel: the driver has had no turn yet.
    assert!(poll_once(&mut call).await.is_none());
    drop(call);
    let (called, request) = tokio::join!(client.call("t", &()), peer.serve("tools/call", text("ok")));
    assert_eq!(request["params"]["name"], "t");
    called.unwrap();
}

#[tokio::test(start_paused = true)]
async fn silence_times_out_and_cancels() {
    let timeouts = Timeouts::fixed(Duration::from_secs(5));
    let (mut peer, client) = modern_with(tools(), |connector| connector.timeouts(timeouts)).await;
    let started = Instant::now();
    let serve = async {
        let request = peer.expect("tools/call").await;
        let cancelled = peer.expect("notifications/cancelled").await;
        assert_eq!(cancelled["params"]["requestId"], request["id"]);
    };
    let (called, ()) = tokio::join!(client.call("slow", &()), serve);
    assert_eq!(called, Err(CallError::TimedOut));
    assert_eq!(started.elapsed().as_secs(), 5);
    assert!(CallError::TimedOut.may_have_run());
    assert!(!client.is_closed(), "the connection goes on");
}

#[tokio::test(start_paused = true)]
async fn progress_extends_the_wait_and_arrives_in_order() {
    let (mut peer, client) = modern(tools()).await;
    let options = CallOptions {
        timeouts: Some(Timeouts {
            idle: Duration::from_secs(5),
            total: Duration::from_secs(60),
        }),
        ..with_progress()
    };
    let mut call = client.request_call("long", Extra::new(), options);
    let serve = async {
        let request = peer.expect("tools/call").await;
        let token = request["params"]["_meta"]["progressToken"].clone();
        assert!(!token.is_null());
        for n in 1..=3 {
            tokio::time::advance(Duration::from_secs(4)).await;
            peer.notify(
                "notifications/progress",
                json!({ "progressToken": token, "progress": n }),
            )
            .await;
        }
        peer.answer(&request, text("done")).await;
        // It reports after its end, which is ignored.
        peer.notify(
            "notifications/progress",
            json!({ "progressToken": token, "progress": 9 }),
        )
        .await;
    };
    let watch = async {
        let mut seen = Vec::new();
        while let Some(progress) = call.progress().await {
            seen.push(progress.value());
        }
        (seen, call.await.unwrap().text())
    };
    let ((seen, text), ()) = tokio::join!(watch, serve);
    assert_eq!(seen, [1.0, 2.0, 3.0]);
    assert_eq!(text, "done");
}

#[tokio::test]
async fn progress_of_strangers_and_steps_back_are_ignored() {
    let (mut peer, client) = modern(tools()).await;
    let mut call = client.request_call("t", Extra::new(), with_progress());
    let serve = async {
        let request = peer.expect("tools/call").await;
        let token = request["params"]["_meta"]["progressToken"].clone();
        for (token, value) in [
            (json!("stranger"), json!(1)),
            (token.clone(), json!(5)),
            (token.clone(), json!(5)),
            (token.clone(), json!(4)),
            (json!(0), json!(1)),
            (token.clone(), json!("many")),
            (token, json!(6)),
        ] {
            peer.notify(
                "notifications/progress",
                json!({ "progressToken": token, "progress": value }),
            )
            .await;
        }
        peer.answer(&request, text("done")).await;
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
    assert_eq!(seen, [5.0, 6.0], "C-34");
}

#[tokio::test]
async fn without_progress_there_is_no_token_and_no_stream() {
    let (mut peer, client) = modern(tools()).await;
    let options = CallOptions {
        meta: object(json!({ "progressToken": 1, "traceparent": "00-1" })),
        ..CallOptions::default()
    };
    let mut call = client.request_call("t", Extra::new(), options);
    assert_eq!(call.progress().await, None);
    let (called, request) = tokio::join!(call, peer.serve("tools/call", text("ok")));
    called.unwrap();
    let meta = &request["params"]["_meta"];
    assert_eq!(meta["traceparent"], "00-1");
    assert_eq!(
        meta.get("progressToken"),
        None,
        "a token of the caller's could be another request's"
    );
}

#[tokio::test]
async fn metadata_is_merged_and_the_protocol_wins() {
    let (mut peer, client) = modern(tools()).await;
    let options = CallOptions {
        meta: object(json!({ "mine": 1, "progressToken": "p", "io.modelcontextprotocol/protocolVersion": "1900" })),
        ..with_progress()
    };
    let (called, request) = tokio::join!(
        client.request_call("t", Extra::new(), options),
        peer.serve("tools/call", text("ok"))
    );
    called.unwrap();
    let meta = &request["params"]["_meta"];
    assert_eq!(meta["mine"], 1);
    assert_eq!(meta["progressToken"], request["id"], "C-34");
    assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], Revision::LATEST.name());
}

#[tokio::test]
async fn answers_that_are_none_are_noise_and_the_call_goes_on() {
    let (mut peer, client) = modern(tools()).await;
    let serve = async {
        let request = peer.expect("tools/call").await;
        // C-01: a dump of an object, and what is JSON without being a message.
        for line in ["trace {", "  a: 1", "}", "0", "\"x\""] {
            peer.line(line).await;
        }
        // C-12: an error that belongs to nobody; and an answer of the wrong JSON type.
        peer.line(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"bad"}}"#)
            .await;
        let id = request["id"].to_string();
        peer.send(json!({ "jsonrpc": "2.0", "id": id, "result": {} })).await;
        peer.send(json!({ "jsonrpc": "2.0", "id": 9999, "result": {} })).await;
        // C-33: nothing of the client's is cancelled by a server.
        peer.notify("notifications/cancelled", json!({ "requestId": request["id"] }))
            .await;
        peer.answer(&request, text("at last")).await;
    };
    let (called, ()) = tokio::join!(client.call("t", &()), serve);
    assert_eq!(called.unwrap().text(), "at last");
    let noise = client.noise();
    assert_eq!(noise.count, 8, "{noise:?}");
    assert!(
        noise
            .last
            .iter()
            .any(|noise| noise.to_string().contains("wrong JSON type")),
        "{noise:?}"
    );
}

#[tokio::test]
async fn noise_is_bounded_and_counted() {
    let (mut peer, client) = modern(tools()).await;
    let serve = async {
        let request = peer.expect("tools/call").await;
        for n in 0..100 {
            peer.line(&format!("rubbish {n}")).await;
        }
        peer.answer(&request, text("ok")).await;
    };
    let (called, ()) = tokio::join!(client.call("t", &()), serve);
    called.unwrap();
    let noise = client.noise();
    assert_eq!((noise.count, noise.last.len()), (100, trunkline_client::MAX_NOISE));
    assert!(noise.last[0].text.contains("rubbish 68"), "{noise:?}");
}

#[tokio::test]
async fn a_result_of_another_shape_is_an_unknown_outcome() {
    let (mut peer, client) = modern(tools()).await;
    for result in [
        json!([1]),
        json!("ok"),
        json!({ "resultType": "hologram" }),
        json!({ "resultType": "complete", "content": 7 }),
    ] {
        let (called, _) = tokio::join!(client.call("t", &()), peer.serve("tools/call", result.clone()));
        let error = called.unwrap_err();
        assert!(matches!(error, CallError::Invalid(_)), "{result}: {error}");
        assert!(error.may_have_run());
    }
}

#[tokio::test]
async fn log_levels_in_both_eras() {
    let (mut peer, client) = modern(tools()).await;
    client.set_log_level(LogLevel::Warning).await.unwrap();
    let (_, request) = tokio::join!(client.call("t", &()), peer.serve("tools/call", text("ok")));
    assert_eq!(
        request["params"]["_meta"]["io.modelcontextprotocol/logLevel"],
        "warning"
    );
    let options = CallOptions {
        log_level: Some(LogLevel::Debug),
        ..CallOptions::default()
    };
    let call = client.request_call("t", Extra::new(), options);
    let (_, request) = tokio::join!(call, peer.serve("tools/call", text("ok")));
    assert_eq!(request["params"]["_meta"]["io.modelcontextprotocol/logLevel"], "debug");

    let (mut peer, client) = legacy(json!({ "logging": {}, "tools": {} })).await;
    let (set, request) = tokio::join!(
        client.set_log_level(LogLevel::Warning),
        peer.serve("logging/setLevel", json!({}))
    );
    set.unwrap();
    assert_eq!(request["params"]["level"], "warning");
    let (_, request) = tokio::join!(
        client.call("t", &()),
        peer.serve("tools/call", json!({ "content": [] }))
    );
    assert_eq!(request["params"].get("_meta"), None);
}

#[tokio::test]
async fn an_object_is_required_up_to_the_last_legacy_revision() {
    for (revision, allowed) in [(Revision::V2025_06_18, false), (Revision::LATEST_LEGACY, false)] {
        let (mut peer, client) = legacy_with(revision, tools(), |connector| connector).await;
        let result = json!({ "content": [], "structuredContent": [1] });
        let (called, _) = tokio::join!(client.call("t", &()), peer.serve("tools/call", result));
        assert_eq!(called.is_ok(), allowed, "{revision}");
        assert!(matches!(called, Err(error @ CallError::Mismatch(_)) if error.may_have_run()));
    }
    let (mut peer, client) = modern(tools()).await;
    let result = json!({ "resultType": "complete", "content": [], "structuredContent": [1] });
    let (called, _) = tokio::join!(client.call("t", &()), peer.serve("tools/call", result));
    assert_eq!(called.unwrap().structured(), Ok([1]));
}

#[tokio::test]
async fn a_server_that_does_not_read_is_not_fed_without_end() {
    let (_peer, client) = modern(tools()).await;
    let big = json!({ "text": "x".repeat(4 * 1024 * 1024) });
    let mut calls = Vec::new();
    // Sixteen of them pass the mark together with what wraps them.
    for _ in 0..=trunkline_client::MAX_QUEUED / (4 * 1024 * 1024) {
        let mut call = Box::pin(client.request_call("t", big.as_object().cloned().unwrap(), CallOptions::default()));
        assert!(start(&mut call).await.is_none(), "it is queued");
        calls.push(call);
    }
    let error = client.call("t", &()).await.unwrap_err();
    assert!(matches!(error, CallError::Congested { .. }), "{error}");
    assert!(!error.may_have_run());
}

/// Polls a call once and lets the driver take it.
async fn start<F: Future + Unpin>(call: &mut F) -> Option<F::Output> {
    let polled = poll_once(call).await;
    tokio::task::yield_now().await;
    polled
}

async fn poll_once<F: Future + Unpin>(call: &mut F) -> Option<F::Output> {
    let polled = std::future::poll_fn(|cx| match std::pin::Pin::new(&mut *call).poll(cx) {
        std::task::Poll::Ready(output) => std::task::Poll::Ready(Some(output)),
        std::task::Poll::Pending => std::task::Poll::Ready(None),
    });
    polled.await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_callers_on_many_threads_lose_no_answer() {
    let (mut peer, client) = modern(tools()).await;
    let serving = tokio::spawn(async move {
        while let Some(message) = peer.next().await {
            if message["method"] == "tools/call" {
                let n = message["params"]["arguments"]["n"].to_string();
                peer.answer(&message, text(&n)).await;
            }
        }
    });
    let callers: Vec<_> = (0..16)
        .map(|caller| {
            let client = client.clone();
            tokio::spawn(async move {
                for n in 0..500 {
                    let arguments = json!({ "n": caller * 1000 + n });
                    if n % 7 == 0 {
                        // Given up at once, before or after it was sent.
                        let mut call = client.request_call("t", object(arguments), CallOptions::default());
                        start(&mut call).await;
                        continue;
                    }
                    let called = client.call("t", &arguments).await.unwrap();
                    assert_eq!(called.text(), arguments["n"].to_string());
                }
            })
        })
        .collect();
    for caller in callers {
        caller.await.unwrap();
    }
    assert_eq!(client.noise().count, 0, "late answers are no noise");
    client.close().await;
    serving.await.unwrap();
}
