use proptest::prelude::*;

use super::*;
use crate::sse::{encode_comment, encode_event, encode_retry};

/// What a stream brings, in words, with the id and the wait after each piece.
fn read_pieces<'a>(limit: usize, pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<String>, Decoder) {
    let mut decoder = Decoder::new(limit);
    let mut seen = Vec::new();
    for piece in pieces {
        decoder.push(piece.to_vec());
        while let Some(decoded) = decoder.next() {
            let id = decoder.last_event_id().unwrap_or("-").to_owned();
            seen.push(match decoded {
                Decoded::Event(event) => format!(
                    "{} {id} {}",
                    event.event.as_deref().unwrap_or("-"),
                    String::from_utf8_lossy(&event.data).escape_debug()
                ),
                Decoded::TooLong { limit, start } => {
                    format!(
                        "longer than {limit}: {}",
                        String::from_utf8_lossy(&start).escape_debug()
                    )
                }
            });
        }
    }
    (seen, decoder)
}

fn read(stream: &str) -> Vec<String> {
    read_pieces(1000, [stream.as_bytes()]).0
}

#[test]
fn lines_end_by_lf_cr_or_both() {
    for end in ["\n", "\r", "\r\n"] {
        let stream = ["id: 1", "event: a", "data: x", "", "data: y", "", ""].join(end);
        assert_eq!(read(&stream), ["a 1 x", "- 1 y"], "{end:?}");
    }
    assert_eq!(
        read("data: a\r\n\r\ndata: b\n\rdata: c\r\r"),
        ["- - a", "- - b", "- - c"]
    );
}

#[test]
fn data_lines_are_joined_and_lose_one_space() {
    let stream = "data: {\"jsonrpc\":\"2.0\",\"id\":2,\ndata: \"result\":{}}\n\n";
    assert_eq!(
        read(stream),
        [r#"- - {\"jsonrpc\":\"2.0\",\"id\":2,\n\"result\":{}}"#],
        "C-26"
    );
    assert_eq!(
        read("data:x\n\ndata:  x\n\ndata\n\ndata\ndata\n\n"),
        ["- - x", "- -  x", "- - ", "- - \\n"]
    );
}

#[test]
fn comments_and_unknown_fields_mean_nothing() {
    assert_eq!(
        read(": alive\n:\nfoo: bar\nDATA: x\ndatax: y\n data: z\n\ndata: a\n\n"),
        ["- - a"]
    );
}

#[test]
fn an_event_counts_when_its_blank_line_has_come() {
    let (seen, decoder) = read_pieces(1000, [&b"id: 1\ndata: a\n\nid: 2\ndata: b\n"[..]]);
    assert_eq!(seen, ["- 1 a"], "decision 7");
    assert_eq!(decoder.last_event_id(), Some("1"));
}

#[test]
fn an_event_without_data_moves_only_the_id() {
    let (seen, decoder) = read_pieces(1000, [&b"id: 5\nevent: x\n\nid: 6\ndata:\n\n"[..]]);
    assert_eq!(seen, ["- 6 "]);
    assert_eq!(decoder.last_event_id(), Some("6"));
    assert_eq!(
        read("id: 5\n\nid\ndata: a\n\ndata: b\n\n"),
        ["- - a", "- - b"],
        "an empty id takes the old one back"
    );
    assert_eq!(
        read("id: 5\nid: 6\0\ndata: a\n\n"),
        ["- 5 a"],
        "an id with NUL is ignored"
    );
}

#[test]
fn a_wait_is_digits_only() {
    for (value, expected) in [
        ("3000", Some(3000)),
        ("", None),
        ("-1", None),
        ("1.5", None),
        ("1s", None),
        ("99999999999999999999", Some(u64::MAX)),
    ] {
        let stream = format!("retry: {value}\n");
        assert_eq!(read_pieces(1000, [stream.as_bytes()]).1.retry(), expected, "{value:?}");
    }
}

#[test]
fn a_byte_order_mark_is_passed_over_once() {
    let marked = "\u{feff}data: a\n\n\u{feff}data: b\n\n";
    assert_eq!(read(marked), ["- - a"], "the second makes an unknown field");
    let bytes = marked.as_bytes();
    assert_eq!(read_pieces(1000, [&bytes[..1], &bytes[1..2], &bytes[2..]]).0, ["- - a"]);
    assert_eq!(read("data: \u{feff}x\n\n"), ["- - \\u{feff}x"]);
    // A first line that is skipped before it is read to its end is the first one all the same.
    let second = ":\n\u{feff}data: a\n\n".as_bytes();
    assert_eq!(read_pieces(1000, [second]).0, [""; 0]);
    assert_eq!(read_pieces(1000, second.chunks(1)).0, [""; 0]);
}

#[test]
fn the_limit_holds_for_all_data_of_an_event_together() {
    let read = |stream: &str| read_pieces(10, [stream.as_bytes()]).0;
    assert_eq!(read("data: 0123456789\n\n"), ["- - 0123456789"]);
    assert_eq!(read("data: 01234\ndata: 6789\n\n"), ["- - 01234\\n6789"]);
    let after = "\n\ndata: next\n\n";
    assert_eq!(
        read(&format!("data: 01234567890{after}")),
        ["longer than 10: 0123456789", "- - next"]
    );
    assert_eq!(
        read(&format!("id: 3\ndata: 01234\ndata: 67890\ndata: more{after}")),
        ["longer than 10: 01234\\n6789", "- 3 next"],
        "it is told once, and its id counts"
    );
}

#[test]
fn a_long_id_or_type_spoils_its_event_only() {
    let name = "n".repeat(MAX_FIELD);
    assert_eq!(read(&format!("event:{name}\ndata: a\n\n")), [format!("{name} - a")]);
    for field in ["event:", "event: ", "id:", "id: "] {
        let seen = read(&format!("id: 1\n\n{field}{name}x\ndata: a\n\ndata: b\n\n"));
        assert_eq!(seen.len(), 2, "{seen:?}");
        assert!(seen[0].starts_with("longer than 1000: "), "{seen:?}");
        assert_eq!(seen[1], "- 1 b");
    }
}

#[test]
fn lines_of_any_size_below_the_limit_arrive_and_endless_ones_cost_no_memory() {
    for size in [65_535, 65_537, 1024 * 1024] {
        let data = "x".repeat(size);
        let stream = format!("data: {data}\n\n");
        let (seen, _) = read_pieces(2 * 1024 * 1024, stream.as_bytes().chunks(1000));
        assert_eq!(seen, [format!("- - {data}")], "C-28");
    }
    for start in ["data: ", ": ", "foo: ", "id: "] {
        let mut decoder = Decoder::new(10_000);
        decoder.push(start.as_bytes().to_vec());
        for _ in 0..10_000 {
            decoder.push(vec![b'x'; 1000]);
            let _ = decoder.next();
            assert!(decoder.line.len() < 12_000, "{start}");
        }
        decoder.push(&b"\n\ndata: good\n\n"[..]);
        let Some(Decoded::Event(event)) = decoder.next() else {
            panic!("{start}")
        };
        assert_eq!(event.data, b"good"[..]);
    }
}

#[test]
fn a_burst_of_empty_events_is_a_loop() {
    let stream = b": skip\n\n".repeat(50_000);
    assert_eq!(
        read_pieces(100, [&stream[..], &b"data: a\n\n"[..]]).0,
        ["- - a"],
        "C-27"
    );
}

#[test]
fn a_byte_at_a_time_is_linear() {
    let data = "y".repeat(1024 * 1024);
    let stream = format!("data: {data}\n\n");
    // Quadratic work would take minutes here.
    assert_eq!(read_pieces(usize::MAX, stream.as_bytes().chunks(1)).0.len(), 1);
}

/// A mark that is not at the very beginning is part of a name, also behind a line that was skipped as it came.
#[test]
fn a_second_byte_order_mark_counts() {
    let stream = ":\n\u{feff}data:\n\n";
    for size in [1, 2, 100] {
        assert_eq!(read_pieces(0, stream.as_bytes().chunks(size)).0, [""; 0], "{size}");
    }
}

fn any_stream() -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![
        Just("data: ".to_owned()),
        Just("data".to_owned()),
        "data:? ?[a-c\u{e9}]{0,14}",
        "id:? ?[0-9\0]{0,3}",
        "retry: [0-9x]{0,3}",
        "event: [a-z]{0,3}",
        ":.{0,20}",
        "\u{feff}?data:[a-z]{0,3}",
        Just(String::new()),
        Just(String::new()),
        Just(format!("id: {}", "i".repeat(MAX_FIELD + 1))),
        Just(format!("event:{}\0", "i".repeat(MAX_FIELD + 5))),
        Just(format!("retry:{}", "0".repeat(MAX_FIELD + 5))),
    ];
    let end = prop_oneof![Just("\n"), Just("\r"), Just("\r\n")];
    let structured = prop::collection::vec((line, end), 0..30).prop_map(|lines| {
        let text: String = lines
            .into_iter()
            .flat_map(|(line, end)| [line, end.to_owned()])
            .collect();
        text.into_bytes()
    });
    prop_oneof![3 => structured, 1 => prop::collection::vec(any::<u8>(), 0..100)]
}

proptest! {
    #[test]
    fn it_does_not_matter_where_the_bytes_are_cut(
        stream in any_stream(),
        limit in prop_oneof![0_usize..20, Just(10_000)],
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let (whole, decoder) = read_pieces(limit, [&stream[..]]);
        let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
        at.sort_unstable();
        at.insert(0, 0);
        at.push(stream.len());
        let (cut, other) = read_pieces(limit, at.windows(2).map(|pair| &stream[pair[0]..pair[1]]));
        prop_assert_eq!(&cut, &whole);
        prop_assert_eq!(other.last_event_id(), decoder.last_event_id());
        prop_assert_eq!(other.retry(), decoder.retry());
        prop_assert_eq!(&read_pieces(limit, stream.chunks(1)).0, &whole);
    }

    #[test]
    fn what_is_encoded_is_decoded(
        events in prop::collection::vec((prop::option::of("[!-~]{1,9}"), prop::option::of("[a-z]{1,9}"), ".*"), 0..9),
        size in 1_usize..9,
    ) {
        let mut stream = Vec::new();
        let mut expected = Vec::new();
        let mut last = None;
        for (id, event, data) in &events {
            encode_comment(&mut stream, "alive");
            encode_event(&mut stream, id.as_deref(), event.as_deref(), data.as_bytes());
            encode_retry(&mut stream, 5);
            last = id.as_deref().or(last);
            let data = data.replace("\r\n", "\n").replace('\r', "\n");
            expected.push(format!("{} {} {}", event.as_deref().unwrap_or("-"), last.unwrap_or("-"), data.escape_debug()));
        }
        prop_assert_eq!(read_pieces(usize::MAX, stream.chunks(size)).0, expected);
    }
}
