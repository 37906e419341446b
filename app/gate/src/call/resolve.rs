//! From a public name to one server's tool.

use std::sync::Arc;

use serde_json::Value;

use super::{Proposal, Stop};
use crate::catalogue::{Catalogue, OfferedTool};
use crate::text::one_line;

/// A tool that exists, with arguments nobody has looked at yet.
#[derive(Debug)]
pub(crate) struct Resolved {
    pub(crate) tool: Arc<OfferedTool>,
    pub(crate) arguments: Value,
}

pub(crate) fn resolve(catalogue: &Catalogue, proposal: Proposal) -> Result<Resolved, Stop> {
    if let Some(tool) = catalogue.get(&proposal.tool) {
        return Ok(Resolved {
            tool: Arc::clone(tool),
            arguments: proposal.arguments,
        });
    }
    let wanted = one_line(&proposal.tool, 80);
    let near = catalogue.near(&proposal.tool, 3).join(", ");
    Err(Stop::Invalid(if !near.is_empty() {
        format!("there is no tool `{wanted}`; near names: {near}")
    } else if catalogue.tools().len() == 0 {
        format!("there is no tool `{wanted}`: no server offers any")
    } else {
        format!("there is no tool `{wanted}`; use one of the tools that were listed, by its exact name")
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Trust;
    use serde_json::json;
    use trunkline_types::Tool;

    #[test]
    fn an_unknown_name_is_answered_with_near_ones_and_never_guessed() {
        let mut catalogue = Catalogue::default();
        let why = |catalogue: &Catalogue, name: &str| match resolve(catalogue, Proposal::new(name, json!({}))) {
            Err(Stop::Invalid(why)) => why,
            other => panic!("{other:?}"),
        };
        assert!(why(&catalogue, "x").contains("no server offers any"));
        let tool = Tool {
            name: "get_weather".to_owned(),
            input_schema: json!({ "type": "object" }),
            ..Tool::default()
        };
        catalogue.add("weather", Trust::Trusted, vec![tool]);
        assert!(why(&catalogue, "get_weather").ends_with("near names: weather__get_weather"));
        assert!(why(&catalogue, "\x1b[2J").contains(r"\x1b[2J"));
        assert!(resolve(&catalogue, Proposal::new("weather__get_weather", json!({}))).is_ok());
    }
}
