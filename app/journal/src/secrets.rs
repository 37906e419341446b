//! What counts as a secret: by the name it stands under, by its shape, or because it was given as one.

use std::ops::Range;

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

/// Known secrets shorter than this are not looked for: `1` or `true` would mask everything.
pub(crate) const SHORTEST_KNOWN: usize = 6;

/// Longest stretch before `:` or `=` that is looked at as a name.
const LONGEST_NAME: usize = 64;

/// Whether a value under this name is a secret.
pub(crate) fn is_secret_name(name: &str) -> bool {
    if name.len() > LONGEST_NAME {
        return false;
    }
    let plain: String = name
        .chars()
        .filter(|c| !matches!(c, '_' | '-' | '.' | ' '))
        .flat_map(char::to_lowercase)
        .collect();
    if NOT_SECRET.contains(&plain.as_str()) {
        return false;
    }
    NAMES.contains(&plain.as_str()) || ENDINGS.iter().any(|end| plain.ends_with(end))
}

/// What stands in place of a secret of so many characters: its length class and nothing else.
pub(crate) fn stand_in(characters: usize) -> &'static str {
    match characters {
        0 => "",
        1..=8 => "[masked 1-8]",
        9..=16 => "[masked 9-16]",
        17..=32 => "[masked 17-32]",
        33..=64 => "[masked 33-64]",
        65..=256 => "[masked 65-256]",
        _ => "[masked 257+]",
    }
}

/// Whether `text` is one of the texts of [`stand_in`].
pub(crate) fn is_stand_in(text: &str) -> bool {
    [1, 9, 17, 33, 65, 257].iter().any(|&n| text == stand_in(n))
}

/// The secrets in a text, in order, none overlapping another.
pub(crate) fn spans(text: &str, known: &[String]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for secret in known {
        found.extend(text.match_indices(secret.as_str()).map(|(at, hit)| at..at + hit.len()));
    }
    let bytes = text.as_bytes();
    // Where the last find of each sort ended: looking again inside it would make hostile texts quadratic.
    let (mut value_end, mut key_end, mut token_end) = (0, 0, 0);
    let mut keep = |span: Option<Range<usize>>, end: &mut usize| {
        if let Some(span) = span {
            *end = span.end;
            found.push(span);
        }
    };
    for (at, &byte) in bytes.iter().enumerate() {
        match byte {
            b':' | b'=' => {
                if at + 1 >= value_end {
                    keep(assigned(text, at), &mut value_end);
                }
                if bytes[at..].starts_with(b"://") {
                    keep(password_in_address(text, at + 3), &mut 0);
                }
            }
            b'-' if at >= key_end && bytes[at..].starts_with(b"-----BEGIN ") => {
                keep(private_key(text, at), &mut key_end);
            }
            _ if at >= token_end && byte.is_ascii_alphabetic() && (at == 0 || !is_key_byte(bytes[at - 1])) => {
                keep(shaped(text, at), &mut token_end);
            }
            _ => {}
        }
    }
    merged(found)
}

/// Sorts and joins what overlaps.
fn merged(mut found: Vec<Range<usize>>) -> Vec<Range<usize>> {
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

fn is_key_byte(byte: u8) -> bool {
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
    if rest.starts_with(b"eyJ") {
        // A JSON Web Token: three parts, the first of which begins with an encoded brace.
        let length = rest.iter().take_while(|&&b| is_key_byte(b) || b == b'.').count();
        let pieces = rest[..length].split(|&b| b == b'.').count();
        return (pieces >= 3 && length >= 24).then(|| at..at + length);
    }
    let scheme = scheme_length(rest)?;
    let gap = rest[scheme..].iter().take_while(|&&b| b == b' ').count();
    let value = scheme + gap;
    let length = token_length(&rest[value..]);
    // Shorter than this it is prose: "basic idea", "bearer of news".
    (gap > 0 && length >= 8 && has_digit_or_case_change(&rest[value..value + length]))
        .then(|| at + value..at + value + length)
}

/// The length of an authorization scheme's name at the start of `rest`.
fn scheme_length(rest: &[u8]) -> Option<usize> {
    ["bearer", "basic", "token", "apikey", "negotiate", "digest"]
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
    let blanks = |from: usize| bytes[from..].iter().take_while(|&&b| matches!(b, b' ' | b'\t')).count();
    let mut start = mark + 1 + blanks(mark + 1);
    let slashes = bytes[start..].iter().take_while(|&&b| b == b'\\').count();
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
        start += blanks(start);
    }
    let stops = |b: &u8| b.is_ascii_whitespace() || b",;&)}]<>\"'\\".contains(b);
    let end = start + bytes[start..].iter().take_while(|b| !stops(b)).count();
    (end > start).then_some(start..end)
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

/// Where the quote that was opened behind `slashes` backslashes is closed; the end of the text when it is not.
fn closing_quote(bytes: &[u8], start: usize, quote: u8, slashes: usize) -> usize {
    let mut run = 0;
    for (at, &byte) in bytes.iter().enumerate().skip(start) {
        if byte == b'\\' {
            run += 1;
            continue;
        }
        if byte == quote && run <= slashes {
            return at - run;
        }
        run = 0;
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
    if !head.windows(11).any(|part| part == b"PRIVATE KEY") {
        return None;
    }
    let rest = &text[start..];
    let end = rest.find("-----END ").map_or(rest.len(), |at| {
        let last = at + "-----END ".len();
        rest[last..].find("-----").map_or(rest.len(), |more| last + more + 5)
    });
    Some(start..start + end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found<'a>(text: &'a str, known: &[&str]) -> Vec<&'a str> {
        let known: Vec<String> = known.iter().map(|&k| k.to_owned()).collect();
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
            "",
        ] {
            assert!(!is_secret_name(name), "{name}");
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
        assert_eq!(found("progressToken=7 city: Seoul", &[]), [""; 0]);
        assert_eq!(found("password=", &[]), [""; 0]);
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
            let _ = spans(&text, &["secret-one".to_owned()]);
        }
        // A second for all of them where it is slow; work that grows with the square would take many minutes.
        assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
    }
}
