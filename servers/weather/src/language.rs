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
    /// Every language.
    pub const ALL: [Self; 2] = [Self::English, Self::Korean];

    /// The ISO 639-1 code, which is also the value on the wire.
    pub fn code(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Korean => "ko",
        }
    }

    /// The language of a code, in upper or lower case.
    pub fn from_code(code: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|language| language.code().eq_ignore_ascii_case(code))
    }

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
        json_schema!({ "type": "string", "enum": Self::ALL.map(Self::code) })
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

    #[test]
    fn codes_are_those_of_the_wire_in_any_case() {
        for language in Language::ALL {
            assert_eq!(serde_json::to_value(language).unwrap(), language.code());
            assert_eq!(Language::from_code(language.code()), Some(language));
        }
        assert_eq!(Language::from_code("KO"), Some(Language::Korean));
        assert_eq!(Language::from_code(""), None);
        assert_eq!(Language::from_code("fr"), None);
    }
}
