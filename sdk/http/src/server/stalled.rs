//! A connection that is given up when its client does not read.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// Fails a write that cannot go on for a time. Whoever is slow may be slow; who takes nothing is gone.
#[derive(Debug)]
pub(super) struct Stalled<T> {
    inner: T,
    patience: Duration,
    /// Only there while a write waits.
    stall: Option<Pin<Box<Sleep>>>,
}

impl<T> Stalled<T> {
    pub(super) fn new(inner: T, patience: Duration) -> Self {
        Self {
            inner,
            patience,
            stall: None,
        }
    }

    fn watch<R>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<R>>) -> Poll<io::Result<R>> {
        if written.is_ready() {
            self.stall = None;
            return written;
        }
        let patience = self.patience;
        let stall = self.stall.get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        std::task::ready!(stall.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not read")))
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Stalled<T> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Stalled<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(cx, buf);
        self.watch(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write_vectored(cx, bufs);
        self.watch(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_write_that_nobody_takes_fails_in_time_and_a_slow_one_does_not() {
        let (here, mut there) = tokio::io::duplex(4);
        let mut here = Stalled::new(here, Duration::from_secs(30));
        here.write_all(b"full").await.unwrap();
        let begun = Instant::now();
        assert_eq!(here.write(b"x").await.unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert_eq!(begun.elapsed(), Duration::from_secs(30));

        let mut taken = [0; 4];
        there.read_exact(&mut taken).await.unwrap();
        let reader = tokio::spawn(async move {
            for _ in 0..4 {
                tokio::time::sleep(Duration::from_secs(29)).await;
                there.read_u8().await.unwrap();
            }
            // The end stays open: what is left is still to be written.
            there
        });
        here.write_all(b"12345678").await.unwrap();
        drop(reader.await.unwrap());
        assert!(
            begun.elapsed() > Duration::from_secs(100),
            "it was slow, and never still for too long"
        );
    }
}
