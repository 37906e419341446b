//! The endpoint without sockets, as the `tower` service that it is: where time is paused, or where something in front
//! of it says who calls.

use std::convert::Infallible;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use trunkline_server::{HttpEndpoint, HttpPrincipal};

use crate::speak::{Client, initialize};
use crate::wire::Request;

pub(crate) type Incoming = http::Request<Full<Bytes>>;

/// A request as something in front of the endpoint hands it over.
pub(crate) fn plain(request: &Request) -> Incoming {
    let (parts, body) = request.parts();
    http::Request::from_parts(parts, Full::new(body.into()))
}

/// A request of somebody who was authenticated.
pub(crate) fn of(request: &Request, principal: &str) -> Incoming {
    let mut request = plain(request);
    request.extensions_mut().insert(HttpPrincipal(principal.to_owned()));
    request
}

/// An answer, whole.
#[derive(Debug)]
pub(crate) struct Whole {
    pub(crate) status: u16,
    pub(crate) headers: http::HeaderMap,
    pub(crate) body: Bytes,
}

impl Whole {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("the body is JSON")
    }
}

/// An answer that has begun.
pub(crate) type Begun = http::Response<trunkline_http::server::Body>;

/// The beginning of the answer to a request.
pub(crate) async fn begin<B>(endpoint: &HttpEndpoint, request: http::Request<B>) -> Begun
where
    B: http_body::Body<Data = Bytes, Error = Infallible>,
{
    endpoint.handle(request).await
}

/// The answer to a request.
pub(crate) async fn ask(endpoint: &HttpEndpoint, request: Incoming) -> Whole {
    let response = begin(endpoint, request).await;
    let (parts, body) = response.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    Whole {
        status: parts.status.as_u16(),
        headers: parts.headers,
        body,
    }
}

/// A session.
pub(crate) async fn open(endpoint: &HttpEndpoint, revision: &'static str) -> Client {
    let opened = ask(endpoint, plain(&initialize(0, revision, json!({ "elicitation": {} })))).await;
    let session = opened.headers["mcp-session-id"].to_str().unwrap().to_owned();
    Client { session, revision }
}

/// The messages of a stream, up to its end.
pub(crate) async fn read(response: Begun) -> Vec<Value> {
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let text = std::str::from_utf8(&body).unwrap();
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    let messages = data.filter(|data| !data.is_empty());
    messages.map(|data| serde_json::from_str(data).unwrap()).collect()
}
