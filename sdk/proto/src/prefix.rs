//! Finds the id in the beginning of a message that is too long to be read whole, so that its sender
//! gets an answer instead of a silence.

use serde_json::value::RawValue;
use trunkline_types::RequestId;

/// The value of the top-level member `id`, if the beginning of the object holds it whole.
pub(crate) fn find_id(start: &[u8]) -> Option<RequestId> {
    let mut at = skip_space(start, 0);
    if *start.get(at)? != b'{' {
        return None;
    }
    at += 1;
    loop {
        at = skip_space(start, at);
        let key_end = end_of_string(start, at)?;
        let is_id = &start[at..key_end] == b"\"id\"";
        at = skip_space(start, key_end);
        if *start.get(at)? != b':' {
            return None;
        }
        at = skip_space(start, at + 1);
        let end = end_of_value(start, at)?;
        if is_id {
            let text = std::str::from_utf8(&start[at..end]).ok()?;
            return RequestId::from_raw(&RawValue::from_string(text.to_owned()).ok()?);
        }
        at = skip_space(start, end);
        if *start.get(at)? != b',' {
            return None;
        }
        at += 1;
    }
}

fn skip_space(text: &[u8], mut at: usize) -> usize {
    while text.get(at).is_some_and(u8::is_ascii_whitespace) {
        at += 1;
    }
    at
}

fn end_of_string(text: &[u8], start: usize) -> Option<usize> {
    if *text.get(start)? != b'"' {
        return None;
    }
    let mut at = start + 1;
    loop {
        match *text.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

fn end_of_value(text: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    let mut depth = 0_usize;
    loop {
        match *text.get(at)? {
            b'"' => {
                at = end_of_string(text, at)?;
                if depth == 0 {
                    return Some(at);
                }
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 0 => return (at > start).then_some(at),
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            b',' if depth == 0 => return Some(at),
            _ => {}
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_id_only_where_it_is_certain() {
        let found = |text: &str| find_id(text.as_bytes());
        assert_eq!(
            found(r#"{"jsonrpc":"2.0","id":12,"method":"x","params":{"a":"bbb"#),
            Some(12.into())
        );
        assert_eq!(
            found(r#" {"params":{"id":1,"x":[{}]},"id":"s\"q","#),
            Some("s\"q".into())
        );
        assert_eq!(found(r#"{"jsonrpc":"2.0","id":12"#), None, "the number may go on");
        assert_eq!(found(r#"{"jsonrpc":"2.0","params":{"id":1"#), None);
        assert_eq!(found(r#"{"id":null,"#), None);
        assert_eq!(found("aaaa"), None);
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..80)) {
            let _ = find_id(&bytes);
        }
    }
}
