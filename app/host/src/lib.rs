//! The host: which servers there are, which model is asked, and one conversation with both.
//!
//! What this crate is not: it never sees a server's code, decides nothing about calls (the gate does), and prints
//! nothing.
//!
//! - [`config`] reads the configuration file that people already have.
//! - [`Model`] is what proposes calls and words; [`Offline`] is the one that is always there.
//! - [`ask()`] takes one question the whole way and returns a [`Run`], which serialises to what `--json` prints.
//! - [`Conversation`] holds what was said; in it every call has exactly one result.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! use trunkline_gate::Gate;
//! use trunkline_host::{Conversation, End, Offline, ask};
//!
//! let gate = Gate::builder().connect().await;
//! let run = ask(&gate, &Offline, &mut Conversation::default(), "What's the weather in Seoul?", &mut |_| ()).await;
//! assert_eq!(run.end, End::GaveUp, "without a server there is no tool");
//! # }
//! ```
//!
//! | bound | value |
//! | --- | --- |
//! | turns of the model for one question | 8 ([`MAX_TURNS`]) |
//! | calls in one turn | 16 ([`MAX_CALLS`]) |
//! | configuration file | 4 MiB ([`config::MAX_FILE`]), 128 servers ([`config::MAX_SERVERS`]) |
//! | address of a server | 8 KiB ([`config::MAX_URL`]) |
//! | headers of a server | 64 ([`config::MAX_HEADERS`]), 16 KiB in all ([`config::MAX_HEADER_BYTES`]) |

mod ask;
pub mod config;
mod conversation;
mod model;
pub mod offline;

pub use ask::{AskedModel, End, MAX_CALLS, MAX_TURNS, Offered, Run, Step, StepKind, ask};
pub use conversation::{Call, CallResult, Conversation, Message};
pub use model::{Model, ModelError, ModelTool, Offline, Proposed, Thinking, Turn, model_tools};
