//! Why a request has no answer.

use bytes::Bytes;
use http::StatusCode;
use http::header::{self, HeaderMap};
use trunkline_types::clip;

/// How much of a body stands in a message, in characters.
const SHOWN: usize = 200;

/// Why a request has no answer, and whether it may have run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) may_have_run: bool,
    pub(crate) status: Option<u16>,
    pub(crate) why: String,
}

impl Failure {
    /// No connection: nothing was sent.
    pub(crate) fn unreachable(why: String) -> Self {
        Self {
            may_have_run: false,
            status: None,
            why,
        }
    }

    /// It was sent, or a part of it.
    pub(crate) fn broken(why: String) -> Self {
        Self {
            may_have_run: true,
            status: None,
            why,
        }
    }

    /// The server answered by a status that says no.
    pub(crate) fn refused(status: StatusCode, why: String) -> Self {
        Self {
            // A server that failed may have failed after the work; one that says it is none of its business has
            // not begun.
            may_have_run: !(status.is_client_error() || status.is_redirection()),
            status: Some(status.as_u16()),
            why,
        }
    }
}

/// An answer that is no message: a status, and what came with it.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    content_type: Option<String>,
    authenticate: Option<String>,
    pub(crate) body: Bytes,
}

impl Refusal {
    pub(crate) fn new(status: StatusCode, headers: &HeaderMap, body: Bytes) -> Self {
        let text = |name| {
            let value = headers.get(name)?;
            Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
        };
        Self {
            status,
            content_type: text(header::CONTENT_TYPE),
            authenticate: text(header::WWW_AUTHENTICATE),
            body,
        }
    }

    pub(crate) fn failure(&self) -> Failure {
        Failure::refused(self.status, self.to_string())
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "HTTP {}", self.status)?;
        match (self.status.as_u16(), &self.authenticate) {
            (401, Some(challenge)) => write!(f, ": the server wants authorization ({})", clip(challenge))?,
            (401, None) => f.write_str(": the server wants authorization")?,
            (403, Some(challenge)) => write!(f, ": the authorization is not enough ({})", clip(challenge))?,
            (403, None) => f.write_str(": the server does not allow it")?,
            (200..=299, _) => match self.content_type.as_deref() {
                Some(kind) => write!(f, " with {} instead of an answer", clip(kind))?,
                None => f.write_str(" without an answer")?,
            },
            _ => {}
        }
        let body = String::from_utf8_lossy(&self.body);
        let mut body = body.split_whitespace();
        let Some(first) = body.next() else { return Ok(()) };
        // Pages for browsers are told by their words, on one line.
        let words = body.fold(first.to_owned(), |text, word| {
            if text.len() > SHOWN {
                text
            } else {
                format!("{text} {word}")
            }
        });
        let shown: String = words.chars().take(SHOWN).collect();
        let more = if shown.len() < words.len() { "…" } else { "" };
        write!(f, ": {}{more}", shown.escape_debug())
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn refusal(status: u16, headers: &[(http::HeaderName, &'static str)], body: &str) -> Refusal {
        let headers = headers
            .iter()
            .map(|(name, value)| (name.clone(), HeaderValue::from_static(value)))
            .collect();
        Refusal::new(StatusCode::from_u16(status).unwrap(), &headers, body.to_owned().into())
    }

    #[test]
    fn a_refusal_is_one_line_with_status_and_body() {
        let challenge = [(header::WWW_AUTHENTICATE, "Bearer resource_metadata=\"https://h/x\"")];
        assert_eq!(
            refusal(401, &challenge, "").to_string(),
            "HTTP 401 Unauthorized: the server wants authorization (Bearer resource_metadata=\"https://h/x\")"
        );
        assert_eq!(
            refusal(502, &[], "<html>\n  <b>Bad\x1b[2J gateway</b>").to_string(),
            "HTTP 502 Bad Gateway: <html> <b>Bad\\u{1b}[2J gateway</b>"
        );
        let html = [(header::CONTENT_TYPE, "text/html")];
        assert_eq!(
            refusal(200, &html, "").to_string(),
            "HTTP 200 OK with text/html instead of an answer"
        );
        assert_eq!(refusal(202, &[], "").to_string(), "HTTP 202 Accepted without an answer");
        let long = refusal(500, &[], &"long ".repeat(100_000)).to_string();
        assert!(long.len() < 300 && long.ends_with('…'), "{long}");
    }

    #[test]
    fn a_client_error_proves_that_nothing_ran() {
        for (status, may_have_run) in [
            (400, false),
            (404, false),
            (429, false),
            (301, false),
            (200, true),
            (500, true),
            (503, true),
        ] {
            assert_eq!(
                refusal(status, &[], "").failure().may_have_run,
                may_have_run,
                "{status}"
            );
        }
        assert!(Failure::broken(String::new()).may_have_run && !Failure::unreachable(String::new()).may_have_run);
    }
}
