//! Private keys that are written line by line, as programs write what they print.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use memchr::memmem::{find, rfind};

use crate::secrets::{KEY_BEGIN, KEY_END, KEY_NAME};

/// The longest key, in lines: more than any is, and little of what a server prints is lost to a key without an end.
const LONGEST: u32 = 200;

/// The connections that are in the middle of a private key.
#[derive(Debug, Default)]
pub(crate) struct KeyLines {
    /// How many lines each may still take.
    open: Mutex<BTreeMap<String, u32>>,
}

impl KeyLines {
    /// Whether the next line of this source belongs to a key that began in an earlier one.
    pub(crate) fn go_on(&self, source: &str, line: &[u8]) -> bool {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let holds = |text: &[u8], part: &str| find(text, part.as_bytes()).is_some();
        if let Some(begin) = rfind(line, KEY_BEGIN.as_bytes()) {
            // The line itself is masked by what it looks like.
            let rest = &line[begin..];
            if holds(rest, KEY_NAME) && !holds(rest, KEY_END) {
                open.insert(source.to_owned(), LONGEST);
            } else {
                open.remove(source);
            }
            return false;
        }
        let Some(left) = open.get_mut(source) else { return false };
        *left -= 1;
        if *left == 0 || holds(line, KEY_END) {
            open.remove(source);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn go_on(lines: &KeyLines, source: &str, line: &str) -> bool {
        lines.go_on(source, line.as_bytes())
    }

    const BEGIN: &str = "key: -----BEGIN OPENSSH PRIVATE KEY-----";

    #[test]
    fn a_key_goes_on_to_its_end() {
        let lines = KeyLines::default();
        let told = [
            "before",
            BEGIN,
            "b3BlbnNz",
            "-----END OPENSSH PRIVATE KEY-----",
            "after",
        ];
        assert_eq!(
            told.map(|line| go_on(&lines, "a", line)),
            [false, false, true, true, false]
        );
        assert!(!go_on(&lines, "a", BEGIN));
        assert!(!go_on(&lines, "b", "another connection"));
    }

    #[test]
    fn a_key_without_an_end_ends_all_the_same() {
        let lines = KeyLines::default();
        assert!(!go_on(&lines, "a", BEGIN));
        for _ in 0..LONGEST {
            assert!(go_on(&lines, "a", "x"));
        }
        assert!(!go_on(&lines, "a", "x"));
    }

    #[test]
    fn what_is_no_private_key_or_is_whole_opens_nothing() {
        let lines = KeyLines::default();
        for line in [
            "-----BEGIN CERTIFICATE-----",
            "-----BEGIN PRIVATE KEY-----x-----END PRIVATE KEY-----",
        ] {
            assert!(!go_on(&lines, "a", line));
            assert!(!go_on(&lines, "a", "x"), "{line}");
        }
    }
}
