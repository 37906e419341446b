//! What a client says about itself, and what was agreed with a server.

use std::time::Duration;

use trunkline_types::{ClientCapabilities, Implementation, Profile, Revision, ServerCapabilities};

use crate::Timeouts;

/// How a connection begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Opening {
    /// By a probe with `server/discover`, falling back to `initialize`.
    #[default]
    Auto,
    /// With this revision only: a modern one is never left for the handshake, a legacy one is never probed.
    Fixed(Revision),
}

/// What a client says about itself, and its waits.
#[derive(Debug, Clone)]
pub struct Config {
    /// Who it is.
    pub info: Implementation,
    /// What it can do.
    pub capabilities: ClientCapabilities,
    /// How a connection begins.
    pub opening: Opening,
    /// How long an answer is waited for, unless a request says otherwise.
    pub timeouts: Timeouts,
    /// How long a probe may stay unanswered. Default 3 s: then the server is taken for a legacy one.
    pub probe: Duration,
    /// How long the handshake may take. Default 30 s.
    pub handshake: Duration,
}

impl Config {
    /// A client that finds out the server's era and can do nothing for it yet.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            info: Implementation::new(name, version),
            capabilities: ClientCapabilities::default(),
            opening: Opening::Auto,
            timeouts: Timeouts::default(),
            probe: Duration::from_secs(3),
            handshake: Duration::from_secs(30),
        }
    }
}

/// What a client and a server agreed on.
#[derive(Debug, Clone, PartialEq)]
pub struct Agreement {
    /// The facts of the agreed revision.
    pub profile: &'static Profile,
    /// Who the server says it is; for display only.
    pub server: Implementation,
    /// What it can do.
    pub capabilities: ServerCapabilities,
    /// How a model should use it. Text of the server's: not to be trusted.
    pub instructions: Option<String>,
}
