//! What a question holds: its meanings, names, numbers, and what it wants done.

use super::Language;
use super::lexicon::{Sense, read_hangul, read_letters};
use super::names::Name;
use super::numbers::Number;
use super::words::{Form, Word, words};

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
    pub(super) fn lower(&self, at: Option<usize>) -> String {
        at.and_then(|at| self.words.get(at))
            .map(|word| word.text.to_lowercase())
            .unwrap_or_default()
    }

    pub(super) fn has_key(&self, at: usize, key: &str) -> bool {
        self.senses[at].keys.iter().any(|known| known == key)
    }

    /// Whether anything in the question stands for `key`.
    pub(super) fn says(&self, key: &str) -> bool {
        (0..self.senses.len()).any(|at| self.has_key(at, key))
    }

    /// Whether the words `left` and `left + 1` have nothing but spaces between them.
    pub(super) fn adjoins(&self, left: usize) -> bool {
        let (Some(a), Some(b)) = (self.words.get(left), self.words.get(left + 1)) else {
            return false;
        };
        self.text[a.end..b.start].chars().all(|c| c == ' ')
    }

    /// Whether the Hangul word at `at` is written together with the word before it.
    pub(super) fn glued(&self, at: usize) -> bool {
        at > 0 && self.words[at - 1].end == self.words[at].start
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
            ("배송" | "배달", b) if b.starts_with("완료") => "@delivered",
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
