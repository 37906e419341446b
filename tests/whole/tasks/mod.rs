//! Calls that become tasks: the server's side line by line, the client's side against servers of both kinds.

mod bounds;
mod client;
mod http;
mod input;
mod lifecycle;
mod negotiation;
mod notices;
mod polling;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::sleep;
use trunkline::types::ErrorObject;
use trunkline::{Context, Elicited, InMemoryTasks, NoArguments, Server, TaskSupport, Tool, ToolError};
use trunkline_testkit::{LineClient, MODERN};

const TASKS: &str = "io.modelcontextprotocol/tasks";
const S: Duration = Duration::from_secs(1);

/// Greets.
#[derive(Deserialize, JsonSchema)]
struct Greet {
    name: String,
}

/// Computes slowly.
#[derive(Deserialize, JsonSchema)]
struct Compute {
    /// How long.
    seconds: u32,
}

/// Deletes a file.
#[derive(Deserialize, JsonSchema)]
struct Delete {
    filename: String,
}

/// Whether to go on.
#[derive(Deserialize, JsonSchema)]
struct Confirm {
    confirm: bool,
}

/// Who asks.
#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

async fn slow_compute(ask: Compute, context: Context) -> String {
    for second in 0..ask.seconds {
        context.progress(f64::from(second), None, &format!("second {second}"));
        sleep(S).await;
    }
    format!("computed for {} s", ask.seconds)
}

async fn confirm_delete(ask: Delete, context: Context) -> Result<String, ToolError> {
    match context
        .elicit_or_not::<Confirm>(format!("Delete {}?", ask.filename))
        .await?
    {
        Elicited::Accepted(Confirm { confirm: true }) => Ok(format!("deleted {}", ask.filename)),
        _ => Ok("nothing was deleted".to_owned()),
    }
}

async fn multi_input(_: NoArguments, context: Context) -> Result<String, ToolError> {
    let (name, sure) = tokio::join!(
        context.elicit::<Name>("Who are you?"),
        context.elicit::<Confirm>("Are you sure?")
    );
    Ok(format!("{}: {}", name?.name, sure?.confirm))
}

/// Asks first, becomes a task then, and asks once more.
async fn ask_and_go(_: NoArguments, context: Context) -> Result<String, ToolError> {
    let Name { name } = context.elicit("Who are you?").await?;
    if name == "nobody" {
        return Ok("not worth a task".to_owned());
    }
    let is_task = context.continue_as_task().await?;
    sleep(S).await;
    let sure: Confirm = context.elicit(format!("Sure, {name}?")).await?;
    Ok(format!("{name} as a task: {is_task}, sure: {}", sure.confirm))
}

/// A server with one tool for each way in which a task may go.
fn server_with(store: InMemoryTasks) -> Server {
    let optional = TaskSupport::optional();
    Server::new("tasks", "1.0.0")
        .tasks(store)
        .tool("greet", |ask: Greet| async move { format!("Hello, {}!", ask.name) })
        .tool("slow_compute", Tool::new(slow_compute).task(optional))
        .tool(
            "failing_job",
            Tool::new(|_: NoArguments| async {
                sleep(S).await;
                Err::<String, _>(ToolError::new("it did not work"))
            })
            .task(TaskSupport::required()),
        )
        .tool(
            "protocol_error_job",
            Tool::new(|_: NoArguments| async {
                let broken = ErrorObject::new(-32050, "broken").with_data(json!({ "part": "belt" }));
                Err::<String, _>(ToolError::protocol(broken))
            })
            .task(optional),
        )
        .tool(
            "panic_job",
            Tool::new(|_: NoArguments| async {
                sleep(S).await;
                assert!(std::env::args().count() == 0, "a panic");
                "never"
            })
            .task(optional),
        )
        .tool("confirm_delete", Tool::new(confirm_delete).task(optional))
        .tool("multi_input", Tool::new(multi_input).task(optional))
        .tool(
            "ask_and_go",
            Tool::new(ask_and_go).task(TaskSupport::required().on_demand()),
        )
}

fn server() -> Server {
    server_with(InMemoryTasks::new())
}

fn capabilities() -> Value {
    json!({ "elicitation": {}, "extensions": { TASKS: {} } })
}

/// A client that can follow tasks.
async fn connect(server: &Server) -> LineClient {
    LineClient::connect(server, MODERN, capabilities()).await
}

/// Starts a call and returns the first answer, which must be a task.
async fn start(client: &mut LineClient, tool: &str, arguments: Value) -> Value {
    let created = client.call(tool, arguments).await;
    assert_eq!(created["resultType"], "task", "{created}");
    created
}

/// The id of a call that became a task.
async fn start_id(client: &mut LineClient, tool: &str, arguments: Value) -> String {
    start(client, tool, arguments).await["taskId"]
        .as_str()
        .unwrap()
        .to_owned()
}

async fn get(client: &mut LineClient, id: &str) -> Value {
    let reply = client.request("tasks/get", json!({ "taskId": id })).await;
    assert!(reply.get("error").is_none(), "{reply}");
    reply["result"].clone()
}

/// Polls until the task is no longer what it is.
async fn until(client: &mut LineClient, id: &str, status: &str) -> Value {
    for _ in 0..10_000 {
        let task = get(client, id).await;
        if task["status"] == status {
            return task;
        }
        assert!(
            ["working", "input_required"].contains(&task["status"].as_str().unwrap()),
            "it is {task}, not {status}"
        );
        sleep(Duration::from_millis(200)).await;
    }
    panic!("{id} never became {status}");
}

/// Lets others go on, and fails where that goes on for ever: turns of a paused clock take no time that a bound
/// could be put on.
struct Turns(u32);

impl Turns {
    async fn take(&mut self) {
        self.0 += 1;
        assert!(self.0 < 10_000, "what is waited for never comes");
        tokio::task::yield_now().await;
    }
}

/// Checks that an answer is nothing but an acknowledgement.
fn assert_acknowledged(reply: &Value) {
    assert_eq!(reply["result"]["resultType"], "complete", "{reply}");
    for field in ["taskId", "status", "result", "error", "inputRequests", "requestState"] {
        assert!(reply["result"].get(field).is_none(), "{reply}");
    }
}

async fn cancel(client: &mut LineClient, id: &str) {
    assert_acknowledged(&client.request("tasks/cancel", json!({ "taskId": id })).await);
}

async fn update(client: &mut LineClient, id: &str, answers: Value) {
    let params = json!({ "taskId": id, "inputResponses": answers });
    assert_acknowledged(&client.request("tasks/update", params).await);
}

fn accept(content: Value) -> Value {
    json!({ "action": "accept", "content": content })
}

/// The keys of what a task asks.
fn keys(task: &Value) -> Vec<String> {
    task["inputRequests"].as_object().unwrap().keys().cloned().collect()
}

fn code_of(reply: &Value) -> i64 {
    reply["error"]["code"].as_i64().unwrap_or_else(|| panic!("{reply}"))
}

/// Counts how many of them live.
#[derive(Default, Clone)]
struct Alive(Arc<AtomicU32>);

struct One(Alive);

impl Alive {
    fn one(&self) -> One {
        self.0.fetch_add(1, Ordering::SeqCst);
        One(self.clone())
    }

    fn count(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }

    /// A tool whose handler lives until it is dropped.
    fn tool(&self) -> Tool {
        let alive = self.clone();
        Tool::new(move |_: NoArguments| {
            let one = alive.one();
            async move {
                std::future::pending::<()>().await;
                drop(one);
                "never"
            }
        })
    }

    /// Waits until so many live.
    async fn reaches(&self, count: u32) {
        for _ in 0..1000 {
            if self.count() == count {
                return;
            }
            tokio::task::yield_now().await;
        }
        panic!("{} live, not {count}", self.count());
    }
}

impl Drop for One {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::SeqCst);
    }
}
