//! The stages of a call through the gate, each through the nearest function that is public, on what really passed
//! through a gate.

use std::collections::BTreeSet;
use std::hint::black_box;
use std::sync::Arc;

use serde_json::Value;
use trunkline_gate::journal::{Body, Direction, Event, read_from};
use trunkline_gate::schema::Schema;
use trunkline_gate::text::{clean, clean_value, one_line};
use trunkline_gate::{public_name, same_form};

use crate::gate::{SERVER, proposal, recorded, rule};
use crate::journal::to_file;
use crate::samples::{answer, arguments};
use crate::{Iteration, Loop};

pub(crate) const LOOPS: &[Loop] = &[
    Loop::new(
        "stage/propose",
        "copies the arguments for the report, shortens the name",
        2000,
        || {
            let proposal = proposal();
            Box::new(move || {
                let line = one_line(black_box(&proposal.tool), 200);
                black_box(proposal.arguments.clone()).is_object() && line == proposal.tool
            })
        },
    ),
    Loop::new("stage/resolve", "finds the tool by its public name", 2000, || {
        let (_, gate, _) = recorded();
        let name = proposal().tool;
        Box::new(move || gate.catalogue().get(black_box(&name)).is_some())
    }),
    Loop::new(
        "stage/validate",
        "checks the arguments against the tool's schema",
        1000,
        || {
            let (_, gate, _) = recorded();
            let tool = Arc::clone(gate.catalogue().get(&proposal().tool).unwrap());
            let schema = Schema::compile(&tool.definition().input_schema).unwrap();
            let arguments = arguments();
            Box::new(move || schema.check(black_box(&arguments)).is_ok())
        },
    ),
    Loop::new(
        "stage/digest",
        "hashes as many bytes as the call's digest covers, and again for its key",
        1000,
        || {
            // A name that has to be shortened is hashed; this one is as long as definition hash and arguments together.
            let name = format!("{}{}", "0".repeat(64), arguments());
            Box::new(move || (0..2).all(|_| public_name(SERVER, black_box(&name)).len() <= 64))
        },
    ),
    Loop::new(
        "stage/same_form",
        "brings the arguments into one form, for the key of the call",
        1000,
        || {
            let arguments = arguments();
            Box::new(move || black_box(same_form(black_box(&arguments)).to_string()).len() > 20)
        },
    ),
    Loop::new("stage/decide", "asks the rule", 2000, rule),
    Loop::new(
        "stage/record_decision",
        "appends the decision to the journal in a file",
        500,
        || record("decision"),
    ),
    Loop::new(
        "stage/record_request",
        "appends the request to the journal in a file",
        500,
        || message(Direction::Sent),
    ),
    Loop::new(
        "stage/record_answer",
        "appends the answer to the journal in a file",
        500,
        || message(Direction::Received),
    ),
    Loop::new(
        "stage/verify",
        "cleans the answer's text and its structure",
        500,
        || {
            let answer = answer();
            let text = answer.to_string();
            Box::new(move || {
                let mut flags = BTreeSet::new();
                let cleaned = clean(black_box(&text));
                let structured = clean_value(black_box(&answer), &mut flags);
                cleaned.text == text && *structured == answer && flags.is_empty()
            })
        },
    ),
    Loop::new(
        "stage/record_outcome",
        "appends the outcome to the journal in a file",
        500,
        || record("outcome"),
    ),
];

/// What one call left in the journal.
fn events() -> Vec<Event> {
    let (_runtime, _gate, journal) = recorded();
    let written = journal.contents();
    read_from(&written[..]).map(|entry| entry.unwrap().event).collect()
}

fn record(kind: &'static str) -> Iteration {
    let body: Value = events()
        .into_iter()
        .find_map(|event| match event {
            Event::Record { kind: found, body } if found == kind => Some(body),
            _ => None,
        })
        .unwrap();
    let journal = to_file();
    Box::new(move || {
        journal.record(kind, black_box(&body));
        journal.lost() == 0
    })
}

/// The last message that went this way, which is the call's.
fn message(way: Direction) -> Iteration {
    let message = events()
        .into_iter()
        .rev()
        .find_map(|event| match event {
            Event::Message {
                direction,
                body: Body::Json(json),
                ..
            } if direction == way => Some(json),
            _ => None,
        })
        .unwrap();
    let journal = to_file();
    let tap = journal.tap(SERVER);
    Box::new(move || {
        tap.message(way, black_box(message.get().as_bytes()));
        journal.lost() == 0
    })
}
