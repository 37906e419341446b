//! Tools that change what the server offers, so that clients are told of it.

use trunkline::{DefinitionError, NoArguments, Server, ToolError};

use crate::content::described;

pub(crate) fn register(server: Server) -> Server {
    // Clones share everything: one is served, the other one changes it.
    let (tools, prompts) = (server.clone(), server.clone());
    server
        .tool(
            "test_trigger_tool_change",
            described("Adds a tool and takes it away.", move |_: NoArguments| {
                let changed = change_tools(&tools);
                async move { changed }
            }),
        )
        .tool(
            "test_trigger_prompt_change",
            described("Adds a prompt and takes it away.", move |_: NoArguments| {
                let changed = change_prompts(&prompts);
                async move { changed }
            }),
        )
}

fn change_tools(server: &Server) -> Result<&'static str, ToolError> {
    server
        .add_tool(
            "test_dynamic_tool",
            described("Comes and goes.", |_: NoArguments| async { "here" }),
        )
        .map_err(told)?;
    server.remove_tool("test_dynamic_tool");
    Ok("the list of tools changed twice")
}

fn change_prompts(server: &Server) -> Result<&'static str, ToolError> {
    server
        .add_prompt("test_dynamic_prompt", |_: NoArguments| async { "here".to_owned() })
        .map_err(told)?;
    server.remove_prompt("test_dynamic_prompt");
    Ok("the list of prompts changed twice")
}

fn told(error: DefinitionError) -> ToolError {
    ToolError::new(error.to_string())
}
