//! What is sent, and whether what comes back is right.
//!
//! This names two revisions, as nothing else outside of `sdk/types` does: it shares no code with what it measures.

use std::borrow::Cow;
use std::io::Write as _;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::fault::{Fault, Outcome};

/// How many KiB a `blob` call asks for.
pub(crate) const BLOB_KIB: u32 = 1024;
/// How many bytes it gets.
const BLOB: usize = BLOB_KIB as usize * 1024;
/// How much of a wrong answer is shown.
const SHOWN: usize = 300;

/// How a client tells the revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// By a handshake, once.
    Legacy,
    /// In every request.
    Modern,
}

impl Era {
    pub(crate) const ALL: [Self; 2] = [Self::Legacy, Self::Modern];

    /// The revision that is spoken, the newest of the era.
    pub(crate) fn revision(self) -> &'static str {
        match self {
            Self::Legacy => "2025-11-25",
            Self::Modern => "2026-07-28",
        }
    }

    fn meta(self) -> &'static str {
        match self {
            Self::Legacy => "",
            Self::Modern => concat!(
                r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
                r#""io.modelcontextprotocol/clientInfo":{"name":"bench-load","version":"0"},"#,
                r#""io.modelcontextprotocol/clientCapabilities":{}}"#
            ),
        }
    }
}

/// A measured tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tool {
    /// Returns a short text.
    Echo,
    /// Returns structured content.
    Add,
    /// Returns a text of [`BLOB_KIB`].
    Blob,
}

impl Tool {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Echo => "echo",
            Self::Add => "add",
            Self::Blob => "blob",
        }
    }
}

const ECHO_START: &str = "call ";
const ECHO_END: &str = ": about as much as a tool is told";

/// Appends a call without an end of line. Each has arguments of its own, by its id.
pub(crate) fn call(out: &mut Vec<u8>, id: u64, tool: Tool, era: Era) {
    let name = tool.name();
    let _ = write!(
        out,
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{name}","arguments":"#
    );
    let _ = match tool {
        Tool::Echo => write!(out, r#"{{"text":"{ECHO_START}{id}{ECHO_END}"}}"#),
        Tool::Add => write!(out, r#"{{"a":{id},"b":0.5}}"#),
        Tool::Blob => write!(out, r#"{{"kib":{BLOB_KIB}}}"#),
    };
    let meta = era.meta();
    let comma = if meta.is_empty() { "" } else { "," };
    let _ = write!(out, "{comma}{meta}}}}}");
}

/// A call of `echo` with a text of that many bytes. The era is legacy.
pub(crate) fn long_echo(id: u64, bytes: usize) -> Vec<u8> {
    let text = "x".repeat(bytes);
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"echo","arguments":{{"text":"{text}"}}}}}}"#
    )
    .into_bytes()
}

pub(crate) fn initialize(id: u64) -> Vec<u8> {
    let revision = Era::Legacy.revision();
    format!(
        concat!(
            r#"{{"jsonrpc":"2.0","id":{},"method":"initialize","params":{{"protocolVersion":"{}","#,
            r#""capabilities":{{}},"clientInfo":{{"name":"bench-load","version":"0"}}}}}}"#
        ),
        id, revision
    )
    .into_bytes()
}

pub(crate) const INITIALIZED: &[u8] = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

pub(crate) fn list_tools(id: u64, era: Era) -> Vec<u8> {
    let meta = era.meta();
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list","params":{{{meta}}}}}"#).into_bytes()
}

/// What an answer to a call has that is checked. Texts without escapes are borrowed.
#[derive(Deserialize)]
struct Answer<'a> {
    id: Option<u64>,
    #[serde(borrow)]
    method: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<CallResult<'a>>,
}

#[derive(Deserialize)]
struct CallResult<'a> {
    #[serde(borrow, default)]
    content: Vec<Content<'a>>,
    #[serde(rename = "isError", default)]
    is_error: bool,
    #[serde(rename = "structuredContent")]
    structured: Option<Sum>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow, default)]
    text: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Sum {
    sum: f64,
}

/// The id that the answer to a call belongs to. `None`: it is a request or a notification of the server's.
///
/// # Errors
/// What is no answer, and an answer that is not what its id implies.
pub(crate) fn check_call(message: &[u8], tool: Tool) -> Outcome<Option<u64>> {
    let wrong = |why: &str| Fault::new(format!("{why}: {}", shown(message)));
    let answer: Answer = serde_json::from_slice(message).map_err(|error| wrong(&error.to_string()))?;
    if answer.method.is_some() {
        return Ok(None);
    }
    let (Some(id), Some(result)) = (answer.id, answer.result) else {
        return Err(wrong("a call was not answered by a result"));
    };
    let text = result.content.first().map_or("", |content| &content.text);
    let right = match tool {
        Tool::Echo => is_echo(text, id),
        Tool::Add => !text.is_empty() && result.structured.is_some_and(|sum| is_sum(sum.sum, id)),
        Tool::Blob => text.len() == BLOB && text.bytes().all(|byte| byte == b'x'),
    };
    if right && !result.is_error {
        Ok(Some(id))
    } else {
        Err(wrong("a wrong answer"))
    }
}

fn is_echo(text: &str, id: u64) -> bool {
    let number = text
        .strip_prefix(ECHO_START)
        .and_then(|rest| rest.strip_suffix(ECHO_END));
    number.is_some_and(|number| number.parse() == Ok(id))
}

/// Doubling makes it a whole number, and ids stay far below what a float holds exactly.
fn is_sum(sum: f64, id: u64) -> bool {
    format!("{:.0}", sum * 2.0) == (2 * id + 1).to_string()
}

/// Whether this is the right answer to a [`long_echo`].
///
/// # Errors
/// As [`check_call`].
pub(crate) fn check_long_echo(message: &[u8], id: u64, bytes: usize) -> Outcome<bool> {
    let answer: Answer =
        serde_json::from_slice(message).map_err(|error| Fault::new(format!("{error}: {}", shown(message))))?;
    if answer.method.is_some() {
        return Ok(false);
    }
    let texts = answer.result.map(|result| result.content).unwrap_or_default();
    if answer.id == Some(id) && texts.first().is_some_and(|content| content.text.len() == bytes) {
        Ok(true)
    } else {
        Err(Fault::new(format!("a wrong answer: {}", shown(message))))
    }
}

/// Whether this is the answer to `initialize`; other messages are not looked at.
///
/// # Errors
/// A wrong answer.
pub(crate) fn check_initialized(message: &[u8], id: u64) -> Outcome<bool> {
    check(message, id, |result| {
        result["protocolVersion"] == Era::Legacy.revision()
    })
}

/// Whether this is the answer to `tools/list`, with all measured tools.
///
/// # Errors
/// A wrong answer.
pub(crate) fn check_list(message: &[u8], id: u64) -> Outcome<bool> {
    check(message, id, |result| {
        let tools = result["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
        let has = |tool: Tool| tools.iter().any(|listed| listed["name"] == tool.name());
        has(Tool::Echo) && has(Tool::Add) && has(Tool::Blob)
    })
}

fn check(message: &[u8], id: u64, right: impl FnOnce(&Value) -> bool) -> Outcome<bool> {
    let answer: Value =
        serde_json::from_slice(message).map_err(|error| Fault::new(format!("{error}: {}", shown(message))))?;
    if answer.get("method").is_some() {
        return Ok(false);
    }
    if answer["id"] == id && right(&answer["result"]) {
        Ok(true)
    } else {
        Err(Fault::new(format!("a wrong answer: {}", shown(message))))
    }
}

/// The start of a message, for people.
pub(crate) fn shown(message: &[u8]) -> String {
    let start = String::from_utf8_lossy(&message[..message.len().min(SHOWN)]).into_owned();
    if message.len() > SHOWN { start + "…" } else { start }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn sent(tool: Tool, era: Era) -> Value {
        let mut out = Vec::new();
        call(&mut out, 7, tool, era);
        serde_json::from_slice(&out).expect("a call is JSON")
    }

    fn checked(answer: &Value, tool: Tool) -> Result<Option<u64>, String> {
        check_call(answer.to_string().as_bytes(), tool).map_err(|fault| fault.text().to_owned())
    }

    #[test]
    fn only_modern_requests_carry_the_revision() {
        for tool in [Tool::Echo, Tool::Add, Tool::Blob] {
            let legacy = sent(tool, Era::Legacy);
            assert_eq!(legacy["params"]["name"], tool.name());
            assert_eq!(legacy["params"].get("_meta"), None);
            let modern = sent(tool, Era::Modern);
            let revision = &modern["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"];
            assert_eq!(revision, Era::Modern.revision());
            assert_eq!(legacy["params"]["arguments"], modern["params"]["arguments"]);
        }
        for era in Era::ALL {
            assert!(serde_json::from_slice::<Value>(&list_tools(1, era)).is_ok());
        }
        assert!(serde_json::from_slice::<Value>(&initialize(1)).is_ok());
        assert_eq!(
            serde_json::from_slice::<Value>(&long_echo(1, 5)).unwrap()["params"]["arguments"]["text"],
            "xxxxx"
        );
    }

    #[test]
    fn the_right_answers_are_right() {
        let text = sent(Tool::Echo, Era::Legacy)["params"]["arguments"]["text"].clone();
        let echo = json!({ "id": 7, "result": { "content": [{ "type": "text", "text": text }] } });
        assert_eq!(checked(&echo, Tool::Echo), Ok(Some(7)));
        let add = json!({ "id": 7, "result": { "content": [{ "text": "7.5" }], "structuredContent": { "sum": 7.5 } } });
        assert_eq!(checked(&add, Tool::Add), Ok(Some(7)));
        let blob = json!({ "id": 7, "result": { "content": [{ "text": "x".repeat(BLOB) }] } });
        assert_eq!(checked(&blob, Tool::Blob), Ok(Some(7)));
        let notice = json!({ "method": "notifications/message", "params": {} });
        assert_eq!(checked(&notice, Tool::Echo), Ok(None));
    }

    #[test]
    fn every_kind_of_wrong_answer_is_noticed() {
        let text = sent(Tool::Echo, Era::Legacy)["params"]["arguments"]["text"].clone();
        let content = json!([{ "text": text }]);
        let sum = json!({ "content": [{ "text": "7.5" }], "structuredContent": { "sum": 7.0 } });
        let wrong = [
            (Tool::Echo, json!({ "id": 8, "result": { "content": content } })),
            (Tool::Echo, json!({ "id": "7", "result": { "content": content } })),
            (
                Tool::Echo,
                json!({ "id": 7, "result": { "content": content, "isError": true } }),
            ),
            (Tool::Echo, json!({ "id": 7, "result": { "content": [] } })),
            (
                Tool::Echo,
                json!({ "id": 7, "error": { "code": -32603, "message": "no" } }),
            ),
            (Tool::Echo, json!({ "result": { "content": content } })),
            (Tool::Add, json!({ "id": 7, "result": sum })),
            (
                Tool::Add,
                json!({ "id": 7, "result": { "content": [{ "text": "7.5" }] } }),
            ),
            (
                Tool::Blob,
                json!({ "id": 7, "result": { "content": [{ "text": "xx" }] } }),
            ),
        ];
        for (tool, answer) in wrong {
            assert!(checked(&answer, tool).is_err(), "{answer}");
        }
        assert!(check_call(b"{", Tool::Echo).is_err());
        assert!(check_long_echo(br#"{"id":1,"result":{"content":[{"text":"xx"}]}}"#, 1, 3).is_err());
        assert!(check_list(br#"{"id":1,"result":{"tools":[{"name":"echo"}]}}"#, 1).is_err());
        assert!(check_initialized(br#"{"id":1,"result":{"protocolVersion":"1"}}"#, 1).is_err());
    }
}
