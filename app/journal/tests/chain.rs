//! Every way to change a recording is found, at the line where it happened.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use serde_json::json;
use trunkline_journal::{Journal, Verdict, Why, verify};

/// A header, four notes and an end.
fn recording() -> Vec<String> {
    let journal = Journal::memory();
    for n in 1..5 {
        journal.record("note", &json!(n));
    }
    journal.close();
    String::from_utf8(journal.contents())
        .unwrap()
        .lines()
        .map(|line| format!("{line}\n"))
        .collect()
}

fn judge(lines: &[String]) -> Verdict {
    verify(lines.concat().as_bytes()).unwrap()
}

fn broken(lines: &[String]) -> Option<(u64, Why)> {
    judge(lines).broken.map(|broken| (broken.line, broken.why))
}

#[test]
fn untouched() {
    let lines = recording();
    let verdict = judge(&lines);
    assert!(verdict.is_whole());
    assert_eq!(verdict.lines, 6);
    assert!(lines[5].contains(&verdict.head));
    assert_eq!(verdict.to_string(), "6 lines, whole");
}

#[test]
fn altered() {
    let mut lines = recording();
    lines[2] = lines[2].replace("\"body\":2", "\"body\":7");
    assert_eq!(broken(&lines), Some((3, Why::Altered)));
    lines[2] = "nonsense\n".to_owned();
    assert_eq!(broken(&lines), Some((3, Why::Altered)));
    lines[2] = "\n".to_owned();
    assert_eq!(broken(&lines), Some((3, Why::Altered)));
}

#[test]
fn every_single_byte_counts() {
    let whole = recording().concat().into_bytes();
    for at in 0..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        assert!(!verify(&changed[..]).unwrap().is_whole(), "byte {at}");
    }
}

#[test]
fn missing() {
    let mut lines = recording();
    lines.remove(2);
    assert_eq!(broken(&lines), Some((3, Why::Missing)));
    let lines = recording();
    assert_eq!(broken(&lines[1..]), Some((1, Why::Missing)));
}

#[test]
fn reordered() {
    let mut lines = recording();
    lines.swap(2, 4);
    assert_eq!(broken(&lines), Some((3, Why::Reordered)));
    let mut lines = recording();
    let twice = lines[2].clone();
    lines.insert(3, twice);
    assert_eq!(broken(&lines), Some((4, Why::Reordered)));
}

#[test]
fn cut_off() {
    let lines = recording();
    let text = lines.concat();
    let verdict = verify(&text.as_bytes()[..text.len() - 10]).unwrap();
    assert_eq!(
        verdict.broken.map(|broken| (broken.line, broken.why)),
        Some((6, Why::CutOff))
    );
    assert_eq!(
        verify(&b""[..]).unwrap().broken.map(|broken| broken.why),
        Some(Why::CutOff)
    );
    // Whole lines taken off the end leave a recording that was never closed.
    let verdict = judge(&lines[..4]);
    assert_eq!(
        (verdict.broken, verdict.closed, verdict.is_whole()),
        (None, false, false)
    );
}

#[test]
fn after_the_end() {
    let mut lines = recording();
    lines.push(lines[5].clone());
    assert_eq!(broken(&lines), Some((7, Why::AfterEnd)));
}

#[test]
fn a_hash_that_was_made_again_breaks_at_the_next_line() {
    let (mut lines, other) = (recording(), recording());
    lines[0].clone_from(&other[0]);
    // The header is a start of its own, so the break shows at the line that follows it.
    assert_eq!(broken(&lines), Some((2, Why::Altered)));
}
