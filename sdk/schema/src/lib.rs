//! JSON Schema as MCP uses it: compiled once, bounded, never fetched from anywhere.
//!
//! Dialects: 2020-12 where a schema does not say, and 2019-09, draft-07, draft-06 and draft-04 where it
//! does ([usage](https://modelcontextprotocol.io/specification/2026-07-28/basic/index#json-schema-usage)).
//! A reference to anything outside of the schema is refused: nothing is fetched, and nothing unresolved
//! is taken for "anything goes".
//!
//! ```
//! use serde_json::json;
//! use trunkline_schema::Schema;
//!
//! let schema = Schema::compile(&json!({
//!     "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"]
//! })).unwrap();
//! assert!(schema.check(&json!({ "city": "Seoul" })).is_ok());
//! let mismatch = schema.check(&json!({ "city": 7 })).unwrap_err();
//! assert_eq!(mismatch.to_string(), "/city: 7 is not of type \"string\"");
//! ```

mod cost;
mod expand;
mod pattern;
mod plain;

use std::fmt;
use std::sync::OnceLock;

use expand::Expansion;
use jsonschema::error::ValidationErrorKind;
use jsonschema::{PatternOptions, Validator};
use plain::Plain;
use serde_json::Value;

/// How deep the objects and arrays of a schema may be nested.
pub const MAX_DEPTH: usize = 64;
/// How many objects, arrays and scalars a schema may hold.
pub const MAX_NODES: usize = 20_000;
/// How many branches one check may try, over all `$ref`, `anyOf`, `oneOf`, `allOf`, `not` and `if` together.
pub const MAX_BRANCHES: u32 = 200_000;
/// The longest text, in bytes, that a schema with look-around or back-references in a `pattern` is tried on.
/// Patterns without these are matched in linear time, whatever the text.
pub const MAX_BACKTRACKED_TEXT: usize = 1024;
/// How many references may follow each other.
pub const MAX_REFERENCES: usize = 16;
/// How many branches are followed to name mismatches; beyond that a mismatch is only said to be there.
pub const MAX_NAMING: u64 = 100_000;
/// How many values of an `enum` one mismatch names.
pub const MAX_NAMED: usize = 20;
/// How many mismatches one check reports.
pub const MAX_MISMATCHES: usize = 5;

const DIALECTS: [&str; 5] = [
    "json-schema.org/draft/2020-12/schema",
    "json-schema.org/draft/2019-09/schema",
    "json-schema.org/draft-07/schema",
    "json-schema.org/draft-06/schema",
    "json-schema.org/draft-04/schema",
];

/// A schema that is ready to check values.
#[derive(Debug)]
pub struct Schema {
    source: Value,
    form: Form,
    compiled: OnceLock<Result<Compiled, SchemaError>>,
}

/// How intricate a schema is.
#[derive(Debug)]
enum Form {
    /// Most values are checked without the validator, and naming what does not fit takes little.
    Plain(Plain),
    Intricate(Expansion),
}

// The parts of a plain schema are followed once.
const _: () = assert!(MAX_NODES as u64 <= MAX_NAMING);

/// What it takes to check any value, and to say where it does not fit.
#[derive(Debug)]
struct Compiled {
    validator: Validator,
    /// Whether a pattern needs backtracking, so that texts must be short.
    backtracks: bool,
}

/// Why a schema cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SchemaError {
    /// It is neither an object nor a boolean.
    NotASchema,
    /// It names a dialect that is not supported.
    UnknownDialect(String),
    /// It refers to something outside of itself.
    ExternalReference(String),
    /// It is nested deeper than [`MAX_DEPTH`].
    TooDeep,
    /// It holds more than [`MAX_NODES`] parts.
    TooLarge,
    /// It is not valid in its dialect.
    Invalid(String),
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotASchema => f.write_str("a schema is an object or a boolean"),
            Self::UnknownDialect(dialect) => write!(f, "the dialect {dialect:?} is not supported; use 2020-12"),
            Self::ExternalReference(target) => {
                write!(
                    f,
                    "`$ref` to {target:?} leaves the schema; nothing is fetched, so move it into `$defs`"
                )
            }
            Self::TooDeep => write!(f, "the schema is nested deeper than {MAX_DEPTH} levels"),
            Self::TooLarge => write!(f, "the schema holds more than {MAX_NODES} parts"),
            Self::Invalid(why) => write!(f, "the schema is not valid: {why}"),
        }
    }
}

impl std::error::Error for SchemaError {}

/// Where a value does not fit its schema: at most [`MAX_MISMATCHES`] places, in words a model can act on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// One line for each place: a JSON pointer, where it is not the whole, and what is wrong there.
    pub places: Vec<String>,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.places.join("; "))
    }
}

impl std::error::Error for Mismatch {}

impl Schema {
    /// Compiles a schema. One of types, members, choices and bounds only, as most are, waits for the first value that
    /// does not fit: it needs no compilation to be known as valid, nor to see that a value fits.
    ///
    /// # Errors
    /// If it is not valid, too large, of an unknown dialect, or refers to something outside.
    pub fn compile(schema: &Value) -> Result<Self, SchemaError> {
        Self::prepare(schema, |_| true)
    }

    /// Takes the schema of a Rust type. It is within its bounds, but one that is not as simple is compiled only when the
    /// first value is checked: that takes a millisecond or two, mostly for the schema of schemas, and such a schema is
    /// valid by its making. One with a pattern in it, which a person wrote, is compiled at once.
    ///
    /// # Errors
    /// The same as those of [`compile`](Self::compile), but for a schema that is not valid: nothing fits that.
    pub fn of_type(schema: &Value) -> Result<Self, SchemaError> {
        Self::prepare(schema, pattern::has_pattern)
    }

    /// Everything but the compilation of a plain schema, and of any other that is not to be compiled at once.
    fn prepare(schema: &Value, at_once: fn(&Value) -> bool) -> Result<Self, SchemaError> {
        if !schema.is_object() && !schema.is_boolean() {
            return Err(SchemaError::NotASchema);
        }
        check_bounds(schema)?;
        check_dialect(schema)?;
        let form = if let Some(plain) = Plain::read(schema) {
            Form::Plain(plain)
        } else {
            if let Some(target) = external_reference(schema) {
                return Err(SchemaError::ExternalReference(target));
            }
            Form::Intricate(expand::expand(schema)?)
        };
        let prepared = Self {
            source: schema.clone(),
            form,
            compiled: OnceLock::new(),
        };
        if matches!(prepared.form, Form::Intricate(_))
            && at_once(schema)
            && let Err(error) = prepared.compiled()
        {
            return Err(error.clone());
        }
        Ok(prepared)
    }

    fn compiled(&self) -> &Result<Compiled, SchemaError> {
        self.compiled.get_or_init(|| {
            let backtracks = pattern::needs_backtracking(&self.source);
            let options = if backtracks {
                jsonschema::options().with_pattern_options(PatternOptions::fancy_regex())
            } else {
                jsonschema::options().with_pattern_options(PatternOptions::regex())
            };
            let validator = cost::counting(options)
                .build(&cost::counted(&self.source))
                .map_err(|error| SchemaError::Invalid(clip(&error.to_string())))?;
            Ok(Compiled { validator, backtracks })
        })
    }

    /// Checks a value.
    ///
    /// # Errors
    /// Where the value does not fit.
    pub fn check(&self, value: &Value) -> Result<(), Mismatch> {
        if let Form::Plain(plain) = &self.form
            && plain.fits(value)
        {
            return Ok(());
        }
        let compiled = match self.compiled() {
            Ok(compiled) => compiled,
            Err(error) => {
                return Err(Mismatch {
                    places: vec![error.to_string()],
                });
            }
        };
        if compiled.backtracks && pattern::longest_text(value) > MAX_BACKTRACKED_TEXT {
            let why = format!("a text is longer than {MAX_BACKTRACKED_TEXT} bytes, too long for the schema's pattern");
            return Err(Mismatch { places: vec![why] });
        }
        let validator = &compiled.validator;
        let (valid, within) = cost::bounded(|| validator.is_valid(value));
        if !within {
            return Err(Mismatch {
                places: vec!["checking this value against its schema takes too long".to_owned()],
            });
        }
        if valid {
            return Ok(());
        }
        // Naming every mismatch follows every branch, which the check itself did not have to.
        if let Form::Intricate(expansion) = &self.form
            && !expansion.within(MAX_NAMING, value)
        {
            return Err(Mismatch {
                places: vec!["the value does not fit its schema, which is too intricate to say where".to_owned()],
            });
        }
        let place = |error: jsonschema::ValidationError<'_>| {
            let path = error.instance_path().to_string();
            let text = clip(&describe(&error));
            if path.is_empty() {
                text
            } else {
                format!("{path}: {text}")
            }
        };
        let (places, _) = cost::bounded(|| validator.iter_errors(value).take(MAX_MISMATCHES).map(place).collect());
        Err(Mismatch { places })
    }
}

/// What is wrong, with everything that a model needs to mend it.
fn describe(error: &jsonschema::ValidationError<'_>) -> String {
    let ValidationErrorKind::Enum { options } = error.kind() else {
        return error.to_string();
    };
    let options = options.as_array().map_or(&[][..], Vec::as_slice);
    let mut names: Vec<String> = options.iter().take(MAX_NAMED).map(Value::to_string).collect();
    if options.len() > MAX_NAMED {
        names.push(format!("or {} more", options.len() - MAX_NAMED));
    }
    format!("{} is not one of {}", error.instance(), names.join(", "))
}

fn clip(text: &str) -> String {
    const MOST: usize = 300;
    if text.chars().count() <= MOST {
        text.to_owned()
    } else {
        text.chars().take(MOST).chain("…".chars()).collect()
    }
}

fn check_dialect(schema: &Value) -> Result<(), SchemaError> {
    let Some(dialect) = schema.get("$schema") else {
        return Ok(());
    };
    let name = dialect.as_str().unwrap_or_default();
    let bare = name
        .trim_start_matches("https://")
        .trim_start_matches("http://")
        .trim_end_matches('#');
    if DIALECTS.contains(&bare) {
        Ok(())
    } else {
        Err(SchemaError::UnknownDialect(dialect.to_string()))
    }
}

fn check_bounds(schema: &Value) -> Result<(), SchemaError> {
    let mut nodes = 0;
    let mut open = vec![(schema, 1)];
    while let Some((value, depth)) = open.pop() {
        nodes += 1;
        if depth > MAX_DEPTH {
            return Err(SchemaError::TooDeep);
        }
        if nodes > MAX_NODES {
            return Err(SchemaError::TooLarge);
        }
        match value {
            Value::Object(object) => open.extend(object.values().map(|inner| (inner, depth + 1))),
            Value::Array(items) => open.extend(items.iter().map(|inner| (inner, depth + 1))),
            _ => {}
        }
    }
    Ok(())
}

/// A `$ref` or `$dynamicRef` that neither points into the schema nor names a part of it.
fn external_reference(schema: &Value) -> Option<String> {
    let mut named = Vec::new();
    visit(schema, &mut |object| {
        named.extend(object.get("$id").and_then(Value::as_str).map(str::to_owned));
    });
    let mut found = None;
    visit(schema, &mut |object| {
        for key in ["$ref", "$dynamicRef"] {
            let Some(target) = object.get(key).and_then(Value::as_str) else {
                continue;
            };
            let (base, _) = target.split_once('#').unwrap_or((target, ""));
            let inside = base.is_empty() || named.iter().any(|id| id == base || id.ends_with(&format!("/{base}")));
            if !inside && !DIALECTS.iter().any(|dialect| base.ends_with(dialect)) {
                found.get_or_insert_with(|| target.to_owned());
            }
        }
    });
    found
}

/// Visits every object that stands where a schema may stand; examples and constants are data.
fn visit(schema: &Value, with: &mut impl FnMut(&serde_json::Map<String, Value>)) {
    match schema {
        Value::Object(object) => {
            with(object);
            for (key, inner) in object {
                if !matches!(key.as_str(), "const" | "enum" | "default" | "examples" | "example") {
                    visit(inner, with);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|inner| visit(inner, with)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_schema_of_a_type_is_compiled_when_it_is_needed() {
        let schema = Schema::of_type(&json!({ "type": "object", "required": ["a"] })).unwrap();
        assert!(schema.compiled.get().is_none());
        // What fits a simple one needs no compilation at all.
        assert!(schema.check(&json!({ "a": 1 })).is_ok() && schema.compiled.get().is_none());
        assert!(schema.check(&json!({})).is_err() && schema.compiled.get().is_some());
        let choice = Schema::of_type(&json!({ "anyOf": [{ "type": "integer" }] })).unwrap();
        assert!(choice.compiled.get().is_none() && choice.check(&json!(1)).is_ok() && choice.compiled.get().is_some());
        // What a person wrote is looked at where it stands.
        assert!(matches!(
            Schema::of_type(&json!({ "pattern": "[" })),
            Err(SchemaError::Invalid(_))
        ));
        assert_eq!(Schema::of_type(&json!(1)).err(), Some(SchemaError::NotASchema));
        // What slips through fits nothing, and says why.
        let wrong = Schema::of_type(&json!({ "type": 7 })).unwrap();
        assert!(wrong.check(&json!(1)).unwrap_err().to_string().contains("not valid"));
    }

    use super::*;
    use serde_json::json;

    fn why(schema: Value) -> SchemaError {
        Schema::compile(&schema).expect_err("cannot be used")
    }

    #[test]
    fn references_stay_inside() {
        for target in [
            "http://127.0.0.1:9/x",
            "file:///etc/hostname",
            "https://example.com/s.json#/a",
            "other.json",
        ] {
            assert_eq!(
                why(json!({ "$ref": target })),
                SchemaError::ExternalReference(target.into())
            );
            let nested = json!({ "type": "object", "properties": { "a": { "items": { "$ref": target } } } });
            assert_eq!(why(nested), SchemaError::ExternalReference(target.into()));
        }
        let inside = json!({ "$ref": "#/$defs/Q", "$defs": { "Q": { "type": "object", "required": ["n"] } } });
        let schema = Schema::compile(&inside).unwrap();
        assert!(schema.check(&json!({ "n": 1 })).is_ok() && schema.check(&json!({})).is_err());
        let named = json!({ "$id": "https://example.com/a", "$ref": "https://example.com/a#/$defs/n", "$defs": { "n": { "type": "null" } } });
        assert!(Schema::compile(&named).unwrap().check(&json!(1)).is_err());
    }

    #[test]
    fn a_member_named_like_a_keyword_is_data() {
        let schema = json!({ "properties": { "a": { "const": { "$ref": "http://127.0.0.1:9/x" } } } });
        assert!(Schema::compile(&schema).is_ok());
    }

    #[test]
    fn dialects_are_followed_and_unknown_ones_named() {
        let exclusive = |dialect: &str| json!({ "$schema": dialect, "minimum": 3, "exclusiveMinimum": true });
        assert!(
            Schema::compile(&exclusive("http://json-schema.org/draft-04/schema#"))
                .unwrap()
                .check(&json!(3))
                .is_err()
        );
        assert!(matches!(
            why(exclusive("https://json-schema.org/draft/2020-12/schema")),
            SchemaError::Invalid(_)
        ));
        assert!(matches!(
            why(json!({ "$schema": "https://example.com/mine" })),
            SchemaError::UnknownDialect(_)
        ));
        assert!(matches!(
            why(json!({ "$schema": "https://example.com/draft/2020-12/schema", "type": "object" })),
            SchemaError::UnknownDialect(_)
        ));
        for dialect in [
            "http://json-schema.org/draft-07/schema#",
            "https://json-schema.org/draft/2019-09/schema",
        ] {
            assert!(Schema::compile(&json!({ "$schema": dialect, "type": "object" })).is_ok());
        }
    }

    #[test]
    fn bounds_hold_on_both_sides() {
        let nest = |levels: usize| (1..levels).fold(json!({}), |inner, _| json!({ "not": inner }));
        assert!(Schema::compile(&nest(MAX_DEPTH)).is_ok());
        assert_eq!(why(nest(MAX_DEPTH + 1)), SchemaError::TooDeep);
        // The schema and its list are nodes too.
        let wide = |parts: usize| json!({ "enum": vec![json!(0); parts - 2] });
        assert_ne!(Schema::compile(&wide(MAX_NODES)).err(), Some(SchemaError::TooLarge));
        assert_eq!(why(wide(MAX_NODES + 1)), SchemaError::TooLarge);
        assert_eq!(why(json!(null)), SchemaError::NotASchema);
    }

    /// Bombs of a kilobyte or two. Without a bound each of these runs for minutes or years.
    #[test]
    fn schemas_that_branch_without_end_are_cut_off() {
        const LEVELS: usize = MAX_REFERENCES - 1;
        for word in ["anyOf", "allOf", "oneOf"] {
            let mut definitions = serde_json::Map::new();
            for level in 0..LEVELS {
                let next = json!({ "$ref": format!("#/$defs/a{}", level + 1) });
                definitions.insert(format!("a{level}"), json!({ word: vec![next; 8] }));
            }
            definitions.insert(
                format!("a{LEVELS}"),
                json!({ "type": if word == "allOf" { "object" } else { "string" } }),
            );
            let schema = Schema::compile(&json!({ "$ref": "#/$defs/a0", "$defs": definitions })).unwrap();
            let mismatch = schema.check(&json!({})).unwrap_err();
            assert!(mismatch.to_string().contains("too long"), "{word}: {mismatch}");
        }
        // One that branches anew at each level of the value.
        let list = json!({ "properties": { "n": { "$ref": "#/$defs/a" } }, "required": ["m"] });
        let schema = json!({ "$ref": "#/$defs/a", "$defs": { "a": { "anyOf": [list, list, { "type": "null" }] } } });
        let deep = (0..100).fold(json!({}), |inner, _| json!({ "n": inner }));
        assert!(Schema::compile(&schema).unwrap().check(&deep).is_err());
    }

    /// References that follow each other take stack, at each level of the value anew.
    #[test]
    fn chains_of_references_are_bounded() {
        let chain = |links: usize| {
            let mut definitions = serde_json::Map::new();
            for link in 1..links {
                definitions.insert(format!("a{link}"), json!({ "$ref": format!("#/$defs/a{}", link + 1) }));
            }
            definitions.insert(
                format!("a{links}"),
                json!({ "properties": { "n": { "$ref": "#/$defs/a1" } } }),
            );
            json!({ "$ref": "#/$defs/a1", "$defs": definitions })
        };
        let schema = Schema::compile(&chain(MAX_REFERENCES)).unwrap();
        let deep = (0..120).fold(json!({}), |inner, _| json!({ "n": inner }));
        assert!(schema.check(&deep).is_ok());
        assert_eq!(why(chain(MAX_REFERENCES + 1)), SchemaError::TooDeep);
    }

    #[test]
    fn what_branches_within_reason_is_checked_whole() {
        let tree = json!({ "$ref": "#/$defs/tree", "$defs": { "tree": { "anyOf": [
            { "type": "integer" },
            { "type": "array", "items": { "$ref": "#/$defs/tree" } }
        ] } } });
        let schema = Schema::compile(&tree).unwrap();
        let wide = json!(vec![json!([1, [2, [3]]]); 5_000]);
        assert!(schema.check(&wide).is_ok());
        assert!(schema.check(&json!([1, [2, ["three"]]])).is_err());
    }

    #[test]
    fn patterns_are_bounded() {
        let linear = Schema::compile(&json!({ "pattern": "^(a+)+$" })).unwrap();
        assert!(linear.check(&json!(format!("{}b", "a".repeat(1_000_000)))).is_err());
        let around = Schema::compile(&json!({ "properties": { "p": { "pattern": "^(?=.*[0-9]).{3,}$" } } })).unwrap();
        assert!(around.check(&json!({ "p": "ab1" })).is_ok() && around.check(&json!({ "p": "abc" })).is_err());
        let of = |length: usize| json!({ "q": "a".repeat(length) });
        assert!(around.check(&of(MAX_BACKTRACKED_TEXT)).is_ok());
        assert!(
            around
                .check(&of(MAX_BACKTRACKED_TEXT + 1))
                .unwrap_err()
                .to_string()
                .contains("too long")
        );
        assert!(matches!(why(json!({ "pattern": "(" })), SchemaError::Invalid(_)));
    }

    #[test]
    fn all_choices_are_named() {
        let schema = Schema::compile(&json!({ "enum": ["new", "paid", "shipped", "delivered"] })).unwrap();
        let mismatch = schema.check(&json!("open")).unwrap_err().to_string();
        assert_eq!(
            mismatch,
            r#""open" is not one of "new", "paid", "shipped", "delivered""#
        );
        let many: Vec<usize> = (0..MAX_NAMED + 3).collect();
        let mismatch = Schema::compile(&json!({ "enum": many }))
            .unwrap()
            .check(&json!("x"))
            .unwrap_err();
        assert!(mismatch.to_string().ends_with("19, or 3 more"), "{mismatch}");
    }

    #[test]
    fn only_so_many_places_are_named() {
        let schema = Schema::compile(&json!({ "items": { "type": "string" } })).unwrap();
        let mismatch = schema.check(&json!(vec![1; 50])).unwrap_err();
        assert_eq!(mismatch.places.len(), MAX_MISMATCHES);
        assert_eq!(mismatch.places[0], "/0: 1 is not of type \"string\"");
    }
}
