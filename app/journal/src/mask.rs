//! Masking: secrets are taken out before a line is made.

use std::fmt::Write as _;
use std::ops::Range;

use memchr::memchr2;
use memchr::memmem::Finder;

use crate::line::{MAX_DEPTH, push_string};
use crate::secrets::{SHORTEST_KNOWN, is_secret_name, is_stand_in, spans, stand_in};

/// Takes secrets out of JSON and text. What is not a secret stays byte for byte.
///
/// Masked is:
///
/// - every string or number under a name that ends in `password`, `passwd`, `passphrase`, `secret`, `token`, `api_key`,
///   `access_key`, `secret_key`, `private_key`, `credential(s)`, `authorization` or `cookie`, or is `pass`, `pwd`, `otp`,
///   `jwt`, `dsn`, `connection_string`, `비밀번호`, `암호`, `토큰` or the like, in any case and with or without `_`, `-`
///   and `.`; in a JSON Schema that describes such a property, its `default`, `const`, `examples` and what no schema says. `progressToken`
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
    known: Vec<Finder<'static>>,
    /// How many values they are the forms of.
    values: usize,
}

/// So many lines of a known value are looked for by themselves.
const MOST_LINES: usize = 64;

impl std::fmt::Debug for Mask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mask")
            .field("values", &self.values)
            .finish_non_exhaustive()
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
    /// The schema of a secret value: what it gives as examples is secret, and what no schema says.
    SecretSchema,
    /// The same as for [`Self::SchemaNames`], in the schema of a secret value.
    SecretSchemaNames,
}

/// What a schema says of a value without giving one.
const SCHEMA_WORDS: &[&str] = &[
    "$anchor",
    "$comment",
    "$defs",
    "$id",
    "$ref",
    "$schema",
    "additionalProperties",
    "allOf",
    "anyOf",
    "contentEncoding",
    "contentMediaType",
    "definitions",
    "dependentRequired",
    "dependentSchemas",
    "deprecated",
    "description",
    "else",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "if",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "not",
    "nullable",
    "oneOf",
    "pattern",
    "patternProperties",
    "prefixItems",
    "properties",
    "propertyNames",
    "readOnly",
    "required",
    "then",
    "title",
    "type",
    "unevaluatedItems",
    "unevaluatedProperties",
    "uniqueItems",
    "writeOnly",
];

impl Mask {
    /// Most values that [`Mask::add`] keeps.
    pub const MAX_KNOWN: usize = 1024;

    /// Adds a value to mask wherever it stands. Shorter ones than 6 bytes, and more than [`Mask::MAX_KNOWN`], are not kept.
    ///
    /// It is looked for as it is written inside JSON too, and each of its first 64 lines for itself: programs write lines.
    pub fn add(&mut self, secret: &str) {
        if self.values == Self::MAX_KNOWN || !self.add_form(secret) {
            return;
        }
        self.values += 1;
        let mut escaped = String::new();
        push_string(&mut escaped, secret);
        self.add_form(&escaped[1..escaped.len() - 1]);
        for line in secret.lines().take(MOST_LINES) {
            self.add_form(line);
        }
    }

    /// Whether it is long enough and new.
    fn add_form(&mut self, text: &str) -> bool {
        let wanted = text.len() >= SHORTEST_KNOWN;
        let is_new = wanted && !self.known.iter().any(|known| known.needle() == text.as_bytes());
        if is_new {
            self.known.push(Finder::new(text).into_owned());
        }
        is_new
    }

    /// The text without its secrets, and how many were taken out.
    pub fn text(&self, text: &str) -> (String, u64) {
        without(text, spans(text, &self.known)).unwrap_or_else(|| (text.to_owned(), 0))
    }

    /// JSON on one line without its secrets, and how many were taken out. `None` when `bytes` are not JSON, or are
    /// nested deeper than [`MAX_DEPTH`].
    ///
    /// Numbers, the order of members, repeated members and escapes stay as they are.
    pub fn json(&self, bytes: &[u8]) -> Option<(String, u64)> {
        let text = std::str::from_utf8(bytes).ok()?;
        // The walk trusts its input to be JSON, so it is checked first, without building anything.
        serde_json::from_str::<serde::de::IgnoredAny>(text).ok()?;
        self.json_sparing(text, &[])
    }

    /// Like [`json`](Self::json) for a text that is known to be JSON, but known values stay in texts that are members
    /// of the outermost object under the names in `spared`.
    pub(crate) fn json_sparing(&self, text: &str, spared: &[&str]) -> Option<(String, u64)> {
        let present = |known: &&Finder<'static>| known.find(text.as_bytes()).is_some();
        let mut walk = Walk {
            mask: self,
            present: self.known.iter().filter(present).collect(),
            text,
            at: 0,
            copied: 0,
            out: String::with_capacity(text.len()),
            count: 0,
            spared,
            spare: false,
        };
        walk.run()?;
        walk.copy_up_to(text.len());
        Some((walk.out, walk.count))
    }
}

/// The text without these parts, and how many were taken out. `None` where none was: nearly always, so that costs no
/// copy.
fn without(text: &str, secrets: Vec<Range<usize>>) -> Option<(String, u64)> {
    if secrets.is_empty() {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    let (mut from, mut count) = (0, 0);
    for span in secrets {
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
    (count > 0).then_some((out, count))
}

struct Walk<'a> {
    mask: &'a Mask,
    /// Those known values that stand in the text: a string without escapes holds no other.
    present: Vec<&'a Finder<'static>>,
    text: &'a str,
    /// What comes before was looked at.
    at: usize,
    /// What comes before is in `out`, or left out.
    copied: usize,
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
        while let Some(&first) = self.text.as_bytes().get(self.at) {
            match first {
                b' ' | b'\t' | b'\r' | b'\n' => {
                    let space = self.take(1);
                    self.replace(space);
                }
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
                    self.at += 1;
                }
                b'}' | b']' => {
                    open.pop();
                    self.at += 1;
                }
                b',' => {
                    at_name = open.last().is_some_and(|frame| frame.object);
                    self.at += 1;
                }
                b':' => {
                    at_name = false;
                    self.at += 1;
                }
                b'"' if at_name => {
                    let token = self.take(string_length(self.rest()));
                    let name = unescape(token);
                    self.spare = false;
                    self.mask_within(token, &name);
                    self.spare = open.len() == 1 && self.spared.contains(&&*name);
                    if let Some(frame) = open.last_mut() {
                        frame.next = next_place(frame.place, &name, self.rest());
                    }
                }
                b'"' => {
                    let token = self.take(string_length(self.rest()));
                    let text = unescape(token);
                    if open.last().is_some_and(Frame::hides) {
                        self.hide(token, &text);
                    } else {
                        self.mask_within(token, &text);
                    }
                }
                b'-' | b'0'..=b'9' => {
                    let ends = |c: u8| matches!(c, b',' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'\n');
                    let token = self.take_until(ends);
                    if open.last().is_some_and(Frame::hides) {
                        self.hide(token, token);
                    }
                }
                _ => {
                    self.at += 1;
                    self.take_until(|c| !c.is_ascii_lowercase());
                }
            }
        }
        Some(())
    }

    /// What was not looked at yet.
    fn rest(&self) -> &'a str {
        // Where tokens of JSON end, characters end.
        self.text.get(self.at..).unwrap_or_default()
    }

    fn take(&mut self, length: usize) -> &'a str {
        // Lengths come from a search in the rest itself; a cut that does not fit takes everything.
        let rest = self.rest();
        let token = rest.get(..length).unwrap_or(rest);
        self.at += token.len();
        token
    }

    fn take_until(&mut self, ends: impl Fn(u8) -> bool) -> &'a str {
        let rest = self.rest();
        self.take(rest.bytes().position(ends).unwrap_or(rest.len()))
    }

    fn copy_up_to(&mut self, end: usize) {
        self.out.push_str(self.text.get(self.copied..end).unwrap_or_default());
    }

    /// Leaves out the token that was just taken; what is put into the result now stands in its place.
    fn replace(&mut self, token: &str) {
        self.copy_up_to(self.at - token.len());
        self.copied = self.at;
    }

    /// A whole secret.
    fn hide(&mut self, token: &str, text: &str) {
        self.replace(token);
        if text.is_empty() || is_stand_in(text) {
            push_string(&mut self.out, text);
            return;
        }
        self.count += 1;
        let _ = write!(self.out, "\"{}\"", stand_in(text.chars().count()));
    }

    /// A text that may hold secrets; `token` is how it came.
    fn mask_within(&mut self, token: &str, text: &str) {
        let found = if self.spare {
            spans(text, &[])
        } else if token.len() == text.len() + 2 {
            // Without its quotes it is as long as its text: every escape is longer than what it stands for.
            spans(text, self.present.iter().copied())
        } else {
            spans(text, &self.mask.known)
        };
        if let Some((masked, count)) = without(text, found) {
            self.count += count;
            self.replace(token);
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
        self.value() == Place::Secret
    }
}

/// What the value under `name` is; `rest` begins with the colon.
fn next_place(place: Place, name: &str, rest: &str) -> Place {
    let value = rest.trim_start_matches([' ', '\t', '\r', '\n', ':']);
    let nested = value.starts_with(['{', '[']);
    let names_schemas = nested && matches!(name, "properties" | "patternProperties" | "$defs" | "definitions");
    let is_secret = is_secret_name(name);
    match place {
        Place::Secret => Place::Secret,
        // A list is no schema, and a plain value is none: whatever they are, they stand under the name of a secret.
        Place::SchemaNames | Place::SecretSchemaNames if is_secret || place == Place::SecretSchemaNames => {
            if value.starts_with('{') {
                Place::SecretSchema
            } else {
                Place::Secret
            }
        }
        Place::SecretSchema if names_schemas => Place::SecretSchemaNames,
        Place::SecretSchema if SCHEMA_WORDS.binary_search(&name).is_err() => Place::Secret,
        Place::SecretSchema if nested => Place::SecretSchema,
        _ if is_secret => Place::Secret,
        _ if names_schemas => Place::SchemaNames,
        _ => Place::Open,
    }
}

/// The length of the JSON string that `text` begins with, quotes included.
fn string_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 1;
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        at += found;
        if bytes[at] == b'"' {
            return at + 1;
        }
        at += 2;
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
    let mut rest = inner;
    while let Some(at) = rest.bytes().position(|byte| byte == b'\\') {
        if at > 0 {
            flush(&mut units, &mut out);
            out.push_str(&rest[..at]);
        }
        // What follows a backslash in JSON is ASCII.
        let escape = rest.as_bytes().get(at + 1).copied().unwrap_or_default();
        let mut end = at + 2;
        if escape == b'u' {
            end = at + 6;
            let unit = rest
                .get(at + 2..end)
                .and_then(|digits| u16::from_str_radix(digits, 16).ok());
            units.push(unit.unwrap_or(0xFFFD));
        } else {
            flush(&mut units, &mut out);
            out.push(match escape {
                b'n' => '\n',
                b'r' => '\r',
                b't' => '\t',
                b'b' => '\u{8}',
                b'f' => '\u{c}',
                other => char::from(other),
            });
        }
        rest = rest.get(end..).unwrap_or_default();
    }
    flush(&mut units, &mut out);
    out.push_str(rest);
    out.into()
}

fn flush(units: &mut Vec<u16>, out: &mut String) {
    if units.is_empty() {
        return;
    }
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
    fn what_stands_under_the_name_of_a_secret_is_masked_also_among_properties_that_are_no_schemas() {
        assert!(SCHEMA_WORDS.is_sorted());
        for json in [
            r#"{"arguments":{"properties":{"secrets":["hunter2",7777]}}}"#,
            r#"{"properties":{"credentials":{"user":"me","value":"hunter2"}}}"#,
            r#"{"properties":{"credentials":{"type":"object","nested":{"value":"hunter2"}}}}"#,
            r#"{"properties":{"token":{"properties":{"a":["hunter2"],"b":"hunter2"}}}}"#,
            r#"{"definitions":{"password":{"oneOf":[{"default":"hunter2"}]}}}"#,
        ] {
            let masked = masked(json);
            assert!(!masked.contains("hunter2") && !masked.contains("7777"), "{masked}");
        }
        let long = format!(r#"{{"{}_PASSWORD":"hunter2"}}"#, "SPRING_DATASOURCE".repeat(5));
        assert!(!masked(&long).contains("hunter2"));
    }

    #[test]
    fn a_known_value_is_found_as_json_writes_it_and_line_by_line() {
        let mut mask = Mask::default();
        let secret = "pa\"ss\\word1\nsecond line";
        mask.add(secret);
        let inner = serde_json::json!({ "v": secret }).to_string();
        let outer = serde_json::json!({ "text": inner, "v": secret }).to_string();
        let (masked, count) = mask.json(outer.as_bytes()).unwrap();
        assert!(!masked.contains("word1") && !masked.contains("second"), "{masked}");
        assert_eq!(count, 2);
        assert_eq!(mask.text("second line").0, "[masked 9-16]");
    }

    #[test]
    fn the_forms_of_a_value_take_no_room_from_others() {
        let mut mask = Mask::default();
        for number in 0..Mask::MAX_KNOWN {
            mask.add(&format!("first {number}\nsecond {number}"));
        }
        let last = format!("second {}", Mask::MAX_KNOWN - 1);
        assert_eq!(mask.text(&last).1, 1);
        mask.add("one too many");
        assert_eq!(mask.text("one too many").1, 0);
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
    fn escapes_are_read_as_json_reads_them() {
        for text in [
            "",
            "plain",
            "\"\\/\u{8}\u{c}\n\r\t",
            "a\nb\\",
            "\u{1f468}x\u{e9}\u{1f469}",
        ] {
            let token = serde_json::to_string(text).unwrap();
            assert_eq!(unescape(&token), text);
            let units: Vec<String> = text.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect();
            assert_eq!(unescape(&format!("\"{}\"", units.concat())), text);
        }
        assert_eq!(unescape(r#""a\ud800\n\/서울""#), "a\u{fffd}\n/서울");
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
        let json = r#"{"tool":"weather","arguments":{"tool":"weather"},"why":"weather","server":"token=abc"}"#;
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
