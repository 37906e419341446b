//! What results look like in a revision: the adapter at the edge.
//!
//! Servers make results in the shape of the newest revision; here they get what that revision requires,
//! or lose what an older one does not know.

use serde::Serialize;
use serde_json::{Map, Value};
use trunkline_types::{
    CacheScope, CallToolResult, Content, Implementation, JsonText, Profile, Prompt, PromptMessage, Resource,
    ResourceTemplate, ResultType, ServerResult, StructuredContent, Tool, meta_key,
};

/// The shape of one revision, with what its results must carry.
#[derive(Debug, Clone, Copy)]
pub struct Shape<'a> {
    /// The revision's facts.
    pub profile: &'static Profile,
    /// The server, named in each modern result.
    pub server: &'a Implementation,
}

/// A result as the modern era writes it.
#[derive(Serialize)]
struct Typed<'a, R> {
    #[serde(rename = "resultType")]
    kind: &'a ResultType,
    #[serde(flatten)]
    result: &'a R,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<ServerInfo<'a>>,
}

#[derive(Serialize)]
struct ServerInfo<'a> {
    #[serde(rename = "io.modelcontextprotocol/serverInfo")]
    server: &'a Implementation,
}

impl Shape<'_> {
    /// Writes a complete result.
    ///
    /// # Errors
    /// If it cannot be written as JSON.
    pub fn complete(&self, result: &mut impl ServerResult) -> serde_json::Result<JsonText> {
        self.write(result, &ResultType::Complete)
    }

    /// Writes a result of some type.
    ///
    /// # Errors
    /// If it cannot be written as JSON.
    pub fn write(&self, result: &mut impl ServerResult, kind: &ResultType) -> serde_json::Result<JsonText> {
        if let Some(hints) = result.cache_hints_mut() {
            if self.profile.cache_hints {
                // Nothing is known to stay: stale at once and not shared, until the server says otherwise.
                hints.ttl_ms.get_or_insert(0);
                hints.scope.get_or_insert(CacheScope::Private);
            } else {
                (*hints.ttl_ms, *hints.scope) = (None, None);
            }
        }
        let bulk = result.bulk();
        if !self.profile.result_type {
            return JsonText::write_bulky(result, bulk);
        }
        if result.meta_mut().is_empty() {
            // Almost every result: nothing is built to name the server.
            let meta = Some(ServerInfo { server: self.server });
            return JsonText::write_bulky(&Typed { kind, result, meta }, bulk);
        }
        if !result.meta_mut().contains_key(meta_key::SERVER_INFO) {
            let server = serde_json::to_value(self.server)?;
            result.meta_mut().insert(meta_key::SERVER_INFO.to_owned(), server);
        }
        let named = Typed {
            kind,
            result,
            meta: None,
        };
        JsonText::write_bulky(&named, bulk)
    }

    /// Fits a tool result: structured content and content types that the revision knows.
    pub fn fit_call(&self, result: &mut CallToolResult) {
        let keep = match self.profile.structured_content {
            StructuredContent::Absent => false,
            StructuredContent::Object => result.structured_content.as_ref().is_some_and(Value::is_object),
            StructuredContent::Any => true,
        };
        if !keep {
            result.structured_content = None;
        }
        for content in &mut result.content {
            self.fit_content(content);
        }
    }

    /// Fits a message of a prompt.
    pub fn fit_message(&self, message: &mut PromptMessage) {
        self.fit_content(&mut message.content);
    }

    /// Content that the revision does not know becomes text that says what it was.
    fn fit_content(&self, content: &mut Content) {
        let text = match content {
            Content::Audio(audio) if !self.profile.audio_content => {
                format!(
                    "[audio of type {}, which this revision of the protocol cannot carry]",
                    audio.mime_type
                )
            }
            Content::ResourceLink(link) if !self.profile.resource_links => {
                format!(
                    "[resource {}: {}]",
                    link.title.as_deref().unwrap_or(&link.name),
                    link.uri
                )
            }
            _ => return,
        };
        *content = Content::text(text);
    }

    /// Fits the definition of a tool.
    pub fn fit_tool(&self, tool: &mut Tool) {
        let keep = match self.profile.structured_content {
            StructuredContent::Absent => false,
            StructuredContent::Object => tool
                .output_schema
                .as_ref()
                .and_then(|s| s.get("type"))
                .is_some_and(|kind| kind == "object"),
            StructuredContent::Any => true,
        };
        if !keep {
            tool.output_schema = None;
        }
        if !self.profile.tool_annotations {
            tool.annotations = None;
        }
        self.fit_definition(&mut tool.title, &mut tool.icons, &mut tool.meta);
    }

    /// Fits the definition of a resource.
    pub fn fit_resource(&self, resource: &mut Resource) {
        self.fit_definition(&mut resource.title, &mut resource.icons, &mut resource.meta);
    }

    /// Fits the definition of a resource template.
    pub fn fit_template(&self, template: &mut ResourceTemplate) {
        self.fit_definition(&mut template.title, &mut template.icons, &mut template.meta);
    }

    /// Fits the definition of a prompt.
    pub fn fit_prompt(&self, prompt: &mut Prompt) {
        if !self.profile.titles {
            for argument in prompt.arguments.iter_mut().flatten() {
                argument.title = None;
            }
        }
        self.fit_definition(&mut prompt.title, &mut prompt.icons, &mut prompt.meta);
    }

    fn fit_definition<I>(&self, title: &mut Option<String>, icons: &mut Option<I>, meta: &mut Map<String, Value>) {
        if !self.profile.titles {
            *title = None;
            meta.clear();
        }
        if !self.profile.icons {
            *icons = None;
        }
    }

    /// Fits the description of a program.
    pub fn fit_implementation(&self, implementation: &mut Implementation) {
        if !self.profile.titles {
            implementation.title = None;
        }
        if !self.profile.icons {
            implementation.icons = None;
            implementation.description = None;
            implementation.website_url = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use trunkline_types::{CallToolResult, ListToolsResult, Revision};

    fn shape(revision: Revision, server: &Implementation) -> Shape<'_> {
        Shape {
            profile: revision.profile(),
            server,
        }
    }

    #[test]
    fn structured_content_follows_the_revision() {
        let server = Implementation::new("s", "1");
        let kept = |revision: Revision, value: Value| {
            let mut result = CallToolResult {
                structured_content: Some(value),
                ..CallToolResult::text_result("t")
            };
            shape(revision, &server).fit_call(&mut result);
            result.structured_content.is_some()
        };
        let object: Vec<bool> = Revision::ALL.into_iter().map(|r| kept(r, json!({"a": 1}))).collect();
        assert_eq!(object, [false, false, true, true, true]);
        let array: Vec<bool> = Revision::ALL.into_iter().map(|r| kept(r, json!([1]))).collect();
        assert_eq!(array, [false, false, false, false, true]);
    }

    #[test]
    fn only_modern_results_carry_type_hints_and_server() {
        let server = Implementation::new("s", "1");
        let mut list = ListToolsResult::default();
        let modern = shape(Revision::LATEST, &server).complete(&mut list).unwrap();
        assert_eq!(
            modern.read::<Value>().unwrap(),
            json!({"resultType": "complete", "tools": [], "ttlMs": 0, "cacheScope": "private",
                   "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "s", "version": "1"}}})
        );
        let mut list = ListToolsResult {
            ttl_ms: Some(5),
            ..ListToolsResult::default()
        };
        let legacy = shape(Revision::LATEST_LEGACY, &server).complete(&mut list).unwrap();
        assert_eq!(legacy.as_bytes(), br#"{"tools":[]}"#);
    }
}
