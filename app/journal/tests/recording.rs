//! What is written, and that it can be read back.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Value, json};
use trunkline_journal::{Body, Direction, Event, Journal, MAX_BODY, MAX_DEPTH, Why, read, read_from, verify};

fn lines(journal: &Journal) -> Vec<Value> {
    let bytes = journal.contents();
    bytes
        .split(|&b| b == b'\n')
        .filter(|l| !l.is_empty())
        .map(|l| serde_json::from_slice(l).unwrap())
        .collect()
}

/// Takes bytes until told not to.
#[derive(Clone, Default)]
struct Flaky(Arc<Mutex<(Vec<u8>, Option<usize>)>>);

impl Flaky {
    /// From now on only so many bytes are taken; `None` for any number.
    fn room(&self, room: Option<usize>) {
        self.0.lock().unwrap().1 = room;
    }

    fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().0.clone()
    }
}

impl Write for Flaky {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut inner = self.0.lock().unwrap();
        let count = inner.1.map_or(bytes.len(), |room| room.min(bytes.len()));
        if count == 0 {
            return Err(io::Error::other("disk full"));
        }
        inner.1 = inner.1.map(|room| room - count);
        inner.0.extend_from_slice(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn the_exact_lines() {
    let sink = Flaky::default();
    let journal = Journal::with_clock(Box::new(sink.clone()), || UNIX_EPOCH + Duration::from_millis(1500));
    let tap = journal.tap("weather");
    tap.message(Direction::Sent, b"{\"id\": 1}");
    journal.set_revision("weather", "2025-11-25");
    tap.message(Direction::Received, b"{\"id\":1,\"token\":\"abc\"}");
    tap.stderr(b"warm\xff");
    journal.noise("weather", b"trace {");
    journal.record("decision", &json!({"who": "person"}));
    drop((journal, tap));

    let text = String::from_utf8(sink.bytes()).unwrap();
    let bodies: Vec<&str> = text
        .lines()
        .map(|line| line.split(",\"hash\":").next().unwrap())
        .collect();
    let start = |seq: u32| format!("{{\"seq\":{seq},\"time\":\"1970-01-01T00:00:01.500000Z\",\"kind\":");
    let rest = [
        format!(r#""header","format":1,"tool":"trunkline","tool_version":"{}""#, env!("CARGO_PKG_VERSION")),
        r#""message","connection":"weather","direction":"sent","message":{"id":1}"#.to_owned(),
        r#""message","connection":"weather","revision":"2025-11-25","direction":"received","message":{"id":1,"token":"[masked 1-8]"},"masked":1"#.to_owned(),
        "\"stderr\",\"connection\":\"weather\",\"text\":\"warm\u{fffd}\",\"bytes\":5".to_owned(),
        r#""noise","connection":"weather","text":"trace {","bytes":7"#.to_owned(),
        r#""decision","body":{"who":"person"}"#.to_owned(),
        r#""end","lost":0"#.to_owned(),
    ];
    let wanted: Vec<String> = (0..).zip(rest).map(|(seq, rest)| start(seq) + &rest).collect();
    assert_eq!(bodies, wanted);
    assert!(verify(&sink.bytes()[..]).unwrap().is_whole());
}

#[test]
fn entries_come_back_exactly() {
    let journal = Journal::memory();
    let message = r#"{"id":9007199254740993,"x":1e400,"n":123456789012345678901234567890,"s":"\ud800","a":1,"a":2}"#;
    journal.tap("a").message(Direction::Received, message.as_bytes());
    journal.tap("b").message(Direction::Received, b"null");
    journal.tap("b").message(Direction::Received, b"");
    journal.record("note", &Value::Null);
    journal.close();
    let bytes = journal.contents();
    let entries: Vec<_> = read_from(&bytes[..]).map(Result::unwrap).collect();
    let json = |at: usize| match &entries[at].event {
        Event::Message {
            body: Body::Json(json), ..
        } => json.get().to_owned(),
        other => panic!("not JSON: {other:?}"),
    };
    assert_eq!(json(1), message);
    assert_eq!(json(2), "null");
    assert!(matches!(&entries[3].event, Event::Message { body: Body::Text(text), .. } if text.bytes == 0));
    assert!(matches!(&entries[4].event, Event::Record { kind, body: Value::Null } if kind == "note"));
    assert!(matches!(entries[5].event, Event::End { lost: 0 }));
    assert_eq!(entries.last().map(|entry| (entry.line, entry.seq)), Some((6, 5)));
}

#[test]
fn one_bad_line_spoils_itself_alone() {
    let journal = Journal::memory();
    journal.record("note", &json!(1));
    let good = String::from_utf8(journal.contents()).unwrap();
    let mut bytes = b"{\"seq\":0,\"time\":\"\",\"kind\":\"message\"}\n\nnonsense\n\xff\xfe\n".to_vec();
    bytes.extend_from_slice(good.as_bytes());
    bytes.extend_from_slice(b"{\"seq\":2,\"ti");
    let read: Vec<_> = read_from(&bytes[..]).collect();
    let outcome: Vec<_> = read
        .iter()
        .map(|item| item.as_ref().map(|entry| entry.seq).map_err(|e| e.line))
        .collect();
    assert_eq!(outcome, [Err(1), Err(3), Err(4), Ok(0), Ok(1), Err(7)]);
    assert_eq!(
        read[0].as_ref().unwrap_err().to_string(),
        "journal line 1: `message` without `connection`"
    );
}

#[test]
fn own_kinds_and_odd_kinds_become_notes() {
    let journal = Journal::memory();
    for kind in [
        "decision",
        "header",
        "end",
        "",
        "Two Words",
        "x\"y",
        &"k".repeat(33),
        "tool_set_aside",
    ] {
        journal.record(kind, &json!({}));
    }
    let kinds: Vec<String> = lines(&journal)[1..]
        .iter()
        .map(|l| l["kind"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        kinds,
        [
            "decision",
            "note",
            "note",
            "note",
            "note",
            "note",
            "note",
            "tool_set_aside"
        ]
    );
    assert_eq!(verify(&journal.contents()[..]).unwrap().broken, None);
}

#[test]
fn too_long_is_recorded_by_beginning_length_and_hash() {
    let journal = Journal::memory();
    let long = format!("{{\"password\":\"hunter2\",\"x\":\"{}\"}}", "서울".repeat(MAX_BODY / 6));
    assert!(long.len() > MAX_BODY);
    journal.tap("a").message(Direction::Received, long.as_bytes());
    journal.record("note", &json!(long));
    let lines = lines(&journal);
    for entry in [&lines[1], &lines[2]["body"]] {
        let text = entry["text"].as_str().unwrap();
        assert!(text.len() < 17 << 10 && text.len() > 8 << 10);
        assert!(text.contains("서울") && !text.contains("hunter2"));
        assert_eq!(entry["sha256"].as_str().unwrap().len(), 64);
    }
    assert_eq!(lines[1]["bytes"], long.len());
    assert_eq!(lines[1]["masked"], 1);
}

#[test]
fn a_secret_that_the_cut_goes_through_does_not_show() {
    let secret = "k3y-".repeat(64);
    for before in (15 << 10..33 << 10).step_by(1021) {
        let journal = Journal::memory();
        journal.add_secret(&secret);
        let long = format!("{}{secret}{}", "x".repeat(before), "y".repeat(MAX_BODY));
        journal.tap("a").message(Direction::Received, long.as_bytes());
        assert!(
            !String::from_utf8(journal.contents()).unwrap().contains("k3y-"),
            "{before}"
        );
    }
}

#[test]
fn what_stands_under_the_name_of_a_secret_does_not_show_where_json_is_recorded_as_text() {
    let secret = r#""credentials":{"user":"me}","all":["hunter2"]}"#;
    let deep = format!("{}{{{secret}}}{}", "[".repeat(MAX_DEPTH), "]".repeat(MAX_DEPTH));
    let long = format!(r#"{{{secret},"text":"{}"}}"#, "y".repeat(MAX_BODY));
    let cut = format!(r#"{{"id":7,"credentials":["{}"]}}"#, "hunter2 ".repeat(MAX_BODY / 8));
    for message in [deep, long, cut, format!("{{{secret}")] {
        let journal = Journal::memory();
        journal.tap("a").message(Direction::Received, message.as_bytes());
        let written = String::from_utf8(journal.contents()).unwrap();
        assert!(
            written.contains("credentials") && !written.contains("hunter2"),
            "{message:.200}"
        );
    }
}

#[test]
fn a_failed_write_is_counted_told_once_and_shown_as_a_gap() {
    let sink = Flaky::default();
    let journal = Journal::to_writer(Box::new(sink.clone()));
    assert_eq!(journal.failure(), None);
    sink.room(Some(0));
    journal.record("note", &json!(1));
    journal.record("note", &json!(2));
    let failure = journal.failure().unwrap();
    assert_eq!((failure.lost, failure.first.as_str()), (2, "disk full"));
    assert_eq!(journal.failure(), None);
    sink.room(None);
    journal.record("note", &json!(3));
    journal.close();
    let bytes = sink.bytes();
    let events: Vec<_> = read_from(&bytes[..]).map(|entry| entry.unwrap().event).collect();
    assert!(matches!(
        &events[1..],
        [Event::Gap { lost: 2 }, Event::Record { .. }, Event::End { lost: 2 }]
    ));
    // Nothing was torn, so the chain holds over the gap.
    assert!(verify(&bytes[..]).unwrap().is_whole());
}

#[test]
fn a_torn_line_spoils_only_itself() {
    let sink = Flaky::default();
    let journal = Journal::to_writer(Box::new(sink.clone()));
    sink.room(Some(20));
    journal.record("note", &json!("torn"));
    sink.room(None);
    journal.record("note", &json!("whole"));
    let bytes = sink.bytes();
    let read: Vec<_> = read_from(&bytes[..]).collect();
    assert_eq!(
        read.iter().map(Result::is_ok).collect::<Vec<_>>(),
        [true, false, true, true]
    );
    let broken = verify(&bytes[..]).unwrap().broken.unwrap();
    assert_eq!((broken.line, broken.why), (2, Why::Altered));
}

#[test]
fn after_close_nothing_is_written() {
    let journal = Journal::memory();
    journal.close();
    let closed = journal.contents();
    journal.record("note", &json!(1));
    journal.close();
    assert_eq!(journal.contents(), closed);
    assert_eq!(journal.lost(), 1);
}

#[test]
fn many_threads_make_one_chain() {
    let journal = Journal::memory();
    std::thread::scope(|scope| {
        for name in ["a", "b", "c", "d"] {
            let tap = journal.tap(name);
            scope.spawn(move || (0..200).for_each(|_| tap.message(Direction::Sent, b"{}")));
        }
    });
    journal.close();
    let verdict = verify(&journal.contents()[..]).unwrap();
    assert_eq!((verdict.is_whole(), verdict.lines), (true, 802));
}

#[test]
fn a_file_is_private_new_and_whole() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.jsonl");
    drop(Journal::create(&file).unwrap());
    assert_eq!(read(&file).unwrap().count(), 2);
    let error = Journal::create(&file).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn what_was_called_and_decided_is_not_taken_for_a_setting_of_the_same_word() {
    let journal = Journal::memory();
    for word in ["weather", "permit", "get_weather"] {
        journal.add_secret(word);
    }
    let body = serde_json::json!({
        "server": "weather", "tool": "get_weather", "effect": "permit", "arguments": { "mode": "weather" },
    });
    journal.record("decision", &body);
    journal.record("note", &body);
    let written = String::from_utf8(journal.contents()).unwrap();
    let lines: Vec<&str> = written.lines().collect();
    let kept = r#""server":"weather","tool":"get_weather","effect":"permit","arguments":{"mode":"[masked 1-8]"}"#;
    assert!(lines[1].contains(kept), "{}", lines[1]);
    assert!(
        lines[2].contains(r#""server":"[masked 1-8]""#),
        "a note is of any form: {}",
        lines[2]
    );
}

#[test]
fn a_private_key_that_a_server_prints_is_masked_in_every_line() {
    let journal = Journal::memory();
    let tap = journal.tap("s");
    for line in [
        "-----BEGIN PRIVATE KEY-----",
        "MIIEvQIBADANBgkqhkiG9w0BAQ",
        "-----END PRIVATE KEY-----",
        "ready",
    ] {
        tap.stderr(line.as_bytes());
        journal.noise("s", line.as_bytes());
    }
    let written = String::from_utf8(journal.contents()).unwrap();
    assert!(!written.contains("MIIEv") && !written.contains("BEGIN"), "{written}");
    assert_eq!(written.matches("ready").count(), 2);
}
