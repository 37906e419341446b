//! Both eras at once on one endpoint: they share the handlers, and nothing else.

use serde_json::{Value, json};

use crate::events::Events;
use crate::speak::{Client, META_SUBSCRIPTION, NEWEST_LEGACY, call, modern, modern_call, send, text};
use crate::stage::{Order, Served};

fn with_level(level: &str) -> Value {
    let mut params = call("burst", json!({ "notices": 1, "bytes": 1 }));
    params["_meta"] = json!({ "io.modelcontextprotocol/logLevel": level });
    params
}

/// How many messages a call logged.
async fn logged(served: &Served, request: &crate::wire::Request) -> usize {
    let mut connection = send(served, request).await;
    let answer = connection.answer().await;
    let body = String::from_utf8(answer.body).unwrap();
    body.matches("notifications/message").count()
}

#[tokio::test]
async fn the_level_of_a_log_is_each_ones_own() {
    let served = Served::start().await;
    let client = Client::open(&served, NEWEST_LEGACY).await;
    let (other, burst) = (
        Client::open(&served, NEWEST_LEGACY).await,
        json!({ "notices": 1, "bytes": 1 }),
    );
    let set = client.request(1, "logging/setLevel", json!({ "level": "emergency" }));
    assert_eq!(served.ask(&set).await.json()["result"], json!({}));
    // The tool logs errors.
    assert_eq!(logged(&served, &client.call(2, "burst", burst.clone())).await, 0);
    assert_eq!(logged(&served, &other.call(2, "burst", burst.clone())).await, 1);
    assert_eq!(
        logged(&served, &modern_call(2, "burst", burst.clone())).await,
        0,
        "nothing without a level"
    );
    assert_eq!(logged(&served, &modern(2, "tools/call", with_level("debug"))).await, 1);
    assert_eq!(logged(&served, &modern(2, "tools/call", with_level("alert"))).await, 0);
    assert_eq!(
        logged(&served, &modern_call(2, "burst", burst.clone())).await,
        0,
        "and none is remembered"
    );
    assert_eq!(logged(&served, &client.call(2, "burst", burst)).await, 0);
    served.stop().await;
}

#[tokio::test]
async fn what_is_watched_is_each_ones_own() {
    let served = Served::start().await;
    let client = Client::open(&served, NEWEST_LEGACY).await;
    let mut standing = client.listen(&served).await;
    let watch = client.request(1, "resources/subscribe", json!({ "uri": "stage://legacy" }));
    assert_eq!(served.ask(&watch).await.status(), 200);
    let filter = json!({ "notifications": { "resourceSubscriptions": ["stage://modern"] } });
    let mut listening = served.events(&modern(1, "subscriptions/listen", filter)).await;
    listening.message().await;
    for uri in ["stage://modern", "stage://legacy"] {
        served.server.resource_changed(uri);
    }
    let changed = standing.message().await;
    assert_eq!(
        changed["params"],
        json!({ "uri": "stage://legacy" }),
        "no id of a subscription is in it"
    );
    let changed = listening.message().await;
    assert_eq!(changed["params"]["uri"], "stage://modern");
    assert_eq!(changed["params"]["_meta"][META_SUBSCRIPTION], 1);
    served.stop().await;
}

#[tokio::test]
async fn ids_are_each_ones_own() {
    let served = Served::start().await;
    let (one, two) = (
        Client::open(&served, NEWEST_LEGACY).await,
        Client::open(&served, "2025-03-26").await,
    );
    let requests = [
        one.call(1, "puppet", json!({ "name": "one" })),
        two.call(1, "puppet", json!({ "name": "two" })),
        modern_call(1, "puppet", json!({ "name": "three" })),
    ];
    let mut waiting = Vec::new();
    let mut puppets = Vec::new();
    for (request, name) in requests.iter().zip(["one", "two", "three"]) {
        waiting.push(send(&served, request).await);
        puppets.push(served.stage.puppet(name).await);
    }
    // A cancellation in one session is nothing to the others.
    served.ask(&two.cancel(1)).await;
    assert_eq!(waiting[1].answer().await.body, b"");
    puppets[2].finish("three");
    puppets[0].finish("one");
    for (place, name) in [(0, "one"), (2, "three")] {
        let answer = waiting[place].answer().await.json();
        assert_eq!((text(&answer), &answer["id"]), (name, &json!(1)));
    }
    served.stop().await;
}

/// A modern request in between does not end what a session runs, though it may come by the same connection.
#[tokio::test]
async fn one_connection_may_carry_both() {
    let served = Served::start().await;
    let client = Client::open(&served, NEWEST_LEGACY).await;
    let mut connection = served.connect().await;
    for _ in 0..3 {
        let legacy = connection.ask(&client.request(1, "tools/list", json!({}))).await.json();
        let modern = connection.ask(&modern(1, "tools/list", json!({}))).await.json();
        assert!(legacy["result"].get("ttlMs").is_none() && legacy["result"].get("resultType").is_none());
        assert_eq!(
            (&modern["result"]["ttlMs"], &modern["result"]["resultType"]),
            (&json!(5000), &json!("complete"))
        );
    }
    // A session's header on a modern request does not draw it into the session.
    let request = client.dress(modern_call(1, "echo", json!({ "text": "hi" })).without("MCP-Protocol-Version"));
    let request = request.with("MCP-Protocol-Version", crate::speak::MODERN);
    assert_eq!(
        connection.ask(&request).await.json()["result"]["resultType"],
        "complete"
    );
    served.stop().await;
}

/// A proxy that hands on only full buffers, but flushes what is flushed: progress arrives before the answer exists (C-31).
#[tokio::test]
async fn nothing_is_held_back_on_its_way_through_a_proxy() {
    let served = Served::start().await;
    let proxy = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let (front, behind) = (proxy.local_addr().unwrap(), served.address);
    let proxying = tokio::spawn(async move {
        let (client, _) = proxy.accept().await.unwrap();
        let server = tokio::net::TcpStream::connect(behind).await.unwrap();
        let ((mut from_client, mut to_client), (mut from_server, mut to_server)) =
            (client.into_split(), server.into_split());
        // A few bytes at a time, as they come.
        let up = async { tokio::io::copy(&mut from_client, &mut to_server).await };
        let down = async {
            let mut buffer = [0; 7];
            loop {
                let read = tokio::io::AsyncReadExt::read(&mut from_server, &mut buffer).await?;
                if read == 0 {
                    return Ok::<_, std::io::Error>(());
                }
                tokio::io::AsyncWriteExt::write_all(&mut to_client, &buffer[..read]).await?;
            }
        };
        let _ = tokio::join!(up, down);
    });
    let mut params = call("puppet", json!({ "name": "a" }));
    params["_meta"] = json!({ "progressToken": 1 });
    let mut connection = crate::wire::Connection::open(front).await;
    connection.write(&modern(1, "tools/call", params).bytes()).await;
    let puppet = served.stage.puppet("a").await;
    puppet.tell(Order::Progress(1.0));
    let mut events = Events::begin(connection).await;
    for value in 2..20 {
        assert_eq!(events.message().await["params"]["progress"], value - 1);
        puppet.tell(Order::Progress(value.into()));
    }
    events.message().await;
    puppet.finish("done");
    assert_eq!(text(&events.message().await), "done");
    proxying.abort();
    served.stop().await;
}
