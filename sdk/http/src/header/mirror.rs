//! The values of mirrored parameters: written by the client, compared by the server
//! ([custom headers](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#custom-headers-from-tool-parameters)).

use std::fmt;

use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Number, Value};

use super::mirror_schema::ParamType;
use super::value::{InvalidValue, decode_value, encode_value};

/// Integers beyond this are not exact in every language: 2^53 - 1.
const MAX_SAFE: i64 = (1 << 53) - 1;

/// The parameters of one tool that are mirrored into headers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MirroredParams {
    pub(super) params: Vec<Mirrored>,
}

/// One parameter that is mirrored into a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mirrored {
    pub(super) header: HeaderName,
    pub(super) path: Vec<String>,
    pub(super) kind: ParamType,
}

impl Mirrored {
    /// The header, `Mcp-Param-` included.
    pub fn header(&self) -> &HeaderName {
        &self.header
    }

    /// The names of properties that lead to the value in the arguments; at least one.
    pub fn path(&self) -> &[String] {
        &self.path
    }

    /// The type of the value.
    pub fn kind(&self) -> ParamType {
        self.kind
    }

    /// The value in the arguments of a call; null counts as none.
    pub fn value<'a>(&self, arguments: &'a Value) -> Option<&'a Value> {
        let value = self
            .path
            .iter()
            .try_fold(arguments, |value, name| value.as_object()?.get(name))?;
        (!value.is_null()).then_some(value)
    }
}

impl MirroredParams {
    /// Whether the tool mirrors nothing.
    pub fn is_empty(&self) -> bool {
        self.params.is_empty()
    }

    /// The parameters, in the order of the schema.
    pub fn iter(&self) -> impl Iterator<Item = &Mirrored> {
        self.params.iter()
    }

    /// The headers for the arguments of a call. Absent and null ones have none, and neither has a value that the
    /// schema does not allow: the server refuses such a call by its body.
    pub fn values(&self, arguments: &Value) -> Vec<(HeaderName, HeaderValue)> {
        let header = |param: &Mirrored| {
            let text = match param.value(arguments)? {
                Value::String(text) => encode_value(text).into_owned(),
                Value::Bool(value) => value.to_string(),
                Value::Number(number) => safe_integer(number)?.to_string(),
                _ => return None,
            };
            Some((param.header.clone(), HeaderValue::try_from(text).ok()?))
        };
        self.params.iter().filter_map(header).collect()
    }

    /// Whether the headers of a request say what its arguments say.
    ///
    /// # Errors
    /// The first header that does not: the request is refused then.
    pub fn check(&self, headers: &HeaderMap, arguments: &Value) -> Result<(), Mismatch> {
        self.params.iter().try_for_each(|param| {
            let mut values = headers.get_all(&param.header).iter();
            let first = values.next();
            let why = match values.next() {
                Some(_) => Err(MismatchKind::Repeated),
                None => compare(first.map(HeaderValue::as_bytes), param.value(arguments)),
            };
            why.map_err(|kind| Mismatch {
                header: param.header.clone(),
                kind,
            })
        })
    }
}

/// Whether a header mirrors a value in the body. A value that is absent or null has no header; integers are compared
/// as numbers, so `42.0` mirrors 42.
///
/// ```
/// use serde_json::json;
/// use trunkline_http::header::matches;
/// assert!(matches(Some(b"42.0"), Some(&json!(42))));
/// assert!(matches(None, Some(&json!(null))) && matches(None, None));
/// assert!(!matches(Some(b"x"), None) && !matches(None, Some(&json!("x"))));
/// ```
pub fn matches(header: Option<&[u8]>, body: Option<&Value>) -> bool {
    compare(header, body).is_ok()
}

fn compare(header: Option<&[u8]>, body: Option<&Value>) -> Result<(), MismatchKind> {
    let (header, body) = match (header, body.filter(|body| !body.is_null())) {
        (None, None) => return Ok(()),
        (None, Some(_)) => return Err(MismatchKind::Missing),
        (Some(_), None) => return Err(MismatchKind::Unexpected),
        (Some(header), Some(body)) => (header, body),
    };
    let header = decode_value(header).map_err(MismatchKind::Invalid)?;
    let same = match body {
        Value::String(text) => header == text.as_str(),
        Value::Bool(value) => header == if *value { "true" } else { "false" },
        Value::Number(number) => same_number(&header, number),
        // Nothing else is ever mirrored.
        _ => false,
    };
    if same { Ok(()) } else { Err(MismatchKind::Differs) }
}

fn same_number(header: &str, body: &Number) -> bool {
    // JSON allows white space around a number, a header does not need it.
    if header.starts_with([' ', '\t']) || header.ends_with([' ', '\t']) {
        return false;
    }
    let Ok(header) = serde_json::from_str::<Number>(header) else {
        return false;
    };
    match (safe_integer(&header), safe_integer(body)) {
        (Some(header), Some(body)) => header == body,
        // Beyond what is exact everywhere, only the same digits are the same number.
        (None, None) => header == *body,
        _ => false,
    }
}

/// The integer that a number is, however it is written, within the safe range.
fn safe_integer(number: &Number) -> Option<i64> {
    let integer = number.as_i64().or_else(|| whole(number.as_f64()?))?;
    (-MAX_SAFE..=MAX_SAFE).contains(&integer).then_some(integer)
}

/// `42.0` as 42.
fn whole(number: f64) -> Option<i64> {
    #[expect(clippy::cast_precision_loss, reason = "the bound is exact by its definition")]
    let fits = number.fract() == 0.0 && number.abs() <= MAX_SAFE as f64;
    #[expect(clippy::cast_possible_truncation, reason = "it was just found to fit")]
    fits.then_some(number as i64)
}

/// A header that does not mirror its parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    header: HeaderName,
    kind: MismatchKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MismatchKind {
    Missing,
    Unexpected,
    Repeated,
    Invalid(InvalidValue),
    Differs,
}

impl Mismatch {
    /// The header.
    pub fn header(&self) -> &HeaderName {
        &self.header
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let header = &self.header;
        match &self.kind {
            MismatchKind::Missing => write!(f, "the header `{header}` is missing: its parameter has a value"),
            MismatchKind::Unexpected => write!(f, "the header `{header}` is there, but its parameter has no value"),
            MismatchKind::Repeated => write!(f, "the header `{header}` is there more than once"),
            MismatchKind::Invalid(why) => write!(f, "the header `{header}` cannot be read: {why}"),
            MismatchKind::Differs => write!(f, "the header `{header}` does not say what the body says"),
        }
    }
}

impl std::error::Error for Mismatch {}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn params() -> MirroredParams {
        let schema = json!({ "properties": {
            "text": { "type": "string", "x-mcp-header": "Text" },
            "count": { "type": "integer", "x-mcp-header": "Count" },
            "deep": { "type": "object", "properties": { "flag": { "type": "boolean", "x-mcp-header": "Flag" } } },
        } });
        MirroredParams::from_schema(&schema).unwrap()
    }

    fn values(arguments: Value) -> Vec<String> {
        let values = params().values(&arguments).into_iter();
        values
            .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
            .collect()
    }

    #[test]
    fn each_type_has_its_text() {
        assert_eq!(
            values(json!({ "text": " é", "count": -7, "deep": { "flag": false }, "other": 1 })),
            [
                "mcp-param-text: =?base64?IMOp?=",
                "mcp-param-count: -7",
                "mcp-param-flag: false"
            ]
        );
        assert_eq!(values(json!({ "count": 42.0 })), ["mcp-param-count: 42"]);
        assert_eq!(values(json!({ "text": "" })), ["mcp-param-text: "]);
    }

    #[test]
    fn what_has_no_value_has_no_header() {
        for arguments in [
            json!({}),
            json!({ "text": null, "deep": null }),
            json!({ "deep": { "flag": null } }),
            json!({ "deep": [true], "text": ["a"], "count": 1.5 }),
            json!([]),
            json!("text"),
        ] {
            assert_eq!(values(arguments.clone()), [""; 0], "{arguments}");
        }
    }

    #[test]
    fn only_integers_that_every_language_holds_are_written() {
        assert_eq!(values(json!({ "count": 9_007_199_254_740_991_i64 })).len(), 1);
        assert_eq!(values(json!({ "count": -9_007_199_254_740_991_i64 })).len(), 1);
        assert_eq!(values(json!({ "count": 9_007_199_254_740_992_i64 })).len(), 0);
        assert_eq!(values(json!({ "count": u64::MAX })).len(), 0);
        assert_eq!(values(json!({ "count": 1e300 })).len(), 0);
    }

    #[test]
    fn headers_are_compared_by_what_they_mean() {
        for (header, body, same) in [
            ("42", json!(42), true),
            ("42.0", json!(42), true),
            ("4.2e1", json!(42), true),
            ("42", json!(42.0), true),
            ("=?base64?NDI=?=", json!(42), true),
            ("43", json!(42), false),
            ("042", json!(42), false),
            ("+42", json!(42), false),
            (" 42", json!(42), false),
            ("42 ", json!(42), false),
            ("", json!(42), false),
            ("NaN", json!(42), false),
            ("9007199254740993", json!(9_007_199_254_740_992_i64), false),
            ("9007199254740993", json!(9_007_199_254_740_993_i64), true),
            ("us-west1", json!("us-west1"), true),
            ("US-west1", json!("us-west1"), false),
            ("=?base64?dXMtd2VzdDE=?=", json!("us-west1"), true),
            ("=?base64?dXMtd2VzdDE?=", json!("us-west1"), false),
            ("42.0", json!("42"), false),
            ("", json!(""), true),
            ("true", json!(true), true),
            ("True", json!(true), false),
            ("1", json!(true), false),
            ("[1]", json!([1]), false),
        ] {
            assert_eq!(matches(Some(header.as_bytes()), Some(&body)), same, "{header:?} {body}");
        }
    }

    #[test]
    fn what_is_written_is_what_is_expected_and_anything_else_is_told() {
        let arguments = json!({ "text": "世界", "count": 5, "deep": { "flag": true } });
        let headers: HeaderMap = params().values(&arguments).into_iter().collect();
        assert_eq!(params().check(&headers, &arguments), Ok(()));
        assert_eq!(params().check(&HeaderMap::new(), &json!({})), Ok(()));

        let said = |headers: &HeaderMap, arguments: &Value| params().check(headers, arguments).unwrap_err().to_string();
        assert!(said(&HeaderMap::new(), &arguments).contains("`mcp-param-text` is missing"));
        assert!(said(&headers, &json!({})).contains("has no value"));
        assert!(said(&headers, &json!({ "text": "x" })).contains("does not say what the body says"));
        let mut twice = headers.clone();
        twice.append("mcp-param-text", HeaderValue::from_static("x"));
        assert!(said(&twice, &arguments).contains("more than once"));
        let mut broken = headers;
        broken.insert("mcp-param-text", HeaderValue::from_bytes(b"\xe4").unwrap());
        assert!(said(&broken, &arguments).contains("cannot be read"));
    }
}
