//! Tasks over HTTP: whose they are, and what the headers must say.

use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use trunkline::types::code;
use trunkline::{HttpEndpoint, HttpOptions, HttpPrincipal};
use trunkline_testkit::MODERN;

use super::{S, Turns, accept, capabilities, code_of, keys, server};

/// Sends one request of a principal's; `name` is what `Mcp-Name` says.
async fn send(
    endpoint: &HttpEndpoint,
    principal: &str,
    name: Option<&str>,
    method: &str,
    mut params: Value,
) -> http::Response<impl BodyExt<Data = impl AsRef<[u8]>>> {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": capabilities(),
    });
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let mut request = Request::post("http://127.0.0.1/mcp")
        .header("host", "127.0.0.1")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", MODERN)
        .header("mcp-method", method);
    if let Some(name) = name {
        request = request.header("mcp-name", name);
    }
    let mut request = request.body(Full::new(message.to_string().into())).unwrap();
    request.extensions_mut().insert(HttpPrincipal(principal.to_owned()));
    endpoint.handle(request).await
}

/// The one message that a request is answered with.
async fn ask(
    endpoint: &HttpEndpoint,
    principal: &str,
    name: Option<&str>,
    method: &str,
    params: Value,
) -> (StatusCode, Value) {
    let response = send(endpoint, principal, name, method, params).await;
    let status = response.status();
    let mut body = Box::pin(response.into_body());
    let mut bytes = Vec::new();
    while let Some(piece) = piece(&mut body).await {
        bytes.extend(piece);
    }
    (status, serde_json::from_slice(&bytes).unwrap())
}

/// The next piece of a body.
async fn piece(body: &mut (impl BodyExt<Data = impl AsRef<[u8]>> + Unpin)) -> Option<Vec<u8>> {
    let frame = body.frame().await?.ok()?;
    Some(frame.into_data().ok()?.as_ref().to_vec())
}

fn endpoint() -> HttpEndpoint {
    server().http(HttpOptions::default()).unwrap()
}

async fn start(endpoint: &HttpEndpoint, principal: &str) -> String {
    let params = json!({ "name": "confirm_delete", "arguments": { "filename": "a" } });
    let (_, reply) = ask(endpoint, principal, Some("confirm_delete"), "tools/call", params).await;
    assert_eq!(reply["result"]["resultType"], "task", "{reply}");
    reply["result"]["taskId"].as_str().unwrap().to_owned()
}

async fn get(endpoint: &HttpEndpoint, principal: &str, id: &str) -> Value {
    ask(endpoint, principal, Some(id), "tasks/get", json!({ "taskId": id }))
        .await
        .1
}

#[tokio::test]
async fn a_task_is_nobodys_but_its_principals() {
    let endpoint = endpoint();
    let id = start(&endpoint, "ann").await;
    let mut turns = Turns(0);
    let asking = loop {
        let reply = get(&endpoint, "ann", &id).await;
        match reply["result"]["status"].as_str().unwrap() {
            "input_required" => break reply["result"].clone(),
            _ => turns.take().await,
        }
    };
    let answer = json!({ &keys(&asking)[0]: accept(json!({ "confirm": true })) });
    let never = "0".repeat(32);
    for (method, more) in [
        ("tasks/get", json!({})),
        ("tasks/update", answer),
        ("tasks/cancel", json!({})),
    ] {
        let with = |id: &str| json!({ "taskId": id, "inputResponses": more });
        let (status, foreign) = ask(&endpoint, "bob", Some(&id), method, with(&id)).await;
        let (_, unknown) = ask(&endpoint, "bob", Some(&never), method, with(&never)).await;
        assert_eq!(code_of(&foreign), -32602, "{method}");
        assert_eq!(
            (status, &foreign["error"]),
            (StatusCode::OK, &unknown["error"]),
            "{method}: they look alike"
        );
    }
    let mut after = get(&endpoint, "ann", &id).await["result"].clone();
    let mut before = asking;
    for task in [&mut after, &mut before] {
        task["_meta"].take();
    }
    assert_eq!(after, before, "and nothing happened");
}

/// The next event of a stream.
async fn event(body: &mut (impl BodyExt<Data = impl AsRef<[u8]>> + Unpin)) -> Value {
    let event = async {
        loop {
            let text = String::from_utf8(piece(body).await.expect("the stream goes on")).unwrap();
            if let Some(data) = text.lines().find_map(|line| line.strip_prefix("data: ")) {
                return serde_json::from_str(data).unwrap();
            }
        }
    };
    tokio::time::timeout(S * 60, event).await.expect("an event in time")
}

#[tokio::test]
async fn a_stream_tells_of_ones_own_tasks_only() {
    let endpoint = endpoint();
    let (anns, bobs) = (start(&endpoint, "ann").await, start(&endpoint, "bob").await);
    let filter = json!({ "notifications": { "taskIds": [anns, bobs] } });
    let mut body = Box::pin(
        send(&endpoint, "bob", None, "subscriptions/listen", filter)
            .await
            .into_body(),
    );
    assert_eq!(
        event(&mut body).await["method"],
        "notifications/subscriptions/acknowledged"
    );
    let first = event(&mut body).await;
    assert_eq!(first["params"]["taskId"], json!(bobs), "{first}");
    for (principal, id) in [("ann", &anns), ("bob", &bobs)] {
        ask(&endpoint, principal, Some(id), "tasks/cancel", json!({ "taskId": id })).await;
    }
    loop {
        let next = event(&mut body).await;
        assert_eq!(next["params"]["taskId"], json!(bobs), "{next}");
        if next["params"]["status"] == "cancelled" {
            break;
        }
    }
}

#[tokio::test]
async fn the_name_in_the_headers_is_the_id_of_the_task() {
    let endpoint = endpoint();
    let id = start(&endpoint, "").await;
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        for name in [Some("another"), None] {
            let params = json!({ "taskId": id, "inputResponses": {} });
            let (status, reply) = ask(&endpoint, "", name, method, params).await;
            assert_eq!(status, StatusCode::BAD_REQUEST, "{method}");
            assert_eq!(code_of(&reply), code::HEADER_MISMATCH, "{method}: {reply}");
        }
    }
    assert!(get(&endpoint, "", &id).await["result"].is_object());
}
