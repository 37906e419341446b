//! Which parameters of a tool are mirrored into headers, by the schema of its input
//! ([rules](https://modelcontextprotocol.io/specification/2026-07-28/server/tools#x-mcp-header)).

use std::fmt;

use http::HeaderName;
use serde_json::{Map, Value};

use super::{MirroredParams, PARAM_PREFIX, mirror::Mirrored};

/// Parameters of one tool that can be mirrored. HTTP servers refuse requests with about a hundred headers.
pub const MAX_MIRRORED: usize = 64;
/// Bytes of a name in `x-mcp-header`; one header line must hold it and its value.
const MAX_NAME: usize = 256;
const KEYWORD: &str = "x-mcp-header";
/// Keywords whose value is a schema, or an array of schemas.
const SCHEMAS: &[&str] = &[
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "contains",
    "contentSchema",
    "else",
    "if",
    "items",
    "not",
    "oneOf",
    "prefixItems",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];
/// Keywords whose value has a schema for each of its members.
const SCHEMA_MAPS: &[&str] = &[
    "$defs",
    "definitions",
    "dependencies",
    "dependentSchemas",
    "patternProperties",
    "properties",
];

/// The type of a mirrored parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamType {
    /// An integer within the safe range of a double.
    Integer,
    /// A string.
    String,
    /// A boolean.
    Boolean,
}

impl ParamType {
    /// The one mirrored type that a `type` keyword names. Beside it there may be `null`: such a parameter can be
    /// given as null, and then has no header.
    fn of(keyword: Option<&Value>) -> Option<Self> {
        let one = |name: &str| match name {
            "integer" => Some(Self::Integer),
            "string" => Some(Self::String),
            "boolean" => Some(Self::Boolean),
            _ => None,
        };
        match keyword? {
            Value::String(name) => one(name),
            Value::Array(names) => match &names[..] {
                [name] => one(name.as_str()?),
                [name, null] if null == "null" => one(name.as_str()?),
                [null, name] if null == "null" => one(name.as_str()?),
                _ => None,
            },
            _ => None,
        }
    }
}

/// Why the `x-mcp-header` annotations of a tool make its definition invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidMirror {
    /// The value is no string.
    NotText {
        /// Where it stands, as a JSON pointer into the schema.
        at: String,
    },
    /// The value is not the token that a header name must be, or longer than 256 bytes.
    NotAName {
        /// Where it stands.
        at: String,
        /// The value.
        name: String,
    },
    /// Two parameters have the same name, letter case aside.
    Twice {
        /// The name.
        name: String,
    },
    /// The parameter is no integer, string or boolean.
    NotPrimitive {
        /// Where it stands.
        at: String,
    },
    /// The annotation does not stand on a property that is reached through `properties` alone.
    NotReachable {
        /// Where it stands.
        at: String,
    },
    /// More than [`MAX_MIRRORED`] parameters are annotated.
    TooMany,
}

impl fmt::Display for InvalidMirror {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotText { at } => write!(f, "`{KEYWORD}` at {at:?} is not a string"),
            Self::NotAName { at, name } => write!(f, "`{KEYWORD}` at {at:?} is {name:?}, which no header can be named"),
            Self::Twice { name } => write!(f, "`{KEYWORD}` gives the name {name:?} to two parameters"),
            Self::NotPrimitive { at } => write!(
                f,
                "`{KEYWORD}` at {at:?} stands on a parameter that is neither integer, string nor boolean"
            ),
            Self::NotReachable { at } => write!(
                f,
                "`{KEYWORD}` at {at:?} does not stand on a property that is reached through `properties` alone"
            ),
            Self::TooMany => write!(f, "`{KEYWORD}` stands on more than {MAX_MIRRORED} parameters"),
        }
    }
}

impl std::error::Error for InvalidMirror {}

/// A schema on the way through its parts.
struct Place<'a> {
    schema: &'a Map<String, Value>,
    at: String,
    /// The names that lead to it, if it is a property that is reached through `properties` alone.
    path: Option<Vec<String>>,
}

impl MirroredParams {
    /// Reads the annotations of a tool's `inputSchema`.
    ///
    /// # Errors
    /// If one of them breaks a rule: then the whole definition is invalid, and a client over HTTP does not show it.
    ///
    /// ```
    /// use serde_json::json;
    /// use trunkline_http::header::MirroredParams;
    ///
    /// let schema = json!({ "type": "object", "properties": {
    ///     "region": { "type": "string", "x-mcp-header": "Region" }, "query": { "type": "string" },
    /// } });
    /// let mirrored = MirroredParams::from_schema(&schema).unwrap();
    /// let headers = mirrored.values(&json!({ "region": "us-west1", "query": "SELECT 1" }));
    /// assert_eq!(headers, [("mcp-param-region".parse().unwrap(), "us-west1".parse().unwrap())]);
    /// ```
    pub fn from_schema(schema: &Value) -> Result<Self, InvalidMirror> {
        let mut params: Vec<Mirrored> = Vec::new();
        if !mentions(schema) {
            return Ok(Self { params });
        }
        let mut open = Vec::new();
        push(&mut open, schema, String::new(), Some(Vec::new()));
        while let Some(Place { schema, at, path }) = open.pop() {
            if let Some(name) = schema.get(KEYWORD) {
                let mirrored = read(schema, name, &at, path.clone())?;
                if params.iter().any(|other| other.header == mirrored.header) {
                    let name = name.as_str().unwrap_or_default().to_owned();
                    return Err(InvalidMirror::Twice { name });
                }
                if params.len() == MAX_MIRRORED {
                    return Err(InvalidMirror::TooMany);
                }
                params.push(mirrored);
            }
            open_parts(&mut open, schema, &at, path.as_deref());
        }
        Ok(Self { params })
    }
}

/// Whether the keyword is anywhere: in nearly no schema.
fn mentions(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => members.contains_key(KEYWORD) || members.values().any(mentions),
        Value::Array(items) => items.iter().any(mentions),
        _ => false,
    }
}

fn push<'a>(open: &mut Vec<Place<'a>>, schema: &'a Value, at: String, path: Option<Vec<String>>) {
    if let Value::Object(schema) = schema {
        open.push(Place { schema, at, path });
    }
}

/// Adds every schema that stands directly in this one, the first one last: so they are taken in order.
fn open_parts<'a>(open: &mut Vec<Place<'a>>, schema: &'a Map<String, Value>, at: &str, path: Option<&[String]>) {
    for (keyword, value) in schema.iter().rev() {
        let at = format!("{at}/{keyword}");
        match value {
            Value::Object(members) if SCHEMA_MAPS.contains(&keyword.as_str()) => {
                for (name, part) in members.iter().rev() {
                    let path = path
                        .filter(|_| keyword == "properties")
                        .map(|path| path.iter().chain([name]).cloned().collect());
                    push(open, part, format!("{at}/{name}"), path);
                }
            }
            Value::Array(parts) if SCHEMAS.contains(&keyword.as_str()) => {
                for (index, part) in parts.iter().enumerate().rev() {
                    push(open, part, format!("{at}/{index}"), None);
                }
            }
            part if SCHEMAS.contains(&keyword.as_str()) => push(open, part, at, None),
            _ => {}
        }
    }
}

fn read(
    schema: &Map<String, Value>,
    name: &Value,
    at: &str,
    path: Option<Vec<String>>,
) -> Result<Mirrored, InvalidMirror> {
    let at = || at.to_owned();
    let Some(name) = name.as_str() else {
        return Err(InvalidMirror::NotText { at: at() });
    };
    let header = if (1..=MAX_NAME).contains(&name.len()) {
        HeaderName::try_from(format!("{PARAM_PREFIX}{name}")).ok()
    } else {
        None
    };
    let Some(header) = header else {
        let name = trunkline_types::clip(name);
        return Err(InvalidMirror::NotAName { at: at(), name });
    };
    // The root is no parameter.
    let Some(path) = path.filter(|path| !path.is_empty()) else {
        return Err(InvalidMirror::NotReachable { at: at() });
    };
    let Some(kind) = ParamType::of(schema.get("type")) else {
        return Err(InvalidMirror::NotPrimitive { at: at() });
    };
    Ok(Mirrored { header, path, kind })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(properties: Value) -> Result<Vec<(String, Vec<String>, ParamType)>, InvalidMirror> {
        let params = MirroredParams::from_schema(&json!({ "type": "object", "properties": properties }))?;
        let rows = params
            .iter()
            .map(|param| (param.header().to_string(), param.path().to_vec(), param.kind()));
        Ok(rows.collect())
    }

    fn fault(schema: Value) -> String {
        MirroredParams::from_schema(&schema).unwrap_err().to_string()
    }

    #[test]
    fn parameters_at_any_depth_of_properties() {
        let read = read(json!({
            "region": { "type": "string", "x-mcp-header": "Region" },
            "where": { "type": "object", "properties": {
                "zone": { "type": ["integer", "null"], "x-mcp-header": "Zone" },
                "dry": { "type": ["null", "boolean"], "x-mcp-header": "dry.run" },
            } },
            "query": { "type": "string" },
            "x-mcp-header": { "type": "string", "description": "a parameter that is only named so" },
        }));
        let path = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        let expected = vec![
            ("mcp-param-region".to_owned(), path(&["region"]), ParamType::String),
            (
                "mcp-param-zone".to_owned(),
                path(&["where", "zone"]),
                ParamType::Integer,
            ),
            (
                "mcp-param-dry.run".to_owned(),
                path(&["where", "dry"]),
                ParamType::Boolean,
            ),
        ];
        assert_eq!(read, Ok(expected));
    }

    #[test]
    fn schemas_without_annotations_mirror_nothing() {
        for schema in [
            json!(true),
            json!({}),
            json!(null),
            json!({ "type": "object", "properties": { "a": true } }),
        ] {
            assert!(MirroredParams::from_schema(&schema).unwrap().is_empty(), "{schema}");
        }
        // Values are no schemas.
        let values = json!({ "properties": { "a": {
            "default": { "x-mcp-header": "" }, "enum": [{ "x-mcp-header": "" }], "const": { "x-mcp-header": "" },
            "examples": [{ "x-mcp-header": "" }],
        } } });
        assert!(MirroredParams::from_schema(&values).unwrap().is_empty());
    }

    #[test]
    fn names_are_tokens() {
        for name in [
            "",
            "My Region",
            "Region:Primary",
            "Région",
            "Region\t1",
            "a\r\nb: c",
            &"x".repeat(257),
        ] {
            let read = read(json!({ "a": { "type": "string", "x-mcp-header": name } }));
            assert!(
                matches!(read, Err(InvalidMirror::NotAName { .. })),
                "{name:?}: {read:?}"
            );
        }
        let most = "x".repeat(256);
        assert!(read(json!({ "a": { "type": "string", "x-mcp-header": most } })).is_ok());
        assert!(read(json!({ "a": { "type": "string", "x-mcp-header": "!#$%&'*+-.^_`|~09aZ" } })).is_ok());
        assert_eq!(
            fault(json!({ "properties": { "a": { "type": "string", "x-mcp-header": 5 } } })),
            "`x-mcp-header` at \"/properties/a\" is not a string"
        );
    }

    #[test]
    fn a_name_is_given_once_letter_case_aside() {
        for (one, two) in [("Region", "Region"), ("MyField", "myfield")] {
            let read = read(json!({
                "a": { "type": "string", "x-mcp-header": one },
                "b": { "type": "object", "properties": { "c": { "type": "string", "x-mcp-header": two } } },
            }));
            assert_eq!(read, Err(InvalidMirror::Twice { name: two.to_owned() }));
        }
    }

    #[test]
    fn only_primitive_types() {
        for kind in [
            json!("number"),
            json!("object"),
            json!("array"),
            json!("null"),
            json!(["string", "integer"]),
            json!(["null"]),
            json!([]),
            json!(["string", "null", "null"]),
            json!(null),
        ] {
            let read = read(json!({ "a": { "type": kind, "x-mcp-header": "A" } }));
            assert!(matches!(read, Err(InvalidMirror::NotPrimitive { .. })), "{kind}");
        }
        assert!(read(json!({ "a": { "x-mcp-header": "A" } })).is_err());
    }

    #[test]
    fn an_annotation_anywhere_else_is_invalid() {
        let good = json!({ "type": "string", "x-mcp-header": "A" });
        let inside = json!({ "properties": { "a": good.clone() } });
        for (schema, at) in [
            (json!({ "x-mcp-header": "A", "type": "object" }), ""),
            (json!({ "items": good }), "/items"),
            (json!({ "items": [good] }), "/items/0"),
            (json!({ "prefixItems": [good] }), "/prefixItems/0"),
            (
                json!({ "properties": { "l": { "items": inside } } }),
                "/properties/l/items/properties/a",
            ),
            (json!({ "oneOf": [inside] }), "/oneOf/0/properties/a"),
            (json!({ "anyOf": [{}, inside] }), "/anyOf/1/properties/a"),
            (json!({ "allOf": [inside] }), "/allOf/0/properties/a"),
            (json!({ "not": inside }), "/not/properties/a"),
            (json!({ "if": inside }), "/if/properties/a"),
            (json!({ "then": inside }), "/then/properties/a"),
            (json!({ "else": inside }), "/else/properties/a"),
            (json!({ "$defs": { "d": inside } }), "/$defs/d/properties/a"),
            (json!({ "definitions": { "d": good } }), "/definitions/d"),
            (json!({ "additionalProperties": good }), "/additionalProperties"),
            (json!({ "patternProperties": { "^x": good } }), "/patternProperties/^x"),
            (
                json!({ "dependentSchemas": { "x": inside } }),
                "/dependentSchemas/x/properties/a",
            ),
        ] {
            let expected = InvalidMirror::NotReachable { at: at.to_owned() };
            assert_eq!(MirroredParams::from_schema(&schema), Err(expected), "{schema}");
        }
    }

    #[test]
    fn the_number_is_bounded() {
        let many = |count: usize| {
            let property = |n: usize| {
                let schema = json!({ "type": "string", "x-mcp-header": format!("h{n}") });
                (format!("p{n}"), schema)
            };
            read((0..count).map(property).collect::<Map<_, _>>().into())
        };
        assert_eq!(many(MAX_MIRRORED).unwrap().len(), MAX_MIRRORED);
        assert_eq!(many(MAX_MIRRORED + 1), Err(InvalidMirror::TooMany));
    }
}
