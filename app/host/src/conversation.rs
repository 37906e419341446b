//! What was said: by the person, by the model, by the tools.

use serde_json::Value;
use trunkline_gate::Outcome;

/// What a model is told about a call that was never brought to an end.
const GIVEN_UP: &str = "the call was given up before it had a result; it may have been carried out";

/// One thing that was said.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Message {
    /// The person's.
    User(String),
    /// The model asks for tools.
    Calls(Vec<Call>),
    /// What became of those calls: one result for each, in their order.
    Results(Vec<CallResult>),
    /// A note of the host's to the model.
    Note(String),
    /// The model's.
    Assistant(String),
}

/// The model asks for a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Names this call within the conversation.
    pub id: String,
    /// The tool's public name.
    pub tool: String,
    /// The arguments.
    pub arguments: Value,
}

/// What became of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct CallResult {
    /// The call.
    pub id: String,
    /// What the model is told.
    pub text: String,
    /// How the call ended; none where it was never handed to the gate.
    pub outcome: Option<Outcome>,
}

impl CallResult {
    /// A result for a call that was not handed to the gate.
    fn missing(call: &Call, why: &str) -> Self {
        Self {
            id: call.id.clone(),
            text: why.to_owned(),
            outcome: None,
        }
    }
}

/// The messages of one conversation, oldest first.
///
/// Providers refuse a conversation in which a call has no result. Here that cannot be: whatever is said next, every open
/// call gets its result first, also after a cancellation.
///
/// ```
/// use trunkline_host::{Call, Conversation, Message};
/// let mut conversation = Conversation::default();
/// conversation.user("cancel order 3");
/// let call = Call { id: "1".into(), tool: "orders__cancel_order".into(), arguments: serde_json::json!({ "id": 3 }) };
/// conversation.calls(vec![call]);
/// conversation.user("what happened?"); // the call was given up
/// assert!(matches!(&conversation.messages()[2], Message::Results(results) if results.len() == 1));
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Conversation {
    messages: Vec<Message>,
    /// Calls that have no result yet.
    open: Vec<Call>,
    /// Results for the calls that have one, until all do.
    results: Vec<CallResult>,
}

impl Conversation {
    /// All messages so far.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// The person says something.
    pub fn user(&mut self, text: impl Into<String>) {
        self.close_open(GIVEN_UP);
        self.messages.push(Message::User(text.into()));
    }

    /// The model says something.
    pub fn assistant(&mut self, text: impl Into<String>) {
        self.close_open(GIVEN_UP);
        self.messages.push(Message::Assistant(text.into()));
    }

    /// The host tells the model something.
    pub fn note(&mut self, text: impl Into<String>) {
        self.close_open(GIVEN_UP);
        self.messages.push(Message::Note(text.into()));
    }

    /// The model asks for tools.
    pub fn calls(&mut self, calls: Vec<Call>) {
        self.close_open(GIVEN_UP);
        if !calls.is_empty() {
            self.open.clone_from(&calls);
            self.messages.push(Message::Calls(calls));
        }
    }

    /// What became of a call. A second result for the same call, or one for no call, is passed over.
    pub fn result(&mut self, id: &str, text: impl Into<String>, outcome: Option<Outcome>) {
        let Some(at) = self.open.iter().position(|call| call.id == id) else {
            return;
        };
        self.open.remove(at);
        self.results.push(CallResult {
            id: id.to_owned(),
            text: text.into(),
            outcome,
        });
        if self.open.is_empty() {
            self.hand_over();
        }
    }

    /// Gives every call that has no result yet this one.
    pub fn close_open(&mut self, why: &str) {
        if self.open.is_empty() {
            return;
        }
        for call in std::mem::take(&mut self.open) {
            self.results.push(CallResult::missing(&call, why));
        }
        self.hand_over();
    }

    /// Puts the results into the order of their calls.
    fn hand_over(&mut self) {
        let mut results = std::mem::take(&mut self.results);
        if let Some(Message::Calls(calls)) = self.messages.last() {
            results.sort_by_key(|result| calls.iter().position(|call| call.id == result.id));
        }
        self.messages.push(Message::Results(results));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn call(id: &str) -> Call {
        Call {
            id: id.to_owned(),
            tool: "t".to_owned(),
            arguments: json!({}),
        }
    }

    fn results(conversation: &Conversation) -> Vec<(&str, bool)> {
        let messages = conversation.messages().iter();
        let results = messages.filter_map(|message| match message {
            Message::Results(results) => Some(results),
            _ => None,
        });
        results
            .flatten()
            .map(|result| (result.id.as_str(), result.outcome.is_some()))
            .collect()
    }

    fn failed() -> Outcome {
        Outcome::Failed { why: "x".to_owned() }
    }

    #[test]
    fn two_calls_cancelled_after_the_first_have_two_results_before_the_next_text() {
        let mut conversation = Conversation::default();
        conversation.user("do both");
        conversation.calls(vec![call("a"), call("b")]);
        conversation.result("b", "done", Some(failed()));
        conversation.user("stop; what now?");
        assert_eq!(
            results(&conversation),
            [("a", false), ("b", true)],
            "in the order of the calls"
        );
        assert!(matches!(conversation.messages().last(), Some(Message::User(_))));
    }

    #[test]
    fn every_call_has_exactly_one_result() {
        let mut conversation = Conversation::default();
        conversation.calls(vec![call("a"), call("b")]);
        conversation.result("a", "1", Some(failed()));
        conversation.result("a", "again", Some(failed()));
        conversation.result("nobody's", "x", Some(failed()));
        conversation.result("b", "2", Some(failed()));
        conversation.close_open("nothing is open");
        conversation.assistant("done");
        assert_eq!(results(&conversation), [("a", true), ("b", true)]);
        assert_eq!(conversation.messages().len(), 3);
    }

    #[test]
    fn no_calls_are_no_message() {
        let mut conversation = Conversation::default();
        conversation.calls(Vec::new());
        assert!(conversation.messages().is_empty());
    }
}
