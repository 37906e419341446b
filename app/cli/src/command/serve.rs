//! `serve`: the shipped servers, on standard input and output or over HTTP. Over the former nothing but the protocol
//! goes to standard output.

use tokio::net::TcpListener;
use trunkline::Server;
use trunkline_orders::Orders;
use trunkline_weather::Settings;

use crate::args::{Over, Serve};
use crate::command::signal;
use crate::exit::Exit;
use crate::output::Output;

pub(crate) async fn serve(server: Serve, output: &Output) -> Exit {
    match server {
        Serve::Weather { live, over } => reach(&trunkline_weather::server(Settings { live }), over, output).await,
        Serve::Orders { db, role, over } => {
            let orders = match &db {
                Some(file) => Orders::open(file),
                None => Orders::sample(),
            };
            match orders {
                Ok(orders) => reach(&trunkline_orders::server(orders, role), over, output).await,
                Err(error) => {
                    let file = db.map(|file| format!(" {}", file.display())).unwrap_or_default();
                    output.error(&format!("orders database{file}: {error}"));
                    Exit::Usage
                }
            }
        }
    }
}

async fn reach(server: &Server, over: Over, output: &Output) -> Exit {
    let served = match over.http {
        None => server.serve_stdio().await,
        Some(address) => {
            let socket = match TcpListener::bind(&address).await {
                Ok(socket) => socket,
                Err(error) => {
                    output.error(&format!("{address} cannot be served: {error}; choose another port"));
                    return Exit::Failed;
                }
            };
            let at = socket.local_addr().map_or(address, |at| at.to_string());
            output.note(&format!("serving http://{at}/mcp; ctrl-c ends it"));
            server.serve_http_until(socket, signal()).await
        }
    };
    match served {
        Ok(()) => Exit::Done,
        Err(error) => {
            output.error(&error.to_string());
            Exit::Failed
        }
    }
}
