//! The JSON-RPC envelope, as a server takes it.

use serde_json::{Value, json};
use trunkline::types::{Era, Revision};
use trunkline_testkit::RawPeer;
use trunkline_tests::scenario_server;

use super::{modern, shaken};

/// A request in the form of either era.
fn request(revision: Revision, id: &Value, method: &str, mut params: Value) -> Value {
    if revision.era() == Era::Modern {
        params["_meta"] = modern();
    }
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

async fn peer(revision: Revision) -> RawPeer {
    match revision.era() {
        Era::Legacy => shaken(revision).await,
        Era::Modern => RawPeer::of(&scenario_server()),
    }
}

/// C-08: a message with an `id` member is never a notification.
#[tokio::test]
async fn c08_ids_that_are_no_ids_are_refused() {
    for revision in Revision::ALL {
        let mut peer = peer(revision).await;
        for id in [json!(null), json!(1.5), json!(true), json!([]), json!({})] {
            peer.send(request(revision, &id, "tools/list", json!({}))).await;
            let answer = peer.receive().await;
            assert_eq!(answer["error"]["code"], -32600, "{id}: {answer}");
            assert_eq!(answer.get("id"), None, "there is no id to answer under");
        }
        let answer = peer
            .request(request(revision, &json!("still here"), "tools/list", json!({})))
            .await;
        assert!(answer["result"]["tools"].is_array());
    }
}

/// C-09: the second request with an id in flight is refused, the first goes on; afterwards the id is free.
#[tokio::test]
async fn c09_an_id_in_flight_is_refused_and_the_first_stays() {
    for revision in Revision::ALL {
        let mut peer = peer(revision).await;
        peer.send(request(revision, &json!(1), "tools/call", json!({ "name": "wait" })))
            .await;
        let echo = json!({ "name": "echo", "arguments": { "text": "fast" } });
        let refused = peer
            .request(request(revision, &json!(1), "tools/call", echo.clone()))
            .await;
        assert_eq!(refused["error"]["code"], -32600);
        // The first one is still there: it can be cancelled, and then its id is free again.
        peer.send(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } }))
            .await;
        for _ in 0..2 {
            let answer = peer
                .request(request(revision, &json!(1), "tools/call", echo.clone()))
                .await;
            assert_eq!(answer["result"]["content"][0]["text"], "fast");
        }
    }
}

/// C-10: no params, empty params, null params.
#[tokio::test]
async fn c10_null_params_are_absent() {
    let mut peer = shaken(Revision::LATEST_LEGACY).await;
    for message in [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }),
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} }),
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": null }),
    ] {
        let answer = peer.request(message).await;
        assert!(answer["result"]["tools"].is_array(), "{answer}");
    }
    for params in [json!([]), json!("x"), json!(3)] {
        let answer = peer
            .request(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params }))
            .await;
        assert_eq!(answer["error"]["code"], -32602, "{params}");
    }
}

/// C-11: arguments may be absent; what is not an object never reaches the tool.
#[tokio::test]
async fn c11_arguments_are_an_object_or_absent() {
    for revision in Revision::ALL {
        let mut peer = peer(revision).await;
        for arguments in [None, Some(json!(null)), Some(json!({}))] {
            let mut params = json!({ "name": "show" });
            if let Some(arguments) = arguments {
                params["arguments"] = arguments;
            }
            let answer = peer.request(request(revision, &json!(1), "tools/call", params)).await;
            assert_eq!(answer["result"]["content"][0]["text"], "all kinds", "{answer}");
        }
        for arguments in [json!([1]), json!("{}"), json!(7), json!(false)] {
            let params = json!({ "name": "show", "arguments": arguments });
            let answer = peer.request(request(revision, &json!(1), "tools/call", params)).await;
            assert_eq!(answer["error"]["code"], -32602, "{arguments}");
        }
    }
}

/// C-12: an error carries the id of its request, with its JSON type.
#[tokio::test]
async fn c12_errors_carry_the_id_of_their_request() {
    for revision in Revision::ALL {
        let mut peer = peer(revision).await;
        let large: Value = serde_json::from_str("18446744073709551615").unwrap();
        for id in [
            json!("text"),
            json!(-3),
            json!(0),
            json!(9_007_199_254_740_993_i64),
            large,
        ] {
            for tool in ["lie", "panic", "no such tool"] {
                let answer = peer
                    .request(request(revision, &id, "tools/call", json!({ "name": tool })))
                    .await;
                assert!(answer["error"]["code"].is_i64(), "{answer}");
                assert_eq!(answer["id"], id);
            }
        }
    }
}

/// Rubbish is answered, at a bounded rate, and disturbs nothing.
#[tokio::test]
async fn rubbish_is_answered_within_bounds() {
    for revision in Revision::ALL {
        let mut peer = peer(revision).await;
        for (line, code) in [
            ("{", -32700),
            ("nonsense", -32700),
            ("7", -32600),
            ("\"text\"", -32600),
            (r#"{"jsonrpc":"1.0","id":5,"method":"ping"}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":5,"method":7}"#, -32600),
            (r#"{"id":5,"method":"ping"}"#, -32600),
        ] {
            peer.send_text(line).await;
            let answer = peer.receive().await;
            assert_eq!(answer["error"]["code"], code, "{line}: {answer}");
            assert_eq!(
                answer.get("id").is_some(),
                line.contains("\"id\":5"),
                "{line}: {answer}"
            );
        }
        for _ in 0..2000 {
            peer.send_text("rubbish").await;
        }
        let mut answers = 0;
        peer.send(request(revision, &json!("end"), "tools/list", json!({})))
            .await;
        loop {
            let message = peer.receive().await;
            if message["id"] == "end" {
                break;
            }
            answers += 1;
        }
        assert!(answers < 200, "{answers} answers to 2000 lines of rubbish");
    }
}

/// Deeply nested input is refused, not followed.
#[tokio::test]
async fn depth_is_bounded() {
    let mut peer = shaken(Revision::LATEST_LEGACY).await;
    for (depth, accepted) in [(100, true), (100_000, false)] {
        let nested = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let line = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"echo","arguments":{{"text":"a","x":{nested}}}}}}}"#
        );
        peer.send_text(&line).await;
        let answer = peer.response(&json!(1)).await;
        assert_eq!(answer.get("result").is_some(), accepted, "{depth}: {answer}");
    }
}
