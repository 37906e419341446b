//! One HTTP request on its way, with the headers that it needs and the redirects that it may follow.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Request, Response, StatusCode, Uri};
use http_body_util::Full;
use hyper::body::{Body, Incoming};

use super::connector::{Connector, chain, tls_hint};
use super::failure::Failure;
use super::links::{Link, Links, Opening, Responding};
use super::proxy::Routes;
use super::url::{self, Origin};
use crate::header::SESSION_ID;

/// Redirects of one request that are followed.
pub(crate) const MAX_REDIRECTS: u8 = 5;

/// Sends HTTP requests to one server over connections that it keeps.
#[derive(Debug)]
pub(crate) struct Sender {
    pub(crate) links: Links,
    routes: Arc<Routes>,
    /// The headers of the endpoint, for its origin only.
    own: HeaderMap,
    origin: Origin,
    /// The address of the endpoint, and what goes with every request to it, made once.
    url: Uri,
    base: HeaderMap,
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
        let mut sender = Self {
            links: Links::new(Connector::new(Arc::clone(&routes), connect_wait)),
            routes,
            own,
            origin: Origin::of(url),
            url: url.clone(),
            base: HeaderMap::new(),
        };
        sender.base = sender.base_for(url, true);
        sender
    }

    /// Drops the connections that are of no use any more.
    pub(crate) fn tidy(&mut self, cx: &mut Context<'_>) {
        self.links.tidy(cx);
    }

    /// A connection for a request, if one is free.
    fn link(&mut self, url: &Uri, cx: &mut Context<'_>) -> Option<Box<Link>> {
        if *url == self.url {
            self.links.take(&self.origin, cx)
        } else {
            self.links.take(&Origin::of(url), cx)
        }
    }

    fn request(&self, outline: &Outline) -> Request<Full<Bytes>> {
        let is_endpoint = outline.url == self.url;
        let is_own = is_endpoint || Origin::of(&outline.url) == self.origin;
        let mut request = Request::new(Full::new(outline.body.clone()));
        *request.method_mut() = outline.method.clone();
        *request.uri_mut() = outline.url.clone();
        let headers = request.headers_mut();
        *headers = if is_endpoint {
            self.base.clone()
        } else {
            self.base_for(&outline.url, is_own)
        };
        for (name, value) in &outline.headers {
            // A session id is a secret of the one origin that gave it.
            if is_own || *name != SESSION_ID {
                headers.insert(name, value.clone());
            }
        }
        request
    }

    /// What goes with every request to an address.
    fn base_for(&self, url: &Uri, is_own: bool) -> HeaderMap {
        let mut headers = if is_own { self.own.clone() } else { HeaderMap::new() };
        if !headers.contains_key(header::USER_AGENT) {
            headers.insert(header::USER_AGENT, USER_AGENT);
        }
        if let Some(host) = host(url) {
            headers.insert(header::HOST, host);
        }
        // A proxy that reads the request is told who asks; a tunnel was told when it was opened.
        if !url::is_https(url)
            && let Ok(Some(proxy)) = self.routes.to(url)
            && let Some(auth) = proxy.auth
        {
            headers.insert(header::PROXY_AUTHORIZATION, auth);
        }
        headers
    }
}

const USER_AGENT: HeaderValue = HeaderValue::from_static(concat!("trunkline/", env!("CARGO_PKG_VERSION")));

/// The host of an address, with its port unless everybody knows it.
fn host(url: &Uri) -> Option<HeaderValue> {
    let host = url.host()?;
    let usual = if url::is_https(url) { 443 } else { 80 };
    match url.port_u16().filter(|port| *port != usual) {
        Some(port) => HeaderValue::try_from(format!("{host}:{port}")).ok(),
        None => HeaderValue::from_str(host).ok(),
    }
}

/// The head of an answer, and the connection that its body comes from.
pub(crate) type Head = (Response<Incoming>, Box<Link>);

/// A request that waits for the head of its answer.
pub(crate) struct Fetch {
    outline: Outline,
    stage: Stage,
    redirects: u8,
}

enum Stage {
    /// To be sent, once more maybe.
    Due,
    Opening(Opening),
    Sent(Box<Link>, Responding),
}

impl Fetch {
    pub(crate) fn new(outline: Outline) -> Self {
        Self {
            outline,
            stage: Stage::Due,
            redirects: 0,
        }
    }

    /// The address that is asked by now, fit to be shown.
    pub(crate) fn address(&self) -> String {
        url::shown(&self.outline.url)
    }

    /// The answer, after the redirects that were followed.
    pub(crate) fn poll(&mut self, sender: &mut Sender, cx: &mut Context<'_>) -> Poll<Result<Head, Failure>> {
        loop {
            let link = match &mut self.stage {
                Stage::Due => {
                    let Some(link) = sender.link(&self.outline.url, cx) else {
                        self.stage = Stage::Opening(sender.links.open(&self.outline.url));
                        continue;
                    };
                    link
                }
                Stage::Opening(opening) => match ready!(opening.as_mut().poll(cx)) {
                    Ok(link) => link,
                    Err(error) => {
                        let why = format!("{} cannot be reached: {}", self.address(), cause(&*error));
                        return Poll::Ready(Err(Failure::unreachable(why)));
                    }
                },
                Stage::Sent(link, responding) => {
                    link.poll(cx);
                    let answer = ready!(responding.as_mut().poll(cx));
                    let Stage::Sent(link, _) = std::mem::replace(&mut self.stage, Stage::Due) else {
                        continue;
                    };
                    match answer {
                        Ok(response) if !is_redirect(response.status()) => return Poll::Ready(Ok((response, link))),
                        Ok(response) => {
                            self.redirect(&response)?;
                            if response.body().is_end_stream() {
                                sender.links.keep(link);
                            }
                        }
                        Err(mut error) => {
                            let unsent = error.take_message().is_some();
                            if !unsent || !link.was_used() {
                                let why = format!("{} did not answer: {}", self.address(), cause(error.error()));
                                let fail = if unsent { Failure::unreachable } else { Failure::broken };
                                return Poll::Ready(Err(fail(why)));
                            }
                            // The server had closed a connection that was kept, and nothing was sent: once more.
                        }
                    }
                    continue;
                }
            };
            self.send(sender, link);
        }
    }

    fn send(&mut self, sender: &Sender, mut link: Box<Link>) {
        let responding = link.send(sender.request(&self.outline));
        self.stage = Stage::Sent(link, responding);
    }

    /// Follows a redirect, if it may.
    fn redirect(&mut self, response: &Response<Incoming>) -> Result<(), Failure> {
        let target = response.headers().get(header::LOCATION);
        let target = target.map(|target| String::from_utf8_lossy(target.as_bytes()).into_owned());
        self.outline.url = self
            .target(response.status(), target.as_deref())
            .map_err(|why| Failure::refused(response.status(), why))?;
        self.redirects += 1;
        Ok(())
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
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301..=303 | 307 | 308)
}

/// Why there is no answer, with what can be done about it.
fn cause(error: &(dyn Error + 'static)) -> String {
    let hint = tls_hint(error).map(|hint| format!(" ({hint})")).unwrap_or_default();
    chain(error) + &hint
}

impl fmt::Debug for Fetch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fetch")
            .field("outline", &self.outline)
            .field("redirects", &self.redirects)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(method: Method, url: &str, status: u16, location: Option<&str>, redirects: u8) -> Result<String, String> {
        let mut fetch = Fetch::new(Outline {
            method,
            url: url.parse().unwrap(),
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
