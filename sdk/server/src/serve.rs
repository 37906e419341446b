//! One connection, driven by one task: read, start handlers, write what is waiting in one go.
//!
//! A handler is polled at once where its request is read; only one that has to wait becomes a task. So a
//! handler that is ready costs no task and no channel, and its answer leaves with those of its neighbours.

use std::collections::{BTreeMap, HashMap};
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, Sleep};
use trunkline_proto::Timeouts;
use trunkline_proto::server::{AskError, AskId, Connection, Incoming, IncomingRequest};
use trunkline_transport::{Received, Transport};
use trunkline_types::{ErrorObject, Method, RequestId};

use crate::context::{NOTICES_HELD, Origin, Outbound, Outlet, Sending};
use crate::panics::{Panicked, caught, panicked};
use crate::registry::{Changes, Shared};
use crate::service::RequestService;
use crate::{BoxFuture, Reply, ServeError, ServerRequest};

/// How long work that was accepted may go on after the client's last word.
const GRACE: Duration = Duration::from_secs(5);
/// How long the last bytes may take on their way out.
const CLOSE: Duration = Duration::from_secs(1);
/// While more than this waits to be written, nothing further is read, notices are dropped, and changes are
/// left to lag.
const HIGH_WATER: usize = 1024 * 1024;
/// How many messages are taken before what they caused is written.
const READ_AT_ONCE: usize = 128;

/// Whoever speaks over a transport of this kind is not authenticated.
const NOBODY: &str = "";

type Asked = oneshot::Sender<Result<Value, AskError>>;

/// Serves until the client is gone, or until `stop`: then nothing more is read, streams are closed, and what
/// runs has its time to finish.
pub(crate) async fn run(
    shared: Arc<Shared>,
    transport: impl Transport,
    stop: impl Future<Output = ()> + Send,
) -> Result<(), ServeError> {
    let mut driver = Driver::new(shared, transport);
    let mut stop = std::pin::pin!(stop);
    poll_fn(|cx| {
        if driver.ended.is_none() && stop.as_mut().poll(cx).is_ready() {
            driver.end();
        }
        driver.poll(cx)
    })
    .await?;
    // A client that does not read gets no further time.
    let close = poll_fn(|cx| driver.transport.poll_close(cx));
    let _ = tokio::time::timeout(CLOSE, close).await;
    Ok(())
}

/// A request whose handler has to wait.
struct Task {
    origin: Arc<Origin>,
    abort: AbortHandle,
}

impl Task {
    /// Stops it. It may still be within a step, but what it sends goes nowhere.
    fn stop(self) {
        self.origin.end();
        self.abort.abort();
    }
}

struct Driver<T> {
    shared: Arc<Shared>,
    transport: T,
    connection: Connection,
    service: RequestService,
    running: JoinSet<(RequestId, Reply)>,
    tasks: BTreeMap<RequestId, Task>,
    outbound: (mpsc::Sender<Outbound>, mpsc::Receiver<Outbound>),
    changes: Changes,
    asked: HashMap<AskId, Asked>,
    epoch: Instant,
    timer: Pin<Box<Sleep>>,
    ended: Option<Instant>,
    writable: bool,
}

impl<T: Transport> Driver<T> {
    fn new(shared: Arc<Shared>, transport: T) -> Self {
        let service = shared
            .registry()
            .service
            .clone()
            .unwrap_or_else(RequestService::innermost);
        let epoch = Instant::now();
        Self {
            connection: Connection::new(shared.config()),
            service,
            running: JoinSet::new(),
            tasks: BTreeMap::new(),
            outbound: mpsc::channel(NOTICES_HELD),
            changes: shared.listen(),
            asked: HashMap::new(),
            timer: Box::pin(tokio::time::sleep_until(epoch)),
            epoch,
            ended: None,
            writable: true,
            shared,
            transport,
        }
    }

    fn now(&self) -> Duration {
        self.epoch.elapsed()
    }

    fn poll(&mut self, cx: &mut TaskContext<'_>) -> Poll<Result<(), ServeError>> {
        loop {
            let held = self.transport.queued() > HIGH_WATER;
            let mut moved = self.take_finished(cx);
            moved |= self.take_changes(cx);
            moved |= self.take_outbound(cx);
            moved |= self.read(cx)?;
            moved |= self.take_time(cx);
            self.write(cx);
            if self.over() {
                return Poll::Ready(Ok(()));
            }
            // What was held back by a full queue may be read now.
            moved |= held && self.transport.queued() <= HIGH_WATER;
            if !moved {
                return Poll::Pending;
            }
        }
    }

    /// Whether nothing is left to do: the client is gone, and its work is done or out of time.
    fn over(&mut self) -> bool {
        let Some(ended) = self.ended else { return false };
        if self.connection.in_flight() == 0 && (self.transport.queued() == 0 || !self.writable) {
            return true;
        }
        if Instant::now() < ended + GRACE {
            return false;
        }
        // Every request gets its answer, if only this one.
        for (id, task) in std::mem::take(&mut self.tasks) {
            task.stop();
            let error = ErrorObject::internal("the server is shutting down");
            self.connection.finish(&id, Err(error));
        }
        self.transmit();
        true
    }

    fn read(&mut self, cx: &mut TaskContext<'_>) -> Result<bool, ServeError> {
        let mut moved = false;
        for _ in 0..READ_AT_ONCE {
            if self.ended.is_some() || self.transport.queued() > HIGH_WATER {
                break;
            }
            match self.transport.poll_receive(cx) {
                Poll::Pending => break,
                Poll::Ready(Ok(Received::Message(message))) => {
                    let now = self.now();
                    let incoming = self.connection.handle_message(now, &message);
                    self.handle(incoming, cx);
                }
                Poll::Ready(Ok(Received::TooLong { limit, start })) => {
                    let now = self.now();
                    let incoming = self.connection.handle_too_long(now, limit, &start);
                    self.handle(incoming, cx);
                }
                Poll::Ready(Ok(Received::End)) => self.end(),
                // Newer kinds of news have no meaning here yet.
                Poll::Ready(Ok(_)) => {}
                Poll::Ready(Err(error)) => return Err(error.into()),
            }
            moved = true;
            self.transmit();
        }
        Ok(moved)
    }

    fn end(&mut self) {
        if self.ended.is_some() {
            return;
        }
        self.ended = Some(Instant::now());
        // Nobody will answer any more.
        self.asked.clear();
        // But somebody may still read.
        self.connection.close_shared_streams();
        self.transmit();
    }

    fn handle(&mut self, incoming: Incoming<'_>, cx: &mut TaskContext<'_>) {
        match incoming {
            Incoming::Request(request) => self.start(request, cx),
            Incoming::Batch(all) => all.into_iter().for_each(|incoming| self.handle(incoming, cx)),
            Incoming::Cancelled { id, rest } => {
                if let Some(task) = self.tasks.remove(&id) {
                    task.stop();
                }
                if let Some(rest) = rest {
                    self.transport.send(rest);
                }
            }
            Incoming::Answered(ask, outcome) => {
                let Some(waiting) = self.asked.remove(&ask) else { return };
                let outcome = outcome.and_then(|result| {
                    serde_json::from_str(result.get())
                        .map_err(|error| AskError::Refused(ErrorObject::internal(error.to_string())))
                });
                // The handler may be gone by now.
                let _ = waiting.send(outcome);
            }
            Incoming::TasksWatched(begun) => self.changes.watch(NOBODY, self.connection.watched_tasks(), begun),
            Incoming::Ready | Incoming::RootsChanged | Incoming::Nothing => {}
        }
    }

    fn start(&mut self, request: IncomingRequest<'_>, cx: &mut TaskContext<'_>) {
        let id = request.id;
        let origin = Arc::new(Origin {
            shared: Arc::clone(&self.shared),
            profile: request.profile,
            client: request.client,
            meta: request.meta,
            log_level: request.log_level,
            principal: NOBODY.to_owned(),
            outlet: Outlet::Connection(self.outbound.0.clone()),
            sending: Mutex::new(Sending::default()),
            seed: OnceLock::new(),
        });
        let params = request.params.map(ToOwned::to_owned);
        let request = ServerRequest {
            origin: Arc::clone(&origin),
            method: request.method,
            params,
        };
        let mut running = Guarded::new(&self.service, request);
        match Pin::new(&mut running).poll(cx) {
            Poll::Ready(reply) => self.finish(&id, reply, cx),
            Poll::Pending => {
                let task_id = id.clone();
                let abort = self.running.spawn(async move { (task_id, running.await) });
                self.tasks.insert(id, Task { origin, abort });
            }
        }
    }

    /// Sends an answer behind everything that its handler sent before.
    fn finish(&mut self, id: &RequestId, reply: Reply, cx: &mut TaskContext<'_>) {
        self.take_outbound(cx);
        self.connection.finish(id, reply);
    }

    fn take_finished(&mut self, cx: &mut TaskContext<'_>) -> bool {
        let mut moved = false;
        while let Poll::Ready(Some(finished)) = self.running.poll_join_next_with_id(cx) {
            // One that was cancelled has no answer to give. It may have been done already, and another request have its
            // id by now.
            if let Ok((task, (id, reply))) = finished
                && self.tasks.get(&id).is_some_and(|running| running.abort.id() == task)
            {
                self.tasks.remove(&id);
                self.finish(&id, reply, cx);
            }
            moved = true;
        }
        if moved {
            self.withdraw();
        }
        moved
    }

    fn take_outbound(&mut self, cx: &mut TaskContext<'_>) -> bool {
        let mut moved = false;
        while let Poll::Ready(Some(outbound)) = self.outbound.1.poll_recv(cx) {
            moved = true;
            match outbound {
                Outbound::Notice(message) => {
                    self.transmit();
                    // A client that does not read misses some, and costs no memory.
                    if self.transport.queued() <= HIGH_WATER {
                        self.transport.send(message);
                    }
                }
                // Its handler is gone by now.
                Outbound::Ask(_, waiting) if waiting.is_closed() => {}
                Outbound::Ask(request, waiting) => {
                    let now = self.now();
                    match self.connection.ask(now, &request, Timeouts::ASK) {
                        _ if self.ended.is_some() => drop(waiting),
                        Ok(ask) => {
                            self.asked.insert(ask, waiting);
                        }
                        Err(error) => {
                            let _ = waiting.send(Err(AskError::Refused(ErrorObject::internal(error.to_string()))));
                        }
                    }
                }
            }
        }
        moved
    }

    /// Questions whose handler is gone are not wanted any more.
    fn withdraw(&mut self) {
        let gone: Vec<AskId> = self
            .asked
            .iter()
            .filter(|(_, waiting)| waiting.is_closed())
            .map(|(ask, _)| ask.clone())
            .collect();
        for ask in gone {
            self.asked.remove(&ask);
            self.connection.withdraw(&ask);
        }
    }

    fn take_changes(&mut self, cx: &mut TaskContext<'_>) -> bool {
        let mut moved = false;
        // While the client does not read, changes are left where they are, and lost ones sum up to one lag.
        while self.transport.queued() <= HIGH_WATER {
            match self.changes.poll_next(cx) {
                Poll::Ready(news) => self.connection.tell(&news),
                Poll::Pending => break,
            }
            self.transmit();
            moved = true;
        }
        moved
    }

    fn take_time(&mut self, cx: &mut TaskContext<'_>) -> bool {
        let now = self.now();
        let over = self.connection.handle_timeout(now);
        let moved = !over.is_empty();
        for incoming in over {
            self.handle(incoming, cx);
        }
        let wake = self.connection.poll_timeout().map(|at| self.epoch + at);
        let wake = wake.into_iter().chain(self.ended.map(|ended| ended + GRACE)).min();
        if let Some(wake) = wake {
            if self.timer.deadline() != wake {
                self.timer.as_mut().reset(wake);
            }
            return self.timer.as_mut().poll(cx).is_ready() || moved;
        }
        moved
    }

    fn transmit(&mut self) {
        while let Some(message) = self.connection.poll_transmit() {
            self.transport.send(message);
        }
    }

    fn write(&mut self, cx: &mut TaskContext<'_>) {
        self.transmit();
        if self.writable
            && let Poll::Ready(Err(_)) = self.transport.poll_flush(cx)
        {
            // The client does not read any more: there is nobody left to serve.
            self.writable = false;
            self.end();
        }
    }
}

/// Ends what a request may send beside its answer, even if its future is dropped.
struct Ending(Arc<Origin>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// A request's answer, whatever happens: a panic becomes an internal error.
pub(crate) struct Guarded {
    method: Method,
    running: Result<BoxFuture<Reply>, Panicked>,
    ending: Ending,
}

impl Guarded {
    pub(crate) fn new(service: &RequestService, request: ServerRequest) -> Self {
        Self {
            method: request.method,
            ending: Ending(Arc::clone(&request.origin)),
            running: caught(|| service.answer(request)),
        }
    }
}

impl Future for Guarded {
    type Output = Reply;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Reply> {
        let polled = match &mut self.running {
            Ok(running) => caught(|| running.as_mut().poll(cx)),
            Err(Panicked) => Err(Panicked),
        };
        let polled = polled.unwrap_or_else(|Panicked| Poll::Ready(Err(panicked(self.method))));
        if polled.is_ready() {
            self.ending.0.end();
        }
        polled
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio::sync::Notify;
    use trunkline_proto::server::Config;
    use trunkline_types::Revision;

    use super::*;
    use crate::{NoArguments, Tool};

    fn request(id: u32, method: &str, mut params: Value) -> Vec<u8> {
        params["_meta"] = json!({ "io.modelcontextprotocol/protocolVersion": Revision::LATEST.name(),
            "io.modelcontextprotocol/clientCapabilities": {} });
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
            .to_string()
            .into_bytes()
    }

    /// A server with this tool, by the name `t`.
    fn with_tool(tool: Tool) -> Arc<Shared> {
        let shared = Arc::new(Shared::new(Config::new("serves", "1")));
        let tool = Arc::new(tool.register("t").unwrap());
        shared.change(|registry| registry.tools.insert("t".to_owned(), tool));
        shared
    }

    async fn receive(client: &mut impl Transport) -> Option<Value> {
        match poll_fn(|cx| client.poll_receive(cx)).await.unwrap() {
            Received::Message(line) => Some(serde_json::from_slice(&line).unwrap()),
            _ => None,
        }
    }

    #[tokio::test]
    async fn a_stop_closes_streams_and_lets_what_runs_finish() {
        let (begun, release) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (has_begun, released) = (Arc::clone(&begun), Arc::clone(&release));
        let tool = Tool::new(move |_: NoArguments| {
            let (begun, release) = (Arc::clone(&begun), Arc::clone(&release));
            async move {
                begun.notify_one();
                release.notified().await;
                "called"
            }
        });
        let shared = with_tool(tool);
        let (mut client, here) = trunkline_transport::memory();
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = tokio::spawn(run(shared, here, async move {
            let _ = stopped.await;
        }));
        let filter = json!({ "notifications": { "toolsListChanged": true } });
        client.send(request(1, "subscriptions/listen", filter));
        client.send(request(2, "tools/call", json!({ "name": "t" })));
        poll_fn(|cx| client.poll_flush(cx)).await.unwrap();
        assert!(receive(&mut client).await.unwrap()["method"].is_string());
        has_begun.notified().await;
        stop.send(()).unwrap();
        assert!(
            receive(&mut client).await.unwrap()["result"].is_object(),
            "the stream's end"
        );
        client.send(request(3, "tools/list", json!({})));
        poll_fn(|cx| client.poll_flush(cx)).await.unwrap();
        released.notify_one();
        let mut answered = Vec::new();
        while let Some(message) = receive(&mut client).await {
            answered.extend(message["id"].as_u64());
        }
        assert_eq!(answered, [2], "what runs is finished, nothing new is taken");
        serving.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn the_reply_of_a_cancelled_request_is_not_given_to_the_next_one_of_its_id() {
        let release = Arc::new(Notify::new());
        let released = Arc::clone(&release);
        let tool = Tool::new(move |ask: Value| {
            let released = Arc::clone(&released);
            async move {
                released.notified().await;
                ask["text"].as_str().unwrap_or_default().to_owned()
            }
        });
        let shared = with_tool(tool);
        let (mut client, here) = trunkline_transport::memory();
        let call = |text: &str| request(1, "tools/call", json!({ "name": "t", "arguments": { "text": text } }));
        let mut driver = Driver::new(shared, here);
        let step = async |driver: &mut Driver<_>| poll_fn(|cx| Poll::Ready(driver.poll(cx).is_ready())).await;
        client.send(call("first"));
        poll_fn(|cx| client.poll_flush(cx)).await.unwrap();
        assert!(!step(&mut driver).await && driver.tasks.len() == 1, "it waits");
        // The first is done, is cancelled, and its id comes again, before the driver looks again.
        tokio::task::yield_now().await;
        release.notify_one();
        tokio::task::yield_now().await;
        let cancelled = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } });
        client.send(cancelled.to_string().into_bytes());
        client.send(call("second"));
        poll_fn(|cx| client.poll_flush(cx)).await.unwrap();
        poll_fn(|cx| Poll::Ready(driver.read(cx))).await.unwrap();
        step(&mut driver).await;
        release.notify_one();
        let answer = tokio::select! {
            answer = receive(&mut client) => answer.unwrap(),
            _ = poll_fn(|cx| driver.poll(cx)) => panic!("it serves on"),
        };
        assert_eq!(answer["result"]["content"][0]["text"], "second");
    }
}
