//! Cancellations, answers and the ends of sessions, all at once on several threads.

use serde_json::{Value, json};

use crate::speak::{Client, LEGACY, text};
use crate::stage::Served;
use crate::wire::{Answer, Connection, Request, within};

const ROUNDS: u32 = 120;

/// The last message of an answer of either kind; none if it is over without a word.
fn last(answer: &Answer) -> Option<Value> {
    let body = std::str::from_utf8(&answer.body).unwrap();
    match answer.head.get("content-type") {
        Some("text/event-stream") => {
            let data = body.lines().filter_map(|line| line.strip_prefix("data: "));
            let last = data.rev().find(|data| !data.is_empty())?;
            Some(serde_json::from_str(last).unwrap())
        }
        _ => Some(answer.json()),
    }
}

async fn ask(address: std::net::SocketAddr, request: Request) -> Answer {
    Connection::open(address).await.ask(&request).await
}

/// Each call is answered, or ends without a word if it was cancelled, or is refused if its session ended; and no call
/// gets the answer of another one, though ids are used again and again.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn calls_and_cancellations_race_and_nothing_is_mixed_up() {
    let served = Served::start().await;
    let address = served.address;
    let mut clients = Vec::new();
    for number in 0..6_u32 {
        let client = Client::open(&served, LEGACY[number as usize % LEGACY.len()]).await;
        clients.push(tokio::spawn(async move {
            for round in 0..ROUNDS {
                let (id, token) = (round % 3, format!("{number}-{round}"));
                let arguments = json!({ "turns": round % 7, "text": token });
                let call = client.followed(id, "linger", arguments);
                let cancel = client.cancel(id);
                // Both of them, as fast as they can, the second one first at times.
                let (answer, _) = match round % 4 {
                    0 => tokio::join!(ask(address, call), ask(address, cancel)),
                    1 => {
                        let (second, first) = tokio::join!(ask(address, cancel), ask(address, call));
                        (first, second)
                    }
                    2 => {
                        let calling = tokio::spawn(ask(address, call));
                        let other = ask(address, cancel).await;
                        (calling.await.unwrap(), other)
                    }
                    _ => {
                        let answer = ask(address, call).await;
                        (answer.clone(), answer)
                    }
                };
                assert_eq!(answer.status(), 200, "{token}: {answer:?}");
                match last(&answer) {
                    Some(message) if message.get("id").is_some() => {
                        assert_eq!((&message["id"], text(&message)), (&json!(id), token.as_str()));
                    }
                    _ => assert_ne!(round % 4, 3, "{token} was not cancelled"),
                }
            }
            assert_eq!(ask(address, client.delete()).await.status(), 204);
        }));
    }
    for client in clients {
        within("the end of a client", client).await.unwrap();
    }
    assert_eq!(served.endpoint.sessions(), 0);
    served.stop().await;
}

/// A session may end in the middle of anything.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sessions_end_while_their_requests_come_and_go() {
    let served = Served::start().await;
    let address = served.address;
    for round in 0..40_u32 {
        let client = Client::open(&served, LEGACY[round as usize % LEGACY.len()]).await;
        let calls = (0..8).map(|id| {
            let call = client.followed(id, "linger", json!({ "turns": id * 3, "text": id.to_string() }));
            tokio::spawn(ask(address, call))
        });
        let calls: Vec<_> = calls.collect();
        let delete = tokio::spawn(ask(address, client.delete()));
        for (id, call) in calls.into_iter().enumerate() {
            let answer = within("an answer", call).await.unwrap();
            match answer.status() {
                404 => {}
                200 => {
                    if let Some(message) = last(&answer).filter(|message| message.get("id").is_some()) {
                        assert_eq!((&message["id"], text(&message)), (&json!(id), id.to_string().as_str()));
                    }
                }
                other => panic!("{other}: {answer:?}"),
            }
        }
        assert_eq!(within("an answer", delete).await.unwrap().status(), 204);
    }
    assert_eq!(served.endpoint.sessions(), 0);
    let metrics = tokio::runtime::Handle::current().metrics();
    let over = async {
        // The listener, and who looks at the sessions in turn.
        while metrics.num_alive_tasks() > 2 {
            tokio::task::yield_now().await;
        }
    };
    within("the end of every handler", over).await;
    served.stop().await;
}
