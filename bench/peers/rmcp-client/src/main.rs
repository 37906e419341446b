//! rmcp's client, called as `bench-client` is: `peer-rmcp-client SECONDS stdio COMMAND [ARGUMENT…]`, or
//! `peer-rmcp-client SECONDS http URL`. It calls `echo` one call after another, checks each answer, and prints
//! one line of JSON.

use std::error::Error;
use std::io::Write as _;
use std::time::{Duration, Instant};

use rmcp::model::CallToolRequestParams;
use rmcp::service::RunningService;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{RoleClient, ServiceExt as _};
use serde_json::json;
use tokio::process::Command;

type Failure = Box<dyn Error>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (seconds, transport, client) = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [seconds, "stdio", program, ref rest @ ..] => {
            let mut command = Command::new(program);
            command.args(rest);
            (seconds, "stdio", ().serve(TokioChildProcess::new(command)?).await?)
        }
        [seconds, "http", url] => {
            let transport = StreamableHttpClientTransport::from_uri(url.to_owned());
            (seconds, "http", ().serve(transport).await?)
        }
        _ => return Err("usage: peer-rmcp-client SECONDS stdio COMMAND [ARGUMENT…], or SECONDS http URL".into()),
    };
    let time = Duration::from_secs_f64(seconds.parse()?);
    let mut next = 0;
    measure(&client, time / 4, &mut next).await?;
    let (calls_per_s, cpu_us) = measure(&client, time, &mut next).await?;
    client.cancel().await?;
    let line = json!({ "client": "rmcp", "transport": transport, "calls_per_s": calls_per_s, "cpu_us": cpu_us });
    writeln!(std::io::stdout(), "{line}")?;
    Ok(())
}

/// Calls for `time`. Calls a second, and this process's own CPU time for each, in microseconds.
async fn measure(
    client: &RunningService<RoleClient, ()>,
    time: Duration,
    next: &mut u32,
) -> Result<(f64, f64), Failure> {
    let (start, cpu, first) = (Instant::now(), cpu_us()?, *next);
    while start.elapsed() < time {
        *next += 1;
        let text = format!("call {next}: about as much as a tool is told");
        let arguments = [("text".to_owned(), text.clone().into())].into_iter().collect();
        let call = CallToolRequestParams::new("echo").with_arguments(arguments);
        let result = client.call_tool(call).await?;
        let answer = serde_json::to_value(&result.content)?;
        if answer[0]["text"] != *text {
            return Err(format!("wrong answer to {text:?}: {answer}").into());
        }
    }
    let calls = f64::from(*next - first);
    Ok((calls / start.elapsed().as_secs_f64(), (cpu_us()? - cpu) / calls))
}

/// The CPU time of all threads of this process.
fn cpu_us() -> Result<f64, Failure> {
    let mut sum = 0.0;
    for task in std::fs::read_dir("/proc/self/task")? {
        let times = std::fs::read_to_string(task?.path().join("schedstat"))?;
        let on_cpu = times.split(' ').next().unwrap_or_default();
        sum += on_cpu.parse::<f64>()? / 1000.0;
    }
    Ok(sum)
}
