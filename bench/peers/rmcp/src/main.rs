//! The measured tools on rmcp, the official SDK.
//!
//! - `peer-rmcp stdio`
//! - `peer-rmcp http PORT`: as the SDK is by default, with `TCP_NODELAY` on accepted sockets: without it each answer of a
//!   kept connection waits some 40 ms for the client's delayed acknowledgement, and nothing else would be measured.
//! - `peer-rmcp http PORT json`: the same, without sessions and with plain JSON answers.

use std::error::Error;
use std::sync::Arc;

use axum::Router;
use axum::serve::ListenerExt as _;
use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{Json, ServerHandler, ServiceExt as _, tool, tool_handler, tool_router};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
struct Echo {
    text: String,
}

#[derive(Deserialize, JsonSchema)]
struct Add {
    a: f64,
    b: f64,
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    sum: f64,
}

#[derive(Deserialize, JsonSchema)]
struct Blob {
    kib: usize,
}

#[derive(Clone)]
struct Tools {
    router: ToolRouter<Self>,
}

#[tool_router(router = router)]
impl Tools {
    #[tool(description = "Returns the text it is given")]
    async fn echo(&self, Parameters(ask): Parameters<Echo>) -> String {
        ask.text
    }

    #[tool(description = "Adds two numbers")]
    async fn add(&self, Parameters(ask): Parameters<Add>) -> Json<Sum> {
        Json(Sum { sum: ask.a + ask.b })
    }

    #[tool(description = "Returns a text of that many KiB")]
    async fn blob(&self, Parameters(ask): Parameters<Blob>) -> String {
        "x".repeat(ask.kib * 1024)
    }
}

#[tool_handler(router = self.router)]
impl ServerHandler for Tools {}

impl Tools {
    fn new() -> Self {
        Self { router: Self::router() }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let by_default = StreamableHttpServerConfig::default();
    match arguments[..] {
        ["stdio"] => {
            Tools::new().serve(rmcp::transport::stdio()).await?.waiting().await?;
            Ok(())
        }
        ["http", port] => serve_http(port, by_default).await,
        ["http", port, "json"] => {
            let json = by_default.with_legacy_session_mode(false).with_json_response(true);
            serve_http(port, json).await
        }
        _ => Err("usage: peer-rmcp stdio, or peer-rmcp http PORT [json]".into()),
    }
}

async fn serve_http(port: &str, config: StreamableHttpServerConfig) -> Result<(), Box<dyn Error>> {
    let sessions = Arc::new(LocalSessionManager::default());
    let service = StreamableHttpService::new(|| Ok(Tools::new()), sessions, config);
    let listener = tokio::net::TcpListener::bind(format!("127.0.0.1:{port}")).await?;
    let listener = listener.tap_io(|socket| drop(socket.set_nodelay(true)));
    axum::serve(listener, Router::new().nest_service("/mcp", service)).await?;
    Ok(())
}
