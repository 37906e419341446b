//! The parts of an HTTP response that an answer needs, and the messages in a stream of events.

use std::borrow::Cow;
use std::io::BufRead as _;

use crate::fault::{Fault, Outcome};

/// What the head of a response says of its body.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) status: u16,
    pub(super) body: Body,
    /// Whether the body is a stream of events.
    pub(super) events: bool,
    /// Whether the connection ends with the body.
    pub(super) close: bool,
    pub(super) session: Option<String>,
}

/// How long the body is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Body {
    Bytes(usize),
    Chunked,
    /// The head does not say.
    Unknown,
}

impl Head {
    /// The head that `read` begins with, and where its body begins. `None`: there is more to read.
    pub(super) fn read(read: &[u8]) -> Outcome<Option<(Self, usize)>> {
        const END: &[u8] = b"\r\n\r\n";
        let Some(end) = read.windows(END.len()).position(|window| window == END) else {
            return Ok(None);
        };
        let mut lines = std::str::from_utf8(&read[..end])?.split("\r\n");
        let status = lines
            .next()
            .and_then(|line| line.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok())
            .ok_or_else(|| Fault::new("no response of HTTP/1.1"))?;
        let mut head = Self {
            status,
            body: Body::Unknown,
            events: false,
            close: false,
            session: None,
        };
        for line in lines {
            let (name, value) = line
                .split_once(':')
                .ok_or_else(|| Fault::new("a header without a name"))?;
            let value = value.trim();
            if name.eq_ignore_ascii_case("content-length") {
                head.body = Body::Bytes(value.parse()?);
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                if !value.eq_ignore_ascii_case("chunked") {
                    return Err(Fault::new(format!("the body is coded as {value}")));
                }
                head.body = Body::Chunked;
            } else if name.eq_ignore_ascii_case("content-type") {
                head.events = value.starts_with("text/event-stream");
            } else if name.eq_ignore_ascii_case("connection") {
                head.close = value.eq_ignore_ascii_case("close");
            } else if name.eq_ignore_ascii_case("mcp-session-id") {
                head.session = Some(value.to_owned());
            }
        }
        Ok(Some((head, end + END.len())))
    }
}

/// The data of the chunk that `read` begins with, without its frame, and where the next one begins. An empty one is
/// the last. `None`: there is more to read.
pub(super) fn chunk(read: &[u8]) -> Outcome<Option<(&[u8], usize)>> {
    let Some(end) = read.windows(2).take(20).position(|window| window == b"\r\n") else {
        return if read.len() < 22 {
            Ok(None)
        } else {
            Err(Fault::new("a chunk without a size"))
        };
    };
    let size = std::str::from_utf8(&read[..end])?;
    let size = usize::from_str_radix(size.split(';').next().unwrap_or_default().trim(), 16)?;
    let data = end + 2;
    if read.len() < data + size + 2 {
        return Ok(None);
    }
    if &read[data + size..data + size + 2] != b"\r\n" {
        return Err(Fault::new("a chunk without an end"));
    }
    Ok(Some((&read[data..data + size], data + size + 2)))
}

/// Hands the data of each event to `take` until it says that it has what it wants. Whether it said so.
pub(super) fn events(body: &[u8], mut take: impl FnMut(&[u8]) -> Outcome<bool>) -> Outcome<bool> {
    let mut data: Option<Cow<[u8]>> = None;
    let mut rest = body;
    while !rest.is_empty() {
        let from_here = rest;
        // This finds the end of a line of a mebibyte much sooner than a loop does.
        let length = rest.skip_until(b'\n')?;
        let line = from_here[..length].strip_suffix(b"\n").unwrap_or(from_here);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if let Some(text) = line.strip_prefix(b"data:") {
            let text = text.strip_prefix(b" ").unwrap_or(text);
            data = Some(match data {
                None => Cow::Borrowed(text),
                Some(before) => Cow::Owned([&before, text].join(&b'\n')),
            });
        } else if line.is_empty()
            && let Some(whole) = data.take()
            && !whole.is_empty()
            && take(&whole)?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_when_it_is_whole() {
        let text = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n\
            TRANSFER-ENCODING: chunked\r\nMcp-Session-Id: a-b\r\nConnection: Close\r\n\r\nrest";
        for cut in 0..text.len() - b"rest".len() {
            assert!(Head::read(&text[..cut]).unwrap().is_none(), "{cut}");
        }
        let (head, at) = Head::read(text).unwrap().unwrap();
        let expected = Head {
            status: 200,
            body: Body::Chunked,
            events: true,
            close: true,
            session: Some("a-b".to_owned()),
        };
        assert_eq!((head, &text[at..]), (expected, &b"rest"[..]));
        let (head, _) = Head::read(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n")
            .unwrap()
            .unwrap();
        assert_eq!((head.status, head.body), (202, Body::Bytes(0)));
        for wrong in [
            "HTTP/2 200\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\n",
            "HTTP/1.1 200 OK\r\nnonsense\r\n\r\n",
        ] {
            assert!(Head::read(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn chunks_are_read_one_by_one() {
        let text = b"3;a=b\r\nabc\r\n0\r\n\r\n";
        let (data, next) = chunk(text).unwrap().unwrap();
        assert_eq!(data, b"abc");
        assert_eq!(chunk(&text[next..]).unwrap(), Some((&b""[..], 5)));
        for cut in 0..next {
            assert_eq!(chunk(&text[..cut]).unwrap(), None, "{cut}");
        }
        for wrong in ["x\r\n", "1\r\nabc", "11111111111111111111111111"] {
            assert!(chunk(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn events_are_taken_until_one_is_enough() {
        let body =
            b": comment\nid: 1\ndata:\n\nevent: message\r\ndata: a\r\ndata:b\r\n\r\ndata: c\n\ndata: d\n\ndata: cut";
        let mut seen = Vec::new();
        let found = events(body, |data| {
            seen.push(String::from_utf8_lossy(data).into_owned());
            Ok(data == b"c")
        });
        assert!(found.unwrap());
        assert_eq!(seen, ["a\nb", "c"]);
        assert!(!events(body, |_| Ok(false)).unwrap());
    }
}
