//! How names are compared: a key that forgets spelling habits, and an edit distance over keys.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

const INITIALS: &str = "ㄱㄲㄴㄷㄸㄹㅁㅂㅃㅅㅆㅇㅈㅉㅊㅋㅌㅍㅎ";

/// Compound vowels and final clusters are taken apart, as they are typed: "붓" on the way to "부산" is then a prefix
/// of it, and a slip of one key is a distance of one.
const VOWELS: [&str; 21] = [
    "ㅏ", "ㅐ", "ㅑ", "ㅒ", "ㅓ", "ㅔ", "ㅕ", "ㅖ", "ㅗ", "ㅗㅏ", "ㅗㅐ", "ㅗㅣ", "ㅛ", "ㅜ", "ㅜㅓ", "ㅜㅔ", "ㅜㅣ",
    "ㅠ", "ㅡ", "ㅡㅣ", "ㅣ",
];
const FINALS: [&str; 27] = [
    "ㄱ", "ㄲ", "ㄱㅅ", "ㄴ", "ㄴㅈ", "ㄴㅎ", "ㄷ", "ㄹ", "ㄹㄱ", "ㄹㅁ", "ㄹㅂ", "ㄹㅅ", "ㄹㅌ", "ㄹㅍ", "ㄹㅎ", "ㅁ",
    "ㅂ", "ㅂㅅ", "ㅅ", "ㅆ", "ㅇ", "ㅈ", "ㅊ", "ㅋ", "ㅌ", "ㅍ", "ㅎ",
];

/// The comparable form of a name: no case, spaces, punctuation or diacritics; Hangul as the letters typed.
///
/// A key has no bound of its own; callers bound the name.
pub(crate) fn key(name: &str) -> String {
    let mut key = String::with_capacity(name.len());
    for c in name.nfkd().flat_map(char::to_lowercase) {
        match c {
            '\u{1100}'..='\u{1112}' => key.extend(INITIALS.chars().nth(offset(c, '\u{1100}'))),
            '\u{1161}'..='\u{1175}' => key.push_str(VOWELS[offset(c, '\u{1161}')]),
            '\u{11A8}'..='\u{11C2}' => key.push_str(FINALS[offset(c, '\u{11A8}')]),
            // Letters that Unicode does not take apart but keyboards without them do.
            'ø' => key.push('o'),
            'ł' => key.push('l'),
            'đ' => key.push('d'),
            'ı' => key.push('i'),
            'ß' => key.push_str("ss"),
            'æ' => key.push_str("ae"),
            'œ' => key.push_str("oe"),
            _ if c.is_alphanumeric() && !is_combining_mark(c) => key.push(c),
            _ => {}
        }
    }
    key
}

fn offset(c: char, first: char) -> usize {
    (u32::from(c) - u32::from(first)) as usize
}

/// Edits between two keys (insert, remove, replace, swap neighbours), or `None` when more than `limit`.
pub(crate) fn distance(left: &str, right: &str, limit: usize) -> Option<usize> {
    let left: Vec<char> = left.chars().collect();
    let right: Vec<char> = right.chars().collect();
    if left.len().abs_diff(right.len()) > limit {
        return None;
    }
    let mut before: Vec<usize> = vec![0; right.len() + 1];
    let mut previous: Vec<usize> = (0..=right.len()).collect();
    for i in 1..=left.len() {
        let mut current = vec![i; right.len() + 1];
        for j in 1..=right.len() {
            let replaced = previous[j - 1] + usize::from(left[i - 1] != right[j - 1]);
            current[j] = replaced.min(previous[j] + 1).min(current[j - 1] + 1);
            if i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1] {
                current[j] = current[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut previous, current);
    }
    previous.last().copied().filter(|edits| *edits <= limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_forgets_case_spaces_marks_and_width() {
        for name in [
            "São Paulo",
            "sao-paulo",
            " SAO  PAULO ",
            "Sa\u{303}o Paulo",
            "ＳＡＯ　ＰＡＵＬＯ",
        ] {
            assert_eq!(key(name), "saopaulo", "{name}");
        }
        assert_eq!(key("İstanbul"), "istanbul");
        assert_eq!(key("Malmø"), "malmo");
        assert_eq!(key("St. John's"), "stjohns");
        assert_eq!(key("!? -"), "");
    }

    #[test]
    fn hangul_is_compared_by_the_letters_typed() {
        assert_eq!(key("서울"), "ㅅㅓㅇㅜㄹ");
        assert_eq!(
            key("\u{1109}\u{1165}\u{110B}\u{116E}\u{11AF}"),
            "ㅅㅓㅇㅜㄹ",
            "decomposed input"
        );
        assert_eq!(key("ㅅㅓㅇㅜㄹ"), "ㅅㅓㅇㅜㄹ", "single letters");
        assert_eq!(key("서욿"), "ㅅㅓㅇㅜㄹㅎ");
        assert_eq!(key("광주"), "ㄱㅗㅏㅇㅈㅜ");
        assert_eq!(key("값"), "ㄱㅏㅂㅅ");
    }

    #[test]
    fn distance_counts_single_edits_and_stops_at_the_limit() {
        assert_eq!(distance("seoul", "seoul", 0), Some(0));
        assert_eq!(distance("soeul", "seoul", 2), Some(1), "neighbours swapped");
        assert_eq!(distance("soul", "seoul", 2), Some(1));
        assert_eq!(distance("seoull", "seoul", 2), Some(1));
        assert_eq!(distance("kitten", "sitting", 3), Some(3));
        assert_eq!(distance("kitten", "sitting", 2), None);
        assert_eq!(distance("", "abc", 3), Some(3));
        assert_eq!(distance("", "abcd", 3), None);
        assert_eq!(distance(&key("서욿"), &key("서울"), 2), Some(1));
    }
}
