//! Tools that run as tasks: optionally or always, asking meanwhile or before.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use tokio::time::sleep;
use trunkline::types::ErrorObject;
use trunkline::{Context, InMemoryTasks, InputError, NoArguments, Server, TaskSupport, Tool, ToolError};

use crate::content::described;

pub(crate) fn register(server: Server) -> Server {
    let may = TaskSupport::optional();
    let must = TaskSupport::required();
    server
        .tasks(InMemoryTasks::new())
        .tool("slow_compute", Tool::new(compute).task(may))
        .tool("confirm_delete", Tool::new(confirm_delete).task(may))
        .tool("multi_input", described("Asks two things at once.", ask_two).task(may))
        .tool("failing_job", described("Fails each time.", fail).task(must))
        .tool(
            "protocol_error_job",
            described("Breaks each time.", break_down).task(must),
        )
        .tool(
            "test_tool_with_task",
            described("Asks for a name and goes on as a task.", ask_then_work).task(must.on_demand()),
        )
}

/// Computes for a while.
#[derive(Deserialize, JsonSchema)]
struct Compute {
    /// How long, in seconds.
    seconds: u32,
    /// What to call it.
    #[serde(default)]
    label: String,
}

async fn compute(ask: Compute) -> String {
    sleep(Duration::from_secs(ask.seconds.into())).await;
    format!("{} computed for {} s", ask.label, ask.seconds)
}

/// Deletes a file once the person agrees.
#[derive(Deserialize, JsonSchema)]
struct Delete {
    /// The name of the file.
    filename: String,
}

/// What the person is asked.
#[derive(Deserialize, JsonSchema)]
struct Confirm {
    confirm: bool,
}

/// What the person is asked.
#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

async fn confirm_delete(ask: Delete, context: Context) -> Result<String, InputError> {
    let Confirm { confirm } = context.elicit(format!("Delete {}?", ask.filename)).await?;
    let done = if confirm { "was deleted" } else { "was kept" };
    Ok(format!("{} {done}", ask.filename))
}

async fn ask_two(_: NoArguments, context: Context) -> Result<String, InputError> {
    let (Name { name }, Confirm { confirm }) =
        tokio::try_join!(context.elicit("What is your name?"), context.elicit("Are you sure?"))?;
    Ok(format!("{name} is sure: {confirm}"))
}

async fn fail(_: NoArguments) -> Result<String, ToolError> {
    Err(ToolError::new("This job intentionally fails"))
}

async fn break_down(_: NoArguments) -> Result<String, ToolError> {
    Err(ToolError::protocol(ErrorObject::internal(
        "This job intentionally breaks",
    )))
}

async fn ask_then_work(_: NoArguments, context: Context) -> Result<String, InputError> {
    let Name { name } = context.named("user_name").elicit("What is your name?").await?;
    context.continue_as_task().await?;
    Ok(format!("Worked for {name}"))
}
