//! The transport of the first revision
//! ([HTTP with SSE](https://modelcontextprotocol.io/specification/2024-11-05/basic/transports#http-with-sse)).

use serde_json::{Value, json};
use trunkline_server::{HttpOptions, NoArguments};

use crate::events::Events;
use crate::speak::{MODERN, call, message, modern_message, text};
use crate::stage::{End, Order, Served};
use crate::wire::{Answer, Request, within};

const REVISION: &str = "2024-11-05";

fn initialize(revision: &str) -> Value {
    let params = json!({ "protocolVersion": revision, "capabilities": { "sampling": {}, "elicitation": {} },
        "clientInfo": { "name": "old", "version": "1" } });
    message(0, "initialize", params)
}

/// A client: its stream, and where it sends messages.
struct Old {
    events: Events,
    address: String,
}

impl Old {
    /// Opens the stream and shakes hands.
    async fn open(served: &Served, revision: &str) -> Self {
        let mut old = Self::begin(served).await;
        old.tell(served, &initialize(revision)).await;
        assert_eq!(old.events.message().await["result"]["protocolVersion"], revision);
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        old.tell(served, &ready).await;
        old
    }

    async fn begin(served: &Served) -> Self {
        let request = Request::new("GET", "/sse").header("Accept", "text/event-stream");
        let mut events = served.events(&request).await;
        let endpoint = events.block().await.unwrap();
        assert_eq!((endpoint.event.as_deref(), endpoint.id), (Some("endpoint"), None));
        let address = endpoint.data.unwrap();
        assert!(address.starts_with("/messages?sessionId="), "{address}");
        Self { events, address }
    }

    async fn send(&self, served: &Served, message: &Value) -> Answer {
        let request = Request::new("POST", &self.address).header("Content-Type", "application/json");
        served.ask(&request.body(message.to_string())).await
    }

    /// Sends a message, which must be accepted.
    async fn tell(&self, served: &Served, message: &Value) {
        let answer = self.send(served, message).await;
        assert_eq!((answer.status(), answer.body.len()), (202, 0), "{message}");
    }
}

#[tokio::test]
async fn messages_go_to_one_address_and_answers_come_by_the_stream() {
    let served = Served::start().await;
    let mut old = Old::open(&served, REVISION).await;
    assert_eq!(served.endpoint.sessions(), 1);
    old.tell(
        &served,
        &message(1, "tools/call", call("echo", json!({ "text": "hi" }))),
    )
    .await;
    let event = old.events.event().await.unwrap();
    assert_eq!(
        (event.event, event.id),
        (None, None),
        "a message is the default type of event"
    );
    assert_eq!(text(&serde_json::from_str(&event.data.unwrap()).unwrap()), "hi");
    old.tell(&served, &message(2, "ping", json!({}))).await;
    assert_eq!(
        old.events.message().await,
        json!({ "jsonrpc": "2.0", "id": 2, "result": {} })
    );
    old.tell(&served, &message(3, "no/such", json!({}))).await;
    assert_eq!(old.events.message().await["error"]["code"], -32601);
    // Two at once, answered as they get done.
    for name in ["slow", "fast"] {
        old.tell(
            &served,
            &message(name, "tools/call", call("puppet", json!({ "name": name }))),
        )
        .await;
    }
    let (slow, fast) = (served.stage.puppet("slow").await, served.stage.puppet("fast").await);
    fast.finish("fast");
    assert_eq!(old.events.message().await["id"], "fast");
    slow.finish("slow");
    assert_eq!(old.events.message().await["id"], "slow");
    drop(old);
    served.stop().await;
}

#[tokio::test]
async fn notices_questions_and_changes_come_by_the_stream_too() {
    let served = Served::start().await;
    // A client of a later revision on the old transport, which can be asked.
    let mut old = Old::open(&served, "2025-06-18").await;
    let mut params = call("puppet", json!({ "name": "a" }));
    params["_meta"] = json!({ "progressToken": "p" });
    old.tell(&served, &message(1, "tools/call", params)).await;
    let puppet = served.stage.puppet("a").await;
    puppet.tell(Order::Progress(1.0));
    assert_eq!(old.events.message().await["params"]["progressToken"], "p");
    old.tell(
        &served,
        &message(2, "tools/call", call("confirm", json!({ "name": "Ann" }))),
    )
    .await;
    let question = old.events.message().await;
    assert_eq!(question["method"], "elicitation/create");
    served.server.add_tool("new", |_: NoArguments| async { "new" }).unwrap();
    assert_eq!(old.events.message().await["method"], "notifications/tools/list_changed");
    let result = json!({ "action": "accept", "content": { "yes": true } });
    old.tell(
        &served,
        &json!({ "jsonrpc": "2.0", "id": question["id"], "result": result }),
    )
    .await;
    assert_eq!(text(&old.events.message().await), "Ann: true");
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } });
    old.tell(&served, &cancel).await;
    assert_eq!(puppet.end().await, End::Dropped);
    old.tell(&served, &message(3, "ping", json!({}))).await;
    assert_eq!(old.events.message().await["id"], 3, "what was cancelled has no answer");
    drop(old);
    served.stop().await;
}

#[tokio::test]
async fn leaving_the_stream_ends_the_session_and_what_runs_in_it() {
    let served = Served::start().await;
    let old = Old::open(&served, REVISION).await;
    old.tell(
        &served,
        &message(1, "tools/call", call("puppet", json!({ "name": "a" }))),
    )
    .await;
    let puppet = served.stage.puppet("a").await;
    let Old { events, address } = old;
    drop(events);
    assert_eq!(puppet.end().await, End::Dropped);
    let gone = async {
        while served.endpoint.sessions() > 0 {
            tokio::task::yield_now().await;
        }
    };
    within("the end of the session", gone).await;
    let request = Request::new("POST", &address).header("Content-Type", "application/json");
    let answer = served
        .ask(&request.body(message(2, "ping", json!({})).to_string()))
        .await;
    assert_eq!(answer.error(), (404, -32600, Value::Null));
    served.stop().await;
}

#[tokio::test]
async fn what_does_not_belong_there_is_refused() {
    let served = Served::start().await;
    let mut old = Old::open(&served, REVISION).await;
    let ping = message(1, "ping", json!({})).to_string();
    let post = |path: &str| {
        Request::new("POST", path)
            .header("Content-Type", "application/json")
            .body(ping.clone())
    };
    let unknown = format!("/messages?sessionId={}", "0".repeat(32));
    for path in ["/messages", "/messages?sessionId=", "/messages?sessionId=x", &unknown] {
        assert_eq!(
            served.ask(&post(path)).await.error(),
            (404, -32600, Value::Null),
            "{path}"
        );
    }
    assert_eq!(
        served.ask(&post(&old.address).without("Content-Type")).await.status(),
        415
    );
    let narrow = Request::new("GET", "/sse").header("Accept", "application/json");
    assert_eq!(served.ask(&narrow).await.status(), 406);
    // Its session is not one of the newer transport, nor the other way round.
    let id = old.address.rsplit_once('=').unwrap().1.to_owned();
    assert_eq!(
        served.ask(&Request::get().header("Mcp-Session-Id", &id)).await.status(),
        404
    );
    // What cannot be read is refused, and the session goes on.
    for broken in [json!(5), json!({}), json!([])] {
        let answer = old.send(&served, &broken).await;
        assert!(matches!(answer.status(), 202 | 400), "{answer:?}");
    }
    old.tell(&served, &message(9, "ping", json!({}))).await;
    let mut messages = Vec::new();
    while messages.last().is_none_or(|last: &Value| last["id"] != 9) {
        messages.push(old.events.message().await);
    }
    drop(old);
    served.stop().await;
}

/// A client that probes for the modern era must hear no, and be able to go on with the handshake.
#[tokio::test]
async fn the_modern_era_has_its_own_address() {
    let served = Served::start().await;
    let mut old = Old::begin(&served).await;
    old.tell(&served, &modern_message(1, "server/discover", json!({})))
        .await;
    let error = &old.events.message().await["error"];
    assert_eq!(
        (&error["code"], &error["data"]["requested"]),
        (&json!(-32022), &json!(MODERN))
    );
    let supported = error["data"]["supported"].as_array().unwrap();
    assert!(
        supported.contains(&json!(REVISION)) && !supported.contains(&json!(MODERN)),
        "{error}"
    );
    old.tell(&served, &initialize(REVISION)).await;
    assert_eq!(old.events.message().await["result"]["protocolVersion"], REVISION);
    old.tell(&served, &modern_message(2, "tools/list", json!({}))).await;
    assert_eq!(
        old.events.message().await["error"]["code"],
        -32022,
        "after the handshake neither"
    );
    drop(old);
    served.stop().await;
}

#[tokio::test]
async fn so_many_streams_and_no_more() {
    let served = Served::with(HttpOptions::default().with_max_sessions(1)).await;
    let old = Old::begin(&served).await;
    let second = Request::new("GET", "/sse").header("Accept", "text/event-stream");
    assert_eq!(served.ask(&second).await.status(), 503);
    drop(old);
    served.stop().await;
}

/// A server that goes lets what runs finish, and its answer still comes by the stream.
#[tokio::test]
async fn a_stop_waits_for_what_runs() {
    let served = Served::start().await;
    let mut busy = Old::open(&served, REVISION).await;
    let mut idle = Old::open(&served, REVISION).await;
    busy.tell(
        &served,
        &message(1, "tools/call", call("puppet", json!({ "name": "a" }))),
    )
    .await;
    let puppet = served.stage.puppet("a").await;
    let serving = served.begin_stop();
    assert_eq!(idle.events.block().await, None);
    puppet.finish("done");
    assert_eq!(text(&busy.events.message().await), "done");
    assert_eq!(busy.events.block().await, None);
    within("the end of the server", serving).await.unwrap();
}
