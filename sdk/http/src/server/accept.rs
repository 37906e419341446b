//! Which types a client takes: the Accept header
//! ([RFC 9110](https://www.rfc-editor.org/rfc/rfc9110.html#name-accept)).

use http::HeaderMap;
use http::header::{ACCEPT, CONTENT_TYPE};

pub(super) const JSON: &str = "application/json";
pub(super) const EVENTS: &str = "text/event-stream";

/// What nearly every client says, as the protocol writes it.
const USUAL: &[u8] = b"application/json, text/event-stream";

/// Whether the client takes both kinds of answers.
pub(super) fn accepts_both(headers: &HeaderMap) -> bool {
    let mut said = headers.get_all(ACCEPT).iter();
    if let (Some(usual), None) = (said.next(), said.next())
        && usual.as_bytes() == USUAL
    {
        return true;
    }
    accepts(headers, JSON) && accepts(headers, EVENTS)
}

/// Whether the client takes answers of this type. Who says nothing takes everything.
///
/// The most specific range that names a type decides; a quality of zero refuses it.
pub(super) fn accepts(headers: &HeaderMap, wanted: &str) -> bool {
    let kind = wanted.split('/').next().unwrap_or_default();
    let mut said = false;
    let mut best: Option<(u8, bool)> = None;
    for value in headers.get_all(ACCEPT) {
        said = true;
        // A range is ASCII; what is not cannot name a type.
        for range in value.to_str().unwrap_or_default().split(',') {
            let mut parts = range.split(';').map(str::trim);
            let name = parts.next().unwrap_or_default().to_ascii_lowercase();
            let rank = match name.as_str() {
                "*/*" => 1,
                named if named == wanted => 3,
                named => match named.strip_suffix("/*") {
                    Some(group) if group == kind => 2,
                    _ => continue,
                },
            };
            let refused = parts.any(is_zero_quality);
            if best.is_none_or(|(ranked, _)| rank > ranked) {
                best = Some((rank, !refused));
            }
        }
    }
    match best {
        Some((_, taken)) => taken,
        None => !said,
    }
}

fn is_zero_quality(part: &str) -> bool {
    part.split_once('=')
        .is_some_and(|(name, value)| name.trim().eq_ignore_ascii_case("q") && value.trim().parse() == Ok(0.0_f32))
}

/// Whether the body is said to be JSON. Parameters, such as a character set, do not matter.
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    kind.and_then(|kind| kind.split(';').next())
        .is_some_and(|kind| kind.trim().eq_ignore_ascii_case(JSON))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both(accept: Option<&str>) -> (bool, bool) {
        let mut headers = HeaderMap::new();
        if let Some(accept) = accept {
            headers.insert(ACCEPT, accept.parse().unwrap());
        }
        let each = (accepts(&headers, JSON), accepts(&headers, EVENTS));
        assert_eq!(accepts_both(&headers), each.0 && each.1, "{accept:?}");
        each
    }

    #[test]
    fn wildcards_and_qualities_count() {
        assert_eq!(both(Some("application/json, text/event-stream")), (true, true));
        assert_eq!(both(Some("application/json")), (true, false));
        assert_eq!(both(Some("text/event-stream")), (false, true));
        assert_eq!(both(Some("*/*")), (true, true));
        assert_eq!(both(Some("application/*, text/event-stream;q=0.5")), (true, true));
        assert_eq!(both(None), (true, true));
        assert_eq!(both(Some("*/*, text/event-stream;q=0")), (true, false));
        assert_eq!(
            both(Some("text/*;q=0, text/event-stream, Application/JSON;charset=utf-8")),
            (true, true)
        );
        assert_eq!(both(Some("")), (false, false));
        assert_eq!(both(Some("text/html")), (false, false));
    }

    #[test]
    fn the_type_of_a_body_is_read_without_its_parameters() {
        let of = |kind: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, kind.parse().unwrap());
            is_json(&headers)
        };
        assert!(of("application/json") && of("Application/JSON; charset=utf-8"));
        assert!(!of("text/plain") && !of("application/jsonp") && !is_json(&HeaderMap::new()));
    }
}
