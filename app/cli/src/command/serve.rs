//! `serve`: the shipped servers on standard input and output. Nothing but the protocol goes to standard output.

use trunkline_orders::Orders;
use trunkline_weather::Settings;

use crate::args::Serve;
use crate::exit::Exit;
use crate::output::Output;

pub(crate) async fn serve(server: Serve, output: &Output) -> Exit {
    let served = match server {
        Serve::Weather { live } => trunkline_weather::server(Settings { live }).serve_stdio().await,
        Serve::Orders { db, role } => {
            let orders = match &db {
                Some(file) => Orders::open(file),
                None => Orders::sample(),
            };
            match orders {
                Ok(orders) => trunkline_orders::server(orders, role).serve_stdio().await,
                Err(error) => {
                    let file = db.map(|file| format!(" {}", file.display())).unwrap_or_default();
                    output.error(&format!("orders database{file}: {error}"));
                    return Exit::Usage;
                }
            }
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
