//! Who may call: the names under which the server is called, and the pages that may call it
//! ([security](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#security-%26-endpoint)).

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, HOST, ORIGIN, VARY,
};
use http::request::Parts;
use http::{HeaderMap, HeaderValue};

use super::options::{Allowed, Options};

/// What a page may send, beside what every page may. The star is for the params that tools mirror, each into a header
/// of its own; it holds for all but `authorization`, and not where a page sends cookies
/// ([rule](https://fetch.spec.whatwg.org/#http-access-control-allow-headers)).
const ALLOWED_HEADERS: HeaderValue = HeaderValue::from_static(
    "authorization, content-type, accept, mcp-protocol-version, mcp-session-id, mcp-method, mcp-name, last-event-id, *",
);
const ALLOWED_METHODS: HeaderValue = HeaderValue::from_static("POST, GET, DELETE, OPTIONS");
const EXPOSED_HEADERS: HeaderValue = HeaderValue::from_static("mcp-session-id, www-authenticate");

/// Refuses requests to names that are not the server's, and requests of pages that may not call it. Returns the
/// origin that is to be told that it may.
pub(super) fn admit(options: &Options, parts: &Parts) -> Result<Option<HeaderValue>, &'static str> {
    if !host_is_allowed(options, parts) {
        return Err("this host is not served here; the server's owner can allow it");
    }
    // A name that is sent twice leaves open which one counts.
    let mut origins = parts.headers.get_all(ORIGIN).iter();
    let Some(origin) = origins.next() else { return Ok(None) };
    if origins.next().is_some() || !origin_is_allowed(options, origin) {
        return Err("pages of this origin may not call this server; the server's owner can allow them");
    }
    Ok(Some(origin.clone()))
}

fn host_is_allowed(options: &Options, parts: &Parts) -> bool {
    let Allowed::Listed(allowed) = &options.hosts else {
        return true;
    };
    let mut hosts = parts.headers.get_all(HOST).iter();
    let named = match (hosts.next(), hosts.next()) {
        (Some(host), None) => host.to_str().ok(),
        (None, None) => parts.uri.authority().map(http::uri::Authority::as_str),
        _ => None,
    };
    let Some(named) = named else { return false };
    let named = named.to_ascii_lowercase();
    let bare = without_port(&named);
    // An address is no name that somebody could have pointed here.
    is_loopback(bare) || is_address(bare) || allowed.iter().any(|host| *host == named || host == bare)
}

fn origin_is_allowed(options: &Options, origin: &HeaderValue) -> bool {
    let Allowed::Listed(allowed) = &options.origins else {
        return true;
    };
    let Ok(origin) = origin.to_str() else { return false };
    let origin = origin.to_ascii_lowercase();
    let rest = origin
        .strip_prefix("http://")
        .or_else(|| origin.strip_prefix("https://"));
    rest.is_some_and(|host| is_loopback(without_port(host))) || allowed.contains(&origin)
}

/// The host without its port. An address of the newer internet keeps its brackets.
fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.is_empty() && port.bytes().all(|digit| digit.is_ascii_digit()) => name,
        _ => host,
    }
}

fn is_address(host: &str) -> bool {
    let host = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
        .unwrap_or(host);
    host.parse::<std::net::IpAddr>().is_ok()
}

fn is_loopback(host: &str) -> bool {
    matches!(host, "localhost" | "127.0.0.1" | "[::1]")
}

/// Tells a page's browser that it may read the answer.
pub(super) fn expose(headers: &mut HeaderMap, origin: HeaderValue) {
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED_HEADERS);
    headers.append(VARY, HeaderValue::from_static("Origin"));
}

/// Tells a page's browser what it may ask for.
pub(super) fn preflight(headers: &mut HeaderMap) {
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, ALLOWED_METHODS);
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, ALLOWED_HEADERS);
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("86400"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(headers: &[(&str, &str)]) -> Parts {
        let mut request = http::Request::builder();
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    fn admitted(options: &Options, headers: &[(&str, &str)]) -> bool {
        admit(options, &parts(headers)).is_ok()
    }

    #[test]
    fn this_machine_is_always_served_and_a_foreign_name_never() {
        let options = Options::default();
        for host in [
            "localhost",
            "localhost:3000",
            "127.0.0.1:1",
            "[::1]",
            "[::1]:80",
            "192.0.2.7:3000",
            "LOCALHOST",
        ] {
            assert!(admitted(&options, &[("host", host)]), "{host}");
        }
        for host in [
            "evil.example",
            "evil.example:3000",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "",
        ] {
            assert!(!admitted(&options, &[("host", host)]), "{host}");
        }
        assert!(!admitted(&options, &[]), "no name at all");
        assert!(
            !admitted(&options, &[("host", "localhost"), ("host", "evil.example")]),
            "two names"
        );
    }

    #[test]
    fn what_is_listed_is_served_too() {
        let options = Options::default()
            .allow_host("Mcp.example")
            .allow_host("other.example:8443");
        assert!(admitted(&options, &[("host", "mcp.example")]));
        assert!(admitted(&options, &[("host", "MCP.example:443")]));
        assert!(admitted(&options, &[("host", "other.example:8443")]));
        assert!(!admitted(&options, &[("host", "other.example")]));
        assert!(!admitted(&options, &[("host", "x.mcp.example")]));
        assert!(admitted(
            &Options::default().allow_any_host(),
            &[("host", "evil.example")]
        ));
    }

    #[test]
    fn only_pages_of_this_machine_and_of_the_list_may_call() {
        let of = |origin| [("host", "localhost"), ("origin", origin)];
        let options = Options::default().allow_origin("https://app.example");
        for origin in [
            "http://localhost:5173",
            "https://127.0.0.1",
            "http://[::1]:1",
            "https://app.example",
        ] {
            assert!(admitted(&options, &of(origin)), "{origin}");
        }
        for origin in [
            "null",
            "http://evil.example",
            "http://app.example",
            "https://app.example:8443",
            "localhost",
            "",
        ] {
            assert!(!admitted(&options, &of(origin)), "{origin}");
        }
        assert!(admitted(
            &Options::default().allow_any_origin(),
            &of("http://evil.example")
        ));
        let twice = [
            ("host", "localhost"),
            ("origin", "http://localhost"),
            ("origin", "http://evil.example"),
        ];
        assert!(!admitted(&options, &twice));
    }
}
