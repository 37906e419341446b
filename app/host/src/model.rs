//! Models: what proposes calls and words. It only proposes.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use serde_json::Value;
use trunkline_gate::{Gate, Outcome, text};

use crate::conversation::{CallResult, Conversation, Message};
use crate::offline::{self, Language, ToolCard};

/// A tool as a model sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelTool {
    /// Its public name.
    pub name: String,
    /// The name shown to people.
    pub title: Option<String>,
    /// What the server says about it, cleaned.
    pub description: Option<String>,
    /// The JSON Schema of its arguments.
    pub input_schema: Value,
    /// Whether the gate calls it without asking a person.
    pub runs_unasked: bool,
}

/// All tools of a gate, for a model.
pub fn model_tools(gate: &Gate) -> Vec<ModelTool> {
    let cleaned = |said: &Option<String>| said.as_deref().map(|said| text::clean(said).text);
    let tools = gate.catalogue().tools();
    tools
        .map(|tool| ModelTool {
            name: tool.name().to_owned(),
            title: cleaned(&tool.definition().title),
            description: cleaned(&tool.definition().description),
            input_schema: tool.definition().input_schema.clone(),
            runs_unasked: tool.runs_unasked(),
        })
        .collect()
}

/// What a model wants next.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Turn {
    /// It answers.
    Say(String),
    /// It asks for tools.
    Calls(Vec<Proposed>),
    /// It cannot answer, for this reason.
    GiveUp(String),
}

/// A call that a model proposes.
#[derive(Debug, Clone, PartialEq)]
pub struct Proposed {
    /// The tool's public name, as the model wrote it.
    pub tool: String,
    /// The arguments, as the model wrote them.
    pub arguments: Value,
    /// Why, where the model says so.
    pub why: Option<String>,
}

/// Why a model gave no turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelError(pub String);

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ModelError {}

/// A turn that is being thought about.
pub type Thinking<'a> = Pin<Box<dyn Future<Output = Result<Turn, ModelError>> + Send + 'a>>;

/// Something that proposes the next turn of a conversation.
pub trait Model: Send + Sync {
    /// Its name.
    fn name(&self) -> &str;

    /// What a person should know about it, in the language of their question.
    fn notice(&self, _question: &str) -> Option<String> {
        None
    }

    /// The next turn.
    fn next<'a>(&'a self, conversation: &'a Conversation, tools: &'a [ModelTool]) -> Thinking<'a>;
}

/// The model that is always there: fixed rules that pick one tool and read its result out. Not a language model.
///
/// ```
/// use trunkline_host::{Model, Offline};
/// assert_eq!(Offline.name(), "offline");
/// assert!(Offline.notice("How many orders?").unwrap().contains("not a language model"));
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Offline;

impl Model for Offline {
    fn name(&self) -> &'static str {
        "offline"
    }

    fn notice(&self, question: &str) -> Option<String> {
        Some(offline::notice(Language::of(question)).to_owned())
    }

    fn next<'a>(&'a self, conversation: &'a Conversation, tools: &'a [ModelTool]) -> Thinking<'a> {
        let turn = turn(conversation.messages(), tools);
        Box::pin(async { Ok(turn) })
    }
}

fn turn(messages: &[Message], tools: &[ModelTool]) -> Turn {
    let question = messages.iter().rev().find_map(|message| match message {
        Message::User(question) => Some(question.as_str()),
        _ => None,
    });
    let question = question.unwrap_or_default();
    let language = Language::of(question);
    match messages.last() {
        Some(Message::Results(results)) => results
            .last()
            .map_or_else(|| Turn::GiveUp(String::new()), |result| read_out(language, result)),
        _ => pick(question, tools),
    }
}

fn pick(question: &str, tools: &[ModelTool]) -> Turn {
    let cards: Vec<ToolCard<'_>> = tools
        .iter()
        .map(|tool| ToolCard {
            name: &tool.name,
            title: tool.title.as_deref(),
            description: tool.description.as_deref(),
            input_schema: &tool.input_schema,
            runs_unasked: tool.runs_unasked,
        })
        .collect();
    match offline::pick(question, &cards) {
        Ok(pick) => Turn::Calls(vec![Proposed {
            tool: tools[pick.tool].name.clone(),
            arguments: Value::Object(pick.arguments),
            why: Some(pick.why),
        }]),
        Err(none) => Turn::GiveUp(none.why),
    }
}

/// Puts what became of the call into a sentence.
fn read_out(language: Language, result: &CallResult) -> Turn {
    let Some(outcome) = &result.outcome else {
        return Turn::GiveUp(result.text.clone());
    };
    let korean = language == Language::Korean;
    Turn::GiveUp(match outcome {
        Outcome::Answered(answer) => {
            let said = offline::answer(language, &answer.text, answer.structured(), answer.is_error);
            if !answer.is_error {
                return Turn::Say(said);
            }
            said
        }
        Outcome::Refused { reason } if korean => format!("도구를 부르지 않았습니다: {reason}"),
        Outcome::Refused { reason } => format!("The call was not made: {reason}"),
        Outcome::Unknown { why } if korean => {
            format!("도구를 불렀지만 결과를 알 수 없습니다. 실행되었을 수 있으니 직접 확인하세요: {why}")
        }
        Outcome::Unknown { why } => {
            format!("The outcome is unknown; it may have been carried out, so look first: {why}")
        }
        Outcome::Invalid { why } | Outcome::Failed { why } if korean => format!("도구를 쓸 수 없었습니다: {why}"),
        Outcome::Invalid { why } | Outcome::Failed { why } => format!("The call failed: {why}"),
        _ => result.text.clone(),
    })
}
