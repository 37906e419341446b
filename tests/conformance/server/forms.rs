//! Tools that ask: the person by forms of every kind, the model, and for folders.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use trunkline::types::{CreateMessageParams, CreateMessageResult, SamplingContent, SamplingMessage};
use trunkline::{Context, Elicited, InputError, NoArguments, Server, ToolError};

use crate::content::described;

pub(crate) fn register(server: Server) -> Server {
    server
        .tool("test_sampling", sample)
        .tool("test_elicitation", elicit)
        .tool(
            "test_elicitation_sep1034_defaults",
            described("Asks with a default for each field.", elicit_defaults),
        )
        .tool(
            "test_elicitation_sep1330_enums",
            described("Asks by choices of every form.", elicit_choices),
        )
        .tool(
            "test_missing_capability",
            described("Needs the client's model.", need_model),
        )
        .tool(
            "test_streaming_elicitation",
            described("Asks after it said how far it is.", stream_and_ask),
        )
}

/// Asks the client's model.
#[derive(Deserialize, JsonSchema)]
struct Sample {
    /// The prompt to send to the model.
    prompt: String,
}

/// One question to the client's model, with a bound on the answer.
pub(crate) fn question(prompt: impl Into<String>, max_tokens: u64) -> CreateMessageParams {
    CreateMessageParams {
        messages: vec![SamplingMessage::user(prompt)],
        max_tokens,
        ..CreateMessageParams::default()
    }
}

/// The text of what the model said.
pub(crate) fn said(result: &CreateMessageResult) -> &str {
    let mut texts = result.content.iter().filter_map(|content| match content {
        SamplingContent::Content(content) => content.as_text(),
        _ => None,
    });
    texts.next_back().unwrap_or("nothing")
}

async fn sample(ask: Sample, context: Context) -> Result<String, InputError> {
    let answer = context.sample(question(ask.prompt, 100)).await?;
    Ok(format!("LLM response: {}", said(&answer)))
}

async fn need_model(_: NoArguments, context: Context) -> Result<String, InputError> {
    let answer = context.sample(question("Are you there?", 10)).await?;
    Ok(said(&answer).to_owned())
}

/// Asks the person.
#[derive(Deserialize, JsonSchema)]
struct Elicit {
    /// What the person is shown.
    message: String,
}

/// What the person is asked.
#[derive(Deserialize, Serialize, JsonSchema)]
struct Account {
    /// User's response
    username: String,
    /// User's email address
    email: String,
}

async fn elicit(ask: Elicit, context: Context) -> Result<String, InputError> {
    let answer: Elicited<Account> = context.elicit_or_not(ask.message).await?;
    Ok(format!("User response: {}", told(&answer)))
}

/// A form that can be sent off as it is.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(default)]
struct Profile {
    /// User name
    name: String,
    /// User age
    age: i32,
    /// User score
    score: f64,
    /// User status
    status: Status,
    /// Verification status
    verified: bool,
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Status {
    Active,
    Inactive,
    Pending,
}

impl Default for Profile {
    fn default() -> Self {
        Self {
            name: "John Doe".to_owned(),
            age: 30,
            score: 95.5,
            status: Status::Active,
            verified: true,
        }
    }
}

async fn elicit_defaults(_: NoArguments, context: Context) -> Result<String, InputError> {
    let answer: Elicited<Profile> = context.elicit_or_not("Please check these values").await?;
    Ok(format!("Elicitation completed: {}", told(&answer)))
}

async fn elicit_choices(_: NoArguments, context: Context) -> Result<String, InputError> {
    let form = json!({
        "type": "object",
        "properties": {
            "untitledSingle": { "type": "string", "enum": ["option1", "option2", "option3"] },
            "titledSingle": {
                "type": "string",
                "oneOf": [
                    { "const": "value1", "title": "First Option" },
                    { "const": "value2", "title": "Second Option" },
                    { "const": "value3", "title": "Third Option" }
                ]
            },
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"]
            },
            "untitledMulti": {
                "type": "array",
                "items": { "type": "string", "enum": ["option1", "option2", "option3"] }
            },
            "titledMulti": {
                "type": "array",
                "items": {
                    "anyOf": [
                        { "const": "value1", "title": "First Choice" },
                        { "const": "value2", "title": "Second Choice" },
                        { "const": "value3", "title": "Third Choice" }
                    ]
                }
            }
        }
    });
    let answer: Elicited<Value> = context.elicit_form("Please choose", form).await?;
    Ok(format!("Elicitation completed: {}", told(&answer)))
}

fn told<T: Serialize>(answer: &Elicited<T>) -> String {
    match answer {
        Elicited::Accepted(content) => format!("action=accept, content={}", json!(content)),
        Elicited::Declined => "action=decline".to_owned(),
        Elicited::Cancelled => "action=cancel".to_owned(),
    }
}

/// What the person is asked.
#[derive(Deserialize, JsonSchema)]
struct GoOn {
    /// Whether to go on.
    go_on: bool,
}

async fn stream_and_ask(_: NoArguments, context: Context) -> Result<String, ToolError> {
    context.progress(1.0, Some(2.0), "about to ask");
    let GoOn { go_on } = context.elicit("Shall this go on?").await?;
    Ok(format!("go on: {go_on}"))
}
