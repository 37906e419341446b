//! A question taken apart into words, and words brought to their stems.

use std::borrow::Cow;

/// How a word is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Letters of any script but Hangul.
    Letters,
    /// Hangul.
    Hangul,
    /// A number.
    Number,
    /// Anything mixed: a path, an address, a code.
    Code,
    /// What stood between quotes.
    Quoted,
}

/// One word of a question.
#[derive(Debug, Clone, Copy)]
pub(super) struct Word<'q> {
    /// As written, without quotes and outer punctuation.
    pub(super) text: &'q str,
    /// Where it begins in the question, its quotes included.
    pub(super) start: usize,
    /// Where it ends.
    pub(super) end: usize,
    /// How it is written.
    pub(super) form: Form,
    /// Whether it begins a sentence.
    pub(super) first: bool,
    /// Whether `=` or `:` follows it and it names what comes next.
    pub(super) names_next: bool,
}

/// Whether `c` is a Hangul syllable or letter.
pub(super) fn is_hangul(c: char) -> bool {
    matches!(c, '\u{AC00}'..='\u{D7A3}' | '\u{1100}'..='\u{11FF}' | '\u{3130}'..='\u{318F}')
}

/// The text with Hangul that came in single letters (as some systems write it) put together into syllables.
pub(super) fn compose(text: &str) -> Cow<'_, str> {
    if !text.contains(|c| matches!(c, '\u{1100}'..='\u{11FF}')) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let last = out.chars().next_back().map_or(0, u32::from);
        let unit = u32::from(c);
        let joined = match unit {
            // A vowel after a leading consonant, and a trailing consonant after a syllable without one.
            0x1161..=0x1175 if (0x1100..=0x1112).contains(&last) => {
                char::from_u32(0xAC00 + ((last - 0x1100) * 21 + (unit - 0x1161)) * 28)
            }
            0x11A8..=0x11C2 if (0xAC00..=0xD7A3).contains(&last) && (last - 0xAC00).is_multiple_of(28) => {
                char::from_u32(last + unit - 0x11A7)
            }
            _ => None,
        };
        if joined.is_some() {
            out.pop();
        }
        out.push(joined.unwrap_or(c));
    }
    out.into()
}

/// The words of a question, at most `most` of them.
pub(super) fn words(text: &str, most: usize) -> Vec<Word<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    let mut first = true;
    while let Some(c) = text[at..].chars().next() {
        if found.len() >= most {
            break;
        }
        if let Some((inner, length)) = quoted(&text[at..]) {
            let (start, end) = (at, at + length);
            found.push(Word {
                text: inner,
                start,
                end,
                form: Form::Quoted,
                first,
                names_next: false,
            });
            (at, first) = (end, false);
            continue;
        }
        if ends_chunk(text, at, c) {
            first |= matches!(c, '.' | '?' | '!' | '\n' | '。' | '？' | '！');
            at += c.len_utf8();
            continue;
        }
        let length = chunk_length(&text[at..]);
        let before = found.len();
        push_chunk(&mut found, text, at, at + length, first);
        if found.len() > before {
            first = text[at..at + length].ends_with(['.', '?', '!']);
        }
        at += length;
    }
    found.truncate(most);
    found
}

/// The inside of the quotes that `text` begins with, and the length of the whole.
fn quoted(text: &str) -> Option<(&str, usize)> {
    const PAIRS: &[(char, char)] = &[
        ('"', '"'),
        ('“', '”'),
        ('‘', '’'),
        ('「', '」'),
        ('『', '』'),
        ('`', '`'),
        ('\'', '\''),
    ];
    let open = text.chars().next()?;
    let close = PAIRS.iter().find(|pair| pair.0 == open)?.1;
    let inner = &text[open.len_utf8()..];
    let end = inner
        .match_indices(close)
        // An apostrophe inside a word closes nothing.
        .find(|(at, _)| close != '\'' || !inner[at + 1..].starts_with(char::is_alphanumeric))?
        .0;
    Some((&inner[..end], open.len_utf8() + end + close.len_utf8()))
}

/// Whether the character at `at` stands between words.
fn ends_chunk(text: &str, at: usize, c: char) -> bool {
    if c == ',' {
        // A comma between three-digit groups belongs to the number.
        let digits = |s: &str| s.bytes().take_while(u8::is_ascii_digit).count();
        let before = text[..at].bytes().next_back().is_some_and(|b| b.is_ascii_digit());
        return !(before && digits(&text[at + 1..]) == 3);
    }
    c.is_whitespace()
        || matches!(
            c,
            ';' | '(' | ')' | '[' | ']' | '{' | '}' | '<' | '>' | '|' | '?' | '!' | '"' | '“' | '”'
        )
        || matches!(
            c,
            '「' | '」' | '『' | '』' | '`' | '、' | '。' | '，' | '？' | '！' | '…'
        )
}

/// The length of the chunk at the start of `text`: up to white space or a mark, or behind an `=` or `:` that names.
fn chunk_length(text: &str) -> usize {
    for (at, c) in text.char_indices() {
        if at > 0 && ends_chunk(text, at, c) {
            return at;
        }
        // One letter before a colon is a drive: `C:\\x`.
        let names = is_identifier(&text[..at]) && (c == '=' || at > 1);
        if matches!(c, '=' | ':') && names && !text[at + 1..].starts_with("//") {
            return at + 1;
        }
    }
    text.len()
}

fn is_identifier(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(char::is_alphabetic) && chars.all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
}

fn push_chunk<'q>(found: &mut Vec<Word<'q>>, text: &'q str, start: usize, end: usize, first: bool) {
    let chunk = &text[start..end];
    let names_next = chunk.ends_with(['=', ':']);
    let trimmed = chunk.trim_end_matches(['=', ':', '.', '\'', '’', '~', '-', ',', '^', '*']);
    // A star at the end is part of a pattern, not decoration, when something precedes it that looks like one.
    let trimmed = if chunk.ends_with('*') && chunk.contains(['/', '.']) {
        chunk
    } else {
        trimmed
    };
    let body = trimmed.trim_start_matches(['\'', '’', '=', ':', ',', '^']);
    let mut at = start + (trimmed.len() - body.len());
    let mut rest = body;
    let mut first = first;
    while !rest.is_empty() {
        let length = part_length(rest);
        let (part, more) = rest.split_at(length);
        if part.contains(char::is_alphanumeric) || part.contains(['/', '*', '.']) {
            let end = at + length;
            let names_next = names_next && more.is_empty();
            found.push(Word {
                text: part,
                start: at,
                end,
                form: form(part),
                first,
                names_next,
            });
            first = false;
        }
        at += length;
        rest = more;
    }
}

/// How much of a chunk is one word: Hangul is cut from what it is glued to, a number from what follows it.
fn part_length(chunk: &str) -> usize {
    if looks_like_path(chunk) {
        // Only the particle behind it is cut off: `README.md를`.
        let bare = chunk.trim_end_matches(is_hangul);
        let cut = bare.len() < chunk.len() && !bare.ends_with(['/', '_', '-']);
        return if cut { bare.len() } else { chunk.len() };
    }
    let hangul = chunk.starts_with(is_hangul);
    chunk.find(|c| is_hangul(c) != hangul).unwrap_or(chunk.len())
}

fn looks_like_path(chunk: &str) -> bool {
    let inner_dot = chunk.match_indices('.').any(|(at, _)| {
        chunk[..at].ends_with(char::is_alphabetic) && chunk[at + 1..].starts_with(char::is_alphanumeric)
    });
    inner_dot || chunk.contains(['/', '\\', '@', '_', '*'])
}

fn form(part: &str) -> Form {
    if part.starts_with(is_hangul) && part.chars().all(is_hangul) {
        Form::Hangul
    } else if looks_like_number(part) {
        Form::Number
    } else if part.chars().all(|c| c.is_alphabetic() || matches!(c, '\'' | '’' | '-')) {
        Form::Letters
    } else {
        Form::Code
    }
}

/// Whether a word is written as a number, whatever its size. Leading zeros make it a code.
fn looks_like_number(text: &str) -> bool {
    let bare = text.trim_start_matches(['#', '-', '+']);
    let digits = bare.bytes().filter(u8::is_ascii_digit).count();
    let rest: String = bare.chars().filter(|&c| !c.is_ascii_digit() && c != ',').collect();
    number(text).is_some()
        || (rest.len() <= 1 && rest.trim_matches('.').is_empty() && digits > 0 && !bare.starts_with('0'))
}

/// The number that a word is, exactly; none that JSON cannot carry exactly as written.
pub(super) fn number(text: &str) -> Option<serde_json::Number> {
    let bare = text.strip_prefix('#').unwrap_or(text);
    let bare = ["st", "nd", "rd", "th"]
        .iter()
        .find_map(|end| bare.strip_suffix(end))
        .unwrap_or(bare);
    let digits: String = bare.chars().filter(|&c| c != ',').collect();
    let unsigned = digits.strip_prefix(['-', '+']).unwrap_or(&digits);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, "0"));
    let plain = |part: &str| !part.is_empty() && part.len() <= 20 && part.bytes().all(|b| b.is_ascii_digit());
    if !plain(whole) || !plain(fraction) {
        return None;
    }
    let signed = digits.strip_prefix('+').unwrap_or(&digits);
    if unsigned.contains('.') {
        return signed.parse().ok().and_then(serde_json::Number::from_f64);
    }
    // Leading zeros carry meaning (a code, a telephone number) that a number would lose.
    if whole.len() > 1 && whole.starts_with('0') {
        return None;
    }
    let small = signed.parse::<i64>().map(serde_json::Number::from);
    small
        .or_else(|_| signed.parse::<u64>().map(serde_json::Number::from))
        .ok()
}

/// A light stem of an English word: plural, `-ing`, `-ed` and a final `e` go. Other words only become lower case.
pub(super) fn stem(word: &str) -> String {
    let lower = word.to_lowercase().replace('’', "'");
    let mut stem = lower.strip_suffix("'s").unwrap_or(&lower).to_owned();
    if !stem.is_ascii() || stem.len() <= 3 {
        return stem;
    }
    let cut = |stem: &mut String, n: usize| stem.truncate(stem.len() - n);
    if stem.ends_with("ies") && stem.len() > 4 {
        cut(&mut stem, 3);
        stem.push('y');
    } else if ["sses", "xes", "ches", "shes"].iter().any(|end| stem.ends_with(end)) {
        cut(&mut stem, 2);
    } else if stem.ends_with('s') && !["ss", "us", "is"].iter().any(|end| stem.ends_with(end)) {
        cut(&mut stem, 1);
    }
    for end in ["ing", "ed"] {
        let rest = stem.strip_suffix(end).unwrap_or_default();
        if rest.len() >= 3 && rest.contains(['a', 'e', 'i', 'o', 'u', 'y']) {
            cut(&mut stem, end.len());
            let bytes = stem.as_bytes();
            let doubled = bytes.len() > 3 && bytes[bytes.len() - 1] == bytes[bytes.len() - 2];
            if doubled && !stem.ends_with('s') {
                cut(&mut stem, 1);
            }
            break;
        }
    }
    if stem.len() > 3 && stem.ends_with('e') {
        cut(&mut stem, 1);
    }
    stem
}

/// Which ending of a syllable a particle asks for.
#[derive(Clone, Copy, PartialEq)]
enum After {
    Any,
    Consonant,
    Vowel,
    /// A vowel or ㄹ.
    VowelOrL,
}

const PARTICLES: &[(&str, After)] = &[
    ("이라고", After::Consonant),
    ("입니까", After::Any),
    ("입니다", After::Any),
    ("인가요", After::Any),
    ("이에요", After::Consonant),
    ("이었어", After::Consonant),
    ("인가", After::Any),
    ("인지", After::Any),
    ("이야", After::Consonant),
    ("이니", After::Consonant),
    ("이지", After::Consonant),
    ("이죠", After::Consonant),
    ("예요", After::Vowel),
    ("에서", After::Any),
    ("에게", After::Any),
    ("한테", After::Any),
    ("까지", After::Any),
    ("부터", After::Any),
    ("처럼", After::Any),
    ("보다", After::Any),
    ("으로", After::Consonant),
    ("이랑", After::Consonant),
    ("이나", After::Consonant),
    ("라고", After::Any),
    ("하고", After::Any),
    ("에", After::Any),
    ("의", After::Any),
    ("도", After::Any),
    ("만", After::Any),
    ("들", After::Any),
    ("요", After::Any),
    ("은", After::Consonant),
    ("이", After::Consonant),
    ("을", After::Consonant),
    ("과", After::Consonant),
    ("는", After::Vowel),
    ("가", After::Vowel),
    ("를", After::Vowel),
    ("와", After::Vowel),
    ("랑", After::Vowel),
    ("야", After::Vowel),
    ("로", After::VowelOrL),
];

/// Whether a Hangul text is nothing but a particle.
pub(super) fn is_particle(text: &str) -> bool {
    PARTICLES.iter().any(|(particle, _)| *particle == text)
}

/// A Hangul word, then the same with one particle less each time; the last one has at least one syllable.
pub(super) fn without_particles(word: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(word), |word| strip_one(word)).take(4)
}

fn strip_one(word: &str) -> Option<&str> {
    PARTICLES.iter().find_map(|(particle, after)| {
        let rest = word.strip_suffix(particle)?;
        let last = u32::from(rest.chars().next_back()?);
        // Syllables are numbered so that the trailing consonant is the remainder; ㄹ is the eighth.
        let trailing = last.checked_sub(0xAC00)? % 28;
        let fits = match after {
            After::Any => true,
            After::Consonant => trailing != 0,
            After::Vowel => trailing == 0,
            After::VowelOrL => trailing == 0 || trailing == 8,
        };
        fits.then_some(rest)
    })
}

/// Splits a name into its parts: `get_current-time` and `getCurrentTime` give the same three.
pub(super) fn name_parts(name: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    for piece in name.split(|c: char| !c.is_alphanumeric()) {
        let mut start = 0;
        let mut previous: Option<char> = None;
        let mut chars = piece.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            let next_lower = chars.peek().is_some_and(|(_, next)| next.is_lowercase());
            let border = match previous {
                // `getTime`, and the last capital of `HTTPServer`.
                Some(before) if c.is_uppercase() => before.is_lowercase() || (before.is_uppercase() && next_lower),
                Some(before) => is_hangul(before) != is_hangul(c),
                None => false,
            };
            if border {
                parts.push(&piece[start..at]);
                start = at;
            }
            previous = Some(c);
        }
        if start < piece.len() {
            parts.push(&piece[start..]);
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<(&str, Form)> {
        words(text, 100)
            .into_iter()
            .map(|word| (word.text, word.form))
            .collect()
    }

    #[test]
    fn words_and_their_forms() {
        use Form::{Code, Hangul, Letters, Number, Quoted};
        assert_eq!(
            split("서울 날씨 어때?"),
            [("서울", Hangul), ("날씨", Hangul), ("어때", Hangul)]
        );
        assert_eq!(split("17번 주문"), [("17", Number), ("번", Hangul), ("주문", Hangul)]);
        assert_eq!(
            split("2와 3.5를"),
            [("2", Number), ("와", Hangul), ("3.5", Number), ("를", Hangul)]
        );
        assert_eq!(
            split("1,000 2,3 -4 #5"),
            [
                ("1,000", Number),
                ("2", Number),
                ("3", Number),
                ("-4", Number),
                ("#5", Number)
            ]
        );
        assert_eq!(split("in Asia/Seoul?"), [("in", Letters), ("Asia/Seoul", Code)]);
        assert_eq!(
            split("README.md를 읽어줘"),
            [("README.md", Code), ("를", Hangul), ("읽어줘", Hangul)]
        );
        assert_eq!(split("보고서.txt"), [("보고서.txt", Code)]);
        assert_eq!(
            split("echo \"a b\" 'c d' it's"),
            [("echo", Letters), ("a b", Quoted), ("c d", Quoted), ("it's", Letters)]
        );
        assert_eq!(
            split("“서울”의 007 2024-01-02 a@b.example"),
            [
                ("서울", Quoted),
                ("의", Hangul),
                ("007", Code),
                ("2024-01-02", Code),
                ("a@b.example", Code)
            ]
        );
        assert_eq!(
            split("http://h.example/x *.txt ~ ..."),
            [("http://h.example/x", Code), ("*.txt", Code)]
        );
    }

    #[test]
    fn what_names_the_next_word() {
        let found: Vec<_> = words("city=Seoul limit: 3 at 12:30", 100);
        let naming: Vec<_> = found
            .iter()
            .filter(|word| word.names_next)
            .map(|word| word.text)
            .collect();
        assert_eq!(naming, ["city", "limit"]);
    }

    #[test]
    fn sentences() {
        let found = words("Hi there. Show it", 100);
        assert_eq!(
            found.iter().map(|word| word.first).collect::<Vec<_>>(),
            [true, false, true, false]
        );
    }

    #[test]
    fn numbers_are_exact_or_none() {
        assert_eq!(
            number("18446744073709551615").unwrap().to_string(),
            "18446744073709551615"
        );
        for text in ["18446744073709551616", "007", "1.2.3", "", "-", "1e5", "0x10"] {
            assert!(number(text).is_none(), "{text}");
        }
    }

    #[test]
    fn stems_meet() {
        for (a, b) in [
            ("orders", "order"),
            ("cities", "city"),
            ("shipped", "ship"),
            ("adding", "add"),
            ("Deleted", "delete"),
            ("files", "file"),
            ("What's", "what"),
            ("boxes", "box"),
        ] {
            assert_eq!(stem(a), stem(b));
        }
        for word in ["status", "address", "this", "red", "ring"] {
            assert_eq!(stem(word), word);
        }
    }

    #[test]
    fn particles_follow_the_last_sound() {
        let last = |word| without_particles(word).last().unwrap().to_owned();
        assert_eq!(last("날씨는"), "날씨");
        assert_eq!(last("부산에서는"), "부산");
        assert_eq!(last("건이야"), "건");
        assert_eq!(last("서울로"), "서울");
        // 이 follows a consonant only, so it belongs to the name here.
        for name in ["하노이", "상하이", "타이베이", "하와이"] {
            assert_eq!(last(name), name);
        }
    }

    #[test]
    fn letters_become_syllables() {
        assert_eq!(compose("\u{1102}\u{1161}\u{11AF}\u{110A}\u{1175}"), "날씨");
        assert_eq!(compose("날씨"), "날씨");
        assert_eq!(compose("\u{1161}"), "\u{1161}");
    }

    #[test]
    fn names_come_apart() {
        for name in ["get_current_time", "get-current.time", "getCurrentTime"] {
            assert_eq!(name_parts(name).join(" ").to_lowercase(), "get current time");
        }
        assert_eq!(name_parts("parseHTTPHeader"), ["parse", "HTTP", "Header"]);
        assert_eq!(name_parts("주문list"), ["주문", "list"]);
        assert_eq!(name_parts("__"), [""; 0]);
    }
}
