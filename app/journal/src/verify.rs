//! Following the chain.

use std::fmt;
use std::io::{self, BufRead};

use crate::entry::{Line, Lines};
use crate::line::{GENESIS, Parts, chain, parts};

/// What following the chain found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// How many lines were read.
    pub lines: u64,
    /// The hash of the last line of the unbroken part; to be kept elsewhere by whoever must prove the whole.
    pub head: String,
    /// Whether the recording was closed. One that was not is still running, ended by force, or lost whole lines at its end.
    pub closed: bool,
    /// The first line that is not as it was written.
    pub broken: Option<Broken>,
}

impl Verdict {
    /// Whether nothing is broken and the recording was closed.
    pub fn is_whole(&self) -> bool {
        self.broken.is_none() && self.closed
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.broken {
            Some(broken) => write!(f, "line {} of {}: {}", broken.line, self.lines, broken.why),
            None if self.closed => write!(f, "{} lines, whole", self.lines),
            None => write!(
                f,
                "{} lines, unbroken, but without an end: lines after these may be missing",
                self.lines
            ),
        }
    }
}

/// Where the chain breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Broken {
    /// The line's number in the file, from 1.
    pub line: u64,
    /// What is wrong there.
    pub why: Why,
}

/// What is wrong with a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Why {
    /// Its bytes, or those of the line before together with that line's hash, are not what was written.
    Altered,
    /// One or more lines before it are not in the file.
    Missing,
    /// A line that belongs here stands elsewhere, or this one stands here a second time.
    Reordered,
    /// The file ends inside it, or before its first line.
    CutOff,
    /// It comes after the end.
    AfterEnd,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Altered => "altered: this line, or the one before it with its hash, is not as it was written",
            Self::Missing => "missing: one or more lines before this one are gone",
            Self::Reordered => "reordered: the line that belongs here stands elsewhere",
            Self::CutOff => "cut off: the file ends inside a line",
            Self::AfterEnd => "after the end: the recording was closed before this line",
        })
    }
}

/// Follows the chain from the header to the last line.
///
/// # Errors
///
/// When `reader` fails. Whatever is wrong with the recording is in the [`Verdict`].
pub fn verify<R: BufRead>(reader: R) -> io::Result<Verdict> {
    let mut lines = Lines::new(reader);
    let mut verdict = Verdict {
        lines: 0,
        head: GENESIS.to_owned(),
        closed: false,
        broken: None,
    };
    let mut expected = 0;
    // When a line stands where another belongs, the rest is searched for that other one.
    let mut skipped: Option<u64> = None;
    while let Some(line) = lines.next()? {
        let (bytes, ended) = match line {
            Line::Whole(bytes) => (bytes, true),
            Line::Unended(bytes) => (bytes, false),
            Line::TooLong => (Vec::new(), true),
        };
        if let Some(broken) = &mut verdict.broken {
            if skipped.is_some() && parts(&bytes).map(|parts| parts.seq) == skipped {
                broken.why = Why::Reordered;
                skipped = None;
            }
            continue;
        }
        let why = if verdict.closed {
            Some(Why::AfterEnd)
        } else {
            match parts(&bytes) {
                _ if !ended => Some(Why::CutOff),
                None => Some(Why::Altered),
                Some(parts) => judge(&parts, expected, &verdict.head),
            }
        };
        if let Some(why) = why {
            verdict.broken = Some(Broken {
                line: lines.number,
                why,
            });
            skipped = (why == Why::Missing).then_some(expected);
            continue;
        }
        if let Some(parts) = parts(&bytes) {
            parts.hash.clone_into(&mut verdict.head);
            verdict.closed = is_end(parts.body);
        }
        expected += 1;
    }
    verdict.lines = lines.number;
    if verdict.lines == 0 {
        verdict.broken = Some(Broken {
            line: 1,
            why: Why::CutOff,
        });
    }
    Ok(verdict)
}

/// What is wrong with a line, given the number and hash it should follow.
fn judge(parts: &Parts<'_>, expected: u64, head: &str) -> Option<Why> {
    match parts.seq {
        seq if seq > expected => Some(Why::Missing),
        seq if seq < expected => Some(Why::Reordered),
        _ => (chain(head, parts.body) != parts.hash).then_some(Why::Altered),
    }
}

/// Whether the line is the one that closes a recording. The kind is always the third member.
fn is_end(body: &[u8]) -> bool {
    let mut members = body.splitn(4, |&b| b == b',');
    members.nth(2) == Some(b"\"kind\":\"end\"")
}
