//! The two languages the server speaks.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// A language of answers and suggestions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Language {
    /// English, `en`.
    #[default]
    #[serde(rename = "en")]
    English,
    /// Korean, `ko`.
    #[serde(rename = "ko")]
    Korean,
}

impl Language {
    /// The language a text is written in: Korean when it holds any Hangul, English otherwise.
    ///
    /// ```
    /// use trunkline_weather::Language;
    /// assert_eq!(Language::of("서울 날씨"), Language::Korean);
    /// assert_eq!(Language::of("weather in Seoul"), Language::English);
    /// ```
    pub fn of(text: &str) -> Self {
        if text.chars().any(is_hangul) {
            Self::Korean
        } else {
            Self::English
        }
    }
}

// By hand, because the derived schema of a documented enum is a `oneOf` of constants, which some model providers refuse.
impl JsonSchema for Language {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Language".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "enum": ["en", "ko"] })
    }
}

/// Syllables, conjoining jamo and compatibility jamo, halfwidth included.
pub(crate) fn is_hangul(c: char) -> bool {
    matches!(c, '\u{1100}'..='\u{11FF}' | '\u{3131}'..='\u{318E}' | '\u{A960}'..='\u{A97C}' | '\u{AC00}'..='\u{D7FB}' | '\u{FFA0}'..='\u{FFDC}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn composed_decomposed_and_single_letters_are_all_korean() {
        for text in ["서울", "\u{1109}\u{1165}", "ㅅ", "weather in 서울?"] {
            assert_eq!(Language::of(text), Language::Korean, "{text}");
        }
        for text in ["", "Seoul", "東京", "São Paulo"] {
            assert_eq!(Language::of(text), Language::English, "{text}");
        }
    }

    #[test]
    fn the_schema_lists_what_serde_accepts() {
        let schema = schemars::schema_for!(Language);
        for value in schema.get("enum").unwrap().as_array().unwrap() {
            serde_json::from_value::<Language>(value.clone()).unwrap();
        }
        assert!(serde_json::from_str::<Language>("\"fr\"").is_err());
    }
}
