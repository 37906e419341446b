//! JSON as editors write it: with comments and with commas before a closing bracket. What is not JSON is replaced by
//! spaces, so that every line and column stays where it was.

/// The same text as plain JSON.
pub(super) fn plain(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let mut at = 0;
    let mut comma = None;
    // Whether a value stands just before: only then is a comma one too many rather than a mistake.
    let mut value = false;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                (comma, value) = (None, true);
                at = after_string(&bytes, at);
                continue;
            }
            b'/' if matches!(bytes.get(at + 1), Some(b'/' | b'*')) => {
                let end = after_comment(&bytes, at);
                for byte in &mut bytes[at..end] {
                    if !matches!(byte, b'\n' | b'\r') {
                        *byte = b' ';
                    }
                }
                at = end;
                continue;
            }
            b',' => (comma, value) = (value.then_some(at), false),
            b'}' | b']' => {
                if let Some(comma) = comma.take() {
                    bytes[comma] = b' ';
                }
                value = true;
            }
            byte if byte.is_ascii_whitespace() => {}
            byte => (comma, value) = (None, !matches!(byte, b'{' | b'[' | b':')),
        }
        at += 1;
    }
    // Only whole comments and single commas were replaced, so the text is still UTF-8.
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

fn after_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn after_comment(bytes: &[u8], start: usize) -> usize {
    let rest = &bytes[start + 2..];
    let found = if bytes[start + 1] == b'/' {
        rest.iter().position(|&byte| byte == b'\n')
    } else {
        rest.windows(2).position(|pair| pair == b"*/").map(|at| at + 2)
    };
    found.map_or(bytes.len(), |at| start + 2 + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> serde_json::Value {
        serde_json::from_str(&plain(text)).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn comments_and_last_commas_are_passed_over() {
        let text = "{ // one\n \"a\": [1, 2, /* 둘 */ ], \"b\": \"//, ]\", /* , */ }";
        assert_eq!(value(text), serde_json::json!({ "a": [1, 2], "b": "//, ]" }));
        assert_eq!(value(r#"{"url":"http://x/*y*/","q":"\"//"}"#)["q"], "\"//");
    }

    #[test]
    fn places_stay_where_they_were() {
        let text = "{ /* x\n y */ \"a\": 1 \"b\"\n}";
        let error = serde_json::from_str::<serde_json::Value>(&plain(text)).unwrap_err();
        assert_eq!((error.line(), plain(text).len()), (2, text.len()));
    }

    #[test]
    fn broken_text_stays_broken() {
        for text in ["{", "\"", "/", "/*", "{\"a\\", "{,}", "[,", "//"] {
            assert_eq!(plain(text).len(), text.len());
        }
        for text in ["{\"a\": 1,, }", "{,}", "[,]", "[ , /* x */ ]", "{\"a\":,}"] {
            assert!(
                serde_json::from_str::<serde_json::Value>(&plain(text)).is_err(),
                "{text}"
            );
        }
    }
}
