//! Clients that come back to a stream that broke
//! ([resumption](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery)).

use std::collections::HashSet;
use std::time::Duration;

use serde_json::{Value, json};
use trunkline_server::HttpOptions;

use crate::events::Events;
use crate::speak::{Client, LEGACY, NEWEST_LEGACY, send, text};
use crate::stage::{End, Order, Puppet, Served, Stage};

/// Whether a stream of this revision can be resumed before it said anything.
fn primes(revision: &str) -> bool {
    revision == "2025-11-25"
}

/// What a message says, in short.
fn word(message: &Value) -> String {
    match message["params"]["progress"].as_u64() {
        Some(progress) => progress.to_string(),
        None => text(message).to_owned(),
    }
}

/// A call whose handler is led by the test, and its stream, which has begun.
async fn begun(served: &Served, client: &Client, id: u32) -> (Puppet, Events) {
    let connection = send(served, &client.followed(id, "puppet", json!({ "name": "a" }))).await;
    let puppet = served.stage.puppet("a").await;
    puppet.tell(Order::Progress(0.0));
    (puppet, Events::begin(connection).await)
}

/// The stream is cut behind each event in turn; between the two halves nothing is lost, and nothing comes twice.
#[tokio::test]
async fn a_cut_at_any_event_loses_nothing() {
    let served = Served::start().await;
    let expected = ["0", "1", "2", "3", "4", "done"];
    for revision in LEGACY {
        let client = Client::open(&served, revision).await;
        let mut ids = HashSet::new();
        for cut in usize::from(!primes(revision))..=expected.len() {
            let (puppet, mut events) = begun(&served, &client, 1).await;
            for value in [1.0, 2.0] {
                puppet.tell(Order::Progress(value));
            }
            // From here on nothing more comes before the cut.
            let before = cut.min(3);
            let mut heard = Vec::new();
            let mut last = None;
            while heard.len() < before || last.is_none() {
                let block = events.block().await.unwrap();
                last = block.id.clone().or(last);
                if block.data.as_deref().is_some_and(|data| !data.is_empty()) {
                    heard.push(word(&block.json()));
                    assert!(ids.insert(block.id.clone().unwrap()), "ids are unique in a session");
                }
            }
            if cut <= 3 {
                drop(events);
                for value in [3.0, 4.0] {
                    puppet.tell(Order::Progress(value));
                }
                puppet.finish("done");
                assert_eq!(puppet.end().await, End::Finished);
            } else {
                for value in [3.0, 4.0] {
                    puppet.tell(Order::Progress(value));
                }
                puppet.finish("done");
                while heard.len() < cut {
                    let block = events.event().await.unwrap();
                    last = block.id.clone();
                    heard.push(word(&block.json()));
                }
                drop(events);
            }
            let mut events = served.events(&client.resume(&last.unwrap())).await;
            while let Some(event) = events.event().await {
                assert!(event.id.is_some());
                heard.push(word(&event.json()));
            }
            assert_eq!(heard, expected, "{revision}, cut behind {cut} events");
        }
    }
    served.stop().await;
}

/// The first connection is not even gone yet: whoever came last is served, and each event once.
#[tokio::test]
async fn who_comes_back_takes_over() {
    let served = Served::start().await;
    let client = Client::open(&served, NEWEST_LEGACY).await;
    let (puppet, mut first) = begun(&served, &client, 1).await;
    let at = first.event().await.unwrap().id.unwrap();
    let mut second = served.events(&client.resume(&at)).await;
    assert_eq!(first.block().await, None, "the older one ends");
    puppet.tell(Order::Progress(1.0));
    assert_eq!(word(&second.message().await), "1");
    let mut third = served.events(&client.resume(&at)).await;
    assert_eq!(second.block().await, None);
    assert_eq!(
        word(&third.message().await),
        "1",
        "the client says that it did not get it"
    );
    puppet.finish("done");
    assert_eq!(word(&third.message().await), "done");
    assert_eq!(third.block().await, None);
    served.stop().await;
}

#[tokio::test]
async fn who_comes_back_early_waits_for_the_answer() {
    let served = Served::start().await;
    for revision in LEGACY {
        let client = Client::open(&served, revision).await;
        let (puppet, mut events) = begun(&served, &client, 1).await;
        let at = events.event().await.unwrap().id.unwrap();
        drop(events);
        let mut events = served.events(&client.resume(&at)).await;
        puppet.finish("done");
        assert_eq!(word(&events.message().await), "done", "{revision}");
        // It is kept for a while after its end, and has an end each time.
        for _ in 0..2 {
            let mut events = served.events(&client.resume(&at)).await;
            assert_eq!(events.messages().await.len(), 1);
        }
    }
    served.stop().await;
}

/// The handler lets go of the connection, the client comes back when it was told to, or sooner.
#[tokio::test]
async fn a_handler_lets_go_of_the_stream() {
    let served = Served::start().await;
    let client = Client::open(&served, NEWEST_LEGACY).await;
    let connection = send(&served, &client.call(1, "puppet", json!({ "name": "a" }))).await;
    let puppet = served.stage.puppet("a").await;
    puppet.tell(Order::Release(Duration::from_millis(250)));
    let mut events = Events::begin(connection).await;
    assert_eq!(events.block().await.unwrap().retry.as_deref(), Some("1000"));
    let priming = events.block().await.unwrap();
    assert_eq!(priming.data.as_deref(), Some(""));
    assert_eq!(events.block().await.unwrap().retry.as_deref(), Some("250"));
    assert_eq!(events.block().await, None, "it ends in good order");

    // Back before there is anything to say, sent away once more, and back when it is done.
    let mut events = served.events(&client.resume(priming.id.as_ref().unwrap())).await;
    puppet.tell(Order::Log("at work".into()));
    let log = events.event().await.unwrap();
    puppet.tell(Order::Release(Duration::from_secs(3600)));
    let wait = events.block().await.unwrap();
    assert_eq!(
        (wait.retry.as_deref(), events.block().await),
        (Some("60000"), None),
        "a minute at most"
    );
    puppet.finish("done");
    assert_eq!(puppet.end().await, End::Finished);
    let mut events = served.events(&client.resume(&log.id.unwrap())).await;
    let last = events.event().await.unwrap();
    assert_eq!(text(&last.json()), "done");
    assert_eq!(events.block().await, None);
    served.stop().await;
}

#[tokio::test]
async fn nothing_is_let_go_of_where_clients_do_not_come_back() {
    let served = Served::start().await;
    for revision in ["2025-03-26", "2025-06-18"] {
        let client = Client::open(&served, revision).await;
        let mut waiting = send(&served, &client.call(1, "puppet", json!({ "name": "a" }))).await;
        let puppet = served.stage.puppet("a").await;
        puppet.tell(Order::Release(Duration::from_millis(1)));
        puppet.finish("done");
        assert_eq!(text(&waiting.answer().await.json()), "done", "{revision}");
    }
    let modern = crate::speak::modern_call(1, "puppet", json!({ "name": "a" }));
    let mut waiting = send(&served, &modern).await;
    let puppet = served.stage.puppet("a").await;
    puppet.tell(Order::Release(Duration::from_millis(1)));
    puppet.finish("done");
    assert_eq!(text(&waiting.answer().await.json()), "done");
    served.stop().await;
}

#[tokio::test]
async fn an_event_that_is_not_there_is_refused() {
    let served = Served::start().await;
    let (client, other) = (
        Client::open(&served, NEWEST_LEGACY).await,
        Client::open(&served, NEWEST_LEGACY).await,
    );
    let (puppet, mut events) = begun(&served, &client, 1).await;
    let at = events.event().await.unwrap().id.unwrap();
    let (name, _) = at.split_once('-').unwrap();
    let nowhere = [
        "",
        "x",
        "1",
        "-",
        "-1",
        "1-",
        "1-x",
        "999-0",
        "+1-+1",
        "18446744073709551616-1",
        &format!("{name}-5"),
        &format!("{name}-18446744073709551615"),
        &format!("{name}-18446744073709551614"),
        &format!("{name}--1"),
        &format!("{at}-1"),
    ]
    .map(str::to_owned);
    for id in nowhere {
        let answer = served.ask(&client.resume(&id)).await;
        assert_eq!(answer.error(), (400, -32600, Value::Null), "{id:?}");
    }
    assert_eq!(served.ask(&other.resume(&at)).await.status(), 400, "of another session");
    puppet.finish("done");
    assert_eq!(word(&events.message().await), "done", "nobody took it over");
    served.stop().await;
}

/// So many events are kept, and not one more.
#[tokio::test]
async fn what_is_kept_is_bounded_by_number() {
    let served = Served::start().await;
    let client = Client::open(&served, NEWEST_LEGACY).await;
    let burst = client.followed(1, "burst", json!({ "notices": 150, "bytes": 1 }));
    let mut events = served.events(&burst).await;
    let mut ids = Vec::new();
    while let Some(event) = events.event().await {
        ids.push(event.id.unwrap());
    }
    assert_eq!(ids.len(), 301);
    let kept = 256;
    let first_kept = ids.len() - kept;
    assert_eq!(served.ask(&client.resume(&ids[first_kept - 2])).await.status(), 400);
    let mut again = served.events(&client.resume(&ids[first_kept - 1])).await;
    for id in &ids[first_kept..] {
        assert_eq!(again.event().await.unwrap().id.as_ref(), Some(id));
    }
    assert_eq!(again.block().await, None);
    served.stop().await;
}

/// So many bytes of events are kept, and not one event more.
#[tokio::test]
async fn what_is_kept_is_bounded_by_bytes() {
    let served = Served::start().await;
    let client = Client::open(&served, NEWEST_LEGACY).await;
    let (puppet, mut events) = begun(&served, &client, 1).await;
    let mut ids = vec![events.event().await.unwrap().id.unwrap()];
    for _ in 0..6 {
        puppet.tell(Order::Log("x".repeat(300_000)));
        ids.push(events.event().await.unwrap().id.unwrap());
    }
    // Three of them are within 1 MiB.
    assert_eq!(served.ask(&client.resume(&ids[2])).await.status(), 400);
    let mut again = served.events(&client.resume(&ids[3])).await;
    for id in &ids[4..] {
        assert_eq!(again.event().await.unwrap().id.as_ref(), Some(id));
    }
    puppet.finish("done");
    assert_eq!(word(&again.message().await), "done");
    served.stop().await;
}

/// One client that keeps the server's memory full costs others nothing but what they may come back for.
#[tokio::test]
async fn a_full_budget_costs_nobody_an_answer_that_is_waited_for() {
    let mut options = HttpOptions::default();
    options.resume_bytes = 10_000;
    let served = Served::with(options).await;
    let (greedy, modest) = (
        Client::open(&served, NEWEST_LEGACY).await,
        Client::open(&served, NEWEST_LEGACY).await,
    );
    let (puppet, mut events) = begun(&served, &greedy, 1).await;
    let at = events.event().await.unwrap().id.unwrap();
    drop(events);
    let mut waiting = send(&served, &modest.call(1, "puppet", json!({ "name": "modest" }))).await;
    let waits = served.stage.puppet("modest").await;
    let loud = send(&served, &modest.followed(2, "puppet", json!({ "name": "loud" }))).await;
    let speaks = served.stage.puppet("loud").await;
    // Nobody is there to take it.
    for _ in 0..10 {
        puppet.tell(Order::Log("x".repeat(5000)));
    }
    speaks.tell(Order::Progress(1.0));
    let mut loud = Events::begin(loud).await;
    let progress = loud.event().await.unwrap();
    waits.finish("waited for");
    assert_eq!(text(&waiting.answer().await.json()), "waited for");
    speaks.finish("heard");
    assert_eq!(text(&loud.message().await), "heard");
    // What was carried is not kept now, and the one who is to blame loses its answer.
    assert_eq!(served.ask(&modest.resume(&progress.id.unwrap())).await.status(), 400);
    puppet.finish("lost");
    assert_eq!(puppet.end().await, End::Finished);
    let mut back = served.events(&greedy.resume(&at)).await;
    let messages = back.messages().await;
    assert!(
        messages.iter().all(|message| message["method"].is_string()),
        "{messages:?}"
    );
    assert!(
        messages.len() <= 3,
        "what nobody takes is not kept for ever: {} of 10",
        messages.len()
    );
    // When it is gone, there is room again.
    served.ask(&greedy.delete()).await;
    let (puppet, mut events) = begun(&served, &modest, 3).await;
    let at = events.event().await.unwrap().id.unwrap();
    drop(events);
    puppet.finish("kept");
    assert_eq!(puppet.end().await, End::Finished);
    assert_eq!(word(&served.events(&modest.resume(&at)).await.message().await), "kept");
    served.stop().await;
}

/// Streams that ended are kept for a minute, and sixteen of them.
#[tokio::test(start_paused = true)]
async fn what_ended_is_kept_for_so_long_and_so_many() {
    use crate::tower::{ask, begin, open, plain, read};

    let endpoint = crate::stage::server(Stage::default())
        .http(HttpOptions::default())
        .unwrap();
    let client = open(&endpoint, "2025-06-18").await;
    for id in 0..17 {
        let burst = client.followed(id, "burst", json!({ "notices": 1, "bytes": 1 }));
        assert_eq!(read(begin(&endpoint, plain(&burst)).await).await.len(), 3);
    }
    let mut kept = Vec::new();
    for name in 1..40 {
        let resumed = ask(&endpoint, plain(&client.resume(&format!("{name}-1")))).await;
        if resumed.status == 200 {
            kept.push(name);
        }
    }
    assert_eq!(kept.len(), 16, "{kept:?}");
    let newest = client.resume(&format!("{}-1", kept[15]));
    tokio::time::sleep(Duration::from_secs(59)).await;
    assert_eq!(ask(&endpoint, plain(&newest)).await.status, 200);
    tokio::time::sleep(Duration::from_secs(7)).await;
    assert_eq!(ask(&endpoint, plain(&newest)).await.status, 400);
}
