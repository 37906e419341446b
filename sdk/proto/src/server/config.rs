//! What a server says about itself, and its bounds.

use trunkline_types::{Era, ErrorObject, Implementation, Profile, Revision, ServerCapabilities};

use crate::Shape;

/// Bounds of one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Requests accepted and not finished. Default 1024; further ones are refused.
    pub in_flight: usize,
    /// Resources watched, and streams of notices open. Default 1024 each; further ones are refused.
    pub subscriptions: usize,
    /// Messages in one batch. Default 100; larger ones are refused.
    pub batch: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            in_flight: 1024,
            subscriptions: 1024,
            batch: 100,
        }
    }
}

/// What a server says about itself, the same on every connection.
#[derive(Debug, Clone)]
pub struct Config {
    /// Who it is.
    pub info: Implementation,
    /// What it can do.
    pub capabilities: ServerCapabilities,
    /// How a model should use it.
    pub instructions: Option<String>,
    /// The revisions it speaks, oldest first.
    pub revisions: Vec<Revision>,
    /// How many milliseconds the answer to `server/discover` may be kept.
    pub discover_ttl_ms: i64,
    /// Its bounds.
    pub limits: Limits,
}

impl Config {
    /// A server that speaks every revision and can do nothing yet.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            info: Implementation::new(name, version),
            capabilities: ServerCapabilities::default(),
            instructions: None,
            revisions: Revision::ALL.to_vec(),
            discover_ttl_ms: 3_600_000,
            limits: Limits::default(),
        }
    }

    /// The newest revision of an era that the server speaks.
    pub fn newest(&self, era: Era) -> Option<Revision> {
        self.revisions
            .iter()
            .copied()
            .filter(|revision| revision.era() == era)
            .max()
    }

    /// The names of all revisions, newest first.
    pub fn revision_names(&self) -> Vec<&'static str> {
        self.revisions.iter().rev().map(|revision| revision.name()).collect()
    }

    /// The names of the modern revisions, newest first.
    pub fn modern_names(&self) -> Vec<String> {
        let modern = self
            .revisions
            .iter()
            .rev()
            .filter(|revision| revision.era() == Era::Modern);
        modern.map(|revision| revision.name().to_owned()).collect()
    }

    /// The refusal of a revision that is not spoken. It lists what may stand in its place: the same as discovery
    /// does, or all revisions of a server that is not modern at all
    /// ([rule](https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#protocol-version-negotiation)).
    pub(crate) fn unsupported(&self, wanted: &str) -> ErrorObject {
        let mut names = self.revision_names();
        if self.newest(Era::Modern).is_some() {
            let is_modern =
                |name: &&str| Revision::from_name(name).is_some_and(|revision| revision.era() == Era::Modern);
            names.retain(is_modern);
        }
        ErrorObject::unsupported_version(wanted, &names)
    }

    /// The shape of results for a revision.
    pub fn shape<'a>(&'a self, profile: &'static Profile) -> Shape<'a> {
        Shape {
            profile,
            server: &self.info,
        }
    }
}
