//! Any bytes as a stream of events, cut anywhere: the same events as in one piece, no panic, and nothing beyond the limit.
#![no_main]

use libfuzzer_sys::fuzz_target;
use trunkline::http::sse::{Decoded, Decoder, encode_event};

const LIMIT: usize = 64;

fn read<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (Vec<Decoded>, Option<String>, Option<u64>) {
    let mut decoder = Decoder::new(LIMIT);
    let mut seen = Vec::new();
    for piece in pieces {
        decoder.push(piece.to_vec());
        while let Some(decoded) = decoder.next() {
            seen.push(decoded);
        }
    }
    (seen, decoder.last_event_id().map(str::to_owned), decoder.retry())
}

fuzz_target!(|input: (u8, &[u8])| {
    let (size, bytes) = input;
    let whole = read(std::iter::once(bytes));
    assert_eq!(read(bytes.chunks(usize::from(size).max(1))), whole);
    for decoded in whole.0 {
        let Decoded::Event(event) = decoded else { continue };
        assert!(event.data.len() <= LIMIT);
        // What was read can be written and is read again.
        let mut encoded = Vec::new();
        encode_event(&mut encoded, None, event.event.as_deref().filter(|kind| !kind.contains('\0')), &event.data);
        let (again, ..) = read(std::iter::once(&encoded[..]));
        assert!(matches!(&again[..], [Decoded::Event(again)] if again.data == event.data));
    }
});
