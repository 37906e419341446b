//! The tools of `bench-server`: `echo {text}`, `add {a, b}`, `blob {kib}`, `sleep {ms}` and `counts {}`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use trunkline::{Json, NoArguments, Server, State, Tool, ToolError};

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

/// How many tools do something of their own; further ones are there to be many.
pub const MEASURED: usize = 5;

/// A server with that many tools: the first of the [`MEASURED`], or all and further ones, which are as `echo`.
///
/// ```
/// let server = trunkline_bench_server::server(10);
/// assert!(server.check().is_ok());
/// ```
pub fn server(tools: usize) -> Server {
    let server = Server::new("bench", env!("CARGO_PKG_VERSION")).state(Sleeps::default());
    (0..tools).fold(server, |server, number| match number {
        0 => {
            let echo = Tool::new(|ask: Echo| async move { ask.text });
            server.tool("echo", echo.read_only())
        }
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
