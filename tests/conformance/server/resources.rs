//! What can be read.

use serde_json::json;
use trunkline::types::{ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use trunkline::{Json, Server, UriVariables};

use crate::content::RED_PIXEL;

pub(crate) fn register(server: Server) -> Server {
    server
        .resource(
            described(
                "test://static-text",
                "static-text",
                "A text that stays the same.",
                "text/plain",
            ),
            |_: UriVariables| async { "This is the content of the static text resource." },
        )
        .resource(
            described(
                "test://static-binary",
                "static-binary",
                "A picture of one pixel.",
                "image/png",
            ),
            |_: UriVariables| async {
                ReadResourceResult::from(ResourceContents::blob("test://static-binary", "image/png", RED_PIXEL))
            },
        )
        .resource(
            described(
                "test://watched-resource",
                "watched",
                "A text to be told of.",
                "text/plain",
            ),
            |_: UriVariables| async { "This resource can be watched." },
        )
        .resource_template(
            ResourceTemplate {
                uri_template: "test://template/{id}/data".to_owned(),
                name: "template".to_owned(),
                description: Some("Shows the id of its address.".to_owned()),
                mime_type: Some("application/json".to_owned()),
                ..ResourceTemplate::default()
            },
            |variables: UriVariables| async move {
                let id = variables.text("id").unwrap_or_default();
                Json(json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") }))
            },
        )
}

fn described(uri: &str, name: &str, description: &str, mime_type: &str) -> Resource {
    Resource {
        description: Some(description.to_owned()),
        mime_type: Some(mime_type.to_owned()),
        ..Resource::new(uri, name)
    }
}
