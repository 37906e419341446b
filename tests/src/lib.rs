//! The server that the scenarios run against: one of everything that a server can offer.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use trunkline::types::{
    Content, CreateMessageParams, Icon, LogLevel, PromptMessage, Resource, ResourceTemplate, SamplingMessage,
};
use trunkline::{
    Completing, Context, Elicited, InMemoryTasks, Json, NoArguments, Server, State, TaskSupport, Tool, ToolError,
    UriVariables,
};

/// Returns the text it is given.
#[derive(Deserialize, JsonSchema)]
struct Echo {
    /// What to return.
    text: String,
    /// How often, once if left out.
    times: Option<u32>,
}

/// Adds two integers.
#[derive(Deserialize, JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Sum {
    sum: i64,
}

/// The answer to a yes-or-no question.
#[derive(Deserialize, JsonSchema)]
struct Confirm {
    /// Whether to go on.
    confirm: bool,
}

/// The answer to a form with defaults and a choice.
#[derive(Deserialize, Serialize, JsonSchema)]
struct Order {
    /// Which size.
    size: Size,
    /// How many.
    #[serde(default = "one")]
    #[schemars(default = "one")]
    count: u32,
}

fn one() -> u32 {
    1
}

/// A size.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Size {
    Small,
    Large,
}

async fn work(_: NoArguments, context: Context) -> String {
    for step in 1..=3_u32 {
        context.progress(f64::from(step), Some(3.0), "working");
        context.log(LogLevel::Info, json!({ "step": step }));
        context.log(LogLevel::Debug, "a detail");
        tokio::task::yield_now().await;
    }
    // A value that does not grow must not be sent.
    context.progress(2.0, Some(3.0), "backwards");
    "worked".to_owned()
}

async fn confirm(_: NoArguments, context: Context) -> Result<String, ToolError> {
    Ok(match context.elicit_or_not::<Confirm>("Really?").await? {
        Elicited::Accepted(Confirm { confirm: true }) => "confirmed".to_owned(),
        Elicited::Accepted(_) => "not confirmed".to_owned(),
        Elicited::Declined => "declined".to_owned(),
        Elicited::Cancelled => "cancelled".to_owned(),
    })
}

async fn order(_: NoArguments, context: Context) -> Result<Json<Order>, ToolError> {
    let order: Order = context.elicit("What would you like?").await?;
    let sure: Confirm = context.elicit(format!("Order {}?", order.count)).await?;
    if sure.confirm {
        Ok(Json(order))
    } else {
        Err(ToolError::new("nothing was ordered"))
    }
}

async fn visit(_: NoArguments, context: Context) -> Result<String, ToolError> {
    let visited = context
        .elicit_url("Please sign in.", "https://example.com/sign-in")
        .await?;
    Ok(format!("{visited:?}"))
}

async fn sample(_: NoArguments, context: Context) -> Result<String, ToolError> {
    let ask = CreateMessageParams {
        messages: vec![SamplingMessage::user("Say hello.")],
        max_tokens: 10,
        ..CreateMessageParams::default()
    };
    let answer = context.sample(ask).await?;
    Ok(answer.model)
}

async fn roots(_: NoArguments, context: Context) -> Result<String, ToolError> {
    let roots = context.roots().await?;
    Ok(roots.into_iter().map(|root| root.uri).collect::<Vec<_>>().join(","))
}

async fn show(_: NoArguments) -> Vec<Content> {
    vec![
        Content::text("all kinds"),
        Content::image("iVBORw0KGgo=", "image/png"),
        Content::audio("UklGRg==", "audio/wav"),
        Content::link(Resource::new("note://one", "one")),
        Content::resource(trunkline::types::ResourceContents::text(
            "note://one",
            "text/plain",
            "first",
        )),
    ]
}

/// Asks for the list to grow by one tool.
async fn grow(_: NoArguments, server: State<Server>) -> Result<&'static str, ToolError> {
    server
        .add_tool("grown", |_: NoArguments| async { "new" })
        .map_err(ToolError::internal)?;
    server.resource_changed("note://one");
    Ok("grown")
}

/// A server with one of everything.
pub fn scenario_server() -> Server {
    let server = Server::new("scenario", "1.0.0");
    let handle = server.clone();
    let list_schema = json!({ "type": "array", "items": { "type": "integer" } });
    server
        .info(|info| info.title = Some("Scenario".to_owned()))
        .instructions("Use everything once.")
        .page_size(4)
        .list_ttl_ms(60_000)
        .state(handle)
        .tasks(InMemoryTasks::new())
        .tool("echo", |ask: Echo| async move {
            let times = usize::try_from(ask.times.unwrap_or(1)).unwrap_or(1);
            vec![ask.text; times].join(" ")
        })
        .tool(
            "add",
            Tool::new(|ask: Add| async move { Json(Sum { sum: ask.a + ask.b }) })
                .title("Add")
                .read_only(),
        )
        .tool("fail", |_: NoArguments| async {
            Err::<String, _>(ToolError::new("it did not work; try `echo`"))
        })
        .tool("panic", |_: NoArguments| async { panics() })
        .tool("wait", |_: NoArguments| async {
            tokio::time::sleep(Duration::from_secs(3600)).await;
            "waited"
        })
        .tool("work", work)
        .tool("confirm", confirm)
        .tool(
            "errand",
            Tool::new(confirm).task(TaskSupport::optional().poll_interval(Duration::from_millis(100))),
        )
        .tool("order", order)
        .tool("visit", visit)
        .tool("sample", sample)
        .tool("roots", roots)
        .tool(
            "show",
            Tool::new(show).icons(vec![Icon {
                src: "data:,".to_owned(),
                ..Icon::default()
            }]),
        )
        .tool(
            "list",
            Tool::new(|_: NoArguments| async { Json(vec![1, 2, 3]) }).output_schema(list_schema),
        )
        .tool(
            "lie",
            Tool::new(|_: NoArguments| async { Json(json!({ "sum": "text" })) }).output_schema(json!({
                "type": "object", "properties": { "sum": { "type": "integer" } }, "required": ["sum"]
            })),
        )
        .tool(
            "limited",
            Tool::new(|_: NoArguments| async { "ok" }).rate_limit(1, Duration::from_secs(3600)),
        )
        .tool(
            "forbidden",
            Tool::new(|_: NoArguments| async { "never" }).access(|_| Err("not for you".to_owned())),
        )
        .tool("grow", grow)
        .resource(
            Resource {
                mime_type: Some("text/plain".into()),
                ..Resource::new("note://one", "one")
            },
            |_: UriVariables| async { "first" },
        )
        .resource(Resource::new("note://bytes", "bytes"), |_: UriVariables| async {
            vec![0_u8, 1, 2]
        })
        .resource_template(
            ResourceTemplate {
                uri_template: "note://by-number/{n}".into(),
                name: "by number".into(),
                ..ResourceTemplate::default()
            },
            |variables: UriVariables| async move {
                let n: u32 = variables.parse("n")?;
                Ok::<_, trunkline::types::ErrorObject>(format!("note {n}"))
            },
        )
        .prompt("greet", |ask: Greet| async move {
            let times = ask.times.unwrap_or(1);
            vec![
                PromptMessage::user(format!("Greet {} {times} times.", ask.name)),
                PromptMessage::assistant("Hello!"),
            ]
        })
        .complete("greet", "name", |completing: Completing| async move {
            let all = ["Ann", "Anna", "Bob"];
            all.into_iter()
                .filter(|name| name.starts_with(&completing.value))
                .collect::<Vec<_>>()
        })
}

/// Greets somebody.
#[derive(Deserialize, JsonSchema)]
struct Greet {
    /// Whom.
    name: String,
    /// How often.
    times: Option<u32>,
}

#[expect(clippy::panic, reason = "a handler that panics is what the scenario is about")]
fn panics() -> String {
    panic!("this handler panics")
}
