//! What in a question looks like a proper name.

use super::Language;
use super::lexicon::{Class, class};
use super::question::Question;
use super::words::Form;

/// Something in a question that looks like a proper name; lower comes first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) text: String,
    /// Its words, from the first to the one after the last.
    pub(super) from: usize,
    pub(super) to: usize,
    /// How sure it is that this is a name.
    pub(super) sure: Sure,
    /// Whether it stands as the one whom something belongs to: `for Kim`, `김철수의`.
    pub(super) owner: bool,
}

/// How sure it is that something is a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sure {
    /// A capital or an unknown Hangul word.
    Likely,
    /// It follows `in`, `for` and the like.
    Placed,
    /// It is only a word that nothing else explains.
    Guess,
}

impl Question<'_> {
    /// The names, the surest first.
    pub(super) fn find_names(&self) -> Vec<Name> {
        let mut found = Vec::new();
        let mut at = 0;
        while at < self.words.len() {
            let name = match self.words[at].form {
                Form::Hangul => self.korean_name(at),
                Form::Letters => self.capital_name(at).or_else(|| self.placed_name(at)),
                _ => None,
            };
            at = name.as_ref().map_or(at + 1, |name| name.to);
            found.extend(name);
        }
        let idle = self.senses.iter().filter(|sense| sense.stop).count();
        if found.is_empty() && self.words.len() <= 6 && idle <= 1 {
            found.extend((0..self.words.len()).find_map(|at| self.leftover(at)));
        }
        found.sort_by_key(|name| (name.sure, name.from));
        found
    }

    /// Unknown Hangul words in a row, up to three; a particle ends the row.
    fn korean_name(&self, at: usize) -> Option<Name> {
        if self.glued(at) && self.words[at - 1].form != Form::Hangul {
            return None;
        }
        let mut text = self.senses[at].name?.to_owned();
        let mut last = at;
        let mut whole = self.senses[at].name == Some(self.words[at].text);
        while whole && last + 1 < self.words.len() && last < at + 2 && self.adjoins(last) {
            let next = last + 1;
            let Some(more) = self.senses[next].name.filter(|_| self.words[next].form == Form::Hangul) else {
                break;
            };
            text.push_str(&self.text[self.words[last].end..self.words[next].start]);
            text.push_str(more);
            whole = more == self.words[next].text;
            last = next;
        }
        let rest = self.words[last]
            .text
            .strip_prefix(self.senses[last].name.unwrap_or_default())
            .unwrap_or_default();
        let next = self.lower(Some(last + 1));
        let titled = ["님", "씨", "고객"]
            .iter()
            .any(|title| next.starts_with(title) || rest.starts_with(title));
        let before = self.lower(at.checked_sub(1));
        let titled = titled || matches!(before.as_str(), "for" | "by" | "of" | "from" | "has" | "does" | "did");
        let owner = titled || matches!(rest, "의" | "이" | "가" | "은" | "는" | "에게");
        Some(Name {
            text,
            from: at,
            to: last + 1,
            sure: Sure::Likely,
            owner,
        })
    }

    fn is_capital(&self, at: usize) -> bool {
        self.words[at].form == Form::Letters && self.words[at].text.starts_with(char::is_uppercase)
    }

    /// Words with a capital in a row, where the capital is not owed to the beginning of a sentence.
    fn capital_name(&self, at: usize) -> Option<Name> {
        // A known word may begin a name when an unknown one with a capital follows: `Time Square`. At the beginning of
        // a sentence only a state may: `New York`, but not `Show Busan`.
        let unknown = |at: usize| self.senses[at].name.is_some();
        let state = self.senses[at].keys.iter().all(|key| class(key) == Class::State);
        let followed = self.adjoins(at) && self.is_capital(at + 1) && unknown(at + 1);
        let begins = unknown(at) || (followed && (state || !self.words[at].first));
        if !self.is_capital(at) || self.senses[at].stop || !begins {
            return None;
        }
        let mut last = at;
        while last + 1 < self.words.len() && last < at + 4 && self.adjoins(last) {
            let small = matches!(self.words[last + 1].text, "de" | "da" | "la" | "do" | "of");
            let onward = last + 2 < self.words.len() && self.adjoins(last + 1) && self.is_capital(last + 2);
            if self.is_capital(last + 1) && !self.senses[last + 1].stop {
                last += 1;
            } else if small && onward {
                last += 2;
            } else {
                break;
            }
        }
        let before = self.lower(at.checked_sub(1));
        let korean = self.language == Language::Korean;
        let sure = if self.words[at].first && !korean && self.words.len() > 1 {
            Sure::Guess
        } else {
            Sure::Likely
        };
        let verb_next = matches!(
            self.lower(Some(last + 1)).as_str(),
            "have" | "has" | "placed" | "order" | "buy"
        );
        let owner = verb_next
            || matches!(
                before.as_str(),
                "for" | "by" | "of" | "from" | "does" | "did" | "customer"
            );
        Some(self.name(at, last, sure, owner || self.words[last].text.ends_with("'s")))
    }

    /// Words that follow `in`, `for` and the like, whatever their case.
    fn placed_name(&self, at: usize) -> Option<Name> {
        const BEFORE: &[&str] = &["in", "for", "at", "near", "by", "from", "of", "around"];
        let before = self.lower(at.checked_sub(1));
        let last = self.run_of_name(at)?;
        let owner = matches!(before.as_str(), "for" | "by" | "of" | "from");
        let placed = BEFORE.contains(&before.as_str()) || self.language == Language::Korean;
        placed.then(|| self.name(at, last, Sure::Placed, owner))
    }

    /// In a question of a few words, those that nothing explains: `weather new york`.
    fn leftover(&self, at: usize) -> Option<Name> {
        let last = self.run_of_name(at)?;
        Some(self.name(at, last, Sure::Guess, false))
    }

    /// The last of up to four words from `at` on that may be one name: unknown ones, a state in front (`new york`),
    /// a kind of place behind (`mexico city`).
    fn run_of_name(&self, at: usize) -> Option<usize> {
        let unknown = |at: usize| {
            let letters = self.words[at].form == Form::Letters;
            letters && self.senses[at].name.is_some() && !self.senses[at].stop
        };
        let state = |at: usize| {
            let keys = &self.senses[at].keys;
            !keys.is_empty() && keys.iter().all(|key| class(key) == Class::State)
        };
        let first = if state(at) && self.adjoins(at) { at + 1 } else { at };
        if !unknown(first) {
            return None;
        }
        let place = |at: usize| self.has_key(at, "@city") || self.has_key(at, "@place");
        let mut last = first;
        while last < at + 3 && self.adjoins(last) && (unknown(last + 1) || place(last + 1)) {
            last += 1;
        }
        Some(last)
    }

    fn name(&self, from: usize, last: usize, sure: Sure, owner: bool) -> Name {
        let text = &self.text[self.words[from].start..self.words[last].end];
        let text = text
            .strip_suffix("'s")
            .or_else(|| text.strip_suffix("’s"))
            .unwrap_or(text);
        Name {
            text: text.to_owned(),
            from,
            to: last + 1,
            sure,
            owner,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        Question::read(text).names.into_iter().map(|name| name.text).collect()
    }

    #[test]
    fn names_in_both_languages() {
        for (text, wanted) in [
            ("서울 날씨 어때?", "서울"),
            ("부산의 날씨는?", "부산"),
            ("도쿄 지금 몇 도야?", "도쿄"),
            ("뉴욕날씨 알려줘", "뉴욕"),
            ("Busan 날씨 어때?", "Busan"),
            ("What's the weather in Busan?", "Busan"),
            ("Weather for New York City today", "New York City"),
            ("weather in rio de janeiro", "rio de janeiro"),
            ("What is Paris's weather?", "Paris"),
            ("Seoul weather", "Seoul"),
            ("weather seoul", "seoul"),
            ("weather new york", "new york"),
            ("mexico city weather", "mexico city"),
            ("New York weather", "New York"),
            ("weather in new york city today", "new york city"),
            ("빈의 날씨", "빈"),
            ("삿포로 날씨", "삿포로"),
            ("WHAT IS THE WEATHER IN BUSAN", "BUSAN"),
        ] {
            assert_eq!(names(text), [wanted], "{text}");
        }
        assert_eq!(names("오늘 날씨 어때?"), [""; 0]);
        assert_eq!(names("Show all paid orders"), [""; 0]);
        assert_eq!(names("tell me a joke about weather"), [""; 0]);
    }
}
