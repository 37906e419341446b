//! What a store of tasks keeps, and what it does not.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tokio::sync::Notify;
use tokio::time::sleep;
use trunkline::types::{Extra, Task, TaskState};
use trunkline::{
    CallOptions, Client, Context, InMemoryTasks, NoArguments, Server, Started, StoreFuture, TaskStore, TaskStoreError,
    TaskSupport, Tool,
};

use super::{Alive, S, cancel, code_of, connect, get, start_id, until};

fn task(id: &str) -> Task {
    Task {
        task_id: id.to_owned(),
        state: TaskState::Working,
        status_message: None,
        created_at: "2026-11-30T09:05:00Z".to_owned(),
        last_updated_at: "2026-11-30T09:05:00Z".to_owned(),
        ttl_ms: None,
        poll_interval_ms: None,
        meta: Extra::new(),
        extra: Extra::new(),
    }
}

fn completed(id: &str, bytes: usize) -> Task {
    let result = json!({ "content": [], "padding": "x".repeat(bytes) });
    Task {
        state: TaskState::Completed(result.as_object().cloned().unwrap()),
        ..task(id)
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_is_found_by_its_principal_only() {
    let store = InMemoryTasks::new();
    let kept = store.create("ann", task("t")).await.unwrap();
    assert_eq!((kept.ttl_ms, kept.poll_interval_ms), (Some(3_600_000), Some(1000)));
    assert_eq!(store.get("ann", "t").await, Ok(kept));
    for (principal, id) in [("bob", "t"), ("", "t"), ("ann", "u")] {
        assert_eq!(store.get(principal, id).await, Err(TaskStoreError::Unknown));
        let update = store.update(principal, task(id)).await;
        assert_eq!(update, Err(TaskStoreError::Unknown));
    }
    assert!(store.create("bob", task("t")).await.is_err(), "an id is taken once");
}

#[tokio::test(start_paused = true)]
async fn a_terminal_state_is_kept_against_every_update() {
    let store = InMemoryTasks::new();
    store.create("", task("t")).await.unwrap();
    store.update("", completed("t", 10)).await.unwrap();
    for state in [
        TaskState::Working,
        TaskState::Cancelled,
        TaskState::Completed(Extra::new()),
    ] {
        let late = Task { state, ..task("t") };
        assert_eq!(store.update("", late).await, Err(TaskStoreError::Ended));
    }
    assert!(matches!(store.get("", "t").await.unwrap().state, TaskState::Completed(result) if !result.is_empty()));
}

#[tokio::test(start_paused = true)]
async fn so_many_tasks_are_kept_and_not_one_more() {
    let store = InMemoryTasks::new().most_tasks(3).most_tasks_each(2);
    for (principal, id, fits) in [
        ("ann", "1", true),
        ("ann", "2", true),
        ("ann", "3", false),
        ("bob", "4", true),
        ("bob", "5", false),
    ] {
        let created = store.create(principal, task(id)).await;
        assert_eq!(created.is_ok(), fits, "{id}: {created:?}");
        if let Err(error) = created {
            assert!(matches!(error, TaskStoreError::Full(_)));
        }
    }
    assert_eq!(store.len(), 3);
    // What is over makes room, without anybody asking for it.
    sleep(S * 3700).await;
    assert!(store.is_empty());
    assert!(store.create("ann", task("3")).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn so_many_bytes_are_kept_and_not_one_more() {
    const LEAST: usize = 4096;
    let envelope = serde_json::to_vec(&Task {
        ttl_ms: Some(3_600_000),
        poll_interval_ms: Some(1000),
        ..completed("t", 0)
    });
    let envelope = envelope.unwrap().len();
    let store = InMemoryTasks::new().most_bytes(3 * LEAST);
    for id in ["t", "u"] {
        store.create("", task(id)).await.unwrap();
    }
    let filled = |bytes: usize| Task {
        poll_interval_ms: Some(1000),
        ..completed("t", bytes - envelope)
    };
    let over = store.update("", filled(2 * LEAST + 1)).await;
    assert!(matches!(over, Err(TaskStoreError::Full(_))), "{over:?}");
    assert_eq!(
        store.get("", "t").await.unwrap().state,
        TaskState::Working,
        "nothing changed"
    );
    store.update("", filled(2 * LEAST)).await.unwrap();
    let third = store.create("", task("v")).await;
    assert!(matches!(third, Err(TaskStoreError::Full(_))), "{third:?}");
    // A small change always fits.
    let cancelled = Task {
        state: TaskState::Cancelled,
        ..task("u")
    };
    store.update("", cancelled).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn lifetimes_have_a_default_and_a_maximum() {
    let store = InMemoryTasks::new().ttl(S * 10).longest_ttl(S * 20);
    let asks = |id: &str, ttl_ms: Option<u64>| Task { ttl_ms, ..task(id) };
    for (id, wanted, kept) in [
        ("default", None, 10_000),
        ("short", Some(1), 1),
        ("none", Some(0), 1),
        ("most", Some(20_000), 20_000),
        ("more", Some(20_001), 20_000),
        ("ever", Some(u64::MAX), 20_000),
    ] {
        let created = store.create("", asks(id, wanted)).await.unwrap();
        assert_eq!(created.ttl_ms, Some(kept), "{id}");
    }
    // What has ended is kept to the end of its time, and for a minute in any case.
    store
        .update(
            "",
            Task {
                ttl_ms: Some(20_000),
                ..completed("most", 0)
            },
        )
        .await
        .unwrap();
    sleep(Duration::from_millis(59_999)).await;
    assert!(store.get("", "most").await.is_ok());
    sleep(S / 500).await;
    assert_eq!(store.get("", "most").await, Err(TaskStoreError::Unknown));
    let long = InMemoryTasks::new().ttl(S * 1000);
    long.create("", task("t")).await.unwrap();
    long.update("", completed("t", 0)).await.unwrap();
    sleep(Duration::from_millis(999_999)).await;
    assert!(long.get("", "t").await.is_ok(), "not before its time");
    sleep(S / 500).await;
    assert_eq!(long.get("", "t").await, Err(TaskStoreError::Unknown));
}

#[tokio::test(start_paused = true)]
async fn without_room_a_call_is_refused_and_its_handler_never_runs() {
    let alive = Alive::default();
    let server = Server::new("s", "1")
        .tasks(InMemoryTasks::new().most_tasks(1))
        .tool("endless", alive.tool().task(TaskSupport::optional()))
        .tool(
            "on_demand",
            Tool::new(
                |_: NoArguments, context: Context| async move { format!("{:?}", context.continue_as_task().await) },
            )
            .task(TaskSupport::optional().on_demand()),
        );
    let mut client = connect(&server).await;
    let id = start_id(&mut client, "endless", json!({})).await;
    alive.reaches(1).await;
    for tool in ["endless", "on_demand"] {
        let reply = client.request("tools/call", json!({ "name": tool })).await;
        assert_eq!(code_of(&reply), -32603);
        assert!(
            reply["error"]["message"].as_str().unwrap().contains("1 are kept"),
            "{reply}"
        );
    }
    assert_eq!(alive.count(), 1);
    cancel(&mut client, &id).await;
    assert_eq!(get(&mut client, &id).await["status"], "cancelled");
}

#[tokio::test(start_paused = true)]
async fn a_result_without_room_fails_its_task() {
    let tool = Tool::new(|_: NoArguments| async { "x".repeat(10_000) }).task(TaskSupport::optional());
    let server = Server::new("s", "1")
        .tasks(InMemoryTasks::new().most_bytes(10_000))
        .tool("large", tool);
    let mut client = connect(&server).await;
    let id = start_id(&mut client, "large", json!({})).await;
    let failed = until(&mut client, &id, "failed").await;
    assert!(
        failed["error"]["message"].as_str().unwrap().contains("10000 bytes"),
        "{failed}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_long_message_is_cut() {
    let tool = Tool::new(|_: NoArguments, context: Context| async move {
        context.progress(1.0, None, &"가".repeat(1000));
        std::future::pending::<&'static str>().await
    });
    let server = Server::new("s", "1")
        .tasks(InMemoryTasks::new())
        .tool("talk", tool.task(TaskSupport::optional()));
    let mut client = connect(&server).await;
    let id = start_id(&mut client, "talk", json!({})).await;
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    let message = get(&mut client, &id).await["statusMessage"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(message, "가".repeat(341), "at most 1024 bytes, and no half character");
}

/// A store that several processes share, of which another one cancels tasks.
#[derive(Clone, Default)]
pub(super) struct SharedStore(Arc<InMemoryTasks>, Arc<Mutex<Option<TaskStoreError>>>);

impl SharedStore {
    /// Whether it fails from now on.
    pub(super) fn fails(&self, fails: bool) {
        let fault = TaskStoreError::Failed("the disk is full".to_owned());
        *self.1.lock().unwrap() = fails.then_some(fault);
    }

    fn fault<T>(&self) -> Option<StoreFuture<'static, T>>
    where
        T: Send + 'static,
    {
        let fault = self.1.lock().unwrap().clone()?;
        Some(Box::pin(async move { Err(fault) }))
    }
}

impl TaskStore for SharedStore {
    fn create<'a>(&'a self, principal: &'a str, task: Task) -> StoreFuture<'a, Task> {
        self.fault().unwrap_or_else(|| self.0.create(principal, task))
    }

    fn get<'a>(&'a self, principal: &'a str, id: &'a str) -> StoreFuture<'a, Task> {
        self.fault().unwrap_or_else(|| self.0.get(principal, id))
    }

    fn update<'a>(&'a self, principal: &'a str, task: Task) -> StoreFuture<'a, ()> {
        self.fault().unwrap_or_else(|| self.0.update(principal, task))
    }
}

#[tokio::test(start_paused = true)]
async fn processes_that_share_a_store_cancel_each_others_tasks() {
    let store = SharedStore::default();
    let alive = Alive::default();
    let talk = alive.clone();
    let server = || {
        let alive = talk.clone();
        let tool = Tool::new(move |_: NoArguments, context: Context| {
            let one = alive.one();
            async move {
                for n in 0.. {
                    context.progress(f64::from(n), None, &format!("step {n}"));
                    sleep(S).await;
                }
                drop(one);
                "never"
            }
        });
        Server::new("s", "1")
            .tasks(store.clone())
            .tool("talk", tool.task(TaskSupport::optional()))
    };
    let (here, there) = (server(), server());
    let (mut one, mut other) = (connect(&here).await, connect(&there).await);
    let id = start_id(&mut one, "talk", json!({})).await;
    alive.reaches(1).await;
    assert_eq!(get(&mut other, &id).await["status"], "working");
    let elsewhere = json!({ "taskId": id, "inputResponses": {} });
    assert_eq!(
        code_of(&other.request("tasks/update", elsewhere).await),
        -32603,
        "it runs elsewhere"
    );
    cancel(&mut other, &id).await;
    assert_eq!(get(&mut one, &id).await["status"], "cancelled");
    // The process that runs it hears of it when it next writes.
    sleep(S * 2).await;
    alive.reaches(0).await;
    assert_eq!(get(&mut one, &id).await["status"], "cancelled");
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_is_told_of_and_leaves_nothing_running() {
    let store = SharedStore::default();
    let alive = Alive::default();
    let server = Server::new("s", "1")
        .tasks(store.clone())
        .tool("endless", alive.tool().task(TaskSupport::optional()));
    let mut client = connect(&server).await;
    let id = start_id(&mut client, "endless", json!({})).await;
    alive.reaches(1).await;
    store.fails(true);
    for (method, params) in [
        ("tools/call", json!({ "name": "endless" })),
        ("tasks/get", json!({ "taskId": id })),
        ("tasks/cancel", json!({ "taskId": id })),
    ] {
        let reply = client.request(method, params).await;
        assert_eq!(code_of(&reply), -32603, "{method}");
        assert!(reply["error"]["message"].as_str().unwrap().contains("disk"), "{reply}");
    }
    assert_eq!(alive.count(), 1, "what could not be written down did not happen");
    server.end_tasks().await;
    assert_eq!(alive.count(), 0);
    store.fails(false);
    assert_eq!(
        get(&mut client, &id).await["status"],
        "working",
        "nobody could write down its end"
    );
}

/// Polls that fail in a row are apart from each other, the first ones too: what fails may pass.
#[tokio::test(start_paused = true)]
async fn a_client_outlasts_a_store_that_fails_for_a_while() {
    let store = SharedStore::default();
    let server = Server::new("s", "1").tasks(store.clone()).tool(
        "quick",
        Tool::new(|_: NoArguments| async { "done" }).task(TaskSupport::optional()),
    );
    let client = Client::in_memory(&server).connect().await.unwrap();
    let started = client.start_call("quick", Extra::new(), CallOptions::default()).await;
    let Started::Task(task) = started.unwrap() else {
        panic!("it is a task")
    };
    sleep(S).await;
    store.fails(true);
    let following = tokio::spawn(async move { task.result(S * 60).await });
    sleep(S * 3 / 2).await;
    store.fails(false);
    assert_eq!(following.await.unwrap().unwrap().text(), "done");
}

/// A store with a fault of its own: it takes new tasks and panics over every change.
#[derive(Default)]
struct Panicking(InMemoryTasks);

impl TaskStore for Panicking {
    fn create<'a>(&'a self, principal: &'a str, task: Task) -> StoreFuture<'a, Task> {
        self.0.create(principal, task)
    }

    fn get<'a>(&'a self, principal: &'a str, id: &'a str) -> StoreFuture<'a, Task> {
        self.0.get(principal, id)
    }

    fn update<'a>(&'a self, _: &'a str, _: Task) -> StoreFuture<'a, ()> {
        panic!("a fault of the store's")
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_panics_leaves_nothing_behind() {
    let server = Server::new("s", "1").tasks(Panicking::default()).tool(
        "quick",
        Tool::new(|_: NoArguments| async { "done" }).task(TaskSupport::optional()),
    );
    let mut client = connect(&server).await;
    let id = start_id(&mut client, "quick", json!({})).await;
    sleep(S).await;
    let reply = client.request("tasks/cancel", json!({ "taskId": id })).await;
    assert_eq!(code_of(&reply), -32603, "{reply}");
    let before = tokio::time::Instant::now();
    server.end_tasks().await;
    assert_eq!(before.elapsed(), Duration::ZERO, "nothing is left to wait for");
}

/// A store that takes its time.
#[derive(Clone)]
struct Slow {
    store: Arc<InMemoryTasks>,
    entered: Arc<Notify>,
    go: Arc<Notify>,
}

impl TaskStore for Slow {
    fn create<'a>(&'a self, principal: &'a str, task: Task) -> StoreFuture<'a, Task> {
        Box::pin(async move {
            let created = self.store.create(principal, task).await;
            self.entered.notify_one();
            self.go.notified().await;
            created
        })
    }

    fn get<'a>(&'a self, principal: &'a str, id: &'a str) -> StoreFuture<'a, Task> {
        self.store.get(principal, id)
    }

    fn update<'a>(&'a self, principal: &'a str, task: Task) -> StoreFuture<'a, ()> {
        self.store.update(principal, task)
    }
}

/// A store that stops answering.
#[derive(Clone, Default)]
struct Hanging(Arc<InMemoryTasks>, Arc<AtomicBool>);

impl Hanging {
    fn hang(&self, hangs: bool) {
        self.1.store(hangs, Ordering::SeqCst);
    }

    async fn pass(&self) {
        if self.1.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
    }
}

impl TaskStore for Hanging {
    fn create<'a>(&'a self, principal: &'a str, task: Task) -> StoreFuture<'a, Task> {
        Box::pin(async move {
            self.pass().await;
            self.0.create(principal, task).await
        })
    }

    fn get<'a>(&'a self, principal: &'a str, id: &'a str) -> StoreFuture<'a, Task> {
        Box::pin(async move {
            self.pass().await;
            self.0.get(principal, id).await
        })
    }

    fn update<'a>(&'a self, principal: &'a str, task: Task) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            self.pass().await;
            self.0.update(principal, task).await
        })
    }
}

/// Every request has its answer, and a task does not wait for its store for ever.
#[tokio::test(start_paused = true)]
async fn a_store_that_hangs_is_waited_for_so_long_and_no_longer() {
    let (store, alive) = (Hanging::default(), Alive::default());
    let server = Server::new("s", "1")
        .tasks(store.clone())
        .tool("endless", alive.tool().task(TaskSupport::optional().ttl(S * 60)));
    let mut client = connect(&server).await;
    let id = start_id(&mut client, "endless", json!({})).await;
    alive.reaches(1).await;
    store.hang(true);
    let before = tokio::time::Instant::now();
    for (method, params) in [
        ("tools/call", json!({ "name": "endless" })),
        ("tasks/get", json!({ "taskId": id })),
        ("tasks/cancel", json!({ "taskId": id })),
    ] {
        let reply = client.request(method, params).await;
        assert_eq!(code_of(&reply), -32603, "{method}");
        let message = reply["error"]["message"].as_str().unwrap();
        assert!(message.contains("within 10 s"), "{message}");
    }
    assert_eq!(before.elapsed().as_secs(), 30, "ten seconds each");
    sleep(S * 60).await;
    alive.reaches(0).await;
}

/// The call was given up while its task was being written down: nobody could ever ask for it.
#[tokio::test(start_paused = true)]
async fn a_cancelled_call_leaves_no_task_running() {
    let slow = Slow {
        store: Arc::default(),
        entered: Arc::default(),
        go: Arc::default(),
    };
    let alive = Alive::default();
    let server = Server::new("s", "1")
        .tasks(slow.clone())
        .tool("endless", alive.tool().task(TaskSupport::optional()));
    let mut client = connect(&server).await;
    let id = client.start("tools/call", json!({ "name": "endless" })).await;
    slow.entered.notified().await;
    client
        .send(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }))
        .await;
    assert!(client.request("server/discover", json!({})).await["result"].is_object());
    slow.go.notify_one();
    server.end_tasks().await;
    assert_eq!((slow.store.len(), alive.count()), (1, 0));
}
