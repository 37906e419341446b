//! The `_meta` of requests. A client says the same of itself in each one, so it is read again only when it differs.

use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use serde::Deserialize;
use serde_json::value::RawValue;
use trunkline_types::{ErrorObject, RequestMeta, meta_key};

use super::{ClientFacts, decode};

/// The longest `_meta` that is kept to be recognized, in bytes.
const KEPT: usize = 4 * 1024;

/// What one request says of itself and its client in its `_meta`.
#[derive(Debug, Clone, Default)]
pub struct Said {
    pub(super) meta: Arc<RequestMeta>,
    /// The client of a modern request, if it says what it can do.
    client: Option<Arc<ClientFacts>>,
}

impl Said {
    /// The revision that the request says it speaks. Only modern ones do.
    pub fn version(&self) -> Option<&str> {
        self.meta.protocol_version.as_deref()
    }

    /// The client of a modern request: what the request itself says
    /// ([per-request fields](https://modelcontextprotocol.io/specification/2026-07-28/basic/index#meta)).
    pub(super) fn modern_client(&self) -> Result<Arc<ClientFacts>, ErrorObject> {
        self.client.clone().ok_or_else(|| {
            let missing = meta_key::CLIENT_CAPABILITIES;
            ErrorObject::invalid_params(format!("`_meta` needs `{missing}`"))
        })
    }
}

/// The last `_meta` that was read, at most 4 KiB of it. Clones share it: what the same bytes mean depends on nothing else,
/// so connections may share it too.
#[derive(Debug, Clone, Default)]
pub struct KnownMeta {
    last: Arc<Mutex<Option<Last>>>,
}

#[derive(Debug)]
struct Last {
    text: Box<str>,
    said: Said,
}

impl KnownMeta {
    /// Whether params may have a `_meta`. Cheaper than to read them, and never wrong about a "no".
    pub fn may_be_in(params: &RawValue) -> bool {
        let text = params.get();
        // The name can be written in another way only with an escape.
        text.contains("_meta") || text.contains("\\u")
    }

    /// Reads `_meta` out of params.
    pub(super) fn read(&self, params: Option<&RawValue>) -> Result<Said, ErrorObject> {
        static NOTHING: LazyLock<Said> = LazyLock::new(Said::default);
        let Some(text) = params.map(meta_of).transpose()?.flatten() else {
            return Ok(NOTHING.clone());
        };
        self.said(text)
    }

    /// What a `_meta` says.
    ///
    /// # Errors
    /// [`code::INVALID_PARAMS`](trunkline_types::code::INVALID_PARAMS) if it is none.
    pub fn said(&self, meta: &RawValue) -> Result<Said, ErrorObject> {
        let text = meta.get();
        if let Some(last) = &*self.last()
            && *last.text == *text
        {
            return Ok(last.said.clone());
        }
        let meta: RequestMeta = serde_json::from_str(text)
            .map_err(|error| ErrorObject::invalid_params(format!("invalid `_meta`: {error}")))?;
        let client = meta.client_capabilities.clone().map(|capabilities| {
            Arc::new(ClientFacts {
                info: meta.client_info.clone().unwrap_or_default(),
                capabilities,
            })
        });
        // What names this one request will not come again.
        let is_lasting = text.len() <= KEPT && meta.progress_token.is_none() && meta.extra.is_empty();
        let said = Said {
            meta: Arc::new(meta),
            client,
        };
        if is_lasting {
            *self.last() = Some(Last {
                text: text.into(),
                said: said.clone(),
            });
        }
        Ok(said)
    }

    fn last(&self) -> MutexGuard<'_, Option<Last>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The `_meta` of params; the rest is not read.
fn meta_of(params: &RawValue) -> Result<Option<&RawValue>, ErrorObject> {
    #[derive(Deserialize)]
    struct OnlyMeta<'a> {
        #[serde(borrow, rename = "_meta")]
        meta: Option<&'a RawValue>,
    }
    if !params.get().starts_with('{') {
        return Err(ErrorObject::invalid_params("`params` must be an object"));
    }
    // Almost every legacy request is without: then its params are not read twice.
    if !KnownMeta::may_be_in(params) {
        return Ok(None);
    }
    let only: OnlyMeta<'_> = decode(Some(params))?;
    Ok(only.meta)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(known: &KnownMeta, params: &str) -> Result<Said, ErrorObject> {
        let params = RawValue::from_string(params.to_owned()).unwrap();
        known.read(Some(&params))
    }

    fn from(name: &str, more: &str) -> String {
        format!(
            r#"{{"x":1,"_meta":{{"io.modelcontextprotocol/clientInfo":{{"name":"{name}","version":"1"}},"io.modelcontextprotocol/clientCapabilities":{{}}{more}}}}}"#
        )
    }

    #[test]
    fn a_client_that_repeats_itself_is_read_once() {
        let known = KnownMeta::default();
        let first = read(&known, &from("a", "")).unwrap();
        let again = read(&known, &from("a", "")).unwrap();
        assert!(Arc::ptr_eq(&first.meta, &again.meta));
        let other = read(&known, &from("b", "")).unwrap();
        assert_eq!(other.modern_client().unwrap().info.name, "b");
        assert_eq!(
            read(&known, &from("a", "")).unwrap().modern_client().unwrap().info.name,
            "a"
        );
    }

    #[test]
    fn what_names_one_request_is_not_kept() {
        let known = KnownMeta::default();
        let first = read(&known, &from("a", "")).unwrap();
        let token = read(&known, &from("a", r#","progressToken":7"#)).unwrap();
        assert_eq!(token.meta.progress_token, Some(7.into()));
        let again = read(&known, &from("a", "")).unwrap();
        assert!(Arc::ptr_eq(&first.meta, &again.meta));
        assert_eq!(again.meta.progress_token, None);
    }

    #[test]
    fn what_is_kept_has_a_bound() {
        for (length, is_kept) in [(KEPT, true), (KEPT + 1, false)] {
            let known = KnownMeta::default();
            let empty = from("", "").len() - r#"{"x":1,"_meta":}"#.len();
            let params = from(&"n".repeat(length - empty), "");
            let first = read(&known, &params).unwrap();
            let again = read(&known, &params).unwrap();
            assert_eq!(Arc::ptr_eq(&first.meta, &again.meta), is_kept, "{length}");
        }
    }

    #[test]
    fn an_escaped_name_is_a_name() {
        let said = read(&KnownMeta::default(), r#"{"\u005fmeta":{"progressToken":1}}"#).unwrap();
        assert_eq!(said.meta.progress_token, Some(1.into()));
        assert!(read(&KnownMeta::default(), r#"{"_meta":1}"#).is_err());
        assert!(read(&KnownMeta::default(), "[]").is_err());
    }
}
