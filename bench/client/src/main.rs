//! The client that benchmarks drive: `bench-client SECONDS stdio CMD ARGS…`, `bench-client SECONDS http URL`,
//! `bench-client many N stdio CMD ARGS…`, `bench-client many N http URL`.
//!
//! The first two call `echo` one call after another and print what a call cost, as one line of JSON. The other two
//! connect to a number of servers, first to a few one after another and then to all at once. With `--threads` in
//! front the runtime has several threads. `500x` in the place of the seconds makes 500 calls and no more before them
//! than a quarter, for counting instructions.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::JoinSet;
use trunkline::transport::Command;
use trunkline::{Client, Connector};

/// Connected one after another, to know what a single one takes.
const SINGLES: u32 = 15;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Where a server is.
enum Target {
    Program(Command),
    Address(String),
}

impl Target {
    fn read(arguments: &[String]) -> Option<Self> {
        match arguments {
            [kind, program, rest @ ..] if kind == "stdio" => {
                Some(Self::Program(Command::new(program.clone()).args(rest.iter().cloned())))
            }
            [kind, url] if kind == "http" => Some(Self::Address(url.clone())),
            _ => None,
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Program(_) => "stdio",
            Self::Address(_) => "http",
        }
    }

    fn connector(&self) -> Connector {
        match self {
            Self::Program(command) => Client::command(command.clone()),
            Self::Address(url) => Client::http(url),
        }
    }
}

/// How long calls are made.
#[derive(Clone, Copy)]
enum Length {
    Time(Duration),
    Calls(u32),
}

impl Length {
    fn read(text: &str) -> Option<Self> {
        match text.strip_suffix('x') {
            Some(calls) => Some(Self::Calls(calls.parse().ok()?)),
            None => Some(Self::Time(Duration::try_from_secs_f64(text.parse().ok()?).ok()?)),
        }
    }

    fn quarter(self) -> Self {
        match self {
            Self::Time(time) => Self::Time(time / 4),
            Self::Calls(calls) => Self::Calls(calls / 4),
        }
    }

    fn is_over(self, start: Instant, done: u32) -> bool {
        match self {
            Self::Time(time) => start.elapsed() >= time,
            Self::Calls(calls) => done >= calls,
        }
    }
}

enum Job {
    Calls(Length, Target),
    Many(u32, Target),
}

impl Job {
    fn read(arguments: &[String]) -> Option<Self> {
        match arguments {
            [many, count, target @ ..] if many == "many" => {
                Some(Self::Many(count.parse().ok()?, Target::read(target)?))
            }
            [length, target @ ..] => Some(Self::Calls(Length::read(length)?, Target::read(target)?)),
            [] => None,
        }
    }

    async fn run(self) -> Result<Value, Failure> {
        match self {
            Self::Calls(length, target) => calls(length, &target).await,
            Self::Many(count, target) => many(count, Arc::new(target)).await,
        }
    }
}

/// Calls one after another, a quarter of the time before it counts.
async fn calls(length: Length, target: &Target) -> Result<Value, Failure> {
    let client = target.connector().connect().await?;
    let mut number = 0_u32;
    call(&client, &mut number, length.quarter()).await?;
    let (before, cpu, start) = (number, cpu_time()?, Instant::now());
    call(&client, &mut number, length).await?;
    let (took, used) = (start.elapsed(), cpu_time()?.saturating_sub(cpu));
    client.close().await;
    let done = f64::from(number - before);
    Ok(json!({
        "client": "ours",
        "transport": target.name(),
        "calls_per_s": done / took.as_secs_f64(),
        "cpu_us": used.as_secs_f64() * 1e6 / done,
    }))
}

async fn call(client: &Client, number: &mut u32, length: Length) -> Result<(), Failure> {
    let (start, before) = (Instant::now(), *number);
    // At least one, however short the time is.
    loop {
        *number += 1;
        let text = format!("request {number}: a short text, as tools get");
        let answer = client.call("echo", &json!({ "text": text })).await?;
        if answer.failed() || answer.text() != text {
            return Err(format!("a wrong answer to {text:?}: {answer:?}").into());
        }
        if length.is_over(start, *number - before) {
            return Ok(());
        }
    }
}

/// Connects to some servers one after another, and then to all at once.
async fn many(count: u32, target: Arc<Target>) -> Result<Value, Failure> {
    let mut singles = Vec::new();
    // The first one is not counted: it finds out the era, which is remembered.
    for single in 0..=SINGLES {
        let (took, client) = connect(&target).await?;
        client.close().await;
        if single > 0 {
            singles.push(took);
        }
    }
    singles.sort_unstable();
    let (cpu, start) = (cpu_time()?, Instant::now());
    let mut connecting = JoinSet::new();
    for _ in 0..count {
        let target = Arc::clone(&target);
        connecting.spawn(async move { connect(&target).await });
    }
    let mut clients = Vec::new();
    let mut slowest = Duration::ZERO;
    while let Some(connected) = connecting.join_next().await {
        let (took, client) = connected??;
        slowest = slowest.max(took);
        clients.push(client);
    }
    let (all, used) = (start.elapsed(), cpu_time()?.saturating_sub(cpu));
    let start = Instant::now();
    let mut closing = JoinSet::new();
    for client in clients {
        closing.spawn(client.close());
    }
    closing.join_all().await;
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    Ok(json!({
        "client": "ours",
        "transport": target.name(),
        "servers": count,
        "single_median_ms": singles.get(singles.len() / 2).copied().map(ms),
        "single_slowest_ms": singles.last().copied().map(ms),
        "all_ms": ms(all),
        "slowest_of_all_ms": ms(slowest),
        "cpu_ms": ms(used),
        "close_all_ms": ms(start.elapsed()),
    }))
}

async fn connect(target: &Target) -> Result<(Duration, Client), Failure> {
    let start = Instant::now();
    let client = target.connector().connect().await?;
    Ok((start.elapsed(), client))
}

/// The CPU time of all threads of this process. Linux tells it; elsewhere none is told.
fn cpu_time() -> Result<Duration, Failure> {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else {
        return Ok(Duration::ZERO);
    };
    let mut total = 0;
    for task in tasks {
        // A thread may end meanwhile.
        let Ok(stat) = std::fs::read_to_string(task?.path().join("schedstat")) else {
            continue;
        };
        let nanos = stat.split(' ').next().unwrap_or_default();
        total += nanos.parse::<u64>()?;
    }
    Ok(Duration::from_nanos(total))
}

fn main() -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let threads = arguments.first().is_some_and(|first| first == "--threads");
    if threads {
        arguments.remove(0);
    }
    let Some(job) = Job::read(&arguments) else {
        return fail("usage: bench-client [--threads] SECONDS|CALLSx|many N stdio CMD ARGS…|http URL");
    };
    let mut builder = if threads {
        tokio::runtime::Builder::new_multi_thread()
    } else {
        tokio::runtime::Builder::new_current_thread()
    };
    let ran = match builder.enable_all().build() {
        Ok(runtime) => runtime.block_on(job.run()),
        Err(error) => Err(error.into()),
    };
    match ran {
        Ok(told) => tell(&told),
        Err(error) => fail(&error.to_string()),
    }
}

#[expect(clippy::print_stdout, reason = "the one line that this program is for")]
fn tell(told: &Value) -> ExitCode {
    println!("{told}");
    ExitCode::SUCCESS
}

#[expect(clippy::print_stderr, reason = "the last words of a process")]
fn fail(why: &str) -> ExitCode {
    eprintln!("bench-client: {why}");
    ExitCode::FAILURE
}
