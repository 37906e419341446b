//! The client's end of MCP over HTTP: one transport for Streamable HTTP in both eras, and for HTTP+SSE.
//!
//! [`Remote`] says where a server is; [`Http`] is the transport to it, which the driver of a client drives like any
//! other. It looks at the envelope of each message and derives from it what HTTP needs: headers, sessions, what is to
//! be resumed. Each message is a POST of its own, so one request can fail and the connection goes on:
//! [`Received::Undelivered`](trunkline_transport::Received::Undelivered).
//!
//! | bound | value |
//! | --- | --- |
//! | message received: a body, the data of an event | 16 MiB ([`Limits`](trunkline_transport::Limits)) |
//! | connection to the server, with proxy and TLS | 10 s ([`Remote::connect_wait`]) |
//! | head of the answer to a request, its stream | none here: the request's own timeout |
//! | head of the answer to anything else | 30 s |
//! | answer to a handshake made anew, after its head | 30 s |
//! | silence on a TCP connection before it counts as dead | 1 min |
//! | redirects of one request | 5 |
//! | requests that wait for their answers at the same time | 256 ([`MAX_CALLS`]); further ones wait |
//! | streams of notices | 64 ([`MAX_STREAMS`]); further ones are refused |
//! | events in a row that are no messages | 100 000 ([`MAX_JUNK`]); then the stream is given up |
//! | wait before a stream is resumed | what the server says, 0.1 s to 5 min; after failures 0.25 s to 30 s |
//! | tools whose mirrored parameters are remembered | 10 000 |
//! | body of a refusal | 64 KiB, 5 s |
//! | close | 1 s for what is still being sent, 2 s to end the session |

mod answers;
mod connector;
mod event_link;
mod exchange;
mod failure;
mod http;
mod links;
mod listening;
mod mirrors;
mod outgoing;
mod proxy;
mod reconnect;
mod remote;
mod renewal;
mod said;
mod sender;
mod sessions;
mod url;
mod wakes;

pub use self::answers::MAX_JUNK;
pub use self::http::{Http, MAX_CALLS, MAX_STREAMS};
pub use self::remote::{Proxies, Remote, RemoteKind};
