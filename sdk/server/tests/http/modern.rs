//! Modern requests: each stands alone, and its answer says by its status what became of it
//! ([messages](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#sending-messages)).

use serde_json::{Value, json};
use trunkline_types::ErrorObject;

use crate::speak::{META_CAPABILITIES, META_VERSION, MODERN, message, modern, modern_call, modern_message, text};
use crate::stage::{End, Order, Served};
use crate::wire::{Request, within};

#[tokio::test]
async fn a_silent_handler_is_answered_as_json_on_a_connection_that_lives_on() {
    let served = Served::start().await;
    let mut connection = served.connect().await;
    for id in [
        json!(1),
        json!("one"),
        json!(0),
        json!(9_007_199_254_740_993_u64),
        json!(""),
    ] {
        let answer = connection
            .ask(&modern_call(id.clone(), "echo", json!({ "text": "hello" })))
            .await;
        assert_eq!(answer.status(), 200);
        let answer = answer.json();
        assert_eq!(answer["id"], id);
        assert_eq!(text(&answer), "hello");
        assert_eq!(answer["result"]["resultType"], "complete");
    }
    served.stop().await;
}

#[tokio::test]
async fn a_handler_that_waits_in_silence_is_answered_as_json_too() {
    let served = Served::start().await;
    let mut connection = served.connect().await;
    let request = modern_call(1, "puppet", json!({ "name": "a" }));
    connection.write(&request.bytes()).await;
    let puppet = served.stage.puppet("a").await;
    puppet.finish("at last");
    let answer = connection.answer().await;
    assert_eq!(text(&answer.json()), "at last");
    assert_eq!(puppet.end().await, End::Finished);
    served.stop().await;
}

#[tokio::test]
async fn what_a_handler_says_first_arrives_first() {
    let served = Served::start().await;
    let mut params = json!({ "name": "puppet", "arguments": { "name": "a" } });
    params["_meta"] = json!({ "progressToken": "p", "io.modelcontextprotocol/logLevel": "info" });
    let mut connection = served.connect().await;
    connection.write(&modern(7, "tools/call", params).bytes()).await;
    let puppet = served.stage.puppet("a").await;
    puppet.tell(Order::Progress(1.0));
    let mut events = crate::events::Events::begin(connection).await;
    // The handler still waits: nothing held this back.
    let progress = events.message().await;
    assert_eq!(progress["method"], "notifications/progress");
    assert_eq!(progress["params"], json!({ "progressToken": "p", "progress": 1 }));
    puppet.tell(Order::Progress(0.5));
    puppet.tell(Order::Log("still here".into()));
    let log = events.message().await;
    assert_eq!(log["method"], "notifications/message", "a falling value is not sent");
    puppet.finish("done");
    let last = events.event().await.unwrap();
    assert_eq!(last.id, None, "nobody can come back to this stream");
    assert_eq!((last.json()["id"].clone(), text(&last.json())), (json!(7), "done"));
    assert_eq!(events.block().await, None, "the answer ends the stream");
    served.stop().await;
}

/// C-34.
#[tokio::test]
async fn who_asks_for_no_notices_gets_none() {
    let served = Served::start().await;
    let answer = served
        .ask(&modern_call(1, "burst", json!({ "notices": 5, "bytes": 10 })))
        .await;
    assert_eq!(text(&answer.json()), "done");
    served.stop().await;
}

#[tokio::test]
async fn everything_said_before_the_answer_comes_before_it() {
    let served = Served::start().await;
    let mut params = json!({ "name": "burst", "arguments": { "notices": 20, "bytes": 10_000 } });
    params["_meta"] = json!({ "progressToken": 3 });
    let mut events = served.events(&modern("x", "tools/call", params)).await;
    let messages = events.messages().await;
    let values: Vec<i64> = messages
        .iter()
        .filter_map(|message| message["params"]["progress"].as_i64())
        .collect();
    assert_eq!(values, (0..20).collect::<Vec<_>>());
    assert_eq!(text(messages.last().unwrap()), "done");
    served.stop().await;
}

/// Each request breaks several rules; the first of them is told.
#[tokio::test]
async fn rules_are_checked_from_the_outside_in() {
    let served = Served::start().await;
    let good = || modern_message(5, "tools/list", json!({}));
    let bare = |meta: Value| Request::post(&message(5, "tools/list", json!({ "_meta": meta })));
    let versioned = |request: Request| request.header("MCP-Protocol-Version", MODERN);
    let unknown = "v999.0.0";
    let refused: Vec<(&str, Request, (u16, i64))> = vec![
        (
            "no metadata at all",
            versioned(Request::post(&message(5, "tools/list", json!({})))),
            (400, -32602),
        ),
        (
            "no params",
            versioned(Request::post(
                &json!({ "jsonrpc": "2.0", "id": 5, "method": "tools/list" }),
            )),
            (400, -32602),
        ),
        (
            "no version in the body",
            versioned(bare(json!({ META_CAPABILITIES: {} }))),
            (400, -32602),
        ),
        (
            "a version of the wrong type",
            versioned(bare(json!({ META_VERSION: 5 }))),
            (400, -32602),
        ),
        ("no version in the head", Request::post(&good()), (400, -32020)),
        (
            "two versions",
            versioned(bare(json!({ META_VERSION: unknown }))),
            (400, -32020),
        ),
        (
            "an unknown version, and no other header",
            bare(json!({ META_VERSION: unknown })).header("MCP-Protocol-Version", unknown),
            (400, -32022),
        ),
        (
            "a version that is not of this era",
            bare(json!({ META_VERSION: "2025-11-25" })).header("MCP-Protocol-Version", "2025-11-25"),
            (400, -32022),
        ),
        (
            "no method in the head",
            versioned(Request::post(&good())),
            (400, -32020),
        ),
        (
            "no capabilities",
            versioned(bare(json!({ META_VERSION: MODERN }))).header("Mcp-Method", "tools/list"),
            (400, -32602),
        ),
        ("an unknown method", modern(5, "tools/lust", json!({})), (404, -32601)),
    ];
    for (what, request, expected) in refused {
        let (status, code, id) = served.ask(&request).await.error();
        assert_eq!(((status, code), id), (expected, json!(5)), "{what}");
    }
    served.stop().await;
}

#[tokio::test]
async fn an_unknown_version_is_told_which_there_are() {
    let served = Served::start().await;
    let request = Request::post(&message(
        1,
        "tools/list",
        json!({ "_meta": { META_VERSION: "v999.0.0", META_CAPABILITIES: {} } }),
    ));
    let answer = served.ask(&request.header("MCP-Protocol-Version", "v999.0.0")).await;
    assert_eq!(answer.status(), 400);
    let data = &answer.json()["error"]["data"];
    assert_eq!(data, &json!({ "supported": [MODERN], "requested": "v999.0.0" }));
    let discovered = served.ask(&modern(1, "server/discover", json!({}))).await.json();
    assert_eq!(discovered["result"]["supportedVersions"], data["supported"]);
    served.stop().await;
}

#[tokio::test]
async fn what_this_era_does_not_have_is_not_found_under_its_id() {
    let served = Served::start().await;
    let gone = [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "unknown/method",
        "notifications/initialized",
        "sampling/createMessage",
        "tasks/list",
        "",
    ];
    for method in gone {
        let (status, code, id) = served.ask(&modern("g", method, json!({}))).await.error();
        assert_eq!((status, code, id), (404, -32601, json!("g")), "{method}");
    }
    assert_eq!(served.endpoint.sessions(), 0, "no handshake came of it");
    served.stop().await;
}

#[tokio::test]
async fn a_capability_that_a_handler_misses_is_a_bad_request() {
    let served = Served::start().await;
    let answer = served.ask(&modern_call(3, "think", json!({}))).await;
    assert_eq!(answer.error(), (400, -32021, json!(3)));
    let required = answer.json()["error"]["data"]["requiredCapabilities"].clone();
    assert_eq!(required, json!({ "sampling": {} }));
    served.stop().await;
}

/// An error of a tool keeps the id of its call, and a panic is one (C-12).
#[tokio::test]
async fn an_error_of_a_handler_is_an_answer() {
    let served = Served::start().await;
    let answer = served.ask(&modern_call("r", "refuse", json!({}))).await;
    assert_eq!(answer.error(), (200, -32602, json!("r")));
    let answer = served.ask(&modern_call("s", "stumble", json!({}))).await;
    assert_eq!(answer.error(), (200, -32603, json!("s")));
    let answer = served.ask(&modern_call("u", "nobody", json!({}))).await;
    assert_eq!(answer.error(), (200, -32602, json!("u")));
    let answer = served.ask(&modern_call("e", "echo", json!({ "text": 5 }))).await;
    assert_eq!(answer.json()["result"]["isError"], true);
    // Late, and in the middle of a stream, an error keeps its place.
    let mut params = json!({ "name": "puppet", "arguments": { "name": "a" }, "_meta": { "progressToken": 1 } });
    params["name"] = json!("puppet");
    let connection = crate::speak::send(&served, &modern("late", "tools/call", params)).await;
    let puppet = served.stage.puppet("a").await;
    puppet.tell(Order::Progress(1.0));
    puppet.tell(Order::Fail(ErrorObject::invalid_params("too late")));
    let mut events = crate::events::Events::begin(connection).await;
    assert_eq!(events.message().await["method"], "notifications/progress");
    let last = events.message().await;
    assert_eq!((&last["id"], &last["error"]["code"]), (&json!("late"), &json!(-32602)));
    served.stop().await;
}

#[tokio::test]
async fn notices_are_accepted_and_answers_are_not() {
    let served = Served::start().await;
    for method in [
        "notifications/cancelled",
        "notifications/initialized",
        "notifications/whatever",
    ] {
        let notice = json!({ "jsonrpc": "2.0", "method": method, "params": { "requestId": 1 } });
        let answer = served
            .ask(&Request::post(&notice).header("MCP-Protocol-Version", MODERN))
            .await;
        assert_eq!((answer.status(), answer.body.len()), (202, 0), "{method}");
    }
    let answers = [
        json!({ "jsonrpc": "2.0", "id": 1, "result": {} }),
        json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": 1, "message": "no" } }),
    ];
    for message in answers {
        let request = Request::post(&message).header("MCP-Protocol-Version", MODERN);
        let (status, code, id) = served.ask(&request).await.error();
        assert_eq!((status, code, id), (400, -32600, Value::Null));
    }
    served.stop().await;
}

/// A message with an `id` member is never a notification, whatever is in it (C-08).
#[tokio::test]
async fn what_is_no_message_is_refused() {
    let served = Served::start().await;
    for id in ["null", "1.5", "true", "[]", "{}"] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list"}}"#);
        for request in [
            Request::post(&Value::Null).body(body.clone()),
            Request::post(&Value::Null)
                .body(body.clone())
                .header("MCP-Protocol-Version", MODERN),
            Request::post(&Value::Null)
                .body(body)
                .header("Mcp-Session-Id", "00000000000000000000000000000000"),
        ] {
            let answer = served.ask(&request).await;
            assert_eq!(answer.error(), (400, -32600, Value::Null), "{id}");
            assert!(
                answer.json().get("id").is_none(),
                "an id that cannot be read is left out"
            );
        }
    }
    for (body, code) in [
        ("", -32700),
        ("{", -32700),
        ("{}", -32600),
        ("\"text\"", -32600),
        ("[]", -32600),
        ("{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"tools/list\"}", -32600),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"} {}", -32700),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":1,\"method\":\"tools/list\"}",
            -32600,
        ),
    ] {
        let request = Request::post(&Value::Null)
            .body(body)
            .header("MCP-Protocol-Version", MODERN);
        let (status, found, _) = served.ask(&request).await.error();
        assert_eq!((status, found), (400, code), "{body}");
    }
    let bytes = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}".to_vec();
    let answer = served.ask(&Request::post(&Value::Null).body(bytes)).await;
    assert_eq!(answer.error(), (400, -32700, Value::Null));
    served.stop().await;
}

#[tokio::test]
async fn the_mark_of_an_encoding_is_passed_over() {
    let served = Served::start().await;
    let message = modern_message(1, "tools/list", json!({})).to_string();
    let request = modern(1, "tools/list", json!({})).body(format!("\u{feff}{message}"));
    assert_eq!(served.ask(&request).await.status(), 200);
    served.stop().await;
}

/// C-25.
#[tokio::test]
async fn the_types_that_a_client_takes_decide_whether_it_is_answered() {
    let served = Served::start().await;
    for (accept, status) in [
        (Some("application/json, text/event-stream"), 200),
        (Some("text/event-stream, application/json"), 200),
        (Some("*/*"), 200),
        (Some("application/*, text/event-stream;q=0.5"), 200),
        (None, 200),
        (Some("application/json"), 406),
        (Some("text/event-stream"), 406),
        (Some("text/html"), 406),
        (Some("*/*, text/event-stream;q=0"), 406),
    ] {
        let mut request = modern(1, "tools/list", json!({})).without("Accept");
        if let Some(accept) = accept {
            request = request.header("Accept", accept);
        }
        let answer = served.ask(&request).await;
        assert_eq!(answer.status(), status, "{accept:?}");
        if status == 406 {
            assert_eq!(answer.error(), (406, -32600, json!(1)));
        }
    }
    served.stop().await;
}

#[tokio::test]
async fn only_json_is_read() {
    let served = Served::start().await;
    for (kind, status) in [
        (Some("application/json"), 200),
        (Some("Application/JSON; charset=utf-8"), 200),
        (Some("text/plain"), 415),
        (Some("application/x-www-form-urlencoded"), 415),
        (None, 415),
    ] {
        let mut request = modern(1, "tools/list", json!({})).without("Content-Type");
        if let Some(kind) = kind {
            request = request.header("Content-Type", kind);
        }
        assert_eq!(served.ask(&request).await.status(), status, "{kind:?}");
    }
    served.stop().await;
}

/// Absent, empty and null: the first two are fine, and null is never met with silence (C-10).
#[tokio::test]
async fn params_may_be_empty_and_null_counts_as_none() {
    let served = Served::start().await;
    let client = crate::speak::Client::open(&served, crate::speak::NEWEST_LEGACY).await;
    for message in [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }),
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} }),
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": null }),
    ] {
        let answer = served.ask(&client.post(&message)).await;
        assert!(answer.json()["result"]["tools"].is_array(), "{message}");
        // In the modern era there is metadata to give.
        let request = Request::post(&message).header("MCP-Protocol-Version", MODERN);
        assert_eq!(served.ask(&request).await.error(), (400, -32602, json!(1)), "{message}");
    }
    for params in [json!([]), json!([1]), json!("text"), json!(5)] {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params });
        let answer = served.ask(&client.post(&message)).await;
        assert_eq!(answer.error(), (200, -32602, json!(1)), "{message}");
    }
    served.stop().await;
}

/// Two clients may use one id at once: what they ask has nothing to do with each other (C-09, modern).
#[tokio::test]
async fn one_id_in_two_requests_at_once_is_two_answers() {
    let served = Served::start().await;
    let first = crate::speak::send(&served, &modern_call(1, "puppet", json!({ "name": "first" }))).await;
    let second = crate::speak::send(&served, &modern_call(1, "puppet", json!({ "name": "second" }))).await;
    let (one, two) = (served.stage.puppet("first").await, served.stage.puppet("second").await);
    two.finish("second");
    let (mut first, mut second) = (first, second);
    assert_eq!(text(&second.answer().await.json()), "second");
    one.finish("first");
    assert_eq!(text(&first.answer().await.json()), "first");
    served.stop().await;
}

#[tokio::test]
async fn many_requests_at_once_are_all_answered() {
    let served = Served::start().await;
    let asked = (0..100).map(|number| {
        let request = modern_call(number, "echo", json!({ "text": number.to_string() }));
        let address = served.address;
        tokio::spawn(async move { crate::wire::Connection::open(address).await.ask(&request).await })
    });
    for (number, asked) in asked.collect::<Vec<_>>().into_iter().enumerate() {
        let answer = within("an answer", asked).await.unwrap().json();
        assert_eq!(
            (&answer["id"], text(&answer)),
            (&json!(number), number.to_string().as_str())
        );
    }
    served.stop().await;
}

/// What only sessions know is passed over: a modern client behind an old gateway is served all the same.
#[tokio::test]
async fn the_headers_of_sessions_mean_nothing() {
    let served = Served::start().await;
    let request = modern_call(1, "echo", json!({ "text": "hi" }))
        .header("Mcp-Session-Id", "nobody")
        .header("Last-Event-ID", "1-1");
    let answer = served.ask(&request).await;
    assert_eq!(text(&answer.json()), "hi");
    assert_eq!(answer.head.get("mcp-session-id"), None);
    served.stop().await;
}

#[tokio::test]
async fn lists_are_the_same_each_time_and_say_how_long_they_may_be_kept() {
    let served = Served::start().await;
    for method in [
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
    ] {
        let first = served.ask(&modern(1, method, json!({}))).await;
        let second = served.ask(&modern(1, method, json!({}))).await;
        assert_eq!(first.body, second.body, "{method}");
        let result = &first.json()["result"];
        assert_eq!(
            (&result["ttlMs"], &result["cacheScope"]),
            (&json!(5000), &json!("private")),
            "{method}"
        );
    }
    let tools = served.ask(&modern(1, "tools/list", json!({}))).await.json();
    let names: Vec<&str> = tools["result"]["tools"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert!(names.is_sorted() && names.len() > 5, "{names:?}");
    let discovered = served.ask(&modern(1, "server/discover", json!({}))).await.json();
    let result = &discovered["result"];
    assert_eq!(
        (&result["ttlMs"], &result["cacheScope"]),
        (&json!(3_600_000), &json!("public"))
    );
    served.stop().await;
}

#[tokio::test]
async fn other_methods_of_http_are_not_for_this_address() {
    let served = Served::start().await;
    for verb in ["PUT", "PATCH", "HEAD", "TRACE"] {
        let answer = served.ask(&Request::new(verb, "/mcp")).await;
        assert_eq!(answer.status(), 405, "{verb}");
        assert_eq!(answer.head.get("allow"), Some("POST, GET, DELETE"), "{verb}");
    }
    for path in ["/", "/mcp/", "/other", "/mcp/x"] {
        assert_eq!(served.ask(&Request::new("POST", path)).await.status(), 404, "{path}");
    }
    served.stop().await;
}
