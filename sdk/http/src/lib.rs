//! MCP over HTTP, both ends: Streamable HTTP in both eras, and the HTTP+SSE transport of the first revision
//! ([transports](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http)).
//!
//! What this crate is not: it runs no handler and knows no tool. A server gives it an application to call, a
//! client's driver sends and receives messages over it.

#[cfg(feature = "client")]
pub mod client;
pub mod header;
#[cfg(feature = "server")]
pub mod server;
pub mod sse;
