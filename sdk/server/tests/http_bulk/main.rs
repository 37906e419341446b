//! Sessions and streams by the thousand: what they cost, and that it is given back. In a program of its own, because
//! the memory of the whole process is measured.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so by a panic")]

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use trunkline_server::{HttpEndpoint, HttpListener, HttpOptions, NoArguments, Server};

const SESSIONS: usize = 10_000;
const STREAMS: usize = 1000;
/// How many are opened and ended again and again.
const AGAIN: usize = 4000;
/// Each takes two of the files that a process may have open, often no more than 1024.
const CONNECTIONS: usize = 400;

type Response = http::Response<trunkline_http::server::Body>;

/// The memory that this process has of its own, in bytes.
fn memory() -> usize {
    let text = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap();
    let of = |name: &str| -> usize {
        let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    };
    (of("Anonymous:") + of("Swap:")) * 1024
}

fn endpoint() -> HttpEndpoint {
    let server = Server::new("bulk", "1").tool("nothing", |_: NoArguments| async { "nothing" });
    server.http(HttpOptions::default()).unwrap()
}

fn request(verb: &str, session: Option<&str>, body: &str) -> http::Request<Full<Bytes>> {
    let mut request = http::Request::builder()
        .method(verb)
        .uri("/mcp")
        .header("Host", "localhost")
        .header("Content-Type", "application/json")
        .header("Accept", "application/json, text/event-stream");
    if let Some(session) = session {
        request = request.header("Mcp-Session-Id", session);
    }
    request
        .body(Full::new(Bytes::copy_from_slice(body.as_bytes())))
        .unwrap()
}

/// Opens a session, as a client that says much about itself.
async fn open(endpoint: &HttpEndpoint) -> String {
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": { "roots": { "listChanged": true }, "sampling": {}, "elicitation": { "form": {}, "url": {} } },
        "clientInfo": { "name": "a client of the usual kind", "title": "A client", "version": "10.20.30" },
    });
    let message = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
    let opened = endpoint.handle(request("POST", None, &message.to_string())).await;
    let session = opened.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    opened.into_body().collect().await.unwrap();
    session
}

/// Opens a session and uses it.
async fn begin(endpoint: &HttpEndpoint) -> String {
    let session = open(endpoint).await;
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let ready = endpoint
        .handle(request("POST", Some(&session), &ready.to_string()))
        .await;
    assert_eq!(ready.status(), 202);
    session
}

/// Polls a stream once, as a connection does that then waits.
async fn settle(stream: &mut Response) {
    let waits = std::future::poll_fn(|cx| {
        let polled = http_body::Body::poll_frame(std::pin::Pin::new(stream.body_mut()), cx);
        std::task::Poll::Ready(polled.is_pending())
    });
    assert!(waits.await);
}

/// A stream of a session over a socket, whose head was read.
async fn listen(address: SocketAddr, session: &str) -> TcpStream {
    let mut connection = TcpStream::connect(address).await.unwrap();
    let request = format!(
        "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nMcp-Session-Id: {session}\r\n\r\n"
    );
    connection.write_all(request.as_bytes()).await.unwrap();
    let mut head = [0; 1024];
    let read = connection.read(&mut head).await.unwrap();
    assert!(head[..read].starts_with(b"HTTP/1.1 200"));
    connection
}

/// Opens sessions, and streams in some of them; then some leave, and the others end their session.
async fn round(endpoint: &HttpEndpoint) {
    let mut sessions = Vec::with_capacity(AGAIN);
    for _ in 0..AGAIN {
        sessions.push(open(endpoint).await);
    }
    assert_eq!(endpoint.sessions(), AGAIN);
    let mut streams = Vec::with_capacity(AGAIN / 10);
    for session in &sessions[..AGAIN / 10] {
        let mut stream = endpoint.handle(request("GET", Some(session), "")).await;
        settle(&mut stream).await;
        streams.push(stream);
    }
    streams.truncate(AGAIN / 20);
    for session in &sessions {
        let ended = endpoint.handle(request("DELETE", Some(session), "")).await;
        assert_eq!(ended.status(), 204);
    }
    for stream in streams {
        assert_eq!(stream.into_body().collect().await.unwrap().to_bytes().len(), 0);
    }
    assert_eq!(endpoint.sessions(), 0);
}

/// The costs in a process whose memory was never used before: of a session, of its stream, and of its stream over a
/// socket, with the client's end of it.
async fn measure(endpoint: &HttpEndpoint) -> [usize; 3] {
    let socket = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = socket.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = tokio::spawn(HttpListener::over(socket).serve(endpoint.clone(), async {
        let _ = stopped.await;
    }));
    let mut sessions = Vec::with_capacity(SESSIONS);
    let mut streams = Vec::with_capacity(STREAMS);
    let mut connections = Vec::with_capacity(CONNECTIONS);
    let empty = memory();
    for _ in 0..SESSIONS {
        sessions.push(begin(endpoint).await);
    }
    let with_sessions = memory();
    let (listening, rest) = sessions.split_at(STREAMS);
    for session in listening {
        let mut stream = endpoint.handle(request("GET", Some(session), "")).await;
        settle(&mut stream).await;
        streams.push(stream);
    }
    let with_streams = memory();
    for session in &rest[..CONNECTIONS] {
        connections.push(listen(address, session).await);
    }
    let with_connections = memory();
    stop.send(()).unwrap();
    for mut connection in connections {
        let mut rest = Vec::new();
        connection.read_to_end(&mut rest).await.unwrap();
        assert_eq!(rest, b"0\r\n\r\n", "it ends in good order");
    }
    serving.await.unwrap();
    assert_eq!(endpoint.sessions(), 0);
    drop(streams);
    [
        (with_sessions - empty) / SESSIONS,
        (with_streams - with_sessions) / STREAMS,
        (with_connections - with_streams) / CONNECTIONS,
    ]
}

#[tokio::test]
async fn thousands_of_sessions_and_streams_cost_little_and_leave_nothing() {
    let costs = measure(&endpoint()).await;
    let [session, stream, connection] = costs;
    assert!(session < 4 * 1024, "{costs:?}");
    assert!(stream < 4 * 1024, "{costs:?}");
    // Two buffers of the HTTP library's take most of it.
    assert!(connection < 20 * 1024, "{costs:?}");

    // What the allocator keeps for later is there after the first round.
    let endpoint = endpoint();
    round(&endpoint).await;
    let after_first = memory();
    for _ in 0..3 {
        round(&endpoint).await;
    }
    let after_last = memory();
    // Three hundred bytes of each session would be seen.
    let most = 300 * AGAIN * 3;
    assert!(
        after_last < after_first + most,
        "memory grows: {after_first} bytes, then {after_last}"
    );
    drop(endpoint);
    // Who looks at the sessions in turn notices at the next one.
    tokio::time::pause();
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert_eq!(Handle::current().metrics().num_alive_tasks(), 0);
}
