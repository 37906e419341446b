//! The headers of a modern request say what its body says, or it is refused before anything is done
//! ([rules](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#server-validation)).

use serde_json::{Value, json};

use crate::speak::{MODERN, call, modern, modern_call, text};
use crate::stage::Served;
use crate::wire::Request;

const MISMATCH: (u16, i64) = (400, -32020);

/// Sends each of the requests, and expects an answer or the one refusal.
async fn judge(served: &Served, requests: Vec<(&str, Request, bool)>) {
    for (what, request, is_fine) in requests {
        let answer = served.ask(&request).await;
        if is_fine {
            assert_eq!(answer.status(), 200, "{what}: {answer:?}");
            assert!(answer.json()["error"].is_null(), "{what}: {}", answer.json());
        } else {
            let (status, code, id) = answer.error();
            assert_eq!(((status, code), id), (MISMATCH, json!(1)), "{what}");
        }
    }
}

#[tokio::test]
async fn the_version_is_there_once_and_the_same() {
    let served = Served::start().await;
    let list = || modern(1, "tools/list", json!({}));
    let name = "MCP-Protocol-Version";
    judge(
        &served,
        vec![
            ("absent", list().without(name), false),
            ("another", list().with(name, "2025-11-25"), false),
            ("unknown", list().with(name, "v1"), false),
            ("twice", list().header(name, MODERN), false),
            ("twice, not the same", list().header(name, "2025-11-25"), false),
            ("empty", list().with(name, ""), false),
            ("not ASCII", list().with(name, "2026–07–28"), false),
            (
                "other case of the name",
                list().without(name).header("mcp-PROTOCOL-version", MODERN),
                true,
            ),
            ("white space around", list().with(name, " \t2026-07-28\t "), true),
        ],
    )
    .await;
    served.stop().await;
}

#[tokio::test]
async fn the_method_is_there_once_and_the_same() {
    let served = Served::start().await;
    let list = || modern(1, "tools/list", json!({}));
    judge(
        &served,
        vec![
            ("absent", list().without("Mcp-Method"), false),
            ("another", list().with("Mcp-Method", "prompts/list"), false),
            ("other case", list().with("Mcp-Method", "TOOLS/LIST"), false),
            ("twice", list().header("Mcp-Method", "tools/list"), false),
            (
                "in Base64",
                list().with("Mcp-Method", "=?base64?dG9vbHMvbGlzdA==?="),
                false,
            ),
            (
                "lower case name",
                list().without("Mcp-Method").header("mcp-method", "tools/list"),
                true,
            ),
            (
                "upper case name",
                list().without("Mcp-Method").header("MCP-METHOD", "tools/list"),
                true,
            ),
            (
                "white space around",
                list().with("Mcp-Method", " \ttools/list \t"),
                true,
            ),
            ("a name that nothing asks for", list().header("Mcp-Name", "x"), true),
        ],
    )
    .await;
    // The method of the head counts before anybody asks whether the body's exists.
    let request = modern(1, "no/such", json!({})).with("Mcp-Method", "tools/list");
    assert_eq!(served.ask(&request).await.error(), (400, -32020, json!(1)));
    served.stop().await;
}

#[tokio::test]
async fn the_name_is_there_once_and_the_same() {
    let served = Served::start().await;
    let echo = || modern_call(1, "echo", json!({ "text": "hi" }));
    judge(
        &served,
        vec![
            ("absent", echo().without("Mcp-Name"), false),
            ("another", echo().with("Mcp-Name", "big"), false),
            ("other case", echo().with("Mcp-Name", "Echo"), false),
            ("twice", echo().header("Mcp-Name", "echo"), false),
            (
                "Base64 without padding",
                echo().with("Mcp-Name", "=?base64?ZWNobw?="),
                false,
            ),
            (
                "Base64 with rubbish",
                echo().with("Mcp-Name", "=?base64?ZW!!bw==?="),
                false,
            ),
            ("Base64 of no text", echo().with("Mcp-Name", "=?base64?//8=?="), false),
            ("Base64 of another", echo().with("Mcp-Name", "=?base64?Ymln?="), false),
            ("Base64", echo().with("Mcp-Name", "=?base64?ZWNobw==?="), true),
            ("white space around", echo().with("Mcp-Name", "\t echo "), true),
        ],
    )
    .await;
    served.stop().await;
}

/// Where the name comes from depends on the method.
#[tokio::test]
async fn resources_are_named_by_their_address_and_prompts_by_their_name() {
    let served = Served::start().await;
    let read = |name: &str| modern(1, "resources/read", json!({ "uri": "stage://Grüße" })).header("Mcp-Name", name);
    let greet = || modern(1, "prompts/get", json!({ "name": "greet" }));
    judge(
        &served,
        vec![
            ("an address", read("=?base64?c3RhZ2U6Ly9HcsO8w59l?="), true),
            ("an address as it is", read("stage://Grüße"), false),
            ("another address", read("stage://gruss"), false),
            ("no address", read("").without("Mcp-Name"), false),
            ("a prompt", greet(), true),
            ("no prompt", greet().without("Mcp-Name"), false),
        ],
    )
    .await;
    served.stop().await;
}

/// A body that names nothing is refused by its own fault.
#[tokio::test]
async fn a_body_without_a_name_is_a_bad_body() {
    let served = Served::start().await;
    for params in [json!({}), json!({ "name": 5 }), json!({ "name": null })] {
        let request = modern(1, "tools/call", params.clone()).with("Mcp-Name", "echo");
        let (_, code, id) = served.ask(&request).await.error();
        assert_eq!((code, id), (-32602, json!(1)), "{params}");
    }
    served.stop().await;
}

#[tokio::test]
async fn what_a_tool_mirrors_is_compared_by_what_it_means() {
    let served = Served::start().await;
    let mirror = |arguments: Value, headers: &[(&str, &str)]| {
        let mut request = modern_call(1, "mirror", arguments);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        request
    };
    let hello = || json!({ "text": "Hello" });
    judge(
        &served,
        vec![
            ("nothing given, nothing said", mirror(json!({}), &[]), true),
            ("null counts as nothing", mirror(json!({ "text": null }), &[]), true),
            (
                "null, and a header",
                mirror(json!({ "text": null }), &[("Mcp-Param-Text", "x")]),
                false,
            ),
            (
                "nothing, and a header",
                mirror(json!({}), &[("Mcp-Param-Text", "x")]),
                false,
            ),
            ("a value without its header", mirror(hello(), &[]), false),
            ("text", mirror(hello(), &[("Mcp-Param-Text", "Hello")]), true),
            ("another text", mirror(hello(), &[("Mcp-Param-Text", "hello")]), false),
            (
                "twice",
                mirror(hello(), &[("Mcp-Param-Text", "Hello"), ("mcp-param-text", "Hello")]),
                false,
            ),
            (
                "any case of the name",
                mirror(hello(), &[("MCP-PARAM-TEXT", "Hello")]),
                true,
            ),
            (
                "Base64",
                mirror(hello(), &[("Mcp-Param-Text", "=?base64?SGVsbG8=?=")]),
                true,
            ),
            (
                "Base64 without padding",
                mirror(hello(), &[("Mcp-Param-Text", "=?base64?SGVsbG8?=")]),
                false,
            ),
            (
                "Base64 with rubbish",
                mirror(hello(), &[("Mcp-Param-Text", "=?base64?SGVs!!!bG8=?=")]),
                false,
            ),
            (
                "the end of the mark is missing: it is a text",
                mirror(
                    json!({ "text": "=?base64?SGVsbG8=" }),
                    &[("Mcp-Param-Text", "=?base64?SGVsbG8=")],
                ),
                true,
            ),
            ("empty", mirror(json!({ "text": "" }), &[("Mcp-Param-Text", "")]), true),
            (
                "a number",
                mirror(json!({ "count": 42 }), &[("Mcp-Param-Count", "42")]),
                true,
            ),
            (
                "the same number",
                mirror(json!({ "count": 42 }), &[("Mcp-Param-Count", "42.0")]),
                true,
            ),
            (
                "another number",
                mirror(json!({ "count": 42 }), &[("Mcp-Param-Count", "43")]),
                false,
            ),
            (
                "no number",
                mirror(json!({ "count": 42 }), &[("Mcp-Param-Count", "x")]),
                false,
            ),
            (
                "true",
                mirror(json!({ "flag": true }), &[("Mcp-Param-Flag", "true")]),
                true,
            ),
            (
                "True",
                mirror(json!({ "flag": true }), &[("Mcp-Param-Flag", "True")]),
                false,
            ),
            ("of no tool", mirror(json!({}), &[("Mcp-Param-Other", "x")]), true),
        ],
    )
    .await;
    served.stop().await;
}

/// A header that another tool mirrors is nothing to this one.
#[tokio::test]
async fn a_parameter_of_another_tool_is_not_looked_at() {
    let served = Served::start().await;
    let request = modern_call(1, "echo", json!({ "text": "Hello" })).header("Mcp-Param-Text", "something else");
    assert_eq!(text(&served.ask(&request).await.json()), "Hello");
    served.stop().await;
}

/// Two members of one name leave open which one counts: a gateway may have read the other one.
#[tokio::test]
async fn a_body_that_says_two_things_is_refused() {
    let served = Served::start().await;
    let request = modern_call(1, "echo", json!({ "text": "hi" }));
    let once = crate::speak::modern_message(1, "tools/call", call("echo", json!({ "text": "hi" }))).to_string();
    for twice in [
        once.replace("\"name\":\"echo\"", "\"name\":\"big\",\"name\":\"echo\""),
        once.replace("\"arguments\":", "\"arguments\":{\"text\":\"x\"},\"arguments\":"),
        once.replace("\"_meta\":", "\"_meta\":{},\"_meta\":"),
    ] {
        assert_ne!(twice, once);
        let (status, code, _) = served.ask(&request.clone().body(twice.clone())).await.error();
        assert_eq!((status, code), (400, -32602), "{twice}");
    }
    served.stop().await;
}
