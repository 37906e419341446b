//! From a server's address to a connection.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use trunkline_proto::Timeouts;
use trunkline_proto::client::{Agreement, Config, ConnectError as HandshakeError, Opening};
use trunkline_transport::{Command, Tap, Transport, TransportError, TransportErrorKind, tapped};
use trunkline_types::{Era, Extension, Implementation, Revision};

use crate::cache::Lists;
use crate::client::Inner;
use crate::driver::run;
use crate::feed::feed;
use crate::inputs::{Answers, AnyInputs, NoInputs};
use crate::notices::NOTICES_HELD;
use crate::ports::{Ports, SUBMITTED, Stage, State};
use crate::{Client, ConnectError, Inputs, lock};

/// How long the end of a connection may take, where the transport does not bound it itself.
const CLOSE_WAIT: Duration = Duration::from_secs(10);
/// Command lines whose era is remembered.
const REMEMBERED: usize = 64;

/// A server to connect to, from [`Client::spawn`] and the like. It cannot call anything yet.
#[must_use = "nothing is connected until `connect` is awaited"]
pub struct Connector {
    source: Source,
    config: Config,
    inputs: Arc<dyn AnyInputs>,
    tap: Option<Arc<dyn Tap>>,
    tasks: bool,
}

enum Source {
    Command(Command),
    Transport(Box<dyn Transport>),
}

impl Connector {
    pub(crate) fn command(command: Command) -> Self {
        Self::new(Source::Command(command))
    }

    pub(crate) fn over(transport: Box<dyn Transport>) -> Self {
        Self::new(Source::Transport(transport))
    }

    fn new(source: Source) -> Self {
        Self {
            source,
            config: Config::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")),
            inputs: Arc::new(NoInputs),
            tap: None,
            tasks: true,
        }
    }

    /// Who we say we are. Default: this crate and its version.
    pub fn name(self, name: impl Into<String>, version: impl Into<String>) -> Self {
        self.info(Implementation::new(name, version))
    }

    /// Who we say we are, in full.
    pub fn info(mut self, info: Implementation) -> Self {
        self.config.info = info;
        self
    }

    /// Answers what the server asks for. Default: nothing is offered.
    pub fn inputs(mut self, inputs: impl Inputs) -> Self {
        self.inputs = Arc::new(inputs);
        self
    }

    /// Whether the server may make tasks of calls, which are then followed to their end. Default: yes.
    pub fn tasks(mut self, may: bool) -> Self {
        self.tasks = may;
        self
    }

    /// How the connection begins. Default: by finding out what the server speaks.
    pub fn opening(mut self, opening: Opening) -> Self {
        self.config.opening = opening;
        self
    }

    /// How long an answer is waited for, unless a call says otherwise.
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.config.timeouts = timeouts;
        self
    }

    /// How long the server may be silent before it is taken for a legacy one. Default 3 s.
    pub fn probe(mut self, wait: Duration) -> Self {
        self.config.probe = wait;
        self
    }

    /// How long the handshake may take. Default 30 s.
    pub fn handshake(mut self, wait: Duration) -> Self {
        self.config.handshake = wait;
        self
    }

    /// Hears every message in both directions, and a child's stderr.
    pub fn tap(mut self, tap: Arc<dyn Tap>) -> Self {
        self.tap = Some(tap);
        self
    }

    /// Connects. A program that ends because of the probe for its era is started once more without it; what
    /// was learned is remembered for its command line as long as this process lives.
    ///
    /// # Errors
    /// If the server cannot be reached, or nothing can be agreed with it.
    pub async fn connect(self) -> Result<Client, ConnectError> {
        let Self {
            source,
            mut config,
            inputs,
            tap,
            tasks,
        } = self;
        let answers = Answers::new(inputs);
        config.capabilities = answers.capabilities().clone();
        if tasks {
            config.capabilities.add_extension(Extension::Tasks);
        }
        let attempt = Attempt { config, answers, tap };
        match source {
            Source::Transport(transport) => attempt.connect(transport, Some(CLOSE_WAIT)).await,
            Source::Command(command) => attempt.start(&command).await,
        }
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let source: &dyn fmt::Debug = match &self.source {
            Source::Command(command) => command,
            Source::Transport(_) => &"a transport",
        };
        f.debug_struct("Connector")
            .field("source", source)
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

/// What every attempt to connect needs.
struct Attempt {
    config: Config,
    answers: Answers,
    tap: Option<Arc<dyn Tap>>,
}

impl Attempt {
    async fn start(mut self, command: &Command) -> Result<Client, ConnectError> {
        if self.config.opening != Opening::Auto {
            return self.spawn(command).await;
        }
        let line = command.to_string();
        let remembered = LEGACY.recall(&line);
        if let Some(revision) = remembered {
            self.config.opening = Opening::Fixed(revision);
            match self.spawn(command).await {
                Err(ConnectError::Handshake(error, diagnosis)) => {
                    LEGACY.forget(&line);
                    if error == HandshakeError::Silent {
                        return Err(ConnectError::Handshake(error, diagnosis));
                    }
                    // The program may have been replaced by a newer one.
                }
                connected => return connected,
            }
            self.config.opening = Opening::Auto;
        }
        let mut connected = self.spawn(command).await;
        // A legacy server may die of the probe, at once or after it has refused it.
        if let (None, Err(ConnectError::Handshake(HandshakeError::Ended { .. }, _))) = (remembered, &connected) {
            self.config.opening = Opening::Fixed(Revision::LATEST_LEGACY);
            connected = self.spawn(command).await;
        }
        if let Ok(client) = &connected
            && client.agreement().profile.era == Era::Legacy
        {
            LEGACY.remember(line, client.agreement().profile.revision);
        }
        connected
    }

    async fn spawn(&self, command: &Command) -> Result<Client, ConnectError> {
        // A child bounds its own shutdown.
        self.connect(Box::new(command.spawn()?), None).await
    }

    async fn connect(
        &self,
        transport: Box<dyn Transport>,
        close_wait: Option<Duration>,
    ) -> Result<Client, ConnectError> {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            let message = "cannot connect: call this on a tokio runtime";
            return Err(TransportError::new(TransportErrorKind::Setup, message).into());
        };
        let transport = match &self.tap {
            Some(tap) => Box::new(tapped(transport, Arc::clone(tap))),
            None => transport,
        };
        let (requests, submitted) = mpsc::channel(SUBMITTED);
        let (control, controlled) = mpsc::unbounded_channel();
        let (connecting, connected) = oneshot::channel();
        let (notices, noticed) = feed(NOTICES_HELD);
        let (stage, staged) = watch::channel(Stage::Open);
        let state = Arc::new(State::default());
        let ports = Ports {
            requests: submitted,
            control: controlled,
            connecting,
            notices,
            stage,
            state: Arc::clone(&state),
            answers: self.answers.clone(),
        };
        runtime.spawn(run(transport, self.config.clone(), ports, close_wait));
        let Ok(connected) = connected.await else {
            let why = "the task of the connection ended".to_owned();
            return Err(ConnectError::Handshake(HandshakeError::Invalid(why), None));
        };
        let agreement: Agreement = connected?;
        Ok(Client {
            inner: Arc::new(Inner {
                agreement,
                requests,
                control,
                stage: staged,
                state,
                answers: self.answers.clone(),
                timeouts: self.config.timeouts,
                log_level: Mutex::default(),
                lists: Lists::default(),
                notices: noticed,
                notices_taken: AtomicBool::new(false),
            }),
        })
    }
}

/// Programs that were found to be legacy, so that they are not probed again.
static LEGACY: Memory = Memory(Mutex::new(VecDeque::new()));

struct Memory(Mutex<VecDeque<(String, Revision)>>);

impl Memory {
    fn recall(&self, line: &str) -> Option<Revision> {
        let memory = lock(&self.0);
        memory
            .iter()
            .find(|(known, _)| known == line)
            .map(|(_, revision)| *revision)
    }

    fn forget(&self, line: &str) {
        lock(&self.0).retain(|(known, _)| known != line);
    }

    fn remember(&self, line: String, revision: Revision) {
        self.forget(&line);
        let mut memory = lock(&self.0);
        if memory.len() == REMEMBERED {
            memory.pop_front();
        }
        memory.push_back((line, revision));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_eras_is_bounded_and_forgets_the_oldest() {
        let memory = Memory(Mutex::default());
        for n in 0..=REMEMBERED {
            memory.remember(n.to_string(), Revision::LATEST_LEGACY);
        }
        assert_eq!(memory.recall("0"), None);
        assert_eq!(memory.recall("1"), Some(Revision::LATEST_LEGACY));
        memory.remember("1".to_owned(), Revision::LATEST_LEGACY);
        assert_eq!(lock(&memory.0).len(), REMEMBERED);
        memory.forget("1");
        assert_eq!(memory.recall("1"), None);
    }
}
