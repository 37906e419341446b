//! The numbers of a question, and whether they say which one or how many.

use super::lexicon::{Class, class};
use super::question::Question;
use super::words::{Form, is_hangul, number};

/// A number of a question, and what it seems to be.
#[derive(Debug, Clone)]
pub(super) struct Number {
    pub(super) word: usize,
    /// None where JSON could not carry it exactly.
    pub(super) value: Option<serde_json::Number>,
    pub(super) role: Role,
}

/// What a number seems to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// It says which one: `order 17`, `17번`.
    Which,
    /// It says how many: `5 orders`, `주문 5개`.
    HowMany,
    /// It has a unit of its own: `3월`, `5분`.
    Measure,
    /// None of this is said.
    Plain,
}

impl Question<'_> {
    /// All numbers, in order.
    pub(super) fn find_numbers(&self) -> Vec<Number> {
        let mut found = Vec::new();
        for (at, word) in self.words.iter().enumerate() {
            let value = match word.form {
                Form::Number => number(word.text),
                Form::Letters => spelled(&word.text.to_lowercase()),
                Form::Hangul => spelled_korean(word.text),
                _ => None,
            };
            if value.is_some() || word.form == Form::Number {
                found.push(Number {
                    word: at,
                    value,
                    role: self.role(at),
                });
            }
        }
        found
    }

    fn role(&self, at: usize) -> Role {
        let before = at.checked_sub(1);
        let previous = self.lower(before);
        let next = self.words.get(at + 1).map(|word| word.text).unwrap_or_default();
        let next_hangul = next.starts_with(is_hangul);
        if self.words[at].text.starts_with('#')
            || matches!(previous.as_str(), "no" | "number" | "#" | "id")
            || previous.ends_with("번호")
        {
            return Role::Which;
        }
        if next_hangul && (self.glued(at + 1) || self.adjoins(at)) {
            if next.starts_with('번') || next.starts_with('호') {
                return Role::Which;
            }
            if next.starts_with(['월', '일', '년', '시', '분', '초', '주', '도']) {
                return Role::Measure;
            }
            if ["개", "건", "명", "줄", "곳", "가지", "장"]
                .iter()
                .any(|counter| next.starts_with(counter))
            {
                return Role::HowMany;
            }
        }
        if matches!(
            previous.as_str(),
            "top" | "first" | "last" | "latest" | "limit" | "상위" | "최근" | "최대" | "처음"
        ) {
            return Role::HowMany;
        }
        // `17` in `주문 17` and `order 17` says which; in `list 5` and `add 2` it does not.
        let thing = |at: usize| {
            let sense = &self.senses[at];
            !sense.stop && !sense.keys.is_empty() && sense.keys.iter().all(|key| class(key) == Class::Thing)
        };
        let beside = before.is_some_and(|before| {
            let letters = matches!(self.words[before].form, Form::Letters | Form::Hangul);
            letters && thing(before) && self.adjoins(before) && !self.words[before].names_next
        });
        if beside && self.words[at].form == Form::Number {
            return Role::Which;
        }
        // `5 shipped orders`: a plural within the next three words.
        let plural = (at + 1..self.words.len().min(at + 4))
            .take_while(|&next| self.words[next].form == Form::Letters && self.adjoins(next - 1))
            .take_while(|&next| !self.senses[next].stop)
            .any(|next| thing(next) && self.lower(Some(next)).ends_with('s'));
        if plural { Role::HowMany } else { Role::Plain }
    }
}

fn spelled(word: &str) -> Option<serde_json::Number> {
    // `one` is left out: it mostly stands for a thing.
    const WORDS: &[&str] = &[
        "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    ];
    let at = WORDS.iter().position(|known| *known == word)?;
    Some(serde_json::Number::from(at + 2))
}

fn spelled_korean(word: &str) -> Option<serde_json::Number> {
    const WORDS: &[&str] = &["둘", "셋", "넷", "다섯", "여섯", "일곱", "여덟", "아홉"];
    let bare = super::words::without_particles(word).find(|form| WORDS.contains(form))?;
    let at = WORDS.iter().position(|known| *known == bare)?;
    Some(serde_json::Number::from(at + 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roles(text: &str) -> Vec<(String, Role)> {
        Question::read(text)
            .numbers
            .iter()
            .map(|number| (number.value.as_ref().unwrap().to_string(), number.role))
            .collect()
    }

    #[test]
    fn numbers_say_which_or_how_many() {
        use Role::{HowMany, Plain, Which};
        for (text, wanted) in [
            ("order 17", Which),
            ("show order #17", Which),
            ("17번 주문", Which),
            ("주문 17 보여줘", Which),
            ("5 shipped orders", HowMany),
            ("list 5 orders", HowMany),
            ("주문 5개 보여줘", HowMany),
            ("top 5", HowMany),
            ("sleep 500", Plain),
        ] {
            assert_eq!(
                roles(text).iter().map(|(_, role)| *role).collect::<Vec<_>>(),
                [wanted],
                "{text}"
            );
        }
        assert_eq!(roles("add 2 and 3"), [("2".to_owned(), Plain), ("3".to_owned(), Plain)]);
        assert_eq!(
            roles("2와 3을 더해줘"),
            [("2".to_owned(), Plain), ("3".to_owned(), Plain)]
        );
        assert_eq!(roles("add two and three").len(), 2);
    }
}
