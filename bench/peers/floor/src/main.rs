//! The floor: no MCP server, only as much of one as the benchmark asks for. Each request is parsed once and answered
//! by hand, so what it costs is what the transport and the parsing cost.
//!
//! - `peer-floor stdio`: tokio on the pipes themselves, no thread beside it.
//! - `peer-floor stdio-blocking`: one thread that blocks, the quickest server that a client can have.
//! - `peer-floor http PORT`: hyper, HTTP/1.1, one thread.

mod answer;

use std::convert::Infallible;
use std::io::{self, BufRead as _, Write as _};
use std::os::fd::AsFd as _;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;
use tokio::net::unix::pipe::{Receiver, Sender};

use answer::answer;

/// What is read at once; as much as a pipe holds.
const BUFFER: usize = 64 * 1024;

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build();
    match arguments[..] {
        ["stdio"] => runtime()?.block_on(serve_stdio()),
        ["stdio-blocking"] => serve_stdio_blocking(),
        ["http", port] => runtime()?.block_on(serve_http(port)),
        _ => Err(io::Error::other(
            "usage: peer-floor stdio, peer-floor stdio-blocking, or peer-floor http PORT",
        )),
    }
}

/// Answers are written together when no further whole request has been read.
async fn serve_stdio() -> io::Result<()> {
    let input = Receiver::from_owned_fd(io::stdin().as_fd().try_clone_to_owned()?)?;
    let mut output = Sender::from_owned_fd(io::stdout().as_fd().try_clone_to_owned()?)?;
    let mut input = BufReader::with_capacity(BUFFER, input);
    let (mut line, mut out) = (Vec::new(), Vec::new());
    while input.read_until(b'\n', &mut line).await? > 0 {
        if answer(&line, &mut out) {
            out.push(b'\n');
        }
        line.clear();
        if !input.buffer().contains(&b'\n') {
            output.write_all(&out).await?;
            out.clear();
        }
    }
    Ok(())
}

fn serve_stdio_blocking() -> io::Result<()> {
    let mut input = io::BufReader::with_capacity(BUFFER, io::stdin());
    let mut output = io::stdout().lock();
    let (mut line, mut out) = (Vec::new(), Vec::new());
    while input.read_until(b'\n', &mut line)? > 0 {
        if answer(&line, &mut out) {
            out.push(b'\n');
        }
        line.clear();
        if !input.buffer().contains(&b'\n') {
            output.write_all(&out)?;
            output.flush()?;
            out.clear();
        }
    }
    Ok(())
}

async fn serve_http(port: &str) -> io::Result<()> {
    let listener = TcpListener::bind(format!("127.0.0.1:{port}")).await?;
    loop {
        let (socket, _) = listener.accept().await?;
        socket.set_nodelay(true)?;
        let connection = hyper::server::conn::http1::Builder::new();
        tokio::spawn(connection.serve_connection(TokioIo::new(socket), service_fn(respond)));
    }
}

async fn respond(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    if request.method() != Method::POST {
        return Ok(empty(StatusCode::METHOD_NOT_ALLOWED));
    }
    let Ok(body) = request.into_body().collect().await else {
        return Ok(empty(StatusCode::BAD_REQUEST));
    };
    let mut out = Vec::new();
    if !answer(&body.to_bytes(), &mut out) {
        return Ok(empty(StatusCode::ACCEPTED));
    }
    let mut response = Response::new(Full::new(Bytes::from(out)));
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    Ok(response)
}

fn empty(status: StatusCode) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::new()));
    *response.status_mut() = status;
    response
}
