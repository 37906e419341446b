//! Finding out what a server speaks.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;
use trunkline_client::types::{Era, Revision};
use trunkline_client::{ConnectError, HandshakeError, Opening};

use crate::peer::{legacy, modern, peer};

#[tokio::test]
async fn a_modern_server_is_met_by_the_probe_alone() {
    let (mut peer, connector) = peer();
    let serve = async {
        let probe = peer.expect("server/discover").await;
        let meta = &probe["params"]["_meta"];
        assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], Revision::LATEST.name());
        assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "tester");
        let result = json!({
            "resultType": "complete", "supportedVersions": [Revision::LATEST.name()],
            "capabilities": { "tools": {} }, "instructions": "be gentle",
        });
        peer.answer(&probe, result).await;
    };
    let (client, ()) = tokio::join!(connector.name("tester", "7").connect(), serve);
    let client = client.unwrap();
    assert_eq!(client.agreement().profile.era, Era::Modern);
    assert_eq!(client.agreement().instructions.as_deref(), Some("be gentle"));
}

#[tokio::test]
async fn we_say_who_we_are_by_default() {
    let (mut peer, connector) = peer();
    let serve = async {
        let probe = peer.expect("server/discover").await;
        let info = &probe["params"]["_meta"]["io.modelcontextprotocol/clientInfo"];
        assert_eq!(
            *info,
            json!({ "name": "trunkline-client", "version": env!("CARGO_PKG_VERSION") })
        );
        drop(peer);
    };
    let (client, ()) = tokio::join!(connector.connect(), serve);
    assert!(client.is_err());
}

#[tokio::test]
async fn any_legacy_revision_that_is_known_will_do() {
    for revision in Revision::ALL
        .into_iter()
        .filter(|revision| revision.era() == Era::Legacy)
    {
        let (mut peer, connector) = peer();
        let (client, ()) = tokio::join!(connector.connect(), peer.be_legacy(revision, json!({})));
        assert_eq!(client.unwrap().agreement().profile.revision, revision, "C-14");
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_server_is_taken_for_a_legacy_one() {
    let (mut peer, connector) = peer();
    let started = Instant::now();
    let serve = async {
        peer.expect("server/discover").await;
        peer.shake_hands(Revision::LATEST_LEGACY, json!({})).await;
    };
    let (client, ()) = tokio::join!(connector.probe(Duration::from_secs(1)).connect(), serve);
    assert_eq!(client.unwrap().agreement().profile.era, Era::Legacy);
    assert!(started.elapsed() >= Duration::from_secs(1) && started.elapsed() < Duration::from_secs(2));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers_is_given_up() {
    let (mut peer, connector) = peer();
    let started = Instant::now();
    let connecting = connector
        .probe(Duration::from_secs(1))
        .handshake(Duration::from_secs(5))
        .connect();
    let serve = async {
        peer.expect("server/discover").await;
        peer.expect("initialize").await;
        peer
    };
    let (client, _peer) = tokio::join!(connecting, serve);
    let error = client.unwrap_err();
    assert!(
        matches!(error, ConnectError::Handshake(HandshakeError::Silent, _)),
        "{error}"
    );
    assert_eq!(started.elapsed().as_secs(), 6);
    assert_eq!(
        error.to_string(),
        "the server did not answer the handshake in time; check that it is an MCP server, or allow it more time \
         for its start"
    );
}

#[tokio::test]
async fn a_fixed_opening_is_not_left() {
    let (mut legacy_peer, connector) = peer();
    let connecting = connector.opening(Opening::Fixed(Revision::V2025_06_18)).connect();
    let (client, ()) = tokio::join!(connecting, legacy_peer.shake_hands(Revision::V2025_06_18, json!({})));
    assert_eq!(client.unwrap().agreement().profile.revision, Revision::V2025_06_18);

    let (mut modern_peer, connector) = peer();
    let connecting = connector.opening(Opening::Fixed(Revision::LATEST)).connect();
    let serve = async {
        let probe = modern_peer.expect("server/discover").await;
        modern_peer.refuse(&probe, -32601, "what?").await;
        assert_eq!(modern_peer.next().await, None, "nothing else is tried");
    };
    let (client, ()) = tokio::join!(connecting, serve);
    assert!(matches!(
        client.unwrap_err(),
        ConnectError::Handshake(HandshakeError::Refused(_), _)
    ));
}

#[tokio::test]
async fn no_common_revision_is_said_so() {
    let (mut peer, connector) = peer();
    let serve = async {
        let probe = peer.expect("server/discover").await;
        let result = json!({ "resultType": "complete", "supportedVersions": ["2099-01-01"], "capabilities": {} });
        peer.answer(&probe, result).await;
        assert_eq!(peer.next().await, None, "the client leaves");
    };
    let (client, ()) = tokio::join!(connector.connect(), serve);
    let error = client.unwrap_err().to_string();
    assert!(
        error.contains("2099-01-01") && error.contains(Revision::LATEST.name()),
        "{error}"
    );
    assert!(!error.contains('\n'), "{error}");
}

/// A refusal that names what the server speaks.
fn unsupported(probe: &serde_json::Value, supported: &[&str]) -> serde_json::Value {
    let data = json!({ "supported": supported, "requested": Revision::LATEST.name() });
    let error = json!({ "code": -32022, "message": "Unsupported protocol version", "data": data });
    json!({ "jsonrpc": "2.0", "id": probe["id"], "error": error })
}

#[tokio::test]
async fn a_refusal_that_names_what_we_speak_is_followed_by_one_more_probe() {
    let (mut peer, connector) = peer();
    let named = [Revision::LATEST.name(), "2025-11-25"];
    let serve = async {
        let probe = peer.expect("server/discover").await;
        peer.send(unsupported(&probe, &named)).await;
        let again = peer.expect("server/discover").await;
        assert_ne!(again["id"], probe["id"]);
        let result = json!({ "resultType": "complete", "supportedVersions": named, "capabilities": {} });
        peer.answer(&again, result).await;
    };
    let (client, ()) = tokio::join!(connector.connect(), serve);
    assert_eq!(client.unwrap().agreement().profile.revision, Revision::LATEST);

    // One that refuses what it names is not asked for ever.
    let (mut stubborn, connector) = self::peer();
    let serve = async {
        for _ in 0..2 {
            let probe = stubborn.expect("server/discover").await;
            stubborn.send(unsupported(&probe, &named[..1])).await;
        }
        assert_eq!(stubborn.next().await, None, "nothing else is tried");
    };
    let (client, ()) = tokio::join!(connector.connect(), serve);
    let error = client.unwrap_err();
    assert!(
        matches!(error, ConnectError::Handshake(HandshakeError::Refused(_), _)),
        "{error}"
    );
}

#[tokio::test]
async fn noise_before_and_during_the_handshake_is_set_aside() {
    let (mut peer, connector) = peer();
    let serve = async {
        peer.line("Server starting on port 0…").await;
        let probe = peer.expect("server/discover").await;
        peer.refuse(&probe, -32601, "what?").await;
        let initialize = peer.expect("initialize").await;
        peer.line("{ pretty: 1").await;
        let result = json!({ "protocolVersion": Revision::LATEST_LEGACY.name(), "capabilities": {} });
        peer.answer(&initialize, result).await;
    };
    let (client, ()) = tokio::join!(connector.connect(), serve);
    let noise = client.unwrap().noise();
    assert_eq!(noise.count, 2);
    assert!(noise.last[0].to_string().contains("Server starting"), "{noise:?}");
}

#[tokio::test]
async fn header_framing_fails_the_start_at_once() {
    let (mut peer, connector) = peer();
    let serve = async {
        peer.expect("server/discover").await;
        peer.line("Content-Length: 40").await;
        peer.line("").await;
        peer
    };
    let (client, _peer) = tokio::join!(connector.connect(), serve);
    let error = client.unwrap_err();
    assert!(matches!(error, ConnectError::Transport(_)), "C-03: {error:?}");
    assert!(error.to_string().contains("Content-Length: 40"), "{error}");
}

#[tokio::test]
async fn a_dropped_attempt_ends_the_connection() {
    let (mut peer, connector) = peer();
    let connecting = tokio::spawn(connector.connect());
    peer.expect("server/discover").await;
    connecting.abort();
    assert_eq!(peer.next().await, None);
}

#[tokio::test]
async fn ping_in_both_eras() {
    let (mut peer, client) = modern(json!({})).await;
    let (pong, ()) = tokio::join!(client.ping(), peer.be_modern(json!({})));
    assert_eq!(pong, Ok(()));
    let (mut peer, client) = legacy(json!({})).await;
    let (pong, _) = tokio::join!(client.ping(), peer.serve("ping", json!({})));
    assert_eq!(pong, Ok(()));
}

#[tokio::test]
async fn a_connector_outside_of_a_runtime_says_so() {
    let (_peer, connector) = peer();
    let error = std::thread::spawn(|| {
        let mut connecting = std::pin::pin!(connector.connect());
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        match connecting.as_mut().poll(&mut cx) {
            std::task::Poll::Ready(Err(error)) => error.to_string(),
            other => panic!("{other:?}"),
        }
    });
    assert!(error.join().unwrap().contains("runtime"));
}
