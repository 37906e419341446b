//! One call through the gate to a server in the same process, and that call without the gate: what the gate adds is
//! the difference.

use std::future::Future;
use std::hint::black_box;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};
use trunkline_gate::client::{CallOptions, Client, Timeouts};
use trunkline_gate::journal::Journal;
use trunkline_gate::{Approver, Gate, Outcome, Proposal, Question, ServerSpec, Trust, Verdict, public_name};

use crate::journal::to_file;
use crate::samples::{TOOL, answer, arguments, server};
use crate::{Iteration, Loop};

/// What `echo` is asked for: a text as short as they are in most calls.
const TEXT: &str = "a short text, as tools get";

/// The id of the server.
pub(crate) const SERVER: &str = "weather";

pub(crate) const LOOPS: &[Loop] = &[
    Loop::new("policy/rule", "asks the rule about one tool", 2000, rule),
    Loop::new(
        "policy/refused",
        "proposes a call that is refused, and sent nowhere",
        300,
        || {
            let (runtime, gate) = connected(Trust::Untrusted, None, false);
            Box::new(move || {
                let report = runtime.block_on(gate.call(proposal()));
                matches!(report.outcome, Outcome::Refused { .. })
            })
        },
    ),
    Loop::new(
        "gate/echo_alone",
        "calls `echo` without the gate",
        300,
        || alone(echo()),
    ),
    Loop::new(
        "gate/echo_journal",
        "the same through the gate, journal in a file",
        300,
        || calls(echo(), Trust::Trusted, Some(to_file())),
    ),
    Loop::new(
        "gate/client_alone",
        "calls a tool with a structured answer without the gate",
        300,
        || alone(forecast()),
    ),
    Loop::new("gate/call", "the same through the gate, without a journal", 300, || {
        calls(forecast(), Trust::Trusted, None)
    }),
    Loop::new("gate/call_journal", "the same, journal in a file", 300, || {
        calls(forecast(), Trust::Trusted, Some(to_file()))
    }),
    Loop::new(
        "gate/call_approved",
        "the same, journal in a file, and a person who always says yes",
        300,
        || calls(forecast(), Trust::Untrusted, Some(to_file())),
    ),
];

/// Somebody who says yes at once.
struct Yes;

impl Approver for Yes {
    fn approve<'a>(&'a self, _: &'a Question) -> Pin<Box<dyn Future<Output = Verdict> + Send + 'a>> {
        Box::pin(async { Verdict::Allow })
    }
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_time().build().unwrap()
}

fn connected(trust: Trust, journal: Option<Journal>, asks: bool) -> (Runtime, Gate) {
    let runtime = runtime();
    let gate = runtime.block_on(async {
        let spec = ServerSpec::new(SERVER, Client::in_memory(&server(3))).trust(trust);
        let mut builder = Gate::builder().server(spec);
        if let Some(journal) = journal {
            builder = builder.journal(journal);
        }
        if asks {
            builder = builder.approver(Arc::new(Yes));
        }
        builder.connect().await
    });
    (runtime, gate)
}

/// A call and the text that it is answered with.
struct Ask {
    tool: &'static str,
    arguments: Value,
    wanted: String,
}

fn echo() -> Ask {
    Ask {
        tool: "echo",
        arguments: json!({ "text": TEXT }),
        wanted: TEXT.to_owned(),
    }
}

fn forecast() -> Ask {
    Ask {
        tool: TOOL,
        arguments: arguments(),
        wanted: answer().to_string(),
    }
}

pub(crate) fn proposal() -> Proposal {
    Proposal::new(public_name(SERVER, TOOL), arguments())
}

/// Asks the rule about the tool that is called.
pub(crate) fn rule() -> Iteration {
    let (_runtime, gate) = connected(Trust::Trusted, None, false);
    let tool = Arc::clone(gate.catalogue().get(&proposal().tool).unwrap());
    Box::new(move || black_box(&tool).runs_unasked())
}

fn calls(ask: Ask, trust: Trust, journal: Option<Journal>) -> Iteration {
    let (runtime, gate) = connected(trust, journal, true);
    let tool = public_name(SERVER, ask.tool);
    Box::new(move || {
        let proposal = Proposal::new(tool.clone(), ask.arguments.clone());
        let report = runtime.block_on(gate.call(proposal));
        match black_box(report).outcome {
            Outcome::Answered(answer) => answer.text == ask.wanted,
            _ => false,
        }
    })
}

fn alone(ask: Ask) -> Iteration {
    let runtime = runtime();
    let client = runtime.block_on(async {
        let client = Client::in_memory(&server(3)).connect().await.unwrap();
        // As the gate does: from now on results are checked against the tool's output schema.
        client.tools().await.unwrap();
        client
    });
    let options = CallOptions {
        timeouts: Some(Timeouts::default()),
        progress: true,
        ..CallOptions::default()
    };
    Box::new(move || {
        let Value::Object(arguments) = ask.arguments.clone() else {
            return false;
        };
        let called = runtime.block_on(client.request_call(ask.tool, arguments, options.clone()));
        called.is_ok_and(|called| black_box(called).text() == ask.wanted)
    })
}

/// Makes one call with a journal in memory, and returns it with the gate.
pub(crate) fn recorded() -> (Runtime, Gate, Journal) {
    let journal = Journal::memory();
    let (runtime, gate) = connected(Trust::Trusted, Some(journal.clone()), false);
    let report = runtime.block_on(gate.call(proposal()));
    assert!(report.outcome.succeeded(), "{:?}", report.outcome);
    (runtime, gate, journal)
}
