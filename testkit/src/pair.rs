//! A client and a server connection with a network between them that loses, delays and reorders, and a
//! clock that only this pair moves. No runtime, no I/O, no waiting.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use trunkline::proto::{client, server};
use trunkline::types::{
    ErrorObject, Extra, InputRequest, JsonText, ListCapability, Method, RequestId, ResourcesCapability, Revision,
    ServerCapabilities,
};

/// Which way a message flies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the client to the server.
    ToServer,
    /// From the server to the client.
    ToClient,
}

/// What the network does to the next message that flies one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It never arrives.
    Lose,
    /// It arrives this much later; messages behind it overtake it.
    Delay(Duration),
    /// It arrives twice.
    Double,
}

#[derive(Debug)]
struct Flight {
    arrives: Duration,
    message: Vec<u8>,
}

#[derive(Debug, Default)]
struct Lane {
    flights: Vec<Flight>,
    faults: VecDeque<Fault>,
}

impl Lane {
    fn send(&mut self, now: Duration, latency: Duration, message: Vec<u8>) {
        let arrives = now + latency;
        match self.faults.pop_front() {
            None => self.flights.push(Flight { arrives, message }),
            Some(Fault::Lose) => {}
            Some(Fault::Delay(by)) => self.flights.push(Flight {
                arrives: arrives + by,
                message,
            }),
            Some(Fault::Double) => {
                self.flights.push(Flight {
                    arrives,
                    message: message.clone(),
                });
                self.flights.push(Flight { arrives, message });
            }
        }
    }

    fn next(&self) -> Option<Duration> {
        self.flights.iter().map(|flight| flight.arrives).min()
    }

    /// The messages that have arrived, in the order of their arrival.
    fn arrived(&mut self, now: Duration) -> Vec<Vec<u8>> {
        let (mut here, there): (Vec<_>, Vec<_>) = self.flights.drain(..).partition(|flight| flight.arrives <= now);
        self.flights = there;
        here.sort_by_key(|flight| flight.arrives);
        here.into_iter().map(|flight| flight.message).collect()
    }
}

/// The pair. What happens is kept in its fields until a test takes it.
#[derive(Debug)]
pub struct Pair {
    /// The client's state.
    pub client: client::Connection,
    /// The server's state.
    pub server: server::Connection,
    /// The time on both sides.
    pub now: Duration,
    /// How long a message flies.
    pub latency: Duration,
    /// What happened at the client.
    pub events: Vec<client::Event>,
    /// Requests that the server accepted and this test has not finished yet.
    pub accepted: Vec<(RequestId, Method)>,
    /// Requests that the client cancelled.
    pub cancelled: Vec<RequestId>,
    /// Answers to the server's own requests.
    pub answered: Vec<Result<Value, server::AskError>>,
    /// Every message as it was sent.
    pub sent: Vec<(Direction, String)>,
    to_server: Lane,
    to_client: Lane,
}

impl Pair {
    /// A pair that has not spoken yet. The server declares tools, prompts and resources.
    pub fn new(opening: client::Opening, revisions: &[Revision]) -> Self {
        let mut config = client::Config::new("client", "1");
        config.opening = opening;
        config.capabilities = serde_json::from_value(json!({
            "elicitation": { "form": {}, "url": {} }, "sampling": {}, "roots": { "listChanged": true }
        }))
        .expect("these are capabilities");
        let mut offered = server::Config::new("server", "1");
        offered.revisions = revisions.to_vec();
        let list = || {
            Some(ListCapability {
                list_changed: Some(true),
                ..ListCapability::default()
            })
        };
        offered.capabilities = ServerCapabilities {
            tools: list(),
            prompts: list(),
            logging: Some(Extra::new()),
            resources: Some(ResourcesCapability {
                subscribe: Some(true),
                list_changed: Some(true),
                ..ResourcesCapability::default()
            }),
            ..ServerCapabilities::default()
        };
        Self::with_configs(config, offered)
    }

    /// A pair from both sides' configurations.
    pub fn with_configs(client: client::Config, server: server::Config) -> Self {
        Self {
            client: client::Connection::new(client, Duration::ZERO),
            server: server::Connection::new(Arc::new(server)),
            now: Duration::ZERO,
            latency: Duration::from_millis(10),
            events: Vec::new(),
            accepted: Vec::new(),
            cancelled: Vec::new(),
            answered: Vec::new(),
            sent: Vec::new(),
            to_server: Lane::default(),
            to_client: Lane::default(),
        }
    }

    /// A pair that is connected with one revision.
    pub fn connected(revision: Revision) -> Self {
        let mut pair = Self::new(client::Opening::Fixed(revision), &Revision::ALL);
        pair.run();
        assert_eq!(
            pair.client.agreement().map(|agreed| agreed.profile.revision),
            Some(revision),
            "connected"
        );
        pair.events.clear();
        pair
    }

    /// Lets a fault befall the next message that flies one way; further ones befall those behind it.
    pub fn fault(&mut self, direction: Direction, fault: Fault) {
        match direction {
            Direction::ToServer => self.to_server.faults.push_back(fault),
            Direction::ToClient => self.to_client.faults.push_back(fault),
        }
    }

    /// Sends a request and takes what both sides want to send.
    pub fn request(&mut self, method: Method, params: Value) -> RequestId {
        self.request_with(method, params, &client::RequestOptions::default())
    }

    /// The same, with options.
    pub fn request_with(&mut self, method: Method, params: Value, options: &client::RequestOptions) -> RequestId {
        let Value::Object(params) = params else {
            panic!("params are an object")
        };
        let id = self
            .client
            .request(self.now, method, &params, options)
            .expect("the request is sent");
        self.transmit();
        id
    }

    /// Finishes the oldest request that the server accepted.
    pub fn finish_first(&mut self, result: Value) -> RequestId {
        let (id, _) = self.accepted.remove(0);
        self.finish(&id, Ok(result));
        id
    }

    /// Finishes one request.
    pub fn finish(&mut self, id: &RequestId, outcome: Result<Value, ErrorObject>) {
        let outcome = outcome.map(|value| JsonText::write(&value).expect("a value is JSON"));
        self.server.finish(id, outcome);
        self.transmit();
    }

    /// Lets the server ask its client (legacy).
    pub fn ask(&mut self, request: &InputRequest, timeouts: trunkline::proto::Timeouts) -> server::AskId {
        let ask = self
            .server
            .ask(self.now, request, timeouts)
            .expect("the question is sent");
        self.transmit();
        ask
    }

    /// Brings bytes to the server as if the client had sent them, at once.
    pub fn inject(&mut self, message: &str) {
        let now = self.now;
        let incoming = self.server.handle_message(now, message.as_bytes());
        self.note(incoming);
        self.transmit();
    }

    /// Hands everything that both sides want to send to the network.
    pub fn transmit(&mut self) {
        while let Some(message) = self.client.poll_transmit() {
            self.sent
                .push((Direction::ToServer, String::from_utf8_lossy(&message).into_owned()));
            self.to_server.send(self.now, self.latency, message);
        }
        while let Some(message) = self.server.poll_transmit() {
            self.send_to_client(message);
        }
    }

    fn send_to_client(&mut self, message: Vec<u8>) {
        self.sent
            .push((Direction::ToClient, String::from_utf8_lossy(&message).into_owned()));
        self.to_client.send(self.now, self.latency, message);
    }

    /// Delivers what is in flight until nothing flies any more. Timeouts do not fire.
    pub fn run(&mut self) {
        self.transmit();
        while let Some(at) = self.to_server.next().into_iter().chain(self.to_client.next()).min() {
            self.now = self.now.max(at);
            self.deliver();
        }
        self.take_events();
    }

    /// Moves the clock, delivering what arrives and firing what is due on the way.
    pub fn advance(&mut self, by: Duration) {
        let until = self.now + by;
        loop {
            self.transmit();
            let flights = self.to_server.next().into_iter().chain(self.to_client.next());
            let timers = self.client.poll_timeout().into_iter().chain(self.server.poll_timeout());
            let Some(at) = flights.chain(timers).min().filter(|at| *at <= until) else {
                break;
            };
            self.now = self.now.max(at);
            self.deliver();
            self.client.handle_timeout(self.now);
            for incoming in self.server.handle_timeout(self.now) {
                self.note(incoming);
            }
            self.take_events();
        }
        self.now = until;
    }

    fn deliver(&mut self) {
        for message in self.to_server.arrived(self.now) {
            let incoming = self.server.handle_message(self.now, &message);
            self.note(incoming);
        }
        for message in self.to_client.arrived(self.now) {
            self.client.handle_message(self.now, &message);
        }
        self.take_events();
        self.transmit();
    }

    fn take_events(&mut self) {
        while let Some(event) = self.client.poll_event() {
            self.events.push(event);
        }
    }

    /// The answers that the client got for a request. A request must never get more than one.
    pub fn answers(&self, id: &RequestId) -> Vec<&client::Answer> {
        let matching =
            |event: &'_ client::Event| matches!(event, client::Event::Answered { id: seen, .. } if seen == id);
        self.events
            .iter()
            .filter(|event| matching(event))
            .filter_map(|event| match event {
                client::Event::Answered { answer, .. } => Some(answer),
                _ => None,
            })
            .collect()
    }

    fn note(&mut self, incoming: server::Incoming<'_>) {
        match incoming {
            server::Incoming::Request(request) => self.accepted.push((request.id.clone(), request.method)),
            server::Incoming::Cancelled { id, rest } => {
                self.accepted.retain(|(running, _)| *running != id);
                self.cancelled.push(id);
                if let Some(rest) = rest {
                    self.send_to_client(rest);
                }
            }
            server::Incoming::Batch(all) => all.into_iter().for_each(|incoming| self.note(incoming)),
            server::Incoming::Answered(_, outcome) => {
                let outcome = outcome.map(|raw| serde_json::from_str(raw.get()).expect("a result is JSON"));
                self.answered.push(outcome);
            }
            server::Incoming::Ready
            | server::Incoming::RootsChanged
            | server::Incoming::TasksWatched(_)
            | server::Incoming::Nothing => {}
        }
    }
}
