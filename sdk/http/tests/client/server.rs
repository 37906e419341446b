//! A server that does what the test says: it hands out requests as they come and writes what it is told.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// What a script waits for, so that a fault fails a test instead of holding it up.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) async fn soon<T>(waited_for: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, waited_for).await.expect("nothing came")
}

/// A socket at an address that no test of this process had before: a client remembers which servers are legacy by
/// their address, and the system gives a port again once its server is gone.
pub(crate) async fn bind() -> TcpListener {
    static USED: Mutex<Option<HashSet<u16>>> = Mutex::new(None);
    let mut refused = Vec::new();
    loop {
        let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = socket.local_addr().unwrap().port();
        if USED.lock().unwrap().get_or_insert_default().insert(port) {
            return socket;
        }
        refused.push(socket);
    }
}

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    asked: mpsc::UnboundedReceiver<Asked>,
    connections: Arc<AtomicUsize>,
    /// Ends with the server, and its connections with it.
    _serving: JoinSet<()>,
}

impl Server {
    pub(crate) async fn start() -> Self {
        let socket = bind().await;
        let address = socket.local_addr().unwrap();
        let (sender, asked) = mpsc::unbounded_channel();
        let connections = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&connections);
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = socket.accept().await {
                count.fetch_add(1, Ordering::Relaxed);
                stream.set_nodelay(true).unwrap();
                connections.spawn(serve(stream, sender.clone()));
            }
        });
        Self {
            address,
            asked,
            connections,
            _serving: serving,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// How many connections were opened so far.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    /// The next request, on whichever connection it comes.
    pub(crate) async fn next(&mut self) -> Asked {
        soon(self.asked.recv()).await.unwrap()
    }

    /// The next request, which must be a POST of this method.
    pub(crate) async fn expect(&mut self, method: &str) -> Asked {
        let asked = self.next().await;
        assert_eq!(
            (asked.verb(), asked.method().as_str()),
            ("POST", method),
            "{}",
            asked.head
        );
        asked
    }

    /// The next request, which must ask for a stream.
    pub(crate) async fn expect_get(&mut self) -> Asked {
        let asked = self.next().await;
        assert_eq!(asked.verb(), "GET", "{}", asked.head);
        asked
    }

    /// Whether nothing more was asked so far.
    pub(crate) fn is_quiet(&mut self) -> bool {
        self.asked.try_recv().is_err()
    }

    /// Shakes hands as a legacy server, with a session if there is an id, and without a stream to listen to.
    pub(crate) async fn shake_hands(&mut self, revision: &str, session: Option<&str>) {
        self.initialize(revision, session).await;
        self.expect_get().await.status(405).await;
    }

    /// The same, up to the stream.
    pub(crate) async fn initialize(&mut self, revision: &str, session: Option<&str>) {
        let asked = self.expect("initialize").await;
        let session = session
            .map(|session| format!("Mcp-Session-Id: {session}\r\n"))
            .unwrap_or_default();
        let result = json!({
            "protocolVersion": revision, "serverInfo": { "name": "script", "version": "1" },
            "capabilities": { "tools": {}, "resources": { "subscribe": true }, "logging": {} },
        });
        asked.result_with(&session, result).await;
        self.expect("notifications/initialized").await.status(202).await;
    }
}

/// Reads the requests of one connection, one after the other, each answered before the next is read.
async fn serve(mut stream: TcpStream, asked: mpsc::UnboundedSender<Asked>) {
    let mut buffer = Vec::new();
    while let Some((head, body)) = read_request(&mut stream, &mut buffer).await {
        let (given_back, coming_back) = tokio::sync::oneshot::channel();
        let request = Asked {
            head,
            body,
            stream: Some(stream),
            given_back: Some(given_back),
        };
        if asked.send(request).is_err() {
            return;
        }
        match coming_back.await {
            Ok(back) => stream = back,
            Err(_) => return,
        }
    }
}

async fn read_request(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<(String, Vec<u8>)> {
    let end = loop {
        if let Some(end) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(buffer.drain(..end).collect()).unwrap();
    let length = header_of(&head, "content-length").map_or(0, |length| length.parse().unwrap());
    while buffer.len() < length {
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
    Some((head, buffer.drain(..length).collect()))
}

fn header_of<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = head.lines().filter_map(|line| line.split_once(':'));
    lines
        .find(|(key, _)| key.eq_ignore_ascii_case(name))
        .map(|(_, value)| value.trim())
}

/// One request that waits for its answer. Dropped, it closes its connection.
pub(crate) struct Asked {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
    stream: Option<TcpStream>,
    given_back: Option<tokio::sync::oneshot::Sender<TcpStream>>,
}

impl Asked {
    pub(crate) fn verb(&self) -> &str {
        self.head.split(' ').next().unwrap()
    }

    pub(crate) fn path(&self) -> &str {
        self.head.split(' ').nth(1).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        header_of(&self.head, name)
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The method of the message, or an empty text.
    pub(crate) fn method(&self) -> String {
        self.json()["method"].as_str().unwrap_or_default().to_owned()
    }

    pub(crate) fn id(&self) -> Value {
        self.json()["id"].clone()
    }

    /// Writes an answer of a known length, and reads the next request of the connection.
    pub(crate) async fn answer(mut self, status: u16, headers: &str, body: &str) {
        let length = body.len();
        self.raw(&format!(
            "HTTP/1.1 {status} X\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
        ))
        .await;
        self.give_back();
    }

    pub(crate) async fn status(self, status: u16) {
        self.answer(status, "", "").await;
    }

    pub(crate) async fn json_body(self, status: u16, headers: &str, body: &Value) {
        let headers = format!("Content-Type: application/json\r\n{headers}");
        self.answer(status, &headers, &body.to_string()).await;
    }

    pub(crate) async fn result(self, result: Value) {
        self.result_with("", result).await;
    }

    pub(crate) async fn result_with(self, headers: &str, result: Value) {
        let body = json!({ "jsonrpc": "2.0", "id": self.id(), "result": result });
        self.json_body(200, headers, &body).await;
    }

    pub(crate) async fn error(self, status: u16, code: i64, message: &str) {
        let body = json!({ "jsonrpc": "2.0", "id": self.id(), "error": { "code": code, "message": message } });
        self.json_body(status, "", &body).await;
    }

    /// Begins a stream of events, whose end is the end of the connection.
    pub(crate) async fn events(mut self) -> Events {
        self.raw("HTTP/1.1 200 X\r\nContent-Type: text/event-stream; charset=utf-8\r\nConnection: close\r\n\r\n")
            .await;
        Events { asked: self }
    }

    /// Writes bytes as they are. A client that is gone does not disturb the script.
    pub(crate) async fn raw(&mut self, bytes: &str) {
        let stream = self.stream.as_mut().unwrap();
        let _ = stream.write_all(bytes.as_bytes()).await;
        let _ = stream.flush().await;
    }

    fn give_back(&mut self) {
        if let (Some(stream), Some(back)) = (self.stream.take(), self.given_back.take()) {
            let _ = back.send(stream);
        }
    }

    /// Waits until the client closes the connection.
    pub(crate) async fn closed(mut self) {
        let mut rest = [0; 64];
        let stream = self.stream.as_mut().unwrap();
        while matches!(soon(stream.read(&mut rest)).await, Ok(count) if count > 0) {}
    }
}

/// A stream of events on its way. Dropped, it ends.
pub(crate) struct Events {
    pub(crate) asked: Asked,
}

impl Events {
    pub(crate) async fn raw(&mut self, text: &str) {
        self.asked.raw(text).await;
    }

    pub(crate) async fn event(&mut self, id: Option<&str>, data: &Value) {
        let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
        self.raw(&format!("{id}data: {data}\n\n")).await;
    }

    pub(crate) async fn notify(&mut self, method: &str, params: Value) {
        self.event(None, &json!({ "jsonrpc": "2.0", "method": method, "params": params }))
            .await;
    }

    /// The answer, and the end of the stream.
    pub(crate) async fn result(mut self, result: Value) {
        let message = json!({ "jsonrpc": "2.0", "id": self.asked.id(), "result": result });
        self.event(None, &message).await;
    }
}
