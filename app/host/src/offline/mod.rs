//! The offline model: a deterministic picker of tools, by rules. It is not a language model, and says so.
//!
//! [`pick`] ranks the tools by BM25 over their names, titles, descriptions and parameters, helped by a small dictionary
//! between Korean and English, and takes the arguments from the question: names, numbers, listed values, quoted text.
//! It never makes a value up: a required one that the question does not give is said to be missing. A tool that takes
//! something away is picked only when the question asks for just that. [`answer()`] puts a result into a plain sentence.
//!
//! Pure functions: no clock, no file, no network, no randomness; the order of the tools changes nothing.

mod answer;
mod fill;
mod lexicon;
mod names;
mod numbers;
mod question;
mod rank;
mod reason;
mod schema;
mod shape;
#[cfg(test)]
mod tests;
mod wants;
mod words;

use serde_json::{Map, Value};

pub use answer::{MAX_ANSWER, answer};

use fill::{Filled, fill};
use lexicon::{Class, class};
use numbers::Role;
use question::Question;
use rank::{Fit, Index, Match};
use schema::Param;
use shape::{Shape, shape, tells_which};
use words::{Form, compose, is_hangul};

/// How many bytes of a question are read; the rest is left aside, and said to be.
pub const MAX_QUESTION: usize = 4096;

/// How many tools are looked at.
pub const MAX_TOOLS: usize = 2000;

/// How many of the best tools are tried with the question's arguments.
const MAX_TRIED: usize = 24;

/// How many tools that come near are named.
const MAX_NEAR: usize = 3;

/// The language of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// It has Hangul in it.
    Korean,
    /// Any other.
    English,
}

impl Language {
    /// The language of a text.
    pub fn of(text: &str) -> Self {
        if text.contains(is_hangul) {
            Self::Korean
        } else {
            Self::English
        }
    }
}

/// What this model says of itself, to be shown beside its answers.
pub fn notice(language: Language) -> &'static str {
    match language {
        Language::Korean => "오프라인 선택기가 답했습니다. 언어 모델이 아니라 정해진 규칙으로 도구를 고릅니다.",
        Language::English => "Answered by the offline picker: fixed rules that choose a tool, not a language model.",
    }
}

/// A tool, as the picker sees it.
#[derive(Debug, Clone, Copy)]
pub struct ToolCard<'a> {
    /// Its public name, unique among all.
    pub name: &'a str,
    /// Its title.
    pub title: Option<&'a str>,
    /// Its description.
    pub description: Option<&'a str>,
    /// The JSON Schema of its arguments.
    pub input_schema: &'a Value,
    /// Whether it is called without asking a person. Among tools that fit about as well, such a one is picked.
    pub runs_unasked: bool,
}

/// From which part of the best score on a tool counts as fitting about as well.
const COMPARABLE: f64 = 0.5;

/// The tool that fits, with its arguments.
#[derive(Debug, Clone, PartialEq)]
pub struct Pick {
    /// Its place in the list that was given.
    pub tool: usize,
    /// The arguments, all of them from the question or fixed by the schema.
    pub arguments: Map<String, Value>,
    /// Why this one, in the language of the question.
    pub why: String,
    /// How well it fits; comparable only within one question.
    pub score: f64,
    /// Words of the question that had no part in it.
    pub ignored: Vec<String>,
}

/// That no tool was picked.
#[derive(Debug, Clone, PartialEq)]
pub struct NoPick {
    /// Why, in the language of the question, with what to try instead.
    pub why: String,
    /// Up to three tools that come near, by their place in the list; never one that takes something away unasked.
    pub near: Vec<usize>,
}

/// Picks the tool that a question asks for, and its arguments.
///
/// Reads at most [`MAX_QUESTION`] bytes of the question and looks at no more than [`MAX_TOOLS`] tools.
///
/// # Errors
///
/// [`NoPick`] when no tool fits, when a required argument is missing, or when the question asks for something that the
/// rules do not understand, such as a negation.
///
/// ```
/// use trunkline_host::offline::{ToolCard, pick};
/// let schema = serde_json::json!({
///     "type": "object",
///     "properties": { "city": { "type": "string" } },
///     "required": ["city"],
/// });
/// let weather = ToolCard {
///     name: "get_weather",
///     title: None,
///     description: Some("Current weather for a city."),
///     input_schema: &schema,
///     runs_unasked: true,
/// };
/// let found = pick("서울 날씨 어때?", &[weather]).map_err(|none| none.why)?;
/// assert_eq!(found.arguments["city"], "서울");
///
/// let none = pick("날씨 어때?", &[weather]).unwrap_err();
/// assert!(none.why.contains("city"));
/// # Ok::<(), String>(())
/// ```
pub fn pick(question: &str, tools: &[ToolCard<'_>]) -> Result<Pick, NoPick> {
    let tools = &tools[..tools.len().min(MAX_TOOLS)];
    let head = start_of(question);
    let left_aside = question.len() - head.len();
    let text = compose(head);
    let question = Question::read(&text);
    let language = question.language;
    if question.words.is_empty() {
        return Err(NoPick {
            why: reason::empty(),
            near: Vec::new(),
        });
    }
    let index = Index::new(tools);
    let ranked = index.rank(&question, tools);
    let destroys = |found: &&Match| &index.documents[found.tool].destroys;
    let allowed = |found: &&Match| {
        let sorts = destroys(found);
        let asked = sorts.is_empty() || sorts.iter().any(|sort| question.wants.contains(sort));
        asked && !index.documents[found.tool].changes_unasked(&question)
    };
    let does = |found: &&Match| {
        let mut wants = question.wants.iter();
        question.wants.is_empty() || wants.any(|want| index.documents[found.tool].does(want))
    };
    let near: Vec<usize> = ranked
        .iter()
        .filter(allowed)
        .take(MAX_NEAR)
        .map(|found| found.tool)
        .collect();

    let candidates = ranked
        .iter()
        .filter(|found| found.fit != Fit::None)
        .filter(allowed)
        .filter(does)
        .take(MAX_TRIED);
    let mut tried: Vec<Candidate> = candidates
        .map(|found| Candidate {
            filled: fill(&question, &index.documents[found.tool]),
            found: found.clone(),
        })
        .filter(|tried| tried.found.fit == Fit::Clear || tried.speaks_by_arguments(&question))
        .collect();
    tried.sort_by(|a, b| {
        b.score()
            .total_cmp(&a.score())
            .then_with(|| tools[a.found.tool].name.cmp(tools[b.found.tool].name))
    });

    let Some(best) = tried.first() else {
        let names: Vec<&str> = near.iter().map(|&tool| tools[tool].name).collect();
        return Err(NoPick {
            why: reason::nothing(&question, &names),
            near,
        });
    };
    // A tool that lacks an argument gives way to one that lacks none, unless that one fits much worse.
    let unplaced = |tried: &Candidate| tried.unplaced(&question, &index.documents[tried.found.tool]);
    let fits = |tried: &&Candidate| tried.is_complete() && unplaced(tried).is_none();
    let complete = tried.iter().find(fits);
    let Some(chosen) = complete.filter(|complete| complete.score() >= 0.75 * best.score()) else {
        // A question that says which one is meant needs the tool that can be told.
        let asks_which = |tried: &&Candidate| {
            let mut missing = tried.filled.missing.iter();
            missing.any(|&at| tells_which(&index.documents[tried.found.tool].params[at]))
        };
        let which = tried
            .iter()
            .find(asks_which)
            .filter(|_| best.which_one(&question).is_some());
        let best = which.unwrap_or(best);
        let name = tools[best.found.tool].name;
        let why = match unplaced(best) {
            Some(number) if best.is_complete() => reason::unplaced(language, name, number),
            _ => reason::unfinished(&question, name, &index.documents[best.found.tool], &best.filled),
        };
        return Err(NoPick { why, near });
    };
    // Whoever writes a description can fill it with words. What a person vouches for is not outbid by that, as long as
    // nothing is to be changed.
    let chosen = tried
        .iter()
        .filter(|_| question.wants.is_empty() && !tools[chosen.found.tool].runs_unasked)
        .filter(|other| tools[other.found.tool].runs_unasked && other.found.fit == Fit::Clear)
        .filter(fits)
        .find(|other| other.score() >= COMPARABLE * chosen.score())
        .unwrap_or(chosen);
    if let Some(&word) = question.negations.iter().find(|&&word| !chosen.filled.used[word]) {
        return Err(NoPick {
            why: reason::denied(language, question.words[word].text),
            near,
        });
    }
    let name = tools[chosen.found.tool].name;
    if let Some((word, param)) = unknown_state(&question, &index.documents[chosen.found.tool], chosen) {
        return Err(NoPick {
            why: reason::unknown_state(language, name, word, param),
            near,
        });
    }
    let ignored = ignored(&question, chosen);
    Ok(Pick {
        tool: chosen.found.tool,
        why: reason::chosen(&question, name, chosen, &ignored, left_aside),
        arguments: chosen.filled.arguments.clone(),
        score: chosen.score(),
        ignored,
    })
}

/// A tool that fits, and what the question gives for it.
struct Candidate {
    found: Match,
    filled: Filled,
}

impl Candidate {
    fn score(&self) -> f64 {
        let missing = u32::try_from(self.filled.missing.len()).unwrap_or(u32::MAX);
        let score: f64 = self.found.score + self.filled.bonus - 0.75 * f64::from(missing);
        score.max(0.01)
    }

    /// A word that narrows the question down and that the tool has no place for: which one is meant, or when. To pass
    /// over it would answer another question. A tool that takes something away must be told every number.
    fn unplaced<'q>(&self, question: &Question<'q>, document: &rank::Document<'_>) -> Option<&'q str> {
        let open = |at: usize| !self.filled.used[at] && !self.found.words[at];
        let mut numbers = question
            .numbers
            .iter()
            .filter(|_| !document.destroys.is_empty())
            .map(|number| number.word);
        let says_when = |at: usize| {
            let word = &question.words[at];
            let date = word.form == Form::Code && shape(word.text) == Shape::Date;
            date || question.senses[at].keys.iter().any(|key| key == "@when")
        };
        let unplaced = self
            .which_one(question)
            .or_else(|| numbers.find(|&at| !self.filled.used[at]));
        let unplaced = unplaced.or_else(|| (0..question.words.len()).find(|&at| open(at) && says_when(at)));
        unplaced.map(|at| question.words[at].text)
    }

    /// The word with a number that says which one is meant and that became no argument.
    fn which_one(&self, question: &Question<'_>) -> Option<usize> {
        let mut numbers = question.numbers.iter().filter(|number| number.role == Role::Which);
        numbers
            .find(|number| !self.filled.used[number.word])
            .map(|number| number.word)
    }

    /// Whether it got all it needs, something of it in a form that stands for itself: a path, an address, a quotation.
    fn speaks_by_arguments(&self, question: &Question<'_>) -> bool {
        let mut used = question.words.iter().zip(&self.filled.used).filter(|(_, used)| **used);
        self.is_complete() && used.any(|(word, _)| matches!(word.form, Form::Code | Form::Quoted))
    }

    fn is_complete(&self) -> bool {
        self.filled.missing.is_empty() && self.filled.conflict.is_none()
    }
}

/// A state that the question names and that is not among those the tool can be told: the answer would be to a wider
/// question than was asked.
fn unknown_state<'q, 's>(
    question: &Question<'q>,
    document: &'s rank::Document<'_>,
    chosen: &Candidate,
) -> Option<(&'q str, &'s Param<'s>)> {
    let is_state = |key: &String| class(key) == Class::State && key.starts_with('@');
    let of_states = |param: &&Param<'_>| {
        let mut choices = param.choices.iter().filter_map(|choice| choice.as_str());
        choices.any(|choice| lexicon::keys(choice).iter().flatten().any(is_state))
    };
    let param = document.params.iter().find(of_states)?;
    let unmet = |at: &usize| !chosen.filled.used[*at] && question.senses[*at].keys.iter().any(is_state);
    let word = (0..question.words.len()).find(unmet)?;
    Some((question.words[word].text, param))
}

/// Words with a meaning that neither chose the tool nor became an argument.
fn ignored(question: &Question<'_>, chosen: &Candidate) -> Vec<String> {
    let means = |at: usize| match question.words[at].form {
        Form::Number | Form::Quoted | Form::Code => true,
        Form::Letters | Form::Hangul => {
            let sense = &question.senses[at];
            let asks = sense
                .keys
                .iter()
                .all(|key| class(key) == Class::Show && key.starts_with('@'));
            !sense.stop && !sense.keys.is_empty() && !asks
        }
    };
    (0..question.words.len())
        .filter(|&at| means(at) && !chosen.found.words[at] && !chosen.filled.used[at])
        .map(|at| question.words[at].text.to_owned())
        .collect()
}

fn start_of(text: &str) -> &str {
    let mut end = text.len().min(MAX_QUESTION);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
