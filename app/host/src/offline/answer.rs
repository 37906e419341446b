//! A plain sentence from what a tool gave back.

use serde_json::Value;

use super::Language;
use super::lexicon::{label, state};
use super::words::is_hangul;

/// Longest answer, in characters.
pub const MAX_ANSWER: usize = 4000;

/// How many members of a list or object are told.
const MAX_TOLD: usize = 20;

/// How deep structured results are put into words; below that they stay JSON.
const MAX_NESTING: usize = 4;

/// Says what a tool gave back, in the language of the question: its text where it is prose in that language, else the
/// fields of its structured result. Adds nothing of its own.
///
/// `failed` says that the tool itself reported an error. The answer has at most [`MAX_ANSWER`] characters.
///
/// ```
/// use trunkline_host::offline::{Language, answer};
/// let result = serde_json::json!({ "city": "서울", "humidity": 40 });
/// assert_eq!(answer(Language::Korean, "", Some(&result), false), "도시: 서울, 습도: 40");
/// assert_eq!(answer(Language::English, "Sunny in Seoul.", Some(&result), false), "Sunny in Seoul.");
/// ```
pub fn answer(language: Language, text: &str, structured: Option<&Value>, failed: bool) -> String {
    let korean = language == Language::Korean;
    let text = text.trim();
    let parsed = serde_json::from_str::<Value>(text)
        .ok()
        .filter(|value| value.is_object() || value.is_array());
    let structured = structured.filter(|value| !value.is_null()).or(parsed.as_ref());
    let prose = !text.is_empty() && parsed.is_none();
    let foreign = korean && !text.contains(is_hangul);
    let said = match structured {
        Some(value) if !failed && (!prose || foreign) => tell(value, korean, 0),
        _ => text.to_owned(),
    };
    let said = match (said.trim().is_empty(), failed, korean) {
        (false, false, _) => said,
        (false, true, true) => format!("도구가 오류를 알렸습니다: {said}"),
        (false, true, false) => format!("The tool reported an error: {said}"),
        (true, false, true) => "도구가 아무 내용도 돌려주지 않았습니다.".to_owned(),
        (true, false, false) => "The tool gave nothing back.".to_owned(),
        (true, true, true) => "도구가 까닭을 밝히지 않고 오류를 알렸습니다.".to_owned(),
        (true, true, false) => "The tool reported an error and no reason.".to_owned(),
    };
    shorten(said, korean)
}

fn shorten(said: String, korean: bool) -> String {
    let Some((end, _)) = said.char_indices().nth(MAX_ANSWER - 40) else {
        return said;
    };
    if said.chars().count() <= MAX_ANSWER {
        return said;
    }
    let rest = said[end..].chars().count();
    let kept = &said[..end];
    if korean {
        format!("{kept}… (뒤에 {rest}자 더 있음)")
    } else {
        format!("{kept}… ({rest} more characters)")
    }
}

fn tell(value: &Value, korean: bool, depth: usize) -> String {
    match value {
        Value::Object(members) if members.is_empty() => String::new(),
        Value::Object(members) if depth < MAX_NESTING => {
            let mut told: Vec<String> = Vec::new();
            let mut lists = Vec::new();
            // A field that is there in Korean as well is told once.
            let in_korean = |name: &str| korean && members.contains_key(&format!("{name}_ko"));
            let shown = members
                .iter()
                .filter(|(name, value)| !value.is_null() && !in_korean(name));
            for (name, value) in shown.clone().take(MAX_TOLD) {
                let spoken = value.as_str().filter(|_| korean).and_then(|value| state(name, value));
                let name = named(name, korean);
                match value {
                    Value::String(_) if spoken.is_some() => {
                        told.push(format!("{name}: {}", spoken.unwrap_or_default()));
                    }
                    Value::Array(items) if items.iter().any(Value::is_object) => {
                        lists.push(format!("{name}:\n{}", tell(value, korean, depth + 1)));
                    }
                    // What brings its own wording is told in it.
                    Value::Object(inner) if inner.get("display").is_some_and(Value::is_string) => {
                        let display = inner["display"].as_str().unwrap_or_default();
                        told.push(format!("{name}: {display}"));
                    }
                    Value::Object(_) => told.push(format!("{name} ({})", tell(value, korean, depth + 1))),
                    _ => told.push(format!("{name}: {}", tell(value, korean, depth + 1))),
                }
            }
            let left = shown.count().saturating_sub(MAX_TOLD);
            if left > 0 {
                told.push(more(left, korean));
            }
            let first = told.join(", ");
            let parts = [first].into_iter().chain(lists).filter(|part| !part.is_empty());
            parts.collect::<Vec<_>>().join("\n")
        }
        Value::Array(items) if items.is_empty() => (if korean { "없음" } else { "none" }).to_owned(),
        Value::Array(items) if depth < MAX_NESTING => {
            let lines = items.iter().any(Value::is_object);
            let mut told: Vec<String> = items
                .iter()
                .take(MAX_TOLD)
                .map(|item| tell(item, korean, depth + 1))
                .collect();
            if items.len() > MAX_TOLD {
                told.push(more(items.len() - MAX_TOLD, korean));
            }
            if lines {
                told.iter()
                    .map(|item| format!("- {item}"))
                    .collect::<Vec<_>>()
                    .join("\n")
            } else {
                told.join(", ")
            }
        }
        Value::String(text) => text.clone(),
        Value::Bool(yes) if korean => (if *yes { "예" } else { "아니요" }).to_owned(),
        Value::Bool(yes) => (if *yes { "yes" } else { "no" }).to_owned(),
        other => other.to_string(),
    }
}

fn more(left: usize, korean: bool) -> String {
    if korean {
        format!("그 밖에 {left}개")
    } else {
        format!("{left} more")
    }
}

fn named(field: &str, korean: bool) -> String {
    let known = label(field).filter(|_| korean);
    known.map_or_else(|| field.replace('_', " "), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn prose_is_given_as_it_is() {
        let value = json!({"count": 3});
        assert_eq!(
            answer(Language::English, " 3 paid orders.\n", Some(&value), false),
            "3 paid orders."
        );
        assert_eq!(answer(Language::Korean, "주문 3건", Some(&value), false), "주문 3건");
        assert_eq!(answer(Language::Korean, "hello", None, false), "hello");
    }

    #[test]
    fn fields_in_the_language_of_the_question() {
        let value = json!({"count": 3, "status": "paid", "note": null, "test": false});
        let text = value.to_string();
        assert_eq!(
            answer(Language::English, &text, Some(&value), false),
            "count: 3, status: paid, test: no"
        );
        assert_eq!(
            answer(Language::Korean, &text, None, false),
            "건수: 3, 상태: 결제됨, test: 아니요"
        );
        assert_eq!(
            answer(Language::Korean, "3 paid orders.", Some(&value), false),
            "건수: 3, 상태: 결제됨, test: 아니요"
        );
    }

    #[test]
    fn the_shipped_servers_in_korean() {
        let weather = json!({"city": "Seoul", "city_ko": "서울", "temperature_c": 18.5, "conditions": "clear"});
        assert_eq!(
            answer(Language::Korean, "Seoul: clear, 18.5 °C.", Some(&weather), false),
            "도시: 서울, 기온(°C): 18.5, 날씨: clear"
        );
        assert_eq!(
            answer(Language::Korean, "서울은 맑음", Some(&weather), false),
            "서울은 맑음"
        );
    }

    #[test]
    fn lists_and_nesting() {
        let value =
            json!({"orders": [{"id": 1, "tags": ["a", "b"]}, {"id": 2, "tags": []}], "page": {"size": 1}, "total": 2});
        assert_eq!(
            answer(Language::English, "", Some(&value), false),
            "page (size: 1), total: 2\norders:\n- id: 1, tags: a, b\n- id: 2, tags: none"
        );
        assert_eq!(answer(Language::English, "", Some(&json!(5)), false), "5");
        let long = json!((0..100).collect::<Vec<_>>());
        assert!(answer(Language::Korean, "", Some(&long), false).ends_with("18, 19, 그 밖에 80개"));
    }

    #[test]
    fn what_brings_its_own_wording_is_told_in_it() {
        let order = json!({ "total": { "minor": 91500, "currency": "KRW", "display": "91,500 KRW" } });
        assert_eq!(answer(Language::English, "", Some(&order), false), "total: 91,500 KRW");
        assert_eq!(answer(Language::Korean, "", Some(&order), false), "합계: 91,500 KRW");
    }

    #[test]
    fn errors_and_nothing() {
        assert_eq!(
            answer(Language::English, "unknown city", Some(&json!({"a": 1})), true),
            "The tool reported an error: unknown city"
        );
        assert_eq!(
            answer(Language::Korean, "", None, false),
            "도구가 아무 내용도 돌려주지 않았습니다."
        );
        assert_eq!(
            answer(Language::English, " ", Some(&json!({})), false),
            "The tool gave nothing back."
        );
    }

    #[test]
    fn long_answers_are_cut_and_say_so() {
        let said = answer(Language::English, &"서".repeat(10_000), None, false);
        assert!(said.chars().count() <= MAX_ANSWER && said.ends_with("more characters)"));
        let deep = (0..100).fold(json!(1), |inner, _| json!({ "a": inner }));
        assert!(answer(Language::English, "", Some(&deep), false).starts_with("a (a (a (a ({\"a\":"));
    }
}
