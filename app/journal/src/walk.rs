//! One pass over JSON that tells whether it is any, and takes secrets out of it.

use std::borrow::Cow;
use std::fmt::Write as _;

use memchr::memmem::Finder;
use memchr::{memchr, memchr2};

use crate::line::{MAX_DEPTH, Quoted};
use crate::mask::without;
use crate::secrets::{is_secret_name, is_stand_in, spans, stand_in};

/// The text on one line without its secrets, and how many were taken out. `None` when it is not JSON, or nested deeper
/// than [`MAX_DEPTH`]. Known values stay in members of the outermost object under the names in `spared`.
pub(crate) fn walk<'a>(text: &'a str, known: &[Finder<'static>], spared: &[&str]) -> Option<(Cow<'a, str>, u64)> {
    let present = |known: &&Finder<'static>| known.find(text.as_bytes()).is_some();
    // No way out early, so it is done for many bytes at once: nearly every message is one line.
    let least = text.bytes().fold(u8::MAX, u8::min);
    let mut walk = Walk {
        has_control: least < b' ',
        known,
        present: known.iter().filter(present).collect(),
        text,
        at: 0,
        copied: 0,
        out: String::new(),
        count: 0,
        spared,
        spare: false,
    };
    walk.run()?;
    if walk.copied == 0 {
        return Some((text.into(), 0));
    }
    walk.copy_up_to(text.len());
    Some((walk.out.into(), walk.count))
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

struct Walk<'a, 'k> {
    known: &'k [Finder<'static>],
    /// Those known values that stand in the text: a string without escapes holds no other.
    present: Vec<&'k Finder<'static>>,
    text: &'a str,
    /// What comes before was looked at.
    at: usize,
    /// What comes before is in `out`, or left out.
    copied: usize,
    out: String,
    count: u64,
    /// Names of members of the outermost object in which known values stay.
    spared: &'k [&'k str],
    /// Whether the value that comes next is of such a member.
    spare: bool,
    /// Whether there are control characters, which no string may hold.
    has_control: bool,
}

/// One string as it came, quotes included, and whether a backslash is in it.
#[derive(Clone, Copy)]
struct Token<'a> {
    text: &'a str,
    escaped: bool,
}

/// One open object or array.
struct Frame {
    place: Place,
    object: bool,
    /// What the value that comes next is, by its name.
    next: Place,
}

impl<'a> Walk<'a, '_> {
    fn run(&mut self) -> Option<()> {
        let mut open: Vec<Frame> = Vec::new();
        loop {
            let begun = self.value(&mut open)?;
            // An object or array that has only begun goes on with its first member, if it has any.
            let mut ended = !begun || self.end(&mut open);
            while ended {
                if open.is_empty() {
                    return self.peek().is_none().then_some(());
                }
                if self.peek() == Some(b',') {
                    self.at += 1;
                    break;
                }
                ended = self.end(&mut open);
                if !ended {
                    return None;
                }
            }
            if open.last().is_some_and(|frame| frame.object) {
                self.name(&mut open)?;
            }
        }
    }

    /// The next byte that is not white space, which is left out: a line has none.
    fn peek(&mut self) -> Option<u8> {
        loop {
            let byte = *self.text.as_bytes().get(self.at)?;
            if !matches!(byte, b' ' | b'\t' | b'\r' | b'\n') {
                return Some(byte);
            }
            let space = self.take(1);
            self.replace(space);
        }
    }

    /// Whether the innermost object or array ends here.
    fn end(&mut self, open: &mut Vec<Frame>) -> bool {
        let wanted = open.last().map(|frame| if frame.object { b'}' } else { b']' });
        let ends = wanted.is_some() && self.peek() == wanted;
        if ends {
            open.pop();
            self.at += 1;
        }
        ends
    }

    /// A value, or the beginning of one that holds others; whether it is only begun.
    fn value(&mut self, open: &mut Vec<Frame>) -> Option<bool> {
        let hides = open.last().is_some_and(Frame::hides);
        match self.peek()? {
            first @ (b'{' | b'[') => {
                if open.len() == MAX_DEPTH {
                    return None;
                }
                let place = open.last().map_or(Place::Open, Frame::value);
                open.push(Frame {
                    place,
                    object: first == b'{',
                    next: place,
                });
                self.at += 1;
                return Some(true);
            }
            b'"' => {
                let token = self.string()?;
                let text = unescape(token)?;
                if hides {
                    self.hide(token.text, &text);
                } else {
                    self.mask_within(token, &text);
                }
            }
            b'-' | b'0'..=b'9' => {
                let token = self.take(number_length(self.rest().as_bytes())?);
                if hides {
                    self.hide(token, token);
                }
            }
            _ => {
                let rest = self.rest();
                let word = ["true", "false", "null"].iter().find(|word| rest.starts_with(**word))?;
                self.at += word.len();
            }
        }
        Some(false)
    }

    /// The name of a member, and its colon.
    fn name(&mut self, open: &mut [Frame]) -> Option<()> {
        if self.peek()? != b'"' {
            return None;
        }
        let token = self.string()?;
        let name = unescape(token)?;
        self.spare = false;
        self.mask_within(token, &name);
        self.spare = open.len() == 1 && self.spared.contains(&&*name);
        if self.peek()? != b':' {
            return None;
        }
        self.at += 1;
        let value = self.peek()?;
        if let Some(frame) = open.last_mut() {
            frame.next = next_place(frame.place, &name, value);
        }
        Some(())
    }

    /// The string that begins here. Its escapes are not looked at yet.
    fn string(&mut self) -> Option<Token<'a>> {
        let bytes = self.rest().as_bytes();
        let (mut end, mut escaped) = (1, false);
        loop {
            end += memchr2(b'"', b'\\', bytes.get(end..)?)?;
            if bytes[end] == b'"' {
                break;
            }
            escaped = true;
            end += 2;
        }
        if self.has_control && bytes[..end].iter().any(|&byte| byte < b' ') {
            return None;
        }
        let text = self.take(end + 1);
        Some(Token { text, escaped })
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

    fn copy_up_to(&mut self, end: usize) {
        self.out.push_str(self.text.get(self.copied..end).unwrap_or_default());
    }

    /// Leaves out the token that was just taken; what is put into the result now stands in its place.
    fn replace(&mut self, token: &str) {
        if self.copied == 0 {
            self.out.reserve(self.text.len());
        }
        self.copy_up_to(self.at - token.len());
        self.copied = self.at;
    }

    /// A whole secret.
    fn hide(&mut self, token: &str, text: &str) {
        self.replace(token);
        if text.is_empty() || is_stand_in(text) {
            let _ = write!(self.out, "{}", Quoted(text));
            return;
        }
        self.count += 1;
        let _ = write!(self.out, "\"{}\"", stand_in(text.chars().count()));
    }

    /// A text that may hold secrets; `token` is how it came.
    fn mask_within(&mut self, token: Token<'_>, text: &str) {
        let found = if self.spare {
            spans(text, &[])
        } else if !token.escaped {
            spans(text, self.present.iter().copied())
        } else {
            spans(text, self.known)
        };
        if let Some((masked, count)) = without(text, found) {
            self.count += count;
            self.replace(token.text);
            let _ = write!(self.out, "{}", Quoted(&masked));
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

/// What the value under `name` is, by the byte that it begins with.
fn next_place(place: Place, name: &str, value: u8) -> Place {
    let nested = matches!(value, b'{' | b'[');
    let names_schemas = nested && matches!(name, "properties" | "patternProperties" | "$defs" | "definitions");
    let is_secret = is_secret_name(name);
    match place {
        Place::Secret => Place::Secret,
        // A list is no schema, and a plain value is none: whatever they are, they stand under the name of a secret.
        Place::SchemaNames | Place::SecretSchemaNames if is_secret || place == Place::SecretSchemaNames => {
            if value == b'{' {
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

/// The length of the number that `bytes` begin with.
fn number_length(bytes: &[u8]) -> Option<usize> {
    let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let some = |from: usize| Some(digits(from)).filter(|&count| count > 0);
    let mut at = usize::from(bytes.first() == Some(&b'-'));
    at += match bytes.get(at) {
        // A nought in front stands alone.
        Some(b'0') => 1,
        _ => some(at)?,
    };
    if bytes.get(at) == Some(&b'.') {
        at += 1;
        at += some(at)?;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        at += 1;
        at += usize::from(matches!(bytes.get(at), Some(b'+' | b'-')));
        at += some(at)?;
    }
    Some(at)
}

/// The text of a JSON string. A surrogate that stands alone, which no text can hold, becomes U+FFFD. `None` where an escape
/// is none.
fn unescape(token: Token<'_>) -> Option<Cow<'_, str>> {
    let inner = token.text.get(1..token.text.len().checked_sub(1)?)?;
    let Some(mut next) = token.escaped.then(|| memchr(b'\\', inner.as_bytes())).flatten() else {
        return Some(inner.into());
    };
    let mut out = String::with_capacity(inner.len());
    let mut rest = inner;
    loop {
        out.push_str(&rest[..next]);
        rest = &rest[next..];
        match rest.as_bytes().get(1)? {
            b'u' => {
                // Two that follow each other may be one character.
                let mut units: Vec<u16> = Vec::new();
                while let Some(digits) = rest.strip_prefix("\\u") {
                    let digits = digits.get(..4)?;
                    if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                        return None;
                    }
                    units.push(u16::from_str_radix(digits, 16).ok()?);
                    rest = rest.get(6..)?;
                }
                out.extend(char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)));
            }
            escape => {
                out.push(match escape {
                    b'n' => '\n',
                    b'r' => '\r',
                    b't' => '\t',
                    b'b' => '\u{8}',
                    b'f' => '\u{c}',
                    b'"' | b'\\' | b'/' => char::from(*escape),
                    _ => return None,
                });
                rest = rest.get(2..)?;
            }
        }
        match memchr(b'\\', rest.as_bytes()) {
            Some(found) => next = found,
            None => break,
        }
    }
    out.push_str(rest);
    Some(out.into())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::de::IgnoredAny;

    use super::*;

    fn is_json(text: &str) -> bool {
        walk(text, &[], &[]).is_some()
    }

    #[test]
    fn the_words_of_schemas_are_sorted() {
        assert!(SCHEMA_WORDS.is_sorted());
    }

    #[test]
    fn escapes_are_read_as_json_reads_them() {
        let text_of = |text: &str| {
            let escaped = text.contains('\\');
            unescape(Token { text, escaped }).unwrap().into_owned()
        };
        for text in [
            "",
            "plain",
            "\"\\/\u{8}\u{c}\n\r\t",
            "a\nb\\",
            "\u{1f468}x\u{e9}\u{1f469}",
        ] {
            let token = serde_json::to_string(text).unwrap();
            assert_eq!(text_of(&token), text);
            let units: Vec<String> = text.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect();
            assert_eq!(text_of(&format!("\"{}\"", units.concat())), text);
        }
        assert_eq!(text_of(r#""a\ud800\n\/서울""#), "a\u{fffd}\n/서울");
    }

    #[test]
    fn what_serde_json_refuses_is_no_json() {
        for text in [
            "",
            " ",
            "{",
            "[",
            "}",
            "]",
            "{]",
            "[}",
            "[1",
            "[1,",
            "[1,]",
            "[,1]",
            "[1 2]",
            "1 2",
            "[]]",
            "{}{}",
            ",",
            ":",
            "{,}",
            r#"{"a"}"#,
            r#"{"a":}"#,
            r#"{"a":1,}"#,
            r#"{"a" 1}"#,
            r"{a:1}",
            r#"{"a":1 "b":2}"#,
            r#"{"a":1,"b"}"#,
            r#"["a":1]"#,
            "01",
            "-",
            "-a",
            "1.",
            ".5",
            "1.e5",
            "1e",
            "1e+",
            "+1",
            "0x1",
            "00",
            "-01",
            "1a",
            "NaN",
            "tru",
            "truex",
            "nul",
            "True",
            "nulll",
            r#"""#,
            r#""a"#,
            r#""\"#,
            r#""\""#,
            r#""\x""#,
            r#""\u12"#,
            r#""\u12g4""#,
            r#""\u+123""#,
            "\"a\nb\"",
            "\"\u{1}\"",
            "\u{feff}1",
            "\u{a0}1",
        ] {
            assert!(
                serde_json::from_str::<IgnoredAny>(text).is_err() && !is_json(text),
                "{text:?}"
            );
        }
        for text in [
            "0",
            "-0",
            "1.5e-7",
            "10E+2",
            "[]",
            "{}",
            "[[],{}]",
            r#"{"a":[{}],"":null}"#,
            r#""\ud800""#,
            " [ ] ",
            "true",
        ] {
            assert!(
                serde_json::from_str::<IgnoredAny>(text).is_ok() && is_json(text),
                "{text:?}"
            );
        }
    }

    proptest! {
        /// Pieces of JSON in any order: nearly JSON, and now and then some.
        #[test]
        fn it_is_json_where_serde_json_says_so(pieces in proptest::collection::vec(
            prop::sample::select(vec![
                "{", "}", "[", "]", ",", ":", "\"a\"", "\"\\n\"", "\"\\", "\"", "1", "-1.5e3", "0", ".", "e", "-", "true", "nul", "l", " ", "\n",
                "{\"a\":", "[1,", "\"\\u00e9\"", "\u{e9}", "\u{1}",
            ]), 0..9))
        {
            let text = pieces.concat();
            prop_assert_eq!(is_json(&text), serde_json::from_str::<IgnoredAny>(&text).is_ok(), "{}", text);
        }

        #[test]
        fn a_part_of_json_is_json_where_serde_json_says_so(text in "[\\[{\"]{0,3}[0-9a-z\\\\u\"., :e+-]{0,12}[\\]}\"]{0,3}") {
            prop_assert_eq!(is_json(&text), serde_json::from_str::<IgnoredAny>(&text).is_ok(), "{}", text);
        }
    }
}
