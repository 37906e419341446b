//! Which tools a question is about: BM25 over what they say of themselves.

use std::collections::{BTreeMap, BTreeSet};

use super::ToolCard;
use super::lexicon::{Class, class, keys};
use super::question::Question;
use super::schema::{Param, params};

/// How much of a description is read.
const MAX_TEXT: usize = 4 << 10;

/// How much a word counts by where it stands.
const NAME: f64 = 3.0;
const TITLE: f64 = 2.0;
const DESCRIPTION: f64 = 1.0;
const PARAMETER: f64 = 1.0;
const PARAMETER_TEXT: f64 = 0.5;

/// The two constants of BM25: how soon more of the same word stops counting, and how much length is held against a text.
const SATURATION: f64 = 1.2;
const LENGTH: f64 = 0.5;

/// What a tool says of itself.
pub(super) struct Document<'t> {
    pub(super) params: Vec<Param<'t>>,
    weights: BTreeMap<String, f64>,
    length: f64,
    /// The words of the tool's own name, without the server's.
    pub(super) name: BTreeSet<String>,
    title: BTreeSet<String>,
    description: BTreeSet<String>,
    /// The words of the name one by one, each with all its keys.
    name_words: Vec<Vec<String>>,
    /// What it takes away, if anything.
    pub(super) destroys: BTreeSet<&'static str>,
}

/// All tools, ready to be asked about.
pub(super) struct Index<'t> {
    pub(super) documents: Vec<Document<'t>>,
    frequency: BTreeMap<String, f64>,
    average: f64,
}

/// How well a tool fits a question.
#[derive(Debug, Clone)]
pub(super) struct Match {
    pub(super) tool: usize,
    pub(super) score: f64,
    /// Which words of the question the tool knows.
    pub(super) words: Vec<bool>,
    /// How far that speaks for it.
    pub(super) fit: Fit,
}

impl Document<'_> {
    /// Whether its name says that it makes or changes something, and `question` asks for nothing of that sort.
    pub(super) fn changes_unasked(&self, question: &Question<'_>) -> bool {
        let mut changes = self.name.iter().filter(|key| class(key) == Class::Change).peekable();
        changes.peek().is_some() && !changes.any(|key| question.says(key))
    }

    /// Whether the tool does what is wanted, by its own words.
    pub(super) fn does(&self, want: &str) -> bool {
        match class(want) {
            Class::Destroy => self.destroys.contains(want),
            _ => self.weights.contains_key(want),
        }
    }
}

impl<'t> Index<'t> {
    pub(super) fn new(tools: &[ToolCard<'t>]) -> Self {
        let prefixes = shared_first_words(tools);
        let documents: Vec<Document<'t>> = tools.iter().map(|tool| document(tool, &prefixes)).collect();
        let mut frequency: BTreeMap<String, f64> = BTreeMap::new();
        for key in documents.iter().flat_map(|document| document.weights.keys()) {
            *frequency.entry(key.clone()).or_default() += 1.0;
        }
        let total: f64 = documents.iter().map(|document| document.length).sum();
        let average = (total / count(documents.len())).max(1.0);
        Self {
            documents,
            frequency,
            average,
        }
    }

    /// Every tool with a word in common with the question, best first, names deciding between equals.
    pub(super) fn rank(&self, question: &Question<'_>, tools: &[ToolCard<'_>]) -> Vec<Match> {
        let mut found: Vec<Match> = (0..self.documents.len())
            .map(|tool| self.score(question, tool))
            .filter(|found| found.score > 0.0)
            .collect();
        found.sort_by(|a, b| {
            b.score
                .total_cmp(&a.score)
                .then_with(|| tools[a.tool].name.cmp(tools[b.tool].name))
        });
        found
    }

    fn score(&self, question: &Question<'_>, tool: usize) -> Match {
        let document = &self.documents[tool];
        let mut score = 0.0;
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        let mut words = vec![false; question.senses.len()];
        for (at, sense) in question.senses.iter().enumerate() {
            // A word and its concept say the same thing: the better one counts.
            let best = sense
                .keys
                .iter()
                .map(|key| (self.weight(document, key), key.as_str()))
                .max_by(|a, b| a.0.total_cmp(&b.0));
            if let Some((weight, key)) = best.filter(|best| best.0 > 0.0) {
                words[at] = true;
                if seen.insert(key) {
                    score += weight;
                }
            }
        }
        // Things are listed rather than counted unless counting is asked for.
        if document.name.contains("@count") && !question.says("@count") {
            score *= 0.5;
        }
        let fit = fit(document, question);
        Match {
            tool,
            score,
            words,
            fit,
        }
    }

    fn weight(&self, document: &Document<'_>, key: &str) -> f64 {
        let Some(weight) = document.weights.get(key) else {
            return 0.0;
        };
        let holding = self.frequency.get(key).copied().unwrap_or(1.0);
        let rarity = (1.0 + (count(self.documents.len()) - holding + 0.5) / (holding + 0.5)).ln();
        let length = 1.0 - LENGTH + LENGTH * document.length / self.average;
        rarity * weight * (SATURATION + 1.0) / (weight + SATURATION * length)
    }
}

fn count(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}

/// How far the words of a question speak for a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit {
    /// It speaks of what the tool is for.
    Clear,
    /// It only names what the tool does with it: `read` for `read_file`. Its arguments must speak for the rest.
    ByArguments,
    /// Neither.
    None,
}

fn fit(document: &Document<'_>, question: &Question<'_>) -> Fit {
    let said = |keys: &BTreeSet<String>, wanted: fn(Class) -> bool| {
        let said = |key: &&String| wanted(class(key)) && question.says(key);
        keys.iter().filter(said).count()
    };
    let thing = |class: Class| matches!(class, Class::Thing | Class::State);
    let any_thing = document.name.iter().any(|key| thing(class(key)));
    if !document.destroys.is_empty() {
        // Nothing is taken away that is not named in full: an order is not a test order.
        let whole = document
            .name_words
            .iter()
            .all(|keys| keys.iter().any(|key| !thing(class(key)) || question.says(key)));
        return if whole { Fit::Clear } else { Fit::None };
    }
    if said(&document.name, thing) > 0 || said(&document.title, thing) > 0 {
        return Fit::Clear;
    }
    // `add`, `echo`: the name is nothing but an action.
    if !any_thing && said(&document.name, |class| class != Class::Show) > 0 {
        return Fit::Clear;
    }
    // A description speaks of much that the tool is not for: it takes two words, or one and a name that says nothing.
    let described = said(&document.description, thing);
    if described >= 2 || (described == 1 && !any_thing) {
        Fit::Clear
    } else if said(&document.name, |_| true) > 0 {
        Fit::ByArguments
    } else {
        Fit::None
    }
}

/// First words that several tools share: most likely their server's name, which says nothing of what each is for.
fn shared_first_words(tools: &[ToolCard<'_>]) -> BTreeSet<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for tool in tools {
        for key in keys(own_name(tool.name)).into_iter().next().into_iter().flatten() {
            *counts.entry(key).or_default() += 1;
        }
    }
    // A word that also stands elsewhere in a name is no prefix: `order_list`, `order_get` are about orders.
    let elsewhere: BTreeSet<String> = tools
        .iter()
        .flat_map(|tool| keys(own_name(tool.name)).into_iter().skip(1).flatten())
        .collect();
    counts
        .into_iter()
        .filter(|(key, count)| *count > 1 && !key.starts_with('@') && !elsewhere.contains(key))
        .map(|(key, _)| key)
        .collect()
}

/// The part of a public name behind the server's, where a usual mark divides them.
fn own_name(name: &str) -> &str {
    let behind = ["__", "/", ":", "."]
        .iter()
        .filter_map(|mark| Some(name.rsplit_once(mark)?.1))
        .min_by_key(|part| part.len());
    behind.filter(|part| !part.is_empty()).unwrap_or(name)
}

fn document<'t>(tool: &ToolCard<'t>, prefixes: &BTreeSet<String>) -> Document<'t> {
    let params = params(tool.input_schema);
    let mut weights = BTreeMap::new();
    let mut length = 0.0;
    let mut add = |text: &str, weight: f64| -> BTreeSet<String> {
        let words = keys(start_of(text));
        for key in words.iter().flatten() {
            *weights.entry(key.clone()).or_default() += weight;
        }
        length += weight * count(words.len());
        words.into_iter().flatten().collect()
    };
    let mut name = add(own_name(tool.name), NAME);
    name.retain(|key| !prefixes.contains(key));
    let title = add(tool.title.unwrap_or_default(), TITLE);
    let description = add(tool.description.unwrap_or_default(), DESCRIPTION);
    for param in &params {
        add(param.name, PARAMETER);
        add(param.description, PARAMETER_TEXT);
        for choice in param.choices.iter().filter_map(|choice| choice.as_str()) {
            add(choice, PARAMETER);
        }
    }
    let mut name_words = keys(own_name(tool.name));
    name_words.retain(|keys| keys.iter().any(|key| name.contains(key)));
    let destroys = destroys(&name, &title, tool.description.unwrap_or_default());
    Document {
        params,
        weights,
        length,
        name,
        title,
        description,
        name_words,
        destroys,
    }
}

fn start_of(text: &str) -> &str {
    let mut end = text.len().min(MAX_TEXT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// What a tool takes away, by its own words. A tool whose name begins with looking at something is taken to do only
/// that, unless its name says more: its description may well speak of what others delete.
fn destroys(name: &BTreeSet<String>, title: &BTreeSet<String>, description: &str) -> BTreeSet<&'static str> {
    const SORTS: [&str; 2] = ["@cancel", "@delete"];
    let mut found: BTreeSet<&'static str> = SORTS
        .into_iter()
        .filter(|sort| name.contains(*sort) || title.contains(*sort))
        .collect();
    let looks = name.iter().any(|key| matches!(class(key), Class::Show | Class::Read));
    if looks {
        return found;
    }
    let mut negated = 0;
    for word in start_of(description).split(|c: char| !c.is_alphanumeric()) {
        let lower = word.to_lowercase();
        if matches!(lower.as_str(), "not" | "never" | "no" | "without" | "t") {
            negated = 3;
        }
        let participle = ["ed", "led"].iter().any(|end| lower.ends_with(end));
        let senses = keys(word);
        let said = SORTS
            .into_iter()
            .filter(|sort| senses.iter().flatten().any(|key| key == sort));
        if !participle && negated == 0 {
            found.extend(said);
        }
        negated = usize::saturating_sub(negated, 1);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn destroyed(name: &str, description: &str) -> Vec<&'static str> {
        let words = |text| keys(text).into_iter().flatten().collect();
        destroys(&words(name), &BTreeSet::new(), description)
            .into_iter()
            .collect()
    }

    #[test]
    fn what_takes_away_says_so() {
        assert_eq!(destroyed("cancel_order", ""), ["@cancel"]);
        assert_eq!(destroyed("purge_test_orders", ""), ["@delete"]);
        assert_eq!(destroyed("tidy", "Deletes what is old."), ["@delete"]);
        assert_eq!(destroyed("tidy", "오래된 파일을 삭제합니다"), ["@delete"]);
        assert_eq!(destroyed("get_and_delete", ""), ["@delete"]);
        assert_eq!(
            destroyed(
                "list_orders",
                "Orders: paid, cancelled. Use cancel_order to cancel one."
            ),
            [""; 0]
        );
        assert_eq!(
            destroyed("archive", "Moves a note; never deletes it. Deleted notes stay."),
            [""; 0]
        );
    }

    #[test]
    fn the_server_is_no_part_of_the_name() {
        for name in ["orders__get_order", "orders/get_order", "orders.get_order", "get_order"] {
            assert_eq!(own_name(name), "get_order");
        }
        assert_eq!(own_name("odd__"), "odd__");
    }
}
