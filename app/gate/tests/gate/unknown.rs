//! Calls that were sent and never answered.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::Instant;
use trunkline_gate::journal::{Event, Journal, read_from};
use trunkline_gate::{Approver, Gate, News, Outcome, Proposal, Question, ServerState, Trust, Verdict};

use crate::peer::{Peer, Reply, tool};
use crate::{Heard, gate_of, nothing, with};

fn silent() -> Peer {
    Peer::new(json!([tool("write", true)]), |method, _| {
        (method == "tools/call").then_some(Reply::Silence)
    })
}

fn is_unknown(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Unknown { .. })
}

#[tokio::test(start_paused = true)]
async fn a_call_without_an_answer_is_unknown_and_not_made_again_until_a_person_has_looked() {
    let (gate, seen) = gate_of("s", Trust::Trusted, silent()).await;
    let call = |n: u32| gate.call(Proposal::new("s__write", json!({ "n": n })));
    let first = call(1).await;
    assert!(is_unknown(&first.outcome), "{first:?}");
    assert!(first.outcome.for_model().contains("may have been carried out"));

    let again = call(1).await;
    let Outcome::Refused { reason } = &again.outcome else {
        panic!("{again:?}")
    };
    assert!(reason.contains("unknown"), "{reason}");
    assert_eq!(seen.params("tools/call").len(), 1, "it was not sent again");

    assert!(is_unknown(&call(2).await.outcome), "another call is made");
    assert_eq!(gate.clear_unknown(), 2);
    assert!(
        is_unknown(&call(1).await.outcome),
        "after a person has looked it is made"
    );
    assert_eq!(seen.params("tools/call").len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_given_up_half_way_is_unknown() {
    let journal = Journal::memory();
    let builder = Gate::builder().journal(journal.clone());
    let (builder, seen) = with(builder, "s", Trust::Trusted, silent());
    let gate = builder.connect().await;
    let call = || gate.call(Proposal::new("s__write", nothing()));
    assert!(tokio::time::timeout(Duration::from_secs(1), call()).await.is_err());
    assert_eq!(seen.params("tools/call").len(), 1);
    let outcomes = |journal: &Journal| -> Vec<Value> {
        let written = journal.contents();
        let events = read_from(&written[..]).map(|entry| entry.unwrap().event);
        events
            .filter_map(|event| match event {
                Event::Record { kind, body } if kind == "outcome" => Some(body["kind"].clone()),
                _ => None,
            })
            .collect()
    };
    assert_eq!(outcomes(&journal), ["unknown"], "also in the journal");
    assert!(matches!(call().await.outcome, Outcome::Refused { .. }));
    assert_eq!(outcomes(&journal), ["unknown"]);
}

/// Says yes: to the first question late, to any other at once.
struct Slow {
    asked: AtomicBool,
    go: Arc<Notify>,
}

impl Approver for Slow {
    fn approve<'a>(&'a self, _: &'a Question) -> Pin<Box<dyn Future<Output = Verdict> + Send + 'a>> {
        Box::pin(async {
            if !self.asked.swap(true, Ordering::Relaxed) {
                self.go.notified().await;
            }
            Verdict::Allow
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_yes_to_a_call_that_became_unknown_meanwhile_is_void() {
    let go = Arc::new(Notify::new());
    let approver = Slow {
        asked: AtomicBool::new(false),
        go: Arc::clone(&go),
    };
    let builder = Gate::builder().approver(Arc::new(approver));
    let (builder, seen) = with(builder, "s", Trust::Untrusted, silent());
    let gate = builder.connect().await;
    let call = async || {
        let report = gate.call(Proposal::new("s__write", nothing())).await;
        go.notify_one();
        report.outcome
    };
    let outcomes: [Outcome; 2] = tokio::join!(call(), call()).into();
    assert!(outcomes.iter().any(is_unknown), "{outcomes:?}");
    let Some(Outcome::Refused { reason }) = outcomes.iter().find(|outcome| !is_unknown(outcome)) else {
        panic!("{outcomes:?}")
    };
    assert!(reason.contains("unknown"), "{reason}");
    assert_eq!(seen.params("tools/call").len(), 1, "it was not sent again");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_dies_in_a_call_leaves_the_others_alone() {
    let dies = Peer::new(json!([tool("write", true)]), |method, _| {
        (method == "tools/call").then_some(Reply::End)
    });
    let lives = Peer::new(json!([tool("look", true)]), |_, _| None);
    let (builder, _) = with(Gate::builder(), "dies", Trust::Trusted, dies);
    let (builder, _) = with(builder, "lives", Trust::Trusted, lives);
    let gate = builder.connect().await;

    let lost = gate.call(Proposal::new("dies__write", nothing())).await;
    let Outcome::Unknown { why } = &lost.outcome else {
        panic!("{lost:?}")
    };
    assert!(why.contains("`dies`") && why.contains("ended"), "{why}");
    let other = gate.call(Proposal::new("dies__write", json!({ "n": 2 }))).await;
    assert!(
        matches!(&other.outcome, Outcome::Failed { why } if why.contains("`dies`")),
        "{other:?}"
    );
    assert!(
        gate.call(Proposal::new("lives__look", nothing()))
            .await
            .outcome
            .succeeded()
    );
    let states: Vec<ServerState> = gate.reports().iter().map(|report| report.state).collect();
    assert_eq!(states, [ServerState::Ended, ServerState::Connected]);
}

#[tokio::test(start_paused = true)]
async fn an_answer_under_another_id_is_told_and_ends_the_wait_soon() {
    for wrong in ["\"{}\"", "4711"] {
        let peer = Peer::new(json!([tool("write", true)]), move |method, message| {
            let id = wrong.replace("{}", &message["id"].to_string());
            let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[]}}}}"#);
            (method == "tools/call").then(|| Reply::Raw(vec![line]))
        });
        let heard = Arc::new(Heard::default());
        let (builder, _) = with(Gate::builder().watch(heard.clone()), "s", Trust::Trusted, peer);
        let gate = builder.connect().await;
        let began = Instant::now();
        let report = gate.call(Proposal::new("s__write", nothing())).await;
        assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
        let Outcome::Unknown { why } = &report.outcome else {
            panic!("{report:?}")
        };
        assert!(why.contains("`s`") && why.contains("id"), "{why}");
        let noise = heard.all().into_iter().find(|news| matches!(news, News::Noise { .. }));
        assert!(noise.is_some(), "{:?}", heard.all());
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_of_the_wrong_type_is_unknown_and_a_refusal_is_not() {
    let answers = |reply: fn() -> Reply| {
        Peer::new(json!([tool("write", true)]), move |method, _| {
            (method == "tools/call").then(reply)
        })
    };
    let (gate, _) = gate_of("s", Trust::Trusted, answers(|| Reply::Result(json!({ "content": 7 })))).await;
    assert!(is_unknown(
        &gate.call(Proposal::new("s__write", nothing())).await.outcome
    ));

    let (gate, _) = gate_of("s", Trust::Trusted, answers(|| Reply::Error(-32602, "no\u{1b}[2J"))).await;
    let refused = gate.call(Proposal::new("s__write", nothing())).await;
    let Outcome::Failed { why } = &refused.outcome else {
        panic!("{refused:?}")
    };
    assert!(why.contains(r"no\x1b[2J (-32602)"), "{why}");
}

#[tokio::test(start_paused = true)]
async fn a_long_call_is_told_about_each_second() {
    let heard = Arc::new(Heard::default());
    let (builder, _) = with(Gate::builder().watch(heard.clone()), "s", Trust::Trusted, silent());
    let gate = builder.connect().await;
    gate.call(Proposal::new("s__write", nothing())).await;
    let seconds: Vec<u64> = heard
        .all()
        .iter()
        .filter_map(|news| match news {
            News::Running { seconds, .. } => Some(*seconds),
            _ => None,
        })
        .collect();
    assert_eq!(seconds[..9], (1..10).collect::<Vec<u64>>());
}

#[tokio::test(start_paused = true)]
async fn an_error_from_the_middle_of_the_work_proves_nothing() {
    for (code, kind) in [
        (-32603, "unknown"),
        (-32000, "unknown"),
        (1, "unknown"),
        (-32602, "failed"),
        (-32601, "failed"),
        (-32600, "failed"),
    ] {
        let peer = Peer::new(json!([tool("write", true)]), move |method, _| {
            (method == "tools/call").then_some(Reply::Error(code, "crashed after COMMIT"))
        });
        let (gate, seen) = gate_of("s", Trust::Trusted, peer).await;
        let call = || gate.call(Proposal::new("s__write", nothing()));
        assert_eq!(call().await.outcome.kind(), kind, "{code}");
        let again = call().await.outcome;
        let banned = matches!(&again, Outcome::Refused { reason } if reason.contains("unknown"));
        assert_eq!(banned, kind == "unknown", "{code}: {again:?}");
        assert_eq!(seen.params("tools/call").len(), if banned { 1 } else { 2 }, "{code}");
    }
}
