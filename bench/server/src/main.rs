//! The server that benchmarks and fault tests drive: `bench-server stdio`, `bench-server http PORT`.
//!
//! With `--tools N` it has that many. With `--max-message MIB` it takes messages up to that size.

use std::process::ExitCode;

use trunkline::transport::{Limits, stdio_with};
use trunkline::{HttpListener, HttpOptions, ServeError, Server};
use trunkline_bench_server::{MEASURED, server};

/// The most that `--tools` takes.
const MOST_TOOLS: usize = 100_000;

/// What the command line asks for beside the transport.
struct Options {
    tools: usize,
    max_message: usize,
}

impl Options {
    fn read(words: &[&str]) -> Option<Self> {
        let mut options = Self {
            tools: MEASURED,
            max_message: Limits::default().max_message,
        };
        for pair in words.chunks(2) {
            match *pair {
                ["--tools", count] => {
                    options.tools = count.parse().ok().filter(|count| (1..=MOST_TOOLS).contains(count))?;
                }
                ["--max-message", mib] => {
                    options.max_message = mib.parse::<usize>().ok().filter(|mib| (1..=1024).contains(mib))? << 20;
                }
                _ => return None,
            }
        }
        Some(options)
    }
}

const USAGE: &str = "usage: bench-server stdio [OPTION…], or bench-server http PORT [OPTION…]; \
    options are --tools N and --max-message MIB";

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (port, rest) = match arguments[..] {
        ["stdio", ref rest @ ..] => (None, rest),
        ["http", port, ref rest @ ..] => match port.parse::<u16>() {
            Ok(port) => (Some(port), rest),
            Err(_) => return fail("the port is a number up to 65535"),
        },
        _ => return fail(USAGE),
    };
    let Some(options) = Options::read(rest) else {
        return fail(USAGE);
    };
    let server = server(options.tools);
    let served = match port {
        None => serve_stdio(&server, options.max_message).await,
        Some(port) => serve_http(&server, port, options.max_message).await,
    };
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error.to_string()),
    }
}

async fn serve_stdio(server: &Server, max_message: usize) -> Result<(), ServeError> {
    let limits = Limits::default().with_max_message(max_message);
    server.serve(stdio_with(limits)?).await
}

async fn serve_http(server: &Server, port: u16, max_message: usize) -> Result<(), ServeError> {
    let endpoint = server.http(HttpOptions::default().with_max_message(max_message))?;
    let listener = HttpListener::bind(("127.0.0.1", port))
        .await
        .map_err(ServeError::Listen)?;
    listener.serve(endpoint, std::future::pending()).await;
    Ok(())
}

#[expect(clippy::print_stderr, reason = "the last words of a process; stdout stays clean")]
fn fail(why: &str) -> ExitCode {
    eprintln!("bench-server: {why}");
    ExitCode::FAILURE
}
