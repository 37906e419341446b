//! Permit, ask or refuse, each with its reason. A refusal is a value, not an error.

use super::unknown::{NOT_AGAIN, Unknown};
use super::{Approved, DecidedBy, Stop, ToolCall};
use crate::catalogue::{OfferedTool, Trust};
use crate::text::one_line;

/// What the rules say about a call.
#[derive(Debug)]
pub(crate) enum Decided {
    /// It runs.
    Permit(Approved<ToolCall>),
    /// A person decides.
    Ask(Asking),
    /// It does not run.
    Refuse(Stop),
}

/// A call that a person must approve first.
#[derive(Debug)]
pub(crate) struct Asking {
    pub(crate) call: ToolCall,
    /// Why it is asked about.
    pub(crate) reason: String,
}

/// The built-in rule: a tool that a trusted server calls read-only runs, a call whose outcome is unknown is not
/// repeated, and everything else is asked about.
pub(crate) fn decide(call: ToolCall, unknown: &Unknown) -> Decided {
    if unknown.holds(&call) {
        return Decided::Refuse(Stop::refused(DecidedBy::Rule, NOT_AGAIN));
    }
    match rule(call.tool()) {
        Ok(reason) => Decided::Permit(Approved::new(call, DecidedBy::Rule, reason)),
        Err(reason) => Decided::Ask(Asking { call, reason }),
    }
}

/// Why a tool runs without a question, or why a person is asked.
pub(crate) fn rule(tool: &OfferedTool) -> Result<String, String> {
    let definition = tool.definition();
    let server = one_line(tool.server(), 100);
    let annotations = definition.annotations.as_ref();
    if tool.trust() == Trust::Untrusted {
        Err(format!(
            "server `{server}` is not marked as trusted in the configuration, so what it says of its tools counts for \
             nothing"
        ))
    } else if !definition.claims_read_only() {
        Err("the server does not call this tool read-only".to_owned())
    } else if annotations.and_then(|annotations| annotations.destructive_hint) == Some(true) {
        Err("the server calls this tool read-only and destructive at once".to_owned())
    } else {
        Ok(format!("`{server}` is trusted and calls this tool read-only"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::{Proposal, resolve, validate};
    use crate::catalogue::Catalogue;
    use serde_json::json;
    use trunkline_types::{Tool, ToolAnnotations};

    fn decided(trust: Trust, read_only: Option<bool>, destructive: Option<bool>, unknown: &Unknown) -> Decided {
        let annotations = ToolAnnotations {
            read_only_hint: read_only,
            destructive_hint: destructive,
            ..ToolAnnotations::default()
        };
        let tool = Tool {
            name: "t".to_owned(),
            input_schema: json!({ "type": "object" }),
            annotations: Some(annotations),
            ..Tool::default()
        };
        let mut catalogue = Catalogue::default();
        catalogue.add("s", trust, vec![tool]);
        let resolved = resolve::resolve(&catalogue, Proposal::new("s__t", json!({}))).unwrap();
        decide(validate::validate(resolved).unwrap(), unknown)
    }

    #[test]
    fn only_a_consistent_claim_of_a_trusted_server_runs_unasked() {
        let unknown = Unknown::default();
        let permitted = |trust, read_only, destructive| {
            matches!(decided(trust, read_only, destructive, &unknown), Decided::Permit(_))
        };
        assert!(permitted(Trust::Trusted, Some(true), None));
        assert!(permitted(Trust::Trusted, Some(true), Some(false)));
        assert!(
            !permitted(Trust::Trusted, Some(true), Some(true)),
            "a contradiction is asked about"
        );
        assert!(
            !permitted(Trust::Trusted, None, Some(false)),
            "harmless is not read-only"
        );
        assert!(!permitted(Trust::Trusted, Some(false), None));
        assert!(
            !permitted(Trust::Untrusted, Some(true), None),
            "anybody can claim to be read-only"
        );
        assert!(!permitted(Trust::Untrusted, None, None));
    }

    #[test]
    fn a_call_of_unknown_outcome_is_refused_even_where_it_would_be_permitted() {
        let unknown = Unknown::default();
        let Decided::Permit(approved) = decided(Trust::Trusted, Some(true), None, &unknown) else {
            panic!("a trusted read-only tool runs");
        };
        drop(unknown.begin(approved.value()));
        match decided(Trust::Trusted, Some(true), None, &unknown) {
            Decided::Refuse(Stop::Refused(decision)) => {
                assert!(decision.reason.contains("unknown"), "{decision:?}");
            }
            other => panic!("{other:?}"),
        }
        unknown.clear();
        assert!(matches!(
            decided(Trust::Trusted, Some(true), None, &unknown),
            Decided::Permit(_)
        ));
    }
}
