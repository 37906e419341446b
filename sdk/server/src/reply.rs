//! What a tool may return.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use trunkline_types::{CallToolResult, Content};

use crate::ToolError;
use crate::schemas::output_schema;

/// A structured result: its schema becomes the tool's output schema, its JSON is also given as text for
/// clients that read no structure
/// ([structured content](https://modelcontextprotocol.io/specification/2026-07-28/server/tools#structured-content)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Json<T>(pub T);

/// Something that a tool may return: text, [`Json`], content, a whole result, or a `Result` of these.
pub trait IntoToolResult {
    /// The schema of its structured part, if it has one.
    fn output_schema() -> Option<Value> {
        None
    }

    /// The result.
    ///
    /// # Errors
    /// If the tool failed.
    fn into_tool_result(self) -> Result<CallToolResult, ToolError>;
}

/// A structured result without content gets its JSON as text, for clients that read no structure.
pub(crate) fn complete_text(result: &mut CallToolResult) {
    if let (true, Some(structure)) = (result.content.is_empty(), &result.structured_content) {
        // A value is always JSON. Written into a buffer it takes half of what `Display` takes.
        let text = serde_json::to_string(structure).unwrap_or_default();
        result.content.push(Content::text(text));
    }
}

impl IntoToolResult for CallToolResult {
    fn into_tool_result(self) -> Result<CallToolResult, ToolError> {
        Ok(self)
    }
}

impl IntoToolResult for String {
    fn into_tool_result(self) -> Result<CallToolResult, ToolError> {
        Ok(CallToolResult::text_result(self))
    }
}

impl IntoToolResult for &'static str {
    fn into_tool_result(self) -> Result<CallToolResult, ToolError> {
        Ok(CallToolResult::text_result(self))
    }
}

impl IntoToolResult for () {
    fn into_tool_result(self) -> Result<CallToolResult, ToolError> {
        Ok(CallToolResult::text_result("done"))
    }
}

impl IntoToolResult for Content {
    fn into_tool_result(self) -> Result<CallToolResult, ToolError> {
        vec![self].into_tool_result()
    }
}

impl IntoToolResult for Vec<Content> {
    fn into_tool_result(self) -> Result<CallToolResult, ToolError> {
        Ok(CallToolResult {
            content: self,
            ..CallToolResult::default()
        })
    }
}

impl<T: Serialize + JsonSchema> IntoToolResult for Json<T> {
    fn output_schema() -> Option<Value> {
        Some(output_schema::<T>())
    }

    fn into_tool_result(self) -> Result<CallToolResult, ToolError> {
        let value = serde_json::to_value(&self.0).map_err(ToolError::internal)?;
        let mut result = CallToolResult {
            structured_content: Some(value),
            ..CallToolResult::default()
        };
        complete_text(&mut result);
        Ok(result)
    }
}

/// A structured result with a text of its own, for people and for clients that read no structure.
impl<T: Serialize + JsonSchema> IntoToolResult for (String, Json<T>) {
    fn output_schema() -> Option<Value> {
        Json::<T>::output_schema()
    }

    fn into_tool_result(self) -> Result<CallToolResult, ToolError> {
        let mut result = self.1.into_tool_result()?;
        result.content.insert(0, Content::text(self.0));
        Ok(result)
    }
}

impl<R: IntoToolResult, E: Into<ToolError>> IntoToolResult for Result<R, E> {
    fn output_schema() -> Option<Value> {
        R::output_schema()
    }

    fn into_tool_result(self) -> Result<CallToolResult, ToolError> {
        self.map_err(Into::into)?.into_tool_result()
    }
}
