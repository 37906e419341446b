//! Schemas that ask for nothing but types, members, choices and bounds, as those of most tools do.
//!
//! A value that fits such a schema is found to fit here, in a fraction of the validator's time and without compiling it.
//! Whatever is not certain is left to the validator, and so is saying why a value does not fit.

use serde_json::{Map, Number, Value};

const NULL: u8 = 1;
const BOOLEAN: u8 = 2;
const INTEGER: u8 = 4;
const NUMBER: u8 = 8;
const STRING: u8 = 16;
const ARRAY: u8 = 32;
const OBJECT: u8 = 64;
const ANY: u8 = NULL | BOOLEAN | NUMBER | STRING | ARRAY | OBJECT;

/// Whole numbers up to this one are the same in floating point.
const EXACT: u64 = 1 << 53;

const LATEST: &str = "https://json-schema.org/draft/2020-12/schema";

const ANY_NUMBER: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);
const ANY_SIZE: (usize, usize) = (0, usize::MAX);

/// A schema whose every keyword is known here. No part of it is tried twice on a part of a value, so a check takes time
/// by the size of the value, whatever the schema.
#[derive(Debug)]
pub(crate) struct Plain {
    /// The types it takes, as bits.
    kinds: u8,
    /// Sorted by name.
    members: Vec<Member>,
    /// How many of the members must be there.
    required: usize,
    /// What a member of any other name must fit; none where it may be anything.
    others: Option<Box<Plain>>,
    items: Option<Box<Plain>>,
    /// The only texts that it takes, sorted.
    choices: Option<Vec<String>>,
    /// The least and the greatest number.
    range: (f64, f64),
    /// How few and how many characters a text has.
    length: (usize, usize),
    /// How few and how many items an array has.
    count: (usize, usize),
}

#[derive(Debug)]
struct Member {
    name: String,
    required: bool,
    plain: Plain,
}

impl Plain {
    /// Reads a schema. None if it is of another kind, or perhaps not valid.
    pub(crate) fn read(schema: &Value) -> Option<Self> {
        let dialect = match schema.get("$schema") {
            None => LATEST,
            Some(dialect) => dialect.as_str()?,
        };
        // Before 2019-09 a format was something to check.
        let ignores_formats = match dialect.strip_suffix('#').unwrap_or(dialect) {
            LATEST | "https://json-schema.org/draft/2019-09/schema" => true,
            "http://json-schema.org/draft-07/schema" => false,
            _ => return None,
        };
        Self::part(schema, ignores_formats, true)
    }

    fn of_kinds(kinds: u8) -> Self {
        Self {
            kinds,
            members: Vec::new(),
            required: 0,
            others: None,
            items: None,
            choices: None,
            range: ANY_NUMBER,
            length: ANY_SIZE,
            count: ANY_SIZE,
        }
    }

    fn part(schema: &Value, ignores_formats: bool, root: bool) -> Option<Self> {
        let keywords = match schema {
            Value::Bool(any) => return Some(Self::of_kinds(if *any { ANY } else { 0 })),
            Value::Object(keywords) => keywords,
            _ => return None,
        };
        let mut plain = Self::of_kinds(ANY);
        let mut properties = None;
        let mut required = Vec::new();
        for (keyword, value) in keywords {
            match keyword.as_str() {
                "type" => plain.kinds = kinds(value)?,
                "const" if plain.choices.is_none() => plain.choices = Some(vec![value.as_str()?.to_owned()]),
                "enum" if plain.choices.is_none() => {
                    plain.choices = Some(sorted(texts(value)?).into_iter().map(str::to_owned).collect());
                }
                "properties" => properties = Some(value.as_object()?),
                "required" => required = sorted(texts(value)?),
                "additionalProperties" => plain.others = Some(Box::new(Self::part(value, ignores_formats, false)?)),
                "items" => plain.items = Some(Box::new(Self::part(value, ignores_formats, false)?)),
                "minimum" => plain.range.0 = exact(value.as_number()?)?,
                "maximum" => plain.range.1 = exact(value.as_number()?)?,
                "minLength" => plain.length.0 = size(value)?,
                "maxLength" => plain.length.1 = size(value)?,
                "minItems" => plain.count.0 = size(value)?,
                "maxItems" => plain.count.1 = size(value)?,
                // What says nothing about the value must still be of its type.
                "title" | "description" | "$comment" => drop(value.as_str()?),
                "format" if ignores_formats => drop(value.as_str()?),
                "deprecated" | "readOnly" | "writeOnly" => drop(value.as_bool()?),
                "examples" => drop(value.as_array()?),
                "default" => {}
                "$schema" if root => {}
                // Something that stands in an extension may be meant as a schema.
                _ if keyword.starts_with("x-") && !value.is_object() && !value.is_array() => {}
                _ => return None,
            }
        }
        if required.windows(2).any(|pair| pair[0] == pair[1]) {
            return None;
        }
        let named = properties.into_iter().flatten().map(|(name, _)| name.as_str());
        let mut names = sorted(named.chain(required.iter().copied()).collect());
        names.dedup();
        for name in names {
            let schema = properties.and_then(|properties| properties.get(name));
            plain.members.push(Member {
                name: name.to_owned(),
                required: required.binary_search(&name).is_ok(),
                plain: match schema {
                    Some(schema) => Self::part(schema, ignores_formats, false)?,
                    // One that must be there and fit what is said of all others is rare.
                    None if plain.others.is_some() => return None,
                    None => Self::of_kinds(ANY),
                },
            });
        }
        plain.required = required.len();
        if plain.choices.is_some() {
            plain.kinds &= STRING;
        }
        Some(plain)
    }

    fn find(&self, name: &str) -> Result<usize, usize> {
        self.members.binary_search_by(|member| member.name.as_str().cmp(name))
    }

    /// Whether a value fits for certain. One that does not may still fit: 1.0 where a whole number is wanted, say.
    pub(crate) fn fits(&self, value: &Value) -> bool {
        match value {
            Value::Null => self.takes(NULL),
            Value::Bool(_) => self.takes(BOOLEAN),
            Value::Number(number) => self.takes_number(number),
            Value::String(text) => {
                let chosen = |choices: &Vec<String>| choices.binary_search(text).is_ok();
                self.takes(STRING)
                    && self.choices.as_ref().is_none_or(chosen)
                    && (self.length == ANY_SIZE || within(self.length, text.chars().count()))
            }
            Value::Array(items) => {
                let fit = |plain: &Plain| items.iter().all(|item| plain.fits(item));
                self.takes(ARRAY) && within(self.count, items.len()) && self.items.as_deref().is_none_or(fit)
            }
            Value::Object(object) => self.takes(OBJECT) && self.members_fit(object),
        }
    }

    fn takes_number(&self, number: &Number) -> bool {
        let whole = number.is_i64() || number.is_u64();
        let (least, most) = self.range;
        let inside = |number: f64| least <= number && number <= most;
        (self.takes(NUMBER) || whole && self.takes(INTEGER))
            && (self.range == ANY_NUMBER || exact(number).is_some_and(inside))
    }

    fn members_fit(&self, object: &Map<String, Value>) -> bool {
        let mut found = 0;
        for (name, value) in object {
            let fits = match self.find(name) {
                Ok(at) => {
                    let member = &self.members[at];
                    found += usize::from(member.required);
                    member.plain.fits(value)
                }
                Err(_) => self.others.as_ref().is_none_or(|others| others.fits(value)),
            };
            if !fits {
                return false;
            }
        }
        found == self.required
    }

    fn takes(&self, kind: u8) -> bool {
        self.kinds & kind != 0
    }
}

fn kinds(value: &Value) -> Option<u8> {
    match value {
        Value::String(name) => kind(name),
        Value::Array(names) if !names.is_empty() => names.iter().try_fold(0, |kinds, name| {
            let kind = kind(name.as_str()?)?;
            (kinds & kind == 0).then_some(kinds | kind)
        }),
        _ => None,
    }
}

fn kind(name: &str) -> Option<u8> {
    Some(match name {
        "null" => NULL,
        "boolean" => BOOLEAN,
        "integer" => INTEGER,
        "number" => NUMBER,
        "string" => STRING,
        "array" => ARRAY,
        "object" => OBJECT,
        _ => return None,
    })
}

fn texts(value: &Value) -> Option<Vec<&str>> {
    value.as_array()?.iter().map(Value::as_str).collect()
}

fn sorted(mut names: Vec<&str>) -> Vec<&str> {
    names.sort_unstable();
    names
}

fn size(value: &Value) -> Option<usize> {
    usize::try_from(value.as_u64()?).ok()
}

/// The number in floating point, if it is the same number there.
fn exact(number: &Number) -> Option<f64> {
    let float = number.as_f64()?;
    match number.as_i64().map(i64::unsigned_abs).or_else(|| number.as_u64()) {
        Some(whole) => (whole <= EXACT).then_some(float),
        // With serde_json's `arbitrary_precision` it is a text, and may be nearly that.
        None => (Number::from_f64(float).as_ref() == Some(number)).then_some(float),
    }
}

fn within((least, most): (usize, usize), size: usize) -> bool {
    least <= size && size <= most
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::{select, subsequence};
    use serde_json::json;

    use super::*;
    use crate::Schema;

    const NAMES: [&str; 3] = ["a", "b", "서울"];
    const KINDS: [&str; 7] = ["null", "boolean", "integer", "number", "string", "array", "object"];
    const DIALECTS: [Option<&str>; 9] = [
        None,
        Some(LATEST),
        Some("https://json-schema.org/draft/2020-12/schema##"),
        Some("json-schema.org/draft/2020-12/schema"),
        Some("http://json-schema.org/draft/2020-12/schema"),
        Some("https://json-schema.org/draft-07/schema"),
        Some("https://json-schema.org/draft/2019-09/schema"),
        Some("http://json-schema.org/draft-07/schema#"),
        Some("http://json-schema.org/draft-04/schema#"),
    ];

    fn object(members: Vec<(&str, Value)>) -> Value {
        let named = members.into_iter().map(|(name, value)| (name.to_owned(), value));
        Value::Object(named.collect())
    }

    fn scalar() -> impl Strategy<Value = Value> {
        select(vec![
            json!(null),
            json!(true),
            json!(0),
            json!(-1),
            json!(2),
            json!(2.0),
            json!(0.5),
            json!(EXACT),
            json!(EXACT + 1),
            json!(u64::MAX),
            json!(i64::MIN),
            json!(1e300),
            json!(""),
            json!("b"),
            json!("서울"),
            json!("a longer one"),
        ])
    }

    fn value() -> impl Strategy<Value = Value> {
        scalar().prop_recursive(3, 12, 3, |inner| {
            let members = prop::collection::vec((select(&NAMES), inner.clone()), 0..4);
            prop_oneof![
                prop::collection::vec(inner, 0..4).prop_map(Value::Array),
                members.prop_map(object),
            ]
        })
    }

    /// One keyword, at times with a value that is not valid there, or that is not for here.
    fn keyword(schema: BoxedStrategy<Value>) -> impl Strategy<Value = (&'static str, Value)> {
        let bound = || prop_oneof![4 => (0..4_i32).prop_map(Value::from), 1 => scalar()];
        let texts = || prop::collection::vec(select(&NAMES), 0..4).prop_map(|texts| json!(texts));
        let members = prop::collection::vec((select(&NAMES), schema.clone()), 0..4);
        prop_oneof![
            4 => (Just("type"), select(&KINDS).prop_map(Value::from)),
            2 => (Just("type"), subsequence(KINDS.to_vec(), 0..5).prop_map(|kinds| json!(kinds))),
            4 => (Just("properties"), members.prop_map(object)),
            2 => (Just("required"), texts()),
            2 => (select(vec!["additionalProperties", "items"]), schema),
            1 => (Just("enum"), texts()),
            1 => (select(vec!["const", "default", "enum", "title", "type", "readOnly"]), scalar()),
            3 => (select(vec!["minimum", "maximum"]), bound()),
            3 => (select(vec!["minLength", "maxLength", "minItems", "maxItems"]), bound()),
            1 => (Just("format"), select(vec!["date", "email", "int32"]).prop_map(Value::from)),
            1 => (select(vec!["description", "$comment", "x-mcp-header", "pattern", "unknown"]), Just(json!("b"))),
            1 => (select(vec!["examples", "oneOf", "x-all"]), Just(json!([true]))),
        ]
    }

    fn schema() -> impl Strategy<Value = Value> {
        let leaf = any::<bool>().prop_map(Value::from).boxed();
        let part = leaf.prop_recursive(3, 16, 4, |inner| {
            let keywords = prop::collection::vec(keyword(inner.boxed()), 0..4);
            keywords.prop_map(object)
        });
        (select(&DIALECTS), part).prop_map(|(dialect, mut schema)| {
            if let (Some(dialect), Value::Object(schema)) = (dialect, &mut schema) {
                schema.insert("$schema".to_owned(), dialect.into());
            }
            schema
        })
    }

    /// Whether there is a number in it that is written as a fraction or is too large to be exact.
    fn unsure(value: &Value) -> bool {
        match value {
            Value::Number(number) => number.is_f64() || exact(number).is_none(),
            Value::Array(items) => items.iter().any(unsure),
            Value::Object(object) => object.values().any(unsure),
            _ => false,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        /// What is read here is a valid schema, and says of every value what the validator says.
        #[test]
        fn a_plain_schema_says_what_the_validator_says(schema in schema(), values in prop::collection::vec(value(), 8)) {
            if let Some(plain) = Plain::read(&schema) {
                let schema = Schema::compile(&schema).unwrap();
                let validator = &schema.compiled().as_ref().unwrap().validator;
                for value in &values {
                    let (here, there) = (plain.fits(value), validator.is_valid(value));
                    prop_assert!(here == there || there && unsure(value), "{} {value}: {here}, {there}", schema.source);
                }
            }
        }
    }

    #[test]
    fn schemas_of_tools_are_plain_and_intricate_ones_are_not() {
        let plain = |schema: Value| Plain::read(&schema).is_some();
        assert!(plain(json!({
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "properties": {
                "city": { "type": "string", "minLength": 1, "description": "Where.", "x-mcp-header": "City" },
                "days": { "type": "integer", "minimum": 1, "maximum": 14, "default": 3 },
                "units": { "enum": ["metric", "imperial"] },
                "tags": { "type": "array", "items": { "type": ["string", "null"] }, "maxItems": 5 }
            },
            "required": ["city"],
            "additionalProperties": false
        })));
        for (keyword, value) in [
            ("anyOf", json!([true])),
            ("pattern", json!("a")),
            ("$ref", json!("#")),
            ("enum", json!([1])),
            ("minimum", json!("1")),
            ("title", json!(7)),
            ("x-all", json!({ "$ref": "http://127.0.0.1:9/x" })),
            ("required", json!(["a", "a"])),
            ("$schema", json!("http://json-schema.org/draft-04/schema#")),
        ] {
            assert!(!plain(json!({ keyword: value })), "{keyword}");
        }
        let formats = |dialect: &str| plain(json!({ "$schema": dialect, "format": "email" }));
        assert!(formats("https://json-schema.org/draft/2020-12/schema"));
        assert!(!formats("http://json-schema.org/draft-07/schema#"));
    }

    #[test]
    fn each_of_many_members_and_choices_is_found() {
        let names: Vec<String> = (0..300).map(|number| format!("m{number}")).collect();
        let members: Map<String, Value> = names
            .iter()
            .map(|name| (name.clone(), json!({ "const": name })))
            .collect();
        let schema = json!({ "properties": members, "required": names, "additionalProperties": { "enum": names } });
        let plain = Plain::read(&schema).unwrap();
        let fitting: Map<String, Value> = names.iter().map(|name| (name.clone(), name.as_str().into())).collect();
        assert!(plain.fits(&Value::Object(fitting.clone())));
        for name in &names {
            let mut changed = fitting.clone();
            changed.insert("other".to_owned(), name.as_str().into());
            assert!(plain.fits(&Value::Object(changed.clone())), "{name}");
            changed.shift_remove(name);
            assert!(!plain.fits(&Value::Object(changed)), "{name}");
        }
    }
}
