//! JSON that was written once and travels as it is.

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

/// Room for a usual result and the envelope around it.
const ROOM: usize = 512;

/// The JSON of one value, written by this program and so known to be right.
///
/// It is what a result becomes on its way out: it is neither read nor copied again until it is sent, also where it
/// is large.
///
/// ```
/// use trunkline_types::JsonText;
/// let text = JsonText::write(&serde_json::json!({ "sum": 3 })).unwrap();
/// assert_eq!(text.as_bytes(), br#"{"sum":3}"#);
/// assert_eq!(text.read::<serde_json::Value>().unwrap()["sum"], 3);
/// ```
#[derive(PartialEq, Eq)]
pub struct JsonText(Vec<u8>);

impl JsonText {
    /// Writes a value.
    ///
    /// # Errors
    /// If it cannot be written as JSON.
    pub fn write(value: &impl Serialize) -> serde_json::Result<Self> {
        Self::write_bulky(value, 0)
    }

    /// Writes a value with about so many bytes of text in it. A buffer that grows is copied; a quarter more is
    /// enough for the escapes of most texts.
    ///
    /// # Errors
    /// If it cannot be written as JSON.
    pub fn write_bulky(value: &impl Serialize, bulk: usize) -> serde_json::Result<Self> {
        let mut text = Vec::with_capacity(bulk + bulk / 4 + ROOM);
        serde_json::to_writer(&mut text, value)?;
        Ok(Self(text))
    }

    /// An object without members.
    pub fn empty_object() -> Self {
        let mut text = Vec::with_capacity(ROOM / 4);
        text.extend_from_slice(b"{}");
        Self(text)
    }

    /// The text.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The text with something in front of it and a byte behind it, in the same buffer.
    pub(crate) fn into_enclosed(self, before: &[u8], behind: u8) -> Vec<u8> {
        let mut text = self.0;
        let length = text.len();
        text.reserve(before.len() + 1);
        text.resize(length + before.len(), 0);
        text.copy_within(..length, before.len());
        text[..before.len()].copy_from_slice(before);
        text.push(behind);
        text
    }

    /// Reads it again.
    ///
    /// # Errors
    /// If it does not fit the type, or is nested deeper than is read.
    pub fn read<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        serde_json::from_slice(&self.0)
    }
}

/// With room for what is put around it.
impl Clone for JsonText {
    fn clone(&self) -> Self {
        let mut text = Vec::with_capacity(self.0.len() + ROOM);
        text.extend_from_slice(&self.0);
        Self(text)
    }
}

impl From<Box<RawValue>> for JsonText {
    fn from(raw: Box<RawValue>) -> Self {
        Self(Box::<str>::from(raw).into_string().into_bytes())
    }
}

impl fmt::Debug for JsonText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_around_it_is_put_there_in_place() {
        for size in [0, ROOM - 4, ROOM, 100_000] {
            let text = JsonText::write(&"x".repeat(size)).unwrap();
            assert_eq!(
                text.into_enclosed(b"{\"a\":", b'}'),
                format!(r#"{{"a":"{}"}}"#, "x".repeat(size)).as_bytes()
            );
        }
        assert_eq!(JsonText::empty_object().into_enclosed(b"[", b']'), b"[{}]");
    }

    #[test]
    fn raw_json_becomes_it_as_it_is() {
        let raw = RawValue::from_string("{ \"a\": 1 }".to_owned()).unwrap();
        assert_eq!(JsonText::from(raw).as_bytes(), b"{ \"a\": 1 }");
    }
}
