//! The server under test: tools that a test leads by the hand, behind a listener on a port of its own.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::JoinHandle;
use trunkline_server::{
    Context, HttpEndpoint, HttpListener, HttpOptions, NoArguments, Server, State, Tool, ToolError, UriVariables,
};
use trunkline_types::{CreateMessageParams, ErrorObject, LogLevel, Resource};

use crate::events::Events;
use crate::wire::{Answer, Connection, Request, within};

/// What a puppet is told to do next.
#[derive(Debug)]
pub(crate) enum Order {
    Progress(f64),
    Log(String),
    Release(Duration),
    Finish(String),
    Fail(ErrorObject),
}

/// How a handler came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Finished,
    Dropped,
}

/// A running handler that does what it is told.
#[derive(Debug)]
pub(crate) struct Puppet {
    orders: mpsc::UnboundedSender<Order>,
    end: oneshot::Receiver<End>,
}

impl Puppet {
    /// Has it do something.
    pub(crate) fn tell(&self, order: Order) {
        self.orders.send(order).expect("the handler is gone");
    }

    /// Has it do something if it is still there. Whether it is.
    pub(crate) fn try_tell(&self, order: Order) -> bool {
        self.orders.send(order).is_ok()
    }

    pub(crate) fn finish(&self, text: &str) {
        self.tell(Order::Finish(text.into()));
    }

    /// Waits for its end.
    pub(crate) async fn end(self) -> End {
        within("the end of a handler", self.end).await.unwrap()
    }

    /// Waits for its end as long as it takes.
    pub(crate) async fn patient_end(self) -> End {
        self.end.await.unwrap()
    }
}

/// Where handlers and tests meet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stage(Arc<Meeting>);

#[derive(Debug, Default)]
struct Meeting {
    puppets: Mutex<HashMap<String, Vec<Puppet>>>,
    changed: Notify,
}

impl Stage {
    /// Waits until a handler of this name runs. Each is given out once, the oldest first.
    pub(crate) async fn puppet(&self, name: &str) -> Puppet {
        let find = async {
            loop {
                let changed = self.0.changed.notified();
                let mut puppets = self.0.puppets.lock().unwrap().remove(name).unwrap_or_default();
                if !puppets.is_empty() {
                    let first = puppets.remove(0);
                    self.0.puppets.lock().unwrap().insert(name.to_owned(), puppets);
                    return first;
                }
                changed.await;
            }
        };
        within(&format!("the handler {name}"), find).await
    }

    fn enter(&self, name: String) -> (mpsc::UnboundedReceiver<Order>, Ending) {
        let (orders, taken) = mpsc::unbounded_channel();
        let (end, ended) = oneshot::channel();
        let puppet = Puppet { orders, end: ended };
        self.0.puppets.lock().unwrap().entry(name).or_default().push(puppet);
        self.0.changed.notify_waiters();
        (taken, Ending(Some(end)))
    }
}

/// Tells how a handler came to its end.
struct Ending(Option<oneshot::Sender<End>>);

impl Ending {
    fn tell(&mut self, end: End) {
        if let Some(ended) = self.0.take() {
            let _ = ended.send(end);
        }
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.tell(End::Dropped);
    }
}

/// Does what the test says.
#[derive(Deserialize, JsonSchema)]
struct Named {
    name: String,
}

async fn puppet(ask: Named, stage: State<Stage>, ctx: Context) -> Result<String, ToolError> {
    let (mut orders, mut ending) = stage.enter(ask.name);
    loop {
        match orders.recv().await {
            Some(Order::Progress(value)) => ctx.progress(value, None, ""),
            Some(Order::Log(text)) => ctx.log(LogLevel::Error, text),
            Some(Order::Release(retry)) => ctx.release_stream(retry),
            Some(Order::Finish(text)) => {
                ending.tell(End::Finished);
                return Ok(text);
            }
            Some(Order::Fail(error)) => {
                ending.tell(End::Finished);
                return Err(ToolError::protocol(error));
            }
            // The test lost interest.
            None => std::future::pending().await,
        }
    }
}

/// Says a text back at once.
#[derive(Deserialize, JsonSchema)]
struct Echo {
    text: String,
}

async fn echo(ask: Echo) -> String {
    ask.text
}

/// Says much, and then that it is done.
#[derive(Deserialize, JsonSchema)]
struct Burst {
    notices: u32,
    bytes: usize,
}

async fn burst(ask: Burst, ctx: Context) -> String {
    for number in 0..ask.notices {
        ctx.progress(number.into(), None, "");
        ctx.log(LogLevel::Error, "x".repeat(ask.bytes));
    }
    "done".to_owned()
}

/// Answers with so many bytes.
#[derive(Deserialize, JsonSchema)]
struct Big {
    bytes: usize,
}

async fn big(ask: Big) -> String {
    "x".repeat(ask.bytes)
}

#[derive(Deserialize, JsonSchema)]
struct Confirm {
    yes: bool,
}

async fn confirm(ask: Named, stage: State<Stage>, ctx: Context) -> Result<String, ToolError> {
    // Seen by the test each time that the handler starts.
    let (_, mut ending) = stage.enter(ask.name.clone());
    let answer: Confirm = ctx.elicit(format!("Is it you, {}?", ask.name)).await?;
    ending.tell(End::Finished);
    Ok(format!("{}: {}", ask.name, answer.yes))
}

async fn think(_: NoArguments, ctx: Context) -> Result<String, ToolError> {
    ctx.sample(CreateMessageParams::default()).await?;
    Ok("thought".to_owned())
}

async fn refuse(_: NoArguments) -> Result<String, ToolError> {
    Err(ToolError::protocol(ErrorObject::invalid_params("not like this")))
}

async fn stumble(_: NoArguments) -> String {
    panic!("on purpose")
}

async fn whoami(_: NoArguments, ctx: Context) -> String {
    format!("{:?}", ctx.principal())
}

/// The server of all tests.
pub(crate) fn server(stage: Stage) -> Server {
    let mirrored = json!({
        "type": "object",
        "properties": {
            "text": { "type": "string", "x-mcp-header": "Text" },
            "count": { "type": "integer", "x-mcp-header": "Count" },
            "flag": { "type": "boolean", "x-mcp-header": "Flag" },
        },
    });
    Server::new("stage", "1.0.0")
        .state(stage)
        .list_ttl_ms(5000)
        .tool("puppet", puppet)
        .tool("echo", echo)
        .tool("burst", burst)
        .tool("big", big)
        .tool("confirm", confirm)
        .tool("think", think)
        .tool("refuse", refuse)
        .tool("stumble", stumble)
        .tool("whoami", whoami)
        .tool(
            "mirror",
            Tool::from_schema(mirrored, |given: Value| async move { given.to_string() }),
        )
        .resource(Resource::new("stage://Grüße", "notes"), |_: UriVariables| async {
            "hello"
        })
        .prompt("greet", |_: NoArguments| async { "Say hello.".to_owned() })
}

/// The server, served.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    pub(crate) server: Server,
    pub(crate) stage: Stage,
    pub(crate) endpoint: HttpEndpoint,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<()>,
}

impl Served {
    pub(crate) async fn start() -> Self {
        Self::with(HttpOptions::default()).await
    }

    pub(crate) async fn with(options: HttpOptions) -> Self {
        let stage = Stage::default();
        Self::over(server(stage.clone()), stage, options).await
    }

    pub(crate) async fn over(server: Server, stage: Stage, options: HttpOptions) -> Self {
        Self::listen(server, stage, options, |listener| listener).await
    }

    pub(crate) async fn listen(
        server: Server,
        stage: Stage,
        options: HttpOptions,
        shape: impl FnOnce(HttpListener) -> HttpListener,
    ) -> Self {
        let endpoint = server.http(options).unwrap();
        let socket = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = socket.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let listener = shape(HttpListener::over(socket));
        let serving = tokio::spawn(listener.serve(endpoint.clone(), async {
            let _ = stopped.await;
        }));
        Self {
            address,
            server,
            stage,
            endpoint,
            stop,
            serving,
        }
    }

    pub(crate) async fn connect(&self) -> Connection {
        Connection::open(self.address).await
    }

    /// One request on a connection of its own.
    pub(crate) async fn ask(&self, request: &Request) -> Answer {
        self.connect().await.ask(request).await
    }

    /// One request that is answered by events.
    pub(crate) async fn events(&self, request: &Request) -> Events {
        Events::open(self.connect().await, request).await
    }

    /// Asks it to stop; the task ends when it did.
    pub(crate) fn begin_stop(self) -> JoinHandle<()> {
        let _ = self.stop.send(());
        self.serving
    }

    /// Stops it, and sees to it that nothing is left.
    pub(crate) async fn stop(self) {
        let endpoint = self.endpoint.clone();
        within("the end of the server", self.begin_stop()).await.unwrap();
        assert_eq!(endpoint.sessions(), 0);
    }
}
