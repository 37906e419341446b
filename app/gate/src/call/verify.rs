//! What came back, made fit for a model and a terminal: checked, cleaned, cut. The whole is kept.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io;

use serde_json::Value;
use trunkline_client::CallError;
use trunkline_types::{CallToolResult, Content, ResourceContents};

use super::outcome::Structured;
use super::{Answer, Outcome};
use crate::text::{Flag, clean, clean_value, one_line};

/// Most bytes of text, and of structured result, that a model is given, unless the gate is told otherwise.
pub const DEFAULT_MAX_TEXT: usize = 256 << 10;

/// What a server answered, or why there is no answer.
pub(crate) type Received = Result<CallToolResult, CallError>;

/// `server` is the id of the server, for messages.
pub(crate) fn verify(server: &str, result: Received, max_text: usize) -> Outcome {
    match result {
        Ok(result) => Outcome::Answered(Box::new(answer(result, max_text))),
        // The tool ran: that is known, and so it is not a call of unknown outcome.
        Err(CallError::Mismatch(why)) => {
            let why = one_line(&why, 500);
            let text = format!("The tool ran, and its result is not what it must be: {why}. Do not rely on it.");
            let mut answer = answer(CallToolResult::error(text), max_text);
            answer.flags.insert(Flag::SchemaMismatch);
            Outcome::Answered(Box::new(answer))
        }
        Err(error) => {
            let why = format!(
                "server `{}`: {}",
                one_line(server, 100),
                one_line(&error.to_string(), 1500)
            );
            if error.may_have_run() {
                Outcome::Unknown { why }
            } else {
                Outcome::Failed { why }
            }
        }
    }
}

fn answer(result: CallToolResult, max_text: usize) -> Answer {
    let mut flags = BTreeSet::new();
    let parts = parts(&result);
    let cleaned = match &parts[..] {
        [only] => clean(only),
        several => clean(&several.join("\n")),
    };
    flags.extend(cleaned.flags);
    let (text, cut) = cut(cleaned.text, max_text);
    let structured = result.structured_content.as_ref();
    let structured = structured.map(|value| clean_value(value, &mut flags));
    let too_long = structured.as_deref().is_some_and(|value| length(value) > max_text);
    if cut || too_long {
        flags.insert(Flag::Cut);
    }
    let structured = match structured.filter(|_| !too_long) {
        None => Structured::Absent,
        Some(Cow::Borrowed(_)) => Structured::AsItCame,
        Some(Cow::Owned(cleaned)) => Structured::Cleaned(cleaned),
    };
    Answer {
        text,
        structured,
        is_error: result.failed(),
        flags,
        whole: result,
    }
}

/// How many bytes a value has as JSON.
fn length(value: &Value) -> usize {
    struct Count(usize);
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // Counting cannot fail, and a value is always JSON.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}

/// The pieces of a result in words. The structured result, which servers repeat as text for older clients, is left out
/// where there is other text beside it.
fn parts(result: &CallToolResult) -> Vec<Cow<'_, str>> {
    let repeats = |content: &&Content| {
        let parsed = content.as_text().map(serde_json::from_str::<Value>);
        parsed.and_then(Result::ok).as_ref() == result.structured_content.as_ref()
    };
    let is_text = |content: &&Content| content.as_text().is_some_and(|text| !text.trim().is_empty());
    // Of one piece alone there is no other: then none has to be compared.
    let may_repeat = result.structured_content.is_some() && result.content.len() > 1;
    let other_text = may_repeat && result.content.iter().filter(is_text).any(|content| !repeats(&content));
    let kept = result
        .content
        .iter()
        .filter(|content| !(other_text && repeats(content)));
    kept.map(content_text).collect()
}

/// One piece of content in words: text as it is, the rest named.
pub(crate) fn content_text(content: &Content) -> Cow<'_, str> {
    let size = |base64: &str| base64.len() / 4 * 3;
    let named = match content {
        Content::Text(text) => return text.text.as_str().into(),
        Content::Image(media) => format!("[picture, {}, {} bytes]", media.mime_type, size(&media.data)),
        Content::Audio(media) => format!("[sound, {}, {} bytes]", media.mime_type, size(&media.data)),
        Content::ResourceLink(resource) => format!("[resource {}: {}]", resource.uri, resource.name),
        Content::Resource(embedded) => resource_text(&embedded.resource),
        Content::Other(object) => {
            let kind = object.get("type").and_then(Value::as_str).unwrap_or("unknown");
            format!("[content of type {kind}]")
        }
    };
    named.into()
}

/// The contents of a resource in words.
pub(crate) fn resource_text(contents: &ResourceContents) -> String {
    match contents {
        ResourceContents::Text(body) => body.body.text.clone(),
        ResourceContents::Blob(body) => {
            let kind = body.mime_type.as_deref().unwrap_or("bytes");
            format!("[{kind}, {} bytes, {}]", body.body.blob.len() / 4 * 3, body.uri)
        }
        ResourceContents::Other(_) => "[contents that are neither text nor bytes]".to_owned(),
    }
}

/// The first `most` bytes, at a character's border, with a note of what is missing.
fn cut(mut text: String, most: usize) -> (String, bool) {
    if text.len() <= most {
        return (text, false);
    }
    let whole = text.len();
    let mut end = most;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    let _ = write!(text, "\n[cut here: {end} of {whole} bytes]");
    (text, true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use trunkline_client::Undelivered;

    fn answered(result: CallToolResult, max_text: usize) -> Answer {
        match verify("s", Ok(result), max_text) {
            Outcome::Answered(answer) => *answer,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_result_is_cleaned_and_the_whole_is_kept() {
        let mut result = CallToolResult::text_result("ok\x1b[2J");
        result.structured_content = Some(json!({ "name": "a\u{202e}" }));
        let answer = answered(result.clone(), 1000);
        assert_eq!(answer.text, r"ok\x1b[2J");
        assert_eq!(answer.structured(), Some(&json!({ "name": r"a\u{202e}" })));
        assert_eq!(answer.flags.len(), 2);
        assert_eq!(answer.whole, result);
        assert!(
            Outcome::Answered(Box::new(answer))
                .for_model()
                .contains("About this result")
        );
    }

    #[test]
    fn a_long_result_is_cut_at_a_character_and_says_so() {
        let mut result = CallToolResult::text_result("가".repeat(10));
        result.structured_content = Some(json!({ "long": "x".repeat(40) }));
        let answer = answered(result, 10);
        assert_eq!(answer.text, "가가가\n[cut here: 9 of 30 bytes]");
        assert_eq!(answer.structured(), None);
        assert_eq!(answer.flags, BTreeSet::from([Flag::Cut]));
        assert_eq!(answer.whole.text().chars().count(), 10);
        let exact = answered(CallToolResult::text_result("x".repeat(10)), 10);
        assert!(exact.flags.is_empty() && exact.text.len() == 10);
    }

    #[test]
    fn a_structured_result_that_is_repeated_as_text_is_not_told_twice() {
        let structured = json!({ "a": 1.5, "b": "x" });
        let mut result = CallToolResult::text_result("In words.");
        result.content.push(Content::text(structured.to_string()));
        result.structured_content = Some(structured.clone());
        assert_eq!(answered(result.clone(), 1000).text, "In words.");
        result.content.remove(0);
        assert_eq!(
            answered(result, 1000).text,
            structured.to_string(),
            "there is no other text"
        );
    }

    #[test]
    fn what_is_not_text_is_named() {
        let mut result = CallToolResult::text_result("see");
        result.content.push(Content::image("AAAA", "image/png"));
        result.content.push(Content::Other(
            json!({ "type": "hologram" }).as_object().unwrap().clone(),
        ));
        assert_eq!(
            answered(result, 1000).text,
            "see\n[picture, image/png, 3 bytes]\n[content of type hologram]"
        );
    }

    #[test]
    fn an_unknown_outcome_is_not_a_failure() {
        let kind = |error| verify("s", Err(error), 1000).kind();
        assert_eq!(kind(CallError::TimedOut), "unknown");
        assert_eq!(kind(CallError::Lost { diagnosis: None }), "unknown");
        assert_eq!(kind(CallError::Closed { diagnosis: None }), "failed");
        let undelivered = |may_have_run| {
            CallError::Undelivered(Undelivered {
                may_have_run,
                status: None,
                why: "x".into(),
            })
        };
        assert_eq!(kind(undelivered(true)), "unknown");
        assert_eq!(kind(undelivered(false)), "failed");
        assert_eq!(kind(CallError::Mismatch("x".into())), "answered");
        let Outcome::Answered(answer) = verify("s", Err(CallError::Mismatch("x".into())), 1000) else {
            panic!("it ran");
        };
        assert!(answer.is_error && answer.flags.contains(&Flag::SchemaMismatch));
    }
}
