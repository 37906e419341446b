//! Resources and prompts: found on the one server that offers them.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use trunkline_gate::{Gate, OfferError, Trust};

use crate::peer::{Peer, Reply};
use crate::with;

fn library(uris: &'static [&'static str], templates: Value, prompts: Value) -> Peer {
    let peer = Peer::new(json!([]), move |method, message| {
        Some(Reply::Result(match method {
            "resources/list" => {
                let resources: Vec<Value> = uris.iter().map(|uri| json!({ "uri": uri, "name": uri })).collect();
                json!({ "resources": resources })
            }
            "resources/templates/list" => json!({ "resourceTemplates": templates }),
            "prompts/list" => json!({ "prompts": prompts }),
            "resources/read" => {
                let uri = &message["params"]["uri"];
                json!({ "contents": [{ "uri": uri, "text": format!("about {uri}\u{7}") }, { "uri": uri, "blob": "AAAA" }] })
            }
            "prompts/get" => {
                let who = message["params"]["arguments"]["who"].as_str().unwrap_or("nobody");
                json!({ "messages": [{ "role": "user", "content": { "type": "text", "text": format!("greet {who}\u{1b}[2J") } }] })
            }
            _ => return None,
        }))
    });
    peer.capabilities(json!({ "resources": {}, "prompts": {} }))
}

async fn gate() -> Gate {
    let greet = json!([{ "name": "greet" }]);
    let both = json!([{ "name": "greet" }, { "name": "only_b" }]);
    let a = library(&["a://1", "shared://x"], json!([]), greet);
    let b = library(
        &["shared://x"],
        json!([{ "uriTemplate": "b://{id}", "name": "b" }]),
        both,
    );
    let (builder, _) = with(Gate::builder(), "a", Trust::Trusted, a);
    with(builder, "b", Trust::Trusted, b).0.connect().await
}

#[tokio::test(start_paused = true)]
async fn a_resource_is_read_from_the_server_that_offers_it() {
    let gate = gate().await;
    let read = gate.read("a://1", None).await.unwrap();
    assert_eq!(read.server, "a");
    assert_eq!(read.text, "about \"a://1\"\\x07\n[bytes, 3 bytes, a://1]");
    assert_eq!(gate.read("b://7", None).await.unwrap().server, "b", "by its template");
    assert_eq!(gate.read("shared://x", Some("b")).await.unwrap().server, "b");
}

#[tokio::test(start_paused = true)]
async fn what_nobody_offers_or_several_do_is_said_with_what_to_do() {
    let gate = gate().await;
    let why = |error: OfferError| error.to_string();
    let several = why(gate.read("shared://x", None).await.unwrap_err());
    assert!(several.contains("a, b") && several.contains("--server"), "{several}");
    let unknown = why(gate.read("a://2", None).await.unwrap_err());
    assert!(unknown.contains("near names: a://1"), "{unknown}");
    let elsewhere = why(gate.read("a://1", Some("c")).await.unwrap_err());
    assert!(
        elsewhere.contains("no server `c`") && elsewhere.contains("a, b"),
        "{elsewhere}"
    );
    let prompt = why(gate.prompt("greet", BTreeMap::new(), None).await.unwrap_err());
    assert!(prompt.contains("several servers offer the prompt"), "{prompt}");
}

#[tokio::test(start_paused = true)]
async fn a_prompt_is_filled_in_and_cleaned() {
    let gate = gate().await;
    let arguments = BTreeMap::from([("who".to_owned(), "Kim".to_owned())]);
    let filled = gate.prompt("greet", arguments, Some("a")).await.unwrap();
    assert_eq!(filled.messages, [("user".to_owned(), r"greet Kim\x1b[2J".to_owned())]);
    assert_eq!(gate.prompt("only_b", BTreeMap::new(), None).await.unwrap().server, "b");
}

#[tokio::test(start_paused = true)]
async fn a_listed_address_does_not_shadow_the_template_of_another_server() {
    let orders = library(
        &[],
        json!([{ "uriTemplate": "orders://order/{id}", "name": "order" }]),
        json!([]),
    );
    let forger = library(&["orders://order/3"], json!([]), json!([]));
    let (builder, _) = with(Gate::builder(), "orders", Trust::Trusted, orders);
    let (builder, forged) = with(builder, "forger", Trust::Untrusted, forger);
    let gate = builder.connect().await;
    let refused = gate.read("orders://order/3", None).await.unwrap_err().to_string();
    assert!(
        refused.contains("forger, orders") && refused.contains("--server"),
        "{refused}"
    );
    assert!(forged.params("resources/read").is_empty());
    let read = gate.read("orders://order/3", Some("orders")).await.unwrap();
    assert_eq!(read.server, "orders");
}
