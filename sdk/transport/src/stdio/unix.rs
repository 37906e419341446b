//! Standard streams on Unix: polled where they can be.

use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use rustix::fs::{FileType, OFlags, fcntl_getfl, fcntl_setfl, fstat};
use rustix::stdio::{dup2_stdin, dup2_stdout};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

use crate::bridge::{ThreadReader, ThreadWriter};

/// Takes the streams and leaves harmless ones in their places.
pub(crate) fn open() -> io::Result<(Input, Output)> {
    io::stdout().flush()?;
    let input = io::stdin().as_fd().try_clone_to_owned()?;
    let output = io::stdout().as_fd().try_clone_to_owned()?;
    // They may be two names of one socket, which must stay as it is until both are done with it.
    let input_mode = Arc::new(Blocking::of(&input)?);
    let output_mode = if same_file(&input, &output)? {
        Arc::clone(&input_mode)
    } else {
        Arc::new(Blocking::of(&output)?)
    };
    let input = Input::new(input, input_mode)?;
    let output = Output::new(output, output_mode)?;

    let nothing = File::options().read(true).write(true).open("/dev/null")?;
    dup2_stdin(&nothing)?;
    if same_file(io::stdout(), io::stderr())? {
        dup2_stdout(&nothing)?;
    } else {
        dup2_stdout(io::stderr())?;
    }
    Ok((input, output))
}

/// Whether what is printed to `right` would reach the reader of `left`. A terminal has no reader to confuse.
fn same_file(left: impl AsFd, right: impl AsFd) -> io::Result<bool> {
    let (left, right) = (fstat(left)?, fstat(right)?);
    let terminal = FileType::from_raw_mode(left.st_mode) == FileType::CharacterDevice;
    Ok(!terminal && (left.st_dev, left.st_ino) == (right.st_dev, right.st_ino))
}

fn file_type(fd: &OwnedFd) -> io::Result<FileType> {
    Ok(FileType::from_raw_mode(fstat(fd)?.st_mode))
}

/// A stream that was blocking when it came to us, and becomes so again when this is dropped.
#[derive(Debug)]
pub(crate) struct Blocking(Option<OwnedFd>);

impl Blocking {
    fn of(fd: &OwnedFd) -> io::Result<Self> {
        let blocking = !fcntl_getfl(fd)?.contains(OFlags::NONBLOCK);
        Ok(Self(if blocking { Some(fd.try_clone()?) } else { None }))
    }
}

impl Drop for Blocking {
    fn drop(&mut self) {
        let Some(fd) = &self.0 else { return };
        if let Ok(flags) = fcntl_getfl(fd) {
            // Best effort: there is nobody to tell.
            let _ = fcntl_setfl(fd, flags - OFlags::NONBLOCK);
        }
    }
}

/// A stream on the reactor.
#[derive(Debug)]
pub(crate) struct Polled<S> {
    stream: S,
    _mode: Arc<Blocking>,
}

fn socket(fd: OwnedFd) -> io::Result<UnixStream> {
    let socket = std::os::unix::net::UnixStream::from(fd);
    socket.set_nonblocking(true)?;
    UnixStream::from_std(socket)
}

#[derive(Debug)]
pub(crate) enum Input {
    Pipe(Polled<pipe::Receiver>),
    Socket(Polled<UnixStream>),
    Thread(ThreadReader),
}

impl Input {
    fn new(fd: OwnedFd, mode: Arc<Blocking>) -> io::Result<Self> {
        Ok(match file_type(&fd)? {
            FileType::Fifo => Self::Pipe(Polled {
                stream: pipe::Receiver::from_owned_fd(fd)?,
                _mode: mode,
            }),
            FileType::Socket => Self::Socket(Polled {
                stream: socket(fd)?,
                _mode: mode,
            }),
            _ => Self::Thread(ThreadReader::new(File::from(fd))?),
        })
    }
}

impl AsyncRead for Input {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match &mut *self {
            Self::Pipe(polled) => Pin::new(&mut polled.stream).poll_read(cx, buf),
            Self::Socket(polled) => Pin::new(&mut polled.stream).poll_read(cx, buf),
            Self::Thread(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

#[derive(Debug)]
pub(crate) enum Output {
    Pipe(Polled<pipe::Sender>),
    Socket(Polled<UnixStream>),
    Thread(ThreadWriter),
    Closed,
}

impl Output {
    fn new(fd: OwnedFd, mode: Arc<Blocking>) -> io::Result<Self> {
        Ok(match file_type(&fd)? {
            FileType::Fifo => Self::Pipe(Polled {
                stream: pipe::Sender::from_owned_fd(fd)?,
                _mode: mode,
            }),
            FileType::Socket => Self::Socket(Polled {
                stream: socket(fd)?,
                _mode: mode,
            }),
            _ => Self::Thread(ThreadWriter::new(File::from(fd))?),
        })
    }
}

fn closed<T>() -> Poll<io::Result<T>> {
    Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()))
}

impl AsyncWrite for Output {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match &mut *self {
            Self::Pipe(polled) => Pin::new(&mut polled.stream).poll_write(cx, buf),
            Self::Socket(polled) => Pin::new(&mut polled.stream).poll_write(cx, buf),
            Self::Thread(stream) => Pin::new(stream).poll_write(cx, buf),
            Self::Closed => closed(),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut *self {
            Self::Pipe(polled) => Pin::new(&mut polled.stream).poll_write_vectored(cx, bufs),
            Self::Socket(polled) => Pin::new(&mut polled.stream).poll_write_vectored(cx, bufs),
            Self::Thread(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
            Self::Closed => closed(),
        }
    }

    fn is_write_vectored(&self) -> bool {
        matches!(self, Self::Pipe(_) | Self::Socket(_))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut *self {
            Self::Thread(stream) => Pin::new(stream).poll_flush(cx),
            Self::Pipe(_) | Self::Socket(_) | Self::Closed => Poll::Ready(Ok(())),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = match &mut *self {
            Self::Socket(polled) => ready!(Pin::new(&mut polled.stream).poll_shutdown(cx)),
            Self::Thread(stream) => ready!(Pin::new(stream).poll_shutdown(cx)),
            Self::Pipe(_) | Self::Closed => Ok(()),
        };
        // Nothing else holds this end, so the peer sees the end of the stream.
        *self = Self::Closed;
        Poll::Ready(result)
    }
}
