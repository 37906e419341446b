//! One request, one exchange.

use serde_json::{Value, json};
use trunkline_http::client::{MAX_CALLS, MAX_JUNK, MAX_STREAMS, Remote};
use trunkline_transport::{Limits, Received, Transport};

use crate::server::Server;
use crate::wire::Wire;

#[tokio::test]
async fn a_modern_request_says_in_its_headers_what_its_body_says() {
    let mut server = Server::start().await;
    let remote = Remote::new(server.url()).header("Authorization", "Bearer k");
    let mut wire = Wire::open(&remote);
    wire.ask(1, "tools/call", json!({ "name": "get_weather", "arguments": {} }));
    let asked = wire.while_(server.expect("tools/call")).await;
    for (name, value) in [
        ("accept", "application/json, text/event-stream"),
        ("content-type", "application/json"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "get_weather"),
        ("authorization", "Bearer k"),
    ] {
        assert_eq!(asked.header(name), Some(value), "C-25: {}", asked.head);
    }
    assert_eq!(asked.header("mcp-session-id"), None);
    assert_eq!(asked.path(), "/mcp");
    asked.result(json!({ "content": [] })).await;
    assert_eq!(wire.message().await["id"], 1);
}

#[tokio::test]
async fn an_answer_may_be_json_or_a_stream() {
    let mut server = Server::start().await;
    let mut wire = Wire::to(&server);
    wire.ask(1, "tools/list", json!({}));
    wire.while_(server.next()).await.result(json!({ "tools": [] })).await;
    assert_eq!(wire.message().await["result"], json!({ "tools": [] }));

    wire.ask(2, "tools/call", json!({ "name": "slow" }));
    let mut events = wire.while_(server.next()).await.events().await;
    events.raw(": alive\n\nid: 1\ndata:\n\nevent: ping\ndata: {}\n\n").await;
    events
        .notify("notifications/progress", json!({ "progressToken": 2, "progress": 1 }))
        .await;
    assert_eq!(wire.message().await["method"], "notifications/progress");
    events.result(json!({ "content": [] })).await;
    assert_eq!(wire.message().await["id"], 2);
}

#[tokio::test]
async fn one_request_after_another_uses_one_connection() {
    let mut server = Server::start().await;
    let mut wire = Wire::to(&server);
    for id in 0..20 {
        wire.ask(id, "tools/list", json!({}));
        let asked = wire.while_(server.next()).await;
        asked.result(json!({})).await;
        assert_eq!(wire.message().await["id"], id);
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn data_lines_are_joined_and_cut_anywhere() {
    let mut server = Server::start().await;
    let mut wire = Wire::to(&server);
    let body = "\u{feff}data: {\"jsonrpc\":\"2.0\",\"id\":1,\r\ndata: \"result\":{\"text\":\"é\"}}\r\n\r\n";
    for cut in 0..body.len() {
        if !body.is_char_boundary(cut) {
            continue;
        }
        wire.ask(1, "tools/call", json!({ "name": "x" }));
        let mut events = wire.while_(server.next()).await.events().await;
        events.raw(&body[..cut]).await;
        tokio::task::yield_now().await;
        events.raw(&body[cut..]).await;
        drop(events);
        assert_eq!(wire.message().await["result"]["text"], "é", "C-26, cut at {cut}");
    }
}

#[tokio::test]
async fn a_burst_of_junk_before_the_answer_is_told_and_survived() {
    let mut server = Server::start().await;
    let mut wire = Wire::to(&server);
    wire.ask(1, "tools/call", json!({ "name": "x" }));
    let mut events = wire.while_(server.next()).await.events().await;
    let junk = "data: x\n\n".repeat(50_000);
    let answer = json!({ "jsonrpc": "2.0", "id": 1, "result": {} });
    let writing = async move {
        events.raw(&junk).await;
        events.event(None, &answer).await;
    };
    let writing = tokio::spawn(writing);
    let mut count = 0;
    loop {
        match wire.received().await.unwrap() {
            Received::Message(message) if message == b"x"[..] => count += 1,
            Received::Message(message) => {
                assert_eq!(serde_json::from_slice::<Value>(&message).unwrap()["id"], 1, "C-27");
                break;
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(count, 50_000);
    writing.await.unwrap();
}

#[tokio::test]
async fn junk_without_end_ends_the_stream() {
    let mut server = Server::start().await;
    let mut wire = Wire::to(&server);
    wire.ask(1, "tools/call", json!({ "name": "x" }));
    let mut events = wire.while_(server.next()).await.events().await;
    let writing = tokio::spawn(async move { events.raw(&"data:x\n\n".repeat(MAX_JUNK + 1)).await });
    for _ in 0..=MAX_JUNK {
        assert!(matches!(wire.received().await.unwrap(), Received::Message(_)));
    }
    let failed = wire.failed().await;
    assert!(failed.may_have_run && failed.why.contains("no messages"), "{failed:?}");
    writing.await.unwrap();
}

#[tokio::test]
async fn messages_have_a_limit_on_both_sides() {
    let mut server = Server::start().await;
    let remote = Remote::new(server.url()).limits(Limits::default().with_max_message(1000));
    let mut wire = Wire::open(&remote);
    let message = |length: usize| {
        let text = json!({ "jsonrpc": "2.0", "id": 1, "result": { "x": "" } }).to_string();
        text.replace(r#""x":"""#, &format!(r#""x":"{}""#, "y".repeat(length - text.len())))
    };
    for as_event in [false, true] {
        for (length, fits) in [(1000, true), (1001, false)] {
            wire.ask(1, "tools/call", json!({ "name": "x" }));
            let asked = wire.while_(server.next()).await;
            if as_event {
                let mut events = asked.events().await;
                events.raw(&format!("data: {}\n\n", message(length))).await;
            } else {
                asked
                    .answer(200, "Content-Type: application/json\r\n", &message(length))
                    .await;
            }
            let received = wire.received().await.unwrap();
            if fits {
                assert!(matches!(received, Received::Message(_)), "{received:?}");
                continue;
            }
            let Received::TooLong { limit, start } = received else {
                panic!("{received:?}")
            };
            assert_eq!((limit, start.len()), (1000, 1000));
            let failed = wire.failed().await;
            assert!(
                failed.may_have_run && failed.why.contains("longer than 1000 bytes"),
                "the request has no answer, then: {failed:?}"
            );
        }
    }
}

#[tokio::test]
async fn large_events_arrive_whole() {
    let mut server = Server::start().await;
    let mut wire = Wire::to(&server);
    for size in [65_535, 65_537, 1024 * 1024] {
        wire.ask(1, "tools/call", json!({ "name": "x" }));
        let asked = wire.while_(server.next()).await;
        let events = asked.events().await;
        let writing = tokio::spawn(events.result(json!({ "text": "x".repeat(size) })));
        assert_eq!(
            wire.message().await["result"]["text"].as_str().unwrap().len(),
            size,
            "C-28"
        );
        writing.await.unwrap();
    }
}

#[tokio::test]
async fn a_modern_request_is_taken_back_by_closing_its_stream() {
    let mut server = Server::start().await;
    let mut wire = Wire::to(&server);
    wire.ask(1, "tools/call", json!({ "name": "slow" }));
    let events = wire.while_(server.next()).await.events().await;
    wire.send(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } }));
    wire.while_(events.asked.closed()).await;
    // The next thing that the server hears is the next request.
    wire.ask(2, "tools/list", json!({}));
    wire.while_(server.expect("tools/list")).await.result(json!({})).await;
    assert_eq!(wire.message().await["id"], 2);
}

#[tokio::test]
async fn a_request_is_not_taken_back_twice() {
    let mut server = Server::start().await;
    let mut wire = Wire::to(&server);
    wire.ask(1, "tools/call", json!({ "name": "x" }));
    wire.while_(server.next()).await.result(json!({})).await;
    wire.message().await;
    wire.send(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } }));
    wire.send(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": "1" } }));
    wire.ask(2, "tools/list", json!({}));
    wire.while_(server.expect("tools/list")).await.result(json!({})).await;
    assert_eq!(wire.message().await["id"], 2);
}

#[tokio::test]
async fn requests_beyond_the_bound_wait_for_their_turn() {
    let mut server = Server::start().await;
    let mut wire = Wire::to(&server);
    for id in 0..=i64::try_from(MAX_CALLS).unwrap() {
        wire.ask(id, "tools/call", json!({ "name": "slow" }));
    }
    assert!(wire.http.queued() > 0);
    let mut asked = Vec::new();
    for _ in 0..MAX_CALLS {
        asked.push(wire.while_(server.next()).await);
    }
    assert!(server.is_quiet(), "one more would be one too many");
    asked.remove(0).result(json!({})).await;
    wire.message().await;
    assert_eq!(wire.http.queued(), 0);
    assert_eq!(wire.while_(server.next()).await.id(), i64::try_from(MAX_CALLS).unwrap());
}

#[tokio::test]
async fn a_waiting_request_that_is_taken_back_is_never_sent() {
    let mut server = Server::start().await;
    let mut wire = Wire::to(&server);
    let last = i64::try_from(MAX_CALLS).unwrap();
    for id in 0..=last {
        wire.ask(id, "tools/call", json!({ "name": "slow" }));
    }
    let cancel =
        |id: i64| json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } });
    wire.send(cancel(last));
    assert_eq!(wire.http.queued(), 0);
    let mut asked = Vec::new();
    for _ in 0..MAX_CALLS {
        asked.push(wire.while_(server.next()).await);
    }
    wire.send(cancel(0));
    wire.ask(last + 1, "tools/list", json!({}));
    assert_eq!(wire.while_(server.next()).await.id(), last + 1);
}

#[tokio::test]
async fn streams_of_notices_have_a_bound_of_their_own() {
    let mut server = Server::start().await;
    let mut wire = Wire::to(&server);
    let last = i64::try_from(MAX_STREAMS).unwrap();
    let mut open = Vec::new();
    for id in 0..last {
        wire.ask(id, "subscriptions/listen", json!({ "notifications": {} }));
        open.push(wire.while_(server.next()).await.events().await);
    }
    wire.ask(last, "subscriptions/listen", json!({ "notifications": {} }));
    let failed = wire.failed().await;
    assert!(!failed.may_have_run && failed.why.contains("64 streams"), "{failed:?}");
    wire.ask(last + 1, "tools/list", json!({}));
    wire.while_(server.expect("tools/list")).await.result(json!({})).await;
    assert_eq!(wire.message().await["id"], last + 1, "calls are not held up");
}

#[tokio::test]
async fn mirrored_parameters_are_learned_from_the_list_of_tools() {
    let mut server = Server::start().await;
    let mut wire = Wire::to(&server);
    wire.ask(1, "tools/list", json!({}));
    let tools = json!([{ "name": "sql", "inputSchema": { "type": "object", "properties": {
        "region": { "type": "string", "x-mcp-header": "Region" },
        "deep": { "type": "object", "properties": { "n": { "type": "integer", "x-mcp-header": "N" } } },
    } } }]);
    wire.while_(server.next()).await.result(json!({ "tools": tools })).await;
    wire.message().await;
    let arguments = json!({ "region": "Zürich", "deep": { "n": 42.0 }, "query": "SELECT 1" });
    wire.ask(2, "tools/call", json!({ "name": "sql", "arguments": arguments }));
    let asked = wire.while_(server.next()).await;
    assert_eq!(asked.header("mcp-param-region"), Some("=?base64?WsO8cmljaA==?="));
    assert_eq!(asked.header("mcp-param-n"), Some("42"));
    asked.result(json!({})).await;
    wire.message().await;
    wire.ask(
        3,
        "tools/call",
        json!({ "name": "sql", "arguments": { "region": null } }),
    );
    assert_eq!(wire.while_(server.next()).await.header("mcp-param-region"), None);
}
