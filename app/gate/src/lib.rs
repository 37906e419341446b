//! The gate: the one way from a proposal to a server, and back.
//!
//! A call passes these stages, in this order, each a small module: **resolve** the public name to one server and tool,
//! **validate** the arguments against the tool's schema, **decide** (permit, ask, refuse), **approve** by a person over
//! the exact bytes, **execute**, **verify** what came back, **record** decision and outcome. Only the stages themselves
//! can make an [`Approved`] call, and only an approved call is executed.
//!
//! What this crate is not: it knows no model, reads no configuration and prints nothing.
//!
//! - [`Gate`] owns the clients: it connects to all servers at once, and ends them all.
//! - [`Catalogue`] holds what they offer, under names that are unique and stable ([`public_name`]).
//! - [`Outcome`] is how a call ended; an unknown outcome is not a failure.
//! - [`Approver`] asks a person, [`Watch`] hears what goes on.
//! - [`text`] makes a server's text fit to show.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! use trunkline_gate::client::{Client, Command};
//! use trunkline_gate::{Gate, Proposal, ServerSpec, ServerState, Trust};
//!
//! let weather = Client::command(Command::new("no-such-weather-server"));
//! let gate = Gate::builder().server(ServerSpec::new("weather", weather).trust(Trust::Trusted)).connect().await;
//! assert_eq!(gate.reports()[0].state, ServerState::Failed);
//!
//! let report = gate.call(Proposal::new("weather__get_weather", serde_json::json!({ "city": "Seoul" }))).await;
//! assert_eq!(report.outcome.kind(), "invalid");
//! gate.close().await;
//! # }
//! ```
//!
//! | bound | value |
//! | --- | --- |
//! | public name | 64 characters ([`MAX_NAME`]) |
//! | a server's start, connection and list of tools | 20 s ([`DEFAULT_CONNECT_WAIT`]) |
//! | a call without a sign of progress | 60 s ([`DEFAULT_CALL_WAIT`]); ten times that in all |
//! | text, and structured result, that a model is given | 256 KiB ([`DEFAULT_MAX_TEXT`]) |
//! | an approval until it is used | 5 min ([`APPROVAL_LASTS`]) |
//! | arguments that a person is asked about | 64 KiB ([`MAX_ASKED`]) |
//! | a server's answer about which changes it tells of | 2 s; it is used without one |

mod call;
mod catalogue;
mod changes;
mod gate;
mod listen;
mod name;
mod offers;
mod server;
pub mod text;
mod watch;

pub use call::execute::APPROVAL_LASTS;
pub use call::unknown::same_form;
pub use call::verify::DEFAULT_MAX_TEXT;
pub use call::{
    Answer, Approved, Approver, DecidedBy, Decision, MAX_ASKED, Outcome, Proposal, Question, Report, ToolCall, Verdict,
};
pub use catalogue::{Catalogue, OfferedTool, SetAside, Trust, near};
pub use gate::{Builder, Gate};
pub use name::{MAX_NAME, public_name};
pub use offers::{Filled, Offer, OfferError, Offers, ReadOut};
pub use server::{DEFAULT_CALL_WAIT, DEFAULT_CONNECT_WAIT, ServerReport, ServerSpec, ServerState};
/// The client that the gate drives, for those who set it up.
pub use trunkline_client as client;
/// The recording that the gate fills.
pub use trunkline_journal as journal;
/// The check of forms and arguments.
pub use trunkline_schema as schema;
pub use watch::{News, Watch};
