//! Any text as the value of a header
//! ([value encoding](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#value-encoding)).

use std::borrow::Cow;
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

const PREFIX: &str = "=?base64?";
const SUFFIX: &str = "?=";

/// Text as a header value: as it is where that is safe, and in Base64 otherwise.
///
/// A tab is safe inside a value by the letter of HTTP, yet some intermediaries mend it: it is encoded too.
pub fn encode_value(text: &str) -> Cow<'_, str> {
    let visible = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    let padded = text.starts_with(' ') || text.ends_with(' ');
    let marked = text.starts_with(PREFIX) && text.ends_with(SUFFIX);
    if visible && !padded && !marked {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(format!("{PREFIX}{}{SUFFIX}", STANDARD.encode(text)))
    }
}

/// The text that a header value stands for.
///
/// # Errors
/// If it holds bytes that no value may hold, or what looks like Base64 is not, or is not UTF-8.
pub fn decode_value(value: &[u8]) -> Result<Cow<'_, str>, InvalidValue> {
    if !value.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\t')) {
        return Err(InvalidValue::Characters);
    }
    let text = std::str::from_utf8(value).map_err(|_| InvalidValue::Characters)?;
    // A text that is too short to hold both marks apart is meant as it stands.
    let Some(encoded) = text.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX)) else {
        return Ok(Cow::Borrowed(text));
    };
    let bytes = STANDARD.decode(encoded).map_err(|_| InvalidValue::Base64)?;
    String::from_utf8(bytes).map(Cow::Owned).map_err(|_| InvalidValue::Text)
}

/// Why a header value stands for no text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidValue {
    /// It holds control characters or other bytes outside of ASCII.
    Characters,
    /// It is marked as Base64, and is not.
    Base64,
    /// It is Base64 of something that is not UTF-8.
    Text,
}

impl fmt::Display for InvalidValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Characters => "it holds characters that a header cannot carry; they must be encoded in Base64",
            Self::Base64 => "it is marked as Base64 but is not valid Base64",
            Self::Text => "its Base64 does not stand for UTF-8 text",
        })
    }
}

impl std::error::Error for InvalidValue {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_table_of_the_specification() {
        for (text, value) in [
            ("us-west1", "us-west1"),
            ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
            (" padded ", "=?base64?IHBhZGRlZCA=?="),
            ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
            ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
            ("us west 1", "us west 1"),
            ("", ""),
            ("a\tb", "=?base64?YQli?="),
            ("=?base64?=", "=?base64?PT9iYXNlNjQ/PQ==?="),
            ("=?BASE64?x?=", "=?BASE64?x?="),
        ] {
            assert_eq!(encode_value(text), value);
            assert_eq!(decode_value(value.as_bytes()).unwrap(), text);
        }
    }

    #[test]
    fn decoding_is_strict() {
        for (value, expected) in [
            (&b"=?base64?SGVsbG8?="[..], InvalidValue::Base64),
            (b"=?base64?SGVs bG8=?=", InvalidValue::Base64),
            (b"=?base64?SGVsbG9=?=", InvalidValue::Base64),
            (b"=?base64?_-_-?=", InvalidValue::Base64),
            (b"=?base64?//8=?=", InvalidValue::Text),
            (b"caf\xc3\xa9", InvalidValue::Characters),
            (b"a\x01", InvalidValue::Characters),
            (b"a\x7f", InvalidValue::Characters),
        ] {
            assert_eq!(
                decode_value(value),
                Err(expected),
                "{:?}",
                String::from_utf8_lossy(value)
            );
        }
        assert_eq!(decode_value(b"a\tb").unwrap(), "a\tb");
        assert_eq!(decode_value(b"=?base64?=").unwrap(), "=?base64?=");
        assert_eq!(decode_value(b"=?base64??=").unwrap(), "");
    }

    proptest! {
        #[test]
        fn any_text_survives(text in any::<String>()) {
            let value = encode_value(&text);
            prop_assert!(value.bytes().all(|byte| (b' '..=b'~').contains(&byte)));
            prop_assert_eq!(value.trim(), value.as_ref());
            prop_assert_eq!(decode_value(value.as_bytes()).unwrap(), text.as_str());
        }
    }
}
