//! Servers that can be connected to again and again, and what is remembered of them.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Mutex;
use std::time::Duration;

#[cfg(feature = "http")]
use trunkline_http::client::Remote;
use trunkline_transport::{Command, Transport, TransportError};
use trunkline_types::Revision;

use crate::lock;

/// How long the end of a connection may take, where the transport does not bound it itself.
const CLOSE_WAIT: Duration = Duration::from_secs(10);
/// Servers whose era is remembered.
const REMEMBERED: usize = 64;

/// Where a server is, and how it is reached.
pub(crate) enum Address {
    Command(Command),
    #[cfg(feature = "http")]
    Remote(Remote),
}

/// A transport that was opened, and what is to be known about it.
pub(crate) struct Link {
    pub(crate) transport: Box<dyn Transport>,
    /// How long its end may take; none where it bounds that itself.
    pub(crate) close_wait: Option<Duration>,
    pub(crate) over_http: bool,
}

impl Link {
    pub(crate) fn given(transport: Box<dyn Transport>) -> Self {
        Self {
            transport,
            close_wait: Some(CLOSE_WAIT),
            over_http: false,
        }
    }
}

impl Address {
    /// What its era is remembered under: a command line, or an address without its query, which may hold secrets.
    ///
    /// The rule speaks of the origin; behind one origin there are servers of both eras, told apart by their paths
    /// (<https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#backward-compatibility-with-initialization-based-versions>).
    pub(crate) fn key(&self) -> String {
        match self {
            Self::Command(command) => command.to_string(),
            #[cfg(feature = "http")]
            Self::Remote(remote) => remote.without_query().to_owned(),
        }
    }

    /// Whether only legacy servers are reached this way.
    pub(crate) fn is_legacy(&self) -> bool {
        match self {
            Self::Command(_) => false,
            #[cfg(feature = "http")]
            Self::Remote(remote) => remote.is_http_sse(),
        }
    }

    pub(crate) async fn open(&self) -> Result<Link, TransportError> {
        let (transport, over_http): (Box<dyn Transport>, bool) = match self {
            Self::Command(command) => (Box::new(command.start().await?), false),
            #[cfg(feature = "http")]
            Self::Remote(remote) => (Box::new(remote.open()?), true),
        };
        Ok(Link {
            transport,
            close_wait: None,
            over_http,
        })
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command(command) => command.fmt(f),
            #[cfg(feature = "http")]
            Self::Remote(remote) => remote.fmt(f),
        }
    }
}

/// Servers that were found to be legacy, so that they are not probed again.
pub(crate) static LEGACY: Memory = Memory(Mutex::new(VecDeque::new()));

/// The revisions of servers, by the keys of their addresses.
pub(crate) struct Memory(Mutex<VecDeque<(String, Revision)>>);

impl Memory {
    pub(crate) fn recall(&self, key: &str) -> Option<Revision> {
        let memory = lock(&self.0);
        memory
            .iter()
            .find(|(known, _)| known == key)
            .map(|(_, revision)| *revision)
    }

    pub(crate) fn forget(&self, key: &str) {
        lock(&self.0).retain(|(known, _)| known != key);
    }

    pub(crate) fn remember(&self, key: String, revision: Revision) {
        self.forget(&key);
        let mut memory = lock(&self.0);
        if memory.len() == REMEMBERED {
            memory.pop_front();
        }
        memory.push_back((key, revision));
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
