//! Threads for streams that cannot be polled: files, terminals, `/dev/null`.

use std::io::{self, Read, Write};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::mpsc;

/// Bytes moved at a time.
const CHUNK: usize = 64 * 1024;

/// Reads on a thread. At most two chunks wait.
///
/// A thread that waits for a terminal cannot be called off: it ends with the process, or with the
/// next input when nobody listens any more.
#[derive(Debug)]
pub(crate) struct ThreadReader {
    chunks: mpsc::Receiver<io::Result<Bytes>>,
    current: Bytes,
}

impl ThreadReader {
    pub(crate) fn new(mut stream: impl Read + Send + 'static) -> io::Result<Self> {
        let (sender, chunks) = mpsc::channel(1);
        std::thread::Builder::new()
            .name("read stdin".to_owned())
            .spawn(move || {
                let mut buffer = vec![0; CHUNK];
                loop {
                    let chunk = match stream.read(&mut buffer) {
                        Ok(0) => return,
                        Ok(count) => Ok(Bytes::copy_from_slice(&buffer[..count])),
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                        Err(error) => Err(error),
                    };
                    let failed = chunk.is_err();
                    if sender.blocking_send(chunk).is_err() || failed {
                        return;
                    }
                }
            })?;
        Ok(Self {
            chunks,
            current: Bytes::new(),
        })
    }
}

impl AsyncRead for ThreadReader {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.current.is_empty() {
            match ready!(self.chunks.poll_recv(cx)) {
                Some(chunk) => self.current = chunk?,
                None => return Poll::Ready(Ok(())),
            }
        }
        let count = self.current.len().min(buf.remaining());
        buf.put_slice(&self.current[..count]);
        self.current.advance(count);
        Poll::Ready(Ok(()))
    }
}

/// Writes on a thread, one chunk at a time.
#[derive(Debug)]
pub(crate) struct ThreadWriter {
    chunks: Option<mpsc::UnboundedSender<Vec<u8>>>,
    written: mpsc::UnboundedReceiver<io::Result<()>>,
    busy: bool,
}

impl ThreadWriter {
    pub(crate) fn new(mut stream: impl Write + Send + 'static) -> io::Result<Self> {
        // Neither channel ever holds more than one item: a chunk is handed over only when the last one is written.
        let (sender, mut chunks) = mpsc::unbounded_channel::<Vec<u8>>();
        let (written_sender, written) = mpsc::unbounded_channel();
        std::thread::Builder::new()
            .name("write stdout".to_owned())
            .spawn(move || {
                while let Some(chunk) = chunks.blocking_recv() {
                    let result = stream.write_all(&chunk).and_then(|()| stream.flush());
                    if written_sender.send(result).is_err() {
                        return;
                    }
                }
            })?;
        Ok(Self {
            chunks: Some(sender),
            written,
            busy: false,
        })
    }

    /// Ready when the last chunk is written.
    fn poll_idle(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.busy {
            let written = ready!(self.written.poll_recv(cx));
            self.busy = false;
            written.unwrap_or_else(|| Err(io::ErrorKind::BrokenPipe.into()))?;
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for ThreadWriter {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.poll_idle(cx))?;
        let chunk = &buf[..buf.len().min(CHUNK)];
        let sent = self
            .chunks
            .as_ref()
            .is_some_and(|chunks| chunks.send(chunk.to_vec()).is_ok());
        if !sent {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        self.busy = true;
        Poll::Ready(Ok(chunk.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_idle(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = ready!(self.poll_idle(cx));
        self.chunks = None;
        Poll::Ready(result)
    }
}
