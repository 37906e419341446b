//! The weather server that ships with the command.
//!
//! This crate answers one question, the current weather of a city, from a fixed table of some fifty cities or, with
//! `--live`, from Open-Meteo. It is not a forecast service: the table never changes, so that demonstrations and tests
//! say the same every day, and it says `sample data` with every answer.
//!
//! * [`cities`] holds the table, [`lookup`] finds a city by an English or Korean name and suggests near ones,
//!   [`complete`] completes names.
//! * [`Weather`] is the answer, structured and as a [sentence](Weather::sentence) in English or Korean.
//! * [`Live`] asks Open-Meteo. It blocks; async callers put it on a blocking thread.
//! * [`server()`] is all of this as an MCP server.
//!
//! ```
//! use trunkline_weather::{Language, sample};
//!
//! let weather = sample("서울특별시").unwrap();
//! assert_eq!(weather.city, "Seoul");
//! assert!(weather.sentence(Language::English).contains("Seoul"));
//!
//! let unknown = sample("Soeul").unwrap_err();
//! assert!(unknown.to_string().contains("Seoul"));
//! ```

pub mod cities;
mod conditions;
mod language;
pub mod live;
pub mod lookup;
mod names;
mod report;
mod server;

pub use conditions::Conditions;
pub use language::Language;
pub use live::{Live, LiveError, LiveSettings};
pub use lookup::{LookupError, complete, find};
pub use report::{GetWeather, Source, Weather, sample};
pub use server::{Settings, server};
