//! The server's end: one endpoint that speaks every revision over HTTP.
//!
//! - [`Endpoint`]: the `tower` service, to be mounted anywhere,
//! - [`Listener`]: the plain case, an address of this machine,
//! - [`Options`]: what is accepted and kept, and who may call,
//! - [`Application`]: the seam to what answers requests.
//!
//! A modern request is a function call: it has no session, and no task unless its handler has to wait. A legacy
//! session is passive: no task waits for it.

mod accept;
mod application;
mod begun;
mod body;
mod budget;
mod endpoint;
mod headers;
mod http_sse;
mod legacy;
mod listen;
mod modern;
mod options;
mod origin;
mod reading;
mod reply;
mod running;
mod session;
mod session_id;
mod sessions;
mod stalled;
mod stream;

pub use application::{Answering, Application, ApplicationRequest, Asking, Changes, Outlet, Reply};
pub use body::Body;
pub use endpoint::Endpoint;
pub use listen::Listener;
pub use options::Options;
pub use trunkline_proto::server::News;

/// Who was authenticated. Whatever checks that puts it into the extensions of the HTTP request; a session belongs to
/// the principal that opened it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal(pub String);

fn principal(parts: &http::request::Parts) -> String {
    parts
        .extensions
        .get::<Principal>()
        .map(|principal| principal.0.clone())
        .unwrap_or_default()
}
