//! Any bytes on a line transport, through a small limit: messages, cut lines, and an end; no panic, no stall.
#![no_main]

use std::future::poll_fn;

use libfuzzer_sys::fuzz_target;
use trunkline::transport::{Limits, Lines, Received, Transport};

fuzz_target!(|bytes: &[u8]| {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        let mut lines = Lines::with_limits(std::io::Cursor::new(bytes.to_vec()), Vec::new(), Limits::default().with_max_message(64));
        loop {
            match poll_fn(|cx| lines.poll_receive(cx)).await {
                Ok(Received::Message(message)) => assert!(message.len() <= 64 && !message.contains(&b'\n')),
                Ok(Received::End) | Err(_) => break,
                Ok(_) => {}
            }
        }
    });
});
