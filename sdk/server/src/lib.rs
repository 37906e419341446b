//! Write an MCP server: register tools, resources and prompts, then serve them.
//!
//! A tool is an async function over an argument type. Its description and its schemas come from the
//! types and their doc comments; arguments are checked before it runs, results before they leave. The
//! same handlers serve every revision of the protocol, over every transport.
//!
//! ```no_run
//! use schemars::JsonSchema;
//! use serde::{Deserialize, Serialize};
//! use trunkline_server::{Json, ServeError, Server, ToolError};
//!
//! /// Adds two numbers.
//! #[derive(Deserialize, JsonSchema)]
//! struct Add {
//!     a: f64,
//!     b: f64,
//! }
//!
//! #[derive(Serialize, JsonSchema)]
//! struct Sum {
//!     sum: f64,
//! }
//!
//! async fn add(ask: Add) -> Result<Json<Sum>, ToolError> {
//!     Ok(Json(Sum { sum: ask.a + ask.b }))
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! async fn main() -> Result<(), ServeError> {
//!     Server::new("calculator", "1.0.0").tool("add", add).serve_stdio().await
//! }
//! ```
//!
//! What this crate is not: it never sees a client. HTTP comes with the feature `http`.
//!
//! The types to know first:
//! - [`Server`]: what is registered, and `serve_*`,
//! - [`Tool`]: a handler with title, annotations, rate limit and access check,
//! - [`TaskSupport`] and [`TaskStore`]: calls that go on after their first answer,
//! - [`Context`]: progress, log, and questions to the client, the same in both eras,
//! - [`ToolError`]: what the model reads when a tool fails.

mod attempts;
mod completion;
mod context;
mod dispatch;
mod error;
mod handler;
#[cfg(feature = "http")]
mod http;
mod input;
mod limit;
mod lists;
mod page;
mod panics;
mod prompt;
mod registry;
mod reply;
mod resource;
mod schemas;
mod serve;
mod server;
mod service;
mod spent;
mod task;
mod tool;
mod uri_template;

pub use completion::Completing;
pub use context::Context;
pub use error::{DefinitionError, ServeError, ToolError};
pub use handler::{FromContext, Handler, Missing, NoArguments, State};
pub use input::{Elicited, InputError};
pub use prompt::IntoPrompt;
pub use reply::{IntoToolResult, Json};
pub use resource::{IntoContents, UriVariables};
pub use server::Server;
pub use service::{Reply, RequestService, ServerRequest};
pub use task::{InMemoryTasks, StoreFuture, TaskStore, TaskStoreError, TaskSupport};
pub use tool::{IntoTool, Tool};
/// One HTTP endpoint, what it accepts and keeps, an address to serve it on, and who was authenticated.
#[cfg(feature = "http")]
pub use trunkline_http::server::{
    Endpoint as HttpEndpoint, Listener as HttpListener, Options as HttpOptions, Principal as HttpPrincipal,
};
/// The bounds of one connection, for [`Server::limits`]. Under a name of its own: a transport has limits too.
pub use trunkline_proto::server::Limits as ConnectionLimits;
pub use uri_template::{MAX_URI, TemplateError, UriTemplate};

/// A boxed future, as handlers are kept.
pub(crate) type BoxFuture<T> = std::pin::Pin<Box<dyn Future<Output = T> + Send>>;
