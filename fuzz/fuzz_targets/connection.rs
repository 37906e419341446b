//! Any lines to both ends of a connection, with time going by: no panic, and no request in flight without an id.
#![no_main]

use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use trunkline::proto::{client, server};

fuzz_target!(|input: Vec<(bool, u16, &[u8])>| {
    let mut now = Duration::ZERO;
    let mut server = server::Connection::new(server::Config::new("s", "1").into());
    let mut client = client::Connection::new(client::Config::new("c", "1"), now);
    for (to_server, wait, bytes) in input {
        now += Duration::from_millis(wait.into());
        if to_server {
            let _ = server.handle_message(now, bytes);
        } else {
            client.handle_message(now, bytes);
        }
        client.handle_timeout(now);
        let _ = server.handle_timeout(now);
        while client.poll_event().is_some() {}
        while let Some(message) = client.poll_transmit() {
            let _ = server.handle_message(now, &message);
        }
        while let Some(message) = server.poll_transmit() {
            client.handle_message(now, &message);
        }
    }
});
