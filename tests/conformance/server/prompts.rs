//! The prompts, with what completes their arguments.

use schemars::JsonSchema;
use serde::Deserialize;
use trunkline::types::{Content, ErrorObject, PromptMessage, ResourceContents};
use trunkline::{Completing, Context, Server};

use crate::content::RED_PIXEL;

pub(crate) fn register(server: Server) -> Server {
    server
        .prompt("test_simple_prompt", |_: Simple| async {
            "This is a simple prompt for testing.".to_owned()
        })
        .prompt("test_prompt_with_arguments", |ask: WithArguments| async move {
            format!("Prompt with arguments: arg1='{}', arg2='{}'", ask.arg1, ask.arg2)
        })
        .prompt("test_prompt_with_embedded_resource", |ask: WithResource| async move {
            let text = "Embedded resource content for testing.";
            let resource = ResourceContents::text(ask.resource_uri, "text/plain", text);
            above(
                Content::resource(resource),
                "Please process the embedded resource above.",
            )
        })
        .prompt("test_prompt_with_image", |_: WithImage| async {
            above(
                Content::image(RED_PIXEL, "image/png"),
                "Please analyze the image above.",
            )
        })
        .prompt("test_input_required_result_prompt", ask_for_context)
        .complete(
            "test_prompt_with_arguments",
            "arg1",
            |completing: Completing| async move {
                let names = ["paris", "park", "party"].into_iter();
                names
                    .filter(|name| name.starts_with(&completing.value))
                    .collect::<Vec<_>>()
            },
        )
}

/// A prompt that takes nothing.
#[derive(Deserialize, JsonSchema)]
struct Simple {}

/// A prompt that shows its arguments.
#[derive(Deserialize, JsonSchema)]
struct WithArguments {
    /// The first one.
    arg1: String,
    /// The second one.
    arg2: String,
}

/// A prompt about a resource.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct WithResource {
    /// The address to show.
    resource_uri: String,
}

/// A prompt about a picture.
#[derive(Deserialize, JsonSchema)]
struct WithImage {}

/// A prompt that asks the person first.
#[derive(Deserialize, JsonSchema)]
struct Asking {}

/// What the person is asked.
#[derive(Deserialize, JsonSchema)]
struct Wanted {
    /// What the prompt is about.
    context: String,
}

async fn ask_for_context(_: Asking, context: Context) -> Result<String, ErrorObject> {
    let wanted: Wanted = context
        .named("user_context")
        .elicit("What context should the prompt use?")
        .await?;
    Ok(format!("Use this context: {}", wanted.context))
}

/// Something, and what to do with it.
fn above(shown: Content, task: &str) -> Vec<PromptMessage> {
    vec![
        PromptMessage {
            content: shown,
            ..PromptMessage::user("")
        },
        PromptMessage::user(task),
    ]
}
