//! Tools whose schemas are what is tested: all of JSON Schema 2020-12, and arguments shown as headers.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use trunkline::{Server, Tool};

pub(crate) fn register(server: Server) -> Server {
    let whole = Tool::from_schema(whole_schema(), |given: Value| async move { given.to_string() })
        .description("Tool with JSON Schema 2020-12 features");
    server
        .tool("json_schema_2020_12_tool", whole)
        .tool("test_x_mcp_header", |ask: Routed| async move {
            format!("{} in {}", ask.query, ask.region)
        })
}

/// Runs a query in a region.
#[derive(Deserialize, JsonSchema)]
struct Routed {
    /// Where it runs; gateways see it in a header.
    #[schemars(extend("x-mcp-header" = "Region"))]
    region: String,
    /// What runs there.
    #[serde(default)]
    query: String,
}

fn whole_schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": { "street": { "type": "string" }, "city": { "type": "string" } }
            }
        },
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" },
            "email": { "type": "string" }
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false
    })
}
