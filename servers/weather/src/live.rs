//! Current weather from Open-Meteo, over blocking HTTP.
//!
//! A call blocks the thread it runs on for at most [`LiveSettings::whole`]; async code runs it on a blocking thread.

use std::fmt;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use ureq::Agent;

use crate::lookup::{LookupError, MAX_NAME_CHARS, find};
use crate::report::Source;
use crate::{Conditions, Language, Weather};

/// The most bytes of an answer that are read. Real answers have less than four kilobytes.
pub const MAX_BODY_BYTES: u64 = 256 * 1024;
/// The most characters of a reason the service gives that are passed on.
const MAX_REASON_CHARS: usize = 200;

/// Whom [`Live`] asks and how long it waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveSettings {
    /// Where names become coordinates, without a path.
    pub geocoding: String,
    /// Where coordinates become weather, without a path.
    pub forecast: String,
    /// The longest wait for a connection.
    pub connect: Duration,
    /// The longest wait for the whole answer, both requests together.
    pub whole: Duration,
}

impl Default for LiveSettings {
    fn default() -> Self {
        Self {
            geocoding: "https://geocoding-api.open-meteo.com".to_owned(),
            forecast: "https://api.open-meteo.com".to_owned(),
            connect: Duration::from_secs(3),
            whole: Duration::from_secs(8),
        }
    }
}

/// Why there is no live weather. The text is written for the one who asked, a person or a model.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum LiveError {
    /// The name cannot be looked up, or neither this server nor the service knows it.
    City(LookupError),
    /// The service could not be reached.
    Unreachable {
        /// The service asked.
        service: String,
        /// What the network said.
        reason: String,
    },
    /// The service did not answer in time.
    TimedOut {
        /// The service asked.
        service: String,
        /// The limit that passed, of the connection or of the whole answer.
        limit: Duration,
    },
    /// The service answered with an error status.
    Refused {
        /// The service asked.
        service: String,
        /// The HTTP status.
        status: u16,
        /// The reason given, shortened; empty when none.
        reason: String,
    },
    /// The service answered something that is not weather.
    Garbled {
        /// The service asked.
        service: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl fmt::Display for LiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::City(error) => return error.fmt(f),
            Self::Unreachable { service, reason } => write!(f, "{service} could not be reached: {reason}.")?,
            Self::TimedOut { service, limit } => {
                write!(f, "{service} did not answer within {:.1} s.", limit.as_secs_f64())?;
            }
            Self::Refused {
                service, status: 429, ..
            } => {
                return write!(
                    f,
                    "{service} takes no more requests for now (HTTP status 429); wait a minute and ask again."
                );
            }
            Self::Refused {
                service,
                status,
                reason,
            } if reason.is_empty() => {
                write!(f, "{service} answered with HTTP status {status}.")?;
            }
            Self::Refused {
                service,
                status,
                reason,
            } => {
                write!(f, "{service} answered with HTTP status {status}: {reason}.")?;
            }
            Self::Garbled { service, reason } => write!(f, "the answer of {service} cannot be used: {reason}.")?,
        }
        write!(
            f,
            " Ask again later, or start the server without --live to use sample data."
        )
    }
}

impl std::error::Error for LiveError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        // The text of the lookup error is already shown whole.
        None
    }
}

impl From<LookupError> for LiveError {
    fn from(error: LookupError) -> Self {
        Self::City(error)
    }
}

/// Asks Open-Meteo for current weather.
///
/// ```no_run
/// use trunkline_weather::Live;
///
/// let weather = Live::default().current("서울")?;
/// assert_eq!(weather.city, "Seoul");
/// # Ok::<(), trunkline_weather::LiveError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Live {
    agent: Agent,
    settings: LiveSettings,
}

impl Default for Live {
    fn default() -> Self {
        Self::new(LiveSettings::default())
    }
}

/// A city with coordinates, from the table or from the service.
struct Place {
    city: String,
    city_ko: String,
    country: String,
    latitude: f64,
    longitude: f64,
}

#[derive(Deserialize)]
struct Matches {
    // Left out by the service when nothing matches.
    #[serde(default)]
    results: Vec<Match>,
}

#[derive(Deserialize)]
struct Match {
    name: String,
    latitude: f64,
    longitude: f64,
    // Left out for places that lie in no country.
    #[serde(default)]
    country: String,
}

#[derive(Deserialize)]
struct Forecast {
    current: Current,
}

#[derive(Deserialize)]
struct Current {
    temperature_2m: f64,
    relative_humidity_2m: f64,
    wind_speed_10m: f64,
    weather_code: i64,
}

#[derive(Deserialize)]
struct Failure {
    #[serde(default)]
    reason: String,
}

impl Live {
    /// Prepares to ask; nothing is sent yet.
    pub fn new(settings: LiveSettings) -> Self {
        let config = Agent::config_builder()
            .timeout_connect(Some(settings.connect))
            .timeout_global(Some(settings.whole))
            .http_status_as_error(false)
            // The service does not redirect; whatever does is not the service.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(concat!("trunkline-weather/", env!("CARGO_PKG_VERSION")));
        // A proxy from the environment cannot reach this machine's own loopback.
        let config = if is_loopback(&settings.forecast) {
            config.proxy(None)
        } else {
            config
        };
        Self {
            agent: config.build().new_agent(),
            settings,
        }
    }

    /// The current weather of a city, in one request for a city of the table and in two for any other.
    ///
    /// # Errors
    /// [`LiveError`] says whether the city or the service is at fault.
    pub fn current(&self, asked: &str) -> Result<Weather, LiveError> {
        let started = Instant::now();
        let place = match find(asked) {
            Ok(city) => Place {
                city: city.english.to_owned(),
                city_ko: city.korean.to_owned(),
                country: city.country.english.to_owned(),
                latitude: city.latitude,
                longitude: city.longitude,
            },
            Err(unknown @ LookupError::Unknown { .. }) => self.locate(asked, unknown, started)?,
            Err(error) => return Err(error.into()),
        };
        self.observe(place, started)
    }

    fn locate(&self, asked: &str, unknown: LookupError, started: Instant) -> Result<Place, LiveError> {
        let language = Language::of(asked);
        let query = [
            ("name", asked.trim()),
            ("count", "1"),
            ("language", language.code()),
            ("format", "json"),
        ];
        let matches: Matches = self.get(&self.settings.geocoding, "/v1/search", &query, started)?;
        let Some(found) = matches.results.into_iter().next() else {
            return Err(unknown.into());
        };
        if !(-90.0..=90.0).contains(&found.latitude) || !(-180.0..=180.0).contains(&found.longitude) {
            return Err(garbled(&self.settings.geocoding, "the coordinates are not on Earth"));
        }
        let name = cleaned(&found.name, MAX_NAME_CHARS);
        Ok(Place {
            city: name.clone(),
            city_ko: name,
            country: cleaned(&found.country, MAX_NAME_CHARS),
            latitude: found.latitude,
            longitude: found.longitude,
        })
    }

    fn observe(&self, place: Place, started: Instant) -> Result<Weather, LiveError> {
        let service = &self.settings.forecast;
        let (latitude, longitude) = (format!("{:.4}", place.latitude), format!("{:.4}", place.longitude));
        let query = [
            ("latitude", latitude.as_str()),
            ("longitude", longitude.as_str()),
            (
                "current",
                "temperature_2m,relative_humidity_2m,wind_speed_10m,weather_code",
            ),
            ("temperature_unit", "celsius"),
            ("wind_speed_unit", "kmh"),
        ];
        let Forecast { current } = self.get(service, "/v1/forecast", &query, started)?;
        if !(-100.0..=70.0).contains(&current.temperature_2m) {
            return Err(garbled(
                service,
                &format!("a temperature of {} °C", current.temperature_2m),
            ));
        }
        if !(0.0..=500.0).contains(&current.wind_speed_10m) {
            return Err(garbled(service, &format!("wind of {} km/h", current.wind_speed_10m)));
        }
        let humidity_percent = percent(current.relative_humidity_2m)
            .ok_or_else(|| garbled(service, &format!("humidity of {} %", current.relative_humidity_2m)))?;
        Ok(Weather {
            city: place.city,
            city_ko: place.city_ko,
            country: place.country,
            temperature_c: current.temperature_2m,
            conditions: Conditions::from_wmo(current.weather_code),
            humidity_percent,
            wind_kmh: current.wind_speed_10m,
            source: Source::OpenMeteo,
        })
    }

    fn get<T: DeserializeOwned>(
        &self,
        base: &str,
        path: &str,
        query: &[(&str, &str)],
        started: Instant,
    ) -> Result<T, LiveError> {
        let left = self.settings.whole.saturating_sub(started.elapsed());
        if left.is_zero() {
            return Err(LiveError::TimedOut {
                service: service(base),
                limit: self.settings.whole,
            });
        }
        let mut response = self
            .agent
            .get(format!("{base}{path}"))
            .query_pairs(query.iter().copied())
            .config()
            .timeout_global(Some(left))
            .build()
            .call()
            .map_err(|error| self.failed(base, error))?;
        let status = response.status().as_u16();
        let body = response.body_mut().with_config().limit(MAX_BODY_BYTES).read_to_vec();
        if status != 200 {
            let reason = body.ok().and_then(|body| serde_json::from_slice::<Failure>(&body).ok());
            let reason = reason
                .map(|failure| cleaned(&failure.reason, MAX_REASON_CHARS))
                .unwrap_or_default();
            return Err(LiveError::Refused {
                service: service(base),
                status,
                reason,
            });
        }
        let body = body.map_err(|error| self.failed(base, error))?;
        serde_json::from_slice(&body).map_err(|error| garbled(base, &format!("not the JSON expected ({error})")))
    }

    fn failed(&self, base: &str, error: ureq::Error) -> LiveError {
        let service = service(base);
        match error {
            ureq::Error::Timeout(ureq::Timeout::Connect) => LiveError::TimedOut {
                service,
                limit: self.settings.connect,
            },
            ureq::Error::Timeout(_) => LiveError::TimedOut {
                service,
                limit: self.settings.whole,
            },
            ureq::Error::BodyExceedsLimit(limit) => garbled(
                base,
                &format!("more than {limit} bytes, a weather answer is far smaller"),
            ),
            ureq::Error::Protocol(error) => garbled(base, &format!("not HTTP ({error})")),
            ureq::Error::LargeResponseHeader(..) => garbled(base, "the header is too large"),
            other => LiveError::Unreachable {
                service,
                reason: cleaned(&other.to_string(), MAX_REASON_CHARS),
            },
        }
    }
}

fn garbled(base: &str, reason: &str) -> LiveError {
    LiveError::Garbled {
        service: service(base),
        reason: cleaned(reason, MAX_REASON_CHARS),
    }
}

/// The host of a base address, as people know it.
fn service(base: &str) -> String {
    base.split_once("://").map_or(base, |(_, host)| host).to_owned()
}

fn is_loopback(base: &str) -> bool {
    let host = service(base);
    host.starts_with("127.") || host.starts_with("localhost") || host.starts_with("[::1]")
}

/// Text from outside, made fit to be shown: bounded, and without control characters.
fn cleaned(text: &str, limit: usize) -> String {
    text.chars().filter(|c| !c.is_control()).take(limit).collect()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the range is checked first"
)]
fn percent(value: f64) -> Option<u8> {
    (0.0..=100.0).contains(&value).then(|| value.round() as u8)
}

#[cfg(test)]
mod tests;
