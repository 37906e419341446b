//! One HTTP request on its way, with the headers that it needs and the redirects that it may follow.

use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Request, Response, StatusCode, Uri};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::client::legacy::{Client, ResponseFuture};
use hyper_util::rt::{TokioExecutor, TokioTimer};

use super::connector::{Connector, chain, tls_hint};
use super::failure::Failure;
use super::proxy::Routes;
use super::url::{self, Origin};
use crate::header::SESSION_ID;

/// Redirects of one request that are followed.
pub(crate) const MAX_REDIRECTS: u8 = 5;
/// How long a connection that is not needed is kept: less than servers and what stands before them usually keep it.
const IDLE: Duration = Duration::from_secs(50);

/// Sends HTTP requests to one server over pooled connections.
#[derive(Debug)]
pub(crate) struct Sender {
    client: Client<Connector, Full<Bytes>>,
    routes: Arc<Routes>,
    /// The headers of the endpoint, for its origin only.
    own: HeaderMap,
    origin: Origin,
}

/// What is to be sent, and sent again where a redirect leads.
#[derive(Clone, Debug)]
pub(crate) struct Outline {
    pub(crate) method: Method,
    pub(crate) url: Uri,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) body: Bytes,
}

impl Sender {
    pub(crate) fn new(url: &Uri, own: HeaderMap, routes: Routes, connect_wait: Duration) -> Self {
        let routes = Arc::new(routes);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .build(Connector::new(Arc::clone(&routes), connect_wait));
        Self {
            client,
            routes,
            own,
            origin: Origin::of(url),
        }
    }

    pub(crate) fn fetch(&self, outline: Outline) -> Fetch {
        Fetch {
            response: self.send(&outline),
            outline,
            redirects: 0,
        }
    }

    fn send(&self, outline: &Outline) -> ResponseFuture {
        let is_own = Origin::of(&outline.url) == self.origin;
        let mut request = Request::new(Full::new(outline.body.clone()));
        *request.method_mut() = outline.method.clone();
        *request.uri_mut() = outline.url.clone();
        let headers = request.headers_mut();
        headers.insert(header::USER_AGENT, USER_AGENT);
        if is_own {
            headers.extend(self.own.clone());
        }
        for (name, value) in &outline.headers {
            // A session id is a secret of the one origin that gave it.
            if is_own || *name != SESSION_ID {
                headers.insert(name, value.clone());
            }
        }
        // A proxy that reads the request is told who asks; a tunnel was told when it was opened.
        if !url::is_https(&outline.url)
            && let Ok(Some(proxy)) = self.routes.to(&outline.url)
            && let Some(auth) = proxy.auth
        {
            headers.insert(header::PROXY_AUTHORIZATION, auth);
        }
        self.client.request(request)
    }
}

const USER_AGENT: HeaderValue = HeaderValue::from_static(concat!("trunkline/", env!("CARGO_PKG_VERSION")));

/// A request that waits for the head of its answer.
#[derive(Debug)]
pub(crate) struct Fetch {
    outline: Outline,
    response: ResponseFuture,
    redirects: u8,
}

impl Fetch {
    /// The address that is asked by now, fit to be shown.
    pub(crate) fn address(&self) -> String {
        url::shown(&self.outline.url)
    }

    /// The answer, after the redirects that were followed.
    pub(crate) fn poll(&mut self, sender: &Sender, cx: &mut Context<'_>) -> Poll<Result<Response<Incoming>, Failure>> {
        loop {
            let answer = ready!(std::pin::Pin::new(&mut self.response).poll(cx));
            let response = match answer {
                Ok(response) => response,
                Err(error) => return Poll::Ready(Err(self.failed(&error))),
            };
            if !matches!(response.status().as_u16(), 301..=303 | 307 | 308) {
                return Poll::Ready(Ok(response));
            }
            let target = response.headers().get(header::LOCATION);
            let target = target.map(|target| String::from_utf8_lossy(target.as_bytes()).into_owned());
            match self.target(response.status(), target.as_deref()) {
                Ok(next) => self.outline.url = next,
                Err(why) => return Poll::Ready(Err(Failure::refused(response.status(), why))),
            }
            self.redirects += 1;
            self.response = sender.send(&self.outline);
        }
    }

    /// Where a redirect leads, if it may be followed: a body is sent again only where the status says so, and what
    /// was encrypted is not sent in the clear.
    fn target(&self, status: StatusCode, location: Option<&str>) -> Result<Uri, String> {
        let from = url::shown(&self.outline.url);
        let Some(location) = location else {
            return Err(format!("{from} redirects ({status}) without saying where to"));
        };
        let resolved = url::resolve(&self.outline.url, location);
        let to = resolved
            .as_ref()
            .map_or_else(|_| trunkline_types::clip(url::without_secrets(location)), url::shown);
        let refuse = |why: &str| Err(format!("{from} redirects ({status}) to {to}: {why}"));
        let next = match resolved {
            Ok(next) => next,
            Err(why) => return refuse(why),
        };
        let repeats_body = matches!(status.as_u16(), 307 | 308);
        let may_follow = repeats_body || (self.outline.method == Method::GET && matches!(status.as_u16(), 301 | 302));
        if !may_follow {
            return refuse("a request with a body does not follow that");
        }
        if url::is_https(&self.outline.url) && !url::is_https(&next) {
            return refuse("what is encrypted is not sent on in the clear");
        }
        if self.redirects == MAX_REDIRECTS {
            return refuse(&format!("{MAX_REDIRECTS} redirects were followed already"));
        }
        Ok(next)
    }

    fn failed(&self, error: &hyper_util::client::legacy::Error) -> Failure {
        let url = self.address();
        // The first link of the chain only says which of both it was.
        let source = std::error::Error::source(error);
        let hint = source
            .and_then(tls_hint)
            .map(|hint| format!(" ({hint})"))
            .unwrap_or_default();
        let cause = source.map_or_else(|| error.to_string(), chain) + &hint;
        if error.is_connect() {
            Failure::unreachable(format!("{url} cannot be reached: {cause}"))
        } else {
            Failure::broken(format!("{url} did not answer: {cause}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::remote::Proxies;
    use super::*;

    fn target(method: Method, url: &str, status: u16, location: Option<&str>, redirects: u8) -> Result<String, String> {
        // The client of the pool needs a runtime to exist.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let _entered = runtime.enter();
        let url: Uri = url.parse().unwrap();
        let routes = Routes::new(&Proxies::Direct).unwrap();
        let sender = Sender::new(&url, HeaderMap::new(), routes, Duration::from_secs(1));
        let mut fetch = sender.fetch(Outline {
            method,
            url,
            headers: Vec::new(),
            body: Bytes::new(),
        });
        fetch.redirects = redirects;
        let target = fetch.target(StatusCode::from_u16(status).unwrap(), location);
        target.map(|url| url.to_string())
    }

    #[test]
    fn a_body_is_repeated_only_where_the_status_says_so() {
        let post = |status| target(Method::POST, "http://h/mcp", status, Some("/mcp/"), 0);
        for status in [307, 308] {
            assert_eq!(post(status).unwrap(), "http://h/mcp/");
        }
        for status in [301, 302, 303] {
            let why = post(status).unwrap_err();
            assert!(
                why.contains("http://h/mcp/") && why.contains("does not follow that"),
                "{why}"
            );
        }
        let get = |status| target(Method::GET, "http://h/mcp", status, Some("/mcp/"), 0);
        assert!([301, 302, 307, 308].into_iter().all(|status| get(status).is_ok()));
        assert!(get(303).is_err());
    }

    #[test]
    fn redirects_have_a_number_and_a_direction() {
        let post = |url, location, redirects| target(Method::POST, url, 307, location, redirects);
        assert!(post("http://h/", Some("https://h/"), MAX_REDIRECTS - 1).is_ok());
        assert!(
            post("http://h/", Some("https://h/"), MAX_REDIRECTS)
                .unwrap_err()
                .contains("5 redirects")
        );
        assert!(
            post("https://h/", Some("http://h/x?key=secret"), 0)
                .unwrap_err()
                .contains("http://h/x: what is")
        );
        assert!(post("http://h/", None, 0).unwrap_err().contains("without saying where"));
        assert!(post("http://h/", Some("ftp://h/"), 0).unwrap_err().contains("ftp://h/"));
        for hidden in ["ftp://h/x?key=secret", "http://kim:secret@h/x", "ftp://h/x#secret"] {
            let said = post("http://h/", Some(hidden), 0).unwrap_err();
            assert!(said.contains("h/x: it") && !said.contains("secret"), "{said}");
        }
    }
}
