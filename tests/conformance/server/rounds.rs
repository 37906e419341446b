//! Tools that ask under names the suite knows, in one round or several.

use schemars::JsonSchema;
use serde::Deserialize;
use trunkline::{Context, InputError, NoArguments, Server};

use crate::content::described;
use crate::forms::{question, said};

pub(crate) fn register(server: Server) -> Server {
    server
        .tool(
            "test_input_required_result_elicitation",
            described("Asks for a name.", greet),
        )
        .tool(
            "test_input_required_result_sampling",
            described("Asks the client's model.", capital),
        )
        .tool(
            "test_input_required_result_list_roots",
            described("Asks for folders.", folders),
        )
        .tool(
            "test_input_required_result_request_state",
            described("Asks for a yes, under a state.", confirm),
        )
        .tool(
            "test_input_required_result_tampered_state",
            described("Asks for a yes, under a state that must not be altered.", confirm),
        )
        .tool(
            "test_input_required_result_multiple_inputs",
            described("Asks three things at once.", three_at_once),
        )
        .tool(
            "test_input_required_result_multi_round",
            described("Asks two things, one after the other.", two_rounds),
        )
        .tool(
            "test_input_required_result_capabilities",
            described("Asks only what the client can be asked.", what_is_possible),
        )
}

/// What the person is asked.
#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

/// What the person is asked.
#[derive(Deserialize, JsonSchema)]
struct Color {
    color: String,
}

/// What the person is asked.
#[derive(Deserialize, JsonSchema)]
struct Confirm {
    ok: bool,
}

async fn greet(_: NoArguments, context: Context) -> Result<String, InputError> {
    let Name { name } = context.named("user_name").elicit("What is your name?").await?;
    Ok(format!("Hello, {name}!"))
}

async fn capital(_: NoArguments, context: Context) -> Result<String, InputError> {
    let asked = question("What is the capital of France?", 100);
    let answer = context.named("capital_question").sample(asked).await?;
    Ok(said(&answer).to_owned())
}

async fn folders(_: NoArguments, context: Context) -> Result<String, InputError> {
    let roots = context.named("client_roots").roots().await?;
    let uris: Vec<&str> = roots.iter().map(|root| root.uri.as_str()).collect();
    Ok(format!("The client has {}", uris.join(", ")))
}

async fn confirm(_: NoArguments, context: Context) -> Result<String, InputError> {
    let Confirm { ok } = context.named("confirm").elicit("Please confirm").await?;
    // A state that was altered, has expired or belongs elsewhere never comes as far as this.
    Ok(if ok { "state-ok" } else { "not confirmed" }.to_owned())
}

async fn three_at_once(_: NoArguments, context: Context) -> Result<String, InputError> {
    let (named, greeting, folders) = (
        context.named("user_name"),
        context.named("greeting"),
        context.named("client_roots"),
    );
    let (Name { name }, greeting, roots) = tokio::try_join!(
        named.elicit("What is your name?"),
        greeting.sample(question("Generate a greeting", 50)),
        folders.roots(),
    )?;
    Ok(format!("{} {name}, with {} folders", said(&greeting), roots.len()))
}

async fn two_rounds(_: NoArguments, context: Context) -> Result<String, InputError> {
    let Name { name } = context.named("step1").elicit("Step 1: What is your name?").await?;
    let Color { color } = context
        .named("step2")
        .elicit("Step 2: What is your favorite color?")
        .await?;
    Ok(format!("{name} likes {color}"))
}

async fn what_is_possible(_: NoArguments, context: Context) -> Result<String, InputError> {
    let client = &context.client().capabilities;
    if client.form_elicitation() {
        let Confirm { ok } = context.named("confirm").elicit("Please confirm").await?;
        return Ok(format!("the person said {ok}"));
    }
    let answer = context.named("model").sample(question("Please confirm", 10)).await?;
    Ok(format!("the model said {}", said(&answer)))
}
