//! What the lists of tools that pass through tell about parameters that are mirrored into headers.

use std::collections::HashMap;

use http::{HeaderName, HeaderValue};
use memchr::memmem;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::header::MirroredParams;

/// Tools whose mirrored parameters are remembered; those of further ones are not mirrored.
pub(crate) const MAX_TOOLS: usize = 10_000;

/// The mirrored parameters of tools, by name. Tools that mirror nothing are not in it.
#[derive(Debug, Default)]
pub(crate) struct Mirrors {
    tools: HashMap<String, MirroredParams>,
}

#[derive(Deserialize)]
struct Response<'a> {
    #[serde(borrow)]
    result: Page<'a>,
}

#[derive(Deserialize)]
struct Page<'a> {
    #[serde(borrow)]
    tools: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct Tool<'a> {
    name: String,
    #[serde(rename = "inputSchema", borrow)]
    input_schema: &'a RawValue,
}

impl Mirrors {
    /// Learns from the answer to a `tools/list`. What is wrong with it is for the client to say.
    pub(crate) fn learn(&mut self, answer: &[u8]) {
        let Ok(response) = serde_json::from_slice::<Response<'_>>(answer) else {
            return;
        };
        for tool in response.result.tools {
            let Ok(tool) = serde_json::from_str::<Tool<'_>>(tool.get()) else {
                continue;
            };
            match mirrored(tool.input_schema) {
                Some(mirrored) => {
                    if self.tools.len() < MAX_TOOLS || self.tools.contains_key(&tool.name) {
                        self.tools.insert(tool.name, mirrored);
                    }
                }
                None => drop(self.tools.remove(&tool.name)),
            }
        }
    }

    /// The headers for a call.
    pub(crate) fn values(&self, tool: &str, arguments: Option<&RawValue>) -> Vec<(HeaderName, HeaderValue)> {
        let Some(mirrored) = self.tools.get(tool) else {
            return Vec::new();
        };
        let arguments = arguments.and_then(|arguments| serde_json::from_str::<Value>(arguments.get()).ok());
        arguments.map_or_else(Vec::new, |arguments| mirrored.values(&arguments))
    }
}

/// A schema that does not even hold the word, as most do not, is not read.
fn mirrored(schema: &RawValue) -> Option<MirroredParams> {
    memmem::find(schema.get().as_bytes(), b"x-mcp-header")?;
    let schema: Value = serde_json::from_str(schema.get()).ok()?;
    MirroredParams::from_schema(&schema)
        .ok()
        .filter(|mirrored| !mirrored.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn learn(mirrors: &mut Mirrors, tools: Value) {
        mirrors.learn(
            json!({ "jsonrpc": "2.0", "id": 1, "result": { "tools": tools } })
                .to_string()
                .as_bytes(),
        );
    }

    fn values(mirrors: &Mirrors, tool: &str, arguments: Value) -> usize {
        mirrors
            .values(tool, Some(&serde_json::value::to_raw_value(&arguments).unwrap()))
            .len()
    }

    fn tool(name: &str, header: &str) -> Value {
        json!({ "name": name, "inputSchema": { "type": "object", "properties": {
            "region": { "type": "string", "x-mcp-header": header },
        } } })
    }

    #[test]
    fn the_last_definition_counts_and_broken_ones_mirror_nothing() {
        let mut mirrors = Mirrors::default();
        learn(
            &mut mirrors,
            json!([tool("a", "Region"), 5, { "name": "b" }, tool("c", "not a name")]),
        );
        let arguments = json!({ "region": "eu" });
        assert_eq!(values(&mirrors, "a", arguments.clone()), 1);
        assert_eq!(values(&mirrors, "c", arguments.clone()), 0);
        assert_eq!(values(&mirrors, "a", json!({})), 0);
        assert_eq!(mirrors.values("a", None).len(), 0);
        learn(
            &mut mirrors,
            json!([{ "name": "a", "inputSchema": { "type": "object" } }]),
        );
        assert_eq!(values(&mirrors, "a", arguments), 0);
        mirrors.learn(b"not JSON");
        mirrors.learn(br#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""}}"#);
    }

    #[test]
    fn the_number_of_tools_is_bounded() {
        let mut mirrors = Mirrors::default();
        let tools: Vec<Value> = (0..=MAX_TOOLS).map(|n| tool(&n.to_string(), "Region")).collect();
        learn(&mut mirrors, tools.into());
        assert_eq!(mirrors.tools.len(), MAX_TOOLS);
        learn(&mut mirrors, json!([tool("0", "Other")]));
        assert_eq!(values(&mirrors, "0", json!({ "region": "eu" })), 1);
    }
}
