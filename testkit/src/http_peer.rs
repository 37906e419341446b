//! A server that answers HTTP byte for byte as a test says, on threads of its own, so that programs can be tested
//! against it too.

use std::fmt;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use serde_json::{Value, json};

/// One request.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The request line and the headers.
    pub head: String,
    /// The body, if it is JSON.
    pub message: Value,
}

impl Asked {
    /// `GET`, `POST` or `DELETE`.
    pub fn verb(&self) -> &str {
        self.head.split(' ').next().unwrap_or_default()
    }

    /// The JSON-RPC method of the body, or an empty text.
    pub fn method(&self) -> &str {
        self.message["method"].as_str().unwrap_or_default()
    }

    /// A header, by its name in any letters.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(':'));
        let found = lines.find(|(other, _)| other.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.trim())
    }

    /// The response with a result.
    pub fn result(&self, result: Value) -> Answer {
        Answer::json(&json!({ "jsonrpc": "2.0", "id": self.message["id"], "result": result }))
    }

    /// What an ordinary legacy server with these tools answers: it has no sessions and sends nothing unasked.
    pub fn ordinary(&self, tools: &Value) -> Answer {
        match (self.verb(), self.method()) {
            ("POST", "initialize") => self.result(json!({
                "protocolVersion": self.message["params"]["protocolVersion"], "capabilities": { "tools": {} },
                "serverInfo": { "name": "peer", "version": "1" },
            })),
            ("POST", "tools/list") => self.result(json!({ "tools": tools })),
            ("POST", "tools/call") => self.result(json!({ "content": [{ "type": "text", "text": "done" }] })),
            ("POST", _) if self.message["id"].is_null() => Answer::status("202 Accepted"),
            ("POST", _) => Answer::json(&json!({
                "jsonrpc": "2.0", "id": self.message["id"], "error": { "code": -32601, "message": "no such method" },
            })),
            _ => Answer::status("405 Method Not Allowed"),
        }
    }
}

/// What is done about a request. Whatever it is, the connection ends after it.
#[derive(Debug, Clone)]
pub enum Answer {
    /// These bytes.
    Bytes(String),
    /// Nothing, until the other end goes away.
    Silence,
}

impl Answer {
    /// An answer with this status line, these headers (each with its line end) and this body.
    pub fn new(status: &str, headers: &str, body: &str) -> Self {
        let length = body.len();
        Self::Bytes(format!(
            "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
        ))
    }

    /// Nothing but a status.
    pub fn status(status: &str) -> Self {
        Self::new(status, "", "")
    }

    /// A message.
    pub fn json(message: &Value) -> Self {
        Self::new("200 OK", "Content-Type: application/json\r\n", &message.to_string())
    }

    /// A page for browsers.
    pub fn page(status: &str, page: &str) -> Self {
        Self::new(status, "Content-Type: text/html; charset=utf-8\r\n", page)
    }

    /// The end of the connection without a word.
    pub fn hang_up() -> Self {
        Self::Bytes(String::new())
    }
}

/// The server. When it is dropped, its connections and its threads end.
pub struct HttpPeer {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

struct Shared {
    script: Box<dyn Fn(&Asked) -> Answer + Send + Sync>,
    ends: AtomicBool,
    asked: Mutex<Vec<Asked>>,
    open: Mutex<Vec<(TcpStream, JoinHandle<()>)>>,
}

impl HttpPeer {
    /// Serves on a free port of this machine.
    pub fn new(script: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> Self {
        let socket = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = socket.local_addr().expect("a bound socket has an address");
        let shared = Arc::new(Shared {
            script: Box::new(script),
            ends: AtomicBool::new(false),
            asked: Mutex::default(),
            open: Mutex::default(),
        });
        let accepting = {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || accept(&socket, &shared))
        };
        Self {
            address,
            shared,
            accepting: Some(accepting),
        }
    }

    /// Answers everything with the same.
    pub fn always(answer: Answer) -> Self {
        Self::new(move |_| answer.clone())
    }

    /// The address of its endpoint.
    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// What was asked so far.
    pub fn asked(&self) -> Vec<Asked> {
        lock(&self.shared.asked).clone()
    }

    /// How often a method was asked so far.
    pub fn count(&self, method: &str) -> usize {
        self.asked().iter().filter(|asked| asked.method() == method).count()
    }
}

fn accept(socket: &TcpListener, shared: &Arc<Shared>) {
    while let Ok((stream, _)) = socket.accept() {
        if shared.ends.load(Ordering::SeqCst) {
            return;
        }
        let Ok(kept) = stream.try_clone() else { continue };
        let answering = {
            let shared = Arc::clone(shared);
            // A client that goes away in between is none of a test's concern.
            std::thread::spawn(move || drop(answer(stream, &shared)))
        };
        lock(&shared.open).push((kept, answering));
    }
}

fn answer(mut stream: TcpStream, shared: &Shared) -> std::io::Result<()> {
    let Some(asked) = read(&mut stream)? else {
        // As servers do that are spoken to in TLS where they expect HTTP.
        return stream.write_all(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    };
    lock(&shared.asked).push(asked.clone());
    match (shared.script)(&asked) {
        Answer::Bytes(bytes) => {
            stream.write_all(bytes.as_bytes())?;
            stream.shutdown(Shutdown::Write)?;
        }
        Answer::Silence => {}
    }
    // Closing while something is unread would take back what was written.
    while stream.read(&mut [0; 1024])? > 0 {}
    Ok(())
}

/// Reads one request. There is none where something else comes than HTTP, or nothing.
fn read(stream: &mut TcpStream) -> std::io::Result<Option<Asked>> {
    let mut read = Vec::new();
    let mut more = |read: &mut Vec<u8>| {
        let mut part = [0; 4096];
        let count = stream.read(&mut part)?;
        read.extend_from_slice(&part[..count]);
        Ok::<_, std::io::Error>(count > 0)
    };
    let end = loop {
        if let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        if !more(&mut read)? || !read[0].is_ascii_alphabetic() {
            return Ok(None);
        }
    };
    let mut asked = Asked {
        head: String::from_utf8_lossy(&read[..end]).into_owned(),
        message: Value::Null,
    };
    let length: usize = asked
        .header("content-length")
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    while read.len() < end + length {
        if !more(&mut read)? {
            return Ok(None);
        }
    }
    asked.message = serde_json::from_slice(&read[end..]).unwrap_or_default();
    Ok(Some(asked))
}

impl Drop for HttpPeer {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::SeqCst);
        // Whoever accepts is woken by one more connection.
        let woken = TcpStream::connect(self.address);
        if let (Ok(_), Some(accepting)) = (woken, self.accepting.take()) {
            let _ = accepting.join();
        }
        for (stream, answering) in std::mem::take(&mut *lock(&self.shared.open)) {
            let _ = stream.shutdown(Shutdown::Both);
            let _ = answering.join();
        }
    }
}

impl fmt::Debug for HttpPeer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpPeer")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
