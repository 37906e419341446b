//! The Model Context Protocol in Rust: servers and clients, every revision, one set of handlers.
//!
//! A server is a few registered functions:
//!
//! ```no_run
//! use schemars::JsonSchema;
//! use serde::{Deserialize, Serialize};
//! use trunkline::{Json, ServeError, Server, ToolError};
//!
//! /// Current weather for a city.
//! #[derive(Deserialize, JsonSchema)]
//! struct GetWeather {
//!     /// City name or postal code.
//!     city: String,
//! }
//!
//! #[derive(Serialize, JsonSchema)]
//! struct Weather {
//!     temperature: f64,
//! }
//!
//! async fn get_weather(ask: GetWeather) -> Result<Json<Weather>, ToolError> {
//!     if ask.city == "Seoul" { Ok(Json(Weather { temperature: 21.0 })) } else { Err(ToolError::new("only Seoul is known")) }
//! }
//!
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> Result<(), ServeError> {
//!     Server::new("weather", env!("CARGO_PKG_VERSION")).tool("get_weather", get_weather).serve_stdio().await
//! }
//! ```
//!
//! With the `client` feature, `Client` connects to any server, and to one in the same process for tests.
//!
//! What stands behind this facade:
//! - [`types`]: messages, the table of methods, and what each revision does,
//! - [`proto`]: the state of a connection, without I/O,
//! - [`schema`]: JSON Schema, bounded and never fetched,
//! - [`transport`]: memory, stdio, child processes,
//! - `http`: the HTTP transports, both ends, with the pieces they share,
//! - `trunkline-server` and `trunkline-client`, whose items stand at the root here.

#[cfg(feature = "http")]
pub use trunkline_http as http;
pub use trunkline_proto as proto;
pub use trunkline_schema as schema;
pub use trunkline_transport as transport;
pub use trunkline_types as types;

#[cfg(feature = "client")]
pub use trunkline_client::*;
#[cfg(feature = "server")]
pub use trunkline_server::*;

/// The guides, compiled as tests.
#[cfg(all(doctest, feature = "client", feature = "server"))]
mod guides {
    #[doc = include_str!("../../../docs/write-a-server.md")]
    mod write_a_server {}
    #[doc = include_str!("../../../docs/write-a-client.md")]
    mod write_a_client {}
}
