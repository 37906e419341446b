//! The `_meta` of requests: what the protocol says in it, beside what the caller says.

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use trunkline_types::{ClientCapabilities, Extra, Implementation, LogLevel, RequestId, Revision, meta_key};

const META: &str = "_meta";
const PROGRESS_TOKEN: &str = "progressToken";

/// What every modern request of a connection says, written once. Nothing in the legacy era.
///
/// ([fields](https://modelcontextprotocol.io/specification/2026-07-28/basic/index#meta))
#[derive(Debug, Default)]
pub(super) struct CommonMeta(Vec<(&'static str, Box<RawValue>)>);

impl CommonMeta {
    pub(super) fn new(revision: Revision, info: &Implementation, capabilities: &ClientCapabilities) -> Self {
        let fields = [
            (meta_key::PROTOCOL_VERSION, to_raw_value(revision.name())),
            (meta_key::CLIENT_INFO, to_raw_value(info)),
            (meta_key::CLIENT_CAPABILITIES, to_raw_value(capabilities)),
        ];
        // They hold only what JSON can express.
        let written = fields.into_iter().filter_map(|(key, value)| Some((key, value.ok()?)));
        Self(written.collect())
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The params of a request with its metadata: what is the caller's stays, the protocol's keys win.
pub(super) struct WithMeta<'a> {
    pub(super) params: &'a Extra,
    pub(super) common: &'a CommonMeta,
    pub(super) progress_token: Option<&'a RequestId>,
    /// Only modern requests say it.
    pub(super) log_level: Option<LogLevel>,
}

impl Serialize for WithMeta<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let adds = self.progress_token.is_some() || !self.common.is_empty();
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in self.params {
            if !adds || key != META {
                map.serialize_entry(key, value)?;
            }
        }
        if adds {
            map.serialize_entry(META, &Merged(self))?;
        }
        map.end()
    }
}

/// The metadata of such a request.
struct Merged<'a>(&'a WithMeta<'a>);

impl Merged<'_> {
    /// Whether the protocol says something under this key.
    fn wins(&self, key: &str) -> bool {
        (key == PROGRESS_TOKEN && self.0.progress_token.is_some())
            || (key == meta_key::LOG_LEVEL && self.log_level().is_some())
            || self.0.common.0.iter().any(|(said, _)| *said == key)
    }

    fn log_level(&self) -> Option<LogLevel> {
        self.0.log_level.filter(|_| !self.0.common.is_empty())
    }
}

impl Serialize for Merged<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let own = self.0.params.get(META).and_then(Value::as_object);
        for (key, value) in own.into_iter().flatten().filter(|(key, _)| !self.wins(key)) {
            map.serialize_entry(key, value)?;
        }
        if let Some(token) = self.0.progress_token {
            map.serialize_entry(PROGRESS_TOKEN, token)?;
        }
        for (key, value) in &self.0.common.0 {
            map.serialize_entry(key, value)?;
        }
        if let Some(level) = self.log_level() {
            map.serialize_entry(meta_key::LOG_LEVEL, &level)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn written(params: Value, common: &CommonMeta, token: Option<&RequestId>, level: Option<LogLevel>) -> Value {
        let Value::Object(params) = params else { panic!() };
        let (progress_token, log_level) = (token, level);
        let with = WithMeta {
            params: &params,
            common,
            progress_token,
            log_level,
        };
        serde_json::from_str(&serde_json::to_string(&with).unwrap()).unwrap()
    }

    fn modern() -> CommonMeta {
        CommonMeta::new(
            Revision::LATEST,
            &Implementation::default(),
            &ClientCapabilities::default(),
        )
    }

    #[test]
    fn the_callers_own_metadata_stays_and_the_protocols_keys_win() {
        let own = json!({ "mine": 1, "progressToken": "mine", meta_key::PROTOCOL_VERSION: "mine", meta_key::LOG_LEVEL: "mine" });
        let params = json!({ "a": 1, "_meta": own });
        let said = written(params.clone(), &modern(), Some(&7.into()), Some(LogLevel::Info));
        assert_eq!(said["a"], 1);
        let meta = said["_meta"].as_object().unwrap();
        assert_eq!(meta["mine"], 1);
        assert_eq!(meta["progressToken"], 7);
        assert_eq!(meta[meta_key::PROTOCOL_VERSION], Revision::LATEST.name());
        assert_eq!(meta[meta_key::LOG_LEVEL], "info");
        assert!(meta[meta_key::CLIENT_CAPABILITIES].is_object() && meta[meta_key::CLIENT_INFO].is_object());
        let without = written(params, &modern(), None, None);
        assert_eq!(without["_meta"]["progressToken"], "mine");
        assert_eq!(without["_meta"][meta_key::LOG_LEVEL], "mine");
    }

    #[test]
    fn legacy_requests_say_nothing_but_their_token() {
        let legacy = CommonMeta::default();
        let level = Some(LogLevel::Info);
        assert_eq!(written(json!({ "a": 1 }), &legacy, None, level), json!({ "a": 1 }));
        let own = json!({ "_meta": { "mine": 1 } });
        assert_eq!(written(own.clone(), &legacy, None, level), own);
        let with = written(own, &legacy, Some(&"t".into()), level);
        assert_eq!(with, json!({ "_meta": { "mine": 1, "progressToken": "t" } }));
    }

    #[test]
    fn metadata_that_is_none_is_replaced_where_there_is_some() {
        let broken = json!({ "_meta": 5 });
        assert_eq!(written(broken.clone(), &CommonMeta::default(), None, None), broken);
        let with = written(broken, &CommonMeta::default(), Some(&1.into()), None);
        assert_eq!(with, json!({ "_meta": { "progressToken": 1 } }));
    }
}
