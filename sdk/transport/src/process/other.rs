//! Where there are no process groups. What the child itself started is not ended with it, and there
//! is no gentle request to end: after its stdin is closed comes the kill.

use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::process::{Command, Stdio};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::process::{Child, ChildStdin};

use super::{Exit, Pipes};

/// A process. Dropping it kills it.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    id: u32,
    exit: Option<Exit>,
}

impl Process {
    pub(crate) fn spawn(command: Command) -> io::Result<(Self, Pipes)> {
        let mut command = tokio::process::Command::from(command);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let mut child = command.spawn()?;
        let (Some(stdin), Some(stdout), Some(stderr)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(io::Error::other("a pipe is missing"));
        };
        let id = child.id().unwrap_or_default();
        let pipes = Pipes {
            stdin: Input(Some(stdin)),
            stdout: Output::new(stdout),
            stderr: Output::new(stderr),
        };
        Ok((Self { child, id, exit: None }, pipes))
    }

    pub(crate) fn id(&self) -> u32 {
        self.id
    }

    pub(crate) fn poll_exit(&mut self, cx: &mut Context<'_>) -> Poll<Exit> {
        if let Some(exit) = self.exit {
            return Poll::Ready(exit);
        }
        let status = ready!(pin!(self.child.wait()).poll(cx));
        let exit = Exit::Status(status.ok().and_then(|status| status.code()).unwrap_or(-1));
        self.exit = Some(exit);
        Poll::Ready(exit)
    }

    pub(crate) fn exit(&self) -> Option<Exit> {
        self.exit
    }

    pub(crate) fn terminate(&mut self) {
        self.kill();
    }

    pub(crate) fn kill(&mut self) {
        // It fails only when the process has ended.
        let _ = self.child.start_kill();
    }

    #[expect(
        clippy::unused_self,
        clippy::needless_pass_by_ref_mut,
        reason = "the same calls as on Unix"
    )]
    pub(crate) fn reap(&mut self) {}
}

/// The writing end of a child's stdin. Shutting it down closes it.
#[derive(Debug)]
pub(crate) struct Input(Option<ChildStdin>);

impl AsyncWrite for Input {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.0 {
            Some(pipe) => Pin::new(pipe).poll_write(cx, buf),
            None => Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.0 {
            Some(pipe) => Pin::new(pipe).poll_flush(cx),
            None => Poll::Ready(Ok(())),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0 = None;
        Poll::Ready(Ok(()))
    }
}

/// The reading end of a child's stdout or stderr.
pub(crate) struct Output {
    pipe: Box<dyn AsyncRead + Send + Unpin>,
}

impl Output {
    fn new(pipe: impl AsyncRead + Send + Unpin + 'static) -> Self {
        Self { pipe: Box::new(pipe) }
    }

    #[expect(
        clippy::unused_self,
        clippy::needless_pass_by_ref_mut,
        reason = "the same calls as on Unix"
    )]
    pub(crate) fn leader_ended(&mut self) {}

    #[expect(
        clippy::unused_self,
        clippy::needless_pass_by_ref_mut,
        reason = "the same calls as on Unix"
    )]
    pub(crate) fn follow(&mut self) {}
}

impl AsyncRead for Output {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.pipe).poll_read(cx, buf)
    }
}
