//! A server's address, and how it is spoken to.

use std::fmt;
use std::time::Duration;

use http::Uri;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use trunkline_transport::{Limits, TransportError, TransportErrorKind};

use super::http::Http;
use super::proxy::Routes;
use super::sender::Sender;
use super::url;
use crate::header as mcp;

/// Default for [`Remote::connect_wait`].
const CONNECT_WAIT: Duration = Duration::from_secs(10);

/// Which of the HTTP transports a server speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RemoteKind {
    /// Streamable HTTP, or HTTP+SSE where the server refuses that.
    #[default]
    Auto,
    /// Streamable HTTP only.
    Streamable,
    /// HTTP+SSE, the transport of the first revision, only.
    HttpSse,
}

impl RemoteKind {
    /// The kind that a `type` in an `mcpServers` entry names.
    ///
    /// ```
    /// use trunkline_http::client::RemoteKind;
    /// assert_eq!(RemoteKind::from_name("http"), Some(RemoteKind::Auto));
    /// assert_eq!(RemoteKind::from_name("sse"), Some(RemoteKind::HttpSse));
    /// assert_eq!(RemoteKind::from_name("stdio"), None);
    /// ```
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            // Many files say so for servers of the first revision, whose clients find out by themselves.
            "http" => Some(Self::Auto),
            "streamable-http" | "streamableHttp" | "streamable_http" => Some(Self::Streamable),
            "sse" => Some(Self::HttpSse),
            _ => None,
        }
    }
}

/// Through which proxy servers are reached.
#[derive(Clone, Default, PartialEq, Eq)]
pub enum Proxies {
    /// As `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` say; this machine is always reached directly.
    #[default]
    Environment,
    /// None.
    Direct,
    /// This one, an `http` address, for every server. It may hold a user name and a password.
    Through(String),
}

impl fmt::Debug for Proxies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Environment => "Environment",
            Self::Direct => "Direct",
            Self::Through(_) => "Through(…)",
        })
    }
}

/// A server at an `http` or `https` address: what [`Command`](trunkline_transport::Command) is for a program.
///
/// Headers may hold secrets: `Debug` shows their names only, and of the address not its query.
///
/// ```
/// use trunkline_http::client::Remote;
///
/// let remote = Remote::new("https://h.example/mcp?key=secret").header("Authorization", "Bearer secret");
/// let shown = format!("{remote:?}");
/// assert!(shown.contains("https://h.example/mcp") && shown.contains("Authorization"));
/// assert!(!shown.contains("secret"));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Remote {
    url: String,
    kind: RemoteKind,
    headers: Vec<(String, String)>,
    proxies: Proxies,
    limits: Limits,
    connect_wait: Duration,
}

impl Remote {
    /// A server at an address. Whether it is one shows when it is opened.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            kind: RemoteKind::default(),
            headers: Vec::new(),
            proxies: Proxies::default(),
            limits: Limits::default(),
            connect_wait: CONNECT_WAIT,
        }
    }

    /// Which transport it speaks. Default: that is found out.
    pub fn kind(mut self, kind: RemoteKind) -> Self {
        self.kind = kind;
        self
    }

    /// Sends a header with every request to the server's own origin, such as one that authorizes.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sends headers.
    pub fn headers(self, headers: impl IntoIterator<Item = (impl Into<String>, impl Into<String>)>) -> Self {
        headers
            .into_iter()
            .fold(self, |remote, (name, value)| remote.header(name, value))
    }

    /// Through which proxy it is reached. Default: as the environment says.
    pub fn proxies(mut self, proxies: Proxies) -> Self {
        self.proxies = proxies;
        self
    }

    /// What is accepted from the server: one message, one event, one body.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// How long a TCP connection, with its proxy and its TLS, may take. Default 10 s.
    pub fn connect_wait(mut self, wait: Duration) -> Self {
        self.connect_wait = wait;
        self
    }

    /// The address without what may be secret in it: the query, and whoever is named before the host.
    pub fn without_query(&self) -> &str {
        url::without_secrets(&self.url)
    }

    /// Whether it speaks HTTP+SSE only, which no modern server does.
    pub fn is_http_sse(&self) -> bool {
        self.kind == RemoteKind::HttpSse
    }

    /// Whether headers or a query, which may hold secrets, go to another machine without encryption.
    ///
    /// ```
    /// use trunkline_http::client::Remote;
    ///
    /// let exposed = |url: &str| Remote::new(url).header("Authorization", "Bearer secret").exposes_secrets();
    /// assert!(exposed("http://h.example/mcp"));
    /// assert!(!exposed("https://h.example/mcp") && !exposed("http://localhost:8080/mcp"));
    /// ```
    pub fn exposes_secrets(&self) -> bool {
        url::parse(&self.url).is_ok_and(|url| {
            let elsewhere = url.host().is_some_and(|host| !url::is_loopback(host));
            elsewhere && !url::is_https(&url) && (!self.headers.is_empty() || url.query().is_some())
        })
    }

    /// Looks whether address and headers can be used, without sending anything.
    ///
    /// # Errors
    /// If the address or a header is none.
    pub fn check(&self) -> Result<(), TransportError> {
        self.parse_url()?;
        self.parse_headers().map(drop)
    }

    /// A transport to the server. Nothing is sent before the first message is.
    ///
    /// # Errors
    /// If the address, a header or the proxy is none, or there is no runtime.
    pub fn open(&self) -> Result<Http, TransportError> {
        if tokio::runtime::Handle::try_current().is_err() {
            return Err(setup("cannot connect: open this on a tokio runtime".to_owned()));
        }
        let url = self.parse_url()?;
        let headers = self.parse_headers()?;
        let routes = Routes::new(&self.proxies).map_err(|why| setup(format!("the proxy cannot be used: {why}")))?;
        let sender = Sender::new(&url, headers, routes, self.connect_wait);
        Ok(Http::new(sender, url, self.kind, self.limits))
    }

    fn parse_url(&self) -> Result<Uri, TransportError> {
        url::parse(&self.url).map_err(|why| setup(format!("{:?} cannot be connected to: {why}", self.without_query())))
    }

    fn parse_headers(&self) -> Result<HeaderMap, TransportError> {
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            let Ok(parsed) = name.parse::<HeaderName>() else {
                return Err(setup(format!("{name:?} is not the name of a header")));
            };
            if is_ours(&parsed) {
                return Err(setup(format!(
                    "the header `{name}` is set by the transport itself; leave it out"
                )));
            }
            // What the value is stays unsaid: it may be a secret.
            let Ok(mut value) = HeaderValue::try_from(value.trim()) else {
                return Err(setup(format!(
                    "the value of the header `{name}` holds a line break, or another character that no header can; \
                     check where it comes from"
                )));
            };
            value.set_sensitive(true);
            headers.append(parsed, value);
        }
        Ok(headers)
    }
}

fn setup(message: String) -> TransportError {
    TransportError::new(TransportErrorKind::Setup, message)
}

/// Headers that say what is sent and how, and would say something else; and all of the protocol's own.
fn is_ours(name: &HeaderName) -> bool {
    const OURS: [HeaderName; 14] = [
        header::ACCEPT,
        header::ACCEPT_ENCODING,
        header::CONNECTION,
        header::CONTENT_ENCODING,
        header::CONTENT_LENGTH,
        header::CONTENT_TYPE,
        header::EXPECT,
        header::HOST,
        header::PROXY_AUTHORIZATION,
        header::TE,
        header::TRAILER,
        header::TRANSFER_ENCODING,
        header::UPGRADE,
        mcp::LAST_EVENT_ID,
    ];
    OURS.contains(name) || name.as_str().starts_with("mcp-")
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Remote")
            .field("url", &self.without_query())
            .field("kind", &self.kind)
            .field("headers", &names)
            .field("proxies", &self.proxies)
            .field("limits", &self.limits)
            .field("connect_wait", &self.connect_wait)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(remote: Remote) -> String {
        remote.open().unwrap_err().to_string()
    }

    #[test]
    fn an_address_is_shown_without_its_secrets() {
        for (url, shown) in [
            ("https://example.com/mcp?api_key=x#y", "https://example.com/mcp"),
            ("https://kim:pass@example.com/@mcp", "example.com/@mcp"),
            ("https://example.com", "https://example.com"),
            ("?", ""),
        ] {
            assert_eq!(Remote::new(url).without_query(), shown);
        }
    }

    #[tokio::test]
    async fn what_cannot_be_sent_is_refused_before_anything_is() {
        let good = Remote::new("http://127.0.0.1:9/mcp");
        assert!(good.clone().header("X-Key", " v ").open().is_ok());
        for name in [
            "Accept",
            "mcp-session-id",
            "Mcp-Param-Region",
            "MCP-Protocol-Version",
            "Mcp-Tomorrow",
            "HOST",
            "content-length",
            "Expect",
            "Last-Event-ID",
        ] {
            assert!(
                refused(good.clone().header(name, "x")).contains("by the transport itself"),
                "{name}"
            );
        }
        assert!(refused(good.clone().header("a b", "x")).contains("not the name of a header"));
        let broken = refused(good.clone().header("X-Key", "sec\nret"));
        assert!(broken.contains("X-Key") && !broken.contains("ret"), "{broken}");
        for named in ["http://secret@h.example/mcp", "http://kim:secret@h.example/mcp"] {
            let named = refused(Remote::new(named));
            assert!(
                named.contains("h.example/mcp") && named.contains("in a header") && !named.contains("secret"),
                "{named}"
            );
        }
        let url = refused(Remote::new("h.example/mcp?key=secret"));
        assert!(url.contains("h.example/mcp") && !url.contains("secret"), "{url}");
        let socks = Proxies::Through("socks5://u:secret@h:1".to_owned());
        let proxy = refused(good.proxies(socks));
        assert!(proxy.contains("proxy") && !proxy.contains("secret"), "{proxy}");
    }

    #[test]
    fn only_secrets_that_leave_this_machine_in_the_clear_count_as_exposed() {
        let exposed = |url: &str| Remote::new(url).exposes_secrets();
        assert!(exposed("http://10.0.0.1/mcp?key=x") && !exposed("http://10.0.0.1/mcp"));
        assert!(
            !exposed("https://10.0.0.1/mcp?key=x") && !exposed("http://[::1]/mcp?key=x") && !exposed("nonsense?key=x")
        );
    }

    #[test]
    fn without_a_runtime_it_says_so() {
        assert!(refused(Remote::new("http://127.0.0.1:9/mcp")).contains("runtime"));
    }
}
