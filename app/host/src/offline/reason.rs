//! Why a tool was picked, or none: sentences in the language of the question.

use super::fill::{Filled, example, shown};
use super::question::Question;
use super::rank::Document;
use super::schema::Param;
use super::{Candidate, Language};

/// How many words of a reason are listed.
const MAX_LISTED: usize = 8;

pub(super) fn empty() -> String {
    "The question is empty. Ask something, for example: What's the weather in Seoul? · 질문이 비어 있습니다. 예: 서울 날씨 어때?"
        .to_owned()
}

/// Nothing fits.
pub(super) fn nothing(question: &Question<'_>, near: &[&str]) -> String {
    let near = near.join(", ");
    let wanted: Vec<&str> = question.wants.iter().map(|want| want.trim_start_matches('@')).collect();
    let wanted = wanted.join(", ");
    match (question.language, wanted.is_empty(), near.is_empty()) {
        (Language::Korean, true, true) => {
            "이 질문에 맞는 도구가 없습니다. 오프라인 선택기는 언어 모델이 아니라서 도구로 답할 수 있는 질문만 다룹니다.".to_owned()
        }
        (Language::Korean, true, false) => format!("이 질문에 맞는 도구를 정하지 못했습니다. 가까운 도구: {near}"),
        (Language::Korean, false, _) => format!("질문이 바라는 일({wanted})을 하는 도구가 없습니다."),
        (Language::English, true, true) => {
            "No tool fits this question. The offline picker is no language model: it only answers what a tool can answer."
                .to_owned()
        }
        (Language::English, true, false) => format!("No tool clearly fits this question. Those that come near: {near}"),
        (Language::English, false, _) => format!("No tool fits that does what the question asks for ({wanted})."),
    }
}

/// The question denies something.
pub(super) fn denied(language: Language, word: &str) -> String {
    match language {
        Language::Korean => {
            format!("‘{word}’처럼 부정하는 말은 오프라인 선택기가 이해하지 못합니다. 부정 없이 물어보세요.")
        }
        Language::English => {
            format!("The offline picker does not understand what `{word}` denies. Ask without it.")
        }
    }
}

/// The question narrows down what it means, and the tool that fits cannot be told.
pub(super) fn unplaced(language: Language, name: &str, word: &str) -> String {
    match language {
        Language::Korean => {
            format!("가장 가까운 도구 {name}에는 질문의 ‘{word}’에 맞는 인자가 없습니다. 그 말 없이 물어보세요.")
        }
        Language::English => {
            format!("{name} comes nearest, and has no argument for `{word}` in the question. Ask without it.")
        }
    }
}

/// The question names a state that the tool does not know.
pub(super) fn unknown_state(language: Language, name: &str, word: &str, param: &Param<'_>) -> String {
    let choices: Vec<String> = param
        .choices
        .iter()
        .take(MAX_LISTED)
        .map(|choice| shown(choice))
        .collect();
    let (choices, param) = (choices.join(", "), param.name);
    match language {
        Language::Korean => format!("{name}의 `{param}`에는 ‘{word}’에 맞는 값이 없습니다. 줄 수 있는 값: {choices}"),
        Language::English => format!("`{param}` of {name} has no value for `{word}`. It takes: {choices}"),
    }
}

/// A tool fits, and something that it needs is not in the question, or too much of it.
pub(super) fn unfinished(question: &Question<'_>, name: &str, document: &Document<'_>, filled: &Filled) -> String {
    let korean = question.language == Language::Korean;
    if let Some((param, values)) = &filled.conflict {
        let values = values.join(", ");
        return if korean {
            format!("{name}의 `{param}`에는 하나만 줄 수 있는데 질문에 여럿이 있습니다: {values}. 하나씩 물어보세요.")
        } else {
            format!(
                "`{param}` of {name} takes one value, and the question gives several: {values}. Ask for one at a time."
            )
        };
    }
    let missing = || filled.missing.iter().map(|&at| &document.params[at]);
    let names: Vec<String> = missing().map(|param| format!("`{}`", param.name)).collect();
    let names = names.join(", ");
    let examples: Option<Vec<String>> = missing()
        .map(|param| Some(format!("{}={}", param.name, example(param, question.language)?)))
        .collect();
    let asked = question.text.trim().trim_end_matches(['?', '!', '.', '？']);
    // A long question is not said again.
    let asked = if asked.chars().count() <= 80 { asked } else { name };
    match (examples, korean) {
        (Some(examples), true) => {
            format!(
                "{name}에 필요한 {names} 값이 질문에 없습니다. 예: {asked} {}",
                examples.join(" ")
            )
        }
        (Some(examples), false) => {
            format!(
                "{name} needs {names}, which the question does not give. For example: {asked} {}",
                examples.join(" ")
            )
        }
        (None, true) => {
            format!("{name}에 필요한 {names} 값은 문장으로 줄 수 없습니다. `trunkline call`로 JSON을 주세요.")
        }
        (None, false) => {
            format!("{name} needs {names}, which a sentence cannot give. Give it as JSON with `trunkline call`.")
        }
    }
}

/// A tool was picked.
pub(super) fn chosen(
    question: &Question<'_>,
    name: &str,
    chosen: &Candidate,
    ignored: &[String],
    left_aside: usize,
) -> String {
    let korean = question.language == Language::Korean;
    let words = chosen
        .found
        .words
        .iter()
        .zip(&question.words)
        .filter(|(known, _)| **known);
    let words: Vec<&str> = words.map(|(_, word)| word.text).take(MAX_LISTED).collect();
    let words = words.join(", ");
    let arguments: Vec<String> = chosen
        .filled
        .arguments
        .iter()
        .take(MAX_LISTED)
        .map(|(name, value)| format!("{name}={}", shown(value)))
        .collect();
    let mut why = match (korean, arguments.is_empty()) {
        (true, true) => format!("{name}: 질문의 낱말({words})에 가장 잘 맞습니다."),
        (true, false) => format!(
            "{name}: 질문의 낱말({words})에 가장 잘 맞고, 질문에서 {}.",
            arguments.join(", ")
        ),
        (false, true) => format!("{name} fits the words of the question best ({words})."),
        (false, false) => {
            format!(
                "{name} fits the words of the question best ({words}); from the question: {}.",
                arguments.join(", ")
            )
        }
    };
    if !ignored.is_empty() {
        let ignored = ignored
            .iter()
            .take(MAX_LISTED)
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join(", ");
        let told = if korean {
            format!(" 쓰지 않은 말: {ignored}.")
        } else {
            format!(" Left aside: {ignored}.")
        };
        why.push_str(&told);
    }
    if left_aside > 0 {
        let told = if korean {
            format!(" 질문이 길어 뒤의 {left_aside}바이트는 읽지 않았습니다.")
        } else {
            format!(" The question is long: its last {left_aside} bytes were not read.")
        };
        why.push_str(&told);
    }
    why
}
