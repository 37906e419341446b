//! What the sky does, in plain words, and the WMO codes that stand for it.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::Language;

/// What the sky does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Conditions {
    /// No clouds.
    #[serde(rename = "clear")]
    Clear,
    /// A few clouds.
    #[serde(rename = "mostly clear")]
    MostlyClear,
    /// About half the sky covered.
    #[serde(rename = "partly cloudy")]
    PartlyCloudy,
    /// The whole sky covered.
    #[serde(rename = "overcast")]
    Overcast,
    /// Fog, rime fog included.
    #[serde(rename = "fog")]
    Fog,
    /// Drizzle.
    #[serde(rename = "drizzle")]
    Drizzle,
    /// Drizzle or rain that freezes where it falls.
    #[serde(rename = "freezing rain")]
    FreezingRain,
    /// Steady rain.
    #[serde(rename = "rain")]
    Rain,
    /// Showers of rain.
    #[serde(rename = "rain showers")]
    RainShowers,
    /// Steady snow, snow grains included.
    #[serde(rename = "snow")]
    Snow,
    /// Showers of snow.
    #[serde(rename = "snow showers")]
    SnowShowers,
    /// Thunder without hail.
    #[serde(rename = "thunderstorm")]
    Thunderstorm,
    /// Thunder with hail.
    #[serde(rename = "thunderstorm with hail")]
    Hail,
    /// A code nobody here knows: the other measurements still stand.
    #[serde(rename = "unknown")]
    Unknown,
}

impl Conditions {
    /// Every value, in the order of the schema.
    pub const ALL: [Self; 14] = [
        Self::Clear,
        Self::MostlyClear,
        Self::PartlyCloudy,
        Self::Overcast,
        Self::Fog,
        Self::Drizzle,
        Self::FreezingRain,
        Self::Rain,
        Self::RainShowers,
        Self::Snow,
        Self::SnowShowers,
        Self::Thunderstorm,
        Self::Hail,
        Self::Unknown,
    ];

    /// Reads a WMO weather code (table 4677 as Open-Meteo uses it). An unlisted code is [`Unknown`](Self::Unknown).
    pub fn from_wmo(code: i64) -> Self {
        match code {
            0 => Self::Clear,
            1 => Self::MostlyClear,
            2 => Self::PartlyCloudy,
            3 => Self::Overcast,
            45 | 48 => Self::Fog,
            51 | 53 | 55 => Self::Drizzle,
            56 | 57 | 66 | 67 => Self::FreezingRain,
            61 | 63 | 65 => Self::Rain,
            71 | 73 | 75 | 77 => Self::Snow,
            80..=82 => Self::RainShowers,
            85 | 86 => Self::SnowShowers,
            95 => Self::Thunderstorm,
            96 | 99 => Self::Hail,
            _ => Self::Unknown,
        }
    }

    /// The words of a language. The English ones are also the value on the wire.
    pub fn words(self, language: Language) -> &'static str {
        let (english, korean) = match self {
            Self::Clear => ("clear", "맑음"),
            Self::MostlyClear => ("mostly clear", "대체로 맑음"),
            Self::PartlyCloudy => ("partly cloudy", "구름 조금"),
            Self::Overcast => ("overcast", "흐림"),
            Self::Fog => ("fog", "안개"),
            Self::Drizzle => ("drizzle", "이슬비"),
            Self::FreezingRain => ("freezing rain", "어는 비"),
            Self::Rain => ("rain", "비"),
            Self::RainShowers => ("rain showers", "소나기"),
            Self::Snow => ("snow", "눈"),
            Self::SnowShowers => ("snow showers", "소낙눈"),
            Self::Thunderstorm => ("thunderstorm", "뇌우"),
            Self::Hail => ("thunderstorm with hail", "우박을 동반한 뇌우"),
            Self::Unknown => ("unknown", "알 수 없음"),
        };
        match language {
            Language::English => english,
            Language::Korean => korean,
        }
    }
}

impl fmt::Display for Conditions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words(Language::English))
    }
}

// By hand, because the derived schema of a documented enum is a `oneOf` of constants, which some model providers refuse.
impl JsonSchema for Conditions {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Conditions".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "enum": Self::ALL.map(|value| value.words(Language::English)) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_schema_and_wire_agree() {
        let schema = schemars::schema_for!(Conditions);
        let listed = schema.get("enum").unwrap().as_array().unwrap();
        assert_eq!(listed.len(), Conditions::ALL.len());
        for (value, word) in Conditions::ALL.iter().zip(listed) {
            assert_eq!(&serde_json::to_value(value).unwrap(), word);
            assert_eq!(serde_json::from_value::<Conditions>(word.clone()).unwrap(), *value);
            assert_ne!(value.words(Language::Korean), value.words(Language::English));
        }
    }

    #[test]
    fn every_code_the_service_documents_is_known_and_others_are_not_guessed() {
        let documented = [
            0, 1, 2, 3, 45, 48, 51, 53, 55, 56, 57, 61, 63, 65, 66, 67, 71, 73, 75, 77, 80, 81, 82, 85, 86, 95, 96, 99,
        ];
        for code in -5..=120 {
            let known = Conditions::from_wmo(code) != Conditions::Unknown;
            assert_eq!(known, documented.contains(&code), "code {code}");
        }
        assert_eq!(Conditions::from_wmo(i64::MAX), Conditions::Unknown);
        assert_eq!(Conditions::from_wmo(67), Conditions::FreezingRain);
        assert_eq!(Conditions::from_wmo(86), Conditions::SnowShowers);
    }
}
