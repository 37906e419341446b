//! One question, the whole way, with scripted models and servers. Time is simulated.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so by a panic")]

#[path = "../../gate/tests/gate/peer.rs"]
#[expect(dead_code, reason = "shared with the gate's own tests, which use more of it")]
mod peer;

use std::sync::Mutex;
use std::time::Duration;

use serde_json::{Value, json};
use trunkline_gate::{Gate, Outcome, ServerSpec, Trust};
use trunkline_host::{
    Conversation, End, MAX_TURNS, Message, Model, ModelError, ModelTool, Offline, Proposed, Run, StepKind, Thinking,
    Turn, ask,
};

use peer::{Peer, Reply, Seen, text, tool};

/// A model that says what it is told to, turn by turn; the last turn is repeated.
struct Scripted(Mutex<Vec<Turn>>);

impl Scripted {
    fn new(mut turns: Vec<Turn>) -> Self {
        turns.reverse();
        Self(Mutex::new(turns))
    }
}

impl Model for Scripted {
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn next<'a>(&'a self, _: &'a Conversation, _: &'a [ModelTool]) -> Thinking<'a> {
        let mut turns = self.0.lock().unwrap();
        let turn = if turns.len() > 1 {
            turns.pop()
        } else {
            turns.last().cloned()
        };
        Box::pin(async move { turn.ok_or_else(|| ModelError("nothing to say".to_owned())) })
    }
}

fn calls(tools: &[(&str, Value)]) -> Turn {
    let proposed = tools.iter().map(|(tool, arguments)| Proposed {
        tool: (*tool).to_owned(),
        arguments: arguments.clone(),
        why: None,
    });
    Turn::Calls(proposed.collect())
}

fn say(text: &str) -> Turn {
    Turn::Say(text.to_owned())
}

async fn gate(peer: Peer) -> (Gate, Seen) {
    let seen = peer.seen();
    let spec = ServerSpec::new("s", peer.start())
        .trust(Trust::Trusted)
        .wait(Duration::from_secs(5));
    (Gate::builder().server(spec).connect().await, seen)
}

fn items() -> Peer {
    Peer::new(
        json!([tool("list_items", true), tool("other", true), tool("write", false)]),
        |method, _| (method == "tools/call").then(|| text("")),
    )
}

async fn run(gate: &Gate, model: &dyn Model, conversation: &mut Conversation) -> Run {
    ask(gate, model, conversation, "what is there?", &mut |_| ()).await
}

/// Every call in a conversation has one result, right after it and in its order.
fn check_pairs(conversation: &Conversation) {
    let messages = conversation.messages();
    for (place, message) in messages.iter().enumerate() {
        let Message::Calls(calls) = message else { continue };
        let Some(Message::Results(results)) = messages.get(place + 1) else {
            panic!("calls without results: {messages:?}");
        };
        let ids = |list: Vec<&String>| list.into_iter().cloned().collect::<Vec<_>>();
        assert_eq!(
            ids(calls.iter().map(|call| &call.id).collect()),
            ids(results.iter().map(|result| &result.id).collect())
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_that_repeats_a_call_for_ever_is_ended_and_the_call_is_made_once() {
    let (gate, seen) = gate(items()).await;
    let model = Scripted::new(vec![calls(&[("s__list_items", json!({}))])]);
    let mut conversation = Conversation::default();
    let run = run(&gate, &model, &mut conversation).await;
    assert_eq!((run.end, run.answer), (End::Repeating, None));
    assert!(run.problem.unwrap().contains("repeats"));
    assert_eq!(seen.params("tools/call").len(), 1);
    check_pairs(&conversation);
}

#[tokio::test(start_paused = true)]
async fn a_model_that_alternates_two_calls_is_ended_too() {
    let (gate, seen) = gate(items()).await;
    let (one, two) = (
        calls(&[("s__list_items", json!({}))]),
        calls(&[("s__other", json!({ "n": 1 }))]),
    );
    let model = Scripted::new(vec![one.clone(), two.clone(), one.clone(), two, one]);
    let mut conversation = Conversation::default();
    let run = run(&gate, &model, &mut conversation).await;
    assert_eq!(run.end, End::Repeating);
    assert_eq!(seen.params("tools/call").len(), 2);
    check_pairs(&conversation);
}

#[tokio::test(start_paused = true)]
async fn a_model_that_takes_the_hint_may_answer() {
    let (gate, _) = gate(items()).await;
    let call = calls(&[("s__list_items", json!({}))]);
    let model = Scripted::new(vec![call.clone(), call, say("nothing is there")]);
    let mut conversation = Conversation::default();
    let run = run(&gate, &model, &mut conversation).await;
    assert_eq!(
        (run.end, run.answer.as_deref()),
        (End::Answered, Some("nothing is there"))
    );
    assert!(run.steps.iter().any(|step| step.kind == StepKind::Note));
}

#[tokio::test(start_paused = true)]
async fn a_model_that_says_nothing_is_asked_once_more_and_then_ended() {
    let (gate, _) = gate(items()).await;
    let mut conversation = Conversation::default();
    assert_eq!(
        run(&gate, &Scripted::new(vec![say(" ")]), &mut conversation).await.end,
        End::Blank
    );
    let second = Scripted::new(vec![say(""), say("there")]);
    assert_eq!(
        run(&gate, &second, &mut conversation).await.answer.as_deref(),
        Some("there")
    );
    let no_calls = Scripted::new(vec![Turn::Calls(Vec::new())]);
    assert_eq!(run(&gate, &no_calls, &mut conversation).await.end, End::Blank);
}

#[tokio::test(start_paused = true)]
async fn a_model_that_never_stops_is_stopped() {
    let (gate, seen) = gate(items()).await;
    let turns = (0..100)
        .map(|n| calls(&[("s__list_items", json!({ "page": n }))]))
        .collect();
    let mut conversation = Conversation::default();
    let run = run(&gate, &Scripted::new(turns), &mut conversation).await;
    assert_eq!(run.end, End::TooManyTurns);
    assert_eq!(seen.params("tools/call").len(), MAX_TURNS);
    check_pairs(&conversation);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_and_an_unknown_outcome_reach_the_model_as_results() {
    let peer = Peer::new(json!([tool("hangs", true), tool("write", false)]), |method, _| {
        (method == "tools/call").then_some(Reply::Silence)
    });
    let (gate, _) = gate(peer).await;
    let both = calls(&[
        ("s__write", json!({})),
        ("s__hangs", json!({})),
        ("s__nothing", json!({})),
    ]);
    let mut conversation = Conversation::default();
    let run = run(
        &gate,
        &Scripted::new(vec![both, say("it did not work")]),
        &mut conversation,
    )
    .await;
    check_pairs(&conversation);
    let kinds: Vec<&str> = run.calls.iter().map(|call| call.outcome.kind()).collect();
    assert_eq!(kinds, ["refused", "unknown", "invalid"]);
    let Message::Results(results) = &conversation.messages()[2] else {
        panic!("{conversation:?}")
    };
    assert!(results[0].text.contains("not made"), "{results:?}");
    assert!(results[1].text.contains("may have been carried out"), "{results:?}");
}

#[tokio::test(start_paused = true)]
async fn a_question_given_up_half_way_leaves_a_conversation_that_can_go_on() {
    let peer = Peer::new(json!([tool("hangs", true)]), |method, _| {
        (method == "tools/call").then_some(Reply::Silence)
    });
    let (gate, _) = gate(peer).await;
    let mut conversation = Conversation::default();
    let model = Scripted::new(vec![calls(&[
        ("s__hangs", json!({ "a": 1 })),
        ("s__hangs", json!({ "a": 2 })),
    ])]);
    let asked = run(&gate, &model, &mut conversation);
    assert!(tokio::time::timeout(Duration::from_secs(1), asked).await.is_err());
    let next = run(&gate, &Scripted::new(vec![say("never mind")]), &mut conversation).await;
    assert_eq!(next.end, End::Answered);
    check_pairs(&conversation);
}

#[tokio::test(start_paused = true)]
async fn a_model_that_fails_is_named() {
    let (gate, _) = gate(items()).await;
    let run = run(&gate, &Scripted::new(Vec::new()), &mut Conversation::default()).await;
    assert_eq!(run.end, End::ModelFailed);
    assert!(run.problem.unwrap().contains("scripted"));
}

fn weather() -> Peer {
    let mut get_weather = tool("get_weather", true);
    get_weather["description"] = json!("Current weather for a city.");
    get_weather["inputSchema"] = json!({ "type": "object",
        "properties": { "city": { "type": "string", "description": "Name of the city" } }, "required": ["city"] });
    Peer::new(json!([get_weather]), |method, message| {
        let city = message["params"]["arguments"]["city"].as_str()?.to_owned();
        (method == "tools/call").then(|| {
            if city == "서울" || city == "Busan" {
                text(&format!("{city}: 맑음, sunny"))
            } else {
                Reply::Result(json!({ "content": [{ "type": "text", "text": "no such city" }], "isError": true }))
            }
        })
    })
}

#[tokio::test(start_paused = true)]
async fn the_offline_model_goes_the_whole_way() {
    let (gate, seen) = gate(weather()).await;
    let mut told = Vec::new();
    let mut conversation = Conversation::default();
    let run = ask(
        &gate,
        &Offline,
        &mut conversation,
        "서울 날씨 어때?",
        &mut |step| told.push(step.kind),
    )
    .await;
    assert_eq!(run.answer.as_deref(), Some("서울: 맑음, sunny"));
    assert_eq!(seen.params("tools/call")[0]["arguments"], json!({ "city": "서울" }));
    assert_eq!(
        told,
        [
            StepKind::Server,
            StepKind::Question,
            StepKind::Tools,
            StepKind::Model,
            StepKind::Decision,
            StepKind::Result,
            StepKind::End
        ]
    );
    assert_eq!(run.steps.len(), told.len());
    assert!(run.model.notice.unwrap().contains("언어 모델이 아니라"));
    assert_eq!(conversation.messages().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn the_offline_model_says_what_went_wrong_in_the_language_of_the_question() {
    let (gate, _) = gate(weather()).await;
    let asked = async |question: &str| {
        let run = ask(&gate, &Offline, &mut Conversation::default(), question, &mut |_| ()).await;
        assert_eq!((run.end, run.answer), (End::GaveUp, None), "{question}");
        run.problem.unwrap()
    };
    assert!(
        asked("아틀란티스 날씨 어때?")
            .await
            .contains("도구가 오류를 알렸습니다")
    );
    assert!(asked("What's the weather in Atlantis?").await.contains("no such city"));
    assert!(!asked("Tell me a joke").await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_run_is_one_json_object() {
    let (gate, _) = gate(weather()).await;
    let run = ask(
        &gate,
        &Offline,
        &mut Conversation::default(),
        "What's the weather in Busan?",
        &mut |_| (),
    )
    .await;
    assert!(matches!(run.calls[0].outcome, Outcome::Answered(_)));
    let json = serde_json::to_value(&run).unwrap();
    assert_eq!(json["end"], "answered");
    assert_eq!(json["calls"][0]["decision"]["permitted"], true);
    assert_eq!(json["calls"][0]["outcome"]["kind"], "answered");
    assert_eq!(json["servers"][0]["state"], "connected");
    assert_eq!(json["tools"][0]["name"], "s__get_weather");
    assert_eq!(json["model"]["name"], "offline");
}
