//! Requests of a session: their ids, their cancellation, and clients that go away
//! ([rules](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#sending-messages-to-the-server)).

use std::sync::Arc;
use std::sync::mpsc;

use serde_json::{Value, json};
use tokio::sync::Notify;
use trunkline_server::{HttpOptions, NoArguments, Server};

use crate::events::Events;
use crate::speak::{Client, LEGACY, NEWEST_LEGACY, send, text};
use crate::stage::{End, Order, Served, Stage};
use crate::wire::within;

#[tokio::test]
async fn a_silent_request_is_answered_as_json_and_one_that_speaks_by_events() {
    let served = Served::start().await;
    for revision in LEGACY {
        let client = Client::open(&served, revision).await;
        let mut waiting = send(&served, &client.call(1, "puppet", json!({ "name": "silent" }))).await;
        served.stage.puppet("silent").await.finish("quiet");
        assert_eq!(text(&waiting.answer().await.json()), "quiet");

        let waiting = send(&served, &client.followed(2, "puppet", json!({ "name": "speaks" }))).await;
        let puppet = served.stage.puppet("speaks").await;
        puppet.tell(Order::Progress(1.0));
        let mut events = Events::begin(waiting).await;
        // The event that lets a client come back early is there where the revision has polling.
        let first = events.block().await.unwrap();
        if revision == "2025-11-25" {
            assert_eq!(first.retry.as_deref(), Some("1000"));
            let priming = events.block().await.unwrap();
            assert_eq!((priming.data.as_deref(), priming.id.is_some()), (Some(""), true));
            assert_eq!(events.message().await["method"], "notifications/progress");
        } else {
            assert_eq!(first.json()["method"], "notifications/progress", "{revision}");
        }
        puppet.finish("loud");
        let last = events.event().await.unwrap();
        assert!(last.id.is_some());
        assert_eq!(text(&last.json()), "loud");
        assert_eq!(events.block().await, None);
    }
    served.stop().await;
}

/// C-09, legacy.
#[tokio::test]
async fn an_id_in_flight_is_refused_and_free_again_after_its_answer() {
    let served = Served::start().await;
    for revision in LEGACY {
        let client = Client::open(&served, revision).await;
        let mut slow = send(&served, &client.call(1, "puppet", json!({ "name": "slow" }))).await;
        let puppet = served.stage.puppet("slow").await;
        let fast = client.call(1, "echo", json!({ "text": "fast" }));
        let refused = served.ask(&fast).await;
        assert_eq!(refused.error(), (400, -32600, json!(1)), "{revision}");
        // The same digits as a text are another id.
        let other = served.ask(&client.call("1", "echo", json!({ "text": "other" }))).await;
        assert_eq!((text(&other.json()), &other.json()["id"]), ("other", &json!("1")));
        puppet.finish("slow");
        assert_eq!(
            text(&slow.answer().await.json()),
            "slow",
            "the first one stays untouched"
        );
        assert_eq!(text(&served.ask(&fast).await.json()), "fast");
    }
    served.stop().await;
}

#[tokio::test]
async fn a_client_that_goes_away_cancels_nothing() {
    let served = Served::start().await;
    for revision in LEGACY {
        let client = Client::open(&served, revision).await;
        let silent = send(&served, &client.call(1, "puppet", json!({ "name": "silent" }))).await;
        let loud = send(&served, &client.followed(2, "puppet", json!({ "name": "loud" }))).await;
        let (one, two) = (served.stage.puppet("silent").await, served.stage.puppet("loud").await);
        two.tell(Order::Progress(1.0));
        let mut events = Events::begin(loud).await;
        events.message().await;
        drop((silent, events));
        // The server has noticed by the time that it has done all this.
        for _ in 0..10 {
            client.ping(&served).await;
        }
        one.finish("unheard");
        two.tell(Order::Progress(2.0));
        two.finish("unheard");
        assert_eq!(
            (one.end().await, two.end().await),
            (End::Finished, End::Finished),
            "{revision}"
        );
    }
    served.stop().await;
}

#[tokio::test]
async fn a_cancellation_stops_its_request_and_ends_its_answer() {
    let served = Served::start().await;
    for revision in LEGACY {
        let client = Client::open(&served, revision).await;
        let mut silent = send(&served, &client.call(1, "puppet", json!({ "name": "silent" }))).await;
        let loud = send(&served, &client.followed("two", "puppet", json!({ "name": "loud" }))).await;
        let (one, two) = (served.stage.puppet("silent").await, served.stage.puppet("loud").await);
        two.tell(Order::Progress(1.0));
        let mut events = Events::begin(loud).await;
        events.message().await;
        for id in [json!(1), json!("two")] {
            let accepted = served.ask(&client.cancel(id)).await;
            assert_eq!((accepted.status(), accepted.body.len()), (202, 0));
        }
        assert_eq!(
            (one.end().await, two.end().await),
            (End::Dropped, End::Dropped),
            "{revision}"
        );
        let nothing = silent.answer().await;
        assert_eq!(
            (nothing.status(), nothing.body.len()),
            (200, 0),
            "a cancelled request has no answer"
        );
        assert_eq!(events.messages().await, [] as [Value; 0]);
        // Its id is free.
        let answer = served.ask(&client.call(1, "echo", json!({ "text": "again" }))).await;
        assert_eq!(text(&answer.json()), "again");
    }
    served.stop().await;
}

/// C-33.
#[tokio::test]
async fn a_cancellation_of_what_is_not_there_poisons_nothing() {
    let served = Served::start().await;
    let client = Client::open(&served, NEWEST_LEGACY).await;
    let mut waiting = send(&served, &client.call(8, "puppet", json!({ "name": "a" }))).await;
    let puppet = served.stage.puppet("a").await;
    // Unknown, of another type, the handshake's, no id at all.
    for id in [
        json!(9),
        json!("8"),
        json!(0),
        json!("9"),
        json!(null),
        json!({}),
        json!(8.5),
    ] {
        assert_eq!(served.ask(&client.cancel(id.clone())).await.status(), 202, "{id}");
    }
    let answer = served.ask(&client.request(9, "tools/list", json!({}))).await;
    assert!(answer.json()["result"]["tools"].is_array());
    puppet.finish("untouched");
    assert_eq!(text(&waiting.answer().await.json()), "untouched");
    // What is done cannot be cancelled any more.
    assert_eq!(served.ask(&client.cancel(8)).await.status(), 202);
    served.stop().await;
}

#[tokio::test]
async fn so_many_requests_at_once_and_no_more() {
    let stage = Stage::default();
    let limits = trunkline_server::ConnectionLimits {
        in_flight: 2,
        ..Default::default()
    };
    let server = crate::stage::server(stage.clone()).limits(limits);
    let served = Served::over(server, stage, HttpOptions::default()).await;
    let client = Client::open(&served, NEWEST_LEGACY).await;
    let mut waiting = Vec::new();
    for id in [1, 2] {
        waiting.push(send(&served, &client.call(id, "puppet", json!({ "name": "a" }))).await);
    }
    let (one, _two) = (served.stage.puppet("a").await, served.stage.puppet("a").await);
    let third = client.call(3, "echo", json!({ "text": "three" }));
    assert_eq!(served.ask(&third).await.error(), (200, -32603, json!(3)));
    // What needs no handler is answered, and an end makes room.
    assert_eq!(client.ping(&served).await.status(), 200);
    one.finish("one");
    assert_eq!(one.end().await, End::Finished);
    let answered = async {
        while served.ask(&third).await.json()["error"].is_object() {
            tokio::task::yield_now().await;
        }
    };
    within("room for one more", answered).await;
    served.ask(&client.delete()).await;
    served.stop().await;
}

/// A handler that cannot be stopped at once must not answer for the one that has its id by now.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_answer_of_a_cancelled_request_is_not_given_to_its_successor() {
    let (reached, has_reached) = mpsc::channel();
    let (go_on, may_go_on) = mpsc::channel::<()>();
    let blocking = Arc::new(std::sync::Mutex::new(Some((reached, may_go_on))));
    let stubborn = move |_: NoArguments| {
        let blocking = Arc::clone(&blocking);
        async move {
            // From here on it runs in a task of its own.
            tokio::task::yield_now().await;
            let (reached, may_go_on) = blocking.lock().unwrap().take().unwrap();
            tokio::task::block_in_place(|| {
                reached.send(()).unwrap();
                let _ = may_go_on.recv();
            });
            "from the first"
        }
    };
    let release = Arc::new(Notify::new());
    let released = Arc::clone(&release);
    let second = move |_: NoArguments| {
        let released = Arc::clone(&released);
        async move {
            released.notified().await;
            "from the second"
        }
    };
    let server = Server::new("stubborn", "1")
        .tool("first", stubborn)
        .tool("second", second);
    let served = Served::over(server, Stage::default(), HttpOptions::default()).await;
    let client = Client::open(&served, NEWEST_LEGACY).await;
    let mut first = send(&served, &client.call(1, "first", json!({}))).await;
    tokio::task::block_in_place(|| has_reached.recv().unwrap());
    assert_eq!(served.ask(&client.cancel(1)).await.status(), 202);
    assert_eq!(first.answer().await.body, b"");
    let mut successor = send(&served, &client.call(1, "second", json!({}))).await;
    let in_flight = async {
        // Until the second one is in flight, its id is free.
        while served.ask(&client.call(1, "nobody", json!({}))).await.status() != 400 {}
    };
    within("the second request", in_flight).await;
    go_on.send(()).unwrap();
    // Whatever the first one still does is done when its thread is free again.
    for _ in 0..100 {
        client.ping(&served).await;
    }
    release.notify_one();
    assert_eq!(text(&successor.answer().await.json()), "from the second");
    served.stop().await;
}
