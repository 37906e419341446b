//! One JSON-RPC message, read and written.

use std::hint::black_box;

use trunkline::types::{CallToolResult, JsonText, Message, RequestId, ServerResult, encode};

use crate::samples::{MIB, echo_request};
use crate::{Iteration, Loop};

pub(crate) const LOOPS: &[Loop] = &[
    Loop::new("envelope/read_small", "reads a request of 250 bytes", 2000, || read(5)),
    Loop::new("envelope/read_1mib", "reads a request of 1 MiB", 10, || read(MIB)),
    Loop::new("envelope/write_small", "writes a response of 100 bytes", 2000, || {
        write(5)
    }),
    Loop::new("envelope/write_1mib", "writes a response of 1 MiB", 10, || write(MIB)),
];

fn read(bytes: usize) -> Iteration {
    let request = echo_request(bytes);
    Box::new(move || match Message::parse(black_box(&request)) {
        Ok(Message::Request {
            method,
            params: Some(params),
            ..
        }) => method == "tools/call" && params.get().len() > bytes,
        _ => false,
    })
}

fn write(bytes: usize) -> Iteration {
    let result = CallToolResult::text_result("x".repeat(bytes));
    let id = RequestId::from(7);
    Box::new(move || {
        let Ok(text) = JsonText::write_bulky(black_box(&result), result.bulk()) else {
            return false;
        };
        let written = black_box(encode::result(black_box(&id), text));
        written.len() > bytes && written.ends_with(b"\"}]}}")
    })
}
