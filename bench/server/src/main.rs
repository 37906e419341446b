//! The server that benchmarks and fault tests drive: `bench-server stdio`, `bench-server http PORT`.
//!
//! Its tools are `echo {text}`, `add {a, b}`, `blob {kib}`, `sleep {ms}` and `counts {}`. With `--tools N` it has that
//! many: the first of these, or all and further ones. With `--max-message MIB` it takes messages up to that size.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use trunkline::transport::{Limits, stdio_with};
use trunkline::{HttpListener, HttpOptions, Json, NoArguments, ServeError, Server, State, Tool, ToolError};

/// Returns the text it is given.
#[derive(Deserialize, JsonSchema)]
struct Echo {
    text: String,
}

/// Adds two numbers.
#[derive(Deserialize, JsonSchema)]
struct Add {
    a: f64,
    b: f64,
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    sum: f64,
}

/// Returns a text of that many KiB, at most 65536.
#[derive(Deserialize, JsonSchema)]
struct Blob {
    #[schemars(range(max = 65_536))]
    kib: usize,
}

/// Waits for that many milliseconds.
#[derive(Deserialize, JsonSchema)]
struct Nap {
    ms: u64,
}

/// How many sleeps of this process run, are done, or were cancelled.
#[derive(Default)]
struct Sleeps {
    running: AtomicU64,
    finished: AtomicU64,
    cancelled: AtomicU64,
}

/// One running sleep. Dropped before it is done, it counts as cancelled.
struct Sleeper {
    sleeps: Arc<Sleeps>,
    done: bool,
}

impl Sleeper {
    fn start(sleeps: Arc<Sleeps>) -> Self {
        sleeps.running.fetch_add(1, Ordering::SeqCst);
        Self { sleeps, done: false }
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let end = if self.done {
            &self.sleeps.finished
        } else {
            &self.sleeps.cancelled
        };
        end.fetch_add(1, Ordering::SeqCst);
        self.sleeps.running.fetch_sub(1, Ordering::SeqCst);
    }
}

async fn sleep(nap: Nap, sleeps: State<Sleeps>) -> String {
    let mut sleeper = Sleeper::start(sleeps.into_inner());
    tokio::time::sleep(Duration::from_millis(nap.ms)).await;
    sleeper.done = true;
    format!("slept {} ms", nap.ms)
}

async fn counts(_: NoArguments, sleeps: State<Sleeps>) -> String {
    let read = |count: &AtomicU64| count.load(Ordering::SeqCst);
    let (running, finished, cancelled) = (read(&sleeps.running), read(&sleeps.finished), read(&sleeps.cancelled));
    format!(r#"{{"running":{running},"finished":{finished},"cancelled":{cancelled}}}"#)
}

/// Tools by their number; from `MEASURED` on they are there to be many.
const MEASURED: usize = 5;
/// The most that `--tools` takes.
const MOST_TOOLS: usize = 100_000;

fn server(tools: usize) -> Server {
    let server = Server::new("bench", env!("CARGO_PKG_VERSION")).state(Sleeps::default());
    (0..tools).fold(server, |server, number| match number {
        0 => server.tool("echo", |ask: Echo| async move { ask.text }),
        1 => server.tool("add", |ask: Add| async move {
            Ok::<_, ToolError>(Json(Sum { sum: ask.a + ask.b }))
        }),
        2 => server.tool("blob", |ask: Blob| async move { "x".repeat(ask.kib * 1024) }),
        3 => server.tool("sleep", sleep),
        4 => {
            let counts = Tool::new(counts).description("Counts the sleeps of this process.");
            server.tool("counts", counts.read_only())
        }
        further => server.tool(&format!("echo{further:05}"), |ask: Echo| async move { ask.text }),
    })
}

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
