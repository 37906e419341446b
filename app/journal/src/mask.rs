//! Masking: secrets are taken out before a line is made.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memmem::Finder;

use crate::line::Quoted;
use crate::secrets::{SHORTEST_KNOWN, is_stand_in, spans, stand_in};
use crate::walk::walk;

/// Takes secrets out of JSON and text. What is not a secret stays byte for byte.
///
/// Masked is:
///
/// - every string or number under a name that ends in `password`, `passwd`, `passphrase`, `secret`, `token`, `api_key`,
///   `access_key`, `secret_key`, `private_key`, `credential(s)`, `authorization` or `cookie`, or is `pass`, `pwd`, `otp`,
///   `jwt`, `dsn`, `connection_string`, `비밀번호`, `암호`, `토큰` or the like, in any case and with or without `_`, `-`
///   and `.`; in a JSON Schema that describes such a property, its `default`, `const`, `examples` and what no schema says. `progressToken`
///   and page tokens are kept: a replay needs them, and they open nothing;
/// - inside any text: `name=value`, `name: value`, `"name": "value"` and `"name": {…}` with such a name, what follows `Bearer` or
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
        let escaped = Quoted(secret).to_string();
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

    /// The text without its secrets, and how many were taken out. Without any, nearly always, it is not copied.
    pub fn text<'a>(&self, text: &'a str) -> (Cow<'a, str>, u64) {
        match without(text, spans(text, &self.known)) {
            Some((masked, count)) => (masked.into(), count),
            None => (text.into(), 0),
        }
    }

    /// JSON on one line without its secrets, and how many were taken out. `None` when `bytes` are not JSON, or are
    /// nested deeper than [`MAX_DEPTH`](crate::MAX_DEPTH).
    ///
    /// Numbers, the order of members, repeated members and escapes stay as they are.
    pub fn json<'a>(&self, bytes: &'a [u8]) -> Option<(Cow<'a, str>, u64)> {
        self.json_sparing(std::str::from_utf8(bytes).ok()?, &[])
    }

    /// Like [`json`](Self::json), but known values stay in texts that are members of the outermost object under the
    /// names in `spared`.
    pub(crate) fn json_sparing<'a>(&self, text: &'a str, spared: &[&str]) -> Option<(Cow<'a, str>, u64)> {
        walk(text, &self.known, spared)
    }
}

/// The text without these parts, and how many were taken out. `None` where none was: nearly always, so that costs no
/// copy.
pub(crate) fn without(text: &str, secrets: Vec<Range<usize>>) -> Option<(String, u64)> {
    if secrets.is_empty() {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    let (mut from, mut count) = (0, 0);
    for span in secrets {
        let secret = &text[span.clone()];
        if secret.trim().is_empty() || is_stand_in(secret) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MAX_DEPTH;

    fn masked(json: &str) -> String {
        Mask::default().json(json.as_bytes()).unwrap().0.into_owned()
    }

    fn unchanged(json: &str) {
        assert_eq!(Mask::default().json(json.as_bytes()), Some((Cow::Borrowed(json), 0)));
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
            .json(
                br#"{"password":"hunter2","t":"token=abcdefghij secret: Bearer abc, token: \"a\" \"otp\":{\"b\":1}"}"#,
            )
            .unwrap()
            .0;
        assert_eq!(mask.json(once.as_bytes()), Some((once.clone(), 0)));
    }

    #[test]
    fn nothing_is_no_secret() {
        for text in [r#"{"token":{},"secrets":[ ],"x"#, "password=\"\" x", "token: \"  \""] {
            assert_eq!(Mask::default().text(text), (Cow::Borrowed(text), 0));
        }
        unchanged(r#"{"t":"{\"token\":{}} \/ \u00e9"}"#);
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
