//! The bytes of one line: how it begins, how it ends, and what its hash covers.

use std::fmt::{self, Write as _};

use sha2::{Digest, Sha256};

/// The version of the format that this crate writes and reads.
pub const FORMAT: u64 = 1;

/// Bodies longer than this many bytes are recorded by their beginning, length and hash.
pub const MAX_BODY: usize = 1 << 20;

/// A line longer than this many bytes is not read: escaping and masking cannot make one of them from [`MAX_BODY`].
pub const MAX_LINE: usize = 16 << 20;

/// JSON nested deeper than this is recorded as text, so that every reader can take the line apart.
pub const MAX_DEPTH: usize = 128;

/// How many bytes of a body that is too long are kept.
pub(crate) const BEGINNING: usize = 16 << 10;

/// The hash before the first line.
pub(crate) const GENESIS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

const TAIL_START: &str = ",\"hash\":\"";
const TAIL_END: &str = "\"}";
const HASH: usize = 64;

/// The hash of a line whose bytes before the hash are `body`.
pub(crate) fn chain(previous: &str, body: &[u8]) -> String {
    let mut state = Sha256::new();
    state.update(previous.as_bytes());
    state.update(body);
    hex(&state.finalize())
}

/// SHA-256 in hexadecimal.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Bytes in lower-case hexadecimal.
///
/// ```
/// assert_eq!(trunkline_journal::hex(&[0, 0xa7]), "00a7");
/// ```
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}

/// Appends the hash and the line end to a line body.
pub(crate) fn seal(body: &mut String, hash: &str) {
    body.push_str(TAIL_START);
    body.push_str(hash);
    body.push_str(TAIL_END);
    body.push('\n');
}

/// A line without its line end, taken apart.
pub(crate) struct Parts<'a> {
    pub(crate) body: &'a [u8],
    pub(crate) hash: &'a str,
    pub(crate) seq: u64,
}

/// Takes a line apart, or says that it is not of the form this crate writes.
pub(crate) fn parts(line: &[u8]) -> Option<Parts<'_>> {
    let body_end = line.len().checked_sub(TAIL_START.len() + HASH + TAIL_END.len())?;
    let (body, tail) = line.split_at(body_end);
    let hash = tail.strip_prefix(TAIL_START.as_bytes())?;
    let hash = std::str::from_utf8(hash.strip_suffix(TAIL_END.as_bytes())?).ok()?;
    let rest = std::str::from_utf8(body).ok()?.strip_prefix("{\"seq\":")?;
    let seq = rest.split(',').next()?.parse().ok()?;
    Some(Parts { body, hash, seq })
}

/// A text that shows itself as a JSON string, quotes included.
pub(crate) struct Quoted<'a>(pub(crate) &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0;
        f.write_char('"')?;
        let mut plain = 0;
        for (at, byte) in text.bytes().enumerate() {
            let escape = match byte {
                b'"' => "\\\"",
                b'\\' => "\\\\",
                b'\n' => "\\n",
                b'\r' => "\\r",
                b'\t' => "\\t",
                0..0x20 => "",
                _ => continue,
            };
            f.write_str(&text[plain..at])?;
            plain = at + 1;
            if escape.is_empty() {
                write!(f, "\\u{byte:04x}")?;
            } else {
                f.write_str(escape)?;
            }
        }
        f.write_str(&text[plain..])?;
        f.write_char('"')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_line_comes_apart_again() {
        let mut line = "{\"seq\":7,\"kind\":\"note\"".to_owned();
        let hash = chain(GENESIS, line.as_bytes());
        seal(&mut line, &hash);
        let parts = parts(line.trim_end().as_bytes()).unwrap();
        assert_eq!((parts.seq, parts.hash), (7, hash.as_str()));
        assert_eq!(parts.body, b"{\"seq\":7,\"kind\":\"note\"");
    }

    #[test]
    fn other_lines_do_not() {
        for line in ["", "{}", "{\"seq\":1}", "x,\"hash\":\"y\"}"] {
            assert!(parts(line.as_bytes()).is_none(), "{line}");
        }
    }

    #[test]
    fn the_hash_is_plain_sha_256() {
        assert_eq!(
            sha256(b"abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn strings_are_escaped_as_serde_json_reads_them() {
        let text = "tab\t quote\" back\\ bell\u{7} 서울 \u{2028} \r\n\u{0}";
        let out = Quoted(text).to_string();
        assert_eq!(serde_json::from_str::<String>(&out).unwrap(), text);
    }
}
