//! Addresses: what is one, where it leads, and which of them belong together.

use std::net::{Ipv4Addr, Ipv6Addr};

use http::Uri;
use http::uri::{PathAndQuery, Scheme};

/// What two addresses share that belong to the same server
/// ([origin](https://www.rfc-editor.org/rfc/rfc6454#section-4)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    https: bool,
    host: String,
    port: u16,
}

impl Origin {
    pub(crate) fn of(url: &Uri) -> Self {
        let https = is_https(url);
        Self {
            https,
            host: url.host().unwrap_or_default().to_ascii_lowercase(),
            port: url.port_u16().unwrap_or(if https { 443 } else { 80 }),
        }
    }
}

pub(crate) fn is_https(url: &Uri) -> bool {
    url.scheme() == Some(&Scheme::HTTPS)
}

/// Reads an absolute `http` or `https` address.
pub(crate) fn parse(text: &str) -> Result<Uri, &'static str> {
    let Ok(url) = text.trim().parse::<Uri>() else {
        return Err("it is not a valid address");
    };
    if url.scheme() != Some(&Scheme::HTTP) && url.scheme() != Some(&Scheme::HTTPS) {
        return Err("it does not begin with http:// or https://");
    }
    if url.host().is_none_or(str::is_empty) {
        return Err("it names no host");
    }
    if url
        .authority()
        .is_some_and(|authority| authority.as_str().contains('@'))
    {
        return Err("it holds a user name or password; give them in a header instead");
    }
    Ok(url)
}

/// The address without its query, which may hold secrets.
pub(crate) fn shown(url: &Uri) -> String {
    let text = url.to_string();
    text.split_once('?').map_or(text.clone(), |(place, _)| place.to_owned())
}

/// A text that may be an address, without what may be secret in it: the query, and whoever is named before the host.
pub(crate) fn without_secrets(text: &str) -> &str {
    let text = text.split(['?', '#']).next().unwrap_or_default();
    let relative = if text.starts_with("//") { 2 } else { 0 };
    let host = text.find("://").map_or(relative, |at| at + 3);
    let end = text[host..].find('/').map_or(text.len(), |at| host + at);
    text[host..end].rfind('@').map_or(text, |at| &text[host + at + 1..])
}

/// Whether a host is this machine.
pub(crate) fn is_loopback(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || host.to_ascii_lowercase().ends_with(".localhost")
        || host.parse::<Ipv4Addr>().is_ok_and(|ip| ip.is_loopback())
        || host.parse::<Ipv6Addr>().is_ok_and(|ip| ip.is_loopback())
}

/// Where a reference leads that was found at `base`
/// ([resolution](https://www.rfc-editor.org/rfc/rfc3986#section-5.2)).
pub(crate) fn resolve(base: &Uri, reference: &str) -> Result<Uri, &'static str> {
    let reference = reference.trim();
    let reference = reference.split('#').next().unwrap_or_default();
    if has_scheme(reference) {
        return parse(reference);
    }
    let scheme = base.scheme_str().unwrap_or("http");
    if let Some(rest) = reference.strip_prefix("//") {
        return parse(&format!("{scheme}://{rest}"));
    }
    let (path, query) = match reference.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (reference, None),
    };
    let (path, query) = match path {
        "" => (
            base.path().to_owned(),
            query.or(if reference.is_empty() { base.query() } else { None }),
        ),
        absolute if absolute.starts_with('/') => (without_dots(absolute), query),
        relative => {
            let folder = base.path().rfind('/').map_or("/", |end| &base.path()[..=end]);
            (without_dots(&format!("{folder}{relative}")), query)
        }
    };
    let target = match query {
        Some(query) => format!("{path}?{query}"),
        None => path,
    };
    let mut parts = base.clone().into_parts();
    parts.path_and_query = Some(
        target
            .parse::<PathAndQuery>()
            .map_err(|_| "it is not a valid address")?,
    );
    Uri::from_parts(parts).map_err(|_| "it is not a valid address")
}

fn has_scheme(reference: &str) -> bool {
    reference.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    })
}

fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let last = segments.peek().is_none();
        match segment {
            "." => {}
            ".." => drop(kept.pop()),
            other => {
                kept.push(other);
                continue;
            }
        }
        if last {
            kept.push("");
        }
    }
    format!("/{}", kept.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_absolute_and_holds_no_password() {
        for good in [
            "http://127.0.0.1:80/mcp",
            "https://h.example",
            " http://[::1]:9/x?y=z#part ",
            "HTTP://h/",
        ] {
            assert!(parse(good).is_ok(), "{good}");
        }
        for (bad, why) in [
            ("", "valid"),
            ("/mcp", "http://"),
            ("h.example:80", "valid"),
            ("ftp://h/x", "http://"),
            ("file:///etc/passwd", "valid"),
            ("http://u:p@h/", "password"),
            ("http:///x", "valid"),
        ] {
            let said = parse(bad).unwrap_err();
            assert!(said.contains(why) || said.contains("http://"), "{bad}: {said}");
        }
        assert_eq!(
            shown(&parse("https://h.example/mcp?key=secret").unwrap()),
            "https://h.example/mcp"
        );
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        let origin = |text| Origin::of(&parse(text).unwrap());
        assert_eq!(origin("http://H.example/a"), origin("http://h.example:80/b?c"));
        assert_eq!(origin("https://h.example"), origin("https://h.example:443/"));
        for other in ["https://h.example", "http://h.example:81", "http://sub.h.example"] {
            assert_ne!(origin("http://h.example"), origin(other));
        }
    }

    #[test]
    fn this_machine_has_many_names() {
        for host in [
            "localhost",
            "LOCALHOST",
            "a.localhost",
            "127.0.0.1",
            "127.9.9.9",
            "[::1]",
            "::1",
        ] {
            assert!(is_loopback(host), "{host}");
        }
        for host in ["h.example", "localhost.example", "128.0.0.1", "[::2]", "10.0.0.1"] {
            assert!(!is_loopback(host), "{host}");
        }
    }

    #[test]
    fn references_are_resolved_as_in_a_browser() {
        let base = parse("http://h.example:8/a/b/sse?x=1").unwrap();
        for (reference, expected) in [
            ("/messages?sessionId=1", "http://h.example:8/messages?sessionId=1"),
            ("messages", "http://h.example:8/a/b/messages"),
            ("./m/./n/", "http://h.example:8/a/b/m/n/"),
            ("../m?q=/../r", "http://h.example:8/a/m?q=/../r"),
            ("../../../../m/..", "http://h.example:8/"),
            ("?y=2", "http://h.example:8/a/b/sse?y=2"),
            ("", "http://h.example:8/a/b/sse?x=1"),
            ("#part", "http://h.example:8/a/b/sse?x=1"),
            ("//other.example/m", "http://other.example/m"),
            ("https://other.example:1/m", "https://other.example:1/m"),
            ("m:n/o", ""),
            ("m/n:o", "http://h.example:8/a/b/m/n:o"),
            ("/a b", ""),
        ] {
            let resolved = resolve(&base, reference).map(|url| url.to_string()).unwrap_or_default();
            assert_eq!(resolved, expected, "{reference:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn whatever_is_resolved_is_an_address(reference in ".{0,40}") {
            let base = parse("https://h.example/a/b").unwrap();
            if let Ok(url) = resolve(&base, &reference) {
                proptest::prop_assert!(url.host().is_some() && url.path().starts_with('/'), "{}", url);
            }
        }
    }
}
