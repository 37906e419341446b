//! A peer that speaks raw lines: it sends whatever a test writes and shows whatever comes back.

use std::future::poll_fn;
use std::time::Duration;

use serde_json::Value;
use trunkline::transport::{InMemory, Memory, Received, Transport};

/// How long a test waits for a line before it fails. Long enough for a loaded machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// One end of an in-memory connection, used line by line.
#[derive(Debug)]
pub struct RawPeer {
    end: Memory,
    patience: Duration,
}

impl RawPeer {
    /// A peer of a server.
    pub fn of(server: &impl InMemory) -> Self {
        Self::on(server.open())
    }

    /// A peer on one end of a pair.
    pub fn on(end: Memory) -> Self {
        Self {
            end,
            patience: PATIENCE,
        }
    }

    /// Waits longer for a line than other peers do, where a test moves the clock.
    pub fn patient(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Sends one line as it is.
    pub async fn send_text(&mut self, line: &str) {
        self.end.send(line.as_bytes().to_vec());
        poll_fn(|cx| self.end.poll_flush(cx))
            .await
            .expect("the other end reads");
    }

    /// Sends one JSON message.
    pub async fn send(&mut self, message: Value) {
        self.send_text(&message.to_string()).await;
    }

    /// The next line, or `None` at the end.
    pub async fn receive_text(&mut self) -> Option<String> {
        let next = poll_fn(|cx| self.end.poll_receive(cx));
        let received = tokio::time::timeout(self.patience, next)
            .await
            .expect("a line comes in time");
        match received.expect("the connection works") {
            Received::Message(line) => Some(String::from_utf8_lossy(&line).into_owned()),
            Received::End => None,
            other => panic!("unexpected: {other:?}"),
        }
    }

    /// The next message.
    pub async fn receive(&mut self) -> Value {
        let line = self.receive_text().await.expect("a message before the end");
        serde_json::from_str(&line).expect("a message is JSON")
    }

    /// The next response to a request, setting notifications aside.
    pub async fn response(&mut self, id: &Value) -> Value {
        loop {
            let message = self.receive().await;
            if message.get("method").is_none() && message.get("id") == Some(id) {
                return message;
            }
        }
    }

    /// Sends a request and waits for its response.
    pub async fn request(&mut self, message: Value) -> Value {
        let id = message.get("id").cloned().expect("a request has an id");
        self.send(message).await;
        self.response(&id).await
    }

    /// Says that nothing more will be sent. What comes can still be received.
    pub async fn close(mut self) {
        // The other end may be gone already.
        let _ = poll_fn(|cx| self.end.poll_close(cx)).await;
    }
}
