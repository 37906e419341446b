//! How large a schema is when its references are followed, and how long their chains are.

use std::collections::HashMap;

use serde_json::Value;

use crate::{MAX_REFERENCES, SchemaError};

/// The size of a schema with its references followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expansion {
    /// So many parts in all.
    Finite(u64),
    /// A part leads back to itself; so many references there are.
    Recursive(u32),
}

impl Expansion {
    /// Whether naming every mismatch of a value takes no more than so many steps.
    pub(crate) fn within(self, steps: u64, value: &Value) -> bool {
        match self {
            Self::Finite(parts) => parts <= steps,
            Self::Recursive(references) => {
                let depth = u32::try_from(depth(value)).unwrap_or(u32::MAX);
                u64::from(references)
                    .saturating_add(1)
                    .checked_pow(depth)
                    .is_some_and(|most| most <= steps)
            }
        }
    }
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Object(object) => 1 + object.values().map(depth).max().unwrap_or(0),
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        _ => 1,
    }
}

/// Follows all references.
///
/// # Errors
/// If a chain of references is longer than [`MAX_REFERENCES`].
pub(crate) fn expand(schema: &Value) -> Result<Expansion, SchemaError> {
    let mut walk = Walk {
        root: schema,
        sizes: HashMap::new(),
        open: Vec::new(),
        references: 0,
        recursive: false,
    };
    let size = walk.size(schema)?;
    Ok(if walk.recursive {
        Expansion::Recursive(walk.references)
    } else {
        Expansion::Finite(size)
    })
}

struct Walk<'a> {
    root: &'a Value,
    sizes: HashMap<&'a str, u64>,
    /// The references that are being followed.
    open: Vec<&'a str>,
    references: u32,
    recursive: bool,
}

impl<'a> Walk<'a> {
    fn size(&mut self, schema: &'a Value) -> Result<u64, SchemaError> {
        let mut size = 1_u64;
        match schema {
            Value::Object(object) => {
                for (key, value) in object {
                    match (key.as_str(), value) {
                        ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(target)) => {
                            size = size.saturating_add(self.target(target)?);
                        }
                        // Not applied where they stand, only where they are referred to.
                        ("$defs" | "definitions" | "const" | "enum" | "default" | "examples", _) => {}
                        _ => size = size.saturating_add(self.size(value)?),
                    }
                }
            }
            Value::Array(items) => {
                for item in items {
                    size = size.saturating_add(self.size(item)?);
                }
            }
            _ => {}
        }
        Ok(size)
    }

    fn target(&mut self, target: &'a str) -> Result<u64, SchemaError> {
        self.references = self.references.saturating_add(1);
        if let Some(size) = self.sizes.get(target) {
            return Ok(*size);
        }
        let pointer = target.strip_prefix('#');
        let found = pointer.and_then(|pointer| self.root.pointer(pointer));
        let Some(found) = found.filter(|_| !self.open.contains(&target)) else {
            // Back to itself, or by a name that is not followed here.
            self.recursive = true;
            return Ok(1);
        };
        if self.open.len() >= MAX_REFERENCES {
            return Err(SchemaError::TooDeep);
        }
        self.open.push(target);
        let size = self.size(found)?;
        self.open.pop();
        self.sizes.insert(target, size);
        Ok(size)
    }
}
