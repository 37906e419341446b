//! The state that a modern server hands to its client with a question and gets back with the answer.
//!
//! It is public to the client and not to be altered by it: an HMAC-SHA-256 covers who may use it, until
//! when, for which request, and what was answered so far
//! ([server requirements](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr#server-requirements-basic-workflow)).
//! The seal does not count: whether a state was used already, its server tells by the nonce.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// The longest state that is read, in bytes of its text.
pub const MAX_STATE: usize = 1024 * 1024;

/// What is sealed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sealed {
    /// Who asked; empty where nobody is authenticated.
    pub principal: String,
    /// When it ends, in seconds since 1970.
    pub expires: u64,
    /// Names this state, so that a server can tell whether it was used already.
    pub nonce: String,
    /// Which request it belongs to: see [`Sealer::fingerprint`].
    pub request: String,
    /// How often the client was asked.
    pub round: u32,
    /// The keys that the client was asked for last.
    pub asked: Vec<String>,
    /// The answers of earlier rounds by key.
    pub answers: Map<String, Value>,
}

/// Why a state is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SealError {
    /// It was not made by this server, or it was altered.
    Altered,
    /// Its time is over.
    Expired,
    /// It belongs to another principal or another request.
    Foreign,
    /// It would be longer than [`MAX_STATE`].
    TooLarge,
}

impl fmt::Display for SealError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Altered => "`requestState` was altered or is not from this server",
            Self::Expired => "`requestState` has expired; send the request again without it",
            Self::Foreign => "`requestState` belongs to another request",
            Self::TooLarge => "the answers so far are too large to be carried along",
        })
    }
}

impl std::error::Error for SealError {}

/// Seals and opens request states with one key.
///
/// ```
/// use trunkline_proto::{SealError, Sealed, Sealer};
/// let sealer = Sealer::new([7; 32]);
/// let request = Sealer::fingerprint("tools/call", &serde_json::json!({"name": "cancel_order"}));
/// let sealed = Sealed { principal: "ann".into(), expires: 100, nonce: "n".into(), request: request.clone(), round: 1, asked: vec![], answers: Default::default() };
/// let text = sealer.seal(&sealed).unwrap();
/// assert_eq!(sealer.open(&text, 99, "ann", &request), Ok(sealed));
/// assert_eq!(sealer.open(&text, 100, "ann", &request), Err(SealError::Expired));
/// assert_eq!(sealer.open(&text, 99, "bob", &request), Err(SealError::Foreign));
/// ```
#[derive(Clone)]
pub struct Sealer {
    key: [u8; 32],
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sealer(…)")
    }
}

impl Sealer {
    /// A sealer with a secret key. Servers that share requests share the key.
    pub fn new(key: [u8; 32]) -> Self {
        Self { key }
    }

    fn mac(&self, payload: &[u8]) -> Hmac<Sha256> {
        // `new` takes keys of the block's size only; a 32-byte key is padded to it, as HMAC says.
        let mut block = [0; 64];
        block[..32].copy_from_slice(&self.key);
        let mut mac = Hmac::<Sha256>::new(&block.into());
        mac.update(payload);
        mac
    }

    /// The text of a state.
    ///
    /// # Errors
    /// If it would be too large to be read again.
    pub fn seal(&self, sealed: &Sealed) -> Result<String, SealError> {
        // A map of JSON values and plain fields always encodes.
        let payload = serde_json::to_vec(sealed).unwrap_or_default();
        let tag = self.mac(&payload).finalize().into_bytes();
        let text = format!("{}.{}", URL_SAFE_NO_PAD.encode(&payload), URL_SAFE_NO_PAD.encode(tag));
        if text.len() > MAX_STATE {
            Err(SealError::TooLarge)
        } else {
            Ok(text)
        }
    }

    /// Opens a state for a principal and a request at a time in seconds since 1970.
    ///
    /// # Errors
    /// If it is not whole, over, or somebody else's.
    pub fn open(&self, text: &str, now: u64, principal: &str, request: &str) -> Result<Sealed, SealError> {
        if text.len() > MAX_STATE {
            return Err(SealError::Altered);
        }
        let (payload, tag) = text.split_once('.').ok_or(SealError::Altered)?;
        let payload = URL_SAFE_NO_PAD.decode(payload).map_err(|_| SealError::Altered)?;
        let tag = URL_SAFE_NO_PAD.decode(tag).map_err(|_| SealError::Altered)?;
        self.mac(&payload).verify_slice(&tag).map_err(|_| SealError::Altered)?;
        let sealed: Sealed = serde_json::from_slice(&payload).map_err(|_| SealError::Altered)?;
        if sealed.principal != principal || sealed.request != request {
            return Err(SealError::Foreign);
        }
        if sealed.expires <= now {
            return Err(SealError::Expired);
        }
        Ok(sealed)
    }

    /// Names a request by its method and the params that make it what it is. The order of members does
    /// not matter, so a client may write them anew.
    pub fn fingerprint(method: &str, params: &Value) -> String {
        let mut hash = Sha256::new();
        hash.update(method.as_bytes());
        hash.update([0]);
        hash.update(canonical(params).as_bytes());
        URL_SAFE_NO_PAD.encode(hash.finalize())
    }
}

/// JSON with the members of every object in the order of their names.
fn canonical(value: &Value) -> String {
    fn sorted(value: &Value) -> Value {
        match value {
            Value::Object(object) => {
                let mut members: Vec<_> = object.iter().collect();
                members.sort_by_key(|(name, _)| *name);
                Value::Object(
                    members
                        .into_iter()
                        .map(|(name, value)| (name.clone(), sorted(value)))
                        .collect(),
                )
            }
            Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
            other => other.clone(),
        }
    }
    sorted(value).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn sample(request: &str) -> Sealed {
        let answers = json!({"input-1": {"action": "accept"}})
            .as_object()
            .cloned()
            .unwrap_or_default();
        Sealed {
            principal: String::new(),
            expires: 50,
            nonce: "n".into(),
            request: request.into(),
            round: 1,
            asked: vec!["input-2".into()],
            answers,
        }
    }

    #[test]
    fn every_altered_byte_is_noticed() {
        let sealer = Sealer::new([1; 32]);
        let text = sealer.seal(&sample("r")).unwrap();
        for at in 0..text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
            let altered = String::from_utf8(bytes).unwrap();
            assert_eq!(sealer.open(&altered, 0, "", "r"), Err(SealError::Altered), "byte {at}");
        }
    }

    #[test]
    fn another_key_and_another_request_are_refused() {
        let text = Sealer::new([1; 32]).seal(&sample("r")).unwrap();
        assert_eq!(Sealer::new([2; 32]).open(&text, 0, "", "r"), Err(SealError::Altered));
        assert_eq!(Sealer::new([1; 32]).open(&text, 0, "", "s"), Err(SealError::Foreign));
        for text in ["", ".", "a", "a.b", "e30.e30"] {
            assert_eq!(Sealer::new([1; 32]).open(text, 0, "", "r"), Err(SealError::Altered));
        }
    }

    #[test]
    fn the_order_of_members_does_not_matter() {
        let one = Sealer::fingerprint("m", &json!({"a": 1, "b": {"c": [1, 2], "d": null}}));
        assert_eq!(
            one,
            Sealer::fingerprint("m", &json!({"b": {"d": null, "c": [1, 2]}, "a": 1}))
        );
        assert_ne!(
            one,
            Sealer::fingerprint("m", &json!({"a": 1, "b": {"c": [2, 1], "d": null}}))
        );
        assert_ne!(
            one,
            Sealer::fingerprint("n", &json!({"a": 1, "b": {"c": [1, 2], "d": null}}))
        );
    }
}
