//! What a question asks to be changed or taken away, and what it denies.

use super::lexicon::{Class, class};
use super::question::Question;
use super::words::{Form, Word};

impl Question<'_> {
    /// Words such as `not` and `말고`.
    pub(super) fn find_negations(&self) -> Vec<usize> {
        const ENGLISH: &[&str] = &[
            "not",
            "never",
            "without",
            "except",
            "excluding",
            "but",
            "non",
            "isn't",
            "no",
        ];
        const KOREAN: &[&str] = &[
            "안",
            "못",
            "말고",
            "빼고",
            "제외",
            "제외하고",
            "제외한",
            "아닌",
            "없이",
            "말아줘",
            "마",
            "마라",
            "마세요",
        ];
        let negative = |word: &Word<'_>| match word.form {
            Form::Letters => {
                let lower = word.text.to_lowercase().replace('’', "'");
                ENGLISH.contains(&lower.as_str()) || lower.ends_with("n't")
            }
            Form::Hangul => KOREAN.contains(&word.text) || word.text.starts_with('않') || word.text.contains("지않"),
            _ => false,
        };
        let next_is_number = |at: usize| self.words.get(at + 1).is_some_and(|word| word.form == Form::Number);
        // `no. 17` counts as a number sign, not as a refusal.
        (0..self.words.len())
            .filter(|&at| negative(&self.words[at]) && !(self.lower(Some(at)) == "no" && next_is_number(at)))
            .collect()
    }

    /// Finds the actions that are asked for, and turns the mere mention of one into the state it leads to.
    pub(super) fn find_wants(&mut self) {
        for at in 0..self.words.len() {
            let found: Vec<&'static str> = ["@cancel", "@delete", "@create", "@update", "@write", "@send"]
                .into_iter()
                .filter(|key| self.has_key(at, key))
                .collect();
            if found.is_empty() {
                continue;
            }
            let asked = match self.words[at].form {
                Form::Hangul => self.asks_in_korean(at),
                Form::Letters => self.asks_in_english(at, class(found[0]) == Class::Change),
                _ => false,
            };
            for key in found {
                if asked && !self.wants.contains(&key) {
                    self.wants.push(key);
                }
                let state = match key {
                    "@cancel" => "@cancelled",
                    "@delete" => "@deleted",
                    _ => continue,
                };
                if !asked && self.words[at].form == Form::Hangul {
                    let keys = &mut self.senses[at].keys;
                    keys.retain(|known| known != key);
                    keys.push(state.to_owned());
                }
            }
        }
    }

    /// An English verb asks when it is in its plain form and the sentence is no question about it.
    /// A word that makes or changes something has many other uses, so it must also be the first that means something.
    fn asks_in_english(&self, at: usize, must_lead: bool) -> bool {
        const ASKING: &[&str] = &[
            "how", "why", "who", "when", "which", "what", "did", "was", "were", "has", "had", "have", "is", "are",
            "does", "do", "where", "whether",
        ];
        let lower = self.lower(Some(at));
        let plain = !["ed", "ing", "tion"].iter().any(|end| lower.ends_with(end));
        let trial = lower.ends_with("ing") && self.says("@dryrun");
        let sentence = (0..=at).rev().find(|&from| self.words[from].first).unwrap_or(0);
        let asking = self.asks_for_advice(sentence)
            || (sentence..at).any(|from| ASKING.contains(&self.lower(Some(from)).as_str()));
        // Behind an article it is a thing: `the change`, `a post`.
        let before = at
            .checked_sub(1)
            .map(|before| self.lower(Some(before)))
            .unwrap_or_default();
        let thing = ["the", "a", "an", "my", "last", "of", "for", "in", "by"].contains(&before.as_str());
        let leads = self.senses[sentence..at].iter().all(|sense| sense.stop);
        (plain || trial) && !asking && !thing && (leads || !must_lead)
    }

    /// Whether the sentence that begins at `sentence` asks what to do: `should I`, `can we`; not `can you`, a request.
    fn asks_for_advice(&self, sentence: usize) -> bool {
        let next = self.lower(Some(sentence + 1));
        match self.lower(Some(sentence)).as_str() {
            "should" => true,
            "can" | "could" | "may" | "might" | "shall" | "must" => matches!(next.as_str(), "i" | "we" | "one"),
            _ => false,
        }
    }

    /// A Korean verb asks when a request follows it, or when nothing does.
    fn asks_in_korean(&self, at: usize) -> bool {
        const ABOUT: &[&str] = &["어떻게", "방법", "왜", "언제", "누가", "누구"];
        if self.words.iter().any(|word| ABOUT.contains(&word.text)) {
            return false;
        }
        let asks = |text: &str| {
            [
                "해", "하자", "하고", "하세", "하라", "시켜", "줘", "주세", "주시", "주라", "줄래", "부탁", "바라",
                "바랍", "좀", "어줘", "워",
            ]
            .iter()
            .any(|start| text.starts_with(start))
        };
        let word = self.words[at].text;
        let stem = [
            "취소", "삭제", "제거", "정리", "청소", "생성", "등록", "수정", "변경", "작성", "저장", "전송", "발행",
            "게시", "추가",
        ]
        .iter()
        .find_map(|noun| Some(word.split_once(noun)?.1));
        let Some(rest) = stem else {
            // Verbs of their own: 지워줘, 없애, 보내줘; what says that it has been done ends otherwise.
            return !["진", "운", "낸", "든", "앤", "꾼", "친", "긴"]
                .iter()
                .any(|end| word.ends_with(end))
                && !word.contains(['었', '였', '졌', '웠', '냈', '앴', '꿨', '쳤', '겼']);
        };
        let end = rest.is_empty() || matches!(rest, "를" | "을" | "도" | "만" | "요" | "좀");
        if !end {
            // `추가해줘`, `취소해`; not `취소된`, `취소했어`, `취소하는 방법`.
            return asks(rest) && !rest.starts_with("해서");
        }
        match self.words.get(at + 1) {
            None => true,
            Some(next) => asks(next.text) || self.rest_is_empty(at + 1) || self.has_key(at + 1, "@dryrun"),
        }
    }

    /// Whether nothing with a meaning follows.
    fn rest_is_empty(&self, from: usize) -> bool {
        (from..self.words.len()).all(|at| self.senses[at].stop || self.words[at].form == Form::Number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wants(text: &str) -> Vec<&'static str> {
        Question::read(text).wants
    }

    #[test]
    fn only_a_request_is_a_wish_to_change() {
        for text in [
            "cancel order 3",
            "please cancel order 3",
            "can you cancel order 3?",
            "3번 주문 취소해줘",
            "주문 3 취소",
            "3번 주문 취소 부탁해",
        ] {
            assert_eq!(wants(text), ["@cancel"], "{text}");
        }
        for text in [
            "how do I cancel an order?",
            "which orders did Kim cancel?",
            "how many cancelled orders are there?",
            "취소된 주문 몇 건이야?",
            "취소 주문 목록",
            "3번 주문 취소했어?",
            "주문 취소하는 방법",
            "주문 취소 건수",
            "show order 3",
        ] {
            assert_eq!(wants(text), [""; 0], "{text}");
        }
        assert_eq!(wants("delete the test orders"), ["@delete"]);
        assert_eq!(wants("테스트 주문 지워줘"), ["@delete"]);
        assert_eq!(wants("지워진 주문 보여줘"), [""; 0]);
    }

    #[test]
    fn negations() {
        let found = |text| Question::read(text).negations.len();
        for text in [
            "don't cancel order 3",
            "orders that are not paid",
            "결제 안 된 주문",
            "배송되지 않은 주문",
            "서울 말고 부산",
        ] {
            assert_eq!(found(text), 1, "{text}");
        }
        assert_eq!(found("order no. 17"), 0);
    }
}
