//! The transport under test, driven by hand.

use std::future::poll_fn;
use std::task::Poll;

use serde_json::{Value, json};
use trunkline_http::client::{Http, Remote};
use trunkline_transport::{Received, Transport, TransportError};

use crate::server::{Server, soon};

pub(crate) struct Wire {
    pub(crate) http: Http,
}

/// A request that has no answer.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) id: Value,
    pub(crate) may_have_run: bool,
    pub(crate) status: Option<u16>,
    pub(crate) why: String,
}

impl Wire {
    pub(crate) fn to(server: &Server) -> Self {
        Self::open(&Remote::new(server.url()))
    }

    pub(crate) fn open(remote: &Remote) -> Self {
        Self {
            http: remote.open().unwrap(),
        }
    }

    pub(crate) fn send(&mut self, message: Value) {
        self.http.send(message.to_string().into_bytes());
    }

    /// Sends a modern request.
    pub(crate) fn ask(&mut self, id: i64, method: &str, mut params: Value) {
        params["_meta"] = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28" });
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
    }

    /// Sends a legacy request.
    pub(crate) fn request(&mut self, id: i64, method: &str, params: Value) {
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
    }

    pub(crate) fn notify(&mut self, method: &str) {
        self.send(json!({ "jsonrpc": "2.0", "method": method }));
    }

    /// What comes next, however it comes.
    pub(crate) async fn received(&mut self) -> Result<Received, TransportError> {
        soon(poll_fn(|cx| {
            let _ = self.http.poll_flush(cx);
            self.http.poll_receive(cx)
        }))
        .await
    }

    /// The next message.
    pub(crate) async fn message(&mut self) -> Value {
        match self.received().await.unwrap() {
            Received::Message(message) => serde_json::from_slice(&message).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    /// The next thing, which must be that a request has no answer.
    pub(crate) async fn failed(&mut self) -> Failed {
        match self.received().await.unwrap() {
            Received::Undelivered {
                id,
                may_have_run,
                status,
                why,
            } => Failed {
                id: serde_json::to_value(id).unwrap(),
                may_have_run,
                status,
                why,
            },
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn warning(&mut self) -> String {
        match self.received().await.unwrap() {
            Received::Warning(text) => text,
            other => panic!("{other:?}"),
        }
    }

    /// Works on while something else is waited for.
    pub(crate) async fn while_<T>(&mut self, waited_for: impl Future<Output = T>) -> T {
        let mut waited_for = std::pin::pin!(waited_for);
        poll_fn(|cx| {
            let _ = self.http.poll_flush(cx);
            match waited_for.as_mut().poll(cx) {
                Poll::Ready(done) => Poll::Ready(done),
                Poll::Pending => Poll::Pending,
            }
        })
        .await
    }

    /// Sends `initialize` and `initialized`, and takes the answer in between; the server shakes hands meanwhile.
    pub(crate) async fn shake_hands(&mut self, server: &mut Server, revision: &str, session: Option<&str>) {
        self.request(1, "initialize", json!({ "protocolVersion": revision }));
        let shaking = server.shake_hands(revision, session);
        let client = async {
            assert_eq!(self.message().await["id"], 1);
            self.notify("notifications/initialized");
            self
        };
        let mut shaking = std::pin::pin!(shaking);
        let wire = tokio::select! {
            wire = client => wire,
            () = &mut shaking => panic!("the client sent nothing"),
        };
        wire.while_(shaking).await;
    }

    pub(crate) async fn close(mut self) {
        soon(poll_fn(|cx| self.http.poll_close(cx))).await.unwrap();
    }
}
