//! A connection that breaks once: between a client and a server, in the middle of an answer.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Passes everything on, but breaks the first connection on which the server sends an event with a marker, after that
/// event. What was meant to follow it is lost.
pub(super) struct Cut {
    address: SocketAddr,
    is_made: Arc<AtomicBool>,
    is_over: Arc<AtomicBool>,
}

impl Cut {
    /// In front of a server at `http://ADDRESS/…`.
    pub(super) fn after(marker: &'static str, url: &str) -> Self {
        let server = url.split('/').nth(2).expect("an address").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let cut = Self {
            address: listener.local_addr().expect("it is bound"),
            is_made: Arc::default(),
            is_over: Arc::default(),
        };
        let (is_made, is_over) = (Arc::clone(&cut.is_made), Arc::clone(&cut.is_over));
        std::thread::spawn(move || {
            while let Ok((client, _)) = listener.accept() {
                if is_over.load(Ordering::SeqCst) {
                    return;
                }
                let server = TcpStream::connect(&server).expect("the server listens");
                let is_made = Arc::clone(&is_made);
                let (asking, asked) = (client.try_clone(), server.try_clone());
                std::thread::spawn(move || {
                    pass(asking.expect("a socket"), asked.expect("a socket"), |_| None);
                });
                std::thread::spawn(move || {
                    pass(server, client, |sent| {
                        let end = end_of_event(sent, marker.as_bytes())?;
                        (!is_made.swap(true, Ordering::SeqCst)).then_some(end)
                    });
                });
            }
        });
        cut
    }

    pub(super) fn at(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(super) fn is_made(&self) -> bool {
        self.is_made.load(Ordering::SeqCst)
    }
}

impl Drop for Cut {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(self.address);
    }
}

/// Passes bytes on until one side ends, or up to where `cut` says, looking at all that came so far; then both end.
fn pass(mut from: TcpStream, mut to: TcpStream, cut: impl Fn(&[u8]) -> Option<usize>) {
    let (mut seen, mut passed) = (Vec::new(), 0);
    let mut piece = [0; 16 * 1024];
    loop {
        match from.read(&mut piece) {
            Ok(0) => break,
            Ok(length) => seen.extend_from_slice(&piece[..length]),
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(_) => break,
        }
        let end = cut(&seen);
        if to.write_all(&seen[passed..end.unwrap_or(seen.len())]).is_err() || end.is_some() {
            break;
        }
        passed = seen.len();
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

/// Where the first event with the marker ends, if all of it is there. Lines may end as the server likes.
fn end_of_event(sent: &[u8], marker: &[u8]) -> Option<usize> {
    let start = find(sent, marker)?;
    let ends = [&b"\n\n"[..], b"\r\n\r\n"].into_iter();
    ends.filter_map(|end| Some(start + find(&sent[start..], end)? + end.len()))
        .min()
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

#[test]
fn it_passes_on_the_whole_event_and_nothing_behind_it() {
    let sent = b"HTTP/1.1 200 OK\r\n\r\nid: 1\ndata: one\n\nid: 2\ndata: two\n\n";
    assert_eq!(
        end_of_event(sent, b"one").map(|end| &sent[end..]),
        Some(&b"id: 2\ndata: two\n\n"[..])
    );
    assert_eq!(end_of_event(b"id: 1\r\ndata: one\r\n\r\nid: 2\r\n", b"one"), Some(20));
    assert_eq!(
        end_of_event(b"id: 1\ndata: one\n", b"one"),
        None,
        "its end is still to come"
    );
    assert_eq!(end_of_event(sent, b"three"), None);
}
