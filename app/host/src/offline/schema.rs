//! What a tool takes, read from its input schema.

use serde_json::{Map, Value};

/// What kind of value a parameter takes.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    Integer,
    Number,
    Boolean,
    Text,
    /// A list of values of one kind.
    List(Box<Kind>),
    /// Anything, as far as the schema says.
    Any,
    /// An object, or something else that a question cannot fill.
    Other,
}

/// One parameter of a tool.
#[derive(Debug, Clone)]
pub(super) struct Param<'s> {
    pub(super) name: &'s str,
    pub(super) required: bool,
    pub(super) kind: Kind,
    /// The only values it takes, where the schema lists them.
    pub(super) choices: Vec<&'s Value>,
    pub(super) description: &'s str,
    pub(super) format: &'s str,
    /// The value the schema gives when nothing else is said.
    pub(super) default: Option<&'s Value>,
    /// A value the schema gives as an example.
    pub(super) example: Option<&'s Value>,
}

/// Most parameters of a tool that are looked at.
const MAX_PARAMS: usize = 64;

/// Most values of a parameter that are looked at.
const MAX_CHOICES: usize = 64;

/// How many references in a row are followed.
const MAX_REFERENCES: usize = 16;

/// How many schemas are looked at for one parameter, alternatives and references included.
const MAX_SCHEMAS: usize = 200;

/// The parameters of a schema, the required ones first in the order in which the schema lists them. A schema that says
/// nothing of parameters has none.
pub(super) fn params(schema: &Value) -> Vec<Param<'_>> {
    let mut found: Vec<Param<'_>> = Vec::new();
    let mut required: Vec<&str> = Vec::new();
    let mut budget = MAX_SCHEMAS;
    collect(schema, schema, &mut budget, &mut found, &mut required);
    for param in &mut found {
        param.required = required.contains(&param.name);
    }
    // A required parameter that is described nowhere must be given all the same.
    for name in &required {
        if found.len() < MAX_PARAMS && !found.iter().any(|param| param.name == *name) {
            found.push(Param {
                required: true,
                ..blank(name)
            });
        }
    }
    let place = |param: &Param<'_>| {
        required
            .iter()
            .position(|name| *name == param.name)
            .unwrap_or(usize::MAX)
    };
    found.sort_by_key(place);
    found
}

fn blank(name: &str) -> Param<'_> {
    Param {
        name,
        required: false,
        kind: Kind::Any,
        choices: Vec::new(),
        description: "",
        format: "",
        default: None,
        example: None,
    }
}

fn collect<'s>(
    root: &'s Value,
    schema: &'s Value,
    budget: &mut usize,
    found: &mut Vec<Param<'s>>,
    required: &mut Vec<&'s str>,
) {
    let Some(left) = budget.checked_sub(1) else { return };
    *budget = left;
    let Some(object) = resolve(root, schema).and_then(Value::as_object) else {
        return;
    };
    if let Some(names) = object.get("required").and_then(Value::as_array) {
        let room = MAX_PARAMS.saturating_sub(required.len());
        required.extend(names.iter().filter_map(Value::as_str).take(room));
    }
    for (name, property) in object
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        if found.len() < MAX_PARAMS && !found.iter().any(|known| known.name == name) {
            found.push(param(root, name, property));
        }
    }
    for part in object.get("allOf").and_then(Value::as_array).into_iter().flatten() {
        collect(root, part, budget, found, required);
    }
}

/// Follows local references; one that leads nowhere, outside, or in a circle is none.
fn resolve<'s>(root: &'s Value, schema: &'s Value) -> Option<&'s Value> {
    let mut schema = schema;
    for _ in 0..=MAX_REFERENCES {
        match schema.get("$ref") {
            None => return Some(schema),
            Some(target) => schema = root.pointer(target.as_str()?.strip_prefix('#')?)?,
        }
    }
    None
}

fn param<'s>(root: &'s Value, name: &'s str, schema: &'s Value) -> Param<'s> {
    let mut param = blank(name);
    let mut kind = None;
    let mut budget = MAX_SCHEMAS;
    read(root, schema, &mut budget, &mut param, &mut kind);
    if schema == &Value::Bool(false) {
        kind = Some(Kind::Other);
    }
    param.kind = kind.unwrap_or(match param.choices.first() {
        Some(Value::String(_)) => Kind::Text,
        Some(Value::Bool(_)) => Kind::Boolean,
        _ => Kind::Any,
    });
    param
}

/// Reads what a schema says into `param`; what was said before stays.
fn read<'s>(root: &'s Value, schema: &'s Value, budget: &mut usize, param: &mut Param<'s>, kind: &mut Option<Kind>) {
    let Some(left) = budget.checked_sub(1) else { return };
    *budget = left;
    let text = |object: &'s Map<String, Value>, key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    // What stands beside a reference counts as well.
    if let Some(object) = schema.as_object() {
        if param.description.is_empty() {
            param.description = text(object, "description");
        }
        if param.format.is_empty() {
            param.format = text(object, "format");
        }
        param.default = param.default.or_else(|| object.get("default"));
        let examples = object.get("examples").and_then(Value::as_array);
        param.example = param.example.or_else(|| examples.and_then(|all| all.first()));
    }
    let Some(target) = resolve(root, schema) else {
        // The reference leads nowhere that may be looked at: what it allows is not known.
        *kind = Some(Kind::Other);
        return;
    };
    if !std::ptr::eq(target, schema) {
        read(root, target, budget, param, kind);
        return;
    }
    let Some(object) = target.as_object() else { return };
    let values = object.get("enum").and_then(Value::as_array).into_iter().flatten();
    for value in values.chain(object.get("const")) {
        if !value.is_null() && param.choices.len() < MAX_CHOICES {
            param.choices.push(value);
        }
    }
    if kind.is_none() {
        *kind = type_of(root, object, budget, param);
    }
    for word in ["anyOf", "oneOf", "allOf"] {
        for branch in object.get(word).and_then(Value::as_array).into_iter().flatten() {
            if branch.get("type").and_then(Value::as_str) != Some("null") {
                read(root, branch, budget, param, kind);
            }
        }
    }
}

fn type_of<'s>(
    root: &'s Value,
    object: &'s Map<String, Value>,
    budget: &mut usize,
    param: &mut Param<'s>,
) -> Option<Kind> {
    let name = match object.get("type")? {
        Value::String(name) => name.as_str(),
        Value::Array(names) => names.iter().filter_map(Value::as_str).find(|name| *name != "null")?,
        _ => return None,
    };
    Some(match name {
        "integer" => Kind::Integer,
        "number" => Kind::Number,
        "boolean" => Kind::Boolean,
        "string" => Kind::Text,
        "array" => {
            let mut items = blank(param.name);
            let mut kind = None;
            if let Some(schema) = object.get("items") {
                read(root, schema, budget, &mut items, &mut kind);
            }
            param.choices.append(&mut items.choices);
            Kind::List(Box::new(kind.unwrap_or(Kind::Any)))
        }
        _ => Kind::Other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn schemars_shapes() {
        let schema = json!({
            "type": "object",
            "required": ["status"],
            "properties": {
                "limit": { "type": ["integer", "null"], "description": "how many" },
                "status": { "$ref": "#/$defs/Status", "description": "which" },
                "maybe": { "anyOf": [{ "$ref": "#/$defs/Status" }, { "type": "null" }] },
                "many": { "type": "array", "items": { "$ref": "#/$defs/Status" } },
            },
            "$defs": { "Status": { "oneOf": [{ "const": "paid", "type": "string" }, { "enum": ["open"], "type": "string" }] } },
        });
        let params = params(&schema);
        let by = |name: &str| params.iter().find(|param| param.name == name).unwrap();
        assert_eq!(params[0].name, "status");
        assert!(params[0].required && params[0].description == "which");
        assert_eq!(by("limit").kind, Kind::Integer);
        for name in ["status", "maybe"] {
            assert_eq!(by(name).kind, Kind::Text);
            assert_eq!(by(name).choices, [&json!("paid"), &json!("open")]);
        }
        assert_eq!(by("many").kind, Kind::List(Box::new(Kind::Text)));
        assert_eq!(by("many").choices.len(), 2);
    }

    #[test]
    fn odd_schemas_have_what_they_say_and_no_more() {
        for schema in [
            json!(true),
            json!(null),
            json!({}),
            json!([]),
            json!({"properties": 3, "required": "x"}),
        ] {
            assert!(params(&schema).is_empty(), "{schema}");
        }
        let schema = json!({
            "properties": { "a": true, "b": false, "c": {}, "d": { "$ref": "#/nowhere" }, "e": { "$ref": "http://127.0.0.1:9/x" } },
            "required": ["a", "z"],
        });
        let params = params(&schema);
        let by = |name: &str| params.iter().find(|param| param.name == name).unwrap();
        assert_eq!((&by("a").kind, by("a").required), (&Kind::Any, true));
        assert_eq!((&by("z").kind, by("z").required), (&Kind::Any, true));
        assert_eq!(by("b").kind, Kind::Other);
        assert_eq!(by("c").kind, Kind::Any);
        assert_eq!(by("d").kind, Kind::Other);
        assert_eq!(by("e").kind, Kind::Other);
    }

    #[test]
    fn circles_and_width_are_bounded() {
        let circle = json!({
            "$defs": { "a": { "$ref": "#/$defs/b" }, "b": { "$ref": "#/$defs/a" }, "c": { "allOf": [{ "$ref": "#/$defs/c" }, { "$ref": "#/$defs/c" }] } },
            "properties": { "x": { "$ref": "#/$defs/a" }, "y": { "$ref": "#/$defs/c" } },
            "allOf": [{ "$ref": "#" }, { "$ref": "#" }],
        });
        assert_eq!(params(&circle).len(), 2);
        let many: Map<String, Value> = (0..1000)
            .map(|n| (format!("p{n}"), json!({ "enum": vec![n; 1000] })))
            .collect();
        let wide = json!({ "properties": many });
        let params = params(&wide);
        assert_eq!((params.len(), params[0].choices.len()), (MAX_PARAMS, MAX_CHOICES));
    }
}
