//! What one check may cost: branches are counted, and beyond a bound every further one fails at once.
//!
//! A schema of a kilobyte can branch more often than there are seconds in a century. The count is kept by
//! a keyword of our own, which stands in an `allOf` of every schema that branches: of all keywords that
//! branch, the validator runs `allOf` first, and it stops at the first part that fails.

use std::cell::Cell;

use jsonschema::{Keyword, ValidationError, ValidationOptions};
use serde_json::{Map, Value};

use crate::MAX_BRANCHES;

const KEYWORD: &str = "x-trunkline-branch";
const BRANCHING: [&str; 10] = [
    "$ref",
    "$dynamicRef",
    "$recursiveRef",
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "if",
    "dependentSchemas",
    "dependencies",
];

thread_local! {
    /// Branches left for the check that runs on this thread.
    static LEFT: Cell<u32> = const { Cell::new(0) };
}

struct Branch;

impl Branch {
    fn take() -> bool {
        LEFT.with(|left| {
            let rest = left.get();
            left.set(rest.saturating_sub(1));
            rest > 0
        })
    }
}

impl<'i> Keyword<'i> for Branch {
    fn validate(&self, _: &'i Value) -> Result<(), ValidationError<'i>> {
        if Self::take() {
            Ok(())
        } else {
            Err(ValidationError::custom("the check takes too long"))
        }
    }

    fn is_valid(&self, _: &'i Value) -> bool {
        Self::take()
    }
}

/// Options that know the counting keyword.
pub(crate) fn counting(options: ValidationOptions) -> ValidationOptions {
    options.with_keyword(KEYWORD, |_, _, _| Ok(Box::new(Branch)))
}

/// Runs one check, and tells whether it stayed within its bound.
pub(crate) fn bounded<T>(check: impl FnOnce() -> T) -> (T, bool) {
    LEFT.with(|left| left.set(MAX_BRANCHES));
    let result = check();
    (result, LEFT.with(Cell::get) > 0)
}

/// The schema with the counting keyword in every part that branches. No part changes its place, so that
/// references still lead to it.
pub(crate) fn counted(schema: &Value) -> Value {
    match schema {
        Value::Object(object) => {
            let mut counted = Map::new();
            for (key, value) in object {
                // A constant is data, not a schema.
                let data = matches!(key.as_str(), "const" | "enum" | "default" | "examples" | "example");
                counted.insert(
                    key.clone(),
                    if data {
                        value.clone()
                    } else {
                        counted_inside(key, value)
                    },
                );
            }
            if BRANCHING.iter().any(|word| object.contains_key(*word)) {
                let all = counted.entry("allOf").or_insert_with(|| Value::Array(Vec::new()));
                if let Value::Array(all) = all {
                    all.push(serde_json::json!({ KEYWORD: true }));
                }
            }
            Value::Object(counted)
        }
        Value::Array(items) => items.iter().map(counted).collect(),
        other => other.clone(),
    }
}

/// A member that is a map of names to schemas must not get a name of ours.
fn counted_inside(key: &str, value: &Value) -> Value {
    let names = [
        "properties",
        "patternProperties",
        "$defs",
        "definitions",
        "dependentSchemas",
        "dependencies",
    ];
    match value {
        Value::Object(object) if names.contains(&key) => Value::Object(
            object
                .iter()
                .map(|(name, schema)| (name.clone(), counted(schema)))
                .collect(),
        ),
        _ => counted(value),
    }
}
