//! A tool's arguments, taken from the question and from nowhere else.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::Language;
use super::lexicon::{keys, read_letters, zone};
use super::names::{Name, Sure};
use super::numbers::Role;
use super::question::Question;
use super::rank::Document;
use super::schema::{Kind, Param};
use super::shape::{self, Shape, Sort, counts, shape, sort, tells_which};
use super::words::{Form, is_hangul, is_particle};

/// What a question gives for one tool.
#[derive(Debug, Default)]
pub(super) struct Filled {
    pub(super) arguments: Map<String, Value>,
    /// Which words of the question became an argument.
    pub(super) used: Vec<bool>,
    /// What the use made of the question is worth beside the words in common.
    pub(super) bonus: f64,
    /// Places in the list of parameters of the required ones that nothing was found for.
    pub(super) missing: Vec<usize>,
    /// A parameter that takes one value, and the several that the question gives.
    pub(super) conflict: Option<(String, Vec<String>)>,
}

/// Takes from the question what the tool needs, and what it clearly offers beyond that.
pub(super) fn fill(question: &Question<'_>, document: &Document<'_>) -> Filled {
    let mut filling = Filling {
        question,
        document,
        values: vec![None; document.params.len()],
        filled: Filled {
            used: vec![false; question.words.len()],
            ..Filled::default()
        },
    };
    filling.assignments();
    filling.choices();
    filling.switches();
    filling.numbers();
    filling.codes();
    filling.quoted();
    filling.names();
    filling.free_text();
    filling.finish()
}

struct Filling<'f> {
    question: &'f Question<'f>,
    document: &'f Document<'f>,
    values: Vec<Option<Value>>,
    filled: Filled,
}

impl<'f> Filling<'f> {
    /// The parameters still without a value, required ones first.
    fn open(&self) -> impl Iterator<Item = (usize, &'f Param<'f>)> + use<'f> {
        let open: Vec<usize> = (0..self.values.len()).filter(|&at| self.values[at].is_none()).collect();
        let params = &self.document.params;
        open.into_iter().map(|at| (at, &params[at]))
    }

    fn set(&mut self, param: usize, value: Value, words: std::ops::Range<usize>, worth: f64) {
        self.values[param] = Some(value);
        for word in words {
            self.filled.used[word] = true;
        }
        self.filled.bonus += worth;
    }

    /// Adds to a list, or sets a single value.
    fn give(&mut self, param: usize, value: Value, word: usize) {
        if let Some(Value::Array(values)) = &mut self.values[param] {
            values.push(value);
            self.filled.used[word] = true;
            return;
        }
        let list = matches!(self.document.params[param].kind, Kind::List(_));
        let value = if list { Value::Array(vec![value]) } else { value };
        self.set(param, value, word..word + 1, 1.0);
    }

    /// `city=Seoul`, `limit: 3`.
    fn assignments(&mut self) {
        let plain = |name: &str| name.to_lowercase().replace(['_', '-'], "");
        for at in 0..self.question.words.len().saturating_sub(1) {
            let word = self.question.words[at];
            if !word.names_next {
                continue;
            }
            let Some((param, described)) = self.open().find(|(_, param)| plain(param.name) == plain(word.text)) else {
                continue;
            };
            let given = self.question.words[at + 1];
            if let Some(value) = value_of(described, given.text, given.form) {
                self.set(param, value, at..at + 2, 2.0);
            }
        }
    }

    /// Values that the schema lists and the question names, in either language.
    fn choices(&mut self) {
        for (at, param) in self.open() {
            let mut hits: Vec<(&Value, Vec<usize>)> = Vec::new();
            for choice in &param.choices {
                if let Some(words) = self.words_for(choice) {
                    hits.push((choice, words));
                }
            }
            // Of `in_progress` and `progress` only the one that says more is meant; a word such as `all` gives way.
            let most = hits.iter().map(|hit| hit.1.len()).max().unwrap_or(0);
            hits.retain(|hit| hit.1.len() == most);
            let weighty = |hit: &(&Value, Vec<usize>)| hit.1.iter().any(|&word| !self.question.senses[word].stop);
            if hits.iter().any(weighty) {
                hits.retain(weighty);
            }
            if hits.is_empty() {
                continue;
            }
            let list = matches!(param.kind, Kind::List(_));
            if hits.len() > 1 && !list {
                let values = hits.iter().map(|hit| shown(hit.0)).collect();
                self.filled.conflict = Some((param.name.to_owned(), values));
                continue;
            }
            let values: Vec<Value> = hits.iter().map(|hit| hit.0.clone()).collect();
            let value = if list { Value::Array(values) } else { values[0].clone() };
            self.set(at, value, 0..0, 1.0);
            for word in hits.into_iter().flat_map(|hit| hit.1) {
                self.filled.used[word] = true;
            }
        }
    }

    /// The unused words that together say `choice`.
    fn words_for(&self, choice: &Value) -> Option<Vec<usize>> {
        let text = shown(choice);
        let free = |at: &usize| !self.filled.used[*at];
        let words = 0..self.question.words.len();
        let same = |at: &usize| self.question.words[*at].text.eq_ignore_ascii_case(&text);
        if let Some(at) = words.clone().filter(free).find(same) {
            return Some(vec![at]);
        }
        let parts = keys(&text);
        if parts.is_empty() {
            return None;
        }
        let mut found = Vec::new();
        for part in parts {
            let at = words
                .clone()
                .filter(free)
                .find(|&at| self.question.senses[at].keys.iter().any(|key| part.contains(key)))?;
            found.push(at);
        }
        Some(found)
    }

    /// Booleans that the question names: only ever `true`, for what it denies is not understood.
    fn switches(&mut self) {
        for (at, param) in self.open() {
            if param.kind != Kind::Boolean {
                continue;
            }
            let whole = read_letters(&param.name.replace(['_', '-'], "")).keys;
            let parts = keys(param.name);
            let senses = &self.question.senses;
            let find =
                |part: &[String]| (0..senses.len()).find(|&at| senses[at].keys.iter().any(|key| part.contains(key)));
            let words: Option<Vec<usize>> = match find(&whole) {
                Some(word) => Some(vec![word]),
                None if parts.is_empty() => None,
                None => parts.iter().map(|part| find(part)).collect(),
            };
            if let Some(words) = words {
                self.set(at, Value::Bool(true), 0..0, 1.0);
                for word in words {
                    self.filled.used[word] = true;
                }
            }
        }
    }

    fn numbers(&mut self) {
        // A number beside the parameter's own word: `page 2`, `30 days`.
        self.each_number(|filling, at, role, param| {
            let beside = [at.checked_sub(1), Some(at + 1)].into_iter().flatten();
            let name: BTreeSet<String> = keys(param.name).into_iter().flatten().collect();
            let senses = &filling.question.senses;
            agrees(role, param)
                && beside
                    .filter_map(|at| senses.get(at))
                    .any(|sense| sense.keys.iter().any(|key| name.contains(key)))
        });
        // One that says which or how many, for a parameter that asks just that.
        self.each_number(|_, _, role, param| match role {
            Role::Which => tells_which(param),
            Role::HowMany => counts(param),
            Role::Measure | Role::Plain => false,
        });
        // The rest in order, for what is required.
        self.each_number(|_, _, role, param| param.required && agrees(role, param));
    }

    /// Gives each unused number to the first open parameter that `fits`.
    fn each_number(&mut self, fits: impl Fn(&Self, usize, Role, &Param<'_>) -> bool) {
        for number in &self.question.numbers {
            let Some(value) = number.value.as_ref().filter(|_| !self.filled.used[number.word]) else {
                continue;
            };
            let takes = |param: &Param<'_>| number_for(&param.kind, param, value).is_some();
            let lists = (0..self.values.len()).filter(|&at| {
                matches!(self.values[at], Some(Value::Array(_)))
                    && matches!(self.document.params[at].kind, Kind::List(_))
            });
            let open = self.open().map(|(at, _)| at).chain(lists);
            let chosen = open.into_iter().find(|&at| {
                let param = &self.document.params[at];
                param.choices.is_empty() && takes(param) && fits(self, number.word, number.role, param)
            });
            if let Some(at) = chosen {
                let param = &self.document.params[at];
                if let Some(value) = number_for(&param.kind, param, value) {
                    self.give(at, value, number.word);
                    self.filled.bonus += 0.5;
                }
            }
        }
    }

    fn quoted(&mut self) {
        for at in 0..self.question.words.len() {
            if self.question.words[at].form != Form::Quoted || self.filled.used[at] {
                continue;
            }
            let text = self.question.words[at].text;
            let fits = |param: &Param<'_>| param.choices.is_empty() && takes_text(&param.kind);
            // What is required comes first, and of the rest what takes any text.
            let mut open: Vec<(usize, &Param<'_>)> = self.open().filter(|(_, param)| fits(param)).collect();
            open.sort_by_key(|(_, param)| (!param.required, sort(param) != Sort::Free));
            let more = (0..self.values.len()).find(|&at| matches!(self.values[at], Some(Value::Array(_))));
            let list = more.filter(|&at| fits(&self.document.params[at]));
            if let Some(param) = open.first().map(|(param, _)| *param).or(list) {
                self.give(param, Value::from(text), at);
            }
        }
    }

    /// Paths, addresses, dates and other words whose look says what they are.
    fn codes(&mut self) {
        for at in 0..self.question.words.len() {
            let word = self.question.words[at];
            let telling =
                word.form == Form::Code || (word.form == Form::Quoted && shape(word.text) != Shape::Identifier);
            if !telling || self.filled.used[at] {
                continue;
            }
            let shape = shape(word.text);
            let fits = |param: &Param<'_>| {
                param.choices.is_empty() && takes_text(&param.kind) && shape::suits(shape, sort(param))
            };
            // A pattern may stand for a path, but not while a parameter asks for patterns.
            let mut open: Vec<(usize, &Param<'_>)> = self.open().filter(|(_, param)| fits(param)).collect();
            open.sort_by_key(|(_, param)| !shape::is_own(shape, sort(param)));
            let open = open.first().map(|(at, _)| *at);
            let list = (0..self.values.len())
                .find(|&at| matches!(self.values[at], Some(Value::Array(_))) && fits(&self.document.params[at]));
            let loose = || {
                let loose = |param: &Param<'_>| {
                    let other = !shape::is_place(param) && !shape::is_person(param);
                    let name = sort(param) == Sort::Name && (other || shape == Shape::Identifier);
                    param.required && param.choices.is_empty() && takes_text(&param.kind) && name
                };
                self.open().find(|(_, param)| loose(param)).map(|(at, _)| at)
            };
            if let Some(param) = open.or(list).or_else(loose) {
                self.give(param, Value::from(word.text), at);
            }
        }
    }

    fn names(&mut self) {
        for name in &self.question.names {
            if self.filled.used[name.from..name.to].contains(&true) {
                continue;
            }
            let chosen = self.open().find_map(|(at, param)| {
                if !param.choices.is_empty() || !takes_text(&param.kind) {
                    return None;
                }
                let value = match sort(param) {
                    Sort::Zone => zone(&name.text)?.to_owned(),
                    Sort::Name => name.text.clone(),
                    Sort::Path | Sort::Identifier if param.required && name.sure != Sure::Guess => name.text.clone(),
                    _ => return None,
                };
                // A word of the tool's own is no name: `issue` in `close the issue`.
                let own = |at: usize| {
                    let mut keys = self.question.senses[at].keys.iter();
                    // In `서울날씨` the name and the tool's word are one, so concepts do not count.
                    keys.any(|key| !key.starts_with('@') && self.document.name.contains(key))
                };
                if (name.from..name.to).any(own) {
                    return None;
                }
                (param.required || self.is_meant(name, param)).then_some((at, value))
            });
            if let Some((param, value)) = chosen {
                let list = matches!(self.document.params[param].kind, Kind::List(_));
                let value = if list {
                    Value::Array(vec![value.into()])
                } else {
                    value.into()
                };
                self.set(param, value, name.from..name.to, 1.0);
            }
        }
    }

    /// Whether a name clearly belongs to a parameter that may be left out.
    fn is_meant(&self, name: &Name, param: &Param<'_>) -> bool {
        let (from, to) = (name.from, name.to);
        let own: BTreeSet<String> = keys(param.name).into_iter().flatten().collect();
        let says = |at: usize| {
            let word = self.question.senses.get(at);
            word.is_some_and(|sense| sense.keys.iter().any(|key| own.contains(key)))
        };
        let beside = from.checked_sub(1).is_some_and(says) || says(to) || (from..to).any(says);
        // `김민지 주문`: whose, directly before what the tool is about.
        let possessor = self.question.language == Language::Korean && to < self.question.words.len() && self.is_own(to);
        beside
            || ((name.owner || possessor) && shape::is_person(param))
            || (shape::is_place(param) && self.follows_in(from))
    }

    fn follows_in(&self, from: usize) -> bool {
        let before = from
            .checked_sub(1)
            .map(|at| self.question.words[at].text.to_lowercase());
        before.is_some_and(|word| matches!(word.as_str(), "in" | "at" | "near" | "around"))
    }

    /// For a parameter that takes any text: what the question says beside the words that chose the tool.
    fn free_text(&mut self) {
        let wide = self
            .document
            .name
            .iter()
            .any(|key| matches!(key.as_str(), "@search" | "@echo"));
        let wanted = self.open().find(|(_, param)| {
            let free =
                matches!(sort(param), Sort::Free | Sort::Pattern) && matches!(param.kind, Kind::Text | Kind::Any);
            param.choices.is_empty() && free && (param.required || wide)
        });
        let Some((at, _)) = wanted else { return };
        let span = match self.question.language {
            Language::English => self.behind_the_verb(),
            Language::Korean => self.before_the_verb(),
        };
        let Some(span) = span else { return };
        let mut text =
            &self.question.text[self.question.words[span.start].start..self.question.words[span.end - 1].end];
        if self.question.words[span.end - 1].form == Form::Hangul {
            let word = self.question.words[span.end - 1].text;
            // Only what marks a text as said: `안녕하세요` ends in a syllable that elsewhere is a particle.
            let marks = ["이라고", "라고", "을", "를"];
            let bare = marks
                .iter()
                .find_map(|mark| word.strip_suffix(mark))
                .filter(|bare| !bare.is_empty())
                .unwrap_or(word);
            text = &text[..text.len() - (word.len() - bare.len())];
        }
        self.set(at, Value::from(text), span, 0.5);
    }

    /// Whether a word belongs to the tool, to another argument, or to nothing.
    fn is_spent(&self, at: usize) -> bool {
        self.filled.used[at] || self.question.senses[at].stop || self.is_own(at)
    }

    fn is_own(&self, at: usize) -> bool {
        let keys = &self.question.senses[at].keys;
        keys.iter().any(|key| self.document.name.contains(key))
    }

    fn behind_the_verb(&self) -> Option<std::ops::Range<usize>> {
        let words = &self.question.words;
        let verb = (0..words.len()).find(|&at| self.is_own(at))?;
        // `search files for x`, `echo that x`: what leads to the text is no part of it.
        let leads = |at: usize| {
            let lower = words[at].text.to_lowercase();
            matches!(
                lower.as_str(),
                "for" | "the" | "a" | "an" | "about" | "that" | "me" | "of" | "with" | "to"
            )
        };
        let from = (verb + 1..words.len()).find(|&at| !(self.filled.used[at] || self.is_own(at) || leads(at)))?;
        // Another argument ends the text, with the small word that led to it.
        let mut to = (from..words.len())
            .find(|&at| self.filled.used[at])
            .unwrap_or(words.len());
        while to < words.len() && to > from && self.question.senses[to - 1].stop {
            to -= 1;
        }
        (to > from).then_some(from..to)
    }

    fn before_the_verb(&self) -> Option<std::ops::Range<usize>> {
        let words = &self.question.words;
        let verb = (0..words.len()).rev().find(|&at| self.is_own(at))?;
        let idle = |at: usize| self.is_spent(at) || is_particle(words[at].text);
        let to = (0..verb).rev().find(|&at| !idle(at))? + 1;
        let from = (0..to)
            .rev()
            .take_while(|&at| !self.filled.used[at] && !self.is_own(at))
            .last()?;
        (to > from).then_some(from..to)
    }

    /// What the schema itself fixes is taken for what is required; the rest that is required is missing.
    fn finish(mut self) -> Filled {
        for (at, param) in self.document.params.iter().enumerate() {
            let only = if param.choices.len() == 1 {
                Some(param.choices[0])
            } else {
                None
            };
            let value = self.values[at].take().or_else(|| {
                let fixed = param.default.or(only).filter(|_| param.required);
                fixed.cloned()
            });
            match value {
                Some(value) => {
                    self.filled.arguments.insert(param.name.to_owned(), value);
                }
                None if param.required => self.filled.missing.push(at),
                None => {}
            }
        }
        let unused = |at: usize| !self.filled.used[at];
        for number in &self.question.numbers {
            self.filled.bonus -= if unused(number.word) { 1.5 } else { 0.0 };
        }
        for (at, word) in self.question.words.iter().enumerate() {
            self.filled.bonus -= match word.form {
                Form::Quoted if unused(at) => 1.0,
                Form::Code if unused(at) && self.question.senses[at].keys.is_empty() => 0.7,
                _ => 0.0,
            };
        }
        self.filled
    }
}

/// Whether a number of this role may go to this parameter.
fn agrees(role: Role, param: &Param<'_>) -> bool {
    match role {
        Role::Which => !counts(param),
        Role::HowMany => !tells_which(param),
        Role::Measure => !tells_which(param) && !counts(param),
        Role::Plain => true,
    }
}

fn takes_text(kind: &Kind) -> bool {
    match kind {
        Kind::Text | Kind::Any => true,
        Kind::List(items) => matches!(**items, Kind::Text | Kind::Any),
        _ => false,
    }
}

/// The number as the parameter takes it; none where that would change it.
fn number_for(kind: &Kind, param: &Param<'_>, number: &serde_json::Number) -> Option<Value> {
    let whole = number.is_i64() || number.is_u64();
    match kind {
        Kind::Integer if whole => Some(number.clone().into()),
        Kind::Number | Kind::Any => Some(number.clone().into()),
        Kind::Text if whole && sort(param) == Sort::Identifier => Some(number.to_string().into()),
        Kind::List(items) => number_for(items, param, number),
        _ => None,
    }
}

/// The value that a single word gives a parameter.
fn value_of(param: &Param<'_>, text: &str, form: Form) -> Option<Value> {
    let choice = param
        .choices
        .iter()
        .find(|choice| shown(choice).eq_ignore_ascii_case(text));
    if !param.choices.is_empty() {
        return choice.map(|choice| (*choice).clone());
    }
    let number = super::words::number(text).filter(|_| form == Form::Number);
    let one = |kind: &Kind| match kind {
        Kind::Boolean => text.to_lowercase().parse().ok().map(Value::Bool),
        Kind::Text => Some(Value::from(text)),
        Kind::Any => Some(number.clone().map_or_else(|| Value::from(text), Value::from)),
        kind => number.as_ref().and_then(|number| number_for(kind, param, number)),
    };
    match &param.kind {
        Kind::List(items) => one(items).map(|value| Value::Array(vec![value])),
        kind => one(kind),
    }
}

/// A value as one would say it.
pub(super) fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A value for a sentence that shows how a parameter could be given.
pub(super) fn example(param: &Param<'_>, language: Language) -> Option<String> {
    let korean = language == Language::Korean;
    let quote = |text: String| {
        let plain = text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || is_hangul(c) || matches!(c, '/' | '.' | '-' | '_' | ':' | '@'));
        if plain && !text.is_empty() {
            text
        } else {
            format!("\"{text}\"")
        }
    };
    let given = param.choices.first().copied().or(param.default).or(param.example);
    if let Some(given) = given.filter(|given| given.is_string() || given.is_number() || given.is_boolean()) {
        return Some(quote(shown(given)));
    }
    let kind = if let Kind::List(items) = &param.kind {
        items
    } else {
        &param.kind
    };
    Some(match kind {
        Kind::Integer | Kind::Number => "3".to_owned(),
        Kind::Boolean => "true".to_owned(),
        Kind::Text | Kind::Any => shape::example(sort(param), param, korean),
        Kind::List(_) | Kind::Other => return None,
    })
}
