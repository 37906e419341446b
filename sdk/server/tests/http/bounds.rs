//! Sizes, numbers and waits: at their bound, and one past it.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::Frame;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tokio::time::Sleep;
use trunkline_server::HttpOptions;

use crate::speak::{NEWEST_LEGACY, call, message, modern, modern_call, modern_message, text};
use crate::stage::{End, Order, Served, Stage};
use crate::wire::{Request, within};

/// A request whose body has exactly so many bytes.
fn of_size(bytes: usize) -> Request {
    let empty = modern_message(1, "tools/call", call("echo", json!({ "text": "" }))).to_string();
    let text = "x".repeat(bytes - empty.len());
    let request = modern_call(1, "echo", json!({ "text": text }));
    assert_eq!(request.parts().1.len(), bytes);
    request
}

/// The same without its length said in front: in pieces.
fn in_pieces(request: &Request) -> Vec<u8> {
    let mut bytes = request.clone().header("Transfer-Encoding", "chunked").head();
    for piece in request.parts().1.chunks(1000) {
        bytes.extend(format!("{:x}\r\n", piece.len()).bytes());
        bytes.extend_from_slice(piece);
        bytes.extend(b"\r\n");
    }
    bytes.extend(b"0\r\n\r\n");
    bytes
}

#[tokio::test]
async fn a_body_has_so_many_bytes_and_no_more() {
    let bound = 20_000;
    let served = Served::with(HttpOptions::default().with_max_message(bound)).await;
    for (bytes, status) in [(bound, 200), (bound + 1, 413)] {
        let request = of_size(bytes);
        let answer = served.ask(&request).await;
        assert_eq!(answer.status(), status, "{bytes} bytes at once");
        let mut connection = served.connect().await;
        connection.try_write(&in_pieces(&request)).await;
        assert_eq!(connection.answer().await.status(), status, "{bytes} bytes in pieces");
        if status == 413 {
            assert_eq!(answer.error(), (413, -32600, Value::Null));
        }
    }
    served.stop().await;
}

/// The refusal does not wait for what it refuses, and reaches a client that sends all of it first.
#[tokio::test]
async fn a_huge_body_is_refused_before_it_comes() {
    let served = Served::start().await;
    let huge = modern(1, "tools/list", json!({})).header("Content-Length", "100000000");
    let mut connection = served.connect().await;
    connection.write(&huge.head()).await;
    assert_eq!(connection.answer().await.status(), 413);

    let mut connection = served.connect().await;
    connection.write(&huge.head()).await;
    let piece = vec![b' '; 1_000_000];
    for _ in 0..100 {
        if !connection.try_write(&piece).await {
            break;
        }
    }
    assert_eq!(connection.answer().await.status(), 413);

    let mut connection = served.connect().await;
    let endless = modern(1, "tools/list", json!({})).header("Transfer-Encoding", "chunked");
    connection.write(&endless.head()).await;
    for _ in 0..100 {
        let is_taken = connection.try_write(b"f4240\r\n").await
            && connection.try_write(&piece).await
            && connection.try_write(b"\r\n").await;
        if !is_taken {
            break;
        }
    }
    assert_eq!(connection.answer().await.status(), 413);
    served.stop().await;
}

/// Clients that send half of something hold so much together, and no more.
#[tokio::test]
async fn what_is_being_received_is_bounded_for_all_together() {
    let mut options = HttpOptions::default();
    options.receive_bytes = 100_000;
    let served = Served::with(options).await;
    let half = of_size(70_000);
    let bytes = half.bytes();
    let mut slow = served.connect().await;
    slow.write(&bytes[..bytes.len() - 1]).await;
    // Until all of that was read, there is room.
    let refused = async {
        loop {
            let answer = served.ask(&half).await;
            if answer.status() == 503 {
                return answer;
            }
        }
    };
    let refused = within("a refusal", refused).await;
    assert_eq!(refused.error(), (503, -32603, Value::Null));
    assert_eq!(refused.head.get("retry-after"), Some("10"));
    assert_eq!(
        served.ask(&of_size(1000)).await.status(),
        200,
        "what is small still fits"
    );
    slow.write(&bytes[bytes.len() - 1..]).await;
    assert_eq!(slow.answer().await.status(), 200, "the first one is untouched");
    assert_eq!(served.ask(&half).await.status(), 200, "there is room again");
    served.stop().await;
}

/// What a client says of itself is kept as long as its session, and there may be many.
#[tokio::test]
async fn a_handshake_has_so_many_bytes_and_no_more() {
    let served = Served::start().await;
    let of = |bytes: usize| {
        let message = |name: &str| {
            let info = json!({ "name": name, "version": "1" });
            let params = json!({ "protocolVersion": NEWEST_LEGACY, "capabilities": {}, "clientInfo": info });
            message(0, "initialize", params)
        };
        let text = message(&"x".repeat(bytes - message("").to_string().len()));
        assert_eq!(text.to_string().len(), bytes);
        text
    };
    for (bytes, status, old_status) in [(64 * 1024, 200, 202), (64 * 1024 + 1, 413, 413)] {
        let answer = served.ask(&Request::post(&of(bytes))).await;
        assert_eq!(answer.status(), status, "{bytes}");
        let old = Request::new("GET", "/sse").header("Accept", "text/event-stream");
        let mut events = served.events(&old).await;
        let address = events.block().await.unwrap().data.unwrap();
        let post = Request::new("POST", &address).header("Content-Type", "application/json");
        let answer = served.ask(&post.body(of(bytes).to_string())).await;
        assert_eq!(answer.status(), old_status, "{bytes}");
    }
    let left = async {
        while served.endpoint.sessions() > 1 {
            tokio::task::yield_now().await;
        }
    };
    within("the end of the sessions whose streams were left", left).await;
    served.stop().await;
}

/// A body that comes in pieces of one size, one after each wait.
struct Trickle {
    pieces: VecDeque<Bytes>,
    every: Duration,
    wait: Pin<Box<Sleep>>,
}

impl Trickle {
    fn new(request: &Request, piece: usize, every: Duration) -> http::Request<Self> {
        let (parts, body) = request.parts();
        let body = Self {
            pieces: body.chunks(piece).map(Bytes::copy_from_slice).collect(),
            every,
            wait: Box::pin(tokio::time::sleep(every)),
        };
        http::Request::from_parts(parts, body)
    }
}

impl http_body::Body for Trickle {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.pieces.is_empty() {
            return Poll::Ready(None);
        }
        ready!(self.wait.as_mut().poll(cx));
        let next = tokio::time::Instant::now() + self.every;
        self.wait.as_mut().reset(next);
        Poll::Ready(self.pieces.pop_front().map(|piece| Ok(Frame::data(piece))))
    }
}

/// 64 KiB in half a minute is slow; anything slower is none.
#[tokio::test(start_paused = true)]
async fn a_body_may_be_slow_but_not_for_ever() {
    let endpoint = crate::stage::server(Stage::default())
        .http(HttpOptions::default())
        .unwrap();
    let seconds = Duration::from_secs;
    for (what, bytes, piece, every, status) in [
        ("nothing comes", 1000, 1000, seconds(31), 408),
        ("all of it in time", 1000, 500, seconds(9), 200),
        ("a byte now and then", 1000, 1, seconds(1), 408),
        ("a large one at the slowest rate", 300_000, 64 * 1024, seconds(29), 200),
        ("a large one below it", 300_000, 60 * 1024, seconds(29), 408),
    ] {
        let begun = tokio::time::Instant::now();
        let answer = endpoint.handle(Trickle::new(&of_size(bytes), piece, every)).await;
        assert_eq!(answer.status().as_u16(), status, "{what}");
        assert!(begun.elapsed() < seconds(200), "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_stops_coming_is_answered_and_its_connection_ended() {
    let served = Served::start().await;
    let mut connection = served.connect().await.patient();
    let bytes = modern_call(1, "echo", json!({ "text": "hi" })).bytes();
    connection.write(&bytes[..bytes.len() - 1]).await;
    let begun = tokio::time::Instant::now();
    assert_eq!(connection.answer().await.error(), (408, -32600, Value::Null));
    assert_eq!(begun.elapsed().as_secs(), 30);
    assert_eq!(connection.rest().await, 0);
    served.stop().await;
}

/// Half of a head, or nothing at all: such a client is not waited for longer than for others.
#[tokio::test(start_paused = true)]
async fn a_connection_that_says_nothing_is_ended() {
    let served = Served::start().await;
    for said in ["", "POST", "POST /mcp HTTP/1.1\r\nHost: localhost\r\n"] {
        let mut connection = served.connect().await.patient();
        connection.write(said.as_bytes()).await;
        let begun = tokio::time::Instant::now();
        let head = connection.try_head().await;
        assert!(head.is_none_or(|head| head.status == 408), "{said}");
        assert_eq!(begun.elapsed().as_secs(), 60, "{said:?}");
    }
    // So is one that was served and then falls silent.
    let mut connection = served.connect().await.patient();
    assert_eq!(connection.ask(&modern(1, "tools/list", json!({}))).await.status(), 200);
    assert_eq!(connection.rest().await, 0);
    served.stop().await;
}

#[tokio::test]
async fn a_head_has_so_many_lines_and_bytes_and_no_more() {
    let served = Served::start().await;
    // A request has six headers before, and its length.
    let lines = |more: usize| {
        let request = modern(1, "tools/list", json!({}));
        (0..more).fold(request, |request, number| request.header(&format!("X-{number}"), "x"))
    };
    let before = lines(0).parts().0.headers.len() + 1;
    assert_eq!(served.ask(&lines(100 - before)).await.status(), 200);
    assert_eq!(served.ask(&lines(101 - before)).await.status(), 431);
    let bytes = |more: usize| modern(1, "tools/list", json!({})).header("X", &"x".repeat(more));
    let most = 64 * 1024;
    assert_eq!(served.ask(&bytes(most - 4096)).await.status(), 200);
    // What came by one read is looked at together, so it may be almost twice as much.
    assert_eq!(served.ask(&bytes(2 * most)).await.status(), 431);
    let line = Request::new("GET", &format!("/mcp?{}", "x".repeat(2 * most)));
    assert!(matches!(served.ask(&line).await.status(), 414 | 431));
    served.stop().await;
}

#[tokio::test]
async fn rubbish_is_refused_and_the_next_client_served() {
    let served = Served::start().await;
    for rubbish in [
        "\r\n\r\n\r\n",
        "GET\r\n\r\n",
        "POST /mcp HTTP/9.9\r\n\r\n",
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nBad Header: x\r\n\r\n",
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nX: a\0b\r\n\r\n",
        "\x16\x03\x01\x02\x00\x01\x00\x01\u{fc}\x03\x03",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ] {
        let mut connection = served.connect().await;
        connection.write(rubbish.as_bytes()).await;
        connection.finish_writing().await;
        let head = connection.try_head().await;
        assert!(head.is_none_or(|head| (400..500).contains(&head.status)), "{rubbish:?}");
    }
    // A length said in two ways is how requests are smuggled past a proxy: only one of them may count.
    let smuggled = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
        Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let mut connection = served.connect().await;
    connection.write(smuggled).await;
    assert_eq!(connection.answer().await.status(), 400);
    assert_eq!(served.ask(&modern(1, "tools/list", json!({}))).await.status(), 200);
    served.stop().await;
}

/// A client that does not read costs a bounded amount of memory: notices are dropped, the answer is not.
#[tokio::test]
async fn what_waits_for_a_slow_client_is_bounded() {
    let stage = Stage::default();
    let endpoint = crate::stage::server(stage.clone())
        .http(HttpOptions::default())
        .unwrap();
    for (size, count, most) in [(10_000, 1000, 106), (10, 3000, 1024)] {
        let mut params = call("puppet", json!({ "name": "a" }));
        params["_meta"] = json!({ "io.modelcontextprotocol/logLevel": "debug" });
        let request = crate::tower::plain(&modern(1, "tools/call", params));
        let ordering = async {
            let puppet = stage.puppet("a").await;
            for _ in 0..count {
                puppet.tell(Order::Log("x".repeat(size)));
            }
            puppet.finish("done");
            puppet.end().await
        };
        let (response, end) = tokio::join!(crate::tower::begin(&endpoint, request), ordering);
        assert_eq!(end, End::Finished);
        let messages = crate::tower::read(response).await;
        let (answer, notices) = messages.split_last().unwrap();
        assert_eq!(text(answer), "done");
        assert!(
            (most - 5..=most).contains(&notices.len()),
            "{} notices of {size}",
            notices.len()
        );
    }
}

/// The same over a socket: after half a minute without taking anything, the client is given up.
#[tokio::test(start_paused = true)]
async fn a_client_that_takes_nothing_is_given_up() {
    let served = Served::start().await;
    let mut params = call("puppet", json!({ "name": "a" }));
    params["_meta"] = json!({ "io.modelcontextprotocol/logLevel": "debug" });
    let connection = crate::speak::send(&served, &modern(1, "tools/call", params)).await;
    let puppet = served.stage.puppet("a").await;
    let begun = tokio::time::Instant::now();
    while puppet.try_tell(Order::Log("x".repeat(500_000))) {
        assert!(begun.elapsed() < Duration::from_secs(100), "it is never given up");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    assert!(begun.elapsed() >= Duration::from_secs(30));
    assert_eq!(puppet.end().await, End::Dropped);
    drop(connection);
    served.stop().await;
}

/// Whoever hears nothing for so long gets a sign of life: waiting for an answer, listening, and in a session.
#[tokio::test(start_paused = true)]
async fn silence_is_broken_by_signs_of_life() {
    let served = Served::with(HttpOptions::default().with_keep_alive(Duration::from_secs(20))).await;
    let client = crate::speak::Client::open(&served, "2025-06-18").await;
    let filter = json!({ "notifications": { "toolsListChanged": true } });
    let old = Request::new("GET", "/sse").header("Accept", "text/event-stream");
    for (what, request, blocks_first) in [
        ("a call", modern_call(1, "puppet", json!({ "name": "a" })), 0),
        ("a subscription", modern(1, "subscriptions/listen", filter), 1),
        (
            "a call in a session",
            client.call(1, "puppet", json!({ "name": "b" })),
            0,
        ),
        ("the stream of a session", client.get(), 0),
        ("the oldest transport", old, 1),
    ] {
        let mut connection = served.connect().await.patient();
        connection.write(&request.bytes()).await;
        let mut events = crate::events::Events::begin(connection).await;
        for _ in 0..blocks_first {
            assert!(!events.block().await.unwrap().is_comment, "{what}");
        }
        let begun = tokio::time::Instant::now();
        for signs in 1..4 {
            assert!(events.block().await.unwrap().is_comment, "{what}");
            assert_eq!(begun.elapsed().as_secs(), 20 * signs, "{what}");
        }
    }
    served.ask(&client.delete()).await;
    served.stop().await;
}

/// No silence at all between signs of life would be a flood.
#[tokio::test(start_paused = true)]
async fn signs_of_life_have_a_pace() {
    let options = HttpOptions::default().with_keep_alive(Duration::ZERO);
    let endpoint = crate::stage::server(Stage::default()).http(options).unwrap();
    let listen = modern(1, "subscriptions/listen", json!({ "notifications": {} }));
    let mut stream = endpoint.handle(crate::tower::plain(&listen)).await;
    let mut signs = 0;
    let counting = async {
        while let Some(frame) = stream.body_mut().frame().await {
            signs += usize::from(frame.unwrap().into_data().unwrap().starts_with(b":"));
        }
    };
    assert!(tokio::time::timeout(Duration::from_secs(1), counting).await.is_err());
    assert!((90..=100).contains(&signs), "{signs}");
}

#[tokio::test]
async fn so_many_connections_at_once_and_the_next_one_waits() {
    let stage = Stage::default();
    let server = crate::stage::server(stage.clone());
    let options = HttpOptions::default();
    let served = Served::listen(server, stage, options, |listener| listener.max_connections(2)).await;
    let list = modern(1, "tools/list", json!({}));
    let (mut one, mut two) = (served.connect().await, served.connect().await);
    assert_eq!(
        (one.ask(&list).await.status(), two.ask(&list).await.status()),
        (200, 200)
    );
    let mut three = crate::speak::send(&served, &list).await;
    // The others are served meanwhile, and when one of them leaves, the third one is.
    assert_eq!(two.ask(&list).await.status(), 200);
    drop(one);
    assert_eq!(three.answer().await.status(), 200);
    served.stop().await;
}
