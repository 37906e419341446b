//! A server that sends every message back, and closes its side when told to. When it goes astray it also does what a server must not
//! do: it prints, starts a program that prints and reads, and asks for the streams a second time.

use std::error::Error;
use std::future::poll_fn;
use std::io::Write;

use trunkline_transport::{Received, Stdio, Transport, TransportError, TransportErrorKind, stdio};

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn run(astray: bool) -> Result<(), Box<dyn Error>> {
    let mut peer = stdio()?;
    if astray {
        go_astray()?;
    }
    let served = echo(&mut peer).await;
    let closed = poll_fn(|cx| peer.poll_close(cx)).await;
    match served.and(closed) {
        // Nobody is left to be served, which is no fault of ours.
        Err(error) if error.kind() == TransportErrorKind::Closed => {
            writeln!(std::io::stderr(), "peer gone: {error}")?;
            Ok(())
        }
        result => Ok(result?),
    }
}

async fn echo(peer: &mut Stdio) -> Result<(), TransportError> {
    loop {
        match poll_fn(|cx| peer.poll_receive(cx)).await? {
            Received::Message(message) if message == b"\"close\""[..] => poll_fn(|cx| peer.poll_close(cx)).await?,
            Received::Message(message) => peer.send(message.to_vec()),
            Received::TooLong { limit, .. } => peer.send(format!("[\"more than {limit} bytes\"]").into_bytes()),
            _ => return Ok(()),
        }
        poll_fn(|cx| peer.poll_flush(cx)).await?;
    }
}

fn go_astray() -> Result<(), Box<dyn Error>> {
    let mut out = std::io::stdout();
    writeln!(out, "a stray print")?;
    out.flush()?;
    std::process::Command::new("sh")
        .args(["-c", "echo a stray child; cat"])
        .status()?;
    if let Err(error) = stdio() {
        writeln!(std::io::stderr(), "second: {error}")?;
    }
    Ok(())
}
