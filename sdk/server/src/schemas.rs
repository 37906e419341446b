//! Schemas from Rust types, in a form that the strictest model providers accept: no type lists with
//! `null`, no number formats of Rust's, no references where the schema can stand in place, enums of
//! names as `enum`.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// The schema of a tool's arguments.
pub(crate) fn input_schema<T: JsonSchema>() -> Value {
    let mut schema = generate::<T>(false);
    if let Value::Object(root) = &mut schema {
        // Arguments are never null, even where all of them may be left out.
        drop_null(root);
    }
    tidy(&mut schema, true);
    if let Value::Object(root) = &mut schema {
        root.shift_remove("title");
        root.entry("type").or_insert_with(|| json!("object"));
        // Some providers refuse an object that does not list its members.
        root.entry("properties").or_insert_with(|| json!({}));
    }
    schema
}

/// The schema of a tool's structured result.
pub(crate) fn output_schema<T: JsonSchema>() -> Value {
    let mut schema = generate::<T>(true);
    tidy(&mut schema, false);
    if let Value::Object(root) = &mut schema {
        root.shift_remove("title");
    }
    schema
}

/// The schema of a form: one object of primitive fields
/// ([requested schema](https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#requested-schema)).
/// Whether the revision at hand knows choices of several is not checked here.
pub(crate) fn form_schema<T: JsonSchema>() -> Result<Value, String> {
    let mut schema = input_schema::<T>();
    if let Value::Object(root) = &mut schema {
        root.retain(|key, _| matches!(key.as_str(), "type" | "properties" | "required"));
    }
    let fields = schema.get_mut("properties").and_then(Value::as_object_mut);
    for (_, field) in fields.into_iter().flatten() {
        // Any other format is a nicety of the Rust type's; the field is still text.
        if unknown_format(field).is_some() {
            field.as_object_mut().and_then(|field| field.shift_remove("format"));
        }
    }
    check_form(&schema, true)?;
    Ok(schema)
}

/// The formats that a text of a form may have.
const FORM_FORMATS: [&str; 4] = ["email", "uri", "date", "date-time"];

fn unknown_format(field: &Value) -> Option<&str> {
    let format = field.get("format")?.as_str()?;
    (!FORM_FORMATS.contains(&format)).then_some(format)
}

/// Checks that a schema is one of a form: an object whose fields are text, numbers, yes or no, or a choice;
/// a choice of several only where the revision knows that.
pub(crate) fn check_form(schema: &Value, multi_select: bool) -> Result<(), String> {
    if schema.get("type").is_none_or(|kind| kind != "object") {
        return Err("a form must be an object with named fields".to_owned());
    }
    let Some(fields) = schema.get("properties").and_then(Value::as_object) else {
        return Err("a form must list its fields under `properties`".to_owned());
    };
    for (name, field) in fields {
        check_field(field, multi_select).map_err(|why| format!("the field `{name}` of a form {why}"))?;
    }
    Ok(())
}

fn check_field(field: &Value, multi_select: bool) -> Result<(), String> {
    let texts = |names: &Value| {
        names
            .as_array()
            .is_some_and(|names| !names.is_empty() && names.iter().all(Value::is_string))
    };
    let constants = |branches: &Value| {
        let constant = |branch: &Value| branch.get("const").is_some_and(Value::is_string);
        branches
            .as_array()
            .is_some_and(|branches| !branches.is_empty() && branches.iter().all(constant))
    };
    match field.get("type").and_then(Value::as_str) {
        Some("string") => {
            if field.get("enum").is_some_and(|names| !texts(names))
                || field.get("oneOf").is_some_and(|branches| !constants(branches))
            {
                return Err("must offer a choice of texts".to_owned());
            }
            match unknown_format(field) {
                Some(format) => Err(format!(
                    "has the format {format:?}; there are only {}",
                    FORM_FORMATS.join(", ")
                )),
                None => Ok(()),
            }
        }
        Some("number" | "integer" | "boolean") => Ok(()),
        Some("array") => {
            let choice =
                field.pointer("/items/enum").is_some_and(texts) || field.pointer("/items/anyOf").is_some_and(constants);
            match (choice, multi_select) {
                (true, true) => Ok(()),
                (true, false) => Err("is a choice of several, which this revision does not know".to_owned()),
                (false, _) => Err("may only list texts that are there to choose from".to_owned()),
            }
        }
        _ => Err("must be text, a number, yes or no, or a choice".to_owned()),
    }
}

fn generate<T: JsonSchema>(output: bool) -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let settings = if output {
        settings.for_serialize()
    } else {
        settings.for_deserialize()
    };
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

const NUMBER_FORMATS: [&str; 14] = [
    "int8", "int16", "int32", "int64", "int128", "int", "uint8", "uint16", "uint32", "uint64", "uint128", "uint",
    "float", "double",
];

/// Cleans one schema and those inside of it. In an input, an optional member is one that may be left out,
/// never one that is null; a null that has a place of its own, as in a list, stays.
fn tidy(schema: &mut Value, input: bool) {
    let Value::Object(object) = schema else { return };
    if object
        .get("format")
        .and_then(Value::as_str)
        .is_some_and(|format| NUMBER_FORMATS.contains(&format))
    {
        object.shift_remove("format");
    }
    if input {
        drop_null_of_optionals(object);
    }
    if let Some(Value::String(text)) = object.get_mut("description") {
        *text = unwrapped(text);
    }
    names_to_enum(object);
    for (key, inner) in object.iter_mut() {
        match key.as_str() {
            // Members of these are schemas under names of their own.
            "properties" | "$defs" | "patternProperties" | "dependentSchemas" => {
                inner
                    .as_object_mut()
                    .into_iter()
                    .flatten()
                    .for_each(|(_, schema)| tidy(schema, input));
            }
            "anyOf" | "oneOf" | "allOf" | "prefixItems" => {
                inner
                    .as_array_mut()
                    .into_iter()
                    .flatten()
                    .for_each(|schema| tidy(schema, input));
            }
            "items" | "additionalProperties" | "not" | "if" | "then" | "else" | "contains" => tidy(inner, input),
            _ => {}
        }
    }
}

/// A doc comment without the line ends that only kept it narrow. Paragraphs and lists stay.
fn unwrapped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        let line = line.trim();
        let starts =
            line.is_empty() || line.starts_with(['-', '*', '#', '|']) || line.starts_with(|c: char| c.is_ascii_digit());
        if !out.is_empty() {
            out.push(if starts || out.ends_with('\n') { '\n' } else { ' ' });
        }
        out.push_str(line);
    }
    out
}

fn drop_null_of_optionals(object: &mut Map<String, Value>) {
    let required = names(object.get("required"));
    let members = object.get_mut("properties").and_then(Value::as_object_mut);
    for (name, member) in members.into_iter().flatten() {
        if let Value::Object(member) = member
            && !required.contains(name)
        {
            drop_null(member);
        }
    }
}

fn names(list: Option<&Value>) -> Vec<String> {
    let list = list.and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn drop_null(object: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            object.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(names)) = object.get_mut("enum") {
        names.retain(|name| !name.is_null());
    }
    if let Some(Value::Array(branches)) = object.get_mut("anyOf") {
        branches.retain(|branch| branch.get("type").is_none_or(|kind| kind != "null"));
        if let [Value::Object(only)] = branches.as_slice() {
            let only = only.clone();
            object.shift_remove("anyOf");
            for (key, value) in only {
                object.entry(key).or_insert(value);
            }
        }
    }
    if object.get("default").is_some_and(Value::is_null) {
        object.shift_remove("default");
    }
}

/// An enum of documented names comes as a choice of constants; one list of names says the same.
fn names_to_enum(object: &mut Map<String, Value>) {
    let Some(Value::Array(branches)) = object.get("oneOf") else {
        return;
    };
    let name = |branch: &Value| branch.get("const").and_then(Value::as_str).map(str::to_owned);
    let list = |branch: &Value| -> Option<Vec<String>> {
        let names = branch.get("enum")?.as_array()?;
        names.iter().map(|name| name.as_str().map(str::to_owned)).collect()
    };
    let mut names = Vec::new();
    let mut explained = Vec::new();
    for branch in branches {
        let Some(found) = name(branch).map(|name| vec![name]).or_else(|| list(branch)) else {
            return;
        };
        if let Some(text) = branch.get("description").and_then(Value::as_str) {
            explained.push(format!("{}: {text}", found.join(", ")));
        }
        names.extend(found);
    }
    object.shift_remove("oneOf");
    object.insert("type".to_owned(), json!("string"));
    object.insert("enum".to_owned(), json!(names));
    if !explained.is_empty() {
        let own = object
            .get("description")
            .and_then(Value::as_str)
            .map(|text| format!("{text}\n"))
            .unwrap_or_default();
        object.insert(
            "description".to_owned(),
            json!(format!("{own}{}", explained.join("\n"))),
        );
    }
}

/// Leaves out members that are null where their schema has no null, at every depth: what models send for
/// "not given". Returns whether there were any.
pub(crate) fn drop_absent(schema: &Value, value: &mut Value) -> bool {
    match value {
        Value::Object(members) => {
            let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
                return false;
            };
            let required = names(schema.get("required"));
            let before = members.len();
            members.retain(|name, value| {
                let absent = value.is_null()
                    && !required.contains(name)
                    && properties.get(name).is_some_and(|member| !takes_null(member));
                !absent
            });
            let mut dropped = members.len() < before;
            for (name, value) in members {
                dropped |= properties.get(name).is_some_and(|member| drop_absent(member, value));
            }
            dropped
        }
        Value::Array(items) => {
            let mut dropped = false;
            if let Some(schema) = schema.get("items") {
                for item in items {
                    dropped |= drop_absent(schema, item);
                }
            }
            dropped
        }
        _ => false,
    }
}

/// Whether null means something there.
fn takes_null(schema: &Value) -> bool {
    let Value::Object(schema) = schema else {
        return schema == &Value::Bool(true);
    };
    let branches = schema.get("anyOf").or_else(|| schema.get("oneOf"));
    match (schema.get("type"), schema.get("enum"), branches) {
        (Some(Value::Array(kinds)), _, _) => kinds.iter().any(|kind| kind == "null"),
        (Some(kind), _, _) => kind == "null",
        (None, Some(Value::Array(values)), _) => values.iter().any(Value::is_null),
        (None, _, Some(Value::Array(branches))) => branches.iter().any(takes_null),
        _ => !["$ref", "const", "allOf"].iter().any(|key| schema.contains_key(*key)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::{Deserialize, Serialize};

    /// What to list.
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only the schema is read")]
    struct Ask {
        /// How many.
        limit: Option<u32>,
        status: Option<Status>,
        exact: f64,
        inner: Option<Inner>,
    }

    /// How it stands.
    #[derive(Deserialize, Serialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    enum Status {
        /// Not paid yet.
        New,
        /// Paid.
        Paid,
    }

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only the schema is read")]
    struct Inner {
        format: String,
    }

    #[test]
    fn inputs_have_no_null_no_number_formats_and_no_references() {
        let schema = input_schema::<Ask>();
        assert_eq!(
            schema,
            json!({
                "description": "What to list.",
                "type": "object",
                "properties": {
                    "limit": { "description": "How many.", "type": "integer", "minimum": 0 },
                    "status": { "description": "How it stands.\nnew: Not paid yet.\npaid: Paid.", "type": "string", "enum": ["new", "paid"] },
                    "exact": { "type": "number" },
                    "inner": { "type": "object", "properties": { "format": { "type": "string" } }, "required": ["format"] }
                },
                "required": ["exact"]
            })
        );
    }

    #[test]
    fn doc_comments_lose_the_line_ends_that_kept_them_narrow() {
        assert_eq!(unwrapped("one\ntwo\n\nthree\n- a\n- b"), "one two\n\nthree\n- a\n- b");
    }

    #[test]
    fn outputs_keep_their_nulls() {
        #[derive(Serialize, JsonSchema)]
        struct Found {
            next: Option<String>,
        }
        let schema = output_schema::<Found>();
        assert_eq!(schema["properties"]["next"]["type"], json!(["string", "null"]));
    }

    #[test]
    fn forms_are_flat() {
        assert!(form_schema::<Inner>().is_ok());
        assert!(form_schema::<Ask>().unwrap_err().contains("`inner`"));
    }

    #[test]
    fn forms_know_four_formats_and_derived_ones_lose_the_others() {
        #[derive(JsonSchema)]
        #[expect(dead_code, reason = "only the schema is read")]
        struct Visit {
            #[schemars(extend("format" = "uuid"))]
            id: String,
            #[schemars(extend("format" = "email"))]
            mail: String,
            tags: Vec<Status>,
        }
        let schema = form_schema::<Visit>().unwrap();
        assert_eq!(schema["properties"]["id"], json!({ "type": "string" }));
        assert_eq!(schema["properties"]["mail"]["format"], json!("email"));
        check_form(&schema, true).unwrap();
        let why = check_form(&schema, false).unwrap_err();
        assert!(why.contains("`tags`") && why.contains("choice of several"), "{why}");
    }

    #[track_caller]
    fn check_field_of_form(field: &Value, single: bool, several: bool) {
        let schema = json!({ "type": "object", "properties": { "field": field } });
        assert_eq!(
            check_form(&schema, false).is_ok(),
            single,
            "{field} without choices of several"
        );
        assert_eq!(
            check_form(&schema, true).is_ok(),
            several,
            "{field} with choices of several"
        );
    }

    #[test]
    fn forms_made_by_hand_are_held_to_the_same_rules() {
        let titled = json!([{ "const": "s", "title": "small" }, { "const": "l", "title": "large" }]);
        for field in [
            json!({ "type": "string", "format": "date-time" }),
            json!({ "type": "string", "enum": ["s", "l"], "enumNames": ["small", "large"] }),
            json!({ "type": "string", "oneOf": titled }),
            json!({ "type": "integer", "minimum": 1, "default": 1 }),
            json!({ "type": "boolean" }),
        ] {
            check_field_of_form(&field, true, true);
        }
        for items in [
            json!({ "type": "string", "enum": ["s", "l"] }),
            json!({ "anyOf": titled }),
        ] {
            check_field_of_form(&json!({ "type": "array", "items": items }), false, true);
        }
        for field in [
            json!({ "type": "string", "format": "uuid" }),
            json!({ "type": "string", "enum": [1, 2] }),
            json!({ "type": "string", "oneOf": [{ "type": "string" }] }),
            json!({ "type": "array", "items": { "type": "string" } }),
            json!({ "type": "array", "items": { "anyOf": [{ "type": "string" }] } }),
            json!({ "type": "object", "properties": {} }),
            json!({ "type": ["string", "null"] }),
            json!({ "enum": ["s"] }),
            json!(true),
        ] {
            check_field_of_form(&field, false, false);
        }
        assert!(check_form(&json!({ "type": "array" }), true).is_err());
        assert!(check_form(&json!({ "type": "object" }), true).is_err());
        assert!(check_form(&json!({ "type": "object", "properties": {} }), true).is_ok());
    }

    #[test]
    fn null_for_an_optional_member_is_absent() {
        let schema = input_schema::<Ask>();
        let mut arguments = json!({ "limit": null, "exact": null, "other": null });
        assert!(drop_absent(&schema, &mut arguments));
        assert_eq!(arguments, json!({ "exact": null, "other": null }));
        assert!(!drop_absent(&schema, &mut arguments));
    }

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only the schema is read")]
    struct Deep {
        rows: Vec<Ask>,
        row: Option<Ask>,
        gaps: Vec<Option<u8>>,
        by_name: Option<std::collections::BTreeMap<String, Option<u8>>>,
        anything: Option<Value>,
    }

    #[test]
    fn null_is_absent_at_every_depth() {
        let schema = input_schema::<Deep>();
        let row = json!({ "limit": null, "exact": 1, "other": null });
        let mut arguments = json!({
            "rows": [row, row], "row": row, "gaps": [1, null], "by_name": { "a": null }, "anything": null
        });
        assert!(drop_absent(&schema, &mut arguments));
        let row = json!({ "exact": 1, "other": null });
        let kept =
            json!({ "rows": [row, row], "row": row, "gaps": [1, null], "by_name": { "a": null }, "anything": null });
        assert_eq!(arguments, kept);
    }

    #[test]
    fn only_optional_members_lose_their_null() {
        let schema = input_schema::<Deep>();
        let gap = |pointer: &str| schema.pointer(pointer).and_then(|kind| kind.get("type"));
        let nullable = json!(["integer", "null"]);
        assert_eq!(gap("/properties/gaps/items"), Some(&nullable));
        assert_eq!(gap("/properties/by_name"), Some(&json!("object")));
        assert_eq!(gap("/properties/by_name/additionalProperties"), Some(&nullable));
        assert_eq!(gap("/properties/row/properties/limit"), Some(&json!("integer")));
    }
}
