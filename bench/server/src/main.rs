//! The server that benchmarks and fault tests drive: `bench-server stdio`, `bench-server http PORT`.
//!
//! Its tools are `echo {text}`, `add {a, b}`, `blob {kib}`, `sleep {ms}` and `counts {}`.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use trunkline::{Json, NoArguments, ServeError, Server, State, Tool, ToolError};

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

fn server() -> Server {
    Server::new("bench", env!("CARGO_PKG_VERSION"))
        .state(Sleeps::default())
        .tool("echo", |ask: Echo| async move { ask.text })
        .tool("add", |ask: Add| async move {
            Ok::<_, ToolError>(Json(Sum { sum: ask.a + ask.b }))
        })
        .tool("blob", |ask: Blob| async move { "x".repeat(ask.kib * 1024) })
        .tool("sleep", sleep)
        .tool(
            "counts",
            Tool::new(counts)
                .description("Counts the sleeps of this process.")
                .read_only(),
        )
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let served: Result<(), ServeError> = match arguments[..] {
        ["stdio"] => server().serve_stdio().await,
        ["http", port] => match port.parse::<u16>() {
            Ok(port) => server().serve_http(("127.0.0.1", port)).await,
            Err(_) => return fail("the port is a number up to 65535"),
        },
        _ => return fail("usage: bench-server stdio, or bench-server http PORT"),
    };
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error.to_string()),
    }
}

#[expect(clippy::print_stderr, reason = "the last words of a process; stdout stays clean")]
fn fail(why: &str) -> ExitCode {
    eprintln!("bench-server: {why}");
    ExitCode::FAILURE
}
