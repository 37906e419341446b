//! The scenario server: over stdio, or with `--http` on a free port of this machine. Then it writes its address as its
//! first line, and ends with its stdin.

use std::error::Error;
use std::io::Write;

use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;
use trunkline_tests::scenario_server;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    if std::env::args().nth(1).as_deref() != Some("--http") {
        return Ok(scenario_server().serve_stdio().await?);
    }
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    writeln!(std::io::stdout(), "http://{address}/mcp")?;
    let stdin_ends = async {
        // A stdin that cannot be read has ended as well.
        let _ = tokio::io::stdin().read_to_end(&mut Vec::new()).await;
    };
    Ok(scenario_server().serve_http_until(listener, stdin_ends).await?)
}
