//! Tools that answer at once, one for each kind of content and one that fails.

use schemars::JsonSchema;
use serde::Deserialize;
use trunkline::types::{Content, ResourceContents};
use trunkline::{NoArguments, Server, Tool, ToolError};

/// A picture of one red pixel.
pub(crate) const RED_PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/// A sound without a sample: the 44 bytes of a header, 8 kHz, one channel, 16 bits.
const SILENCE: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=";

pub(crate) fn register(server: Server) -> Server {
    server
        .tool("greet", greet)
        .tool("test_simple_text", described("Answers with a text.", simple_text))
        .tool("test_image_content", described("Answers with a picture.", image))
        .tool("test_audio_content", described("Answers with a sound.", audio))
        .tool(
            "test_embedded_resource",
            described("Answers with a resource.", embedded),
        )
        .tool(
            "test_multiple_content_types",
            described("Answers with a text, a picture and a resource.", mixed),
        )
        .tool("test_error_handling", described("Fails each time.", fail))
}

/// A tool without arguments has no argument type whose comment could describe it.
pub(crate) fn described<Marker>(what: &str, handler: impl trunkline::IntoTool<Marker>) -> Tool {
    handler.into_tool().description(what)
}

/// Greets somebody.
#[derive(Deserialize, JsonSchema)]
struct Greet {
    /// Who is greeted.
    name: String,
}

async fn greet(ask: Greet) -> String {
    format!("Hello, {}!", ask.name)
}

async fn simple_text(_: NoArguments) -> &'static str {
    "This is a simple text response for testing."
}

async fn image(_: NoArguments) -> Content {
    Content::image(RED_PIXEL, "image/png")
}

async fn audio(_: NoArguments) -> Content {
    Content::audio(SILENCE, "audio/wav")
}

async fn embedded(_: NoArguments) -> Content {
    let text = "This is an embedded resource content.";
    Content::resource(ResourceContents::text("test://embedded-resource", "text/plain", text))
}

async fn mixed(_: NoArguments) -> Vec<Content> {
    let data = r#"{"test":"data","value":123}"#;
    vec![
        Content::text("Multiple content types test:"),
        Content::image(RED_PIXEL, "image/png"),
        Content::resource(ResourceContents::text(
            "test://mixed-content-resource",
            "application/json",
            data,
        )),
    ]
}

async fn fail(_: NoArguments) -> Result<String, ToolError> {
    Err(ToolError::new("This tool intentionally returns an error for testing"))
}
