//! The messages of the Model Context Protocol as one neutral model.
//!
//! All five revisions share the types of this crate. Their shapes are those of the newest revision;
//! what an older one does differently is a *fact* in its [`Profile`], and nothing else in the workspace
//! compares revisions.
//!
//! What this crate is not: it opens no connection, keeps no state, knows no clock, no runtime and no
//! randomness. `trunkline-proto` builds the connection state on top of it.
//!
//! The types to know first:
//! - [`Message`]: one JSON-RPC message, its params and result still raw,
//! - [`Method`]: the table of methods, from which dispatch and documentation come,
//! - [`Revision`] and [`Profile`]: what each revision of the protocol does,
//! - [`RequestId`] and [`ErrorObject`].
//!
//! Unknown fields, content types and enum values survive decoding and encoding.
//!
//! ```
//! use trunkline_types::{Message, Method};
//!
//! let line = br#"{"jsonrpc":"2.0","id":7,"method":"tools/list"}"#;
//! let Ok(Message::Request { id, method, .. }) = Message::parse(line) else { panic!("a request") };
//! assert_eq!(id.to_string(), "7");
//! assert_eq!(Method::from_name(&method), Some(Method::ListTools));
//! ```

#[macro_use]
mod open_enum;

mod capability;
mod completion;
mod connect;
mod content;
mod elicitation;
mod envelope;
mod error;
mod id;
mod implementation;
mod input;
mod json_text;
mod logging;
mod meta;
mod method;
mod notification;
mod prompt;
mod resource;
mod result;
mod revision;
mod root;
mod sampling;
mod subscription;
mod task;
mod timestamp;
mod tool;

pub use capability::*;
pub use completion::*;
pub use connect::*;
pub use content::*;
pub use elicitation::*;
pub use envelope::*;
pub use error::*;
pub use id::*;
pub use implementation::*;
pub use input::*;
pub use json_text::*;
pub use logging::*;
pub use meta::*;
pub use method::*;
pub use notification::*;
pub use prompt::*;
pub use resource::*;
pub use result::*;
pub use revision::*;
pub use root::*;
pub use sampling::*;
pub use subscription::*;
pub use task::*;
pub use timestamp::rfc3339;
pub use tool::*;

/// Fields that this crate does not know, kept so that a message can be passed on whole.
pub type Extra = serde_json::Map<String, serde_json::Value>;
