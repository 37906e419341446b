//! The JSON-RPC envelope: what a message is, before anybody knows its method.

use std::borrow::Cow;

use serde::de::{Deserialize, Deserializer, IgnoredAny};
use serde::{Deserialize as DeriveDeserialize, Serialize};
use serde_json::value::RawValue;

use crate::{ErrorObject, RequestId};

/// One JSON-RPC message whose params or result are still raw JSON.
///
/// A message with an `id` member is never a notification, and a response carries a result or an
/// error, never both
/// ([messages](https://modelcontextprotocol.io/specification/2026-07-28/basic/index#messages)).
#[derive(Debug, Clone)]
pub enum Message<'a> {
    /// Wants exactly one response.
    Request {
        /// Names the request; the response repeats it.
        id: RequestId,
        /// The method's wire name.
        method: Cow<'a, str>,
        /// The params; `null` counts as absent.
        params: Option<&'a RawValue>,
    },
    /// Is never answered.
    Notification {
        /// The method's wire name.
        method: Cow<'a, str>,
        /// The params; `null` counts as absent.
        params: Option<&'a RawValue>,
    },
    /// Answers a request.
    Response {
        /// The id of the request; absent only where it could not be read.
        id: Option<RequestId>,
        /// The result, still raw, or the error.
        outcome: Result<&'a RawValue, ErrorObject>,
    },
}

/// Why some bytes are not a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Malformed {
    /// Not JSON at all: -32700, without an id.
    NotJson(String),
    /// An array: several messages at once, which most revisions refuse.
    Batch,
    /// JSON, but not a message: -32600, with the id where one can be read.
    NotAMessage {
        /// The id, if there is a usable one.
        id: Option<RequestId>,
        /// What is wrong.
        why: &'static str,
        /// Whether it was meant as a response: it carries a result or an error and no method. A response is
        /// never answered.
        answers: bool,
    },
}

impl Malformed {
    /// The error that a server answers with.
    pub fn to_error(&self) -> ErrorObject {
        match self {
            Self::NotJson(why) => ErrorObject::parse_error(format!("not JSON: {why}")),
            Self::Batch => ErrorObject::invalid_request("batches are not accepted here"),
            Self::NotAMessage { why, .. } => ErrorObject::invalid_request(*why),
        }
    }

    /// The id to answer under, where one could be read.
    pub fn id(&self) -> Option<&RequestId> {
        match self {
            Self::NotAMessage { id, .. } => id.as_ref(),
            Self::NotJson(_) | Self::Batch => None,
        }
    }
}

impl std::fmt::Display for Malformed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.to_error().message)
    }
}

impl std::error::Error for Malformed {}

#[derive(DeriveDeserialize)]
struct RawEnvelope<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

/// Tells a member that is `null` from one that is absent.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

impl<'a> Message<'a> {
    /// Reads one message from a JSON text.
    ///
    /// # Errors
    /// Says whether the bytes are no JSON, a batch, or JSON that is not a message.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
            Some(b'{') => Self::parse_object(bytes),
            Some(b'[') => {
                serde_json::from_slice::<IgnoredAny>(bytes).map_err(|error| Malformed::NotJson(error.to_string()))?;
                Err(Malformed::Batch)
            }
            _ => Err(match serde_json::from_slice::<IgnoredAny>(bytes) {
                Ok(_) => Malformed::NotAMessage {
                    id: None,
                    why: "a message is a JSON object",
                    answers: false,
                },
                Err(error) => Malformed::NotJson(error.to_string()),
            }),
        }
    }

    fn parse_object(bytes: &'a [u8]) -> Result<Self, Malformed> {
        // Checked as a whole, so that no part of it is checked again.
        let text = std::str::from_utf8(bytes).map_err(|error| Malformed::NotJson(error.to_string()))?;
        let raw: RawEnvelope<'a> = serde_json::from_str(text).map_err(|error| {
            if error.is_data() {
                // The one data error possible here is a member that occurs twice.
                Malformed::NotAMessage {
                    id: None,
                    why: "a member occurs twice",
                    answers: false,
                }
            } else {
                Malformed::NotJson(error.to_string())
            }
        })?;
        let id = raw.id.and_then(RequestId::from_raw);
        let answers = raw.method.is_none() && (raw.result.is_some() || raw.error.is_some());
        let refuse = |why| {
            Err(Malformed::NotAMessage {
                id: id.clone(),
                why,
                answers,
            })
        };
        if raw.jsonrpc.is_none_or(|version| version.get() != "\"2.0\"") {
            return refuse("`jsonrpc` must be \"2.0\"");
        }
        let params = raw.params.filter(|params| params.get() != "null");
        // A `null` beside the other one is how some libraries write "not this one".
        let is_null = |raw: &RawValue| raw.get() == "null";
        let (result, error) = match (raw.result, raw.error) {
            (Some(result), Some(error)) if is_null(error) => (Some(result), None),
            (Some(result), Some(error)) if is_null(result) => (None, Some(error)),
            both => both,
        };
        match (raw.method, result, error) {
            (Some(method), None, None) => {
                let Some(method) = string(method) else {
                    return refuse("`method` must be a string");
                };
                match (raw.id, id) {
                    (None, _) => Ok(Self::Notification { method, params }),
                    (Some(_), Some(id)) => Ok(Self::Request { id, method, params }),
                    (Some(_), None) => Err(Malformed::NotAMessage {
                        id: None,
                        why: "`id` must be a string or an integer",
                        answers: false,
                    }),
                }
            }
            (None, Some(result), None) => match id {
                Some(id) => Ok(Self::Response {
                    id: Some(id),
                    outcome: Ok(result),
                }),
                None => refuse("a result must carry the id of its request"),
            },
            (None, None, Some(error)) => {
                if raw.id.is_some_and(|raw| raw.get() != "null") && id.is_none() {
                    return refuse("`id` must be a string or an integer");
                }
                match serde_json::from_str(error.get()) {
                    Ok(error) => Ok(Self::Response {
                        id,
                        outcome: Err(error),
                    }),
                    Err(_) => refuse("`error` must have an integer `code` and a string `message`"),
                }
            }
            (None, None, None) => refuse("neither `method` nor `result` nor `error` is there"),
            (None, Some(_), Some(_)) => refuse("a response carries a result or an error, not both"),
            (Some(_), _, _) => refuse("a message is a request or a response, not both"),
        }
    }

    /// The messages of a batch, each still to be parsed on its own.
    ///
    /// # Errors
    /// If the bytes are not an array, or an empty one.
    pub fn split_batch(bytes: &'a [u8]) -> Result<Vec<&'a RawValue>, Malformed> {
        let parts: Vec<&RawValue> =
            serde_json::from_slice(bytes).map_err(|error| Malformed::NotJson(error.to_string()))?;
        if parts.is_empty() {
            return Err(Malformed::NotAMessage {
                id: None,
                why: "a batch holds at least one message",
                answers: false,
            });
        }
        Ok(parts)
    }
}

/// The text of a JSON string, borrowed where it has no escapes. `None` if it is something else.
fn string(raw: &RawValue) -> Option<Cow<'_, str>> {
    let inside = raw.get().strip_prefix('"')?.strip_suffix('"')?;
    if inside.contains('\\') {
        return serde_json::from_str(raw.get()).ok().map(Cow::Owned);
    }
    Some(Cow::Borrowed(inside))
}

/// Encodes messages. Each function appends one JSON text without a line end.
pub mod encode {
    use super::{ErrorObject, RequestId, Serialize};
    use crate::JsonText;

    /// A request.
    ///
    /// # Errors
    /// If the params cannot be written as JSON.
    pub fn request(id: &RequestId, method: &str, params: &impl Serialize) -> serde_json::Result<Vec<u8>> {
        #[derive(Serialize)]
        struct Request<'a, P> {
            jsonrpc: &'static str,
            id: &'a RequestId,
            method: &'a str,
            params: P,
        }
        serde_json::to_vec(&Request {
            jsonrpc: "2.0",
            id,
            method,
            params,
        })
    }

    /// A notification; params that are `None` are left out.
    ///
    /// # Errors
    /// If the params cannot be written as JSON.
    pub fn notification<P: Serialize>(method: &str, params: Option<&P>) -> serde_json::Result<Vec<u8>> {
        #[derive(Serialize)]
        struct Notification<'a, P> {
            jsonrpc: &'static str,
            method: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            params: Option<P>,
        }
        serde_json::to_vec(&Notification {
            jsonrpc: "2.0",
            method,
            params,
        })
    }

    /// A response with a result that is already JSON.
    pub fn result(id: &RequestId, result: JsonText) -> Vec<u8> {
        let mut head = Vec::with_capacity(64);
        head.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
        id.write_json(&mut head);
        head.extend_from_slice(b",\"result\":");
        result.into_enclosed(&head, b'}')
    }

    /// A response with an error; the id is left out where none could be read.
    pub fn error(id: Option<&RequestId>, error: &ErrorObject) -> Vec<u8> {
        let mut out = Vec::with_capacity(160);
        out.extend_from_slice(b"{\"jsonrpc\":\"2.0\"");
        if let Some(id) = id {
            out.extend_from_slice(b",\"id\":");
            id.write_json(&mut out);
        }
        out.extend_from_slice(b",\"error\":");
        // An error object holds only what JSON can express.
        let _ = serde_json::to_writer(&mut out, error);
        out.push(b'}');
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn why(text: &str) -> Malformed {
        Message::parse(text.as_bytes()).expect_err(text)
    }

    #[test]
    fn an_id_member_makes_it_a_request_or_nothing() {
        for id in ["null", "1.5", "true", "[]", "{}"] {
            let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list"}}"#);
            assert!(matches!(why(&text), Malformed::NotAMessage { id: None, .. }), "{text}");
        }
        assert!(matches!(
            Message::parse(br#"{"jsonrpc":"2.0","method":"x"}"#),
            Ok(Message::Notification { .. })
        ));
    }

    #[test]
    fn null_params_are_absent() {
        for params in ["", r#","params":null"#] {
            let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m"{params}}}"#);
            let Ok(Message::Request { params, .. }) = Message::parse(text.as_bytes()) else {
                panic!("{text}")
            };
            assert!(params.is_none());
        }
    }

    #[test]
    fn the_id_is_read_where_it_can_be() {
        for text in [
            r#"{"jsonrpc":"1.0","id":3,"method":"m"}"#,
            r#"{"jsonrpc":"2.0","id":3}"#,
            r#"{"jsonrpc":"2.0","id":3,"method":5}"#,
            r#"{"jsonrpc":"2.0","id":3,"result":{},"error":{"code":1,"message":""}}"#,
        ] {
            assert_eq!(why(text).id(), Some(&RequestId::from(3)), "{text}");
            assert_eq!(why(text).to_error().code, -32600);
        }
    }

    #[test]
    fn scalars_are_not_messages_and_broken_text_is_not_json() {
        for text in ["0", "\"x\"", "null", "true"] {
            assert!(matches!(why(text), Malformed::NotAMessage { .. }), "{text}");
        }
        for text in ["trace {", "  a: 1", "}", "", "{\"a\":", "{} {}", "[1,", "nul"] {
            assert!(matches!(why(text), Malformed::NotJson(_)), "{text}");
        }
        assert_eq!(why("[]"), Malformed::Batch);
    }

    #[test]
    fn members_of_later_revisions_do_not_disturb() {
        let text = br#"{"jsonrpc":"2.0","id":"a","result":{"x":1},"trace":{"y":[1,2]}}"#;
        let Ok(Message::Response {
            id: Some(id),
            outcome: Ok(result),
        }) = Message::parse(text)
        else {
            panic!()
        };
        assert_eq!((id, result.get()), (RequestId::from("a"), r#"{"x":1}"#));
    }

    #[test]
    fn a_null_beside_a_result_or_an_error_does_not_disturb() {
        let result = br#"{"jsonrpc":"2.0","id":1,"result":{},"error":null}"#;
        assert!(matches!(
            Message::parse(result),
            Ok(Message::Response { outcome: Ok(_), .. })
        ));
        let error = br#"{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":1,"message":""}}"#;
        assert!(matches!(
            Message::parse(error),
            Ok(Message::Response { outcome: Err(_), .. })
        ));
    }

    #[test]
    fn a_broken_answer_is_known_as_an_answer() {
        for (text, expected) in [
            (r#"{"id":3,"result":{}}"#, true),
            (r#"{"jsonrpc":"2.0","id":3,"error":"boom"}"#, true),
            (r#"{"jsonrpc":"2.0","id":3,"method":5}"#, false),
            (r#"{"id":3,"method":"m"}"#, false),
        ] {
            assert!(
                matches!(why(text), Malformed::NotAMessage { answers, .. } if answers == expected),
                "{text}"
            );
        }
    }

    #[test]
    fn an_error_may_come_without_an_id() {
        for id in ["", r#""id":null,"#] {
            let text = format!(r#"{{"jsonrpc":"2.0",{id}"error":{{"code":-32700,"message":"?"}}}}"#);
            assert!(
                matches!(
                    Message::parse(text.as_bytes()),
                    Ok(Message::Response {
                        id: None,
                        outcome: Err(_)
                    })
                ),
                "{text}"
            );
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Message::parse(&bytes);
            let _ = Message::split_batch(&bytes);
        }

        #[test]
        fn what_is_encoded_is_parsed(id in any::<i64>(), method in "[a-z/\"\\\\é]{1,20}", text in ".*") {
            let bytes = encode::request(&id.into(), &method, &serde_json::json!({ "text": text })).unwrap();
            let Ok(Message::Request { id: seen, method: name, params: Some(params) }) = Message::parse(&bytes) else { panic!() };
            prop_assert_eq!(seen, RequestId::from(id));
            prop_assert_eq!(name.as_ref(), method.as_str());
            let params: serde_json::Value = serde_json::from_str(params.get()).unwrap();
            prop_assert_eq!(params["text"].as_str(), Some(text.as_str()));
        }
    }
}
