//! The weather as an MCP server: one tool, the known cities as resources, a prompt, completion of names.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use trunkline::types::{ErrorObject, Resource, ResourceTemplate, code};
use trunkline::{Completing, Json, Server, State, Tool, ToolError, UriVariables};

use crate::cities::{self, CITIES, CITIES_URI};
use crate::{GetWeather, Language, Live, LiveError, LookupError, Weather, complete, find, sample};

/// Where the observation of one city can be read.
const CITY_TEMPLATE: &str = "weather://city/{name}";
const PROMPT: &str = "weather_report";
/// With Open-Meteo behind it the tool is held to this many calls a minute, a tenth of what the service allows.
const LIVE_CALLS_A_MINUTE: u32 = 60;

/// How the server is started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Settings {
    /// Whether Open-Meteo is asked. Otherwise the fixed table answers.
    pub live: bool,
}

/// The weather server.
///
/// ```
/// use trunkline_weather::{Settings, server};
/// assert!(server(Settings { live: false }).check().is_ok());
/// ```
pub fn server(settings: Settings) -> Server {
    let observations = if settings.live {
        Observations::Service(Live::default())
    } else {
        Observations::Table
    };
    serving(observations)
}

fn serving(observations: Observations) -> Server {
    let live = observations.are_live();
    let tool = Tool::new(get_weather)
        .title("Current weather")
        .read_only()
        .idempotent()
        .open_world(live);
    let tool = if live {
        tool.rate_limit(LIVE_CALLS_A_MINUTE, Duration::from_secs(60))
    } else {
        tool
    };
    Server::new("weather", env!("CARGO_PKG_VERSION"))
        .info(|info| info.title = Some("Weather".to_owned()))
        .instructions(instructions(live))
        .state(observations)
        .tool("get_weather", tool)
        .resource(cities_resource(), |_: UriVariables| async { Json(cities::known()) })
        .resource_template(city_template(), city_weather)
        .complete(CITY_TEMPLATE, "name", city_names)
        .prompt(PROMPT, weather_report)
        .complete(PROMPT, "city", city_names)
        .complete(PROMPT, "language", languages)
}

fn instructions(live: bool) -> String {
    let source = if live {
        "Observations come from Open-Meteo and can be asked for any city".to_owned()
    } else {
        format!(
            "Observations are fixed sample data for {} cities; say so when you pass them on",
            CITIES.len()
        )
    };
    format!(
        "Call get_weather with the name of one city, in English or Korean. {source}. The resource {CITIES_URI} lists the \
         cities that are known by name."
    )
}

fn cities_resource() -> Resource {
    Resource {
        title: Some("Known cities".to_owned()),
        description: Some("The cities known by name, in English and Korean, with country and coordinates.".to_owned()),
        mime_type: Some("application/json".to_owned()),
        ..Resource::new(CITIES_URI, "cities")
    }
}

fn city_template() -> ResourceTemplate {
    ResourceTemplate {
        uri_template: CITY_TEMPLATE.to_owned(),
        name: "city".to_owned(),
        title: Some("Weather of a city".to_owned()),
        description: Some("The current weather of one city, by its English or Korean name.".to_owned()),
        mime_type: Some("application/json".to_owned()),
        ..ResourceTemplate::default()
    }
}

/// Where observations come from.
#[derive(Debug, Clone)]
enum Observations {
    Table,
    Service(Live),
}

impl Observations {
    fn are_live(&self) -> bool {
        matches!(self, Self::Service(_))
    }

    async fn current(&self, city: String) -> Result<Weather, LiveError> {
        let Self::Service(live) = self else {
            return Ok(sample(&city)?);
        };
        let live = live.clone();
        match tokio::task::spawn_blocking(move || live.current(&city)).await {
            Ok(answer) => answer,
            // It panicked: the server answers that as it does any other panic.
            Err(ended) => std::panic::resume_unwind(ended.into_panic()),
        }
    }
}

impl From<LiveError> for ToolError {
    fn from(error: LiveError) -> Self {
        Self::new(error.to_string())
    }
}

impl From<LiveError> for ErrorObject {
    fn from(error: LiveError) -> Self {
        let code = match error {
            LiveError::City(LookupError::Unknown { .. }) => code::RESOURCE_NOT_FOUND,
            LiveError::City(_) => code::INVALID_PARAMS,
            _ => code::INTERNAL_ERROR,
        };
        Self::new(code, error.to_string())
    }
}

async fn get_weather(ask: GetWeather, observations: State<Observations>) -> Result<(String, Json<Weather>), ToolError> {
    let language = Language::of(&ask.city);
    let weather = observations.current(ask.city).await?;
    Ok((weather.sentence(language), Json(weather)))
}

async fn city_weather(
    variables: UriVariables,
    observations: State<Observations>,
) -> Result<Json<Weather>, ErrorObject> {
    let name = variables.text("name").unwrap_or_default();
    Ok(Json(observations.current(name.to_owned()).await?))
}

async fn city_names(typed: Completing) -> Vec<&'static str> {
    complete(&typed.value)
}

async fn languages(typed: Completing) -> Vec<&'static str> {
    let codes = Language::ALL.map(Language::code).into_iter();
    codes.filter(|code| code.starts_with(&typed.value)).collect()
}

/// A short report on the current weather of a city.
#[derive(Deserialize, JsonSchema)]
struct WeatherReport {
    /// Name of the city in English or Korean, for example "Seoul" or "서울".
    city: String,
    /// Language of the report: "en" or "ko". The language the city is written in when left out.
    language: Option<String>,
}

async fn weather_report(ask: WeatherReport, observations: State<Observations>) -> Result<String, ErrorObject> {
    // Forms send an empty text for a field that nobody filled in.
    let language = match ask.language.as_deref().map(str::trim) {
        None | Some("") => Language::of(&ask.city),
        Some(code) => Language::from_code(code).ok_or_else(|| {
            let code: String = code.chars().take(20).collect();
            ErrorObject::invalid_params(format!(
                "{code:?} is not a language of this server; `language` is \"en\" or \"ko\""
            ))
        })?,
    };
    let city = match (find(&ask.city), language) {
        (Ok(city), Language::English) => city.english,
        (Ok(city), Language::Korean) => city.korean,
        // The service knows more cities than the table.
        (Err(LookupError::Unknown { .. }), _) if observations.are_live() => ask.city.trim(),
        (Err(error), _) => return Err(ErrorObject::invalid_params(error.to_string())),
    };
    Ok(match language {
        Language::English => format!(
            "Tell me about the current weather in {city}, in English. Call get_weather with the city {city:?}, then write \
             two or three plain sentences: what the sky does, how warm it feels, and what to wear. Name the source of \
             the data. If the tool reports an error, tell me what it says and guess nothing."
        ),
        Language::Korean => format!(
            "{city}의 현재 날씨를 한국어로 알려 주세요. get_weather 도구를 도시 {city:?}로 부른 다음, 하늘 상태와 체감 \
             온도와 알맞은 옷차림을 두세 문장으로 쉽게 써 주세요. 자료의 출처를 밝혀 주세요. 도구가 오류를 알리면 그 \
             내용을 그대로 전하고 짐작하지 마세요."
        ),
    })
}

#[cfg(test)]
mod tests;
