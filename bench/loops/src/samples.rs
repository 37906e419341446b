//! What the loops work on: messages as they are in real life, and a server that answers them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use trunkline::types::Revision;
use trunkline::{Json, Server, Tool};

/// One mebibyte.
pub(crate) const MIB: usize = 1 << 20;

/// How much a pipe or a socket often brings at once.
pub(crate) const PIECE: usize = 4 << 10;

/// A call as a client of the newest revision sends it.
pub(crate) fn modern_request(method: &str, mut params: Value) -> Vec<u8> {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": Revision::LATEST.name(),
        "io.modelcontextprotocol/clientInfo": { "name": "bench-loops", "version": "1.0.0" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    legacy_request(method, params)
}

/// A call as a client of an older revision sends it.
pub(crate) fn legacy_request(method: &str, params: Value) -> Vec<u8> {
    serde_json::to_vec(&json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params })).unwrap()
}

/// A call of `echo` with so many bytes of text.
pub(crate) fn echo_request(bytes: usize) -> Vec<u8> {
    modern_request(
        "tools/call",
        json!({ "name": "echo", "arguments": { "text": "x".repeat(bytes) } }),
    )
}

/// A result of so many bytes of text, as JSON.
pub(crate) fn text_result(bytes: usize) -> String {
    json!({ "resultType": "complete", "content": [{ "type": "text", "text": "x".repeat(bytes) }] }).to_string()
}

/// The weather of the next days in a city.
#[derive(Deserialize, JsonSchema)]
struct GetForecast {
    /// City name or postal code.
    city: String,
    /// How many days.
    #[schemars(range(min = 1, max = 14))]
    days: u32,
    unit: Unit,
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Unit {
    Celsius,
    Fahrenheit,
}

#[derive(Serialize, JsonSchema)]
struct Forecast {
    city: String,
    unit: Unit,
    days: Vec<Day>,
}

#[derive(Serialize, JsonSchema)]
struct Day {
    number: u32,
    high: f64,
    low: f64,
    sky: &'static str,
}

fn forecast(ask: GetForecast) -> Forecast {
    let day = |number| Day {
        number,
        high: 21.5,
        low: 12.0,
        sky: "partly cloudy",
    };
    Forecast {
        city: ask.city,
        unit: ask.unit,
        days: (1..=ask.days).map(day).collect(),
    }
}

/// The name of the tool that the gate's loops call.
pub(crate) const TOOL: &str = "get_forecast";

/// Arguments for [`TOOL`].
pub(crate) fn arguments() -> Value {
    json!({ "city": "Seoul", "days": 3, "unit": "celsius" })
}

/// What [`TOOL`] answers to [`arguments`].
pub(crate) fn answer() -> Value {
    serde_json::to_value(forecast(serde_json::from_value(arguments()).unwrap())).unwrap()
}

/// A server with [`TOOL`] and the tools of `bench-server`, `tools` together; with `echo` and `add` from three on.
pub(crate) fn server(tools: usize) -> Server {
    let forecast = Tool::new(|ask: GetForecast| async move { Json(forecast(ask)) });
    trunkline_bench_server::server(tools.saturating_sub(1))
        .page_size(tools)
        .tool(TOOL, forecast.read_only())
}
