//! The cutting of lines, against a second, slow reading of the same bytes.

use proptest::prelude::*;

use super::*;

/// Feeds the pieces one after the other, as reads would.
fn cut<'a>(limit: usize, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Frame> {
    let mut incoming = Incoming::new(limit);
    let mut frames = Vec::new();
    for piece in pieces {
        let mut piece = piece;
        while !piece.is_empty() {
            let mut room = incoming.room();
            let count = piece.len().min(room.remaining_mut());
            room.put_slice(&piece[..count]);
            piece = &piece[count..];
            while let Some(frame) = incoming.next() {
                let foreign = matches!(frame, Frame::Foreign(_));
                frames.push(frame);
                if foreign {
                    return frames;
                }
            }
        }
    }
    frames.extend(incoming.finish());
    assert_eq!(incoming.finish(), None, "the last line came twice");
    frames
}

/// The rules, stated on the whole input.
fn expected(limit: usize, bytes: &[u8]) -> Vec<Frame> {
    let mut frames = Vec::new();
    let mut json_seen = false;
    for line in bytes.split(|byte| *byte == b'\n') {
        let content = line.strip_prefix(BOM).unwrap_or(line);
        if !json_seen && content.len() >= HEADER.len() && content[..HEADER.len()].eq_ignore_ascii_case(HEADER) {
            frames.push(Frame::Foreign(Bytes::copy_from_slice(
                &content[..content.len().min(SHOWN_HEADER)],
            )));
            return frames;
        }
        let content = content.strip_suffix(b"\r").unwrap_or(content);
        if content.len() > limit {
            frames.push(Frame::TooLong(Bytes::copy_from_slice(&content[..limit.min(SHOWN)])));
        } else if let Some(first) = content.iter().find(|byte| !b" \t\r".contains(byte)) {
            json_seen |= b"{[".contains(first);
            frames.push(message(content));
        }
    }
    frames
}

fn message(content: &[u8]) -> Frame {
    Frame::Message(Bytes::copy_from_slice(content))
}

fn check(pieces: &[&[u8]], frames: &[Frame]) {
    assert_eq!(
        cut(1024, pieces.iter().copied()),
        frames,
        "{:?}",
        pieces.concat().escape_ascii().to_string()
    );
}

/// Bytes in which everything special is frequent.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        Just(b"\n".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"\r".to_vec()),
        Just(BOM.to_vec()),
        Just(b"\xEF\xBB".to_vec()),
        Just(b" \t".to_vec()),
        Just(b"{\"id\":1}".to_vec()),
        Just("[\"\u{feff}가\"]".as_bytes().to_vec()),
        Just(b"Content-Length: 40".to_vec()),
        Just(b"content-len".to_vec()),
        Just(vec![b'x'; 90]),
        Just(vec![b'y'; 5000]),
        prop::collection::vec(any::<u8>(), 0..20),
    ];
    prop::collection::vec(part, 0..24).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn any_split_of_any_stream_gives_the_same_lines(
        bytes in stream(),
        sizes in prop::collection::vec(1_usize..40, 1..12),
        limit in prop_oneof![0_usize..20, 60_usize..100, 4_000_usize..6_000],
    ) {
        let whole = expected(limit, &bytes);
        prop_assert_eq!(cut(limit, [&bytes[..]]), &whole[..], "in one piece");
        prop_assert_eq!(cut(limit, bytes.chunks(1)), &whole[..], "byte by byte");
        let mut rest = &bytes[..];
        let mut sizes = sizes.iter().cycle();
        let pieces = std::iter::from_fn(|| {
            let (piece, after) = rest.split_at(rest.len().min(*sizes.next()?));
            rest = after;
            (!piece.is_empty()).then_some(piece)
        });
        prop_assert_eq!(cut(limit, pieces), &whole[..], "in pieces");
    }
}

#[test]
fn line_ends_and_blank_lines() {
    check(&[b"{}\n[]\n"], &[message(b"{}"), message(b"[]")]);
    check(&[b"{}\r\n[]\r", b"\n"], &[message(b"{}"), message(b"[]")]);
    check(&[b"\n\r\n  \n\t\r\n{}\n"], &[message(b"{}")]);
    check(&[b"{}\n[]"], &[message(b"{}"), message(b"[]")]);
    check(&[b"{}\n \t"], &[message(b"{}")]);
    // A lone CR does not end a line.
    check(&[b"{\r}\n"], &[message(b"{\r}")]);
}

#[test]
fn one_byte_order_mark_is_dropped_and_only_in_front() {
    let plain = br#"{"jsonrpc":"2.0","id":7,"result":{}}"#;
    let line = [BOM, plain, b"\r\n"].concat();
    check(&[&line], &[message(plain)]);
    check(&[&line[..1], &line[1..2], &line[2..]], &[message(plain)]);
    check(&[&line, &line], &[message(plain), message(plain)]);
    check(&[BOM, b"\n", BOM, BOM, b"{}\n"], &[message(&[BOM, b"{}"].concat())]);
    let inside = "[\"\u{feff}\"]".as_bytes();
    check(&[inside, b"\n"], &[message(inside)]);
}

#[test]
fn the_limit_counts_the_message_alone() {
    let exact = [b'x'; 64];
    let framed = [BOM, &exact, b"\r\n{}\n"].concat();
    assert_eq!(cut(64, [&framed[..]]), [message(&exact), message(b"{}")]);

    let over = [&[b'x'; 65][..], b"\n{}\n"].concat();
    let too_long = Frame::TooLong(Bytes::from_static(&[b'x'; 64]));
    assert_eq!(cut(64, [&over[..]]), [too_long.clone(), message(b"{}")]);
    assert_eq!(cut(64, over.chunks(1)), [too_long, message(b"{}")]);
}

#[test]
fn an_endless_line_is_reported_once_and_holds_no_memory() {
    let mut incoming = Incoming::new(256 * 1024);
    incoming.room().put_slice(b"{\"good\":1}\n{\"result\":\"");
    assert_eq!(incoming.next(), Some(message(b"{\"good\":1}")));
    let piece = [b'a'; 4096];
    let mut reports = 0;
    for _ in 0..64 * 1024 {
        incoming.room().put_slice(&piece);
        if let Some(frame) = incoming.next() {
            assert!(matches!(&frame, Frame::TooLong(start) if start.len() == SHOWN && start.starts_with(b"{\"result")));
            reports += 1;
        }
        assert!(
            incoming.buffer.capacity() <= 1024 * 1024,
            "{} bytes held",
            incoming.buffer.capacity()
        );
    }
    assert_eq!(reports, 1);
    incoming.room().put_slice(b"\n{\"next\":1}\n");
    assert_eq!(incoming.next(), Some(message(b"{\"next\":1}")));
    assert_eq!(incoming.next(), None);
}

#[test]
fn each_byte_is_searched_once_and_the_buffer_grows_in_few_steps() {
    let mut incoming = Incoming::new(usize::MAX);
    let (mut growths, mut capacity) = (0, 0);
    let piece = [b'a'; 4096];
    for _ in 0..16 * 1024 {
        incoming.room().put_slice(&piece);
        assert_eq!(incoming.next(), None);
        assert_eq!(
            incoming.searched,
            incoming.buffer.len(),
            "the next search starts behind what was searched"
        );
        if incoming.buffer.capacity() != capacity {
            capacity = incoming.buffer.capacity();
            growths += 1;
        }
    }
    assert!(growths < 20, "64 MiB were moved {growths} times");
    incoming.room().put_slice(b"\n");
    assert!(matches!(incoming.next(), Some(Frame::Message(line)) if line.len() == 64 * 1024 * 1024));
}

#[test]
fn a_large_message_leaves_no_large_buffer_behind() {
    let mut incoming = Incoming::new(usize::MAX);
    let piece = vec![b'a'; 64 * 1024];
    for _ in 0..256 {
        incoming.room().put_slice(&piece);
        assert_eq!(incoming.next(), None);
    }
    incoming.room().put_slice(b"\n{\"half");
    assert!(matches!(incoming.next(), Some(Frame::Message(_))));
    assert!(
        incoming.buffer.capacity() < 1024,
        "{} bytes kept",
        incoming.buffer.capacity()
    );
    incoming.room().put_slice(b"\":1}\n");
    assert_eq!(incoming.next(), Some(message(b"{\"half\":1}")));
}

#[test]
fn a_small_message_does_not_keep_the_read_buffer_alive() {
    let mut incoming = Incoming::new(1024);
    incoming.room().put_slice(b"{\"method\":\"notifications/progress\"}\n");
    let kept = incoming.next();
    assert!(incoming.buffer.try_reclaim(READ), "the message shares the buffer");
    assert!(matches!(kept, Some(Frame::Message(_))));
}

#[test]
fn header_framing_is_named_as_soon_as_its_line_is_there() {
    let header = Frame::Foreign(Bytes::from_static(b"Content-Length: 40\r"));
    check(&[b"Content-Length: 40\r\n"], std::slice::from_ref(&header));
    check(
        &[b"\n", BOM, b"Content-Le", b"ngth: 40\r\n\r\n{"],
        std::slice::from_ref(&header),
    );
    // Also after noise, for instance a banner, but never once a message was seen.
    check(&[b"starting\nContent-Length: 40\r\n"], &[message(b"starting"), header]);
    check(
        &[b"{}\nContent-Length: 40\n"],
        &[message(b"{}"), message(b"Content-Length: 40")],
    );
    // Nor elsewhere than at the start of a line.
    check(&[b"the Content-Length: 40\n"], &[message(b"the Content-Length: 40")]);
}
