//! Framed bytes between two MCP peers: memory, stdio, child process.

mod bridge;
mod child;
mod command;
mod error;
mod frame;
mod lines;
mod memory;
mod outbox;
mod process;
mod spawn_error;
mod stderr;
mod stdio;
mod tap;
mod transport;

pub use child::Child;
pub use command::{Command, INHERITED_ENV};
pub use error::{TransportError, TransportErrorKind};
pub use lines::Lines;
pub use memory::{InMemory, MEMORY_BUFFER, Memory, memory, memory_with};
pub use stdio::{Stdio, stdio, stdio_with};
pub use tap::{Direction, Tap, Tapped, tapped};
pub use transport::{DEFAULT_MAX_MESSAGE, Limits, Received, Transport};
