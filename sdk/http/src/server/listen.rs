//! The plain case: an address of this machine, and connections that are bounded in every way.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream, ToSocketAddrs};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;

use super::endpoint::Endpoint;
use super::stalled::Stalled;
use super::{Body, http_sse, reply};

/// How long the head of a request may take, and a connection wait for the next one.
const HEAD_WAIT: Duration = Duration::from_secs(60);
/// How many headers a request may have; with more it is refused with 431.
const MAX_HEADERS: usize = 100;
/// How many bytes the head of a request may have. It is refused with 431 as soon as so many came without its end,
/// which is at the latest when there are twice as many.
const MAX_HEAD: usize = 64 * 1024;
/// How long a client may take nothing of what is sent to it.
const STALL: Duration = Duration::from_secs(30);
/// How long requests may go on after the end was asked for.
const GRACE: Duration = Duration::from_secs(5);
/// How long nothing is accepted when the system has no room for a connection.
const NO_ROOM: Duration = Duration::from_millis(100);

/// Connections that are served at the same time by default.
const MAX_CONNECTIONS: usize = 4096;

/// The path of the endpoint.
pub(super) const PATH: &str = "mcp";

/// An address on which an endpoint is served, as HTTP/1.1 without TLS: for this machine, and behind a reverse proxy.
///
/// The endpoint is `/mcp`; `/sse` and `/messages` speak the transport of the first revision.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    max_connections: usize,
}

impl Listener {
    /// Takes an address. Only `127.0.0.1` and the like keep other machines out.
    ///
    /// # Errors
    /// If the address cannot be had.
    pub async fn bind(address: impl ToSocketAddrs) -> io::Result<Self> {
        Ok(Self::over(TcpListener::bind(address).await?))
    }

    /// An address that was taken already.
    pub fn over(socket: TcpListener) -> Self {
        Self {
            socket,
            max_connections: MAX_CONNECTIONS,
        }
    }

    /// How many connections are served at the same time, at least one; further ones wait. Default 4096.
    pub fn max_connections(mut self, connections: usize) -> Self {
        self.max_connections = connections.max(1);
        self
    }

    /// The address, with the port that the system chose where it was to choose one.
    ///
    /// # Errors
    /// If the system does not tell.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Serves the endpoint until `stop` is ready: then nothing more is accepted, streams of notices end in good
    /// order, and requests have five seconds to finish.
    pub async fn serve(self, endpoint: Endpoint, stop: impl Future<Output = ()> + Send) {
        let room = Arc::new(Semaphore::new(self.max_connections.min(Semaphore::MAX_PERMITS)));
        let (ending, ended) = watch::channel(());
        let mut connections = JoinSet::new();
        let mut stop = std::pin::pin!(stop);
        loop {
            tokio::select! {
                () = &mut stop => break,
                Some(_) = connections.join_next(), if !connections.is_empty() => {}
                (connection, permit) = accept(&self.socket, &room) => {
                    connections.spawn(serve(connection, endpoint.clone(), ended.clone(), permit));
                }
            }
        }
        drop(self.socket);
        endpoint.stop();
        drop((ending, ended));
        let over = async { while connections.join_next().await.is_some() {} };
        // Whoever is not done by now is not going to be.
        let _ = tokio::time::timeout(GRACE, over).await;
        connections.shutdown().await;
        endpoint.close();
    }
}

/// The next connection, once there is room for it.
async fn accept(socket: &TcpListener, room: &Arc<Semaphore>) -> (TcpStream, OwnedSemaphorePermit) {
    loop {
        // It is never closed.
        let Ok(permit) = Arc::clone(room).acquire_owned().await else {
            return std::future::pending().await;
        };
        match socket.accept().await {
            Ok((connection, _)) => {
                // A small write must not wait for the acknowledgement of the one before.
                let _ = connection.set_nodelay(true);
                return (connection, permit);
            }
            Err(error) if is_of_one_connection(&error) => {}
            Err(_) => tokio::time::sleep(NO_ROOM).await,
        }
    }
}

/// Whether only the connection that was to be accepted is broken.
fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

async fn serve(
    connection: TcpStream,
    endpoint: Endpoint,
    mut ended: watch::Receiver<()>,
    permit: OwnedSemaphorePermit,
) {
    let service = service_fn(move |request: Request<Incoming>| {
        let endpoint = endpoint.clone();
        async move {
            let path = request.uri().path();
            let known = [PATH, http_sse::STREAM, http_sse::MESSAGES];
            if !path.strip_prefix('/').is_some_and(|path| known.contains(&path)) {
                return Ok::<http::Response<Body>, Infallible>(reply::plain(StatusCode::NOT_FOUND));
            }
            Ok(endpoint.handle(request).await)
        }
    });
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WAIT)
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_HEAD);
    let connection = TokioIo::new(Stalled::new(connection, STALL));
    let mut connection = std::pin::pin!(builder.serve_connection(connection, service));
    tokio::select! {
        // A connection that breaks has told its requests so.
        _ = connection.as_mut() => return,
        _ = ended.changed() => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = connection.await;
    drop(permit);
}
