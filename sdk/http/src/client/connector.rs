//! From an address to an open byte stream: TCP, a proxy where one leads there, TLS for `https`.

use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::{ConfigBuilderExt, HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use tokio::net::TcpStream;
use tower_service::Service;

use super::proxy::Routes;
use super::url::{is_https, shown};

/// A quiet connection is asked for a sign of life by TCP after this, and so often, before it counts as dead.
const KEEPALIVE: Duration = Duration::from_secs(30);
const KEEPALIVE_PROBES: u32 = 3;

pub(crate) type BoxError = Box<dyn Error + Send + Sync>;
type Connecting<T> = Pin<Box<dyn Future<Output = Result<T, BoxError>> + Send>>;

/// Opens connections, each within a bounded time.
#[derive(Clone, Debug)]
pub(crate) struct Connector {
    tcp: Tcp,
    wait: Duration,
}

impl Connector {
    pub(crate) fn new(routes: Arc<Routes>, wait: Duration) -> Self {
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        http.set_nodelay(true);
        http.set_keepalive(Some(KEEPALIVE));
        http.set_keepalive_interval(Some(KEEPALIVE / KEEPALIVE_PROBES));
        http.set_keepalive_retries(Some(KEEPALIVE_PROBES));
        Self {
            tcp: Tcp { http, routes },
            wait,
        }
    }
}

impl Service<Uri> for Connector {
    type Response = MaybeHttpsStream<Stream>;
    type Error = BoxError;
    type Future = Connecting<Self::Response>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, url: Uri) -> Self::Future {
        let mut tcp = self.tcp.clone();
        let wait = self.wait;
        Box::pin(async move {
            let connecting = async {
                if is_https(&url) {
                    HttpsConnector::from((tcp, tls()?)).call(url).await
                } else {
                    tcp.call(url).await.map(MaybeHttpsStream::Http)
                }
            };
            match tokio::time::timeout(wait, connecting).await {
                Ok(connected) => connected,
                Err(_) => Err(format!("there is no connection after {wait:?}").into()),
            }
        })
    }
}

/// The certificates of this machine are read once in a process, when they are needed.
fn tls() -> Result<Arc<ClientConfig>, BoxError> {
    static CONFIG: OnceLock<Result<Arc<ClientConfig>, String>> = OnceLock::new();
    let config = CONFIG.get_or_init(|| {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_native_roots()
            .map_err(|error| format!("the certificates of this machine cannot be read: {error}"))?
            .with_no_client_auth();
        Ok(Arc::new(config))
    });
    config.clone().map_err(BoxError::from)
}

/// TCP, straight or through a proxy.
#[derive(Clone, Debug)]
struct Tcp {
    http: HttpConnector,
    routes: Arc<Routes>,
}

impl Service<Uri> for Tcp {
    type Response = Stream;
    type Error = BoxError;
    type Future = Connecting<Stream>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, url: Uri) -> Connecting<Stream> {
        let mut http = self.http.clone();
        let proxy = self.routes.to(&url);
        Box::pin(async move {
            let proxy = proxy.map_err(|why| format!("the proxy cannot be used: {why}"))?;
            let Some(proxy) = proxy else {
                let io = http.call(url).await?;
                return Ok(Stream { io, proxied: false });
            };
            let at = shown(&proxy.url);
            let through = move |error: BoxError| {
                BoxError::from(format!("the proxy {at} does not let it through: {}", chain(&*error)))
            };
            if !is_https(&url) {
                let io = http.call(proxy.url).await.map_err(|error| through(error.into()))?;
                return Ok(Stream { io, proxied: true });
            }
            let mut tunnel = Tunnel::new(proxy.url, http);
            if let Some(auth) = proxy.auth {
                tunnel = tunnel.with_auth(auth);
            }
            let io = tunnel.call(url).await.map_err(|error| through(error.into()))?;
            Ok(Stream { io, proxied: false })
        })
    }
}

/// An error with all that caused it, each told once.
pub(crate) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

/// What to do about a failure of TLS that does not say so itself.
pub(crate) fn tls_hint(error: &(dyn Error + 'static)) -> Option<&'static str> {
    let mut error = Some(error);
    while let Some(link) = error {
        if let Some(tls) = link.downcast_ref::<rustls::Error>() {
            return match tls {
                rustls::Error::InvalidMessage(_) => Some("it does not speak TLS at this port; it may want http://"),
                rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer) => Some(
                    "no authority that this machine trusts has signed its certificate; SSL_CERT_FILE may name others",
                ),
                // What openssl makes by default where it is asked for a certificate that signs itself.
                rustls::Error::InvalidCertificate(other) if format!("{other:?}").contains("CaUsedAsEndEntity") => {
                    Some("its certificate is an authority's, which serves to sign others; make one with CA:FALSE")
                }
                _ => None,
            };
        }
        // An error that an I/O error was made of is not its source.
        let inner = link.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        error = inner
            .map(|inner| inner as &(dyn Error + 'static))
            .or_else(|| link.source());
    }
    None
}

/// A TCP connection that knows whether a proxy reads its requests.
#[derive(Debug)]
pub(crate) struct Stream {
    io: TokioIo<TcpStream>,
    proxied: bool,
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        self.io.connected().proxy(self.proxied)
    }
}

impl Read for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, buffer)
    }
}

impl Write for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[std::io::IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(cx, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_of_tls_is_found_however_deep_it_lies() {
        let unknown = rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer);
        let inner = std::io::Error::new(std::io::ErrorKind::InvalidData, unknown);
        let error = std::io::Error::other(inner);
        assert!(tls_hint(&error).unwrap().contains("SSL_CERT_FILE"));
        let other = rustls::OtherError(Arc::new(std::io::Error::other("CaUsedAsEndEntity")));
        let authority = rustls::Error::InvalidCertificate(rustls::CertificateError::Other(other));
        assert!(tls_hint(&authority).unwrap().contains("CA:FALSE"));
        let plain = rustls::Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType);
        assert!(tls_hint(&plain).unwrap().contains("http://"));
        let expired = rustls::Error::InvalidCertificate(rustls::CertificateError::Expired);
        assert_eq!(tls_hint(&std::io::Error::other(expired)), None, "it says so itself");
        assert_eq!(tls_hint(&std::io::Error::other("disk")), None);
    }
}
