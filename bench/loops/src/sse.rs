//! Server-sent events, read and written.

use std::hint::black_box;

use bytes::Bytes;
use trunkline::http::sse::{Decoded, Decoder, encode_event};

use crate::samples::{MIB, PIECE, text_result};
use crate::{Iteration, Loop};

pub(crate) const LOOPS: &[Loop] = &[
    Loop::new(
        "sse/read_1mib",
        "reads one event of 1 MiB from pieces of 4 KiB",
        10,
        || read(&[MIB]),
    ),
    Loop::new(
        "sse/read_16k_events",
        "reads 1 MiB from pieces of 4 KiB, in events of 16 KiB",
        10,
        || read(&[16 << 10; 64]),
    ),
    Loop::new(
        "sse/read_small",
        "reads 1 MiB from pieces of 4 KiB, in 8,192 small events",
        10,
        || read(&[1; 8192]),
    ),
    Loop::new("sse/write_small", "writes an event of 100 bytes", 2000, || write(5)),
    Loop::new("sse/write_1mib", "writes an event of 1 MiB", 10, || write(MIB)),
];

fn read(events: &[usize]) -> Iteration {
    let mut stream = Vec::new();
    for bytes in events {
        encode_event(&mut stream, Some("7"), None, text_result(*bytes).as_bytes());
    }
    let stream = Bytes::from(stream);
    let pieces: Vec<Bytes> = (0..stream.len())
        .step_by(PIECE)
        .map(|at| stream.slice(at..stream.len().min(at + PIECE)))
        .collect();
    let count = events.len();
    let mut decoder = Decoder::new(2 * MIB);
    Box::new(move || {
        let mut found = 0;
        for piece in &pieces {
            decoder.push(black_box(piece).clone());
            while let Some(Decoded::Event(event)) = decoder.next() {
                found += usize::from(black_box(event).data.ends_with(b"\"}]}"));
            }
        }
        found == count
    })
}

fn write(bytes: usize) -> Iteration {
    let data = text_result(bytes);
    Box::new(move || {
        let mut out = Vec::new();
        encode_event(&mut out, Some("7"), None, black_box(data.as_bytes()));
        black_box(&out).ends_with(b"\"}]}\n\n")
    })
}
