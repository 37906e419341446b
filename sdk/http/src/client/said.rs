//! What a message that came says to the request that it came for.

use trunkline_types::{ErrorObject, Malformed, Message, RequestId};

#[derive(Debug, PartialEq)]
pub(crate) enum Said {
    /// It answers the request.
    Answer,
    /// An error that names no request: it is about the one that it came for.
    OwnError(ErrorObject),
    /// Another message.
    Other,
    /// No message.
    Junk,
}

/// Reads as much of a message as it takes to say.
pub(crate) fn read(bytes: &[u8], id: &RequestId) -> Said {
    if is_plain_answer(bytes, id) {
        return Said::Answer;
    }
    match Message::parse(bytes) {
        Err(Malformed::Batch) => {
            let parts = Message::split_batch(bytes).unwrap_or_default();
            // No batch holds another one, however deep: only messages are read.
            let mut parts = parts
                .iter()
                .map(|part| read_message(Message::parse(part.get().as_bytes()), id));
            if parts.any(|said| said == Said::Answer) {
                Said::Answer
            } else {
                Said::Other
            }
        }
        message => read_message(message, id),
    }
}

fn read_message(message: Result<Message<'_>, Malformed>, id: &RequestId) -> Said {
    match message {
        Ok(Message::Response { id: Some(other), .. }) if other == *id => Said::Answer,
        Ok(Message::Response {
            id: None,
            outcome: Err(error),
        }) => Said::OwnError(error),
        Ok(_) => Said::Other,
        // The request fails by it, as it would have to wait for ever.
        Err(Malformed::NotAMessage {
            id: Some(other),
            answers: true,
            ..
        }) if other == *id => Said::Answer,
        Err(_) => Said::Junk,
    }
}

/// The error in the body of a refusal, whichever request it names: the body belongs to one only, and some servers
/// write an id of their own into it.
pub(crate) fn read_error(body: &[u8]) -> Option<ErrorObject> {
    match Message::parse(body) {
        Ok(Message::Response {
            outcome: Err(error), ..
        }) => Some(error),
        _ => None,
    }
}

/// Whether it begins as nearly every answer begins; then the rest need not be looked at.
fn is_plain_answer(bytes: &[u8], id: &RequestId) -> bool {
    let Some(rest) = bytes.strip_prefix(br#"{"jsonrpc":"2.0","id":"#) else {
        return false;
    };
    let mut name = Vec::with_capacity(24);
    id.write_json(&mut name);
    let Some(rest) = rest.strip_prefix(&name[..]) else {
        return false;
    };
    rest.starts_with(br#","result":"#) || rest.starts_with(br#","error":"#)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_known_however_it_is_written() {
        let said = |text: &str| read(text.as_bytes(), &7.into());
        for text in [
            r#"{"jsonrpc":"2.0","id":7,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":""}}"#,
            r#" {"result":{}, "id": 7, "jsonrpc":"2.0"}"#,
            r#"{"id":7,"result":{}}"#,
            r#"[{"jsonrpc":"2.0","method":"x"},{"jsonrpc":"2.0","id":7,"result":{}}]"#,
        ] {
            assert_eq!(said(text), Said::Answer, "{text}");
        }
        for text in [
            r#"{"jsonrpc":"2.0","id":"7","result":{}}"#,
            r#"{"jsonrpc":"2.0","id":77,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","method":"x"}"#,
            "[]",
        ] {
            assert_eq!(said(text), Said::Other, "{text}");
        }
        for text in ["x", "", "0", "{}", r#"{"id":8,"result":{}}"#] {
            assert_eq!(said(text), Said::Junk, "{text}");
        }
        for id in ["", r#""id":null,"#] {
            let text = format!(r#"{{"jsonrpc":"2.0",{id}"error":{{"code":-32600,"message":"no"}}}}"#);
            assert_eq!(said(&text), Said::OwnError(ErrorObject::invalid_request("no")));
        }
    }

    #[test]
    fn batches_within_batches_are_not_looked_into() {
        let deep = |inner: &str| format!("{}{inner}{}", "[".repeat(50_000), "]".repeat(50_000));
        for inner in ["", r#"{"jsonrpc":"2.0","id":7,"result":{}}"#] {
            assert_eq!(
                read(deep(inner).as_bytes(), &7.into()),
                Said::Other,
                "no batch holds another"
            );
        }
    }

    #[test]
    fn the_error_of_a_refusal_may_name_anything() {
        let error = |text: &str| read_error(text.as_bytes()).map(|error| error.code);
        assert_eq!(
            error(r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":""}}"#),
            Some(-32600)
        );
        assert_eq!(error(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#), None);
        assert_eq!(error(r#"{"error":"not found"}"#), None);
    }
}
