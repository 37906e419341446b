//! What a question holds: its meanings, names, numbers, and what it wants done.

use super::Language;
use super::lexicon::{Class, Sense, class, read_hangul, read_letters};
use super::words::{Form, Word, is_hangul, number, words};

/// A number of a question, and what it seems to be.
#[derive(Debug, Clone)]
pub(super) struct Number {
    pub(super) word: usize,
    pub(super) value: serde_json::Number,
    pub(super) role: Role,
}

/// What a number seems to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// It says which one: `order 17`, `17번`.
    Which,
    /// It says how many: `5 orders`, `주문 5개`.
    HowMany,
    /// Neither is said.
    Plain,
}

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

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sure {
    /// A capital or an unknown Hangul word.
    Likely,
    /// It follows `in`, `for` and the like.
    Placed,
    /// It is only a word that nothing else explains.
    Guess,
}

/// A question, read.
pub(super) struct Question<'q> {
    pub(super) text: &'q str,
    pub(super) language: Language,
    pub(super) words: Vec<Word<'q>>,
    /// What each word says.
    pub(super) senses: Vec<Sense<'q>>,
    pub(super) numbers: Vec<Number>,
    pub(super) names: Vec<Name>,
    /// The actions it asks for that change or take away something.
    pub(super) wants: Vec<&'static str>,
    /// Words such as `not` and `말고`.
    pub(super) negations: Vec<usize>,
}

/// Most words of a question that are read.
const MAX_WORDS: usize = 400;

impl<'q> Question<'q> {
    pub(super) fn read(text: &'q str) -> Self {
        let words = words(text, MAX_WORDS);
        let mut senses: Vec<Sense<'q>> = words.iter().map(sense).collect();
        let mut question = Self {
            text,
            language: Language::of(text),
            numbers: Vec::new(),
            names: Vec::new(),
            wants: Vec::new(),
            negations: Vec::new(),
            senses: Vec::new(),
            words,
        };
        phrases(&question.words, &mut senses);
        question.senses = senses;
        question.negations = question.find_negations();
        question.find_wants();
        question.numbers = question.find_numbers();
        question.names = question.find_names();
        question
    }

    /// The word at `at` in lower case; empty outside the question.
    fn lower(&self, at: Option<usize>) -> String {
        at.and_then(|at| self.words.get(at))
            .map(|word| word.text.to_lowercase())
            .unwrap_or_default()
    }

    fn has_key(&self, at: usize, key: &str) -> bool {
        self.senses[at].keys.iter().any(|known| known == key)
    }

    /// Whether anything in the question stands for `key`.
    pub(super) fn says(&self, key: &str) -> bool {
        (0..self.senses.len()).any(|at| self.has_key(at, key))
    }

    /// Whether the words `left` and `left + 1` have nothing but spaces between them.
    fn adjoins(&self, left: usize) -> bool {
        let (Some(a), Some(b)) = (self.words.get(left), self.words.get(left + 1)) else {
            return false;
        };
        self.text[a.end..b.start].chars().all(|c| c == ' ')
    }

    /// Whether the Hangul word at `at` is written together with the word before it.
    fn glued(&self, at: usize) -> bool {
        at > 0 && self.words[at - 1].end == self.words[at].start
    }

    fn find_negations(&self) -> Vec<usize> {
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
    fn find_wants(&mut self) {
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
        let asking = (sentence..at).any(|from| ASKING.contains(&self.lower(Some(from)).as_str()));
        // Behind an article it is a thing: `the change`, `a post`.
        let before = at
            .checked_sub(1)
            .map(|before| self.lower(Some(before)))
            .unwrap_or_default();
        let thing = ["the", "a", "an", "my", "last", "of", "for", "in", "by"].contains(&before.as_str());
        let leads = self.senses[sentence..at].iter().all(|sense| sense.stop);
        (plain || trial) && !asking && !thing && (leads || !must_lead)
    }

    /// A Korean verb asks when a request follows it, or when nothing does.
    fn asks_in_korean(&self, at: usize) -> bool {
        const ABOUT: &[&str] = &["어떻게", "방법", "왜", "언제", "누가", "누구"];
        if self.words.iter().any(|word| ABOUT.contains(&word.text)) {
            return false;
        }
        let asks = |text: &str| {
            [
                "해", "하자", "하고", "하세", "하라", "시켜", "줘", "주", "부탁", "바라", "바랍", "좀", "어줘", "워",
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
        self.senses[from..].iter().all(|sense| sense.stop)
    }

    fn find_numbers(&self) -> Vec<Number> {
        let mut found = Vec::new();
        for (at, word) in self.words.iter().enumerate() {
            let value = match word.form {
                Form::Number => number(word.text),
                Form::Letters => spelled(&word.text.to_lowercase()),
                Form::Hangul => spelled_korean(word.text),
                _ => None,
            };
            if let Some(value) = value {
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
        if self.words[at].text.starts_with('#') || matches!(previous.as_str(), "no" | "number" | "#" | "id" | "번호")
        {
            return Role::Which;
        }
        if next_hangul && (self.glued(at + 1) || self.adjoins(at)) {
            if next.starts_with('번') || next.starts_with('호') {
                return Role::Which;
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

    fn find_names(&self) -> Vec<Name> {
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
        if found.is_empty() && self.words.len() <= 3 {
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
        if !self.is_capital(at) || self.senses[at].stop || self.senses[at].name.is_none() {
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

    /// Up to three words that follow `in`, `for` and the like, whatever their case.
    fn placed_name(&self, at: usize) -> Option<Name> {
        const BEFORE: &[&str] = &["in", "for", "at", "near", "by", "from", "of", "around"];
        let before = self.lower(at.checked_sub(1));
        let fits =
            |at: usize| self.words[at].form == Form::Letters && self.senses[at].name.is_some() && !self.senses[at].stop;
        let korean = self.language == Language::Korean;
        if !fits(at) || !(BEFORE.contains(&before.as_str()) || korean) {
            return None;
        }
        let mut last = at;
        while last + 1 < self.words.len() && last < at + 2 && self.adjoins(last) && fits(last + 1) {
            last += 1;
        }
        let owner = matches!(before.as_str(), "for" | "by" | "of" | "from");
        Some(self.name(at, last, Sure::Placed, owner))
    }

    /// In a question of a few words, the one that nothing explains: `weather seoul`.
    fn leftover(&self, at: usize) -> Option<Name> {
        let fits = self.words[at].form == Form::Letters && self.senses[at].name.is_some() && !self.senses[at].stop;
        fits.then(|| self.name(at, at, Sure::Guess, false))
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

fn sense<'q>(word: &Word<'q>) -> Sense<'q> {
    match word.form {
        Form::Hangul => read_hangul(word.text),
        Form::Letters if word.text.contains('-') => {
            let keys = super::lexicon::keys(word.text).into_iter().flatten().collect();
            Sense {
                keys,
                name: Some(word.text),
                stop: false,
            }
        }
        Form::Letters => read_letters(word.text),
        // A tool's or parameter's name may be written out; a path is no talk about what it names.
        Form::Code if !word.text.contains(['/', '\\', '.', '@', ':']) => Sense {
            keys: super::lexicon::keys(word.text).into_iter().flatten().collect(),
            ..Sense::default()
        },
        _ => Sense::default(),
    }
}

/// Gives words that mean something only together their common meaning.
fn phrases(words: &[Word<'_>], senses: &mut [Sense<'_>]) {
    for at in 0..words.len().saturating_sub(1) {
        let (a, b) = (words[at].text.to_lowercase(), words[at + 1].text);
        let key = match (a.as_str(), b.to_lowercase().as_str()) {
            ("how", "many") | ("number", "of") => "@count",
            ("dry", "run") => "@dryrun",
            ("clean", "up") => "@delete",
            ("time", "zone") => "@timezone",
            ("몇", b) if b.starts_with('도') => "@weather",
            ("몇", b) if b.starts_with('시') => "@time",
            ("몇", b)
                if ["건", "개", "명", "번", "곳", "가지"]
                    .iter()
                    .any(|counter| b.starts_with(counter)) =>
            {
                "@count"
            }
            (_, b) if a.ends_with("시험") && b == "삼아" => "@dryrun",
            _ => continue,
        };
        senses[at] = Sense {
            keys: vec![key.to_owned()],
            name: None,
            stop: false,
        };
        senses[at + 1] = Sense {
            stop: true,
            ..Sense::default()
        };
    }
    for (word, sense) in words.iter().zip(senses.iter_mut()) {
        if word.text.eq_ignore_ascii_case("dry-run") {
            *sense = Sense {
                keys: vec!["@dryrun".to_owned()],
                name: None,
                stop: false,
            };
        }
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

    fn names(text: &str) -> Vec<String> {
        Question::read(text).names.into_iter().map(|name| name.text).collect()
    }

    fn roles(text: &str) -> Vec<(String, Role)> {
        Question::read(text)
            .numbers
            .iter()
            .map(|number| (number.value.to_string(), number.role))
            .collect()
    }

    fn wants(text: &str) -> Vec<&'static str> {
        Question::read(text).wants
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
            ("WHAT IS THE WEATHER IN BUSAN", "BUSAN"),
        ] {
            assert_eq!(names(text), [wanted], "{text}");
        }
        assert_eq!(names("오늘 날씨 어때?"), [""; 0]);
        assert_eq!(names("Show all paid orders"), [""; 0]);
        assert_eq!(names("tell me a joke about weather"), [""; 0]);
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
