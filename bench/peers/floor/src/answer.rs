//! The answers, written by hand from a request that was parsed once.

use std::borrow::Cow;
use std::io::Write as _;

use serde::Deserialize;
use serde_json::value::RawValue;

/// What a request has that an answer depends on. Texts without escapes are borrowed.
#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    params: Option<Params<'a>>,
}

#[derive(Deserialize, Default)]
struct Params<'a> {
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    arguments: Arguments<'a>,
}

/// The arguments of all tools.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Arguments<'a> {
    #[serde(borrow)]
    text: Cow<'a, str>,
    a: f64,
    b: f64,
    kib: usize,
}

const INITIALIZED: &str = concat!(
    r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"#,
    r#""serverInfo":{"name":"floor","version":"0.0.0"}}"#
);

const TOOLS: &str = concat!(
    r#"{"resultType":"complete","ttlMs":0,"cacheScope":"public","tools":["#,
    r#"{"name":"add","description":"Adds two numbers","inputSchema":{"type":"object","#,
    r#""properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]},"#,
    r#""outputSchema":{"type":"object","properties":{"sum":{"type":"number"}},"required":["sum"]}},"#,
    r#"{"name":"blob","description":"Returns a text of that many KiB","inputSchema":{"type":"object","#,
    r#""properties":{"kib":{"type":"integer"}},"required":["kib"]}},"#,
    r#"{"name":"echo","description":"Returns the text it is given","inputSchema":{"type":"object","#,
    r#""properties":{"text":{"type":"string"}},"required":["text"]}}]}"#
);

/// Appends the answer to `message`, without an end of line. `false`: it needs none.
pub(crate) fn answer(message: &[u8], out: &mut Vec<u8>) -> bool {
    let Ok(request) = serde_json::from_slice::<Request>(message) else {
        return false;
    };
    let Some(id) = request.id else {
        return false;
    };
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    out.extend_from_slice(id.get().as_bytes());
    out.extend_from_slice(br#","result":"#);
    match &*request.method {
        "tools/call" => call(&request.params.unwrap_or_default(), out),
        "tools/list" => out.extend_from_slice(TOOLS.as_bytes()),
        "initialize" => out.extend_from_slice(INITIALIZED.as_bytes()),
        "ping" => out.extend_from_slice(b"{}"),
        _ => {
            // A client that looks for the era asks for `server/discover` first, and must hear that there is none.
            out.truncate(out.len() - br#""result":"#.len());
            out.extend_from_slice(br#""error":{"code":-32601,"message":"Method not found"}"#);
        }
    }
    out.push(b'}');
    true
}

/// Writing into a vector cannot fail, so what `write` returns is dropped.
fn call(params: &Params, out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"resultType":"complete","content":[{"type":"text","text":"#);
    let arguments = &params.arguments;
    match &*params.name {
        "add" => {
            let sum = arguments.a + arguments.b;
            let _ = write!(out, r#""{{\"sum\":{sum}}}"}}],"structuredContent":{{"sum":{sum}}}}}"#);
        }
        "blob" => {
            let _ = serde_json::to_writer(&mut *out, &"x".repeat(arguments.kib * 1024));
            out.extend_from_slice(b"}]}");
        }
        _ => {
            let _ = serde_json::to_writer(&mut *out, &arguments.text);
            out.extend_from_slice(b"}]}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::answer;
    use serde_json::{Value, json};

    fn answered(request: &Value) -> Option<Value> {
        let mut out = Vec::new();
        answer(request.to_string().as_bytes(), &mut out)
            .then(|| serde_json::from_slice(&out).expect("the answer is JSON"))
    }

    #[test]
    fn each_tool_answers_as_a_server_would() {
        let call = |name: &str, arguments: Value| {
            let params = json!({ "name": name, "arguments": arguments });
            let request = json!({ "jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": params });
            let answer = answered(&request).expect("a request is answered");
            assert_eq!(answer["id"], "a");
            answer["result"].clone()
        };
        assert_eq!(call("echo", json!({ "text": "a\n한" }))["content"][0]["text"], "a\n한");
        let sum = call("add", json!({ "a": 7, "b": 0.5 }));
        assert_eq!(sum["structuredContent"]["sum"], 7.5);
        assert_eq!(sum["content"][0]["text"], r#"{"sum":7.5}"#);
        assert_eq!(
            call("blob", json!({ "kib": 1 }))["content"][0]["text"],
            "x".repeat(1024)
        );
    }

    #[test]
    fn what_is_not_known_is_an_error_and_a_notification_is_nothing() {
        let unknown = json!({ "jsonrpc": "2.0", "id": 1, "method": "server/discover" });
        assert_eq!(answered(&unknown).expect("answered")["error"]["code"], -32601);
        let notification = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(answered(&notification), None);
        for method in ["initialize", "tools/list", "ping"] {
            let known = json!({ "jsonrpc": "2.0", "id": 1, "method": method });
            assert!(answered(&known).expect("answered")["result"].is_object(), "{method}");
        }
    }
}
