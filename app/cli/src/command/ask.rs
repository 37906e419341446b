//! `ask`: one question, the whole way.

use std::sync::Arc;

use serde::Serialize;
use trunkline_host::{Conversation, End, Offline, Run, StepKind, ask as ask_host};

use crate::args::Global;
use crate::exit::Exit;
use crate::output::Output;
use crate::session::Session;

/// A run with the status that the command ends with.
#[derive(Serialize)]
struct WithExit<'a> {
    #[serde(flatten)]
    run: &'a Run,
    exit: &'static str,
}

pub(super) async fn ask(global: &Global, session: &Session, question: &str, output: &Arc<Output>) -> Exit {
    let mut conversation = Conversation::default();
    let telling = Arc::clone(output);
    let mut tell = move |step: &trunkline_host::Step| {
        let label = match step.kind {
            // Told when they were connected.
            StepKind::ServerDown => return,
            StepKind::Server => "server",
            StepKind::Question => "question",
            StepKind::Tools => "tools",
            StepKind::Model => "model",
            StepKind::Decision => "decision",
            StepKind::Result => "result",
            _ => "note",
        };
        if step.kind != StepKind::End {
            telling.step(label, &step.text);
        }
    };
    let run = ask_host(&session.gate, &Offline, &mut conversation, question, &mut tell).await;
    let exit = exit(&run);
    if let Some(notice) = &run.model.notice {
        output.note(notice);
    }
    if global.json {
        let exit = exit.or_server_failed(session.any_down()).word();
        output.json(&WithExit { run: &run, exit });
    } else if let Some(answer) = &run.answer {
        output.result(answer);
    }
    if let Some(problem) = &run.problem {
        output.error(problem);
    }
    exit
}

fn exit(run: &Run) -> Exit {
    let calls: Vec<Exit> = run.calls.iter().map(|call| Exit::of(&call.outcome)).collect();
    if calls.contains(&Exit::Unknown) {
        return Exit::Unknown;
    }
    if run.end == End::Answered {
        return Exit::Done;
    }
    let down = run.servers.iter().any(trunkline_gate::ServerReport::is_down);
    match calls.last() {
        Some(Exit::Refused) => Exit::Refused,
        // Without a call, a server that is missing is the likelier reason.
        None if down => Exit::ServerFailed,
        _ => Exit::Failed,
    }
}
