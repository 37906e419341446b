//! One connection, driven by one task: send what is asked for, read, hand out, write what is waiting.
//!
//! A request costs its place in the channel to this task and one channel back. What a server asks for is
//! answered by tasks of its own, so a slow person holds up nothing.

mod again;

use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, Sleep};
use trunkline_proto::client::{
    Agreement, Answer, Config, ConnectError as HandshakeError, Connection, Event, RequestOptions, Undelivered,
};
use trunkline_transport::{Received, Transport, TransportError};
use trunkline_types::{ErrorObject, Extra, InputRequest, Method, RequestId};

use crate::feed::FeedWriter;
use crate::inputs::Answers;
use crate::notices::Notice;
use crate::ports::{Control, Outcome, Ports, Stage, State, Stream, Submit, Waiting, Watch};
use crate::subscription::wants;
use crate::{CallError, ConnectError, lock};

/// Bytes that may wait to be written before further requests are refused.
pub const MAX_QUEUED: usize = 64 * 1024 * 1024;
/// Requests that may wait for their answers before further ones are refused.
pub const MAX_WAITING: usize = 16 * 1024;
/// How long the end of a server that does not take messages any more is waited for, so that its last words
/// can be told to whoever asks for something meanwhile.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// Messages and requests that are taken before what they caused is written.
const AT_ONCE: usize = 128;

/// Drives a connection from its first message to its end. `close_wait` bounds the end where the transport
/// does not bound it itself.
pub(crate) async fn run(transport: impl Transport, config: Config, ports: Ports, close_wait: Option<Duration>) {
    let mut driver = Driver::new(transport, config, ports);
    poll_fn(|cx| driver.poll(cx)).await;
    driver.end(Some("this side closed the connection".to_owned()));
    let Driver {
        mut transport, stage, ..
    } = driver;
    let closed = poll_fn(|cx| transport.poll_close(cx));
    // It is over in either case, and nobody is left who could do something about a fault.
    match close_wait {
        Some(wait) => drop(tokio::time::timeout(wait, closed).await),
        None => drop(closed.await),
    }
    drop(transport);
    stage.send_replace(Stage::Finished);
}

struct Driver<T> {
    transport: T,
    connection: Connection,
    requests: mpsc::Receiver<Submit>,
    control: mpsc::UnboundedReceiver<Control>,
    connecting: Option<oneshot::Sender<Result<Agreement, ConnectError>>>,
    waiting: BTreeMap<RequestId, Waiting>,
    watches: Vec<Watch>,
    /// How many watches each resource has.
    watched: HashMap<String, usize>,
    answers: Answers,
    asking: JoinSet<(RequestId, Result<Value, ErrorObject>)>,
    aborts: BTreeMap<RequestId, AbortHandle>,
    notices: Option<FeedWriter<Notice>>,
    state: Arc<State>,
    stage: watch::Sender<Stage>,
    epoch: Instant,
    timer: Pin<Box<Sleep>>,
    fault: Option<TransportError>,
    /// When the server stopped taking messages.
    deaf_since: Option<Instant>,
    /// Who came after that.
    unsent: Vec<Waiting>,
    /// Streams of notices that broke off, and when they are opened again.
    reopening: Vec<(Instant, Box<Stream>)>,
    closing: bool,
}

impl<T: Transport> Driver<T> {
    fn new(transport: T, config: Config, ports: Ports) -> Self {
        let epoch = Instant::now();
        Self {
            transport,
            connection: Connection::new(config, Duration::ZERO),
            requests: ports.requests,
            control: ports.control,
            connecting: Some(ports.connecting),
            waiting: BTreeMap::new(),
            watches: Vec::new(),
            watched: HashMap::new(),
            answers: ports.answers,
            asking: JoinSet::new(),
            aborts: BTreeMap::new(),
            notices: Some(ports.notices),
            state: ports.state,
            stage: ports.stage,
            epoch,
            timer: Box::pin(tokio::time::sleep_until(epoch)),
            fault: None,
            deaf_since: None,
            unsent: Vec::new(),
            reopening: Vec::new(),
            closing: false,
        }
    }

    fn now(&self) -> Duration {
        self.epoch.elapsed()
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            self.take_control(cx);
            let mut more = self.take_requests(cx);
            more |= self.read(cx);
            self.take_answers(cx);
            more |= self.take_time(cx);
            let held = self.is_held();
            self.write(cx);
            if self.closing {
                return Poll::Ready(());
            }
            // What was held back by a full queue may be read now.
            more |= held && !self.is_held();
            if !more {
                return Poll::Pending;
            }
        }
    }

    /// A server that asks without end and does not read the answers is not read either. Below this mark
    /// it always is: two sides that both wait for the other to read would wait for ever.
    fn is_held(&self) -> bool {
        self.transport.queued() > MAX_QUEUED
    }

    // Each of the following goes on until there is nothing more, and then the task is woken when there is. Those that
    // stop before say that there may be more.

    fn take_control(&mut self, cx: &mut Context<'_>) {
        let mut dropped = false;
        while let Poll::Ready(Some(control)) = self.control.poll_recv(cx) {
            match control {
                Control::Dropped => dropped = true,
                Control::Watch(watch) => {
                    for uri in watch.uris() {
                        *self.watched.entry(uri.clone()).or_default() += 1;
                    }
                    self.watches.push(watch);
                }
                // The modern era has no such notice.
                Control::RootsChanged => drop(self.connection.notify(Method::RootsChanged, &Extra::new())),
                Control::Close => self.closing = true,
            }
        }
        if dropped {
            self.sweep();
        }
    }

    /// Gives up on what nobody waits for any more.
    fn sweep(&mut self) {
        let gone: Vec<RequestId> = self
            .waiting
            .iter()
            .filter(|(_, waiting)| waiting.is_closed())
            .map(|(id, _)| id.clone())
            .collect();
        for id in gone {
            self.waiting.remove(&id);
            self.connection.cancel(&id, "no longer wanted");
        }
        for watch in self
            .watches
            .extract_if(.., |watch| watch.feed.is_closed())
            .collect::<Vec<_>>()
        {
            for uri in watch.uris() {
                self.unwatch(uri);
            }
        }
        self.transmit();
    }

    fn unwatch(&mut self, uri: &str) {
        let Some(count) = self.watched.get_mut(uri) else { return };
        *count -= 1;
        if *count == 0 {
            self.watched.remove(uri);
            let mut params = Extra::new();
            params.insert("uri".to_owned(), uri.into());
            self.submit(Submit {
                method: Method::Unsubscribe,
                params: params.into(),
                options: RequestOptions::default(),
                waiting: Waiting::Nobody,
            });
        }
    }

    fn take_requests(&mut self, cx: &mut Context<'_>) -> bool {
        for _ in 0..AT_ONCE {
            match self.requests.poll_recv(cx) {
                Poll::Ready(Some(submit)) => self.submit(submit),
                Poll::Ready(None) => {
                    // The last client is gone.
                    self.closing = true;
                    return false;
                }
                Poll::Pending => return false,
            }
        }
        true
    }

    fn submit(&mut self, submit: Submit) {
        let Submit {
            method,
            params,
            options,
            waiting,
        } = submit;
        if waiting.is_closed() {
            return;
        }
        if self.deaf_since.is_some() {
            // Those who wait are told with the end, which is near, or when it does not come.
            return self.unsent.push(waiting);
        }
        let (queued, open) = (self.transport.queued(), self.connection.waiting());
        if queued > MAX_QUEUED || open >= MAX_WAITING {
            return waiting.finish(Err(CallError::Congested { queued, waiting: open }));
        }
        let now = self.now();
        match self.connection.request(now, method, &params, &options) {
            Ok(id) => drop(self.waiting.insert(id, waiting)),
            Err(error) => waiting.finish(Err(CallError::NotSent(error))),
        }
        self.transmit();
    }

    fn take_answers(&mut self, cx: &mut Context<'_>) {
        while let Poll::Ready(Some(answered)) = self.asking.poll_join_next_with_id(cx) {
            // One that was withdrawn has nothing to say. It may have been done already, and another have its id by now.
            if let Ok((task, (id, outcome))) = answered
                && self.aborts.get(&id).is_some_and(|abort| abort.id() == task)
            {
                self.aborts.remove(&id);
                let now = self.now();
                self.connection.answer(now, &id, outcome);
            }
        }
    }

    fn read(&mut self, cx: &mut Context<'_>) -> bool {
        for _ in 0..AT_ONCE {
            if self.closing || self.is_held() {
                return false;
            }
            match self.transport.poll_receive(cx) {
                Poll::Pending => return false,
                Poll::Ready(Ok(Received::Message(message))) => {
                    let now = self.now();
                    self.connection.handle_message(now, &message);
                    self.take_events(message.len());
                }
                Poll::Ready(Ok(Received::TooLong { limit, start })) => {
                    self.connection.handle_too_long(limit, &start);
                    self.take_events(start.len());
                }
                Poll::Ready(Ok(Received::Undelivered {
                    id,
                    may_have_run,
                    status,
                    why,
                })) => {
                    let now = self.now();
                    let undelivered = Undelivered {
                        may_have_run,
                        status,
                        why,
                    };
                    self.connection.handle_undelivered(now, &id, undelivered);
                    self.take_events(0);
                }
                Poll::Ready(Ok(Received::Renewed)) => self.renewed(),
                Poll::Ready(Ok(Received::Warning(text))) => {
                    self.connection.handle_warning(&text);
                    self.take_events(0);
                }
                Poll::Ready(Ok(Received::End)) => self.end(None),
                Poll::Ready(Err(error)) => {
                    self.fault = Some(error);
                    self.end(None);
                }
                // Newer kinds of news have no meaning here yet.
                Poll::Ready(Ok(_)) => {}
            }
            self.transmit();
        }
        true
    }

    /// The end of the connection, however it came: everybody who waits is told, and so is everybody who
    /// comes later.
    fn end(&mut self, diagnosis: Option<String>) {
        self.closing = true;
        self.transmit();
        let diagnosis = diagnosis.or_else(|| self.diagnosis());
        if self.state.ended.set(diagnosis).is_err() {
            return;
        }
        self.connection.handle_end();
        self.take_events(0);
        self.requests.close();
        while let Ok(submit) = self.requests.try_recv() {
            self.unsent.push(submit.waiting);
        }
        self.finish_unsent(self.state.diagnosis());
        self.asking.abort_all();
        self.watches.clear();
        self.reopening.clear();
        self.notices = None;
        self.stage.send_replace(Stage::Ended);
    }

    fn diagnosis(&self) -> Option<String> {
        let Some(fault) = &self.fault else {
            return self.transport.diagnosis();
        };
        Some(match fault.source() {
            Some(source) => format!("{fault}: {source}"),
            None => fault.to_string(),
        })
    }

    /// Hands out what a message caused; `size` is the message's.
    fn take_events(&mut self, size: usize) {
        while let Some(event) = self.connection.poll_event() {
            match event {
                Event::Connected => {
                    if let (Some(connecting), Some(agreement)) = (self.connecting.take(), self.connection.agreement()) {
                        // If nobody connects any more, the channel of requests is closed too.
                        let _ = connecting.send(Ok(agreement.clone()));
                    }
                }
                Event::ConnectFailed(error) => self.connect_failed(error),
                Event::Answered { id, answer } => {
                    if let Some(waiting) = self.waiting.remove(&id) {
                        self.answered(waiting, answer);
                    }
                }
                Event::TaskLeft { task_id } => self.submit(Submit::cancel_task(&task_id)),
                Event::Progress { id, progress } => {
                    if let Some(Waiting::Call {
                        progress: Some(feed), ..
                    }) = self.waiting.get(&id)
                    {
                        feed.push(progress, size);
                    }
                }
                Event::Asked { id, request } => self.asked(id, request),
                Event::AskWithdrawn { id } => {
                    if let Some(abort) = self.aborts.remove(&id) {
                        abort.abort();
                    }
                }
                Event::Listening { id, filter } => {
                    if let Some(Waiting::Stream(stream)) = self.waiting.get_mut(&id) {
                        let changed = stream.listening(filter);
                        self.tell_changed(changed);
                    }
                }
                Event::Notice {
                    method,
                    params,
                    subscription,
                } => self.notice(method, params, subscription, size),
                Event::Noise(noise) => lock(&self.state.noise).add(noise),
            }
        }
    }

    fn outcome(&self, answer: Answer) -> Result<Outcome, CallError> {
        Err(match answer {
            Answer::Complete(result) => return Ok(Outcome::Complete(result)),
            Answer::InputRequired(wanted) => return Ok(Outcome::InputRequired(wanted)),
            Answer::Task(created) => return Ok(Outcome::Task(created)),
            Answer::Refused(error) => CallError::Refused(error),
            Answer::Invalid(why) => CallError::Invalid(why),
            Answer::TimedOut => CallError::TimedOut,
            Answer::Undelivered(undelivered) => CallError::Undelivered(undelivered),
            Answer::Lost => CallError::Lost {
                diagnosis: self.state.diagnosis(),
            },
        })
    }

    fn connect_failed(&mut self, error: HandshakeError) {
        self.closing = true;
        let Some(connecting) = self.connecting.take() else {
            return;
        };
        let unclear = !matches!(
            error,
            HandshakeError::Refused(_) | HandshakeError::NoCommonRevision { .. }
        );
        let diagnosis = if unclear { self.transport.diagnosis() } else { None };
        let error = ConnectError::Handshake(error, diagnosis);
        let _ = connecting.send(Err(self.fault.clone().map_or(error, ConnectError::Transport)));
    }

    fn asked(&mut self, id: RequestId, request: InputRequest) {
        let answering = self.answers.clone().answer(request);
        let task_id = id.clone();
        let abort = self.asking.spawn(async move { (task_id, answering.await) });
        self.aborts.insert(id, abort);
    }

    fn notice(&mut self, method: Method, params: Extra, subscription: Option<RequestId>, size: usize) {
        let notice = Notice::new(method, params);
        self.state.note(&notice);
        if let Some(Waiting::Stream(stream)) = subscription.and_then(|id| self.waiting.get_mut(&id)) {
            stream.backoff.reset();
            stream.feed.push(notice.clone(), size);
        }
        self.spread(notice, size);
    }

    /// Tells everybody who listens to the connection as a whole.
    fn spread(&self, notice: Notice, size: usize) {
        for watch in self.watches.iter().filter(|watch| wants(&watch.filter, &notice)) {
            watch.feed.push(notice.clone(), size);
        }
        if let Some(feed) = &self.notices {
            feed.push(notice, size);
        }
    }

    fn take_time(&mut self, cx: &mut Context<'_>) -> bool {
        let now = self.now();
        self.connection.handle_timeout(now);
        self.take_events(0);
        // A stream of notices may wait longer than the clock can count.
        let wake = self.connection.poll_timeout().and_then(|at| self.epoch.checked_add(at));
        let wakes = wake.into_iter().chain(self.take_unsent()).chain(self.take_reopening());
        let Some(wake) = wakes.min() else {
            return false;
        };
        // It is not moved back for each request: when it rings too early, nothing is late yet.
        if wake < self.timer.deadline() || self.timer.is_elapsed() {
            self.timer.as_mut().reset(wake);
        }
        self.timer.as_mut().poll(cx).is_ready()
    }

    /// Tells those who came too late, once the end has not come either. Returns when that will be.
    fn take_unsent(&mut self) -> Option<Instant> {
        let until = self.deaf_since? + LAST_WORDS;
        if Instant::now() >= until {
            self.finish_unsent(Some("the server no longer takes messages".to_owned()));
        }
        (!self.unsent.is_empty()).then_some(until)
    }

    fn finish_unsent(&mut self, diagnosis: Option<String>) {
        for waiting in self.unsent.drain(..) {
            let diagnosis = diagnosis.clone();
            waiting.finish(Err(CallError::Closed { diagnosis }));
        }
    }

    fn transmit(&mut self) {
        while let Some(message) = self.connection.poll_transmit() {
            self.transport.send(message);
        }
    }

    fn write(&mut self, cx: &mut Context<'_>) {
        self.transmit();
        if self.deaf_since.is_none()
            && let Poll::Ready(Err(_)) = self.transport.poll_flush(cx)
        {
            // What the server sent before can still be read, and then its end.
            self.deaf_since = Some(Instant::now());
        }
    }
}
