//! Results of tools: their text, their structured result, and the check of it.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;
use trunkline_schema::Schema;
use trunkline_types::{CallToolResult, StructuredContent, Tool};

use crate::CallError;

/// What a tool returned: a [`CallToolResult`] with its structured result checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Called(pub CallToolResult);

impl Called {
    /// Reads the structured result. Where there is none, as in the oldest revisions, the text is read as JSON.
    ///
    /// # Errors
    /// [`CallError::Mismatch`] if the tool failed, or its result does not fit the type.
    pub fn structured<T: DeserializeOwned>(&self) -> Result<T, CallError> {
        if self.failed() {
            return Err(CallError::Mismatch(format!(
                "the tool reports an error: {}",
                self.text()
            )));
        }
        let read = match &self.0.structured_content {
            Some(value) => T::deserialize(value),
            None => serde_json::from_str(&self.text()),
        };
        read.map_err(|error| CallError::Mismatch(error.to_string()))
    }

    /// Whether the tool failed. Such a result is for the model to read.
    pub fn failed(&self) -> bool {
        self.0.failed()
    }

    /// All text content, one piece a line.
    pub fn text(&self) -> String {
        self.0.text()
    }

    /// The result itself.
    pub fn into_inner(self) -> CallToolResult {
        self.0
    }
}

impl Deref for Called {
    type Target = CallToolResult;

    fn deref(&self) -> &CallToolResult {
        &self.0
    }
}

impl From<Called> for CallToolResult {
    fn from(called: Called) -> Self {
        called.0
    }
}

/// The output schemas of the tools listed last.
#[derive(Debug, Default)]
pub(crate) struct Outputs {
    /// How often the list had changed when it was read.
    pub(crate) generation: u64,
    schemas: HashMap<String, Compiled>,
}

#[derive(Debug)]
struct Compiled {
    source: Value,
    schema: Result<Arc<Schema>, String>,
}

impl Outputs {
    /// Takes the schemas of a new list. Returns what is wrong with those that cannot be used.
    pub(crate) fn replace(&mut self, generation: u64, tools: &[Tool]) -> Vec<String> {
        let mut before = std::mem::take(&mut self.schemas);
        let mut warnings = Vec::new();
        for tool in tools {
            let Some(source) = &tool.output_schema else { continue };
            let compiled = match before.remove(&tool.name) {
                Some(same) if same.source == *source => same,
                _ => Compiled {
                    source: source.clone(),
                    schema: Schema::compile(source).map(Arc::new).map_err(|error| error.to_string()),
                },
            };
            if let Err(why) = &compiled.schema {
                warnings.push(format!(
                    "the output schema of tool {:?} cannot be used, so its results are not checked: {why}",
                    tool.name
                ));
            }
            self.schemas.insert(tool.name.clone(), compiled);
        }
        self.generation = generation;
        warnings
    }

    /// The schema of a tool's structured results.
    pub(crate) fn schema(&self, tool: &str) -> Option<Arc<Schema>> {
        self.schemas.get(tool)?.schema.clone().ok()
    }
}

/// Checks the structured result of a call that succeeded, and nothing else of it.
pub(crate) fn check(
    result: &CallToolResult,
    allowed: StructuredContent,
    schema: Option<&Schema>,
) -> Result<(), CallError> {
    if result.failed() {
        return Ok(());
    }
    match (&result.structured_content, schema) {
        (Some(value), _) if allowed != StructuredContent::Any && !value.is_object() => Err(CallError::Mismatch(
            "it must be an object in this revision of the protocol".to_owned(),
        )),
        (Some(value), Some(schema)) => schema
            .check(value)
            .map_err(|mismatch| CallError::Mismatch(mismatch.to_string())),
        (None, Some(_)) => Err(CallError::Mismatch(
            "there is none, though the tool has an output schema".to_owned(),
        )),
        (_, None) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tool(name: &str, output: Value) -> Tool {
        Tool {
            name: name.to_owned(),
            input_schema: json!({}),
            output_schema: Some(output),
            ..Tool::default()
        }
    }

    #[test]
    fn a_schema_is_compiled_again_only_when_it_changed() {
        let mut outputs = Outputs::default();
        let kept = tool("kept", json!({ "type": "object" }));
        assert!(
            outputs
                .replace(1, &[kept.clone(), tool("changed", json!({ "type": "object" }))])
                .is_empty()
        );
        let before = [outputs.schema("kept").unwrap(), outputs.schema("changed").unwrap()];
        assert!(
            outputs
                .replace(2, &[kept, tool("changed", json!({ "type": "array" }))])
                .is_empty()
        );
        assert!(Arc::ptr_eq(&before[0], &outputs.schema("kept").unwrap()));
        assert!(!Arc::ptr_eq(&before[1], &outputs.schema("changed").unwrap()));
        outputs.replace(3, &[]);
        assert!(outputs.schema("kept").is_none());
    }

    #[test]
    fn only_the_structured_result_of_a_success_is_checked() {
        let schema = Schema::compile(&json!({ "type": "object", "additionalProperties": false })).unwrap();
        let result = |structured: Option<Value>, failed: bool| CallToolResult {
            structured_content: structured,
            is_error: Some(failed),
            ..CallToolResult::text_result("text")
        };
        let fits = |result: CallToolResult| check(&result, StructuredContent::Any, Some(&schema)).is_ok();
        assert!(fits(result(Some(json!({})), false)));
        assert!(!fits(result(Some(json!({ "a": 1 })), false)));
        assert!(!fits(result(None, false)));
        assert!(fits(result(None, true)) && fits(result(Some(json!(7)), true)));
    }

    #[test]
    fn null_is_a_structured_result_where_any_value_is() {
        let result = CallToolResult {
            structured_content: Some(Value::Null),
            ..CallToolResult::default()
        };
        assert!(check(&result, StructuredContent::Any, None).is_ok());
        assert!(check(&result, StructuredContent::Object, None).is_err());
        assert_eq!(Called(result).structured::<Option<u8>>(), Ok(None));
    }
}
