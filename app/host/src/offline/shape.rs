//! What a parameter asks for by its name, and what a word is by its look.

use super::lexicon::keys;
use super::schema::{Kind, Param};

/// What kind of text a parameter asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    Path,
    Pattern,
    Address,
    Mail,
    Zone,
    Date,
    Identifier,
    /// Any text.
    Free,
    /// The name of a place, person or thing.
    Name,
}

/// What a mixed word looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Path,
    Pattern,
    Address,
    Mail,
    Zone,
    Date,
    Identifier,
}

/// The parts of a parameter's name, in lower case.
fn parts(param: &Param<'_>) -> Vec<String> {
    super::words::name_parts(param.name)
        .into_iter()
        .map(str::to_lowercase)
        .collect()
}

/// What a parameter asks for.
pub(super) fn sort(param: &Param<'_>) -> Sort {
    let parts = parts(param);
    let any = |names: &[&str]| parts.iter().any(|part| names.contains(&part.as_str()));
    match param.format {
        "uri" | "url" | "iri" | "uri-reference" => return Sort::Address,
        "email" | "idn-email" => return Sort::Mail,
        "date" | "date-time" | "time" => return Sort::Date,
        "uuid" => return Sort::Identifier,
        _ => {}
    }
    if any(&["timezone", "tz", "zone"]) {
        Sort::Zone
    } else if any(&["url", "uri", "link", "href"]) {
        Sort::Address
    } else if any(&["email", "mail"]) {
        Sort::Mail
    } else if any(&["date", "day", "since", "until", "datetime", "timestamp", "time"]) {
        Sort::Date
    } else if any(&["pattern", "glob", "regex", "regexp"]) {
        Sort::Pattern
    } else if any(&[
        "path",
        "paths",
        "file",
        "files",
        "filename",
        "filepath",
        "dir",
        "directory",
        "folder",
    ]) {
        Sort::Path
    } else if tells_which(param) || any(&["code", "sha", "hash", "branch", "revision", "tag", "ref", "uuid"]) {
        Sort::Identifier
    } else if any(&[
        "text",
        "message",
        "msg",
        "query",
        "q",
        "search",
        "content",
        "contents",
        "prompt",
        "keyword",
        "keywords",
        "body",
        "input",
        "string",
        "expression",
        "question",
        "term",
        "comment",
        "note",
        "sentence",
        "phrase",
        "title",
        "subject",
        "thought",
        "description",
        "value",
        "words",
    ]) || (param.kind == Kind::Any && parts.len() == 1 && parts[0].len() == 1)
    {
        Sort::Free
    } else {
        Sort::Name
    }
}

/// Whether a parameter asks which one is meant.
pub(super) fn tells_which(param: &Param<'_>) -> bool {
    let parts = parts(param);
    let last = parts.last().map(String::as_str);
    matches!(last, Some("id" | "ids" | "no" | "index" | "key" | "issue" | "pr"))
        || (parts.len() > 1 && last == Some("number"))
}

/// Whether a parameter asks for how many.
pub(super) fn counts(param: &Param<'_>) -> bool {
    const NAMES: &[&str] = &[
        "limit", "count", "max", "maximum", "top", "size", "n", "first", "last", "take", "results", "lines", "rows",
        "num", "quantity",
    ];
    parts(param).iter().any(|part| NAMES.contains(&part.as_str()))
}

/// Whether a parameter asks for a person.
pub(super) fn is_person(param: &Param<'_>) -> bool {
    const NAMES: &[&str] = &[
        "customer",
        "user",
        "username",
        "author",
        "owner",
        "assignee",
        "person",
        "buyer",
        "client",
        "member",
        "contact",
        "sender",
        "recipient",
    ];
    parts(param).iter().any(|part| NAMES.contains(&part.as_str()))
}

/// Whether a parameter asks for a place.
pub(super) fn is_place(param: &Param<'_>) -> bool {
    const NAMES: &[&str] = &["city", "location", "place", "region", "country", "town", "area"];
    parts(param).iter().any(|part| NAMES.contains(&part.as_str()))
        || keys(param.name)
            .iter()
            .flatten()
            .any(|key| key == "@city" || key == "@place")
}

/// What a mixed word looks like.
pub(super) fn shape(text: &str) -> Shape {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let zone = text.split_once('/').is_some_and(|(area, place)| {
        let capital = |part: &str| part.starts_with(|c: char| c.is_ascii_uppercase());
        let letters = |part: &str| {
            part.chars()
                .all(|c| c.is_ascii_alphabetic() || matches!(c, '_' | '/' | '-'))
        };
        capital(area) && capital(place) && letters(area) && letters(place)
    });
    if text.contains("://") || text.starts_with("www.") {
        Shape::Address
    } else if text.contains('@') && text.contains('.') {
        Shape::Mail
    } else if text.contains('*') {
        Shape::Pattern
    } else if zone {
        Shape::Zone
    } else if digits >= 3
        && text
            .chars()
            .all(|c| c.is_ascii_digit() || matches!(c, '-' | ':' | '/' | 'T' | 'Z' | '.' | '+'))
    {
        Shape::Date
    } else if text.contains(['/', '\\', '.']) {
        Shape::Path
    } else {
        Shape::Identifier
    }
}

/// Whether a word of this shape is what a parameter of this sort asks for.
pub(super) fn suits(shape: Shape, sort: Sort) -> bool {
    match sort {
        Sort::Path => matches!(shape, Shape::Path | Shape::Pattern | Shape::Zone),
        Sort::Pattern => shape == Shape::Pattern,
        Sort::Address => shape == Shape::Address,
        Sort::Mail => shape == Shape::Mail,
        Sort::Zone => shape == Shape::Zone,
        Sort::Date => shape == Shape::Date,
        Sort::Identifier => matches!(shape, Shape::Identifier | Shape::Date),
        Sort::Free | Sort::Name => false,
    }
}

/// Whether this shape is the very one that a sort asks for.
pub(super) fn is_own(shape: Shape, sort: Sort) -> bool {
    suits(shape, sort)
        && !(sort == Sort::Path && shape != Shape::Path)
        && !(sort == Sort::Identifier && shape != Shape::Identifier)
}

/// A value of this sort, to show how one is given.
pub(super) fn example(sort: Sort, param: &Param<'_>, korean: bool) -> String {
    let (in_korean, in_english) = match sort {
        Sort::Path => ("notes.txt", "notes.txt"),
        Sort::Pattern => ("*.txt", "*.txt"),
        Sort::Address => ("https://example.com/", "https://example.com/"),
        Sort::Mail => ("kim@example.com", "kim@example.com"),
        Sort::Zone => ("Asia/Seoul", "Asia/Seoul"),
        Sort::Date => ("2026-01-31", "2026-01-31"),
        Sort::Identifier => ("A-17", "A-17"),
        Sort::Free => ("\"안녕하세요\"", "\"hello\""),
        Sort::Name if is_place(param) => ("서울", "Seoul"),
        Sort::Name => ("김철수", "Kim"),
    };
    (if korean { in_korean } else { in_english }).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks() {
        for (text, wanted) in [
            ("Asia/Seoul", Shape::Zone),
            ("America/Argentina/Buenos_Aires", Shape::Zone),
            ("src/main.rs", Shape::Path),
            ("README.md", Shape::Path),
            ("*.rs", Shape::Pattern),
            ("https://h.example/x", Shape::Address),
            ("a@h.example", Shape::Mail),
            ("2026-01-31", Shape::Date),
            ("12:30", Shape::Date),
            ("ORD-17", Shape::Identifier),
        ] {
            assert_eq!(shape(text), wanted, "{text}");
        }
    }
}
