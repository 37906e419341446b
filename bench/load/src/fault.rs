//! Why a measurement ended.

use std::fmt::Display;

/// Why a measurement ended, in words. Whoever passes it on says before it what was being done.
#[derive(Debug)]
pub(crate) struct Fault(String);

pub(crate) type Outcome<T> = Result<T, Fault>;

impl Fault {
    pub(crate) fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }

    pub(crate) fn during(self, what: impl Display) -> Self {
        Self(format!("{what}: {}", self.0))
    }

    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}

impl<E: std::error::Error> From<E> for Fault {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}
