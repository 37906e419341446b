//! The end of a server: what was begun is finished, nothing new is begun.

use std::time::Duration;

use serde_json::json;
use trunkline_server::HttpOptions;

use crate::events::Events;
use crate::speak::{Client, NEWEST_LEGACY, call, modern, modern_call, send, text};
use crate::stage::{End, Order, Served, Stage};
use crate::wire::within;

#[tokio::test]
async fn what_runs_is_finished_and_answered() {
    let served = Served::start().await;
    let client = Client::open(&served, NEWEST_LEGACY).await;
    let mut idle = served.connect().await;
    idle.ask(&modern(1, "tools/list", json!({}))).await;
    let mut params = call("puppet", json!({ "name": "modern" }));
    params["_meta"] = json!({ "progressToken": 1 });
    let loud = send(&served, &modern(1, "tools/call", params)).await;
    let mut quiet = send(&served, &client.call(2, "puppet", json!({ "name": "legacy" }))).await;
    let mut standing = client.listen(&served).await;
    let (modern, legacy) = (served.stage.puppet("modern").await, served.stage.puppet("legacy").await);
    modern.tell(Order::Progress(1.0));
    let mut loud = Events::begin(loud).await;
    loud.message().await;

    let (address, endpoint) = (served.address, served.endpoint.clone());
    let serving = served.begin_stop();
    assert_eq!(standing.block().await, None, "streams of notices end at once");
    assert_eq!(idle.rest().await, 0, "and so do idle connections");
    let refused = within("a refusal", tokio::net::TcpStream::connect(address)).await;
    assert!(refused.is_err(), "new connections are refused");
    modern.tell(Order::Progress(2.0));
    modern.finish("one");
    legacy.finish("two");
    assert_eq!(loud.message().await["params"]["progress"], 2);
    assert_eq!(text(&loud.message().await), "one");
    assert_eq!(text(&quiet.answer().await.json()), "two");
    within("the end of the server", serving).await.unwrap();
    assert_eq!(endpoint.sessions(), 0);
}

#[tokio::test(start_paused = true)]
async fn what_does_not_finish_in_time_is_stopped() {
    let served = Served::start().await;
    let client = Client::open(&served, NEWEST_LEGACY).await;
    let waiting = send(&served, &modern_call(1, "puppet", json!({ "name": "modern" }))).await;
    let gone = send(&served, &client.call(2, "puppet", json!({ "name": "legacy" }))).await;
    let (modern, legacy) = (served.stage.puppet("modern").await, served.stage.puppet("legacy").await);
    drop(gone);
    let begun = tokio::time::Instant::now();
    served.begin_stop().await.unwrap();
    assert_eq!(begun.elapsed().as_secs(), 5);
    assert_eq!((modern.end().await, legacy.end().await), (End::Dropped, End::Dropped));
    drop(waiting);
}

/// An endpoint that is mounted somewhere is told when it ends.
#[tokio::test]
async fn an_endpoint_that_is_told_to_stop_opens_no_more_streams() {
    use crate::tower::{ask, begin, open, plain, read};

    let stage = Stage::default();
    let endpoint = crate::stage::server(stage.clone())
        .http(HttpOptions::default())
        .unwrap();
    let client = open(&endpoint, NEWEST_LEGACY).await;
    let listen = modern(7, "subscriptions/listen", json!({ "notifications": {} }));
    let listening = begin(&endpoint, plain(&listen)).await;
    let standing = begin(&endpoint, plain(&client.get())).await;
    endpoint.stop();
    let messages = read(listening).await;
    assert_eq!(
        (messages.len(), &messages[1]["result"]["resultType"]),
        (2, &json!("complete"))
    );
    assert_eq!(read(standing).await.len(), 0);
    let late = ask(&endpoint, plain(&listen)).await;
    assert_eq!((late.status, &late.json()["id"]), (503, &json!(7)));
    let old = crate::wire::Request::new("GET", "/sse").header("Accept", "text/event-stream");
    for request in [client.get(), old] {
        assert_eq!(ask(&endpoint, plain(&request)).await.status, 503);
    }
    let opening = plain(&crate::speak::initialize(8, NEWEST_LEGACY, json!({})));
    let late = ask(&endpoint, opening).await;
    assert_eq!((late.status, &late.json()["id"]), (503, &json!(8)));
    // Requests go on; their sessions end when the endpoint is closed.
    assert_eq!(
        ask(&endpoint, plain(&client.request(1, "ping", json!({}))))
            .await
            .status,
        200
    );
    endpoint.close();
    assert_eq!(endpoint.sessions(), 0);
    assert_eq!(
        ask(&endpoint, plain(&client.request(1, "ping", json!({}))))
            .await
            .status,
        404
    );
}

/// Dropping everything that belongs to a session ends what runs in it, though nobody closed it.
#[tokio::test(start_paused = true)]
async fn an_endpoint_that_is_gone_has_no_handlers() {
    use crate::tower::{begin, open, plain};

    let stage = Stage::default();
    let endpoint = crate::stage::server(stage.clone())
        .http(HttpOptions::default())
        .unwrap();
    let client = open(&endpoint, NEWEST_LEGACY).await;
    let call = client.followed(1, "puppet", json!({ "name": "a" }));
    let speaking = async {
        let puppet = stage.puppet("a").await;
        puppet.tell(Order::Progress(1.0));
        puppet
    };
    let (answer, puppet) = tokio::join!(begin(&endpoint, plain(&call)), speaking);
    drop((answer, endpoint));
    assert_eq!(puppet.end().await, End::Dropped);
    // Who looks at the sessions in turn notices at the next one.
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), 0);
}
