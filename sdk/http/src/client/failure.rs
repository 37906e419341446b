//! Why a request has no answer.

use bytes::Bytes;
use http::StatusCode;
use http::header::{self, HeaderMap};
use trunkline_types::clip;

use super::said;

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
            may_have_run: !proves_nothing_ran(status),
            status: Some(status.as_u16()),
            why,
        }
    }
}

/// A server that failed may have failed after the work; one that says it is none of its business has not begun. But
/// 303 says where the result of what was done lies (<https://www.rfc-editor.org/rfc/rfc9110#section-15.4.4>), and 408 is
/// also said by proxies for a server that takes too long.
fn proves_nothing_ran(status: StatusCode) -> bool {
    match status {
        StatusCode::SEE_OTHER | StatusCode::REQUEST_TIMEOUT => false,
        status => status.is_client_error() || status.is_redirection(),
    }
}

/// An answer that is no message: a status, and what came with it.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    /// The address that answered, fit to be shown.
    from: String,
    pub(crate) status: StatusCode,
    content_type: Option<String>,
    authenticate: Option<String>,
    pub(crate) body: Bytes,
}

impl Refusal {
    pub(crate) fn new(from: String, status: StatusCode, headers: &HeaderMap, body: Bytes) -> Self {
        let text = |name| {
            let value = headers.get(name)?;
            Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
        };
        Self {
            from,
            status,
            content_type: text(header::CONTENT_TYPE),
            authenticate: text(header::WWW_AUTHENTICATE),
            body,
        }
    }

    /// Whether it is about who asks, not about what.
    pub(crate) fn wants_authorization(&self) -> bool {
        matches!(self.status.as_u16(), 401 | 403 | 407)
    }

    pub(crate) fn failure(&self) -> Failure {
        Failure::refused(self.status, self.to_string())
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} answered HTTP {}", self.from, self.status)?;
        match (self.status.as_u16(), &self.authenticate) {
            (401, Some(challenge)) => write!(f, ": the server wants authorization ({})", plain(&clip(challenge)))?,
            (401, None) => f.write_str(": the server wants authorization")?,
            (403, Some(challenge)) => write!(f, ": the authorization is not enough ({})", plain(&clip(challenge)))?,
            (403, None) => f.write_str(": the server does not allow it")?,
            (407, _) => f.write_str(": the proxy wants authorization")?,
            _ => {}
        }
        let body = String::from_utf8_lossy(&self.body);
        let error = said::read_error(&self.body).map(|error| error.to_string());
        let words = first_words(error.as_deref().unwrap_or(&body));
        let page = self.is_page().then(|| page_named(&body));
        match (self.status.is_success(), page, self.content_type.as_deref()) {
            (true, Some(page), _) => write!(f, " with {page} instead of an answer"),
            (false, Some(page), _) => write!(f, ": {page}"),
            (true, None, Some(kind)) if !words.is_empty() => {
                write!(f, " with {} instead of an answer: {words}", plain(&clip(kind)))
            }
            (true, None, _) if words.is_empty() => f.write_str(" without an answer"),
            (_, None, _) if words.is_empty() => Ok(()),
            // "authorization: …" would look like a header with a secret, which whoever masks those takes out.
            (_, None, _) if self.wants_authorization() => write!(f, " (it says: {words})"),
            (_, None, _) => write!(f, ": {words}"),
        }
    }
}

impl Refusal {
    /// Whether the body is made for browsers.
    fn is_page(&self) -> bool {
        let kind = self.content_type.as_deref().unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        kind.eq_ignore_ascii_case("text/html") && !self.body.is_empty()
    }
}

/// The beginning of a text, on one line.
pub(crate) fn first_words(text: &str) -> String {
    let mut words = text.split_whitespace();
    let Some(first) = words.next() else {
        return String::new();
    };
    let line = words.fold(first.to_owned(), |line, word| {
        if line.len() > SHOWN {
            line
        } else {
            format!("{line} {word}")
        }
    });
    let shown: String = line.chars().take(SHOWN).collect();
    let more = if shown.len() < line.len() { "…" } else { "" };
    format!("{}{more}", plain(&shown))
}

/// What a page for browsers is called, or how it begins.
fn page_named(page: &str) -> String {
    // Not all letters keep their length in small ones; those of the mark do.
    let small = page.to_ascii_lowercase();
    let title = small.find("<title").and_then(|at| {
        let start = at + small[at..].find('>')? + 1;
        Some(page[start..].split('<').next().unwrap_or_default())
    });
    let title = title.map(first_words).filter(|title| !title.is_empty());
    let name = title.unwrap_or_else(|| first_words(page));
    format!("a web page (\"{}\")", clip(&name))
}

/// Control characters as visible escapes.
fn plain(text: &str) -> String {
    text.chars()
        .flat_map(|c| {
            let escaped = c.is_control().then(|| c.escape_debug());
            let kept = escaped.is_none().then_some(c);
            escaped.into_iter().flatten().chain(kept)
        })
        .collect()
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
        let status = StatusCode::from_u16(status).unwrap();
        Refusal::new("http://h/mcp".to_owned(), status, &headers, body.to_owned().into())
    }

    #[test]
    fn a_refusal_is_one_line_with_address_status_and_body() {
        let html = [(header::CONTENT_TYPE, "text/html; charset=utf-8")];
        let json = [(header::CONTENT_TYPE, "application/json")];
        let text = [(header::CONTENT_TYPE, "text/plain")];
        let challenge = [(header::WWW_AUTHENTICATE, "Bearer resource_metadata=\"https://h/x\"")];
        for (status, headers, body, told) in [
            (
                401,
                &challenge[..],
                "",
                "401 Unauthorized: the server wants authorization (Bearer resource_metadata=\"https://h/x\")",
            ),
            (
                401,
                &json,
                "{\"error\":\n \"invalid_token\"}",
                "401 Unauthorized: the server wants authorization (it says: {\"error\": \"invalid_token\"})",
            ),
            (
                400,
                &json,
                "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32600,\"message\":\"no session\"}}",
                "400 Bad Request: no session (-32600)",
            ),
            (403, &[], "", "403 Forbidden: the server does not allow it"),
            (
                407,
                &html,
                "",
                "407 Proxy Authentication Required: the proxy wants authorization",
            ),
            (
                502,
                &[],
                "<html>\n  <b>Bad\x1b[2J gateway</b>",
                "502 Bad Gateway: <html> <b>Bad\\u{1b}[2J gateway</b>",
            ),
            (
                502,
                &html,
                "<html><head><Title lang=en>Bad\ngateway</title>",
                "502 Bad Gateway: a web page (\"Bad gateway\")",
            ),
            (
                200,
                &html,
                "<html>\n<h1>Oops</h1>",
                "200 OK with a web page (\"<html> <h1>Oops</h1>\") instead of an answer",
            ),
            (200, &html, "", "200 OK without an answer"),
            (200, &json, "", "200 OK without an answer"),
            (
                200,
                &text,
                "hello",
                "200 OK with text/plain instead of an answer: hello",
            ),
            (202, &[], "", "202 Accepted without an answer"),
            (404, &[], "", "404 Not Found"),
        ] {
            let said = refusal(status, headers, body).to_string();
            assert_eq!(said, format!("http://h/mcp answered HTTP {told}"));
        }
        let long = refusal(500, &[], &"long ".repeat(100_000)).to_string();
        assert!(long.len() < 300 && long.ends_with('…'), "{long}");
        let page = refusal(500, &html, &format!("<title>{}", "long ".repeat(100_000))).to_string();
        assert!(page.len() < 300, "{page}");
    }

    #[test]
    fn a_client_error_proves_that_nothing_ran() {
        for (status, may_have_run) in [
            (400, false),
            (404, false),
            (429, false),
            (301, false),
            (302, false),
            (303, true),
            (307, false),
            (308, false),
            (408, true),
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
