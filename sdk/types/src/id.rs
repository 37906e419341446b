//! Request ids and progress tokens: a string or an integer, never null, kept exactly.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, Serializer};
use serde_json::value::RawValue;

/// The id of a request: a string or an integer of any size.
///
/// The JSON type and the value are kept exactly: `7` and `"7"` are different ids, and integers
/// beyond 64 bits are not rounded. `null`, fractions and other JSON values are not ids
/// ([requests](https://modelcontextprotocol.io/specification/2026-07-28/basic/index#requests)).
///
/// ```
/// use trunkline_types::RequestId;
/// assert_ne!(RequestId::from(7), RequestId::from("7"));
/// let exact: RequestId = serde_json::from_str("18446744073709551616").unwrap();
/// assert_eq!(serde_json::to_string(&exact).unwrap(), "18446744073709551616");
/// assert!(serde_json::from_str::<RequestId>("null").is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestId(Repr);

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Repr {
    Integer(i64),
    /// An integer outside of `i64`, as its decimal digits.
    Large(Box<str>),
    Text(Box<str>),
}

/// Ties progress notices to the request that asked for them; of the same form as a request id.
pub type ProgressToken = RequestId;

/// An id may have this many bytes on the wire; longer ones are refused like a wrong type.
pub const MAX_ID_BYTES: usize = 4096;

impl RequestId {
    /// Reads an id from the raw JSON of an `id` member.
    ///
    /// `None` for everything that is not an id: null, fractions, exponents, booleans, arrays,
    /// objects, and text longer than [`MAX_ID_BYTES`].
    pub fn from_raw(raw: &RawValue) -> Option<Self> {
        let text = raw.get();
        if text.len() > MAX_ID_BYTES {
            return None;
        }
        if text.starts_with('"') {
            let text: Box<str> = serde_json::from_str(text).ok()?;
            return Some(Self(Repr::Text(text)));
        }
        let digits = text.strip_prefix('-').unwrap_or(text);
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        Some(match text.parse() {
            Ok(value) => Self(Repr::Integer(value)),
            Err(_) => Self(Repr::Large(text.into())),
        })
    }

    /// Appends the id as JSON.
    pub fn write_json(&self, out: &mut Vec<u8>) {
        // Writing into a vector cannot fail, and neither can these three forms.
        let _ = serde_json::to_writer(out, self);
    }

    /// Whether both show the same characters though one is a string and the other an integer.
    ///
    /// Such an answer does not match its request; a client reports it instead of waiting in silence.
    pub fn same_but_for_type(&self, other: &Self) -> bool {
        self != other && self.to_string() == other.to_string()
    }
}

impl From<i64> for RequestId {
    fn from(value: i64) -> Self {
        Self(Repr::Integer(value))
    }
}

impl From<u64> for RequestId {
    fn from(value: u64) -> Self {
        match i64::try_from(value) {
            Ok(value) => Self(Repr::Integer(value)),
            Err(_) => Self(Repr::Large(value.to_string().into())),
        }
    }
}

impl From<i32> for RequestId {
    fn from(value: i32) -> Self {
        Self(Repr::Integer(value.into()))
    }
}

impl From<&str> for RequestId {
    fn from(value: &str) -> Self {
        Self(Repr::Text(value.into()))
    }
}

impl From<String> for RequestId {
    fn from(value: String) -> Self {
        Self(Repr::Text(value.into()))
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Integer(value) => write!(f, "{value}"),
            Repr::Large(text) | Repr::Text(text) => f.write_str(text),
        }
    }
}

impl Serialize for RequestId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Repr::Integer(value) => serializer.serialize_i64(*value),
            Repr::Text(text) => serializer.serialize_str(text),
            Repr::Large(digits) => RawValue::from_string(digits.to_string())
                .map_err(serde::ser::Error::custom)?
                .serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for RequestId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Self::from_raw(&raw).ok_or_else(|| D::Error::custom("an id is a string or an integer"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Option<RequestId> {
        serde_json::from_str(text).ok()
    }

    #[test]
    fn keeps_type_and_value_exactly() {
        for text in [
            "0",
            "-5",
            "9007199254740993",
            "9223372036854775807",
            "-9223372036854775808",
            "18446744073709551615",
            "123456789012345678901234567890",
            "\"7\"",
            "\"\"",
            "\"a\\nb\"",
        ] {
            let id = parse(text).unwrap_or_else(|| panic!("{text} is an id"));
            assert_eq!(serde_json::to_string(&id).unwrap(), text);
        }
    }

    #[test]
    fn refuses_everything_else() {
        for text in ["null", "1.5", "1.0", "1e3", "true", "[]", "{}", "[1]"] {
            assert_eq!(parse(text), None, "{text} is no id");
        }
        let long = format!("\"{}\"", "x".repeat(MAX_ID_BYTES - 2));
        assert!(parse(&long).is_some());
        assert_eq!(parse(&format!("\"{}\"", "x".repeat(MAX_ID_BYTES - 1))), None);
    }

    #[test]
    fn string_and_integer_differ_but_are_recognised_as_alike() {
        let (number, text) = (RequestId::from(9), RequestId::from("9"));
        assert_ne!(number, text);
        assert!(number.same_but_for_type(&text));
        assert!(!number.same_but_for_type(&number));
    }

    #[test]
    fn reads_from_a_value_tree_too() {
        assert_eq!(
            serde_json::from_value::<RequestId>(serde_json::json!(3)).unwrap(),
            RequestId::from(3)
        );
        assert_eq!(
            serde_json::from_value::<RequestId>(serde_json::json!("3")).unwrap(),
            RequestId::from("3")
        );
        assert!(serde_json::from_value::<RequestId>(serde_json::json!(3.5)).is_err());
    }
}
