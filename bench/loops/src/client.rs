//! The client's side of one call, without I/O: the request is made and written, its response is read.

use std::hint::black_box;
use std::time::Duration;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use trunkline::proto::client::{Answer, Config, Connection, Event, Opening, RequestOptions};
use trunkline::proto::server;
use trunkline::types::{JsonText, Method, Revision, encode};

use crate::samples::{MIB, text_result};
use crate::{Iteration, Loop};

pub(crate) const LOOPS: &[Loop] = &[
    Loop::new(
        "client/call_modern",
        "one call and its response, newest revision",
        1000,
        || call(Revision::LATEST, 5),
    ),
    Loop::new("client/call_legacy", "the same, newest legacy revision", 1000, || {
        call(Revision::LATEST_LEGACY, 5)
    }),
    Loop::new("client/call_1mib", "one call with a response of 1 MiB", 10, || {
        call(Revision::LATEST, MIB)
    }),
];

fn connected(revision: Revision) -> Connection {
    let mut config = server::Config::new("bench-loops", "1.0.0");
    config.capabilities = serde_json::from_value(json!({ "tools": {} })).unwrap();
    let mut server = server::Connection::new(config.into());
    let mut config = Config::new("bench-loops", "1.0.0");
    config.opening = Opening::Fixed(revision);
    let mut client = Connection::new(config, Duration::ZERO);
    while client.agreement().is_none() {
        while let Some(message) = client.poll_transmit() {
            server.handle_message(Duration::ZERO, &message);
        }
        while let Some(message) = server.poll_transmit() {
            client.handle_message(Duration::ZERO, &message);
        }
    }
    while client.poll_event().is_some() {}
    while client.poll_transmit().is_some() {}
    client
}

fn call(revision: Revision, bytes: usize) -> Iteration {
    let mut client = connected(revision);
    let Value::Object(params) = json!({ "name": "echo", "arguments": { "text": "hello" } }) else {
        return Box::new(|| false);
    };
    let result = JsonText::from(RawValue::from_string(text_result(bytes)).unwrap());
    let options = RequestOptions::default();
    let now = Duration::from_secs(1);
    Box::new(move || {
        let Ok(id) = client.request(now, Method::CallTool, black_box(&params), &options) else {
            return false;
        };
        let written = client
            .poll_transmit()
            .is_some_and(|message| black_box(message).len() > 50);
        client.handle_message(now, &encode::result(&id, result.clone()));
        match client.poll_event() {
            Some(Event::Answered {
                answer: Answer::Complete(result),
                ..
            }) => written && result.get().len() > bytes,
            _ => false,
        }
    })
}
