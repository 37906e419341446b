//! Any bytes: a message or a reason why not; what is a message keeps its id when it is encoded again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use trunkline::types::{Message, encode};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(Message::Request { id, method, params }) = Message::parse(bytes) {
        let encoded = encode::request(&id, &method, &params).expect("what was read can be written");
        let Ok(Message::Request { id: again, .. }) = Message::parse(&encoded) else { panic!("not read again") };
        assert_eq!(id, again);
    }
    let _ = Message::split_batch(bytes);
});
