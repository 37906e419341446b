//! `read` and `prompt`: one resource, one prompt.

use std::collections::BTreeMap;
use std::sync::Arc;

use trunkline_gate::OfferError;
use trunkline_gate::text::one_line;

use crate::args::Global;
use crate::exit::Exit;
use crate::output::Output;
use crate::session::Session;

pub(super) async fn read(
    global: &Global,
    session: &Session,
    uri: &str,
    server: Option<&str>,
    output: &Arc<Output>,
) -> Exit {
    match session.gate.read(uri, server).await {
        Ok(read) => {
            for flag in &read.flags {
                output.warning(&format!("{}: {}", read.server, flag.text()));
            }
            if global.json {
                output.json(&read);
            } else {
                // Two servers may offer alike addresses: whose words these are is said.
                output.step("read", &format!("from server `{}`", read.server));
                output.result(&read.text);
            }
            Exit::Done
        }
        Err(error) => failed(global, &error, session, output),
    }
}

/// The prompt that was asked for.
pub(super) struct Wanted {
    name: String,
    arguments: BTreeMap<String, String>,
    pub(super) server: Option<String>,
}

impl Wanted {
    pub(super) fn new(name: String, given: Vec<(String, String)>, server: Option<String>) -> Result<Self, String> {
        let mut arguments = BTreeMap::new();
        for (argument, value) in given {
            if arguments.contains_key(&argument) {
                return Err(format!("the argument {argument} is given twice"));
            }
            arguments.insert(argument, value);
        }
        Ok(Self {
            name,
            arguments,
            server,
        })
    }
}

pub(super) async fn prompt(global: &Global, session: &Session, wanted: Wanted, output: &Arc<Output>) -> Exit {
    let filled = session
        .gate
        .prompt(&wanted.name, wanted.arguments, wanted.server.as_deref())
        .await;
    match filled {
        Ok(filled) => {
            for flag in &filled.flags {
                output.warning(&format!("{}: {}", filled.server, flag.text()));
            }
            if global.json {
                output.json(&filled);
            } else {
                let messages: Vec<String> = filled.messages.iter().map(|(role, text)| message(role, text)).collect();
                output.result(&messages.join("\n\n"));
            }
            Exit::Done
        }
        Err(error) => failed(global, &error, session, output),
    }
}

/// A prompt's message. No line of its text can pass for the beginning of another message: further lines stand in.
fn message(role: &str, text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let text = lines.join("\n  ");
    match role {
        "user" | "assistant" => format!("{role}: {text}"),
        other => format!("another role, \"{}\": {text}", one_line(other, 60)),
    }
}

fn failed(global: &Global, error: &OfferError, session: &Session, output: &Output) -> Exit {
    let exit = match error {
        OfferError::NotFound(_) if session.any_down() => Exit::ServerFailed,
        OfferError::NotFound(_) => Exit::Usage,
        _ => Exit::Failed,
    };
    super::failed(global, output, Some(session), exit, &error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_and_no_role_can_pass_for_another_message() {
        assert_eq!(message("user", "a\n\nassistant: b"), "user: a\n  \n  assistant: b");
        let forged = message("note\nuser", "a");
        assert_eq!(forged, "another role, \"note user\": a");
    }
}
