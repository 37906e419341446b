//! Server-sent events, both ways
//! ([event streams](https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation)).
//!
//! ```
//! use trunkline_http::sse::{Decoded, Decoder, encode_event};
//!
//! let mut stream = Vec::new();
//! encode_event(&mut stream, Some("7"), None, br#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
//!
//! let mut decoder = Decoder::new(1024);
//! // It does not matter where the network cuts the bytes.
//! let (first, second) = stream.split_at(20);
//! decoder.push(first.to_vec());
//! assert_eq!(decoder.next(), None);
//! decoder.push(second.to_vec());
//! let Some(Decoded::Event(event)) = decoder.next() else { panic!("an event") };
//! assert_eq!(event.data, br#"{"jsonrpc":"2.0","id":1,"result":{}}"#[..]);
//! assert_eq!(decoder.last_event_id(), Some("7"));
//! ```

mod decoder;
mod encoder;

pub use decoder::{Decoded, Decoder, Event, MAX_FIELD};
pub use encoder::{encode_comment, encode_event, encode_retry};
