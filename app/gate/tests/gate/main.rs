//! The gate with scripted servers. Time is simulated: waits cost nothing.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so by a panic")]

mod asking;
mod changing;
mod connecting;
mod offers;
mod over_http;
mod peer;
mod unknown;

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use trunkline_gate::journal::{Event, Journal, read_from, verify};
use trunkline_gate::{
    Approver, Builder, DecidedBy, Gate, News, Outcome, Proposal, Question, ServerSpec, Trust, Verdict, Watch,
};

use peer::{Peer, Seen, text, tool};

/// Adds a scripted server.
fn with(builder: Builder, id: &str, trust: Trust, peer: Peer) -> (Builder, Seen) {
    let seen = peer.seen();
    let spec = ServerSpec::new(id, peer.start())
        .trust(trust)
        .wait(Duration::from_secs(10));
    (builder.server(spec), seen)
}

async fn gate_of(id: &str, trust: Trust, peer: Peer) -> (Gate, Seen) {
    let (builder, seen) = with(Gate::builder(), id, trust, peer);
    (builder.connect().await, seen)
}

fn told(outcome: &Outcome) -> &str {
    match outcome {
        Outcome::Answered(answer) => &answer.text,
        other => panic!("{other:?}"),
    }
}

/// Keeps the news.
#[derive(Default)]
struct Heard(Mutex<Vec<News>>);

impl Watch for Heard {
    fn news(&self, news: &News) {
        self.0.lock().unwrap().push(news.clone());
    }
}

impl Heard {
    fn all(&self) -> Vec<News> {
        self.0.lock().unwrap().clone()
    }
}

/// A person who always says the same, and remembers what they were asked.
struct Person(Verdict, Mutex<Vec<Question>>);

impl Person {
    fn new(verdict: Verdict) -> Arc<Self> {
        Arc::new(Self(verdict, Mutex::default()))
    }
}

impl Approver for Person {
    fn approve<'a>(&'a self, question: &'a Question) -> Pin<Box<dyn Future<Output = Verdict> + Send + 'a>> {
        self.1.lock().unwrap().push(question.clone());
        Box::pin(async { self.0.clone() })
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_of_one_name_on_two_servers_is_called_on_the_right_one() {
    for order in [["a", "b"], ["b", "a"]] {
        let mut builder = Gate::builder();
        let mut seen = std::collections::BTreeMap::new();
        for id in order {
            let answer = format!("from {id}");
            let peer = Peer::new(json!([tool("search", true)]), move |method, _| {
                (method == "tools/call").then(|| text(&answer))
            });
            let (next, its) = with(builder, id, Trust::Trusted, peer);
            builder = next;
            seen.insert(id, its);
        }
        let gate = builder.connect().await;
        let names: Vec<&str> = gate.catalogue().tools().map(|tool| tool.name()).collect();
        assert_eq!(names, ["a__search", "b__search"]);
        let report = gate.call(Proposal::new("b__search", json!({ "q": null }))).await;
        assert_eq!(told(&report.outcome), "from b");
        assert!(seen["a"].params("tools/call").is_empty());
        let sent = seen["b"].params("tools/call");
        assert_eq!(sent.len(), 1);
        assert_eq!(
            (&sent[0]["name"], &sent[0]["arguments"]),
            (&json!("search"), &json!({ "q": null }))
        );
        gate.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_refused_is_never_sent() {
    let tools = json!([tool("drop_everything", false), tool("look", true)]);
    let (builder, seen) = with(Gate::builder(), "s", Trust::Untrusted, Peer::new(tools, |_, _| None));
    let person = Person::new(Verdict::Deny);
    let gate = builder.approver(person.clone()).connect().await;
    for name in ["s__drop_everything", "s__look", "s__nothing"] {
        let report = gate
            .call(Proposal::new(name, json!({ "table": "orders\u{202e}" })))
            .await;
        assert!(!report.outcome.succeeded(), "{report:?}");
    }
    let asked = person.1.lock().unwrap().clone();
    assert_eq!(asked.len(), 2, "an unknown tool is no question");
    assert_eq!(asked[0].arguments, r#"{"table":"orders\u202e"}"#);
    assert!(asked[1].reason.contains("not marked as trusted"), "{:?}", asked[1]);
    assert!(seen.params("tools/call").is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_yes_is_for_one_call() {
    let tools = json!([tool("write", false)]);
    let (builder, seen) = with(Gate::builder(), "s", Trust::Trusted, Peer::new(tools, |_, _| None));
    let person = Person::new(Verdict::Allow);
    let gate = builder.approver(person.clone()).connect().await;
    for _ in 0..2 {
        let report = gate.call(Proposal::new("s__write", json!({ "n": 1 }))).await;
        assert_eq!(told(&report.outcome), "done");
        assert_eq!(report.decision.map(|decision| decision.by), Some(DecidedBy::Person));
    }
    assert_eq!(
        person.1.lock().unwrap().len(),
        2,
        "the second call is asked about again"
    );
    assert_eq!(seen.params("tools/call").len(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_answer_to_a_form_is_no_consent() {
    // The server asks by elicitation as soon as it is called; the gate's own question comes before that, whatever the
    // person would answer there.
    let tools = json!([tool("write", false)]);
    let (gate, seen) = gate_of("s", Trust::Trusted, Peer::new(tools, |_, _| None)).await;
    let report = gate
        .call(Proposal::new("s__write", json!({ "confirm": true, "approved": "yes" })))
        .await;
    assert!(matches!(report.outcome, Outcome::Refused { .. }), "{report:?}");
    assert!(seen.params("tools/call").is_empty());
}

#[tokio::test(start_paused = true)]
async fn arguments_that_do_not_fit_come_back_to_be_mended() {
    let mut narrow = tool("get_weather", true);
    narrow["inputSchema"] =
        json!({ "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] });
    let (gate, seen) = gate_of("weather", Trust::Trusted, Peer::new(json!([narrow]), |_, _| None)).await;
    let report = gate
        .call(Proposal::new("weather__get_weather", json!({ "city": 7 })))
        .await;
    let Outcome::Invalid { why } = &report.outcome else {
        panic!("{report:?}")
    };
    assert!(why.contains("/city"), "{why}");
    let report = gate
        .call(Proposal::new("weather__get_wether", json!({ "city": "Seoul" })))
        .await;
    let Outcome::Invalid { why } = &report.outcome else {
        panic!("{report:?}")
    };
    assert!(why.contains("weather__get_weather"), "{why}");
    assert!(seen.params("tools/call").is_empty());
}

#[tokio::test(start_paused = true)]
async fn hostile_results_reach_nobody_as_they_are() {
    let peer = Peer::new(json!([tool("read", true)]), |method, _| {
        (method == "tools/call").then(|| text("ok\u{1b}[2J\u{9b}1A \u{e0041}"))
    });
    let (gate, _) = gate_of("s", Trust::Trusted, peer).await;
    let report = gate.call(Proposal::new("s__read", json!({}))).await;
    assert_eq!(told(&report.outcome), r"ok\x1b[2J\x9b1A \u{e0041}");
    let model = report.outcome.for_model();
    assert!(!model.contains(['\u{1b}', '\u{9b}', '\u{e0041}']), "{model:?}");
    assert!(model.contains("invisible") && model.contains("control"), "{model}");
}

#[tokio::test(start_paused = true)]
async fn an_output_schema_is_held_against_the_result() {
    let mut promises = tool("count", true);
    promises["outputSchema"] =
        json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] });
    let peer = Peer::new(json!([promises]), |method, _| {
        let result = json!({ "content": [], "structuredContent": { "n": "many" } });
        (method == "tools/call").then(|| peer::Reply::Result(result))
    });
    let (gate, _) = gate_of("s", Trust::Trusted, peer).await;
    let report = gate.call(Proposal::new("s__count", json!({}))).await;
    let Outcome::Answered(answer) = &report.outcome else {
        panic!("{report:?}")
    };
    assert!(answer.is_error && answer.text.contains("/n"), "{answer:?}");
    // It ran, and that is known: the same call may be made again.
    let again = gate.call(Proposal::new("s__count", json!({}))).await;
    assert!(matches!(again.outcome, Outcome::Answered(_)), "{again:?}");
}

#[tokio::test(start_paused = true)]
async fn progress_is_passed_on() {
    let peer = Peer::new(json!([tool("slow", true)]), |method, message| {
        let token = &message["params"]["_meta"]["progressToken"];
        let progress = json!({ "jsonrpc": "2.0", "method": "notifications/progress",
            "params": { "progressToken": token, "progress": 1, "total": 4, "message": "half\u{1b}[2J" } });
        let result = json!({ "jsonrpc": "2.0", "id": message["id"], "result": { "content": [] } });
        (method == "tools/call").then(|| peer::Reply::Raw(vec![progress.to_string(), result.to_string()]))
    });
    let heard = Arc::new(Heard::default());
    let (builder, _) = with(Gate::builder().watch(heard.clone()), "s", Trust::Trusted, peer);
    let gate = builder.connect().await;
    let report = gate.call(Proposal::new("s__slow", json!({}))).await;
    assert!(report.outcome.succeeded(), "{report:?}");
    let [
        News::Progress {
            progress,
            total,
            message,
            ..
        },
    ] = &heard.all()[..]
    else {
        panic!("{:?}", heard.all());
    };
    assert!((*progress - 1.0).abs() < f64::EPSILON && *total == Some(4.0));
    assert_eq!(message.as_deref(), Some(r"half\x1b[2J"));
}

#[tokio::test(start_paused = true)]
async fn the_journal_has_the_decision_before_the_call_and_the_outcome_after_it() {
    let journal = Journal::memory();
    let tools = json!([tool("look", true), tool("write", false)]);
    let builder = Gate::builder().journal(journal.clone());
    let (builder, _) = with(builder, "s", Trust::Trusted, Peer::new(tools, |_, _| None));
    let gate = builder.connect().await;
    gate.call(Proposal::new("s__look", json!({ "q": 1 }))).await;
    gate.call(Proposal::new("s__write", json!({}))).await;
    gate.close().await;
    journal.close();
    let written = journal.contents();
    assert!(verify(&written[..]).unwrap().is_whole());
    let told: Vec<String> = read_from(&written[..])
        .map(Result::unwrap)
        .filter_map(|entry| match entry.event {
            Event::Record { kind, body } => {
                let word = body
                    .get("effect")
                    .or_else(|| body.get("kind"))
                    .or_else(|| body.get("state"))?
                    .clone();
                Some(format!("{kind} {}", word.as_str()?))
            }
            Event::Message {
                body,
                direction,
                revision,
                ..
            } => {
                let text = format!("{body:?}");
                let call = text.contains("tools/call").then(|| format!("{direction:?} call"));
                call.inspect(|_| assert!(revision.is_some(), "the revision is known by now"))
            }
            _ => None,
        })
        .collect();
    assert_eq!(
        told,
        [
            "server connected",
            "decision permit",
            "Sent call",
            "outcome answered",
            "decision refuse"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn text_is_cut_where_the_gate_is_told_to() {
    let peer = Peer::new(json!([tool("long", true)]), |method, _| {
        (method == "tools/call").then(|| text(&"x".repeat(100)))
    });
    let (builder, _) = with(Gate::builder().max_text(10), "s", Trust::Trusted, peer);
    let gate = builder.connect().await;
    let report = gate.call(Proposal::new("s__long", json!({}))).await;
    assert_eq!(told(&report.outcome), "xxxxxxxxxx\n[cut here: 10 of 100 bytes]");
}

/// What a test sends where the arguments do not matter.
fn nothing() -> Value {
    json!({})
}
