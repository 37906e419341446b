//! From a server's address to a connection.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
#[cfg(feature = "http")]
use trunkline_http::client::Remote;
use trunkline_proto::Timeouts;
use trunkline_proto::client::{Agreement, Config, ConnectError as HandshakeError, Opening};
use trunkline_transport::{Command, Tap, Transport, TransportError, TransportErrorKind, tapped};
use trunkline_types::{Era, Extension, Implementation, Revision};

use crate::address::{Address, LEGACY, Link};
use crate::cache::Lists;
use crate::client::Inner;
use crate::driver::run;
use crate::feed::feed;
use crate::inputs::{Answers, AnyInputs, NoInputs};
use crate::notices::NOTICES_HELD;
use crate::ports::{Ports, SUBMITTED, Stage, State};
use crate::{Client, ConnectError, Inputs};

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
    Address(Address),
    Transport(Box<dyn Transport>),
}

impl Connector {
    pub(crate) fn command(command: Command) -> Self {
        Self::new(Source::Address(Address::Command(command)))
    }

    #[cfg(feature = "http")]
    pub(crate) fn remote(remote: Remote) -> Self {
        Self::new(Source::Address(Address::Remote(remote)))
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
    /// was learned is remembered for its command line, or for an address, as long as this process lives.
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
            Source::Transport(transport) => attempt.connect(Link::given(transport)).await,
            Source::Address(address) => attempt.find_out(&address).await,
        }
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let source: &dyn fmt::Debug = match &self.source {
            Source::Address(address) => address,
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
    /// Connects with what is remembered of the server, or finds out its era and remembers that.
    async fn find_out(mut self, address: &Address) -> Result<Client, ConnectError> {
        if self.config.opening == Opening::Auto && address.is_legacy() {
            self.config.opening = Opening::Fixed(Revision::LATEST_LEGACY);
        }
        if self.config.opening != Opening::Auto {
            return self.connect(address.open().await?).await;
        }
        let key = address.key();
        let remembered = LEGACY.recall(&key);
        if let Some(revision) = remembered {
            self.config.opening = Opening::Fixed(revision);
            match self.connect(address.open().await?).await {
                // It is not there: nothing was learned about its era.
                Err(ConnectError::Handshake(HandshakeError::Undelivered(why), diagnosis)) if why.status.is_none() => {
                    return Err(ConnectError::Handshake(HandshakeError::Undelivered(why), diagnosis));
                }
                Err(ConnectError::Handshake(error, diagnosis)) => {
                    LEGACY.forget(&key);
                    if error == HandshakeError::Silent {
                        return Err(ConnectError::Handshake(error, diagnosis));
                    }
                    // The server may have been replaced by a newer one.
                }
                connected => return connected,
            }
            self.config.opening = Opening::Auto;
        }
        let mut connected = self.connect(address.open().await?).await;
        // A legacy server may die of the probe, at once or after it has refused it.
        if let (None, Err(ConnectError::Handshake(HandshakeError::Ended { .. }, _))) = (remembered, &connected) {
            self.config.opening = Opening::Fixed(Revision::LATEST_LEGACY);
            connected = self.connect(address.open().await?).await;
        }
        if let Ok(client) = &connected
            && client.agreement().profile.era == Era::Legacy
        {
            LEGACY.remember(key, client.agreement().profile.revision);
        }
        connected
    }

    async fn connect(&self, link: Link) -> Result<Client, ConnectError> {
        let Link {
            transport,
            close_wait,
            over_http,
        } = link;
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
                over_http,
                lists: Lists::default(),
                notices: noticed,
                notices_taken: AtomicBool::new(false),
            }),
        })
    }
}
