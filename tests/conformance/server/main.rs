//! The server that the official conformance suite is run against: everything its scenarios call, written as
//! any user of the library would.
//!
//! It listens on a free port of 127.0.0.1, writes its address as its first line, and ends with its stdin.

mod changes;
mod content;
mod forms;
mod prompts;
mod resources;
mod rounds;
mod schemas;
mod streams;
mod tasks;

use std::error::Error;
use std::io::Write;

use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;
use trunkline::Server;

fn server() -> Server {
    let server = Server::new("trunkline-conformance", env!("CARGO_PKG_VERSION"));
    let parts = [
        content::register,
        resources::register,
        prompts::register,
        streams::register,
        schemas::register,
        changes::register,
        forms::register,
        rounds::register,
        tasks::register,
    ];
    parts.into_iter().fold(server, |server, register| register(server))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    writeln!(std::io::stdout(), "http://{address}/mcp")?;
    let server = server();
    server.serve_http_until(listener, stdin_ends()).await?;
    server.end_tasks().await;
    Ok(())
}

async fn stdin_ends() {
    let mut rest = Vec::new();
    // A stdin that cannot be read has ended as well.
    let _ = tokio::io::stdin().read_to_end(&mut rest).await;
}
