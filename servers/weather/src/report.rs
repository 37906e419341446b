//! The answer: current weather, structured and as a sentence.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::cities::City;
use crate::lookup::{LookupError, find};
use crate::{Conditions, Language};

/// Current weather for a city: temperature, conditions, humidity and wind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GetWeather {
    /// Name of the city in English or Korean, for example "Seoul", "서울" or "New York, USA".
    #[schemars(length(min = 1, max = 100))]
    pub city: String,
}

/// Where an observation comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Source {
    /// The fixed table of this server.
    #[serde(rename = "sample data")]
    Sample,
    /// The Open-Meteo service.
    #[serde(rename = "Open-Meteo")]
    OpenMeteo,
}

// By hand, because the derived schema of a documented enum is a `oneOf` of constants, which some model providers refuse.
impl JsonSchema for Source {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Source".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "enum": ["sample data", "Open-Meteo"] })
    }
}

/// Current weather of one city.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Weather {
    /// Name of the city, in English where an English one is known.
    pub city: String,
    /// Korean name of the city; the same as `city` where no other is known.
    pub city_ko: String,
    /// Name of the country, in English where an English one is known.
    pub country: String,
    /// Air temperature in degrees Celsius.
    pub temperature_c: f64,
    /// What the sky does.
    pub conditions: Conditions,
    /// Relative humidity in percent, 0 to 100.
    #[schemars(range(max = 100))]
    pub humidity_percent: u8,
    /// Wind speed in kilometres per hour.
    #[schemars(range(min = 0.0))]
    pub wind_kmh: f64,
    /// Where the observation comes from: fixed sample data, or the Open-Meteo service.
    pub source: Source,
}

impl Weather {
    /// One sentence for a person.
    ///
    /// ```
    /// use trunkline_weather::{Language, sample};
    /// let sentence = sample("Seoul").unwrap().sentence(Language::Korean);
    /// assert!(sentence.starts_with("서울"));
    /// ```
    pub fn sentence(&self, language: Language) -> String {
        let Self {
            city,
            city_ko,
            country,
            temperature_c,
            humidity_percent,
            wind_kmh,
            ..
        } = self;
        let conditions = self.conditions.words(language);
        match language {
            Language::English => {
                let source = match self.source {
                    Source::Sample => "sample data",
                    Source::OpenMeteo => "source: Open-Meteo",
                };
                format!(
                    "{city}, {country}: {conditions}, {temperature_c:.1} °C, humidity {humidity_percent}%, wind {wind_kmh:.1} km/h ({source})."
                )
            }
            Language::Korean => {
                let source = match self.source {
                    Source::Sample => "예시 데이터",
                    Source::OpenMeteo => "출처: Open-Meteo",
                };
                format!(
                    "{city_ko}의 현재 날씨: {conditions}, 기온 {temperature_c:.1}°C, 습도 {humidity_percent}%, 풍속 {wind_kmh:.1}km/h ({source})."
                )
            }
        }
    }
}

impl From<&City> for Weather {
    fn from(city: &City) -> Self {
        Self {
            city: city.english.to_owned(),
            city_ko: city.korean.to_owned(),
            country: city.country.english.to_owned(),
            temperature_c: city.temperature_c,
            conditions: city.conditions,
            humidity_percent: city.humidity_percent,
            wind_kmh: city.wind_kmh,
            source: Source::Sample,
        }
    }
}

/// The fixed observation of a city.
///
/// # Errors
/// [`LookupError`] when the table has no such city.
pub fn sample(asked: &str) -> Result<Weather, LookupError> {
    find(asked).map(Weather::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_question_has_the_same_answer_in_both_languages() {
        let weather = sample("서울").unwrap();
        assert_eq!(weather, sample("Seoul").unwrap());
        assert_eq!(
            weather.sentence(Language::English),
            "Seoul, South Korea: clear, 18.4 °C, humidity 52%, wind 7.9 km/h (sample data)."
        );
        assert_eq!(
            weather.sentence(Language::Korean),
            "서울의 현재 날씨: 맑음, 기온 18.4°C, 습도 52%, 풍속 7.9km/h (예시 데이터)."
        );
    }

    #[test]
    fn the_wire_form_uses_plain_words() {
        let json = serde_json::to_value(sample("부산").unwrap()).unwrap();
        assert_eq!(
            json,
            serde_json::json!({
                "city": "Busan", "city_ko": "부산", "country": "South Korea", "temperature_c": 20.1,
                "conditions": "partly cloudy", "humidity_percent": 61, "wind_kmh": 14.4, "source": "sample data",
            })
        );
        let back: Weather = serde_json::from_value(json).unwrap();
        assert_eq!(back, sample("Busan").unwrap());
        assert_eq!(serde_json::to_value(Source::OpenMeteo).unwrap(), "Open-Meteo");
    }

    #[test]
    fn every_field_is_described_and_required_in_the_schema() {
        for schema in [schemars::schema_for!(Weather), schemars::schema_for!(GetWeather)] {
            let json = schema.to_value();
            let properties = json["properties"].as_object().unwrap();
            for (name, property) in properties {
                assert!(
                    property["description"].as_str().is_some_and(|text| text.len() > 10),
                    "{name}"
                );
                assert!(
                    property.get("$ref").is_none() && property.get("oneOf").is_none(),
                    "{name} is written out"
                );
            }
            assert_eq!(json["required"].as_array().unwrap().len(), properties.len());
        }
        let weather = schemars::schema_for!(Weather).to_value();
        assert_eq!(weather["properties"]["humidity_percent"]["maximum"], 100);
    }
}
