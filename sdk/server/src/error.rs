//! What can go wrong: in a tool, and in serving.

use std::fmt;

use trunkline_transport::TransportError;
use trunkline_types::{CallToolResult, ErrorObject};

use crate::InputError;
use crate::reply::complete_text;

/// Why a tool failed, in words for the model, which may try again.
///
/// Only what is written here reaches the model. An error of the tool's own insides goes through
/// [`ToolError::internal`], which keeps its details back, for [`ToolError::internal_cause`] alone. There is
/// no conversion from every error type, so that details do not slip out by a `?`.
///
/// ```
/// use trunkline_server::ToolError;
/// let error = ToolError::new("no order 17; `list_orders` shows which there are");
/// assert_eq!(error.to_string(), "no order 17; `list_orders` shows which there are");
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ToolError {
    kind: Box<Kind>,
    cause: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    /// The model reads it.
    Execution(CallToolResult),
    /// The integration is broken.
    Protocol(ErrorObject),
}

impl ToolError {
    /// An execution error: say what went wrong and what to do instead.
    pub fn new(text: impl Into<String>) -> Self {
        Self::with_result(CallToolResult::error(text))
    }

    /// An execution error with content of its own.
    pub fn with_result(mut result: CallToolResult) -> Self {
        result.is_error = Some(true);
        complete_text(&mut result);
        Self::of(Kind::Execution(result))
    }

    /// A fault inside of the tool. The model only learns that there was one; what it was stays in
    /// [`internal_cause`](Self::internal_cause). Nobody logs it by itself: log it before you return it.
    ///
    /// ```
    /// use trunkline_server::ToolError;
    ///
    /// fn read() -> Result<String, ToolError> {
    ///     std::fs::read_to_string("/no/such/file").map_err(|error| {
    ///         eprintln!("notes: {error}"); // on stderr; stdout belongs to the protocol
    ///         ToolError::internal(error)
    ///     })
    /// }
    ///
    /// let error = read().unwrap_err();
    /// assert!(!error.to_string().contains("os error"));
    /// assert!(error.internal_cause().unwrap().contains("os error"));
    /// ```
    pub fn internal(error: impl fmt::Display) -> Self {
        Self {
            cause: Some(error.to_string()),
            ..Self::new("the tool failed inside; this is not about the arguments")
        }
    }

    /// What went wrong inside, if that is why the tool failed. It is never sent to the client.
    pub fn internal_cause(&self) -> Option<&str> {
        self.cause.as_deref()
    }

    /// A protocol error: the request itself makes no sense.
    pub fn protocol(error: ErrorObject) -> Self {
        Self::of(Kind::Protocol(error))
    }

    fn of(kind: Kind) -> Self {
        Self {
            kind: Box::new(kind),
            cause: None,
        }
    }

    pub(crate) fn into_kind(self) -> Kind {
        *self.kind
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.kind {
            Kind::Execution(result) => f.write_str(&result.text()),
            Kind::Protocol(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ToolError {}

impl From<InputError> for ToolError {
    fn from(error: InputError) -> Self {
        match error.to_protocol() {
            Some(protocol) => Self::protocol(protocol),
            None => Self::new(error.to_string()),
        }
    }
}

/// A definition that cannot be served. It is noticed when it is registered and reported by `serve_*`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DefinitionError {
    /// Two things were registered under one name.
    Duplicate {
        /// What kind of thing.
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// It cannot be used.
    Unusable {
        /// What kind of thing.
        kind: &'static str,
        /// Its name.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// Its handler takes a [`State`](crate::State) that was not given to the server.
    MissingState {
        /// The tool, prompt or resource.
        name: String,
        /// The type of the state.
        state: &'static str,
    },
}

impl fmt::Display for DefinitionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Duplicate { kind, name } => write!(f, "the {kind} `{name}` is registered twice"),
            Self::Unusable { kind, name, why } => write!(f, "the {kind} `{name}` cannot be served: {why}"),
            Self::MissingState { name, state } => {
                write!(f, "`{name}` takes State<{state}>; give the server one with `.state(…)`")
            }
        }
    }
}

impl std::error::Error for DefinitionError {}

/// Why a server cannot serve, or stopped.
#[derive(Debug)]
#[non_exhaustive]
pub enum ServeError {
    /// Something that was registered cannot be served.
    Definition(DefinitionError),
    /// The transport failed.
    Transport(TransportError),
    /// The address to serve on cannot be had.
    #[cfg(feature = "http")]
    Listen(std::io::Error),
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Definition(error) => error.fmt(f),
            Self::Transport(error) => write!(f, "the connection failed: {error}"),
            #[cfg(feature = "http")]
            Self::Listen(error) => write!(f, "the address cannot be served: {error}"),
        }
    }
}

impl std::error::Error for ServeError {}

impl From<DefinitionError> for ServeError {
    fn from(error: DefinitionError) -> Self {
        Self::Definition(error)
    }
}

impl From<TransportError> for ServeError {
    fn from(error: TransportError) -> Self {
        Self::Transport(error)
    }
}
