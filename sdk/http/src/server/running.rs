//! What runs in a session: its requests, and the questions that their handlers put to the client.

use std::sync::Arc;
use std::task::{Context, Poll};

use http::StatusCode;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::task::AbortHandle;
use tokio::time::Instant;
use trunkline_proto::Timeouts;
use trunkline_proto::server::{AskError, Incoming, IncomingRequest};
use trunkline_types::{ErrorObject, InputRequest, Message, RequestId};

use super::application::{Application, ApplicationRequest, Asking, Reply};
use super::reply::{self, Refusal};
use super::session::{Session, State};
use super::stream::Stream;

/// How many bytes a message may have before there is an agreement: what a client says of itself is kept as long as
/// its session.
const MAX_OPENING: usize = 64 * 1024;

/// What a message came to.
#[derive(Debug)]
pub(super) enum Taken<'a> {
    /// Requests to run, answered by one stream; several were a batch.
    Requests(Arc<Stream>, Vec<Accepted<'a>>),
    /// The session answered itself.
    Answered(Vec<u8>),
    /// There is nothing to answer.
    Nothing,
    /// It is refused.
    Refused(Refusal),
}

/// A request that is to be started.
#[derive(Debug)]
pub(super) struct Accepted<'a> {
    request: IncomingRequest<'a>,
    serial: u64,
}

/// A request that was not answered yet.
#[derive(Debug)]
pub(super) struct Running {
    /// Tells it from others of the same id: an id is free again once its request was cancelled.
    serial: u64,
    pub(super) stream: Arc<Stream>,
    /// Only there once it has to wait.
    abort: Option<AbortHandle>,
}

impl Running {
    pub(super) fn stop(&self) {
        if let Some(abort) = &self.abort {
            abort.abort();
        }
    }
}

/// A question that was not answered yet.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) asking: Asking,
    pub(super) stream: Arc<Stream>,
}

impl State {
    fn find(&mut self, id: &RequestId, serial: u64) -> Option<&mut Running> {
        self.running.get_mut(id).filter(|running| running.serial == serial)
    }
}

impl Session {
    /// Takes one message, `read` already unless it could not be, and does at once what needs no handler.
    pub(super) fn take<'a>(self: &Arc<Self>, read: Option<Message<'a>>, message: &'a [u8]) -> Taken<'a> {
        let now = self.now();
        let mut state = self.lock();
        if state.ended {
            return Taken::Refused(reply::gone());
        }
        if message.len() > MAX_OPENING && state.connection.session_profile().is_none() {
            let why = format!("a message may have at most {MAX_OPENING} bytes before there is an agreement");
            return Taken::Refused(Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, why));
        }
        state.used = Instant::now();
        let was_read = read.is_some();
        let incoming = match read {
            Some(read) => state.connection.handle(now, read),
            None => state.connection.handle_message(now, message),
        };
        let is_readable = was_read || matches!(incoming, Incoming::Batch(_));
        let mut requests = Vec::new();
        let mut open = vec![incoming];
        while let Some(incoming) = open.pop() {
            match incoming {
                Incoming::Request(request) => requests.push(request),
                Incoming::Batch(all) => open.extend(all.into_iter().rev()),
                Incoming::Cancelled { id, rest } => self.cancel(&mut state, &id, rest),
                Incoming::Answered(ask, outcome) => {
                    if let Some(asked) = state.asked.remove(&ask) {
                        // The handler may be gone by now.
                        let _ = asked.asking.send(outcome.and_then(|result| read_answer(&result)));
                    }
                }
                Incoming::Ready | Incoming::RootsChanged | Incoming::TasksWatched(_) | Incoming::Nothing => {}
            }
        }
        if !requests.is_empty() {
            let stream = self.open_stream(&mut state);
            // From here on, whoever cancels one of them finds it.
            let accepted = requests.into_iter().map(|request| {
                let serial = state.serial();
                let running = Running {
                    serial,
                    stream: Arc::clone(&stream),
                    abort: None,
                };
                state.running.insert(request.id.clone(), running);
                Accepted { request, serial }
            });
            let accepted = accepted.collect();
            return Taken::Requests(stream, accepted);
        }
        match state.said().pop() {
            Some(answer) => Taken::Answered(answer),
            None if is_readable => Taken::Nothing,
            None => Taken::Refused(Refusal::new(StatusCode::BAD_REQUEST, "this is no message")),
        }
    }

    /// Stops a request. `rest` is what is left of its batch.
    fn cancel(&self, state: &mut State, id: &RequestId, rest: Option<Vec<u8>>) {
        let Some(running) = state.running.remove(id) else {
            return;
        };
        running.stop();
        if let Some(shared) = &self.shared_stream {
            if let Some(rest) = rest {
                shared.push(rest);
            }
            return self.end_if_drained(state);
        }
        let others = state.running.values();
        let is_alone = !others
            .map(|other| &other.stream)
            .any(|other| Arc::ptr_eq(other, &running.stream));
        if is_alone {
            running.stream.close(rest);
        }
    }

    /// Starts a request. If it has to wait, it becomes a task, which goes on when the client's connection breaks
    /// ([rule](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#sending-messages-to-the-server)).
    pub(super) fn start(
        self: &Arc<Self>,
        cx: &mut Context<'_>,
        application: &dyn Application,
        accepted: Accepted<'_>,
        stream: &Arc<Stream>,
    ) {
        let Accepted { request, serial } = accepted;
        let id = request.id;
        if self.lock().find(&id, serial).is_none() {
            // It was cancelled before it began.
            return;
        }
        let mut running = application.answer(ApplicationRequest {
            method: request.method,
            profile: request.profile,
            client: request.client,
            meta: request.meta,
            log_level: request.log_level,
            principal: self.principal.clone(),
            params: request.params.map(RawValue::to_owned),
            outlet: Arc::clone(stream) as _,
        });
        if let Poll::Ready(reply) = running.as_mut().poll(cx) {
            drop(running);
            return self.finish(&id, serial, reply, stream);
        }
        let (session, to, name) = (Arc::clone(self), Arc::clone(stream), id.clone());
        let task = tokio::spawn(async move {
            let reply = running.await;
            session.finish(&name, serial, reply, &to);
        });
        match self.lock().find(&id, serial) {
            Some(running) => running.abort = Some(task.abort_handle()),
            // It is done, or was cancelled before its task could be found.
            None => task.abort(),
        }
    }

    /// Sends an answer of the session's own, where everything leaves by one stream.
    pub(super) fn say(&self, answer: Vec<u8>) {
        if let Some(shared) = &self.shared_stream {
            shared.push(answer);
        }
    }

    fn finish(&self, id: &RequestId, serial: u64, reply: Reply, stream: &Stream) {
        let mut state = self.lock();
        Self::withdraw(&mut state);
        if state.find(id, serial).is_none() {
            // It was cancelled meanwhile. Its id may be another request's by now.
            return;
        }
        state.used = Instant::now();
        state.running.remove(id);
        state.connection.finish(id, reply);
        // A batch is answered with its last one.
        if let Some(answer) = state.said().pop() {
            match &self.shared_stream {
                Some(shared) => shared.push(answer),
                None => stream.close(Some(answer)),
            }
        }
        self.end_if_drained(&state);
    }

    /// Questions whose handler is gone are not wanted any more.
    pub(super) fn withdraw(state: &mut State) {
        let gone = state.asked.extract_if(|_, asked| asked.asking.is_closed());
        for (ask, asked) in gone.collect::<Vec<_>>() {
            state.connection.withdraw(&ask);
            for notice in state.said() {
                asked.stream.push(notice);
            }
        }
    }

    /// Asks the client on the stream of the request that wants to know.
    pub(super) fn ask(&self, stream: &Stream, request: &InputRequest, asking: Asking) {
        let now = self.now();
        let mut state = self.lock();
        let Some(stream) = self.stream_of(&state, stream) else {
            return;
        };
        match state.connection.ask(now, request, Timeouts::ASK) {
            Ok(ask) => {
                for question in state.said() {
                    stream.push(question);
                }
                state.asked.insert(ask, Asked { asking, stream });
            }
            Err(error) => {
                let refused = AskError::Refused(ErrorObject::internal(error.to_string()));
                drop(asking.send(Err(refused)));
            }
        }
    }

    fn stream_of(&self, state: &State, stream: &Stream) -> Option<Arc<Stream>> {
        let known = state.running.values().map(|running| &running.stream);
        let mut known = known.chain(&self.shared_stream);
        known.find(|known| std::ptr::eq(Arc::as_ptr(known), stream)).cloned()
    }
}

/// The answer to a question, decoded.
fn read_answer(result: &RawValue) -> Result<Value, AskError> {
    serde_json::from_str(result.get()).map_err(|error| AskError::Unusable(error.to_string()))
}

#[cfg(test)]
#[path = "running_tests.rs"]
mod tests;
