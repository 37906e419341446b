//! Events as bytes.

use memchr::memchr2;

/// Appends one event, with the blank line that dispatches it.
///
/// Any line break in `data` (CR, LF or both) ends a line of it; a reader gets LF instead. In JSON such a break is
/// white space, so nothing is lost. `id` and `event` cannot hold CR, LF or NUL: those are left out.
///
/// ```
/// let mut out = Vec::new();
/// trunkline_http::sse::encode_event(&mut out, Some("3"), Some("endpoint"), b"/messages");
/// assert_eq!(out, b"id: 3\nevent: endpoint\ndata: /messages\n\n");
/// ```
pub fn encode_event(out: &mut Vec<u8>, id: Option<&str>, event: Option<&str>, data: &[u8]) {
    out.reserve(data.len() + 16 + id.map_or(0, str::len) + event.map_or(0, str::len));
    if let Some(id) = id {
        field(out, b"id: ", id);
    }
    if let Some(event) = event {
        field(out, b"event: ", event);
    }
    let mut rest = data;
    while let Some(end) = memchr2(b'\r', b'\n', rest) {
        line(out, &rest[..end]);
        let width = if rest[end..].starts_with(b"\r\n") { 2 } else { 1 };
        rest = &rest[end + width..];
    }
    line(out, rest);
    out.push(b'\n');
}

/// Appends how many milliseconds a reader is to wait before it connects again.
pub fn encode_retry(out: &mut Vec<u8>, millis: u64) {
    out.extend_from_slice(b"retry: ");
    out.extend_from_slice(millis.to_string().as_bytes());
    out.extend_from_slice(b"\n\n");
}

/// Appends a comment, which readers ignore: it keeps a quiet stream alive. Line breaks in `text` are left out.
pub fn encode_comment(out: &mut Vec<u8>, text: &str) {
    field(out, b":", text);
    out.push(b'\n');
}

fn field(out: &mut Vec<u8>, name: &[u8], value: &str) {
    out.extend_from_slice(name);
    out.extend(value.bytes().filter(|byte| !matches!(byte, b'\r' | b'\n' | 0)));
    out.push(b'\n');
}

fn line(out: &mut Vec<u8>, text: &[u8]) {
    out.extend_from_slice(b"data: ");
    out.extend_from_slice(text);
    out.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(id: Option<&str>, event: Option<&str>, data: &[u8]) -> String {
        let mut out = Vec::new();
        encode_event(&mut out, id, event, data);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_line_of_data_has_its_field() {
        assert_eq!(event(None, None, b"{}"), "data: {}\n\n");
        assert_eq!(event(None, None, b""), "data: \n\n");
        assert_eq!(
            event(None, None, b"a\nb\rc\r\n\nd\n"),
            "data: a\ndata: b\ndata: c\ndata: \ndata: d\ndata: \n\n"
        );
    }

    #[test]
    fn a_name_cannot_smuggle_in_a_field() {
        assert_eq!(
            event(Some("1\ndata: x"), Some("e\r\0v"), b"y"),
            "id: 1data: x\nevent: ev\ndata: y\n\n"
        );
    }

    #[test]
    fn waits_and_signs_of_life() {
        let mut out = Vec::new();
        encode_retry(&mut out, 1500);
        encode_comment(&mut out, " still\nhere");
        assert_eq!(out, b"retry: 1500\n\n: stillhere\n\n");
    }
}
