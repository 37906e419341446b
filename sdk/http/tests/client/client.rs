//! The client over this transport: what it makes of what happens below.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Notify;
use trunkline_client::types::{
    ClientCapabilities, Era, ErrorObject, Extra, LogLevel, Root, RootsCapability, SubscriptionFilter,
};
use trunkline_client::{
    CallError, CallOptions, Client, ConnectError, Connector, HandshakeError, Inputs, Notice, Remote, RemoteKind,
    Timeouts,
};

use crate::server::{Asked, Server, soon};

/// Connects to a modern server.
async fn modern(server: &mut Server) -> Client {
    let connecting = Client::http(server.url()).connect();
    let serve = async {
        let probe = server.expect("server/discover").await;
        assert_eq!(probe.header("mcp-protocol-version"), Some("2026-07-28"));
        probe
            .result(json!({
                "resultType": "complete", "supportedVersions": ["2026-07-28"],
                "capabilities": { "tools": { "listChanged": true }, "resources": {} },
            }))
            .await;
    };
    let (client, ()) = tokio::join!(connecting, serve);
    client.unwrap()
}

async fn legacy(server: &mut Server) -> Client {
    let connecting = Client::http(server.url()).connect();
    let serve = async {
        server.expect("server/discover").await.status(400).await;
        server.shake_hands("2025-06-18", Some("s")).await;
    };
    let (client, ()) = tokio::join!(connecting, serve);
    client.unwrap()
}

async fn fails(connector: Connector, serve: impl Future<Output = ()>) -> ConnectError {
    let (client, ()) = tokio::join!(connector.connect(), serve);
    client.unwrap_err()
}

async fn text(asked: Asked) {
    asked
        .result(json!({ "resultType": "complete", "content": [{ "type": "text", "text": "done" }] }))
        .await;
}

#[tokio::test]
async fn a_modern_server_is_met_by_one_request() {
    let mut server = Server::start().await;
    let client = modern(&mut server).await;
    assert_eq!(client.agreement().profile.era, Era::Modern);
    let (called, ()) = tokio::join!(client.call("x", &json!({})), async { text(server.next().await).await });
    assert_eq!(called.unwrap().text(), "done");
    client.close().await;
    assert!(server.is_quiet());
}

#[tokio::test]
async fn a_server_that_refuses_the_probe_somehow_is_asked_to_shake_hands() {
    for status in [400, 404, 405, 406, 415, 500] {
        let mut server = Server::start().await;
        let connecting = Client::http(server.url()).connect();
        let serve = async {
            server.expect("server/discover").await.status(status).await;
            server.shake_hands("2025-03-26", None).await;
        };
        let (client, ()) = tokio::join!(connecting, serve);
        assert_eq!(
            client.unwrap().agreement().profile.revision.name(),
            "2025-03-26",
            "C-14, {status}"
        );
    }
}

#[tokio::test]
async fn a_modern_error_keeps_the_client_modern() {
    let mut server = Server::start().await;
    let error = fails(Client::http(server.url()), async {
        let probe = server.expect("server/discover").await;
        let error = json!({ "code": -32022, "message": "no", "data": { "supported": ["2099-01-01"] } });
        let body = json!({ "jsonrpc": "2.0", "id": probe.id(), "error": error });
        probe.json_body(400, "", &body).await;
    })
    .await;
    assert!(error.to_string().contains("2099-01-01"), "{error}");
    assert!(server.is_quiet());
}

#[tokio::test]
async fn why_there_is_no_connection_is_said_with_what_to_do() {
    let mut server = Server::start().await;
    let error = fails(Client::http(server.url()), async {
        server
            .expect("server/discover")
            .await
            .answer(401, "WWW-Authenticate: Bearer\r\n", "")
            .await;
    })
    .await;
    assert!(
        error.to_string().contains("give it a header that authorizes you"),
        "{error}"
    );
    assert!(error.to_string().contains("401") && server.is_quiet(), "{error}");

    let url = server.url();
    drop(server);
    let error = Client::http(url).connect().await.unwrap_err();
    assert!(error.to_string().contains("cannot be reached"), "{error}");
    assert!(
        error.to_string().ends_with("check its address, and that it runs"),
        "{error}"
    );

    let mut server = Server::start().await;
    let error = fails(Client::http(server.url()), async {
        server.expect("server/discover").await.status(404).await;
        server.expect("initialize").await.answer(404, "", "no such page").await;
        server.expect_get().await.status(404).await;
    })
    .await;
    assert!(
        matches!(error, ConnectError::Handshake(HandshakeError::Undelivered(_), _)),
        "{error:?}"
    );
    assert!(error.to_string().contains("no such page"), "{error}");

    let error = Client::http("h.example").connect().await.unwrap_err();
    assert!(error.to_string().contains("http://"), "{error}");
}

#[tokio::test]
async fn a_legacy_server_is_remembered_until_it_is_none() {
    let mut server = Server::start().await;
    drop(legacy(&mut server).await);
    // What the first client still does is none of the second's.
    assert_eq!(server.next().await.verb(), "DELETE");
    let connecting = Client::http(server.url()).connect();
    let serve = async { server.shake_hands("2025-06-18", None).await };
    let (client, ()) = tokio::join!(connecting, serve);
    assert_eq!(client.unwrap().agreement().profile.era, Era::Legacy);

    let connecting = Client::http(server.url()).connect();
    let serve = async {
        server
            .expect("initialize")
            .await
            .error(400, -32022, "modern only")
            .await;
        // It might have been one of the first revision.
        server.expect_get().await.status(405).await;
        let probe = server.expect("server/discover").await;
        probe
            .result(json!({ "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {} }))
            .await;
    };
    let (client, ()) = tokio::join!(connecting, serve);
    assert_eq!(client.unwrap().agreement().profile.era, Era::Modern);
}

#[tokio::test]
async fn a_server_of_the_first_transport_is_not_probed() {
    let mut server = Server::start().await;
    let remote = Remote::new(server.url()).kind(RemoteKind::HttpSse);
    let serve = async {
        let mut events = server.expect_get().await.events().await;
        events.raw("event: endpoint\ndata: /m\n\n").await;
        let initialize = server.expect("initialize").await;
        let result = json!({ "protocolVersion": "2024-11-05", "capabilities": { "tools": {} } });
        let answer = json!({ "jsonrpc": "2.0", "id": initialize.id(), "result": result });
        initialize.status(202).await;
        events.event(None, &answer).await;
        server.expect("notifications/initialized").await.status(202).await;
        let call = server.expect("tools/call").await;
        call.status(202).await;
        drop(events);
    };
    let client = async {
        let client = Client::remote(remote).connect().await.unwrap();
        let lost = client.call("x", &json!({})).await.unwrap_err();
        assert!(matches!(lost, CallError::Lost { .. }) && lost.may_have_run(), "{lost}");
        assert!(lost.to_string().contains("ended its stream"), "{lost}");
    };
    tokio::join!(client, serve);
}

#[tokio::test]
async fn a_failed_exchange_says_whether_the_call_may_have_run_and_the_client_goes_on() {
    let mut server = Server::start().await;
    let client = modern(&mut server).await;
    let (broken, ()) = tokio::join!(client.call("x", &json!({})), async {
        drop(server.expect("tools/call").await);
    });
    let broken = broken.unwrap_err();
    assert!(
        matches!(broken, CallError::Undelivered(_)) && broken.may_have_run(),
        "{broken}"
    );
    assert!(
        broken
            .to_string()
            .starts_with("no answer came; the request may have run"),
        "{broken}"
    );
    let (refused, ()) = tokio::join!(client.call("x", &json!({})), async {
        server.next().await.status(429).await;
    });
    let refused = refused.unwrap_err();
    assert!(
        !refused.may_have_run() && refused.to_string().contains("429"),
        "{refused}"
    );
    let (called, ()) = tokio::join!(client.call("x", &json!({})), async { text(server.next().await).await });
    assert!(
        called.is_ok() && server.is_quiet(),
        "decision 12: no call was sent twice"
    );
}

#[tokio::test]
async fn what_only_asks_is_sent_once_more_under_a_new_id() {
    let mut server = Server::start().await;
    let client = modern(&mut server).await;
    let serve = async {
        let first = server.expect("resources/read").await;
        let id = first.id();
        drop(first);
        let second = server.expect("resources/read").await;
        assert_ne!(second.id(), id);
        second.result(json!({ "resultType": "complete", "contents": [] })).await;
    };
    let (read, ()) = tokio::join!(client.read("test://a"), serve);
    assert!(read.unwrap().contents.is_empty());

    let serve = async {
        drop(server.expect("tools/list").await);
        drop(server.expect("tools/list").await);
    };
    let (listed, ()) = tokio::join!(client.tools(), serve);
    assert!(
        listed.unwrap_err().may_have_run() && server.is_quiet(),
        "once more, not again and again"
    );
}

#[tokio::test]
async fn a_stream_of_notices_is_opened_again_and_tells_that_everything_may_have_changed() {
    let mut server = Server::start().await;
    let client = modern(&mut server).await;
    let filter = SubscriptionFilter {
        tools_list_changed: Some(true),
        resource_subscriptions: Some(vec!["test://a".to_owned()]),
        ..SubscriptionFilter::default()
    };
    let confirm = |asked: &Asked| {
        let params = asked.json()["params"]["notifications"].clone();
        json!({ "notifications": params, "_meta": { "io.modelcontextprotocol/subscriptionId": asked.id() } })
    };
    let serve = async {
        let asked = server.expect("subscriptions/listen").await;
        let acknowledged = confirm(&asked);
        let mut events = asked.events().await;
        events
            .notify("notifications/subscriptions/acknowledged", acknowledged)
            .await;
        events
    };
    let (subscription, events) = tokio::join!(client.listen(filter), serve);
    let mut subscription = subscription.unwrap();
    let first = events.asked.id();
    drop(events);
    // The first attempts fail too.
    drop(server.expect("subscriptions/listen").await);
    server.expect("subscriptions/listen").await.status(503).await;
    let again = server.expect("subscriptions/listen").await;
    assert_ne!(again.id(), first);
    let (id, acknowledged) = (again.id(), confirm(&again));
    let mut events = again.events().await;
    events
        .notify("notifications/subscriptions/acknowledged", acknowledged)
        .await;
    assert_eq!(soon(subscription.next()).await, Some(Notice::ToolsChanged));
    let uri = "test://a".to_owned();
    assert_eq!(
        soon(subscription.next()).await,
        Some(Notice::ResourceUpdated { uri: uri.clone() })
    );
    let meta = json!({ "io.modelcontextprotocol/subscriptionId": id });
    events
        .notify("notifications/resources/updated", json!({ "uri": uri, "_meta": meta }))
        .await;
    assert_eq!(soon(subscription.next()).await, Some(Notice::ResourceUpdated { uri }));
    drop(subscription);
    events.asked.closed().await;
}

#[tokio::test]
async fn a_stream_of_notices_that_is_refused_again_ends() {
    let mut server = Server::start().await;
    let client = modern(&mut server).await;
    let serve = async {
        let asked = server.expect("subscriptions/listen").await;
        let meta = json!({ "io.modelcontextprotocol/subscriptionId": asked.id() });
        let mut events = asked.events().await;
        let params = json!({ "notifications": {}, "_meta": meta });
        events.notify("notifications/subscriptions/acknowledged", params).await;
        events
    };
    let (subscription, events) = tokio::join!(client.listen(SubscriptionFilter::default()), serve);
    drop(events);
    server.expect("subscriptions/listen").await.status(403).await;
    assert_eq!(soon(subscription.unwrap().next()).await, None);
}

#[tokio::test]
async fn a_renewed_session_is_told_again_what_the_old_one_knew() {
    let mut server = Server::start().await;
    let client = legacy(&mut server).await;
    let (level, ()) = tokio::join!(client.set_log_level(LogLevel::Warning), async {
        server.expect("logging/setLevel").await.result(json!({})).await;
    });
    level.unwrap();
    let filter = SubscriptionFilter {
        resource_subscriptions: Some(vec!["test://a".to_owned()]),
        ..SubscriptionFilter::default()
    };
    let (subscription, ()) = tokio::join!(client.listen(filter), async {
        server.expect("resources/subscribe").await.result(json!({})).await;
    });
    let mut subscription = subscription.unwrap();
    let mut notices = client.notices();

    let serve = async {
        server.expect("tools/call").await.status(404).await;
        server.initialize("2025-06-18", Some("new")).await;
        let mut told = Vec::new();
        for _ in 0..4 {
            let asked = server.next().await;
            assert_eq!(asked.header("mcp-session-id"), Some("new"));
            told.push(asked.method());
            match asked.method().as_str() {
                "" => asked.status(405).await,
                "logging/setLevel" => {
                    assert_eq!(asked.json()["params"]["level"], "warning");
                    asked.result(json!({})).await;
                }
                "tools/call" => text(asked).await,
                _ => asked.result(json!({})).await,
            }
        }
        told.sort();
        assert_eq!(told, ["", "logging/setLevel", "resources/subscribe", "tools/call"]);
    };
    let (called, ()) = tokio::join!(client.call("x", &json!({})), serve);
    assert_eq!(called.unwrap().text(), "done", "it had not run");
    let uri = "test://a".to_owned();
    assert_eq!(
        soon(subscription.next()).await,
        Some(Notice::ResourceUpdated { uri: uri.clone() })
    );
    for expected in [
        Notice::ToolsChanged,
        Notice::ResourcesChanged,
        Notice::ResourceUpdated { uri },
    ] {
        assert_eq!(soon(notices.next()).await, Some(expected));
    }
}

/// Answers every question but the first, which it tells of.
#[derive(Default)]
struct Hesitant {
    asked: AtomicUsize,
    first: Arc<Notify>,
}

impl Inputs for Hesitant {
    fn capabilities(&self) -> ClientCapabilities {
        ClientCapabilities {
            roots: Some(RootsCapability::default()),
            ..ClientCapabilities::default()
        }
    }

    async fn roots(&self) -> Result<Vec<Root>, ErrorObject> {
        if self.asked.fetch_add(1, Ordering::Relaxed) == 0 {
            self.first.notify_one();
            std::future::pending::<()>().await;
        }
        Ok(Vec::new())
    }
}

#[tokio::test]
async fn a_question_of_a_new_session_is_answered_though_the_old_one_asked_by_its_id() {
    let mut server = Server::start().await;
    let hesitant = Hesitant::default();
    let first = Arc::clone(&hesitant.first);
    let connecting = Client::http(server.url()).inputs(hesitant).connect();
    let question = json!({ "jsonrpc": "2.0", "id": 1, "method": "roots/list" });
    let serve = async {
        server.expect("server/discover").await.status(400).await;
        server.initialize("2025-06-18", Some("old")).await;
        let mut events = server.expect_get().await.events().await;
        events.event(None, &question).await;
        events
    };
    let (client, _events) = tokio::join!(connecting, serve);
    let client = client.unwrap();
    soon(first.notified()).await;
    let serve = async {
        server.expect("tools/call").await.status(404).await;
        server.initialize("2025-06-18", Some("new")).await;
        let mut streams = Vec::new();
        loop {
            let asked = server.next().await;
            match (asked.verb(), asked.method().as_str()) {
                ("GET", _) => {
                    let mut events = asked.events().await;
                    events.event(None, &question).await;
                    streams.push(events);
                }
                (_, "tools/call") => text(asked).await,
                _ => {
                    let answer = json!({ "jsonrpc": "2.0", "id": 1, "result": { "roots": [] } });
                    assert_eq!(asked.json(), answer);
                    return asked.status(202).await;
                }
            }
        }
    };
    let (called, ()) = tokio::join!(client.call("x", &json!({})), serve);
    called.unwrap();
}

fn tool(name: &str, header: &str) -> Value {
    let property = json!({ "type": "string", "x-mcp-header": header });
    json!({ "name": name, "inputSchema": { "type": "object", "properties": { "region": property } } })
}

async fn list(asked: Asked, tools: Value) {
    asked
        .result(json!({ "resultType": "complete", "tools": tools, "ttlMs": 600_000, "cacheScope": "private" }))
        .await;
}

#[tokio::test]
async fn a_tool_whose_headers_break_the_rules_is_set_aside_by_name_and_reason() {
    let mut server = Server::start().await;
    let client = modern(&mut server).await;
    let serve = async {
        list(
            server.next().await,
            json!([tool("good", "Region"), tool("bad", "My Region")]),
        )
        .await;
    };
    let (listing, ()) = tokio::join!(client.tools(), serve);
    let listing = listing.unwrap();
    assert_eq!(
        listing.items.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(),
        ["good"]
    );
    assert_eq!(listing.rejected[0].name.as_deref(), Some("bad"));
    assert!(listing.rejected[0].why.contains("My Region"), "{:?}", listing.rejected);

    // A legacy server knows nothing of such rules.
    let mut server = Server::start().await;
    let client = legacy(&mut server).await;
    let serve = async {
        server
            .next()
            .await
            .result(json!({ "tools": [tool("bad", "My Region")] }))
            .await;
    };
    let (listing, ()) = tokio::join!(client.tools(), serve);
    assert_eq!(listing.unwrap().items.len(), 1);
}

#[tokio::test]
async fn headers_that_do_not_fit_any_more_are_learned_anew_once() {
    let mut server = Server::start().await;
    let client = modern(&mut server).await;
    let serve = async { list(server.next().await, json!([tool("x", "Region")])).await };
    let (listing, ()) = tokio::join!(client.tools(), serve);
    listing.unwrap();
    let arguments = json!({ "region": "eu" });
    let serve = async {
        let first = server.expect("tools/call").await;
        assert_eq!(first.header("mcp-param-region"), Some("eu"));
        first.error(400, -32020, "the header is missing").await;
        list(server.expect("tools/list").await, json!([tool("x", "Zone")])).await;
        let second = server.expect("tools/call").await;
        assert_eq!(
            (second.header("mcp-param-region"), second.header("mcp-param-zone")),
            (None, Some("eu"))
        );
        text(second).await;
    };
    let (called, ()) = tokio::join!(client.call("x", &arguments), serve);
    called.unwrap();

    let serve = async {
        for _ in 0..2 {
            server
                .expect("tools/call")
                .await
                .error(400, -32020, "still missing")
                .await;
            if let Ok(asked) = tokio::time::timeout(Duration::from_millis(300), server.next()).await {
                list(asked, json!([tool("x", "Zone")])).await;
            }
        }
    };
    let (called, ()) = tokio::join!(client.call("x", &arguments), serve);
    let error = called.unwrap_err();
    assert!(
        matches!(&error, CallError::Refused(error) if error.code == -32020),
        "{error}"
    );
    assert!(!error.may_have_run());
}

#[tokio::test]
async fn what_the_transport_warns_of_stands_in_the_report_of_noise() {
    let mut server = Server::start().await;
    let connecting = Client::http(server.url()).connect();
    let serve = async {
        server.expect("server/discover").await.status(400).await;
        server.initialize("2025-11-25", None).await;
        server.expect_get().await.status(404).await;
        server
            .expect("tools/call")
            .await
            .json_body(200, "", &json!("junk"))
            .await;
    };
    let client = async {
        let client = connecting.await.unwrap();
        assert!(client.call("x", &json!({})).await.unwrap_err().may_have_run());
        client
    };
    let (client, ()) = tokio::join!(client, serve);
    let noise: Vec<String> = client.noise().last.iter().map(ToString::to_string).collect();
    assert!(
        noise
            .iter()
            .any(|noise| noise.contains("no stream to listen to: http://") && noise.contains("HTTP 404")),
        "{noise:?}"
    );
    assert!(noise.iter().any(|noise| noise.contains("junk")), "{noise:?}");
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_closes_its_stream() {
    let mut server = Server::start().await;
    let client = modern(&mut server).await;
    let mut call = Box::pin(client.call("slow", &json!({})));
    let events = tokio::select! {
        answered = &mut call => panic!("{answered:?}"),
        asked = server.expect("tools/call") => asked.events().await,
    };
    drop(call);
    events.asked.closed().await;
}

#[tokio::test]
async fn a_server_that_is_silent_or_only_alive_is_left_when_the_call_is_out_of_time() {
    let mut server = Server::start().await;
    let client = modern(&mut server).await;
    for speaks in [false, true] {
        let options = CallOptions {
            timeouts: Some(Timeouts::fixed(Duration::from_millis(300))),
            ..CallOptions::default()
        };
        let serve = async {
            let mut asked = server.expect("tools/call").await;
            if speaks {
                let mut events = asked.events().await;
                events.raw(": alive\n\n").await;
                asked = events.asked;
            }
            asked.closed().await;
        };
        let (called, ()) = tokio::join!(client.request_call("slow", Extra::new(), options), serve);
        assert_eq!(called.unwrap_err(), CallError::TimedOut);
    }
    assert!(server.is_quiet(), "nothing is said about it in the modern era");
}
