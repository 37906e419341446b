//! One question, the whole way.
//!
//! The nine steps: the person asks (1); the model gets the question and the tools (2); it picks a tool and arguments
//! (3); the gate checks arguments and policy, and asks the person where policy says so (4); the client sends the call
//! (5); the server runs it (6); the result comes back (7) and goes into the conversation (8); the model answers (9).
//! Steps 2 to 8 are repeated until the model answers, at most [`MAX_TURNS`] times.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::json;
use tokio::time::Instant;
use trunkline_gate::text::{one_line, visible_json};
use trunkline_gate::{Gate, Outcome, Proposal, Report, ServerReport, ServerState, same_form};

use crate::conversation::{Call, Conversation};
use crate::model::{Model, Proposed, Turn, model_tools};

/// Most turns of the model for one question.
pub const MAX_TURNS: usize = 8;

/// Most calls in one turn; the rest get a result that says so.
pub const MAX_CALLS: usize = 16;

/// How often a model may repeat a call, all in all. Each time it is told so instead of the call being made.
const MAX_REPEATS: usize = 1;

/// A call with the same arguments was made before.
const REPEATED: &str = "This very call was made already and its result stands above: it was not made again. Answer with \
                        what you have, or call with other arguments.";

/// How a question ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum End {
    /// The model answered.
    Answered,
    /// The model says that it cannot answer.
    GaveUp,
    /// The model used all its turns without an answer.
    TooManyTurns,
    /// The model repeats calls that it has the results of.
    Repeating,
    /// The model says nothing.
    Blank,
    /// The model could not be asked.
    ModelFailed,
}

/// What kind of step it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StepKind {
    /// A server is ready.
    Server,
    /// A server cannot be used.
    ServerDown,
    /// The person asks.
    Question,
    /// The model gets the tools.
    Tools,
    /// The model picks, or says something.
    Model,
    /// The gate decides.
    Decision,
    /// A call has ended.
    Result,
    /// The host tells the model something.
    Note,
    /// The end.
    End,
}

/// One step, for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Step {
    /// When, in milliseconds since the question began.
    pub at_ms: u64,
    /// What kind.
    pub kind: StepKind,
    /// What happened, on one line and fit to show.
    pub text: String,
}

/// A tool that the model was offered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Offered {
    /// Its public name.
    pub name: String,
    /// Its server.
    pub server: String,
    /// The server's name for it.
    pub tool: String,
}

/// The model that was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AskedModel {
    /// Its name.
    pub name: String,
    /// What a person should know about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
}

/// A question from beginning to end.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Run {
    /// The question.
    pub question: String,
    /// The model.
    pub model: AskedModel,
    /// The servers, as they were at the end.
    pub servers: Vec<ServerReport>,
    /// The tools that the model was offered.
    pub tools: Vec<Offered>,
    /// What happened, in order.
    pub steps: Vec<Step>,
    /// The calls, with decision and outcome.
    pub calls: Vec<Report>,
    /// How it ended.
    pub end: End,
    /// The answer; none where there is none.
    pub answer: Option<String>,
    /// Why there is no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
}

/// Asks one question.
///
/// `tell` hears every step as it happens. A call is never left without a result in the conversation, also when the
/// future is dropped half way.
pub async fn ask(
    gate: &Gate,
    model: &dyn Model,
    conversation: &mut Conversation,
    question: &str,
    tell: &mut (dyn FnMut(&Step) + Send),
) -> Run {
    let tools = model_tools(gate);
    let mut asking = Asking {
        gate,
        began: Instant::now(),
        seen: BTreeSet::new(),
        repeats: 0,
        next_id: conversation.messages().len(),
        steps: Vec::new(),
        calls: Vec::new(),
        tell,
    };
    for report in gate.reports() {
        let ready = report.state == ServerState::Connected;
        let kind = if ready { StepKind::Server } else { StepKind::ServerDown };
        asking.step(kind, server_line(&report));
    }
    asking.step(StepKind::Question, one_line(question, 200));
    gate.record("question", &json!({ "text": question, "model": model.name() }));
    conversation.user(question);
    asking.step(
        StepKind::Tools,
        format!("{} offered to the model `{}`", count(tools.len()), model.name()),
    );

    let mut blank = false;
    let mut ended = None;
    for _ in 0..MAX_TURNS {
        let turn = match model.next(conversation, &tools).await {
            Ok(turn) => turn,
            Err(error) => {
                ended = Some((
                    End::ModelFailed,
                    format!("the model `{}` failed: {error}", model.name()),
                ));
                break;
            }
        };
        match turn {
            Turn::Say(text) if text.trim().is_empty() && !blank => {
                blank = true;
                asking.step(
                    StepKind::Note,
                    "the model said nothing and is asked once more".to_owned(),
                );
                conversation.note("Your answer was empty. Answer the question, or say why you cannot.");
            }
            Turn::Say(text) if text.trim().is_empty() => {
                ended = Some((End::Blank, "the model said nothing, twice".to_owned()));
            }
            Turn::Say(text) => ended = Some((End::Answered, text)),
            Turn::GiveUp(why) => ended = Some((End::GaveUp, why)),
            Turn::Calls(proposed) if proposed.is_empty() => {
                ended = Some((End::Blank, "the model asked for no tool and said nothing".to_owned()));
            }
            Turn::Calls(proposed) => {
                if !asking.carry_out(proposed, conversation).await {
                    let why = "the model repeats calls that it has the results of".to_owned();
                    ended = Some((End::Repeating, why));
                }
            }
        }
        if ended.is_some() {
            break;
        }
    }
    let (end, text) = ended.unwrap_or_else(|| {
        (
            End::TooManyTurns,
            format!("the model used its {MAX_TURNS} turns without an answer"),
        )
    });
    let answer = (end == End::Answered).then(|| text.clone());
    if let Some(answer) = &answer {
        conversation.assistant(answer);
    }
    asking.step(
        StepKind::End,
        if answer.is_some() {
            "answered".to_owned()
        } else {
            one_line(&text, 1000)
        },
    );
    gate.record("answer", &json!({ "end": end, "text": text }));
    Run {
        question: question.to_owned(),
        model: AskedModel {
            name: model.name().to_owned(),
            notice: model.notice(question),
        },
        servers: gate.reports(),
        tools: offered(gate),
        took_ms: asking.millis(),
        steps: asking.steps,
        calls: asking.calls,
        end,
        problem: answer.is_none().then_some(text),
        answer,
    }
}

fn offered(gate: &Gate) -> Vec<Offered> {
    let tools = gate.catalogue().tools();
    let offered = tools.map(|tool| Offered {
        name: tool.name().to_owned(),
        server: tool.server().to_owned(),
        tool: tool.definition().name.clone(),
    });
    offered.collect()
}

struct Asking<'a> {
    gate: &'a Gate,
    began: Instant,
    /// The calls that were made, in one form.
    seen: BTreeSet<String>,
    repeats: usize,
    next_id: usize,
    steps: Vec<Step>,
    calls: Vec<Report>,
    tell: &'a mut (dyn FnMut(&Step) + Send),
}

impl Asking<'_> {
    fn millis(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn step(&mut self, kind: StepKind, text: String) {
        let step = Step {
            at_ms: self.millis(),
            kind,
            text,
        };
        (self.tell)(&step);
        self.steps.push(step);
    }

    /// Hands the calls of one turn to the gate, one after the other. Says whether the model may go on.
    async fn carry_out(&mut self, proposed: Vec<Proposed>, conversation: &mut Conversation) -> bool {
        let mut calls = Vec::new();
        for proposed in &proposed {
            self.next_id += 1;
            calls.push(Call {
                id: format!("call-{}", self.next_id),
                tool: proposed.tool.clone(),
                arguments: proposed.arguments.clone(),
            });
        }
        conversation.calls(calls.clone());
        let mut goes_on = true;
        for (place, (call, proposed)) in calls.into_iter().zip(&proposed).enumerate() {
            if place >= MAX_CALLS {
                conversation.close_open("the call was not made: too many calls in one turn");
                break;
            }
            let shown = format!(
                "{} {}",
                one_line(&call.tool, 100),
                one_line(&visible_json(&call.arguments), 500)
            );
            let name = format!("{}: ", call.tool);
            let why = proposed
                .why
                .as_deref()
                .map(|why| why.strip_prefix(&name).unwrap_or(why));
            let why = why.map(|why| format!(" · {}", one_line(why, 500)));
            self.step(StepKind::Model, format!("{shown}{}", why.unwrap_or_default()));
            let key = format!("{}\0{}", call.tool, same_form(&call.arguments));
            if !self.seen.insert(key) {
                self.repeats += 1;
                self.step(
                    StepKind::Note,
                    "the same call again: not made, the model is told so".to_owned(),
                );
                conversation.result(&call.id, REPEATED, None);
                goes_on &= self.repeats <= MAX_REPEATS;
                continue;
            }
            let report = self.gate.call(Proposal::new(call.tool, call.arguments)).await;
            self.tell_call(&report);
            conversation.result(&call.id, report.outcome.for_model(), Some(report.outcome.clone()));
            self.calls.push(report);
        }
        goes_on
    }

    fn tell_call(&mut self, report: &Report) {
        if let Some(decision) = &report.decision {
            let effect = if decision.permitted { "permitted" } else { "refused" };
            self.step(
                StepKind::Decision,
                format!("{effect}: {}", one_line(&decision.reason, 500)),
            );
        }
        let took = report.took_ms;
        let text = match &report.outcome {
            Outcome::Answered(answer) if answer.is_error => format!("the tool reports an error, after {took} ms"),
            Outcome::Answered(answer) => {
                let flags: Vec<&str> = answer.flags.iter().map(|flag| flag.text()).collect();
                let flags = if flags.is_empty() {
                    String::new()
                } else {
                    format!("; note: {}", flags.join("; "))
                };
                format!("answered in {took} ms{flags}")
            }
            Outcome::Refused { .. } => "not made".to_owned(),
            Outcome::Invalid { why } => format!("not made: {}", one_line(why, 500)),
            Outcome::Failed { why } => format!("failed: {}", one_line(why, 500)),
            Outcome::Unknown { why } => format!("outcome unknown: {}", one_line(why, 500)),
            other => other.kind().to_owned(),
        };
        self.step(StepKind::Result, text);
    }
}

/// One server on one line.
fn server_line(report: &ServerReport) -> String {
    let id = one_line(&report.id, 60);
    match report.state {
        ServerState::Connected => format!(
            "{id}: connected in {} ms, {}, revision {}",
            report.took_ms,
            count(report.tools),
            report.revision.as_deref().unwrap_or("unknown")
        ),
        _ => format!("{id}: {}", report.error.as_deref().unwrap_or("cannot be used")),
    }
}

fn count(tools: usize) -> String {
    if tools == 1 {
        "1 tool".to_owned()
    } else {
        format!("{tools} tools")
    }
}
