//! A server's form, field by field: what is shown, and what a typed line means.

use std::fmt::Write as _;

use serde_json::{Map, Number, Value};
use trunkline_gate::schema::Schema;
use trunkline_gate::text::one_line;

use crate::quote::quoted;

/// Most fields of one form.
pub(crate) const MAX_FIELDS: usize = 50;

/// Most choices that are shown of one field.
const MAX_CHOICES: usize = 100;

/// How far the further lines of a choice stand in, so that none looks like a choice of its own.
const HANG: usize = 5;

/// One field.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: String,
    title: String,
    required: bool,
    default: Option<Value>,
    kind: Kind,
    /// What the field's own schema asks for beyond its type; none where that schema cannot be used.
    schema: Option<Schema>,
}

#[derive(Debug)]
enum Kind {
    Text,
    Integer,
    Number,
    YesNo,
    /// One of these values, each with the words shown for it.
    One(Vec<(Value, String)>),
    /// Any of these values.
    Many(Vec<(Value, String)>),
}

/// The fields of a form, in the order of its schema.
pub(crate) fn fields(schema: &Value) -> Result<Vec<Field>, String> {
    let empty = Map::new();
    let properties = match schema.get("properties") {
        Some(Value::Object(properties)) => properties,
        None => &empty,
        Some(_) => return Err("the form's `properties` are not an object".to_owned()),
    };
    if properties.len() > MAX_FIELDS {
        return Err(format!(
            "the form has {} fields; {MAX_FIELDS} are allowed",
            properties.len()
        ));
    }
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|other| other == name));
    properties
        .iter()
        .map(|(name, field)| Field::read(name, field, is_required(name)))
        .collect()
}

impl Field {
    fn read(name: &str, field: &Value, required: bool) -> Result<Self, String> {
        let word = |key: &str| field.get(key).and_then(Value::as_str);
        let title = match (word("title"), word("description")) {
            (Some(title), Some(description)) => format!("{title} ({description})"),
            (Some(text), None) | (None, Some(text)) => text.to_owned(),
            (None, None) => name.to_owned(),
        };
        let kind = match (choices(field), word("type")) {
            (Some(choices), _) => Kind::One(choices),
            (None, Some("array")) => {
                let choices = field.get("items").and_then(choices);
                Kind::Many(choices.ok_or_else(|| format!("the field {name:?} is a list without choices"))?)
            }
            (None, Some("boolean")) => Kind::YesNo,
            (None, Some("integer")) => Kind::Integer,
            (None, Some("number")) => Kind::Number,
            (None, Some("string") | None) => Kind::Text,
            (None, Some(other)) => return Err(format!("the field {name:?} has the type {other:?}, which no form has")),
        };
        Ok(Self {
            name: name.to_owned(),
            title: one_line(&title, 300),
            required,
            default: field.get("default").filter(|value| !value.is_null()).cloned(),
            kind,
            schema: Schema::compile(field).ok(),
        })
    }

    /// What is shown before a line is typed, on a terminal of so many columns. All that the server wrote stands behind
    /// the mark; the last line is ours alone.
    pub(crate) fn prompt(&self, columns: usize) -> String {
        let mut prompt = quoted(&self.title, columns, 0);
        if let Kind::One(choices) | Kind::Many(choices) = &self.kind {
            prompt.push_str("  choices:\n");
            for (number, (_, words)) in choices.iter().enumerate().take(MAX_CHOICES) {
                prompt.push_str(&quoted(&format!("{}) {words}", number + 1), columns, HANG));
            }
            if choices.len() > MAX_CHOICES {
                let _ = writeln!(prompt, "  and {} more, by number", choices.len() - MAX_CHOICES);
            }
        }
        if let Some(default) = &self.default {
            prompt.push_str("  the server proposes:\n");
            prompt.push_str(&quoted(&one_line(&default.to_string(), 60), columns, 0));
        }
        let form = match &self.kind {
            Kind::Text => "text",
            Kind::Integer => "whole number",
            Kind::Number => "number",
            Kind::YesNo => "y/n",
            Kind::One(_) => "number of one",
            Kind::Many(_) => "numbers, with commas",
        };
        let unsaid = match (&self.default, self.required) {
            (Some(_), _) => ", enter for what is proposed",
            (None, false) => ", enter for none",
            (None, true) => "",
        };
        format!("{prompt}  [{form}{unsaid}]: ")
    }

    /// What a typed line means; none leaves the field out.
    pub(crate) fn parse(&self, line: &str) -> Result<Option<Value>, String> {
        let line = line.trim();
        if line.is_empty() {
            return match (&self.default, self.required) {
                (Some(default), _) => Ok(Some(default.clone())),
                (None, false) => Ok(None),
                (None, true) => Err("an answer is needed here".to_owned()),
            };
        }
        let value = match &self.kind {
            Kind::Text => Value::String(line.to_owned()),
            Kind::Integer => Value::from(line.parse::<i64>().map_err(|_| "write a whole number".to_owned())?),
            Kind::Number => {
                let number = line.parse::<f64>().ok().and_then(Number::from_f64);
                let whole = line.parse::<i64>().ok().map(Number::from);
                Value::Number(whole.or(number).ok_or_else(|| "write a number".to_owned())?)
            }
            Kind::YesNo => Value::Bool(yes_or_no(line).ok_or_else(|| "write y or n".to_owned())?),
            Kind::One(choices) => choice(choices, line)?,
            Kind::Many(choices) => {
                let chosen: Result<Vec<Value>, String> =
                    line.split(',').map(|part| choice(choices, part.trim())).collect();
                Value::Array(chosen?)
            }
        };
        let checked = self.schema.as_ref().map_or(Ok(()), |schema| schema.check(&value));
        checked.map_err(|mismatch| one_line(&mismatch.to_string(), 200))?;
        Ok(Some(value))
    }
}

/// What a typed yes or no means, in English and Korean.
pub(crate) fn yes_or_no(line: &str) -> Option<bool> {
    match line.trim().to_lowercase().as_str() {
        "y" | "yes" | "예" | "네" | "응" | "ㅇ" => Some(true),
        "n" | "no" | "아니오" | "아니요" | "아니" | "ㄴ" => Some(false),
        _ => None,
    }
}

/// The choices of a field: plain values, values with names beside them, or values each with a title.
fn choices(field: &Value) -> Option<Vec<(Value, String)>> {
    let shown = |value: &Value| match value {
        Value::String(text) => one_line(text, 120),
        other => one_line(&other.to_string(), 120),
    };
    if let Some(values) = field.get("enum").and_then(Value::as_array) {
        let names = field.get("enumNames").and_then(Value::as_array);
        let name = |at: usize| names.and_then(|names| names.get(at)).and_then(Value::as_str);
        let named = |(at, value): (usize, &Value)| {
            (
                value.clone(),
                name(at).map_or_else(|| shown(value), |name| one_line(name, 120)),
            )
        };
        return Some(values.iter().enumerate().map(named).collect());
    }
    let titled = field
        .get("oneOf")
        .or_else(|| field.get("anyOf"))
        .and_then(Value::as_array)?;
    titled
        .iter()
        .map(|choice| {
            let value = choice.get("const")?;
            let title = choice.get("title").and_then(Value::as_str);
            Some((
                value.clone(),
                title.map_or_else(|| shown(value), |title| one_line(title, 120)),
            ))
        })
        .collect()
}

/// A choice by its number, its words or its value.
fn choice(choices: &[(Value, String)], line: &str) -> Result<Value, String> {
    let number = line.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    let by_number = number.and_then(|at| choices.get(at));
    let by_words = || {
        choices
            .iter()
            .find(|(value, words)| words == line || value.as_str() == Some(line))
    };
    by_number
        .or_else(by_words)
        .map(|(value, _)| value.clone())
        .ok_or_else(|| format!("write a number from 1 to {}", choices.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn field(schema: Value, required: bool) -> Field {
        Field::read("f", &schema, required).unwrap()
    }

    #[test]
    fn lines_become_values_of_the_fields_type() {
        for (schema, line, wanted) in [
            (json!({ "type": "string" }), " kim ", json!("kim")),
            (json!({ "type": "string" }), "7", json!("7")),
            (json!({ "type": "integer" }), "7", json!(7)),
            (json!({ "type": "number" }), "7", json!(7)),
            (json!({ "type": "number" }), "7.5", json!(7.5)),
            (json!({ "type": "boolean" }), "Y", json!(true)),
            (json!({ "type": "boolean" }), "아니오", json!(false)),
            (json!({ "type": "string", "enum": ["a", "b"] }), "2", json!("b")),
            (
                json!({ "type": "string", "enum": ["a", "b"], "enumNames": ["Ay", "Bee"] }),
                "Bee",
                json!("b"),
            ),
            (
                json!({ "oneOf": [{ "const": "a", "title": "Ay" }, { "const": "b" }] }),
                "Ay",
                json!("a"),
            ),
            (
                json!({ "type": "array", "items": { "enum": ["a", "b", "c"] } }),
                "3, a",
                json!(["c", "a"]),
            ),
        ] {
            assert_eq!(
                field(schema.clone(), true).parse(line),
                Ok(Some(wanted)),
                "{schema} {line}"
            );
        }
    }

    #[test]
    fn an_empty_line_is_the_default_or_nothing_and_never_an_empty_value() {
        assert_eq!(field(json!({ "type": "string" }), false).parse(""), Ok(None));
        assert!(field(json!({ "type": "string" }), true).parse(" ").is_err());
        let with_default = field(json!({ "type": "integer", "default": 3 }), true);
        assert_eq!(with_default.parse(""), Ok(Some(json!(3))));
        let prompt = with_default.prompt(80);
        assert!(
            prompt.contains("| 3\n") && prompt.contains("enter for what is proposed"),
            "{prompt}"
        );
    }

    #[test]
    fn what_does_not_fit_is_asked_again() {
        for (schema, line) in [
            (json!({ "type": "integer" }), "7.5"),
            (json!({ "type": "number" }), "seven"),
            (json!({ "type": "number" }), "inf"),
            (json!({ "type": "boolean" }), "maybe"),
            (json!({ "type": "integer", "maximum": 6 }), "7"),
            (json!({ "type": "string", "minLength": 3 }), "ab"),
            (
                json!({ "type": "array", "items": { "enum": ["a", "b"] }, "maxItems": 1 }),
                "1,2",
            ),
            (json!({ "enum": ["a"] }), "0"),
            (json!({ "enum": ["a"] }), "2"),
            (json!({ "enum": ["a"] }), "z"),
        ] {
            assert!(field(schema.clone(), false).parse(line).is_err(), "{schema} {line}");
        }
    }

    #[test]
    fn a_form_that_is_none_is_refused() {
        assert!(fields(&json!({ "properties": [] })).is_err());
        assert!(fields(&json!({ "properties": { "a": { "type": "object" } } })).is_err());
        assert!(fields(&json!({ "properties": { "a": { "type": "array" } } })).is_err());
        let many: Map<String, Value> = (0..=MAX_FIELDS).map(|n| (n.to_string(), json!({}))).collect();
        assert!(fields(&json!({ "properties": many })).is_err());
        assert!(fields(&json!({})).unwrap().is_empty());
    }

    #[test]
    fn a_servers_words_cannot_write_on_the_terminal() {
        let hostile = field(json!({ "title": "a\x1b[2Jb", "enum": ["x\r\n1) fake"] }), true);
        let prompt = hostile.prompt(80);
        assert!(!prompt.contains(['\x1b', '\r']), "{prompt:?}");
        assert_eq!(prompt.lines().count(), 4, "{prompt:?}");
    }

    #[test]
    fn a_servers_padding_makes_no_line_of_ours() {
        let padded = format!("a{}[y/N] call it?", "_".repeat(80));
        let hostile = field(
            json!({ "title": padded, "enum": [padded], "default": "x_]:_".repeat(20) }),
            true,
        );
        let prompt = hostile.prompt(40);
        let (above, last) = prompt.rsplit_once('\n').unwrap();
        assert_eq!(last, "  [number of one, enter for what is proposed]: ");
        let ours = above.lines().filter(|line| !line.starts_with(crate::quote::MARK));
        assert_eq!(
            ours.collect::<Vec<_>>(),
            ["  choices:", "  the server proposes:"],
            "{prompt}"
        );
    }
}
