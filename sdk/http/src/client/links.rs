//! Connections to servers: one is opened when there is none to spare, and kept for the next request.
//!
//! They have no tasks of their own. Whoever waits for an answer moves its connection on, so an answer costs no way
//! from one task to another.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body_util::Full;
use hyper::body::{Body, Incoming};
use hyper::client::conn::TrySendError;
use hyper::client::conn::http1::{self, Connection, SendRequest};
use hyper_rustls::MaybeHttpsStream;
use hyper_util::client::legacy::connect::Connection as _;
use tokio::time::{Instant, Sleep, sleep, sleep_until};
use tower_service::Service;

use super::connector::{BoxError, Connector, Stream, chain};
use super::url::{Origin, is_https};
use super::wakes::WakeSet;

/// How long a connection that is not needed is kept: less than servers and what stands before them usually keep it.
const IDLE: Duration = Duration::from_secs(50);

pub(crate) type Responding =
    Pin<Box<dyn Future<Output = Result<Response<Incoming>, TrySendError<Request<Full<Bytes>>>>> + Send>>;
pub(crate) type Opening = Pin<Box<dyn Future<Output = Result<Box<Link>, BoxError>> + Send>>;

/// One connection. It moves on only when it is polled.
#[derive(Debug)]
pub(crate) struct Link {
    origin: Origin,
    requests: SendRequest<Full<Bytes>>,
    /// None once it has ended: only then a request that it did not send is given back.
    connection: Option<Connection<MaybeHttpsStream<Stream>, Full<Bytes>>>,
    /// A proxy reads what is sent.
    proxied: bool,
    /// It has carried a request before, so the server may just have closed it.
    used: bool,
    /// When it was needed last.
    since: Instant,
}

impl Link {
    async fn open(mut connector: Connector, url: Uri) -> Result<Box<Self>, BoxError> {
        let origin = Origin::of(&url);
        let encrypted = is_https(&url);
        let stream = connector.call(url).await?;
        // What is encrypted went through a tunnel, which reads nothing.
        let proxied = !encrypted && stream.connected().is_proxied();
        let (requests, connection) = http1::handshake(stream).await?;
        Ok(Box::new(Self {
            origin,
            requests,
            connection: Some(connection),
            proxied,
            used: false,
            since: Instant::now(),
        }))
    }

    /// Sends a request, whose address is written as the other end needs it.
    pub(crate) fn send(&mut self, mut request: Request<Full<Bytes>>) -> Responding {
        if !self.proxied {
            let path = request.uri().path_and_query().cloned();
            *request.uri_mut() = path.map_or_else(Uri::default, Uri::from);
        }
        Box::pin(self.requests.try_send_request(request))
    }

    /// Writes what is to be written and reads what came.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) {
        // A fault is told to whoever waits for the answer, or for more of it.
        if let Some(connection) = &mut self.connection
            && Pin::new(connection).poll(cx).is_ready()
        {
            self.connection = None;
        }
    }

    fn has_ended(&self) -> bool {
        self.connection.is_none()
    }

    pub(crate) fn was_used(&self) -> bool {
        self.used
    }
}

/// The connections that nobody needs at the moment.
#[derive(Debug)]
pub(crate) struct Links {
    connector: Connector,
    idle: WakeSet<Box<Link>>,
    /// When the next of them has been idle for too long; it may ring too early.
    expiry: Option<Pin<Box<Sleep>>>,
}

impl Links {
    pub(crate) fn new(connector: Connector) -> Self {
        Self {
            connector,
            idle: WakeSet::new(),
            expiry: None,
        }
    }

    pub(crate) fn open(&self, url: &Uri) -> Opening {
        Box::pin(Link::open(self.connector.clone(), url.clone()))
    }

    /// A connection to a server, the one that was needed last.
    pub(crate) fn take(&mut self, origin: &Origin, cx: &mut Context<'_>) -> Option<Box<Link>> {
        loop {
            let matching = self.idle.iter().filter(|(_, link)| link.origin == *origin);
            let newest = matching.map(|(key, _)| key).max()?;
            let mut link = self.idle.remove(newest)?;
            if !link.requests.is_ready() {
                link.poll(cx);
            }
            if link.requests.is_ready() {
                return Some(link);
            }
        }
    }

    /// Keeps a connection whose answer was read to its end.
    pub(crate) fn keep(&mut self, mut link: Box<Link>) {
        if link.has_ended() {
            return;
        }
        link.used = true;
        link.since = Instant::now();
        // Its next poll is the idle connection's own, so that the end of it is noticed.
        self.idle.insert(link);
        self.expiry.get_or_insert_with(|| Box::pin(sleep(IDLE)));
    }

    /// Drops what the server has closed, and what was not needed for long.
    pub(crate) fn tidy(&mut self, cx: &mut Context<'_>) {
        while let Some(mut taken) = self.idle.take_woken(cx) {
            taken.item.poll(&mut Context::from_waker(&taken.waker()));
            if !taken.item.has_ended() {
                self.idle.put_back(taken);
            }
        }
        while let Some(expiry) = &mut self.expiry
            && expiry.as_mut().poll(cx).is_ready()
        {
            let now = Instant::now();
            self.idle.retain(|link| link.since + IDLE > now);
            let oldest = self.idle.iter().map(|(_, link)| link.since).min();
            self.expiry = oldest.map(|since| Box::pin(sleep_until(since + IDLE)));
        }
    }
}

/// The body of an answer, with the connection that it comes from.
#[derive(Debug)]
pub(crate) struct LinkedBody {
    incoming: Incoming,
    /// Dropped before the end, it closes: the rest has nobody to go to.
    link: Option<Box<Link>>,
}

impl LinkedBody {
    pub(crate) fn new(incoming: Incoming, link: Box<Link>) -> Self {
        Self {
            incoming,
            link: Some(link),
        }
    }

    /// Whether there is nothing more of it. Where its length is not told, that only shows at its end.
    pub(crate) fn is_end(&self) -> bool {
        self.incoming.is_end_stream()
    }

    /// The next bytes; what is no data is passed over. At the end the connection is free for other requests.
    pub(crate) fn poll_data(&mut self, links: &mut Links, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, String>>> {
        loop {
            if self.is_end() {
                return Poll::Ready(self.end(links));
            }
            let mut polled = Pin::new(&mut self.incoming).poll_frame(cx);
            if let (Poll::Pending, Some(link)) = (&polled, &mut self.link) {
                link.poll(cx);
                polled = Pin::new(&mut self.incoming).poll_frame(cx);
            }
            match polled {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(None) => return Poll::Ready(self.end(links)),
                Poll::Ready(Some(Err(error))) => {
                    self.link = None;
                    return Poll::Ready(Some(Err(format!("the answer broke off: {}", chain(&error)))));
                }
                Poll::Ready(Some(Ok(frame))) => {
                    if let Ok(data) = frame.into_data() {
                        return Poll::Ready(Some(Ok(data)));
                    }
                }
            }
        }
    }

    fn end(&mut self, links: &mut Links) -> Option<Result<Bytes, String>> {
        if let Some(link) = self.link.take() {
            links.keep(link);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::sync::Arc;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    use super::super::proxy::Routes;
    use super::super::remote::Proxies;
    use super::*;

    /// A server that has answered one request, and the kept connection that carried it.
    async fn answered() -> (TcpStream, Links, Origin) {
        let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url: Uri = format!("http://{}/a?b", socket.local_addr().unwrap()).parse().unwrap();
        let routes = Arc::new(Routes::new(&Proxies::Direct).unwrap());
        let mut links = Links::new(Connector::new(routes, Duration::from_secs(10)));
        let origin = Origin::of(&url);
        assert!(poll_fn(|cx| Poll::Ready(links.take(&origin, cx))).await.is_none());
        let mut link = links.open(&url).await.unwrap();
        assert!(!link.was_used());
        let (mut server, _) = socket.accept().await.unwrap();
        let mut responding = link.send(Request::get(url).body(Full::default()).unwrap());
        let served = async {
            let mut head = [0; 13];
            server.read_exact(&mut head).await.unwrap();
            assert_eq!(&head, b"GET /a?b HTTP", "the server is asked for the path");
            server
                .write_all(b"HTTP/1.1 200 X\r\nContent-Length: 2\r\n\r\nok")
                .await
                .unwrap();
        };
        let answer = poll_fn(|cx| {
            link.poll(cx);
            responding.as_mut().poll(cx)
        });
        let (answer, ()) = tokio::join!(answer, served);
        let mut body = LinkedBody::new(answer.unwrap().into_body(), link);
        let data = poll_fn(|cx| body.poll_data(&mut links, cx)).await;
        assert_eq!(data.unwrap().unwrap(), "ok");
        assert!(poll_fn(|cx| body.poll_data(&mut links, cx)).await.is_none());
        (server, links, origin)
    }

    fn tidied(links: &mut Links, cx: &mut Context<'_>) -> usize {
        links.tidy(cx);
        links.idle.iter().count()
    }

    #[tokio::test]
    async fn a_connection_whose_answer_was_read_is_used_again_for_its_own_server() {
        let (_server, mut links, origin) = answered().await;
        assert_eq!(poll_fn(|cx| Poll::Ready(tidied(&mut links, cx))).await, 1);
        let other = Origin::of(&Uri::from_static("http://127.0.0.1:1/"));
        assert!(poll_fn(|cx| Poll::Ready(links.take(&other, cx))).await.is_none());
        let link = poll_fn(|cx| Poll::Ready(links.take(&origin, cx))).await.unwrap();
        assert!(link.was_used());
        assert!(
            poll_fn(|cx| Poll::Ready(links.take(&origin, cx))).await.is_none(),
            "it is taken"
        );
    }

    #[tokio::test]
    async fn a_request_on_a_connection_that_was_just_closed_does_not_wait_for_ever() {
        let (mut server, mut links, origin) = answered().await;
        // What was not read would make a fault of the end.
        assert!(server.read(&mut [0; 1024]).await.unwrap() > 0);
        let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut later = TcpStream::connect(socket.local_addr().unwrap()).await.unwrap();
        let (end, _) = socket.accept().await.unwrap();
        drop(server);
        drop(end);
        // Whoever hears of the second end could have heard of the first.
        assert_eq!(later.read(&mut [0]).await.unwrap(), 0);
        let mut link = poll_fn(|cx| Poll::Ready(links.take(&origin, cx))).await.unwrap();
        let mut responding = link.send(Request::get("/").body(Full::default()).unwrap());
        let answer = poll_fn(|cx| {
            link.poll(cx);
            responding.as_mut().poll(cx)
        });
        let answer = tokio::time::timeout(Duration::from_secs(20), answer).await;
        assert!(answer.expect("it is told that it has no answer").is_err());
    }

    #[tokio::test]
    async fn a_connection_that_the_server_closes_is_dropped_at_once() {
        let (server, mut links, _) = answered().await;
        drop(server);
        let gone = poll_fn(|cx| match tidied(&mut links, cx) {
            0 => Poll::Ready(()),
            _ => Poll::Pending,
        });
        tokio::time::timeout(Duration::from_secs(20), gone).await.unwrap();
    }

    #[tokio::test]
    async fn a_connection_that_is_not_needed_is_dropped_in_time() {
        let (_server, mut links, origin) = answered().await;
        tokio::time::pause();
        let little = Duration::from_secs(1);
        let most = IDLE.saturating_sub(little);
        tokio::time::advance(most).await;
        let link = poll_fn(|cx| Poll::Ready(links.take(&origin, cx))).await.unwrap();
        links.keep(link);
        tokio::time::advance(most).await;
        assert_eq!(
            poll_fn(|cx| Poll::Ready(tidied(&mut links, cx))).await,
            1,
            "it was needed meanwhile"
        );
        tokio::time::advance(2 * little).await;
        assert_eq!(poll_fn(|cx| Poll::Ready(tidied(&mut links, cx))).await, 0);
    }
}
