//! A person says yes or no to one call, over its exact bytes.

use std::future::Future;
use std::pin::Pin;

use super::decide::Asking;
use super::{Approved, DecidedBy, Stop, ToolCall};
use crate::text::{one_line, visible_json};

/// Most characters of a server's description that a question shows.
const MAX_DESCRIPTION: usize = 500;

/// Most bytes of arguments that a person is asked about. Nobody reads more of them before saying yes, and arguments that
/// are shown in part would not be what is approved.
pub const MAX_ASKED: usize = 64 << 10;

/// What a person is asked. Everything in it is fit to show: no control characters, nothing hidden, no runs of spaces.
///
/// Its parts stand in the order in which to show them: what the server says of itself comes first, and what the gate
/// says, the reason and the arguments, comes last, where no text of a server's follows.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Question {
    /// The id of the server in the configuration.
    pub server: String,
    /// The tool's own name.
    pub tool: String,
    /// The name that the server shows for it, where it differs.
    pub title: Option<String>,
    /// How the server describes it.
    pub description: Option<String>,
    /// What the server says about the tool: claims, no proofs.
    pub claims: Vec<String>,
    /// Why a person is asked.
    pub reason: String,
    /// The arguments, as JSON: exactly what is sent.
    pub arguments: String,
    /// The SHA-256 over server, definition and arguments, to which the answer is bound.
    pub digest: String,
}

impl Question {
    pub(crate) fn new(asking: &Asking) -> Self {
        let tool = asking.call.tool();
        let definition = tool.definition();
        let shown = definition.display_name();
        Self {
            server: one_line(tool.server(), 100),
            tool: one_line(&definition.name, 200),
            title: (shown != definition.name).then(|| one_line(shown, 200)),
            description: definition
                .description
                .as_deref()
                .map(|text| one_line(text, MAX_DESCRIPTION)),
            claims: claims(&asking.call),
            reason: asking.reason.clone(),
            arguments: visible_json(&serde_json::Value::Object(asking.call.arguments().clone())),
            digest: asking.call.digest().to_owned(),
        }
    }
}

fn claims(call: &ToolCall) -> Vec<String> {
    let Some(annotations) = &call.tool().definition().annotations else {
        return Vec::new();
    };
    let said = [
        (annotations.read_only_hint, "changes nothing", "changes things"),
        (annotations.destructive_hint, "may destroy things", "destroys nothing"),
        (
            annotations.idempotent_hint,
            "may be repeated without harm",
            "does it again when repeated",
        ),
        (
            annotations.open_world_hint,
            "reaches outside systems",
            "stays within its own system",
        ),
    ];
    said.into_iter()
        .filter_map(|(hint, yes, no)| Some(if hint? { yes } else { no }.to_owned()))
        .collect()
}

/// What a person said.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// Yes, this once.
    Allow,
    /// No.
    Deny,
    /// Nobody could be asked, for this reason.
    Unavailable(String),
}

/// Asks a person.
///
/// The answer to an elicitation never comes here: what a server's question was answered is no consent.
pub trait Approver: Send + Sync {
    /// Shows the question and waits for the verdict.
    fn approve<'a>(&'a self, question: &'a Question) -> Pin<Box<dyn Future<Output = Verdict> + Send + 'a>>;
}

/// Asks about a call. The approval is for these bytes and for one use.
pub(crate) async fn approve(asking: Asking, approver: Option<&dyn Approver>) -> Result<Approved<ToolCall>, Stop> {
    let question = Question::new(&asking);
    if question.arguments.len() > MAX_ASKED {
        return Err(Stop::refused(
            DecidedBy::Rule,
            format!(
                "it needs a person's approval ({}), and its arguments are too long to be read: {} bytes, {MAX_ASKED} at \
                 most",
                asking.reason,
                question.arguments.len()
            ),
        ));
    }
    let verdict = match approver {
        Some(approver) => approver.approve(&question).await,
        None => Verdict::Unavailable("nobody can be asked here".to_owned()),
    };
    let reason = &asking.reason;
    match verdict {
        Verdict::Allow => {
            let reason = format!("approved; asked because {reason}");
            Ok(Approved::new(asking.call, DecidedBy::Person, reason))
        }
        Verdict::Deny => Err(Stop::refused(DecidedBy::Person, "the person refused this call")),
        Verdict::Unavailable(why) => Err(Stop::refused(
            DecidedBy::Rule,
            format!("it needs a person's approval ({reason}), and {why}"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Trust;
    use crate::call::unknown::Unknown;
    use crate::call::{Proposal, decide, resolve, validate};
    use crate::catalogue::Catalogue;
    use serde_json::json;
    use trunkline_types::{Tool, ToolAnnotations};

    struct Says(Verdict);

    impl Approver for Says {
        fn approve<'a>(&'a self, _: &'a Question) -> Pin<Box<dyn Future<Output = Verdict> + Send + 'a>> {
            Box::pin(async { self.0.clone() })
        }
    }

    fn asking() -> Asking {
        asking_with(json!({ "table": "orders\u{200b}\r" }))
    }

    fn asking_with(arguments: serde_json::Value) -> Asking {
        let tool = Tool {
            name: "drop\x1b[2J".to_owned(),
            title: Some("Harmless \u{202e}!".to_owned()),
            description: Some(format!("line\n{}line\x07", " \u{a0}\u{2800}\u{3000}".repeat(90))),
            input_schema: json!({ "type": "object" }),
            annotations: Some(ToolAnnotations {
                read_only_hint: Some(false),
                destructive_hint: Some(true),
                ..ToolAnnotations::default()
            }),
            ..Tool::default()
        };
        let mut catalogue = Catalogue::default();
        catalogue.add("s", Trust::Trusted, vec![tool]);
        let name = catalogue.tools().next().unwrap().name().to_owned();
        let resolved = resolve::resolve(&catalogue, Proposal::new(name, arguments)).unwrap();
        match decide::decide(validate::validate(resolved).unwrap(), &Unknown::default()) {
            decide::Decided::Ask(asking) => asking,
            other => panic!("{other:?}"),
        }
    }

    async fn refused(approver: Option<&dyn Approver>) -> crate::Decision {
        match approve(asking(), approver).await {
            Err(Stop::Refused(decision)) => decision,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_question_shows_the_exact_arguments_and_nothing_hidden() {
        let question = Question::new(&asking());
        assert_eq!(question.tool, r"drop\x1b[2J");
        assert_eq!(question.title.as_deref(), Some(r"Harmless \u{202e}!"));
        assert_eq!(question.arguments, r#"{"table":"orders\u200b\r"}"#);
        assert_eq!(question.description.as_deref(), Some(r"line line\x07"));
        assert_eq!(question.claims, ["changes things", "may destroy things"]);
        assert!(question.reason.contains("read-only"));
    }

    #[tokio::test]
    async fn what_is_too_long_to_be_read_is_not_approved() {
        let of_length = |length: usize| asking_with(json!({ "t": "x".repeat(length - r#"{"t":""}"#.len()) }));
        let yes = Says(Verdict::Allow);
        assert!(approve(of_length(MAX_ASKED), Some(&yes)).await.is_ok());
        match approve(of_length(MAX_ASKED + 1), Some(&yes)).await {
            Err(Stop::Refused(decision)) => assert!(decision.reason.contains("65536 at most"), "{decision:?}"),
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn only_a_yes_approves() {
        let approved = approve(asking(), Some(&Says(Verdict::Allow))).await.unwrap();
        assert_eq!(approved.decision().by, DecidedBy::Person);
        let denied = refused(Some(&Says(Verdict::Deny))).await;
        assert_eq!((denied.permitted, denied.by), (false, DecidedBy::Person));
        let silent = refused(Some(&Says(Verdict::Unavailable("there is no terminal".into())))).await;
        assert!(
            silent.reason.contains("no terminal") && silent.reason.contains("read-only"),
            "{silent:?}"
        );
        assert!(refused(None).await.reason.contains("nobody"));
    }
}
