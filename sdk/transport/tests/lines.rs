//! Lines over streams: memory pairs, sockets, and streams that fail.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, ReadBuf, duplex, sink, split};
use trunkline_transport::{
    DEFAULT_MAX_MESSAGE, Limits, Lines, MEMORY_BUFFER, Received, Transport, TransportErrorKind, memory, memory_with,
};

async fn receive(transport: &mut impl Transport) -> Received {
    poll_fn(|cx| transport.poll_receive(cx)).await.unwrap()
}

async fn receive_text(transport: &mut impl Transport) -> String {
    match receive(transport).await {
        Received::Message(line) => String::from_utf8(line.to_vec()).unwrap(),
        other => panic!("not a message: {other:?}"),
    }
}

async fn flush(transport: &mut impl Transport) {
    poll_fn(|cx| transport.poll_flush(cx)).await.unwrap();
}

fn noop() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

#[tokio::test]
async fn lines_survive_reads_that_cut_them_anywhere() {
    let (mut raw, ours) = duplex(3);
    let mut lines = Lines::new(ours, sink());
    let writer = tokio::spawn(async move {
        raw.write_all("\u{feff}{\"가\":1}\r\n\r\n \n[\"\u{feff}\"]\nlast".as_bytes())
            .await
            .unwrap();
    });
    assert_eq!(receive_text(&mut lines).await, "{\"가\":1}");
    assert_eq!(receive_text(&mut lines).await, "[\"\u{feff}\"]");
    assert_eq!(receive_text(&mut lines).await, "last", "a last line needs no line end");
    assert_eq!(receive(&mut lines).await, Received::End);
    assert_eq!(receive(&mut lines).await, Received::End, "the end stays");
    writer.await.unwrap();
}

#[tokio::test]
async fn the_default_limit_holds_on_both_sides() {
    let (mut near, mut far) = memory();
    near.send(vec![b'x'; DEFAULT_MAX_MESSAGE]);
    near.send(vec![b'y'; DEFAULT_MAX_MESSAGE + 1]);
    near.send(b"{}".to_vec());
    let sender = tokio::spawn(async move {
        flush(&mut near).await;
        near
    });
    assert!(matches!(receive(&mut far).await, Received::Message(line) if line.len() == DEFAULT_MAX_MESSAGE));
    match receive(&mut far).await {
        Received::TooLong { limit, start } => {
            assert_eq!((limit, start), (DEFAULT_MAX_MESSAGE, vec![b'y'; 1024].into()));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(receive_text(&mut far).await, "{}");
    assert_eq!(sender.await.unwrap().queued(), 0);
}

#[tokio::test]
async fn another_limit_holds_too() {
    let (mut near, mut far) = memory_with(Limits::default().with_max_message(4));
    near.send(b"1234".to_vec());
    near.send(b"12345".to_vec());
    near.send(b"[2]".to_vec());
    flush(&mut near).await;
    assert_eq!(receive_text(&mut far).await, "1234");
    assert_eq!(
        receive(&mut far).await,
        Received::TooLong {
            limit: 4,
            start: "1234".into()
        }
    );
    assert_eq!(receive_text(&mut far).await, "[2]");
}

#[tokio::test]
async fn a_peer_that_does_not_read_holds_the_sender_back() {
    let (mut near, mut far) = memory();
    let message = vec![b'x'; MEMORY_BUFFER / 4 - 1];
    for _ in 0..8 {
        near.send(message.clone());
    }
    assert!(near.poll_flush(&mut noop()).is_pending());
    assert_eq!(near.queued(), MEMORY_BUFFER, "half is written, half waits");

    let mut received = 0;
    poll_fn(|cx| {
        // One driver polls both directions; the sender goes on as the receiver takes.
        while let Poll::Ready(Ok(Received::Message(_))) = far.poll_receive(cx) {
            received += 1;
        }
        near.poll_flush(cx)
    })
    .await
    .unwrap();
    while received < 8 {
        receive_text(&mut far).await;
        received += 1;
    }
    assert_eq!(near.queued(), 0);
    assert!(far.poll_receive(&mut noop()).is_pending());
}

#[tokio::test]
async fn an_end_that_goes_away_is_an_end_for_the_other() {
    let (mut near, mut far) = memory();
    near.send(b"[1]".to_vec());
    flush(&mut near).await;
    drop(near);
    assert_eq!(receive_text(&mut far).await, "[1]");
    assert_eq!(receive(&mut far).await, Received::End);

    far.send(b"[2]".to_vec());
    for _ in 0..2 {
        let error = poll_fn(|cx| far.poll_flush(cx)).await.unwrap_err();
        assert_eq!(error.kind(), TransportErrorKind::Closed);
        far.send(b"[3]".to_vec());
        assert_eq!(far.queued(), 0, "nothing piles up for a peer that has gone");
    }
}

#[tokio::test]
async fn close_sends_what_waits_and_then_ends() {
    let (mut near, mut far) = memory();
    near.send(b"[1]".to_vec());
    for _ in 0..2 {
        poll_fn(|cx| near.poll_close(cx)).await.unwrap();
    }
    near.send(b"[2]".to_vec());
    assert_eq!(near.queued(), 0, "nothing is taken after the close");
    flush(&mut near).await;
    assert_eq!(receive_text(&mut far).await, "[1]");
    assert_eq!(receive(&mut far).await, Received::End);
    // The other direction is still open.
    far.send(b"[3]".to_vec());
    flush(&mut far).await;
    assert_eq!(receive_text(&mut near).await, "[3]");
}

#[tokio::test]
async fn a_foreign_framing_ends_the_connection_at_once_and_for_good() {
    let (mut raw, ours) = duplex(1024);
    let (reader, writer) = split(ours);
    let mut lines = Lines::new(reader, writer);
    // The body has no line end, and the peer waits for ours.
    raw.write_all(b"Content-Length: 40\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":1}}")
        .await
        .unwrap();
    for _ in 0..2 {
        let Poll::Ready(Err(error)) = lines.poll_receive(&mut noop()) else {
            panic!("it should know by now")
        };
        assert_eq!(error.kind(), TransportErrorKind::ForeignFraming);
        assert!(error.to_string().contains("Content-Length: 40"), "{error}");
    }
}

/// Gives one line and then an error.
struct Failing(Option<io::ErrorKind>, bool);

impl AsyncRead for Failing {
    fn poll_read(mut self: Pin<&mut Self>, _cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if !self.1 {
            self.1 = true;
            buf.put_slice(b"[1]\nhalf");
            return Poll::Ready(Ok(()));
        }
        match self.0.take() {
            Some(kind) => Poll::Ready(Err(kind.into())),
            None => Poll::Ready(Ok(())),
        }
    }
}

#[tokio::test]
async fn a_reset_is_an_end_an_interruption_is_nothing_and_other_faults_are_told() {
    for kind in [io::ErrorKind::ConnectionReset, io::ErrorKind::Interrupted] {
        let mut lines = Lines::new(Failing(Some(kind), false), sink());
        assert_eq!(receive_text(&mut lines).await, "[1]");
        assert_eq!(receive_text(&mut lines).await, "half");
        assert_eq!(receive(&mut lines).await, Received::End);
    }
    let mut lines = Lines::new(Failing(Some(io::ErrorKind::PermissionDenied), false), sink());
    assert_eq!(receive_text(&mut lines).await, "[1]");
    for _ in 0..2 {
        let error = poll_fn(|cx| lines.poll_receive(cx)).await.unwrap_err();
        assert_eq!(error.kind(), TransportErrorKind::Io);
        assert!(std::error::Error::source(&error).is_some());
    }
}

#[tokio::test]
async fn a_box_carries_any_transport() {
    let (near, far) = memory();
    let mut boxed: Vec<Box<dyn Transport>> = vec![Box::new(near), Box::new(far)];
    boxed[0].send(b"[1]".to_vec());
    assert_eq!(boxed[0].queued(), 4);
    flush(&mut boxed[0]).await;
    assert_eq!(receive_text(&mut boxed[1]).await, "[1]");
    assert_eq!(boxed[1].diagnosis(), None);
    poll_fn(|cx| boxed[0].poll_close(cx)).await.unwrap();
    assert_eq!(receive(&mut boxed[1]).await, Received::End);
}

#[cfg(unix)]
#[tokio::test]
async fn sockets_full_in_both_directions_do_not_block_each_other() {
    let (left, right) = tokio::net::UnixStream::pair().unwrap();
    let connect = |stream: tokio::net::UnixStream| {
        let (reader, writer) = stream.into_split();
        Lines::new(reader, writer)
    };
    let mut ends = [connect(left), connect(right)];
    let message = vec![b'x'; 4 * 1024 * 1024];
    for end in &mut ends {
        end.send(message.clone());
        end.send(b"[]".to_vec());
    }
    let mut received = [0, 0];
    poll_fn(|cx| {
        let mut done = true;
        for (end, count) in ends.iter_mut().zip(&mut received) {
            done &= end.poll_flush(cx).is_ready();
            while let Poll::Ready(result) = end.poll_receive(cx) {
                assert!(matches!(result.unwrap(), Received::Message(_)));
                *count += 1;
            }
        }
        if done && received == [2, 2] {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
}

#[cfg(unix)]
#[tokio::test]
async fn a_socket_closed_with_unread_messages_is_an_end() {
    let (left, right) = tokio::net::UnixStream::pair().unwrap();
    let (reader, writer) = left.into_split();
    let mut lines = Lines::new(reader, writer);
    lines.send(b"[1]".to_vec());
    flush(&mut lines).await;
    // The peer never reads this, which makes the system report a reset instead of an end.
    drop(right);
    assert_eq!(receive(&mut lines).await, Received::End);
}

#[tokio::test]
async fn what_is_written_is_one_line_per_message() {
    let (mut raw, ours) = duplex(1024);
    let mut lines = Lines::new(tokio::io::empty(), ours);
    lines.send(b"{\n \"a\": 1\n}".to_vec());
    lines.send(b"[]".to_vec());
    poll_fn(|cx| lines.poll_close(cx)).await.unwrap();
    let mut written = String::new();
    raw.read_to_string(&mut written).await.unwrap();
    assert_eq!(written, "{  \"a\": 1 }\n[]\n");
}
