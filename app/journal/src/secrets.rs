//! What counts as a secret: by the name it stands under, by its shape, or because it was given as one.

use std::ops::Range;

use memchr::memchr2;
use memchr::memmem::{self, Finder};

/// Names (lower case, without `_`, `-`, `.` and spaces) under which a value is a secret.
const NAMES: &[&str] = &[
    "authorization",
    "bearer",
    "pass",
    "pwd",
    "secrets",
    "cookies",
    "passcode",
    "pincode",
    "otp",
    "jwt",
    "dsn",
    "connectionstring",
    "signingkey",
    "encryptionkey",
    "sshkey",
    "비밀번호",
    "암호",
    "토큰",
    "인증키",
    "비밀키",
];

/// Names that end so name secrets, too: `client_secret`, `X-API-Key`, `db_password`.
const ENDINGS: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "accesskeyid",
    "secretkey",
    "privatekey",
    "credential",
    "credentials",
    "authorization",
    "cookie",
];

/// Names that end like a secret and are none: the protocol's own, and places in a list.
const NOT_SECRET: &[&str] = &["progresstoken", "pagetoken", "nextpagetoken", "continuationtoken"];

/// Beginnings that providers give their keys, and how many key characters follow at least.
const SHAPES: &[(&str, usize)] = &[
    ("sk-", 16),
    ("pk-", 16),
    ("rk-", 16),
    ("sk_live_", 8),
    ("sk_test_", 8),
    ("rk_live_", 8),
    ("ghp_", 16),
    ("gho_", 16),
    ("ghu_", 16),
    ("ghs_", 16),
    ("ghr_", 16),
    ("github_pat_", 16),
    ("glpat-", 12),
    ("xoxb-", 8),
    ("xoxp-", 8),
    ("xoxa-", 8),
    ("xoxs-", 8),
    ("xapp-", 8),
    ("AKIA", 16),
    ("ASIA", 16),
    ("AIza", 30),
    ("ya29.", 16),
    ("npm_", 20),
    ("hf_", 20),
    ("pypi-", 20),
    ("SG.", 20),
    ("whsec_", 16),
    ("dop_v1_", 16),
    ("shpat_", 16),
];

/// Authorization schemes, in any case; what follows one is a secret.
const SCHEMES: &[&str] = &["bearer", "basic", "token", "apikey", "negotiate", "digest"];

/// How a key in PEM form begins, what its first line names if it is a private one, and how it ends.
pub(crate) const KEY_BEGIN: &str = "-----BEGIN ";
pub(crate) const KEY_NAME: &str = "PRIVATE KEY";
pub(crate) const KEY_END: &str = "-----END ";

/// A JSON Web Token begins so: its first part is an encoded brace.
const JWT: &str = "eyJ";

/// How the secrets that are known by their look begin: for each first byte the second ones, and the third ones, a bit
/// for the low half of each. Three bytes tell nearly every word from a secret.
const BEGINNINGS: [[u32; 2]; 256] = {
    const fn note(beginnings: &mut [[u32; 2]; 256], text: &str) {
        let bytes = text.as_bytes();
        let [second, third] = &mut beginnings[bytes[0] as usize];
        *second |= low_half(bytes[1]);
        *third |= low_half(bytes[2]);
    }
    let mut beginnings = [[0; 2]; 256];
    note(&mut beginnings, JWT);
    let mut at = 0;
    while at < SHAPES.len() {
        note(&mut beginnings, SHAPES[at].0);
        at += 1;
    }
    at = 0;
    while at < SCHEMES.len() {
        note(&mut beginnings, SCHEMES[at]);
        // Capitals have the same low half.
        let first = SCHEMES[at].as_bytes()[0];
        let [second, third] = beginnings[first as usize];
        let capital = &mut beginnings[first.to_ascii_uppercase() as usize];
        capital[0] |= second;
        capital[1] |= third;
        at += 1;
    }
    beginnings
};

/// How names of secrets end: for each last byte the ones before it, as above. It tells most other names from them.
const NAME_ENDINGS: [u32; 256] = {
    const fn note(endings: &mut [u32; 256], names: &[&str]) {
        let mut at = 0;
        while at < names.len() {
            let name = names[at].as_bytes();
            endings[name[name.len() - 1] as usize] |= low_half(name[name.len() - 2]);
            at += 1;
        }
    }
    let mut endings = [0; 256];
    note(&mut endings, NAMES);
    note(&mut endings, ENDINGS);
    endings
};

/// How long a text is at least that holds a secret known by its look: most names, and many values, are shorter.
const SHORTEST_BY_LOOK: usize = {
    let mut least = usize::MAX;
    let mut at = 0;
    while at < SCHEMES.len() {
        least = shorter(least, SCHEMES[at].len() + 1 + LEAST_BEHIND_SCHEME);
        at += 1;
    }
    at = 0;
    while at < SHAPES.len() {
        least = shorter(least, SHAPES[at].0.len() + SHAPES[at].1);
        at += 1;
    }
    shorter(shorter(least, LEAST_JWT), KEY_BEGIN.len() + KEY_NAME.len())
};

const fn shorter(left: usize, right: usize) -> usize {
    if left < right { left } else { right }
}

/// What follows a scheme is a secret if it has so many bytes: shorter than this it is prose, "basic idea", "bearer of
/// news".
const LEAST_BEHIND_SCHEME: usize = 8;

/// How many bytes a JSON Web Token has at least.
const LEAST_JWT: usize = 24;

/// The low five bits, in which a letter and its capital are one.
const fn low_half(byte: u8) -> u32 {
    1 << (byte & 31)
}

/// Known secrets shorter than this are not looked for: `1` or `true` would mask everything.
pub(crate) const SHORTEST_KNOWN: usize = 6;

/// Longest stretch before `:` or `=` that is looked at as a name.
const LONGEST_NAME: usize = 64;

/// Whether a value under this name is a secret.
pub(crate) fn is_secret_name(name: &str) -> bool {
    let name = end_of(name, LONGEST_NAME);
    let ignored = |c: u8| matches!(c, b'_' | b'-' | b'.' | b' ');
    // Every name of every message comes here, nearly all in ASCII: that takes no memory.
    if name.is_ascii() {
        let kept = || name.bytes().filter(|&byte| !ignored(byte));
        let mut last = kept().rev();
        let (Some(last), Some(second)) = (last.next(), last.next()) else {
            return false;
        };
        if NAME_ENDINGS[usize::from(last.to_ascii_lowercase())] & low_half(second) == 0 {
            return false;
        }
        let mut plain = [0; LONGEST_NAME];
        let mut length = 0;
        for byte in kept() {
            plain[length] = byte.to_ascii_lowercase();
            length += 1;
        }
        return is_plain_secret_name(&plain[..length]);
    }
    let kept = name.chars().filter(|&c| !u8::try_from(c).is_ok_and(ignored));
    let plain: String = kept.flat_map(char::to_lowercase).collect();
    is_plain_secret_name(plain.as_bytes())
}

/// The last `most` bytes, or a few less: what a name names stands at its end.
fn end_of(name: &str, most: usize) -> &str {
    let mut start = name.len().saturating_sub(most);
    while !name.is_char_boundary(start) {
        start += 1;
    }
    &name[start..]
}

fn is_plain_secret_name(plain: &[u8]) -> bool {
    if NOT_SECRET.iter().any(|name| name.as_bytes() == plain) {
        return false;
    }
    NAMES.iter().any(|name| name.as_bytes() == plain) || ENDINGS.iter().any(|end| plain.ends_with(end.as_bytes()))
}

/// What may stand in place of a secret.
const STAND_INS: [&str; 6] = [
    "[masked 1-8]",
    "[masked 9-16]",
    "[masked 17-32]",
    "[masked 33-64]",
    "[masked 65-256]",
    "[masked 257+]",
];

/// What stands in place of a secret of so many characters: its length class and nothing else.
pub(crate) fn stand_in(characters: usize) -> &'static str {
    let class = match characters {
        0 => return "",
        1..=8 => 0,
        9..=16 => 1,
        17..=32 => 2,
        33..=64 => 3,
        65..=256 => 4,
        _ => 5,
    };
    STAND_INS[class]
}

/// Whether `text` is one of the texts of [`stand_in`].
pub(crate) fn is_stand_in(text: &str) -> bool {
    STAND_INS.contains(&text)
}

fn begins_with_stand_in(text: &str) -> bool {
    STAND_INS.iter().any(|said| text.starts_with(said))
}

pub(crate) fn ends_with_stand_in(text: &str) -> bool {
    STAND_INS.iter().any(|said| text.ends_with(said))
}

/// The secrets in a text, in order, none overlapping another.
pub(crate) fn spans<'k>(text: &str, known: impl IntoIterator<Item = &'k Finder<'static>>) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for secret in known {
        let hits = secret.find_iter(text.as_bytes());
        found.extend(hits.map(|at| at..at + secret.needle().len()));
    }
    let bytes = text.as_bytes();
    if bytes.len() < SHORTEST_BY_LOOK && memchr2(b':', b'=', bytes).is_none() {
        return merged(found);
    }
    // Where the last find of each sort ended: looking again inside it would make hostile texts quadratic.
    let (mut value_end, mut nested_end, mut key_end, mut token_end) = (0, 0, 0, 0);
    let mut keep = |span: Option<Range<usize>>, end: &mut usize| {
        if let Some(span) = span {
            *end = span.end;
            found.push(span);
        }
    };
    let mut in_word = false;
    for (at, &byte) in bytes.iter().enumerate() {
        match SORTS[usize::from(byte)] {
            Sort::Other => in_word = false,
            Sort::Word => {
                if !in_word && at >= token_end && may_begin(&bytes[at..]) {
                    keep(shaped(text, at), &mut token_end);
                }
                in_word = true;
            }
            Sort::Dash => {
                in_word = true;
                if at >= key_end && bytes[at..].starts_with(KEY_BEGIN.as_bytes()) {
                    keep(private_key(text, at), &mut key_end);
                }
            }
            Sort::Mark => {
                in_word = false;
                if at + 1 >= value_end {
                    keep(assigned(text, at), &mut value_end);
                }
                // What is in brackets is looked at all the same: it may be no JSON after all.
                if at >= nested_end {
                    keep(nested(text, at), &mut nested_end);
                }
                if bytes[at..].starts_with(b"://") {
                    keep(password_in_address(text, at + 3), &mut 0);
                }
            }
        }
    }
    merged(found)
}

/// What a byte means to the search for secrets.
#[derive(Clone, Copy)]
enum Sort {
    Other,
    /// It belongs to a word, and a secret may begin at the first of them.
    Word,
    /// It belongs to a word, and a private key may begin here.
    Dash,
    /// A value may follow.
    Mark,
}

const SORTS: [Sort; 256] = {
    let mut sorts = [Sort::Other; 256];
    let mut byte = 0_u8;
    while byte < u8::MAX {
        if is_key_byte(byte) {
            sorts[byte as usize] = Sort::Word;
        }
        byte += 1;
    }
    sorts[b'-' as usize] = Sort::Dash;
    sorts[b':' as usize] = Sort::Mark;
    sorts[b'=' as usize] = Sort::Mark;
    sorts
};

/// Whether a secret that is known by its look can begin so.
fn may_begin(word: &[u8]) -> bool {
    let [first, second, third, ..] = word else { return false };
    let [seconds, thirds] = BEGINNINGS[usize::from(*first)];
    seconds & low_half(*second) != 0 && thirds & low_half(*third) != 0
}

/// Sorts and joins what overlaps.
fn merged(mut found: Vec<Range<usize>>) -> Vec<Range<usize>> {
    if found.len() < 2 {
        return found;
    }
    found.sort_by_key(|span| span.start);
    let mut joined: Vec<Range<usize>> = Vec::with_capacity(found.len());
    for span in found {
        match joined.last_mut() {
            Some(last) if span.start < last.end => last.end = last.end.max(span.end),
            _ => joined.push(span),
        }
    }
    joined
}

const fn is_key_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// How many bytes from `at` on may belong to a token.
fn token_length(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .take_while(|&&b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'~' | b'+' | b'/' | b'='))
        .count()
}

/// A secret that is known by its own look and starts at `at`, or `Bearer` and what follows it.
fn shaped(text: &str, at: usize) -> Option<Range<usize>> {
    let rest = &text.as_bytes()[at..];
    for (start, least) in SHAPES {
        if rest.starts_with(start.as_bytes()) {
            let length = token_length(&rest[start.len()..]);
            return (length >= *least).then(|| at..at + start.len() + length);
        }
    }
    if rest.starts_with(JWT.as_bytes()) {
        // It has three parts.
        let length = rest.iter().take_while(|&&b| is_key_byte(b) || b == b'.').count();
        let pieces = rest[..length].split(|&b| b == b'.').count();
        return (pieces >= 3 && length >= LEAST_JWT).then(|| at..at + length);
    }
    let scheme = scheme_length(rest)?;
    let gap = rest[scheme..].iter().take_while(|&&b| b == b' ').count();
    let value = scheme + gap;
    let length = token_length(&rest[value..]);
    (gap > 0 && length >= LEAST_BEHIND_SCHEME && has_digit_or_case_change(&rest[value..value + length]))
        .then(|| at + value..at + value + length)
}

/// The length of an authorization scheme's name at the start of `rest`.
fn scheme_length(rest: &[u8]) -> Option<usize> {
    SCHEMES
        .iter()
        .find(|scheme| {
            rest.get(..scheme.len())
                .is_some_and(|head| head.eq_ignore_ascii_case(scheme.as_bytes()))
                && rest.get(scheme.len()).is_none_or(|&b| b == b' ')
        })
        .map(|scheme| scheme.len())
}

/// Words of prose have neither digits nor capitals inside.
fn has_digit_or_case_change(word: &[u8]) -> bool {
    word.iter()
        .skip(1)
        .any(|b| b.is_ascii_digit() || b.is_ascii_uppercase())
}

/// The value after the `:` or `=` at `mark`, when the name before it names a secret.
fn assigned(text: &str, mark: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let name = name_before(text, mark)?;
    if !is_secret_name(name) {
        return None;
    }
    let mut start = mark + 1 + blanks(bytes, mark + 1);
    let slashes = slashes(bytes, start);
    if let Some(&quote @ (b'"' | b'\'')) = bytes.get(start + slashes) {
        start += slashes + 1;
        return Some(start..closing_quote(bytes, start, quote, slashes));
    }
    let rest = &text[start..];
    // `{`, `[` and `://` begin something that is looked at by itself.
    if rest.starts_with(['{', '[']) || rest.starts_with("//") {
        return None;
    }
    let name = name.to_lowercase();
    if name.ends_with("authorization") || name.ends_with("cookie") {
        let line = rest.split(['\r', '\n']).next().unwrap_or_default();
        return (!line.is_empty()).then(|| start..start + line.len());
    }
    if let Some(scheme) = scheme_length(rest.as_bytes()) {
        start += scheme;
        start += blanks(bytes, start);
    }
    // A blank stands in it: its first word is not the value.
    if begins_with_stand_in(&text[start..]) {
        return None;
    }
    let stops = |b: &u8| b.is_ascii_whitespace() || b",;&)}]<>\"'\\".contains(b);
    let end = start + bytes[start..].iter().take_while(|b| !stops(b)).count();
    (end > start).then_some(start..end)
}

/// All that stands in brackets after the `:` at `mark`, in JSON that is recorded as text, being long, deep or cut off, when
/// the name before it names a secret. Also the schema of a secret: it takes the whole of a text to tell it from a value.
fn nested(text: &str, mark: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let open = mark + 1 + blanks(bytes, mark + 1);
    if !matches!(bytes.get(open), Some(b'{' | b'[')) || bytes[mark] != b':' {
        return None;
    }
    // In JSON a name has quotes; and in prose a bracket begins a remark, or says what was taken out before.
    let name = text[..mark].trim_end_matches([' ', '\t']).strip_suffix('"')?;
    let begun = text[open + 1..].trim_start();
    let is_json = begun.is_empty()
        || begun.starts_with(|c: char| c.is_ascii_digit() || "\"\\{[}]-".contains(c))
        || ["true", "false", "null"].iter().any(|word| begun.starts_with(word));
    if !is_json || begins_with_stand_in(&text[open..]) {
        return None;
    }
    let level = name.len() - name.trim_end_matches('\\').len();
    is_secret_name(name_before(text, mark)?).then(|| open + 1..closing_bracket(bytes, open + 1, level))
}

fn blanks(bytes: &[u8], from: usize) -> usize {
    bytes[from..].iter().take_while(|&&b| matches!(b, b' ' | b'\t')).count()
}

fn slashes(bytes: &[u8], from: usize) -> usize {
    bytes[from..].iter().take_while(|&&b| b == b'\\').count()
}

/// The name that ends before `mark`, quotes, escapes and blanks left aside.
fn name_before(text: &str, mark: usize) -> Option<&str> {
    let head = text[..mark].trim_end_matches([' ', '\t']);
    let head = head.trim_end_matches(['"', '\'', '\\']);
    let mut start = head.len();
    for (at, c) in head.char_indices().rev() {
        if !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.')) || head.len() - at > LONGEST_NAME {
            break;
        }
        start = at;
    }
    (start < head.len()).then(|| &head[start..])
}

/// Where the quote that was opened behind `slashes` backslashes is closed, or one further out; the end of the text when it
/// is not.
fn closing_quote(bytes: &[u8], start: usize, quote: u8, slashes: usize) -> usize {
    let mut run = 0;
    for (at, &byte) in bytes.iter().enumerate().skip(start) {
        if byte == b'\\' {
            run += 1;
            continue;
        }
        if byte == quote {
            // Each escaped backslash before it is twice as many as stand before the quote itself, and two more.
            let own = run % (2 * (slashes + 1));
            if own <= slashes {
                return at - own;
            }
        }
        run = 0;
    }
    bytes.len()
}

/// Where the bracket before `start` is closed, in JSON whose quotes stand behind `level` backslashes; the end of the text,
/// or of the text that it stands in, when it is not.
fn closing_bracket(bytes: &[u8], start: usize, level: usize) -> usize {
    let (mut at, mut depth) = (start, 0_usize);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' | b'\\' => {
                let run = slashes(bytes, at);
                if bytes.get(at + run) != Some(&b'"') {
                    at += run;
                    continue;
                }
                if run < level {
                    return at;
                }
                let end = closing_quote(bytes, at + run + 1, b'"', level);
                if slashes(bytes, end) < level || end == bytes.len() {
                    return end;
                }
                at = end + level;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 0 => return at,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

/// The password of `user:password@host` after `://`.
fn password_in_address(text: &str, start: usize) -> Option<Range<usize>> {
    let stop = |c: char| c.is_whitespace() || matches!(c, '/' | '?' | '#' | '"' | '\'' | '<' | '>' | '\\');
    let end = text[start..].find(stop).map_or(text.len(), |length| start + length);
    let at = start + text[start..end].rfind('@')?;
    let colon = start + text[start..at].find(':')?;
    (colon + 1 < at).then_some(colon + 1..at)
}

/// A private key in PEM form that begins at `start`; one that is cut off goes to the end of the text.
fn private_key(text: &str, start: usize) -> Option<Range<usize>> {
    const HEAD: usize = 64;
    let head_end = text.len().min(start + HEAD);
    let head = &text.as_bytes()[start..head_end];
    memmem::find(head, KEY_NAME.as_bytes())?;
    let rest = &text[start..];
    let end = rest.find(KEY_END).map_or(rest.len(), |at| {
        let last = at + KEY_END.len();
        rest[last..].find("-----").map_or(rest.len(), |more| last + more + 5)
    });
    Some(start..start + end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found<'a>(text: &'a str, known: &[&str]) -> Vec<&'a str> {
        let known: Vec<Finder<'static>> = known.iter().map(|k| Finder::new(k).into_owned()).collect();
        spans(text, &known).into_iter().map(|span| &text[span]).collect()
    }

    #[test]
    fn names() {
        for name in [
            "password",
            "DB_PASSWORD",
            "X-Api-Key",
            "accessToken",
            "client.secret",
            "비밀번호",
            "Set-Cookie",
            // A Kelvin sign is a capital of k.
            "API_\u{212a}EY",
            "_-. PWD",
            "o.t-p_",
            "PASS_WORD. ",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in [
            "progressToken",
            "next_page_token",
            "maxTokens",
            "tokens",
            "passenger",
            "keyboard",
            "city",
            "x",
            "_",
            "",
        ] {
            assert!(!is_secret_name(name), "{name}");
        }
    }

    #[test]
    fn every_shape_and_scheme_is_looked_for() {
        for (start, least) in SHAPES {
            let secret = format!("{start}{}", "a".repeat(*least));
            assert_eq!(found(&format!("use {secret} now"), &[]), [secret.as_str()]);
            assert_eq!(found(&secret[..secret.len() - 1], &[]), [""; 0]);
        }
        for scheme in SCHEMES {
            let capital = format!("{}{}", scheme[..1].to_uppercase(), &scheme[1..]);
            for scheme in [(*scheme).to_owned(), scheme.to_uppercase(), capital] {
                assert_eq!(
                    found(&format!("{scheme} abC123.def-456"), &[]),
                    ["abC123.def-456"],
                    "{scheme}"
                );
            }
        }
    }

    #[test]
    fn shapes() {
        let text = "use sk-abcdefghij0123456789 or ghp_0123456789abcdefghij, not sk-short or risk-taking";
        assert_eq!(
            found(text, &[]),
            ["sk-abcdefghij0123456789", "ghp_0123456789abcdefghij"]
        );
        assert_eq!(found("Bearer abC123.def-456", &[]), ["abC123.def-456"]);
        assert_eq!(found("the bearer certificate, a basic understanding", &[]), [""; 0]);
        assert_eq!(
            found("eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl end", &[]),
            ["eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl"]
        );
    }

    #[test]
    fn assignments() {
        assert_eq!(found("DB_PASSWORD=hunter2 HOST=x", &[]), ["hunter2"]);
        assert_eq!(found("GET /?q=1&api_key=k9&z=2", &[]), ["k9"]);
        assert_eq!(found(r#"{"password": "hu\"nter", "b": "c"}"#, &[]), [r#"hu\"nter"#]);
        assert_eq!(found(r#"{\"password\":\"hunter\",\"b\":\"c\"}"#, &[]), ["hunter"]);
        assert_eq!(
            found("Authorization: Basic dXNlcjpwdw==\nnext", &[]),
            ["Basic dXNlcjpwdw=="]
        );
        assert_eq!(found("Cookie: a=b; c=d\r\nnext", &[]), ["a=b; c=d"]);
        assert_eq!(found("token: Bearer abc", &[]), ["abc"]);
        assert_eq!(found("암호: 열려라참깨", &[]), ["열려라참깨"]);
        assert_eq!(found("secret: [see below], token: {", &[]), [""; 0]);
        assert_eq!(found("progressToken=7 city: Seoul", &[]), [""; 0]);
        assert_eq!(found("password=", &[]), [""; 0]);
    }

    #[test]
    fn all_that_stands_under_a_name_in_json() {
        for (text, secret) in [
            (
                r#"{"credentials": {"a":"x}\"]","b":["hunter2"]},"c":"d"}"#,
                r#""a":"x}\"]","b":["hunter2"]"#,
            ),
            (
                r#"{"secrets":{"a":"C:\\","b":"a}hunter2"},"c"#,
                r#""a":"C:\\","b":"a}hunter2""#,
            ),
            (
                r#"{\"secrets\":[\"a]\\\"\",{\"b\":7}],\"c\":8}"#,
                r#"\"a]\\\"\",{\"b\":7}"#,
            ),
            (r#"{\"secrets\":[\"C:\\\\\",\"a]\"],\"c\":8}"#, r#"\"C:\\\\\",\"a]\""#),
            (r#"{"token":[["hunter2"#, r#"["hunter2"#),
            (r#"{"a":"{\"token\":[{\"b\"","c":"d]"}"#, r#"{\"b\""#),
            (r#"{"a":"{\"token\":[\"b","c":"d]"}"#, r#"\"b"#),
        ] {
            assert_eq!(found(text, &[]), [secret]);
            let masked = text.replace(secret, stand_in(secret.len()));
            assert!(found(&masked, &[]).iter().all(|secret| is_stand_in(secret)), "{masked}");
        }
        for text in [
            r#"{"otp":[masked 1-8],"a":["b"]}"#,
            r#"grep for "token": [ in the file"#,
            r#""token"=["b"]"#,
            "token:[1]",
        ] {
            assert_eq!(found(text, &[]), [""; 0]);
        }
        // Brackets that are none do not hide what stands by itself.
        let text = r#"{"note":"{\"token\":[","password":"a]hunter2"}"#;
        assert!(found(text, &[]).iter().any(|secret| secret.contains("a]hunter2")));
    }

    #[test]
    fn addresses_and_keys() {
        assert_eq!(found("postgres://me:p%40ss@db:5432/x", &[]), ["p%40ss"]);
        assert_eq!(found("http://h.example:80/a@b", &[]), [""; 0]);
        let key = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----";
        assert_eq!(found(&format!("a {key} b"), &[]), [key]);
        assert_eq!(found("-----BEGIN CERTIFICATE-----\nMIIE", &[]), [""; 0]);
    }

    #[test]
    fn known_values_wherever_they_stand() {
        assert_eq!(found("xxs3cr3t-valuexx", &["s3cr3t-value"]), ["s3cr3t-value"]);
        // Overlapping finds become one.
        assert_eq!(found("abcdefghi", &["abcdef", "defghi"]), ["abcdefghi"]);
    }

    #[test]
    fn a_long_hostile_text_takes_no_longer_than_another() {
        let start = std::time::Instant::now();
        for piece in [
            "password=",
            "password = ",
            "password:\\",
            "password=\"\\",
            "authorization=",
            "authorization={",
            "token:  ",
            "token:\"",
            "token token",
            "\"token\":{",
            "\"token\":[\"",
            "\"token\":{}",
            "\"token\":[\\\"",
            "://",
            "a@://",
            "://a:b",
            "-----BEGIN ",
            "-----BEGIN PRIVATE KEY-----",
            "eyJ",
            "eyJ.",
            "eyJ/",
            "sk-.",
            "bearer ",
            "= ",
        ] {
            let text = piece.repeat((1 << 20) / piece.len());
            let _ = spans(&text, &[Finder::new("secret-one").into_owned()]);
        }
        // A second for all of them where it is slow; work that grows with the square would take many minutes.
        assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
    }
}
