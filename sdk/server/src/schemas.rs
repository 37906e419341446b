//! Schemas from Rust types, in a form that the strictest model providers accept: no type lists with
//! `null`, no number formats of Rust's, no references where the schema can stand in place, enums of
//! names as `enum`.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// The schema of a tool's arguments.
pub(crate) fn input_schema<T: JsonSchema>() -> Value {
    let mut schema = generate::<T>(false);
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
pub(crate) fn form_schema<T: JsonSchema>() -> Result<Value, String> {
    let mut schema = input_schema::<T>();
    if let Value::Object(root) = &mut schema {
        root.retain(|key, _| matches!(key.as_str(), "type" | "properties" | "required"));
    }
    let fields = schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten();
    for (name, field) in fields {
        let primitive = match field.get("type").and_then(Value::as_str) {
            Some("string" | "number" | "integer" | "boolean") => true,
            Some("array") => field.pointer("/items/enum").is_some() || field.pointer("/items/anyOf").is_some(),
            _ => false,
        };
        if !primitive {
            return Err(format!(
                "the field `{name}` of a form must be text, a number, yes or no, or a choice"
            ));
        }
    }
    Ok(schema)
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

/// Cleans one schema and those inside of it. In an input, an option is a member that may be left out,
/// never one that is null.
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
        drop_null(object);
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

/// Leaves out members that are null where their schema has no null: what models send for "not given".
/// Returns whether there were any.
pub(crate) fn drop_absent(schema: &Value, arguments: &mut Value) -> bool {
    let (Some(properties), Some(arguments)) = (
        schema.get("properties").and_then(Value::as_object),
        arguments.as_object_mut(),
    ) else {
        return false;
    };
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let before = arguments.len();
    arguments
        .retain(|name, value| !value.is_null() || required.contains(&name.as_str()) || !properties.contains_key(name));
    arguments.len() < before
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
    fn null_for_an_optional_member_is_absent() {
        let schema = input_schema::<Ask>();
        let mut arguments = json!({ "limit": null, "exact": null, "other": null });
        assert!(drop_absent(&schema, &mut arguments));
        assert_eq!(arguments, json!({ "exact": null, "other": null }));
        assert!(!drop_absent(&schema, &mut arguments));
    }
}
