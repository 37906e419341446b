//! What an endpoint accepts and keeps.

use std::time::Duration;

use trunkline_transport::DEFAULT_MAX_MESSAGE;

/// What an endpoint accepts and keeps, for [`Endpoint::new`](super::Endpoint::new).
///
/// The defaults suit a server on this machine: only clients of this machine may name it, and web pages only if
/// they were loaded from this machine. Behind a reverse proxy, name the hosts under which the proxy calls it:
///
/// ```
/// use trunkline_http::server::Options;
///
/// let options = Options::default()
///     .allow_host("mcp.example.com")
///     .allow_origin("https://app.example.com");
/// assert_eq!(options.max_sessions, 10_000);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// The most bytes that the body of a request may have. Default 16 MiB.
    pub max_message: usize,
    /// How many bytes of bodies that are not whole are held at once, of all requests together. Default 256 MiB;
    /// beyond it, requests are refused with 503.
    pub receive_bytes: usize,
    /// How long a body may take, and as long again for each further 64 KiB of it. Default 30 s.
    pub body_wait: Duration,
    /// How many legacy sessions are kept. Default 10,000; further ones are refused with 503.
    pub max_sessions: usize,
    /// How long a session is kept that nobody uses: no request comes, and no connection waits or listens. Default 30
    /// minutes. What still runs in it is stopped then.
    pub session_idle: Duration,
    /// How many bytes are kept for clients that may come back for the rest of a stream (legacy), in all sessions
    /// together. Default 64 MiB; beyond it, what was sent already is not kept.
    pub resume_bytes: usize,
    /// After how much silence a waiting client gets a sign of life. Default 15 s, at least 10 ms.
    pub keep_alive: Duration,
    /// How long a client should wait before it comes back to a stream that broke (legacy). Default 1 s.
    pub retry: Duration,
    /// Whether every answer to a request begins as a stream at once, before its handler speaks. Default no: for
    /// clients and proxies that must see a sign of life sooner than [`keep_alive`](Self::keep_alive) gives one.
    pub stream_at_once: bool,
    pub(super) hosts: Allowed,
    pub(super) origins: Allowed,
}

/// Which names are allowed beside those of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Allowed {
    Any,
    Listed(Vec<String>),
}

impl Allowed {
    fn add(&mut self, name: String) {
        if let Self::Listed(names) = self {
            names.push(name.to_ascii_lowercase());
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            max_message: DEFAULT_MAX_MESSAGE,
            receive_bytes: 256 * 1024 * 1024,
            body_wait: Duration::from_secs(30),
            max_sessions: 10_000,
            session_idle: Duration::from_secs(30 * 60),
            resume_bytes: 64 * 1024 * 1024,
            keep_alive: Duration::from_secs(15),
            retry: Duration::from_secs(1),
            stream_at_once: false,
            hosts: Allowed::Listed(Vec::new()),
            origins: Allowed::Listed(Vec::new()),
        }
    }
}

impl Options {
    /// Allows requests to this host, with or without a port: `mcp.example.com`, `mcp.example.com:8443`. Without a
    /// port any port will do. `localhost` and addresses, as opposed to names, are always allowed.
    pub fn allow_host(mut self, host: impl Into<String>) -> Self {
        self.hosts.add(host.into());
        self
    }

    /// Allows requests to any host. Only where something in front of the server checks it: a web page can otherwise
    /// reach a server on its visitor's machine
    /// ([DNS rebinding](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#security-%26-endpoint)).
    pub fn allow_any_host(mut self) -> Self {
        self.hosts = Allowed::Any;
        self
    }

    /// Allows requests from pages of this origin: `https://app.example.com`. Pages that were loaded from this
    /// machine are always allowed; their browser is told so by CORS headers.
    pub fn allow_origin(mut self, origin: impl Into<String>) -> Self {
        self.origins.add(origin.into());
        self
    }

    /// Allows requests from pages of any origin: for public servers that nobody is logged in to by being where they
    /// are.
    pub fn allow_any_origin(mut self) -> Self {
        self.origins = Allowed::Any;
        self
    }

    /// The same options, with every answer to a request as a stream.
    pub fn with_stream_at_once(mut self) -> Self {
        self.stream_at_once = true;
        self
    }

    /// The same options with another bound for bodies, in bytes.
    pub fn with_max_message(mut self, bytes: usize) -> Self {
        self.max_message = bytes;
        self
    }

    /// The same options with another bound for sessions.
    pub fn with_max_sessions(mut self, sessions: usize) -> Self {
        self.max_sessions = sessions;
        self
    }

    /// The same options with another time that unused sessions are kept for.
    pub fn with_session_idle(mut self, wait: Duration) -> Self {
        self.session_idle = wait;
        self
    }

    /// The same options with another silence after which a waiting client gets a sign of life.
    pub fn with_keep_alive(mut self, wait: Duration) -> Self {
        self.keep_alive = wait;
        self
    }

    /// The same options with another wait before a client should come back to a broken stream.
    pub fn with_retry(mut self, wait: Duration) -> Self {
        self.retry = wait;
        self
    }
}
