//! Reads the beginning of a message that is too long to be read whole, so that its sender gets an answer
//! instead of a silence.

use serde_json::value::RawValue;
use trunkline_types::RequestId;

/// What the beginning of an object tells for certain.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Head {
    /// The value of its top-level member `id`.
    pub(crate) id: Option<RequestId>,
    /// Whether it has a `result` or an `error`: then it answers something.
    pub(crate) answers: bool,
}

/// Reads as much as is there. A `method` that comes first makes it no answer, whatever follows.
pub(crate) fn read_head(start: &[u8]) -> Head {
    let mut head = Head::default();
    let _ = read_members(start, &mut head);
    head
}

fn read_members(start: &[u8], head: &mut Head) -> Option<()> {
    let mut at = skip_space(start, 0);
    if *start.get(at)? != b'{' {
        return None;
    }
    at += 1;
    loop {
        at = skip_space(start, at);
        let key_end = end_of_string(start, at)?;
        let key = &start[at..key_end];
        at = skip_space(start, key_end);
        if *start.get(at)? != b':' {
            return None;
        }
        at = skip_space(start, at + 1);
        match key {
            // Some libraries write every member, and `null` where there is nothing.
            b"\"result\"" | b"\"error\"" if !start[at..].starts_with(b"null") => head.answers = true,
            b"\"method\"" => return None,
            _ => {}
        }
        let end = end_of_value(start, at)?;
        if key == b"\"id\"" {
            let text = std::str::from_utf8(&start[at..end]).ok()?;
            head.id = RequestId::from_raw(&RawValue::from_string(text.to_owned()).ok()?);
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
    fn reads_only_what_is_certain() {
        let read = |text: &str| {
            let head = read_head(text.as_bytes());
            (head.id, head.answers)
        };
        assert_eq!(
            read(r#"{"jsonrpc":"2.0","id":12,"params":{"a":"bbb"#),
            (Some(12.into()), false)
        );
        assert_eq!(
            read(r#"{"id":12,"method":"x","result":{"a":"bbb"#),
            (Some(12.into()), false)
        );
        assert_eq!(
            read(r#" {"params":{"id":1,"x":[{}]},"id":"s\"q","#),
            (Some("s\"q".into()), false)
        );
        assert_eq!(
            read(r#"{"jsonrpc":"2.0","id":7,"result":{"a":"bbb"#),
            (Some(7.into()), true)
        );
        assert_eq!(
            read(r#"{"jsonrpc":"2.0","id":12"#),
            (None, false),
            "the number may go on"
        );
        assert_eq!(read(r#"{"jsonrpc":"2.0","params":{"id":1"#), (None, false));
        assert_eq!(read(r#"{"id":null,"#), (None, false));
        assert_eq!(read("aaaa"), (None, false));
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..80)) {
            let _ = read_head(&bytes);
        }
    }
}
