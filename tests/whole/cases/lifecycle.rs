//! How connections begin.

use serde_json::{Value, json};
use trunkline::proto::client::Opening;
use trunkline::types::{Era, Revision};
use trunkline_testkit::RawPeer;
use trunkline_tests::scenario_server;

use super::{modern, scripted, shaken};

fn initialize(version: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } })
}

/// C-13: what comes between the answer to `initialize` and `initialized` is served.
#[tokio::test]
async fn c13_requests_before_initialized_do_not_end_the_link() {
    let mut peer = RawPeer::of(&scenario_server());
    peer.request(initialize("2025-11-25")).await;
    let level = json!({ "jsonrpc": "2.0", "id": 2, "method": "logging/setLevel", "params": { "level": "debug" } });
    assert!(peer.request(level).await["result"].is_object());
    assert!(
        peer.request(json!({ "jsonrpc": "2.0", "id": 3, "method": "ping" }))
            .await["result"]
            .is_object()
    );
    peer.send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))
        .await;
    let tools = peer
        .request(json!({ "jsonrpc": "2.0", "id": 4, "method": "tools/list" }))
        .await;
    assert!(tools["result"]["tools"].is_array());
}

#[tokio::test]
async fn before_any_agreement_only_ping_and_the_handshake_are_served() {
    let mut peer = RawPeer::of(&scenario_server());
    assert!(
        peer.request(json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }))
            .await["result"]
            .is_object()
    );
    let early = peer
        .request(json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" }))
        .await;
    assert_eq!(early["error"]["code"], -32602);
    assert!(
        early["error"]["message"].as_str().unwrap().contains("initialize"),
        "it says what to do"
    );
    peer.request(initialize("2025-06-18")).await;
    let again = peer.request(initialize("2025-06-18")).await;
    assert_eq!(again["error"]["code"], -32600, "once is enough");
}

/// The same version if it is spoken, else the newest that needs a handshake.
#[tokio::test]
async fn version_negotiation_by_the_handshake() {
    for (wanted, offered) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-11-25", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("", "2025-11-25"),
    ] {
        let mut peer = RawPeer::of(&scenario_server());
        let answer = peer.request(initialize(wanted)).await;
        assert_eq!(answer["result"]["protocolVersion"], offered, "{wanted}");
    }
    let modern_only = scenario_server().revisions([Revision::LATEST]);
    let answer = RawPeer::of(&modern_only).request(initialize("2025-11-25")).await;
    assert_eq!(
        answer["error"]["data"]["supported"],
        json!(["2026-07-28"]),
        "a person can read what is spoken here"
    );
}

#[tokio::test]
async fn discovery_names_what_is_spoken_and_by_whom() {
    let mut peer = RawPeer::of(&scenario_server());
    let ask = json!({ "jsonrpc": "2.0", "id": "d", "method": "server/discover", "params": { "_meta": modern() } });
    let result = peer.request(ask).await["result"].clone();
    assert_eq!(result["supportedVersions"], json!(["2026-07-28"]));
    assert_eq!(result["resultType"], "complete");
    assert_eq!(
        result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"],
        "scenario"
    );
    assert!(result["ttlMs"].as_i64().is_some_and(|ttl| ttl >= 0));
    assert!(result["capabilities"]["tools"].is_object());
}

/// C-14: any version that both speak will do.
#[tokio::test]
async fn c14_a_client_accepts_an_older_version() {
    for revision in Revision::ALL
        .into_iter()
        .filter(|revision| revision.era() == Era::Legacy)
    {
        let answer = format!(
            r#">{{"jsonrpc":"2.0","id":$ID,"result":{{"protocolVersion":"{revision}","capabilities":{{}},"serverInfo":{{"name":"s","version":"1"}}}}}}"#
        );
        let client = scripted(&["<initialize", &answer, "eof"]);
        let client = client
            .opening(Opening::Fixed(Revision::LATEST_LEGACY))
            .connect()
            .await
            .unwrap();
        assert_eq!(client.agreement().profile.revision, revision);
    }
    let unknown = r#">{"jsonrpc":"2.0","id":$ID,"result":{"protocolVersion":"1999-01-01","capabilities":{}}}"#;
    let client = scripted(&["<initialize", unknown, "eof"]);
    let error = client
        .opening(Opening::Fixed(Revision::LATEST_LEGACY))
        .connect()
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("1999-01-01") && error.contains("2025-11-25"), "{error}");
}

/// A probe is answered in many ways by servers that do not know it; only a modern answer counts.
#[tokio::test]
async fn any_answer_that_is_not_modern_leads_to_the_handshake() {
    for answer in [
        r#">{"jsonrpc":"2.0","id":$ID,"error":{"code":-32601,"message":"Method not found"}}"#,
        r#">{"jsonrpc":"2.0","id":$ID,"error":{"code":-32602,"message":"Invalid request parameters"}}"#,
        r#">{"jsonrpc":"2.0","id":$ID,"error":{"code":-32600,"message":"Not initialized"}}"#,
        r#">{"jsonrpc":"2.0","id":$ID,"error":{"code":-32022,"message":"a code of its own, without a list"}}"#,
        r#">{"jsonrpc":"2.0","error":{"code":-32700,"message":"what?"}}"#,
        r#">{"jsonrpc":"2.0","id":$ID,"result":{}}"#,
        r#">{"jsonrpc":"2.0","id":$ID,"result":[]}"#,
    ] {
        let client = scripted(&["<server/discover", answer, "meet", "eof"]).connect().await;
        let client = client.unwrap_or_else(|error| panic!("{answer}: {error}"));
        assert_eq!(client.agreement().profile.revision, Revision::LATEST_LEGACY, "{answer}");
    }
}

/// A modern server that does not speak what was asked is not taken for a legacy one.
#[tokio::test]
async fn a_modern_refusal_is_not_followed_by_the_handshake() {
    let refusal = r#">{"jsonrpc":"2.0","id":$ID,"error":{"code":-32022,"message":"no","data":{"supported":["2030-01-01"],"requested":"2026-07-28"}}}"#;
    let error = scripted(&["<server/discover", refusal, "hang"])
        .connect()
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("2030-01-01"), "{error}");
    let both = r#">{"jsonrpc":"2.0","id":$ID,"error":{"code":-32022,"message":"no","data":{"supported":["2030-01-01","2025-06-18"],"requested":"2026-07-28"}}}"#;
    let client = scripted(&["<server/discover", both, "meet", "eof"])
        .connect()
        .await
        .unwrap();
    assert_eq!(client.agreement().profile.revision, Revision::V2025_06_18);
}

/// A legacy server that dies of the probe is started again and met with the handshake.
#[tokio::test]
async fn a_server_that_dies_of_the_probe_is_started_again() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("started");
    let server = env!("CARGO_BIN_EXE_scripted-server");
    let script = format!(
        "if [ -e '{mark}' ]; then exec '{server}' meet eof; else touch '{mark}'; exec '{server}' '<server/discover' exit:3; fi",
        mark = mark.display()
    );
    let command = trunkline::transport::Command::new("sh").arg("-c").arg(script);
    let client = trunkline::Client::command(command).connect().await.unwrap();
    assert_eq!(client.agreement().profile.revision, Revision::LATEST_LEGACY);
    client.close().await;
}

/// C-15: what is not declared is not asked for; what is declared and not there is empty, with a warning.
#[tokio::test]
async fn c15_lists_of_features_that_are_not_there_are_empty() {
    let missing = r#">{"jsonrpc":"2.0","id":$ID,"error":{"code":-32601,"message":"Method not found"}}"#;
    let client = scripted(&[r#"meet:{"resources":{}}"#, "<resources/list", missing, "eof"]);
    let client = client
        .opening(Opening::Fixed(Revision::LATEST_LEGACY))
        .connect()
        .await
        .unwrap();
    let resources = client.resources().await.unwrap();
    assert!(
        resources.items.is_empty() && resources.warnings.len() == 1,
        "{:?}",
        resources.warnings
    );
    let tools = client.tools().await.unwrap();
    assert!(
        tools.items.is_empty() && tools.warnings.is_empty(),
        "nothing was asked: {:?}",
        tools.warnings
    );
    assert!(
        client
            .call("t", &json!({}))
            .await
            .unwrap_err()
            .to_string()
            .contains("Tools")
    );
}

#[tokio::test]
async fn removed_methods_are_unknown_in_both_directions_of_time() {
    let mut legacy = shaken(Revision::LATEST_LEGACY).await;
    for method in ["server/discover", "subscriptions/listen", "no/such/method"] {
        let answer = legacy
            .request(json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": {} }))
            .await;
        assert_eq!(answer["error"]["code"], -32601, "{method}");
    }
    let mut peer = RawPeer::of(&scenario_server());
    for method in [
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "initialize",
        "no/such/method",
    ] {
        let ask = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": { "_meta": modern() } });
        assert_eq!(peer.request(ask).await["error"]["code"], -32601, "{method}");
    }
}
