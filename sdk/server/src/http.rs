//! Serving over HTTP: the server as what answers the requests of an endpoint.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Poll};

use tokio::net::{TcpListener, ToSocketAddrs};
use trunkline_http::header::MirroredParams;
use trunkline_http::server::{Answering, Application, ApplicationRequest, Endpoint, Listener, Options};
use trunkline_proto::server::{Config, News};

use crate::context::{Origin, Outlet, Sending};
use crate::registry;
use crate::serve::Guarded;
use crate::service::RequestService;
use crate::{DefinitionError, ServeError, Server, ServerRequest};

impl Server {
    /// The server as an HTTP endpoint that speaks every revision: a `tower` service, to be mounted anywhere. Paths
    /// that end in `/sse` and `/messages` speak the transport of the first revision.
    ///
    /// ```
    /// use trunkline_server::{HttpOptions, Server};
    ///
    /// let server = Server::new("clock", "1.0.0");
    /// let endpoint = server.http(HttpOptions::default().allow_host("mcp.example.com"))?;
    /// // With axum: Router::new().route_service("/mcp", endpoint)
    /// # drop(endpoint);
    /// # Ok::<(), trunkline_server::DefinitionError>(())
    /// ```
    ///
    /// # Errors
    /// If something that was registered cannot be served.
    pub fn http(&self, options: Options) -> Result<Endpoint, DefinitionError> {
        self.check()?;
        Ok(Endpoint::new(Served(self.clone()), options))
    }

    /// Serves HTTP on an address, such as `127.0.0.1:3000`, until the process ends. The endpoint is `/mcp`; `/sse`
    /// and `/messages` speak the transport of the first revision.
    ///
    /// Whoever reaches the address may call: keep to `127.0.0.1` unless something in front of the server says who
    /// that is ([security](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#security-%26-endpoint)).
    ///
    /// # Errors
    /// If something that was registered cannot be served, or the address cannot be had.
    pub async fn serve_http(&self, address: impl ToSocketAddrs) -> Result<(), ServeError> {
        self.check()?;
        let socket = TcpListener::bind(address).await.map_err(ServeError::Listen)?;
        self.serve_http_until(socket, std::future::pending()).await
    }

    /// Serves HTTP on a socket until `stop` is ready: then nothing more is accepted, streams of notices end in good
    /// order, and requests have five seconds to finish. For other options, give [`http`](Self::http) to an
    /// [`HttpListener`](crate::HttpListener).
    ///
    /// # Errors
    /// If something that was registered cannot be served.
    pub async fn serve_http_until(
        &self,
        socket: TcpListener,
        stop: impl Future<Output = ()> + Send,
    ) -> Result<(), ServeError> {
        let endpoint = self.http(Options::default())?;
        Listener::over(socket).serve(endpoint, stop).await;
        Ok(())
    }
}

/// A clone of the server: its tasks live as long as the endpoint.
#[derive(Debug)]
struct Served(Server);

impl Application for Served {
    fn config(&self) -> Arc<Config> {
        self.0.shared().config()
    }

    fn answer(&self, request: ApplicationRequest) -> Answering {
        let shared = self.0.shared();
        let service = shared.registry().service.clone();
        let origin = Arc::new(Origin {
            shared: Arc::clone(shared),
            profile: request.profile,
            client: request.client,
            meta: request.meta,
            log_level: request.log_level,
            principal: request.principal,
            outlet: Outlet::Exchange(request.outlet),
            sending: Mutex::new(Sending::default()),
            seed: OnceLock::new(),
        });
        let request = ServerRequest {
            origin,
            method: request.method,
            params: request.params,
        };
        let service = service.unwrap_or_else(RequestService::innermost);
        Box::pin(Guarded::new(&service, request))
    }

    fn changes(&self) -> Box<dyn trunkline_http::server::Changes> {
        Box::new(self.0.shared().listen())
    }

    fn mirrored(&self, tool: &str) -> Option<Arc<MirroredParams>> {
        self.0.shared().registry().tools.get(tool)?.mirrored()
    }
}

impl trunkline_http::server::Changes for registry::Changes {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<News> {
        Self::poll_next(self, cx)
    }

    fn watch(&mut self, principal: &str, tasks: BTreeSet<String>) {
        Self::watch(self, principal, tasks.clone(), tasks);
    }
}
