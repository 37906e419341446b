//! Text that came from elsewhere, made fit to show: control characters become visible, hidden text is reported.
//!
//! A server's text may hold escape codes that clear a screen, set a title, hide a link or write over what was said
//! before, and characters that nobody sees. None of them reaches a terminal or a model as they are.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde::Serialize;
use serde_json::Value;

/// Something about a text that the reader should know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Flag {
    /// It held control characters, such as terminal escape codes. They are shown as visible escapes.
    ControlCharacters,
    /// It held characters that turn the reading direction around. They are shown as visible escapes.
    Bidirectional,
    /// It held characters that nobody sees. Those that spell hidden text are shown as visible escapes.
    Invisible,
    /// It was longer than what is given to a model, and cut there. The whole is kept.
    Cut,
    /// Its structured part is not what the tool's output schema promises.
    SchemaMismatch,
}

impl Flag {
    /// What to tell a person or a model.
    pub fn text(self) -> &'static str {
        match self {
            Self::ControlCharacters => "control characters were made visible",
            Self::Bidirectional => "characters that reverse the reading direction were made visible",
            Self::Invisible => "it holds invisible characters",
            Self::Cut => "it was too long and was cut",
            Self::SchemaMismatch => "it does not fit the tool's own output schema",
        }
    }
}

/// Cleaned text and what was found in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// The text.
    pub text: String,
    /// What was found.
    pub flags: BTreeSet<Flag>,
}

/// Makes a text fit to show. Line ends and tabs stay; other control characters (C0, DEL, C1, line separators) and
/// characters that reverse or hide text become visible escapes such as `\x1b`.
///
/// ```
/// use trunkline_gate::text::{Flag, clean};
/// let cleaned = clean("ok\x1b[2J");
/// assert_eq!(cleaned.text, r"ok\x1b[2J");
/// assert!(cleaned.flags.contains(&Flag::ControlCharacters));
/// ```
pub fn clean(text: &str) -> Cleaned {
    // Nearly every text: nothing in it needs a second look.
    if text.bytes().all(is_plain) {
        return Cleaned {
            text: text.to_owned(),
            ..Cleaned::default()
        };
    }
    let mut cleaned = Cleaned {
        text: String::with_capacity(text.len()),
        ..Cleaned::default()
    };
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        if c == '\r' && rest.peek() == Some(&'\n') {
            continue;
        }
        let flag = kind(c);
        cleaned.flags.extend(flag);
        match flag {
            Some(Flag::Invisible) if !spells(c) => cleaned.text.push(c),
            Some(_) => escape(&mut cleaned.text, c),
            None => cleaned.text.push(c),
        }
    }
    cleaned
}

/// A text of a server's on one line of at most `most` characters, for messages and questions. Everything that is not
/// plainly visible becomes an escape or a space, and any number of spaces of any kind is one: padding cannot push a
/// forged line to where a terminal begins a new one.
///
/// ```
/// use trunkline_gate::text::one_line;
/// assert_eq!(one_line("first\nsecond\x08", 40), r"first second\x08");
/// assert_eq!(one_line("0123456789", 4), "0123…");
/// ```
pub fn one_line(text: &str, most: usize) -> String {
    // Nearly every name.
    if text.len() <= most && text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return text.to_owned();
    }
    let mut line = String::new();
    let mut held = 0;
    let mut after_space = true;
    for c in text.trim_matches(is_blank).chars() {
        let blank = is_blank(c);
        if blank && after_space {
            continue;
        }
        if held == most {
            line.push('…');
            break;
        }
        held += 1;
        after_space = blank;
        match c {
            _ if blank => line.push(' '),
            _ if is_hidden(c) => escape(&mut line, c),
            _ => line.push(c),
        }
    }
    line
}

/// A JSON value as one line of JSON in which every hidden character is an escape of JSON's own, so that what is shown
/// is exactly what is sent.
///
/// ```
/// use trunkline_gate::text::visible_json;
/// let value = serde_json::json!({ "path": "a\u{202e}b" });
/// let shown = visible_json(&value);
/// assert_eq!(shown, r#"{"path":"a\u202eb"}"#);
/// assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
/// ```
pub fn visible_json(value: &Value) -> String {
    visible_json_text(&value.to_string())
}

/// JSON text in which every hidden character is an escape of JSON's own: the same JSON, fit to show.
pub fn visible_json_text(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    for c in json.chars() {
        // JSON text holds such characters only inside of strings, where an escape means the same.
        if is_hidden(c) || (c != ' ' && c != '\n' && c != '\t' && is_blank(c)) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(shown, "\\u{unit:04x}");
            }
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Cleans every text inside a value, and the names of its members. Where there is nothing to clean, nearly always, it is
/// not copied.
pub fn clean_value<'a>(value: &'a Value, flags: &mut BTreeSet<Flag>) -> Cow<'a, Value> {
    if is_plain_value(value) {
        Cow::Borrowed(value)
    } else {
        Cow::Owned(cleaned_value(value, flags))
    }
}

fn is_plain_value(value: &Value) -> bool {
    match value {
        Value::String(text) => text.bytes().all(is_plain),
        Value::Array(items) => items.iter().all(is_plain_value),
        Value::Object(members) => members
            .iter()
            .all(|(name, value)| name.bytes().all(is_plain) && is_plain_value(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
    }
}

fn cleaned_value(value: &Value, flags: &mut BTreeSet<Flag>) -> Value {
    let cleaned = |text: &str, flags: &mut BTreeSet<Flag>| {
        let cleaned = clean(text);
        flags.extend(cleaned.flags);
        cleaned.text
    };
    match value {
        Value::String(text) => Value::String(cleaned(text, flags)),
        Value::Array(items) => Value::Array(items.iter().map(|item| cleaned_value(item, flags)).collect()),
        Value::Object(members) => {
            let members = members.iter();
            let member = |(name, value): (&String, &Value)| (cleaned(name, flags), cleaned_value(value, flags));
            Value::Object(members.map(member).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// Whether a byte is a whole character that stays as it is.
fn is_plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'~' | b'\n' | b'\t')
}

/// What is wrong with a character, if anything.
fn kind(c: char) -> Option<Flag> {
    match c {
        '\n' | '\t' => None,
        '\0'..='\x1f' | '\x7f'..='\u{9f}' | '\u{2028}' | '\u{2029}' => Some(Flag::ControlCharacters),
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => Some(Flag::Bidirectional),
        // Soft hyphen, fillers, zero width, marks of direction, variation selectors beyond those of emoji, tags.
        // The joiners U+200C and U+200D and U+FE0E, U+FE0F belong to ordinary text and are left alone.
        '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{2060}'..='\u{2065}'
        | '\u{206a}'..='\u{206f}'
        | '\u{3164}'
        | '\u{fe00}'..='\u{fe0d}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}' => Some(Flag::Invisible),
        _ => None,
    }
}

/// Whether a character is not plainly visible. Text that is shown as it is may hold the joiners of ordinary text and
/// the variation selectors of emoji; where exactness counts, in questions and arguments, they are hidden like others.
fn is_hidden(c: char) -> bool {
    kind(c).is_some() || matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}')
}

/// Whether a character shows as nothing but room: white space, and what fonts leave empty.
fn is_blank(c: char) -> bool {
    match c {
        // Line ends and the like that are shown as escapes.
        '\x0b' | '\x0c' | '\u{85}' | '\u{2028}' | '\u{2029}' => false,
        '\u{2800}' | '\u{1d159}' => true,
        _ => c.is_whitespace(),
    }
}

/// Whether an invisible character can spell text that only a machine reads: tags and variation selectors.
fn spells(c: char) -> bool {
    matches!(c, '\u{e0000}'..='\u{e0fff}' | '\u{fe00}'..='\u{fe0d}')
}

fn escape(out: &mut String, c: char) {
    let code = u32::from(c);
    // Writing to a string cannot fail.
    let _ = if code < 0x100 {
        write!(out, "\\x{code:02x}")
    } else {
        write!(out, "\\u{{{code:x}}}")
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn flags(text: &str) -> Vec<Flag> {
        clean(text).flags.into_iter().collect()
    }

    #[test]
    fn escape_codes_become_visible() {
        let hostile = "ok \x1b[2J \x1b]0;x\x07 \x1b]8;;http://h.example\x1b\\click";
        let cleaned = clean(hostile);
        assert_eq!(
            cleaned.text,
            r"ok \x1b[2J \x1b]0;x\x07 \x1b]8;;http://h.example\x1b\click"
        );
        assert_eq!(flags(hostile), [Flag::ControlCharacters]);
    }

    #[test]
    fn every_control_character_but_line_end_and_tab_is_made_visible() {
        for code in (0..0x20).chain(0x7f..0xa0) {
            let c = char::from_u32(code).unwrap();
            let cleaned = clean(&format!("a{c}b"));
            let stays = matches!(c, '\n' | '\t');
            assert_eq!(cleaned.text.contains(c), stays, "{code:x}");
            assert_eq!(cleaned.flags.is_empty(), stays, "{code:x}");
        }
    }

    #[test]
    fn what_is_taken_as_it_is_would_also_come_out_so() {
        for byte in 0..=0x7f_u8 {
            let c = char::from(byte);
            assert!(!is_plain(byte) || kind(c).is_none(), "{byte:x}");
            // One that is not plain beside it: the way of every character is gone.
            let shown = one_line(&format!("x{c}x가"), 40);
            assert!(!c.is_ascii_graphic() || shown == format!("x{c}x가"), "{byte:x}");
        }
    }

    #[test]
    fn a_line_end_of_two_is_one_and_a_lone_return_is_an_overwrite() {
        assert_eq!(
            clean("a\r\nb"),
            Cleaned {
                text: "a\nb".into(),
                flags: BTreeSet::new()
            }
        );
        assert_eq!(clean("rm -rf\rls").text, r"rm -rf\rls".replace(r"\r", r"\x0d"));
    }

    #[test]
    fn hidden_text_is_found() {
        assert_eq!(flags("pay \u{202e}000.1"), [Flag::Bidirectional]);
        assert_eq!(clean("pay \u{202e}1").text, r"pay \u{202e}1");
        assert_eq!(flags("a\u{200b}b"), [Flag::Invisible]);
        assert_eq!(clean("\u{e0041}\u{e0042}").text, r"\u{e0041}\u{e0042}");
        assert_eq!(
            flags("가족 \u{1f468}\u{200d}\u{1f469} ❤\u{fe0f} नमस्ते"),
            [],
            "ordinary text"
        );
    }

    #[test]
    fn padding_is_one_space_and_what_nobody_sees_is_shown() {
        let room = "a \u{a0}\u{2800}\u{3000}\t\r\n\u{2003}b";
        assert_eq!(one_line(room, 40), "a b");
        assert_eq!(one_line(&format!("a{}b", " ".repeat(5000)), 3), "a b");
        assert_eq!(one_line(&"\u{2800}x ".repeat(9), 4), "x x …");
        assert_eq!(
            one_line("a\u{200c}\u{200d}\u{fe0f}b", 40),
            r"a\u{200c}\u{200d}\u{fe0f}b"
        );
        assert_eq!(one_line("a\x0bb", 40), r"a\x0bb");
    }

    #[test]
    fn values_are_cleaned_all_through() {
        let mut flags = BTreeSet::new();
        let value = json!({ "a\u{1b}": ["\u{9b}2J", 1, null, { "b": "\u{202e}" }] });
        let cleaned = clean_value(&value, &mut flags);
        assert_eq!(
            *cleaned,
            json!({ r"a\x1b": [r"\x9b2J", 1, null, { "b": r"\u{202e}" }] })
        );
        assert_eq!(flags.len(), 2);
    }

    #[test]
    fn shown_json_is_the_same_json() {
        let value = json!({
            "a\u{200b}": "\u{e0041}\n\u{7f}\u{85} \u{200c}\u{200d}\u{fe0e}\u{fe0f}\u{2800}\u{a0}\u{3000}\u{202f}\u{1680}",
            "n": 18_446_744_073_709_551_615_u64,
        });
        let shown = visible_json(&value);
        assert!(shown.is_ascii(), "{shown}");
        assert_eq!(serde_json::from_str::<Value>(&shown).unwrap(), value);
    }
}
