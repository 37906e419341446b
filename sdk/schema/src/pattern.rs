//! Which patterns need backtracking, and which texts are short enough for it.

use serde_json::Value;

/// Whether a pattern uses look-around or back-references. All others are matched in linear time.
pub(crate) fn needs_backtracking(schema: &Value) -> bool {
    match schema {
        Value::Object(object) => object.iter().any(|(key, value)| match (key.as_str(), value) {
            ("pattern", Value::String(pattern)) => backtracks(pattern),
            ("patternProperties", Value::Object(patterns)) => patterns
                .iter()
                .any(|(pattern, schema)| backtracks(pattern) || needs_backtracking(schema)),
            _ => needs_backtracking(value),
        }),
        Value::Array(items) => items.iter().any(needs_backtracking),
        _ => false,
    }
}

/// Whether there is a pattern anywhere.
pub(crate) fn has_pattern(schema: &Value) -> bool {
    match schema {
        Value::Object(object) => object
            .iter()
            .any(|(key, value)| matches!(key.as_str(), "pattern" | "patternProperties") || has_pattern(value)),
        Value::Array(items) => items.iter().any(has_pattern),
        _ => false,
    }
}

fn backtracks(pattern: &str) -> bool {
    let around = ["(?=", "(?!", "(?<=", "(?<!", "(?>", "\\k<"]
        .iter()
        .any(|word| pattern.contains(word));
    let reference = pattern
        .as_bytes()
        .windows(2)
        .any(|pair| pair[0] == b'\\' && (b'1'..=b'9').contains(&pair[1]));
    around || reference
}

/// The longest text anywhere in a value, names of members included, in bytes.
pub(crate) fn longest_text(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(longest_text).max().unwrap_or(0),
        Value::Object(object) => object
            .iter()
            .map(|(name, value)| name.len().max(longest_text(value)))
            .max()
            .unwrap_or(0),
        _ => 0,
    }
}
