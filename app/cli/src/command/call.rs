//! `call`: one tool call, through the gate.

use std::io::Read;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};
use trunkline_gate::text::one_line;
use trunkline_gate::{OfferedTool, Outcome, Proposal, Report, ServerReport, near};

use crate::args::Global;
use crate::exit::Exit;
use crate::output::Output;
use crate::session::Session;

/// Most bytes of arguments that are read from standard input.
const MAX_ARGUMENTS: u64 = 16 << 20;

/// The call that was asked for.
pub(super) struct Wanted {
    /// `server/tool`, or the public name.
    pub(super) tool: String,
    arguments: Value,
}

impl Wanted {
    pub(super) fn new(tool: String, arguments: Option<&str>) -> Result<Self, String> {
        let arguments = match arguments {
            None => Value::Object(Map::new()),
            Some("-") => {
                let mut text = String::new();
                std::io::stdin()
                    .take(MAX_ARGUMENTS)
                    .read_to_string(&mut text)
                    .map_err(|error| format!("the arguments cannot be read from standard input: {error}"))?;
                parse(&text)?
            }
            Some(text) => parse(text)?,
        };
        Ok(Self { tool, arguments })
    }
}

fn parse(text: &str) -> Result<Value, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| {
        format!(
            "the arguments are not JSON: {error}; given: {}; put them in single quotes, for example '{{\"city\":\"Seoul\"}}'",
            one_line(text, 120)
        )
    })?;
    if value.is_object() {
        Ok(value)
    } else {
        Err(format!(
            "the arguments must be a JSON object such as {{\"city\":\"Seoul\"}}, not {}",
            one_line(text, 120)
        ))
    }
}

#[derive(Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    report: &'a Report,
    servers: Vec<ServerReport>,
}

pub(super) async fn call(global: &Global, session: &Session, wanted: Wanted, output: &Arc<Output>) -> Exit {
    let found = find(session, &wanted.tool);
    let [tool] = found[..] else {
        let why = if found.is_empty() {
            unknown(session, &wanted.tool)
        } else {
            ambiguous(&wanted.tool, &found)
        };
        // A server that is down has said so already.
        return if found.is_empty() && session.any_down() {
            super::no_result(global, output, Some(session), Exit::ServerFailed, &why)
        } else {
            super::failed(global, output, Some(session), Exit::Usage, &why)
        };
    };
    let label = format!(
        "{}/{}",
        one_line(tool.server(), 60),
        one_line(&tool.definition().name, 100)
    );
    let name = tool.name().to_owned();
    let report = session.gate.call(Proposal::new(name, wanted.arguments)).await;
    if global.verbose
        && let Some(decision) = &report.decision
    {
        output.step("decision", &decision.reason);
    }
    if global.json {
        output.json(&Shown {
            report: &report,
            servers: session.gate.reports(),
        });
    }
    tell(global, &label, &report.outcome, output);
    match &report.outcome {
        Outcome::Failed { .. } if session.any_down() => Exit::ServerFailed,
        outcome => Exit::of(outcome),
    }
}

fn tell(global: &Global, label: &str, outcome: &Outcome, output: &Output) {
    match outcome {
        Outcome::Answered(answer) => {
            for flag in &answer.flags {
                output.warning(&format!("{label}: {}", flag.text()));
            }
            let text = match answer.structured() {
                Some(structured) if answer.text.is_empty() => {
                    serde_json::to_string_pretty(structured).unwrap_or_default()
                }
                _ => answer.text.clone(),
            };
            if answer.is_error {
                output.error(&format!("{label}: {text}"));
            } else if !global.json {
                output.result(&text);
            }
        }
        Outcome::Refused { reason } => output.error(&format!("{label} was not called: {reason}")),
        Outcome::Invalid { why } => output.error(why),
        Outcome::Unknown { why } => {
            output.error(&format!(
                "{label}: {why}; look whether it was carried out before you call it again"
            ));
        }
        other => {
            let why = match other {
                Outcome::Failed { why } => why.as_str(),
                _ => other.kind(),
            };
            output.error(&format!("{label}: {why}"));
        }
    }
}

/// The tools that a name may mean: the one with this public name, or each that `server/tool` fits, since ids and names
/// may hold slashes themselves.
fn find<'a>(session: &'a Session, wanted: &str) -> Vec<&'a OfferedTool> {
    let catalogue = session.gate.catalogue();
    if let Some(tool) = catalogue.get(wanted) {
        return vec![tool];
    }
    let found: Vec<&OfferedTool> = splits(wanted)
        .filter_map(|(server, tool)| catalogue.of(server, tool))
        .map(AsRef::as_ref)
        .collect();
    // A server that is down may have been meant.
    let meant = |report: &ServerReport| {
        let other = found.iter().all(|tool| tool.server() != report.id);
        report.is_down() && other && splits(wanted).any(|(server, _)| server == report.id)
    };
    if session.gate.reports().iter().any(meant) {
        return Vec::new();
    }
    found
}

/// Every way to read a name as server and tool.
fn splits(wanted: &str) -> impl Iterator<Item = (&str, &str)> {
    wanted
        .match_indices('/')
        .map(|(at, slash)| (&wanted[..at], &wanted[at + slash.len()..]))
}

fn ambiguous(wanted: &str, found: &[&OfferedTool]) -> String {
    let names: Vec<String> = found
        .iter()
        .map(|tool| format!("{} for server `{}`", tool.name(), one_line(tool.server(), 100)))
        .collect();
    format!(
        "`{}` can mean several tools; write {}",
        one_line(wanted, 120),
        names.join(", ")
    )
}

fn unknown(session: &Session, wanted: &str) -> String {
    let tools = session.gate.catalogue().tools();
    let names: Vec<String> = tools
        .map(|tool| format!("{}/{}", tool.server(), tool.definition().name))
        .collect();
    let near = near(wanted, names.iter().map(String::as_str), 3);
    let hint = if near.is_empty() {
        "`trunkline tools` lists the tools".to_owned()
    } else {
        format!(
            "near names: {}",
            near.iter()
                .map(|name| one_line(name, 120))
                .collect::<Vec<_>>()
                .join(", ")
        )
    };
    format!("there is no tool `{}`; {hint}", one_line(wanted, 120))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_an_object_or_the_command_line_is_wrong() {
        assert_eq!(parse(r#"{"a":null}"#).unwrap()["a"], Value::Null);
        assert!(parse("{city:Seoul}").unwrap_err().contains("single quotes"));
        assert!(parse("[1]").unwrap_err().contains("must be a JSON object"));
        assert!(parse("").is_err());
    }
}
