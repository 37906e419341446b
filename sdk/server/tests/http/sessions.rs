//! Sessions of the legacy era
//! ([sessions](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management)).

use std::collections::HashSet;
use std::time::Duration;

use serde_json::{Value, json};
use trunkline_server::HttpOptions;
use trunkline_types::Revision;

use crate::speak::{Client, LEGACY, MODERN, NEWEST_LEGACY, initialize, message, send, text};
use crate::stage::{End, Served};
use crate::wire::Request;

#[tokio::test]
async fn a_session_is_opened_used_and_ended_in_every_revision() {
    let served = Served::start().await;
    for revision in LEGACY {
        let client = Client::open(&served, revision).await;
        assert_eq!(served.endpoint.sessions(), 1);
        let answer = served.ask(&client.call(1, "echo", json!({ "text": "hi" }))).await;
        assert_eq!((answer.status(), text(&answer.json())), (200, "hi"), "{revision}");
        assert_eq!(client.ping(&served).await.json()["result"], json!({}));
        let answer = served.ask(&client.delete()).await;
        assert_eq!((answer.status(), answer.body.len()), (204, 0));
        assert_eq!(served.endpoint.sessions(), 0);
        for request in [
            client.request(2, "ping", json!({})),
            client.cancel(1),
            client.get(),
            client.delete(),
            client.resume("1-0"),
        ] {
            assert_eq!(
                served.ask(&request).await.error(),
                (404, -32600, Value::Null),
                "{request:?}"
            );
        }
    }
    served.stop().await;
}

/// 128 random bits, as hexadecimal digits: visible ASCII, and no two alike.
#[tokio::test]
async fn nobody_can_guess_a_session() {
    let served = Served::start().await;
    let mut seen = HashSet::new();
    for _ in 0..100 {
        let session = Client::open(&served, NEWEST_LEGACY).await.session;
        assert!(
            session.len() == 32 && session.bytes().all(|digit| digit.is_ascii_hexdigit()),
            "{session}"
        );
        assert!(seen.insert(session));
    }
    let differs = |place: usize| seen.iter().map(|id| id.as_bytes()[place]).collect::<HashSet<_>>().len();
    assert!(
        (0..32).all(|place| differs(place) > 4),
        "every digit is random: {seen:?}"
    );
    served.stop().await;
}

/// A client cannot choose the name of its session, nor open one in another's name.
#[tokio::test]
async fn a_session_cannot_be_fixed_beforehand() {
    let served = Served::start().await;
    let wanted = "0123456789abcdef0123456789abcdef";
    let request = initialize(1, NEWEST_LEGACY, json!({})).header("Mcp-Session-Id", wanted);
    assert_eq!(served.ask(&request).await.error(), (404, -32600, Value::Null));
    assert_eq!(served.endpoint.sessions(), 0);
    let client = Client::open(&served, NEWEST_LEGACY).await;
    let again = client.dress(initialize(1, NEWEST_LEGACY, json!({})));
    assert_eq!(
        served.ask(&again).await.error(),
        (400, -32600, json!(1)),
        "it is initialized already"
    );
    assert_eq!(client.ping(&served).await.status(), 200);
    served.stop().await;
}

#[tokio::test]
async fn the_name_of_the_session_must_be_right() {
    let served = Served::start().await;
    let client = Client::open(&served, NEWEST_LEGACY).await;
    let ping = || Request::post(&message(1, "ping", json!({})));
    let id = client.session.clone();
    let upper = id.to_ascii_uppercase();
    for (named, status) in [
        (vec![], 400),
        (vec![""], 404),
        (vec!["nobody"], 404),
        (vec!["00000000000000000000000000000000"], 404),
        (vec!["+0000000000000000000000000000000"], 404),
        (vec![&id[1..]], 404),
        (vec![upper.as_str()], if upper == id { 200 } else { 404 }),
        (vec!["ünknown"], 404),
        (vec![id.as_str(), id.as_str()], 400),
        (vec![id.as_str(), "nobody"], 400),
        (vec![id.as_str()], 200),
    ] {
        let request = named
            .iter()
            .fold(ping(), |request, id| request.header("mcp-session-id", id));
        assert_eq!(served.ask(&request).await.status(), status, "{named:?}");
    }
    for verb in [Request::get(), Request::new("DELETE", "/mcp")] {
        assert_eq!(served.ask(&verb).await.error(), (400, -32600, Value::Null), "{verb:?}");
    }
    served.stop().await;
}

/// A principal as a layer in front would put it into the request.
#[tokio::test]
async fn a_session_belongs_to_who_opened_it() {
    use crate::tower::{ask, of};

    let stage = crate::stage::Stage::default();
    let endpoint = crate::stage::server(stage).http(HttpOptions::default()).unwrap();
    let opened = ask(&endpoint, of(&initialize(0, NEWEST_LEGACY, json!({})), "ann")).await;
    let session = opened.headers["mcp-session-id"].to_str().unwrap().to_owned();
    let client = Client {
        session,
        revision: NEWEST_LEGACY,
    };
    let whoami = client.call(1, "whoami", json!({}));
    for (principal, status) in [("ann", 200), ("bob", 404), ("", 404)] {
        let answer = ask(&endpoint, of(&whoami, principal)).await;
        assert_eq!(answer.status, status, "{principal}");
        if status == 200 {
            assert_eq!(text(&answer.json()), "\"ann\"");
        }
    }
    for request in [client.get(), client.delete()] {
        assert_eq!(ask(&endpoint, of(&request, "bob")).await.status, 404);
    }
    assert_eq!(endpoint.sessions(), 1);
    assert_eq!(ask(&endpoint, of(&client.delete(), "ann")).await.status, 204);
    assert_eq!(endpoint.sessions(), 0);
}

#[tokio::test]
async fn the_version_header_may_be_absent_but_not_wrong() {
    let served = Served::start().await;
    for revision in LEGACY {
        let client = Client::open(&served, revision).await;
        let ping = || Request::post(&message(1, "ping", json!({}))).header("Mcp-Session-Id", &client.session);
        for (versions, status) in [
            (vec![], 200),
            (vec![revision], 200),
            // Another one that is spoken: which one was agreed on is known.
            (vec!["2025-06-18"], 200),
            (vec!["2024-11-05"], 200),
            (vec![MODERN], 400),
            (vec!["1999-01-01"], 400),
            (vec![""], 400),
            (vec![revision, revision], 400),
        ] {
            let request = versions.iter().fold(ping(), |request, version| {
                request.header("MCP-Protocol-Version", version)
            });
            let answer = served.ask(&request).await;
            assert_eq!(answer.status(), status, "{revision}: {versions:?}");
        }
        let listen = client.get().with("MCP-Protocol-Version", "1999-01-01");
        assert_eq!(served.ask(&listen).await.status(), 400);
    }
    served.stop().await;
}

/// The handshake itself comes with the header and without it.
#[tokio::test]
async fn a_handshake_agrees_on_what_both_speak() {
    let served = Served::start().await;
    for (wanted, agreed) in [
        ("2025-06-18", "2025-06-18"),
        ("2024-11-05", "2024-11-05"),
        ("1999-01-01", NEWEST_LEGACY),
        (MODERN, NEWEST_LEGACY),
    ] {
        for header in [None, Some(wanted)] {
            let mut request = initialize("i", wanted, json!({}));
            if let Some(version) = header {
                request = request.header("MCP-Protocol-Version", version);
            }
            let answer = served.ask(&request).await;
            assert_eq!(answer.status(), 200, "{wanted}");
            assert_eq!(answer.json()["result"]["protocolVersion"], agreed, "{wanted}");
            assert_eq!(answer.json()["id"], "i");
        }
    }
    served.stop().await;
}

#[tokio::test]
async fn a_handshake_that_fails_leaves_no_session() {
    let served = Served::start().await;
    for params in [json!({}), json!({ "protocolVersion": 5 }), json!([])] {
        let answer = served
            .ask(&Request::post(&message(1, "initialize", params.clone())))
            .await;
        assert_eq!(answer.error(), (200, -32602, json!(1)), "{params}");
        assert_eq!(answer.head.get("mcp-session-id"), None);
    }
    let narrow = initialize(1, NEWEST_LEGACY, json!({})).with("Accept", "application/json");
    assert_eq!(served.ask(&narrow).await.error(), (406, -32600, json!(1)));
    assert_eq!(served.endpoint.sessions(), 0);
    served.stop().await;
}

#[tokio::test]
async fn what_a_client_takes_matters_only_where_it_gets_something() {
    let served = Served::start().await;
    let client = Client::open(&served, NEWEST_LEGACY).await;
    let narrow = |request: Request| request.with("Accept", "application/json");
    let answer = served.ask(&narrow(client.request(1, "ping", json!({})))).await;
    assert_eq!(answer.error(), (406, -32600, json!(1)));
    assert_eq!(served.ask(&narrow(client.cancel(9))).await.status(), 202);
    assert_eq!(served.ask(&narrow(client.get())).await.status(), 406);
    served.events(&client.get().with("Accept", "text/*")).await;
    served.stop().await;
}

/// So many sessions, and one more.
#[tokio::test]
async fn there_is_room_for_so_many_sessions_and_no_more() {
    let served = Served::with(HttpOptions::default().with_max_sessions(3)).await;
    let mut clients = Vec::new();
    for _ in 0..3 {
        clients.push(Client::open(&served, NEWEST_LEGACY).await);
    }
    let one_more = initialize(0, NEWEST_LEGACY, json!({}));
    let answer = served.ask(&one_more).await;
    assert_eq!(answer.status(), 503);
    assert_eq!(answer.head.get("retry-after"), Some("10"));
    // The others do not notice, and an end makes room.
    assert_eq!(clients[2].ping(&served).await.status(), 200);
    served.ask(&clients[0].delete()).await;
    assert_eq!(served.ask(&one_more).await.status(), 200);
    assert_eq!(served.endpoint.sessions(), 3);
    served.stop().await;
}

/// A client that dies without a word leaves room for the next one (C-32).
#[tokio::test]
async fn a_second_client_is_not_told_that_the_first_was_there() {
    let served = Served::start().await;
    let first = Client::open(&served, NEWEST_LEGACY).await;
    let left = send(&served, &first.call(1, "puppet", json!({ "name": "a" }))).await;
    let puppet = served.stage.puppet("a").await;
    drop(left);
    let second = Client::open(&served, NEWEST_LEGACY).await;
    assert_ne!(first.session, second.session);
    assert_eq!(
        text(
            &served
                .ask(&second.call(1, "echo", json!({ "text": "mine" })))
                .await
                .json()
        ),
        "mine"
    );
    drop(puppet);
    served.stop().await;
}

#[tokio::test]
async fn the_end_of_a_session_stops_what_runs_in_it() {
    let served = Served::start().await;
    let (one, two) = (
        Client::open(&served, NEWEST_LEGACY).await,
        Client::open(&served, NEWEST_LEGACY).await,
    );
    let mut waiting = send(&served, &one.call(1, "puppet", json!({ "name": "one" }))).await;
    let mut other = send(&served, &two.call(1, "puppet", json!({ "name": "two" }))).await;
    let mut listening = one.listen(&served).await;
    let (first, second) = (served.stage.puppet("one").await, served.stage.puppet("two").await);
    assert_eq!(served.ask(&one.delete()).await.status(), 204);
    assert_eq!(first.end().await, End::Dropped);
    assert_eq!(listening.block().await, None);
    assert_eq!(
        waiting.answer().await.error(),
        (404, -32600, Value::Null),
        "it was not answered yet"
    );
    second.finish("not mine");
    assert_eq!(text(&other.answer().await.json()), "not mine");
    served.stop().await;
}

#[tokio::test]
async fn a_server_without_the_legacy_era_has_no_sessions() {
    let stage = crate::stage::Stage::default();
    let server = crate::stage::server(stage.clone()).revisions([Revision::LATEST]);
    let served = Served::over(server, stage, HttpOptions::default()).await;
    let answer = served.ask(&initialize(1, NEWEST_LEGACY, json!({}))).await;
    assert_eq!(answer.error(), (400, -32022, json!(1)));
    assert_eq!(answer.json()["error"]["data"]["supported"], json!([MODERN]));
    for verb in ["GET", "DELETE"] {
        for path in ["/mcp", "/sse"] {
            let request = Request::new(verb, path)
                .header("Accept", "text/event-stream")
                .header("Mcp-Session-Id", "00000000000000000000000000000000");
            let answer = served.ask(&request).await;
            assert_eq!(
                (answer.status(), answer.head.get("allow")),
                (405, Some("POST")),
                "{verb} {path}"
            );
        }
    }
    // Whoever forgets the version is told so in the words of this era.
    let list = Request::post(&message(1, "tools/list", json!({}))).header("Mcp-Session-Id", "x");
    assert_eq!(served.ask(&list).await.error(), (400, -32020, json!(1)));
    served.stop().await;
}

#[tokio::test]
async fn a_modern_client_has_nothing_to_get() {
    let served = Served::start().await;
    for verb in [Request::get(), Request::new("DELETE", "/mcp")] {
        let answer = served.ask(&verb.header("MCP-Protocol-Version", MODERN)).await;
        assert_eq!((answer.status(), answer.head.get("allow")), (405, Some("POST")));
    }
    served.stop().await;
}

/// Time only passes where somebody waits for it: see [`crate::tower`].
#[tokio::test(start_paused = true)]
async fn a_session_that_nobody_uses_ends() {
    use crate::tower::{ask, plain};

    let stage = crate::stage::Stage::default();
    let idle = Duration::from_secs(60);
    let options = HttpOptions::default().with_session_idle(idle);
    let endpoint = crate::stage::server(stage.clone()).http(options).unwrap();
    let client = crate::tower::open(&endpoint, NEWEST_LEGACY).await;
    // Whoever is heard of now and then stays.
    for _ in 0..5 {
        tokio::time::sleep(Duration::from_secs(50)).await;
        assert_eq!(
            ask(&endpoint, plain(&client.request(1, "ping", json!({}))))
                .await
                .status,
            200
        );
    }
    tokio::time::sleep(Duration::from_secs(59)).await;
    assert_eq!(endpoint.sessions(), 1);
    tokio::time::sleep(Duration::from_secs(7)).await;
    assert_eq!(endpoint.sessions(), 0, "at most one round of five seconds later");
    assert_eq!(
        ask(&endpoint, plain(&client.request(1, "ping", json!({}))))
            .await
            .status,
        404
    );
}

/// Who opens sessions and leaves them does not keep others out; who uses one keeps it.
#[tokio::test(start_paused = true)]
async fn the_session_that_was_left_for_longest_makes_room() {
    use crate::tower::{ask, begin, open, plain};

    let stage = crate::stage::Stage::default();
    let options = HttpOptions::default().with_max_sessions(3);
    let endpoint = crate::stage::server(stage.clone()).http(options).unwrap();
    let listens = open(&endpoint, NEWEST_LEGACY).await;
    let listening = begin(&endpoint, plain(&listens.get())).await;
    let left = open(&endpoint, NEWEST_LEGACY).await;
    let used = open(&endpoint, NEWEST_LEGACY).await;
    let one_more = || plain(&initialize(0, NEWEST_LEGACY, json!({})));
    tokio::time::sleep(Duration::from_secs(59)).await;
    assert_eq!(
        ask(&endpoint, one_more()).await.status,
        503,
        "all were used a moment ago"
    );
    let ping = |client: &Client| plain(&client.request(1, "ping", json!({})));
    assert_eq!(ask(&endpoint, ping(&used)).await.status, 200);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(ask(&endpoint, one_more()).await.status, 200);
    assert_eq!(
        ask(&endpoint, ping(&left)).await.status,
        404,
        "it was left for a minute"
    );
    for kept in [&listens, &used] {
        assert_eq!(ask(&endpoint, ping(kept)).await.status, 200);
    }
    assert_eq!(ask(&endpoint, one_more()).await.status, 503);
    drop(listening);
}

/// A connection that waits is use, and an abandoned handler is none: a dead client must not hold its session for ever.
#[tokio::test(start_paused = true)]
async fn a_session_is_in_use_while_a_connection_waits() {
    use crate::tower::{begin, plain};

    let stage = crate::stage::Stage::default();
    let options = HttpOptions::default().with_session_idle(Duration::from_secs(60));
    let endpoint = crate::stage::server(stage.clone()).http(options).unwrap();
    let client = crate::tower::open(&endpoint, NEWEST_LEGACY).await;
    let listening = begin(&endpoint, plain(&client.get())).await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(endpoint.sessions(), 1, "it listens");
    drop(listening);

    let calling = begin(&endpoint, plain(&client.call(1, "puppet", json!({ "name": "a" })))).await;
    let puppet = stage.puppet("a").await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(endpoint.sessions(), 1, "it waits for an answer");
    drop(calling);
    tokio::time::sleep(Duration::from_secs(59)).await;
    assert_eq!(endpoint.sessions(), 1, "it may come back for it");
    tokio::time::sleep(Duration::from_secs(7)).await;
    assert_eq!(endpoint.sessions(), 0, "it did not");
    assert_eq!(puppet.end().await, End::Dropped);
}
