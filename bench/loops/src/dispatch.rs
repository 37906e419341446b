//! One request through a whole server: read, dispatched, checked, handled, answered.
//!
//! The transport hands the message over as it is, so neither framing nor a pipe is part of it.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};
use trunkline::transport::{Received, Transport, TransportError};
use trunkline::types::Revision;
use trunkline::{ServeError, Server};

use crate::samples::{legacy_request, modern_request, server};
use crate::{Iteration, Loop};

pub(crate) const LOOPS: &[Loop] = &[
    Loop::new("dispatch/echo_modern", "calls `echo`, newest revision", 500, || {
        call(3, true, "echo")
    }),
    Loop::new(
        "dispatch/echo_legacy",
        "calls `echo`, newest legacy revision",
        500,
        || call(3, false, "echo"),
    ),
    Loop::new(
        "dispatch/add_modern",
        "calls `add`, whose result is checked and repeated as text",
        500,
        || call(3, true, "add"),
    ),
    Loop::new("dispatch/add_legacy", "the same, newest legacy revision", 500, || {
        call(3, false, "add")
    }),
    Loop::new("dispatch/echo_of_1000", "calls `echo`, one of 1,000 tools", 500, || {
        call(1000, true, "echo")
    }),
    Loop::new("dispatch/list_3", "lists 3 tools", 100, || list(3)),
    Loop::new("dispatch/list_100", "lists 100 tools", 20, || list(100)),
    Loop::new("dispatch/list_1000", "lists 1,000 tools", 5, || list(1000)),
];

#[derive(Default)]
struct Mailbox {
    incoming: Option<Bytes>,
    outgoing: Option<Vec<u8>>,
}

/// The transport between a loop and its server.
struct HandOver(Arc<Mutex<Mailbox>>);

fn lock(mailbox: &Mutex<Mailbox>) -> MutexGuard<'_, Mailbox> {
    mailbox.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Transport for HandOver {
    fn poll_receive(&mut self, _: &mut Context<'_>) -> Poll<Result<Received, TransportError>> {
        match lock(&self.0).incoming.take() {
            Some(message) => Poll::Ready(Ok(Received::Message(message))),
            None => Poll::Pending,
        }
    }

    fn send(&mut self, message: Vec<u8>) {
        lock(&self.0).outgoing = Some(message);
    }

    fn queued(&self) -> usize {
        0
    }

    fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<Result<(), TransportError>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(&mut self, _: &mut Context<'_>) -> Poll<Result<(), TransportError>> {
        Poll::Ready(Ok(()))
    }
}

/// A server that is polled by hand: what it has to say to a message, it says at once.
struct Served {
    runtime: Runtime,
    serving: Pin<Box<dyn Future<Output = Result<(), ServeError>>>>,
    mailbox: Arc<Mutex<Mailbox>>,
}

impl Served {
    fn new(server: Server) -> Self {
        let mailbox = Arc::<Mutex<Mailbox>>::default();
        let transport = HandOver(Arc::clone(&mailbox));
        Self {
            runtime: Builder::new_current_thread().enable_time().build().unwrap(),
            serving: Box::pin(async move { server.serve(transport).await }),
            mailbox,
        }
    }

    fn answer(&mut self, request: &Bytes) -> Option<Vec<u8>> {
        lock(&self.mailbox).incoming = Some(request.clone());
        let _inside = self.runtime.enter();
        let serving = self.serving.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        if serving.is_ready() {
            return None;
        }
        lock(&self.mailbox).outgoing.take()
    }

    /// Agrees on the newest legacy revision.
    fn shake_hands(&mut self) {
        let hello = json!({
            "protocolVersion": Revision::LATEST_LEGACY.name(),
            "capabilities": {},
            "clientInfo": { "name": "bench-loops", "version": "1.0.0" },
        });
        assert!(self.answer(&legacy_request("initialize", hello).into()).is_some());
        let done = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        assert!(self.answer(&Bytes::from_static(done.as_bytes())).is_none());
    }
}

fn call(tools: usize, modern: bool, tool: &str) -> Iteration {
    let (arguments, wanted) = match tool {
        "echo" => (json!({ "text": "hello" }), r#""text":"hello""#),
        _ => (json!({ "a": 2, "b": 3 }), r#""structuredContent":{"sum":5.0}"#),
    };
    requests(
        tools,
        modern,
        "tools/call",
        json!({ "name": tool, "arguments": arguments }),
        wanted,
    )
}

fn list(tools: usize) -> Iteration {
    requests(tools, true, "tools/list", json!({}), r#""name":"get_forecast""#)
}

fn requests(tools: usize, modern: bool, method: &str, params: Value, wanted: &'static str) -> Iteration {
    let mut served = Served::new(server(tools));
    let request = if modern {
        modern_request(method, params)
    } else {
        served.shake_hands();
        legacy_request(method, params)
    };
    let request = Bytes::from(request);
    let first = served.answer(&request).unwrap();
    assert!(
        String::from_utf8_lossy(&first).contains(wanted),
        "{}",
        String::from_utf8_lossy(&first)
    );
    // The same question has the same answer each time.
    Box::new(move || served.answer(&request).is_some_and(|answer| answer == first))
}
