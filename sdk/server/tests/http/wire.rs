//! A small HTTP/1.1 client that sends what it is told to, right or wrong, and shows what comes back.

use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Longer than anything here takes; whoever waits so long waits for ever.
const PATIENCE: Duration = Duration::from_secs(30);

/// Waits for what must come.
pub(crate) async fn within<F: Future>(what: &str, wait: F) -> F::Output {
    let waited = tokio::time::timeout(PATIENCE, wait).await;
    waited.unwrap_or_else(|_| panic!("{what} did not come"))
}

/// A request, as bytes that may be changed at will.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    line: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Request {
    /// Any method on any path, with nothing but a host.
    pub(crate) fn new(verb: &str, path: &str) -> Self {
        Self {
            line: format!("{verb} {path} HTTP/1.1"),
            headers: vec![("Host".into(), "localhost".into())],
            body: Vec::new(),
        }
    }

    /// A message to the endpoint, with the headers that every revision asks for.
    pub(crate) fn post(message: &Value) -> Self {
        Self::new("POST", "/mcp")
            .header("Content-Type", "application/json")
            .header("Accept", "application/json, text/event-stream")
            .body(message.to_string())
    }

    /// The stream of a session.
    pub(crate) fn get() -> Self {
        Self::new("GET", "/mcp").header("Accept", "text/event-stream")
    }

    /// Adds a header; one of this name may be there already.
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Takes all headers of this name away.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(other, _)| !other.eq_ignore_ascii_case(name));
        self
    }

    /// Changes a header.
    pub(crate) fn with(self, name: &str, value: &str) -> Self {
        self.without(name).header(name, value)
    }

    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Its head, up to the blank line.
    pub(crate) fn head(&self) -> Vec<u8> {
        let headers = self.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n"));
        let lines: String = std::iter::once(format!("{}\r\n", self.line)).chain(headers).collect();
        format!("{lines}\r\n").into_bytes()
    }

    /// All of it as a server's own code sees it.
    pub(crate) fn parts(&self) -> (http::request::Parts, Vec<u8>) {
        let mut line = self.line.split(' ');
        let mut request = http::Request::builder()
            .method(line.next().unwrap())
            .uri(line.next().unwrap());
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        (parts, self.body.clone())
    }

    /// All of it, its length said in front.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let length = self.body.len().to_string();
        let mut bytes = if self.body.is_empty() {
            self.head()
        } else {
            self.clone().header("Content-Length", &length).head()
        };
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

/// The head of an answer.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
}

impl Head {
    fn parse(text: &str) -> Self {
        let mut lines = text.split("\r\n");
        let line = lines.next().unwrap();
        let status = line.strip_prefix("HTTP/1.1 ").expect(line)[..3].parse().unwrap();
        let header = |line: &str| {
            let (name, value) = line.split_once(':').expect(line);
            (name.to_ascii_lowercase(), value.trim().to_owned())
        };
        let headers = lines.filter(|line| !line.is_empty()).map(header).collect();
        Self { status, headers }
    }

    /// The value of a header that is there once, or not at all.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.iter().filter(|(other, _)| other == name);
        let first = values.next();
        assert!(values.next().is_none(), "{name} is there twice: {self:?}");
        first.map(|(_, value)| value.as_str())
    }

    fn is_chunked(&self) -> bool {
        self.get("transfer-encoding") == Some("chunked")
    }
}

/// An answer, whole.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) head: Head,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn status(&self) -> u16 {
        self.head.status
    }

    /// The message in it, which must be the only one.
    pub(crate) fn json(&self) -> Value {
        let kind = self.head.get("content-type");
        assert_eq!(kind, Some("application/json"), "{self:?}");
        serde_json::from_slice(&self.body).expect("the body is JSON")
    }

    /// The status, the code and the id of an error.
    pub(crate) fn error(&self) -> (u16, i64, Value) {
        let message = self.json();
        let code = message["error"]["code"].as_i64().unwrap_or_else(|| panic!("{message}"));
        (self.status(), code, message["id"].clone())
    }
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Connection {
    socket: TcpStream,
    unread: Vec<u8>,
    patience: Duration,
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> Self {
        let socket = within("a connection", TcpStream::connect(address)).await.unwrap();
        Self {
            socket,
            unread: Vec::new(),
            patience: PATIENCE,
        }
    }

    /// Waits as long as it takes: where the clock is paused, hours are nothing.
    pub(crate) fn patient(mut self) -> Self {
        self.patience = Duration::from_secs(24 * 3600);
        self
    }

    pub(crate) async fn write(&mut self, bytes: &[u8]) {
        within("room to write", self.socket.write_all(bytes)).await.unwrap();
    }

    /// Writes as long as somebody takes it. Whether all of it was taken.
    pub(crate) async fn try_write(&mut self, bytes: &[u8]) -> bool {
        within("room to write", self.socket.write_all(bytes)).await.is_ok()
    }

    /// Says that nothing more will be written.
    pub(crate) async fn finish_writing(&mut self) {
        self.socket.shutdown().await.unwrap();
    }

    /// Reads on. False at the end, however it came.
    async fn read(&mut self) -> bool {
        let mut piece = vec![0; 16 * 1024];
        let read = tokio::time::timeout(self.patience, self.socket.read(&mut piece)).await;
        match read.expect("an answer did not come") {
            Ok(0) | Err(_) => false,
            Ok(read) => {
                self.unread.extend_from_slice(&piece[..read]);
                true
            }
        }
    }

    async fn until(&mut self, mark: &[u8]) -> Option<Vec<u8>> {
        loop {
            let found = self.unread.windows(mark.len()).position(|window| window == mark);
            if let Some(at) = found {
                let taken = self.unread.drain(..at + mark.len()).collect::<Vec<_>>();
                return Some(taken[..at].to_vec());
            }
            if !self.read().await {
                return None;
            }
        }
    }

    /// The head of the next answer; `None` if the connection ends before it.
    pub(crate) async fn try_head(&mut self) -> Option<Head> {
        let head = self.until(b"\r\n\r\n").await?;
        Some(Head::parse(std::str::from_utf8(&head).unwrap()))
    }

    pub(crate) async fn head(&mut self) -> Head {
        self.try_head().await.expect("the connection ended before an answer")
    }

    async fn exactly(&mut self, length: usize) -> Option<Vec<u8>> {
        while self.unread.len() < length {
            if !self.read().await {
                return None;
            }
        }
        Some(self.unread.drain(..length).collect())
    }

    /// The next piece of a chunked body; empty at its end, `None` if it broke off.
    pub(crate) async fn chunk(&mut self) -> Option<Vec<u8>> {
        let line = self.until(b"\r\n").await?;
        let length = usize::from_str_radix(std::str::from_utf8(&line).unwrap(), 16).unwrap();
        let mut piece = self.exactly(length + 2).await?;
        piece.truncate(length);
        Some(piece)
    }

    async fn whole_body(&mut self, head: &Head) -> Vec<u8> {
        if let Some(length) = head.get("content-length") {
            return self.exactly(length.parse().unwrap()).await.expect("all of the body");
        }
        let mut body = Vec::new();
        while head.is_chunked() {
            let piece = self.chunk().await.expect("all of the body");
            if piece.is_empty() {
                break;
            }
            body.extend(piece);
        }
        body
    }

    /// The next answer, whole.
    pub(crate) async fn answer(&mut self) -> Answer {
        let head = self.head().await;
        let body = tokio::time::timeout(self.patience, self.whole_body(&head)).await;
        let body = body.unwrap_or_else(|_| panic!("the body does not end: {head:?}"));
        Answer { head, body }
    }

    /// Sends a request and reads its answer.
    pub(crate) async fn ask(&mut self, request: &Request) -> Answer {
        self.write(&request.bytes()).await;
        self.answer().await
    }

    /// Reads to the end; the number of bytes that were still to come.
    pub(crate) async fn rest(&mut self) -> usize {
        while self.read().await {}
        self.unread.len()
    }
}
