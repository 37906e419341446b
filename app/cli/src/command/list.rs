//! `tools`, `resources`, `prompts`: what the servers offer.

use std::fmt::Write as _;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use trunkline_gate::client::types::{Prompt, Tool};
use trunkline_gate::text::one_line;
use trunkline_gate::{OfferedTool, Offers, ServerReport, SetAside, Trust};

use crate::args::Global;
use crate::exit::Exit;
use crate::output::Output;
use crate::session::Session;

/// Most characters of a description in a list.
const MAX_DESCRIPTION: usize = 300;

#[derive(Serialize)]
struct ShownTool<'a> {
    name: &'a str,
    server: &'a str,
    trust: Trust,
    runs_unasked: bool,
    definition: &'a Tool,
}

#[derive(Serialize)]
struct ToolList<'a> {
    servers: Vec<ServerReport>,
    tools: Vec<ShownTool<'a>>,
    set_aside: &'a [SetAside],
}

pub(super) fn tools(global: &Global, session: &Session, output: &Arc<Output>) -> Exit {
    let catalogue = session.gate.catalogue();
    let tools: Vec<&OfferedTool> = catalogue.tools().map(AsRef::as_ref).collect();
    let unlisted = session.gate.reports().iter().any(|report| report.unlisted);
    let exit = if unlisted { Exit::ServerFailed } else { Exit::Done };
    if global.json {
        output.json(&ToolList {
            servers: session.gate.reports(),
            tools: tools.iter().map(|tool| shown(tool)).collect(),
            set_aside: catalogue.all_set_aside(),
        });
        return exit;
    }
    if tools.is_empty() {
        output.note("no server offers a tool");
    }
    let blocks: Vec<String> = tools.iter().map(|tool| tool_block(tool)).collect();
    print(output, &blocks);
    exit
}

fn shown(tool: &OfferedTool) -> ShownTool<'_> {
    ShownTool {
        name: tool.name(),
        server: tool.server(),
        trust: tool.trust(),
        runs_unasked: tool.runs_unasked(),
        definition: tool.definition(),
    }
}

fn tool_block(tool: &OfferedTool) -> String {
    let definition = tool.definition();
    let asks = if tool.runs_unasked() {
        "runs unasked"
    } else {
        "asks first"
    };
    let mut block = format!(
        "{}/{}  [{asks}]",
        one_line(tool.server(), 60),
        one_line(&definition.name, 120)
    );
    describe(&mut block, definition.description.as_deref());
    let properties = definition.input_schema.get("properties").and_then(Value::as_object);
    let required = definition.input_schema.get("required").and_then(Value::as_array);
    for (name, schema) in properties.into_iter().flatten() {
        let needed = required.is_some_and(|required| required.iter().any(|other| other == name.as_str()));
        let needed = if needed { ", required" } else { "" };
        let _ = write!(
            block,
            "\n    {}  {}{needed}",
            one_line(name, 60),
            one_line(&sort(schema), 80)
        );
        if let Some(description) = schema.get("description").and_then(Value::as_str) {
            let _ = write!(block, ": {}", one_line(description, 200));
        }
    }
    block
}

/// What a parameter takes, in a word or two.
fn sort(schema: &Value) -> String {
    if let Some(choices) = schema.get("enum").and_then(Value::as_array) {
        let choices: Vec<String> = choices.iter().take(12).map(Value::to_string).collect();
        return choices.join("|");
    }
    match schema.get("type") {
        Some(Value::String(kind)) => kind.clone(),
        Some(Value::Array(kinds)) => {
            let kinds: Vec<&str> = kinds.iter().filter_map(Value::as_str).collect();
            kinds.join("|")
        }
        _ => "any".to_owned(),
    }
}

fn describe(block: &mut String, description: Option<&str>) {
    if let Some(description) = description.filter(|text| !text.trim().is_empty()) {
        let _ = write!(block, "\n    {}", one_line(description, MAX_DESCRIPTION));
    }
}

fn print(output: &Output, blocks: &[String]) {
    if !blocks.is_empty() {
        output.result(&blocks.join("\n"));
    }
}

pub(super) async fn resources(global: &Global, session: &Session, output: &Arc<Output>) -> Exit {
    #[derive(Serialize)]
    struct ResourceList<R, T> {
        servers: Vec<ServerReport>,
        resources: R,
        templates: T,
    }
    let resources = session.gate.resources(None).await;
    let templates = session.gate.resource_templates(None).await;
    odd(&resources, output);
    odd(&templates, output);
    if global.json {
        output.json(&ResourceList {
            servers: session.gate.reports(),
            resources: &resources,
            templates: &templates,
        });
        return Exit::Done;
    }
    if resources.items.is_empty() && templates.items.is_empty() {
        output.note("no server offers a resource");
    }
    let block = |server: &str, uri: &str, kind: &str, about: Option<&str>| {
        let mut block = format!("{}  {kind}{}", one_line(uri, 200), one_line(server, 60));
        describe(&mut block, about);
        block
    };
    let mut blocks: Vec<String> = Vec::new();
    for offer in &resources.items {
        let about = offer.item.description.as_deref().or(Some(&offer.item.name));
        blocks.push(block(&offer.server, &offer.item.uri, "", about));
    }
    for offer in &templates.items {
        let about = offer.item.description.as_deref().or(Some(&offer.item.name));
        blocks.push(block(&offer.server, &offer.item.uri_template, "template, ", about));
    }
    print(output, &blocks);
    Exit::Done
}

pub(super) async fn prompts(global: &Global, session: &Session, output: &Arc<Output>) -> Exit {
    #[derive(Serialize)]
    struct PromptList<P> {
        servers: Vec<ServerReport>,
        prompts: P,
    }
    let prompts = session.gate.prompts(None).await;
    odd(&prompts, output);
    if global.json {
        output.json(&PromptList {
            servers: session.gate.reports(),
            prompts: &prompts,
        });
        return Exit::Done;
    }
    if prompts.items.is_empty() {
        output.note("no server offers a prompt");
    }
    let blocks: Vec<String> = prompts
        .items
        .iter()
        .map(|offer| prompt_block(&offer.server, &offer.item))
        .collect();
    print(output, &blocks);
    Exit::Done
}

fn prompt_block(server: &str, prompt: &Prompt) -> String {
    let mut block = format!("{}  {}", one_line(&prompt.name, 120), one_line(server, 60));
    describe(&mut block, prompt.description.as_deref());
    for argument in prompt.arguments.iter().flatten() {
        let needed = if argument.required == Some(true) {
            "  required"
        } else {
            ""
        };
        let _ = write!(block, "\n    {}{needed}", one_line(&argument.name, 60));
        if let Some(description) = &argument.description {
            let _ = write!(block, ": {}", one_line(description, 200));
        }
    }
    block
}

fn odd<T>(offers: &Offers<T>, output: &Output) {
    for warning in &offers.warnings {
        output.warning(&format!("server {warning}"));
    }
    for aside in &offers.set_aside {
        output.warning(&format!(
            "server `{}`: {} is set aside: {}",
            one_line(&aside.server, 100),
            one_line(&aside.name, 200),
            one_line(&aside.reason, 300)
        ));
    }
}
