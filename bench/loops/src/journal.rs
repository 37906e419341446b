//! One line of the journal: masked, chained, written.

use std::fs::File;
use std::hint::black_box;
use std::io::{self, Seek, SeekFrom, Write, sink};

use serde_json::json;
use trunkline_gate::journal::{Direction, Journal, Mask};

use crate::samples::{MIB, TOOL, arguments, echo_request, modern_request};
use crate::{Iteration, Loop};

pub(crate) const LOOPS: &[Loop] = &[
    Loop::new(
        "journal/line",
        "appends a message of 300 bytes, written nowhere",
        500,
        || line(nowhere(), call()),
    ),
    Loop::new("journal/line_file", "the same into a file", 500, || {
        line(to_file(), call())
    }),
    Loop::new(
        "journal/line_20_secrets",
        "the same with 20 known secrets, written nowhere",
        500,
        || {
            let journal = nowhere();
            for number in 0..20 {
                journal.add_secret(&format!("secret-value-{number:02}"));
            }
            line(journal, call())
        },
    ),
    Loop::new(
        "journal/line_64kib",
        "appends a message of 64 KiB, written nowhere",
        20,
        || line(nowhere(), echo_request(MIB / 16)),
    ),
    Loop::new(
        "journal/record",
        "appends a decision of 150 bytes, written nowhere",
        500,
        || {
            let journal = nowhere();
            let body = json!({ "tool": TOOL, "arguments": arguments(), "effect": "permit", "by": "rule", "reason": "it reads" });
            Box::new(move || {
                journal.record("decision", black_box(&body));
                journal.lost() == 0
            })
        },
    ),
    Loop::new("journal/mask", "masks a message of 300 bytes", 500, || {
        let (mask, message) = (Mask::default(), call());
        Box::new(move || {
            mask.json(black_box(&message))
                .is_some_and(|(json, count)| json.len() > 200 && count == 0)
        })
    }),
];

fn call() -> Vec<u8> {
    modern_request("tools/call", json!({ "name": TOOL, "arguments": arguments() }))
}

fn line(journal: Journal, message: Vec<u8>) -> Iteration {
    let tap = journal.tap("weather");
    Box::new(move || {
        tap.message(Direction::Sent, black_box(&message));
        journal.lost() == 0
    })
}

/// A journal whose lines are made whole and then dropped.
pub(crate) fn nowhere() -> Journal {
    Journal::to_writer(Box::new(sink()))
}

/// A journal in a file that has no name and takes bounded room.
pub(crate) fn to_file() -> Journal {
    let file = tempfile::tempfile().unwrap();
    Journal::to_writer(Box::new(Rewound { file, written: 0 }))
}

/// Begins at the front again from time to time, so that a long run does not fill the disk.
struct Rewound {
    file: File,
    written: usize,
}

impl Write for Rewound {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.written > 8 * MIB {
            self.file.seek(SeekFrom::Start(0))?;
            self.written = 0;
        }
        let count = self.file.write(bytes)?;
        self.written += count;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
