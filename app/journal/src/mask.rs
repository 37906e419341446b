//! Masking: secrets are taken out before a line is made.

use std::fmt::Write as _;

use crate::line::{MAX_DEPTH, push_string};
use crate::secrets::{SHORTEST_KNOWN, is_secret_name, is_stand_in, spans, stand_in};

/// Takes secrets out of JSON and text. What is not a secret stays byte for byte.
///
/// Masked is:
///
/// - every string or number under a name that ends in `password`, `passwd`, `passphrase`, `secret`, `token`, `api_key`,
///   `access_key`, `secret_key`, `private_key`, `credential(s)`, `authorization` or `cookie`, or is `pass`, `pwd`, `otp`,
///   `jwt`, `dsn`, `connection_string`, `비밀번호`, `암호`, `토큰` or the like, in any case and with or without `_`, `-`
///   and `.`; in a JSON Schema that describes such a property, its `default`, `const` and `examples`. `progressToken`
///   and page tokens are kept: a replay needs them, and they open nothing;
/// - inside any text: `name=value`, `name: value` and `"name": "value"` with such a name, what follows `Bearer` or
///   `Basic`, keys in the shapes that providers give them (`sk-…`, `ghp_…`, `AKIA…` and more), JSON Web Tokens, private
///   keys in PEM form, passwords in addresses;
/// - every value given to [`Mask::add`], wherever it stands in a text, if it has at least 6 bytes.
///
/// In its place stands `[masked 9-16]`: the class of its length in characters, and nothing of its content.
///
/// ```
/// let mut mask = trunkline_journal::Mask::default();
/// mask.add("open sesame");
/// assert_eq!(mask.text("say open sesame, token=abc").0, "say [masked 9-16], token=[masked 1-8]");
/// ```
#[derive(Clone, Default)]
pub struct Mask {
    known: Vec<String>,
}

impl std::fmt::Debug for Mask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mask").field("known", &self.known.len()).finish()
    }
}

/// What the object or array that is being walked means for the values in it.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// Names decide.
    Open,
    /// Everything in here is secret.
    Secret,
    /// The members are names that a schema gives, not names of values.
    SchemaNames,
    /// The schema of a secret value: what it gives as examples is secret.
    SecretSchema,
}

impl Mask {
    /// Most values that [`Mask::add`] keeps.
    pub const MAX_KNOWN: usize = 1024;

    /// Adds a value to mask wherever it stands. Shorter ones than 6 bytes, and more than [`Mask::MAX_KNOWN`], are not kept.
    pub fn add(&mut self, secret: &str) {
        let wanted = secret.len() >= SHORTEST_KNOWN && self.known.len() < Self::MAX_KNOWN;
        if wanted && !self.known.iter().any(|known| known == secret) {
            self.known.push(secret.to_owned());
        }
    }

    /// The text without its secrets, and how many were taken out.
    pub fn text(&self, text: &str) -> (String, u64) {
        let found = spans(text, &self.known);
        let mut out = String::with_capacity(text.len());
        let (mut from, mut count) = (0, 0);
        for span in found {
            let secret = &text[span.clone()];
            if is_stand_in(secret) {
                continue;
            }
            out.push_str(&text[from..span.start]);
            out.push_str(stand_in(secret.chars().count()));
            from = span.end;
            count += 1;
        }
        out.push_str(&text[from..]);
        (out, count)
    }

    /// JSON on one line without its secrets, and how many were taken out. `None` when `bytes` are not JSON, or are
    /// nested deeper than [`MAX_DEPTH`].
    ///
    /// Numbers, the order of members, repeated members and escapes stay as they are.
    pub fn json(&self, bytes: &[u8]) -> Option<(String, u64)> {
        self.json_sparing(bytes, &[])
    }

    /// Like [`json`](Self::json), but known values stay in texts that are members of the outermost object under the
    /// names in `spared`.
    pub(crate) fn json_sparing(&self, bytes: &[u8], spared: &[&str]) -> Option<(String, u64)> {
        let text = std::str::from_utf8(bytes).ok()?;
        // The walk below trusts its input to be JSON, so it is checked first, without building anything.
        serde_json::from_str::<serde::de::IgnoredAny>(text).ok()?;
        let mut walk = Walk {
            mask: self,
            rest: text,
            out: String::with_capacity(text.len()),
            count: 0,
            spared,
            spare: false,
        };
        walk.run()?;
        Some((walk.out, walk.count))
    }
}

struct Walk<'a> {
    mask: &'a Mask,
    rest: &'a str,
    out: String,
    count: u64,
    /// Names of members of the outermost object in which known values stay.
    spared: &'a [&'a str],
    /// Whether the value that comes next is of such a member.
    spare: bool,
}

/// One open object or array.
struct Frame {
    place: Place,
    object: bool,
    /// What the value that comes next is, by its name.
    next: Place,
}

impl<'a> Walk<'a> {
    fn run(&mut self) -> Option<()> {
        let mut open: Vec<Frame> = Vec::new();
        let mut at_name = false;
        loop {
            self.rest = self.rest.trim_start_matches([' ', '\t', '\r', '\n']);
            let Some(&first) = self.rest.as_bytes().first() else {
                return Some(());
            };
            match first {
                b'{' | b'[' => {
                    if open.len() == MAX_DEPTH {
                        return None;
                    }
                    let place = open.last().map_or(Place::Open, Frame::value);
                    open.push(Frame {
                        place,
                        object: first == b'{',
                        next: place,
                    });
                    at_name = first == b'{';
                    self.copy(1);
                }
                b'}' | b']' => {
                    open.pop();
                    self.copy(1);
                }
                b',' => {
                    at_name = open.last().is_some_and(|frame| frame.object);
                    self.copy(1);
                }
                b':' => {
                    at_name = false;
                    self.copy(1);
                }
                b'"' if at_name => {
                    let token = self.take(string_length(self.rest));
                    let name = unescape(token);
                    self.spare = false;
                    self.push_masked(token, &name);
                    self.spare = open.len() == 1 && self.spared.contains(&&*name);
                    if let Some(frame) = open.last_mut() {
                        frame.next = next_place(frame.place, &name, self.rest);
                    }
                }
                b'"' => {
                    let token = self.take(string_length(self.rest));
                    let text = unescape(token);
                    if open.last().is_some_and(Frame::hides) {
                        self.push_hidden(&text);
                    } else {
                        self.push_masked(token, &text);
                    }
                }
                b'-' | b'0'..=b'9' => {
                    let end = self.rest.find([',', '}', ']', ' ', '\t', '\r', '\n']);
                    let token = self.take(end.unwrap_or(self.rest.len()));
                    if open.last().is_some_and(Frame::hides) {
                        self.push_hidden(token);
                    } else {
                        self.out.push_str(token);
                    }
                }
                _ => {
                    let end = self.rest.find(|c: char| !c.is_ascii_lowercase());
                    self.copy(end.unwrap_or(self.rest.len()).max(1));
                }
            }
        }
    }

    fn take(&mut self, length: usize) -> &'a str {
        // Lengths come from a search in `rest` itself; a cut that does not fit takes everything.
        let (token, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, ""));
        self.rest = rest;
        token
    }

    fn copy(&mut self, length: usize) {
        let token = self.take(length);
        self.out.push_str(token);
    }

    /// A whole secret.
    fn push_hidden(&mut self, text: &str) {
        if text.is_empty() || is_stand_in(text) {
            push_string(&mut self.out, text);
            return;
        }
        self.count += 1;
        let _ = write!(self.out, "\"{}\"", stand_in(text.chars().count()));
    }

    /// A text that may hold secrets; `token` is how it came.
    fn push_masked(&mut self, token: &str, text: &str) {
        let (masked, count) = if self.spare {
            Mask::default().text(text)
        } else {
            self.mask.text(text)
        };
        if count == 0 {
            self.out.push_str(token);
        } else {
            self.count += count;
            push_string(&mut self.out, &masked);
        }
    }
}

impl Frame {
    /// What the next value in this frame is.
    fn value(&self) -> Place {
        if self.object { self.next } else { self.place }
    }

    /// Whether the string or number that comes next is a secret as a whole.
    fn hides(&self) -> bool {
        // In a place of schema names a plain value is no schema, so the name counts after all.
        matches!(self.value(), Place::Secret) || (self.object && self.next == Place::SecretSchema)
    }
}

/// What the value under `name` is; `rest` begins with the colon.
fn next_place(place: Place, name: &str, rest: &str) -> Place {
    let value = rest.trim_start_matches([' ', '\t', '\r', '\n', ':']);
    let nested = value.starts_with(['{', '[']);
    match place {
        Place::Secret => Place::Secret,
        Place::SchemaNames if is_secret_name(name) => Place::SecretSchema,
        Place::SecretSchema if matches!(name, "default" | "const" | "example" | "examples" | "enum") => Place::Secret,
        Place::SecretSchema if nested => Place::SecretSchema,
        _ if is_secret_name(name) => Place::Secret,
        _ if nested && matches!(name, "properties" | "patternProperties" | "$defs" | "definitions") => {
            Place::SchemaNames
        }
        _ => Place::Open,
    }
}

/// The length of the JSON string that `text` begins with, quotes included.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The text of a JSON string token. A surrogate that stands alone, which no text can hold, becomes U+FFFD.
fn unescape(token: &str) -> std::borrow::Cow<'_, str> {
    let inner = token.trim_start_matches('"');
    let inner = inner.strip_suffix('"').unwrap_or(inner);
    if !inner.contains('\\') {
        return inner.into();
    }
    let mut units: Vec<u16> = Vec::new();
    let mut out = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        let escape = if c == '\\' { chars.next() } else { None };
        if escape == Some('u') {
            let digits: String = chars.by_ref().take(4).collect();
            units.push(u16::from_str_radix(&digits, 16).unwrap_or(0xFFFD));
            continue;
        }
        flush(&mut units, &mut out);
        out.push(match escape {
            None => c,
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some(other) => other,
        });
    }
    flush(&mut units, &mut out);
    out.into()
}

fn flush(units: &mut Vec<u16>, out: &mut String) {
    out.extend(char::decode_utf16(units.drain(..)).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(json: &str) -> String {
        Mask::default().json(json.as_bytes()).unwrap().0
    }

    fn unchanged(json: &str) {
        assert_eq!(Mask::default().json(json.as_bytes()), Some((json.to_owned(), 0)));
    }

    #[test]
    fn what_is_not_secret_stays_byte_for_byte() {
        unchanged(
            r#"{"id":12345678901234567890123,"b":1.0,"a":1e400,"b":-0,"s":"\u00e9\ud800\/","n":null,"t":[true,{}]}"#,
        );
        unchanged(r#"{"_meta":{"progressToken":"p-1"},"nextCursor":"","서울":"날씨"}"#);
        unchanged(r#""text""#);
        unchanged("3");
    }

    #[test]
    fn a_message_becomes_one_line() {
        assert_eq!(masked("{ \"a\" :\r\n [ 1 ,\t2 ] }"), r#"{"a":[1,2]}"#);
    }

    #[test]
    fn values_under_secret_names() {
        assert_eq!(
            masked(r#"{"password":"hunter2","api_key":1234567890,"token":true,"secret":null,"otp":""}"#),
            r#"{"password":"[masked 1-8]","api_key":"[masked 9-16]","token":true,"secret":null,"otp":""}"#
        );
        assert_eq!(
            masked(r#"{"credentials":{"user":"me","list":["a",{"b":7}]},"user":"me"}"#),
            r#"{"credentials":{"user":"[masked 1-8]","list":["[masked 1-8]",{"b":"[masked 1-8]"}]},"user":"me"}"#
        );
        // The name itself may be escaped.
        assert_eq!(
            masked(r#"{"p\u0061ssword":"x"}"#),
            r#"{"p\u0061ssword":"[masked 1-8]"}"#
        );
    }

    #[test]
    fn a_schema_that_names_a_secret_stays_a_schema() {
        unchanged(r#"{"properties":{"password":{"type":"string","description":"the password","minLength":8}}}"#);
        unchanged(r#"{"$defs":{"Token":{"properties":{"kind":{"title":"a"}}}}}"#);
        assert_eq!(
            masked(
                r#"{"properties":{"password":{"type":"string","default":"hunter2","examples":["a"]},"b":{"default":"c"}}}"#
            ),
            r#"{"properties":{"password":{"type":"string","default":"[masked 1-8]","examples":["[masked 1-8]"]},"b":{"default":"c"}}}"#
        );
        // Not a schema after all.
        assert_eq!(
            masked(r#"{"properties":{"password":"x"}}"#),
            r#"{"properties":{"password":"[masked 1-8]"}}"#
        );
    }

    #[test]
    fn secrets_in_texts_and_in_json_in_texts() {
        assert_eq!(
            masked(r#"{"text":"{\"password\":\"hunter2\",\"city\":\"Seoul\"}"}"#),
            r#"{"text":"{\"password\":\"[masked 1-8]\",\"city\":\"Seoul\"}"}"#
        );
        // A lone surrogate does not hide what stands beside it.
        assert!(!masked(r#"{"text":"\ud800 token=hunter2"}"#).contains("hunter2"));
        // Nor do escapes.
        assert!(!masked(r#"{"text":"tok\u0065n=hunter2"}"#).contains("hunter2"));
    }

    #[test]
    fn known_values_in_names_too() {
        let mut mask = Mask::default();
        mask.add("s3cr3t-value");
        mask.add("short");
        let (out, count) = mask
            .json(br#"{"s3cr3t-value":"xs3cr3t-valuex","short":"short"}"#)
            .unwrap();
        assert_eq!(out, r#"{"[masked 9-16]":"x[masked 9-16]x","short":"short"}"#);
        assert_eq!(count, 2);
    }

    #[test]
    fn known_values_stay_in_spared_members_only() {
        let mut mask = Mask::default();
        mask.add("weather");
        let json = br#"{"tool":"weather","arguments":{"tool":"weather"},"why":"weather","server":"token=abc"}"#;
        let (out, count) = mask.json_sparing(json, &["tool", "server"]).unwrap();
        assert_eq!(
            out,
            r#"{"tool":"weather","arguments":{"tool":"[masked 1-8]"},"why":"[masked 1-8]","server":"token=[masked 1-8]"}"#
        );
        assert_eq!(count, 3);
    }

    #[test]
    fn masking_twice_changes_nothing() {
        let mask = Mask::default();
        let once = mask
            .json(br#"{"password":"hunter2","t":"token=abcdefghij"}"#)
            .unwrap()
            .0;
        assert_eq!(mask.json(once.as_bytes()), Some((once.clone(), 0)));
    }

    #[test]
    fn what_is_no_json_is_said_to_be_none() {
        for bytes in [&b""[..], b"{", b"trace {", b"{}x", b"\xff", b"\"\xff\"", b"1 2"] {
            assert_eq!(Mask::default().json(bytes), None);
        }
        let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(Mask::default().json(deep(MAX_DEPTH).as_bytes()).is_some());
        assert!(Mask::default().json(deep(MAX_DEPTH + 1).as_bytes()).is_none());
        assert!(Mask::default().json(deep(1 << 20).as_bytes()).is_none());
    }
}
