//! From a name as people write it to a city of the table, or to the names they may have meant.

use std::collections::HashMap;
use std::fmt;
use std::sync::LazyLock;

use crate::Language;
use crate::cities::{CITIES, CITIES_URI, City};
use crate::names::{distance, key};

/// The longest city name that is looked at, in characters.
pub const MAX_NAME_CHARS: usize = 100;
/// The most names a completion returns.
pub const MAX_COMPLETIONS: usize = 100;
/// The most near names an error suggests.
pub const MAX_SUGGESTIONS: usize = 3;

/// Administrative endings that may follow a name, longest first.
const ENDINGS: [&str; 7] = ["특별자치시", "특별자치도", "특별시", "광역시", "시", "도", "City"];
/// Romanised ones, which only Korean cities carry.
const KOREAN_ENDINGS: [&str; 5] = ["Metropolitan City", "Special City", "-si", "-do", "Island"];

struct Name {
    key: String,
    city: &'static City,
    language: Language,
}

struct Index {
    names: Vec<Name>,
    by_key: HashMap<String, &'static City>,
    endings: Vec<String>,
    korean_endings: Vec<String>,
}

static INDEX: LazyLock<Index> = LazyLock::new(|| {
    let mut names = Vec::new();
    for city in CITIES {
        for name in [city.english, city.korean].iter().chain(city.aliases) {
            names.push(Name {
                key: key(name),
                city,
                language: Language::of(name),
            });
        }
    }
    Index {
        by_key: names.iter().map(|name| (name.key.clone(), name.city)).collect(),
        names,
        endings: ENDINGS.iter().map(|ending| key(ending)).collect(),
        korean_endings: KOREAN_ENDINGS.iter().map(|ending| key(ending)).collect(),
    }
});

/// Why no city was found. The text is written for the one who asked, a person or a model.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum LookupError {
    /// No name was given.
    Empty,
    /// The name is longer than [`MAX_NAME_CHARS`].
    TooLong {
        /// Characters given.
        chars: usize,
    },
    /// No known city is called so.
    Unknown {
        /// The name given.
        asked: String,
        /// Up to [`MAX_SUGGESTIONS`] near names, the nearest first.
        near: Vec<&'static City>,
    },
}

impl fmt::Display for LookupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "no city was given; name one, for example \"Seoul\" or \"서울\"."),
            Self::TooLong { chars } => {
                write!(
                    f,
                    "the city name has {chars} characters, at most {MAX_NAME_CHARS} are read; give the name of one city."
                )
            }
            Self::Unknown { asked, near } => {
                write!(f, "no weather for {asked:?}: the city is not known here.")?;
                let both = |city: &&City| match Language::of(asked) {
                    Language::Korean => format!("{} ({})", city.korean, city.english),
                    Language::English => format!("{} ({})", city.english, city.korean),
                };
                let near: Vec<String> = near.iter().map(both).collect();
                if !near.is_empty() {
                    write!(f, " Did you mean {}?", near.join(", "))?;
                }
                write!(
                    f,
                    " All {} known cities are listed in the resource {CITIES_URI}.",
                    CITIES.len()
                )
            }
        }
    }
}

impl std::error::Error for LookupError {}

/// Finds the city a name means, in English or Korean.
///
/// Case, spaces, hyphens, diacritics and endings such as "시" or "특별시" do not matter, and a country or province may
/// stand beside the name ("Seoul, South Korea", "경기도 수원시"). A wrong country or province finds nothing: "Paris, Texas"
/// is not Paris.
///
/// # Errors
/// [`LookupError`] says what is wrong with the name, or which names are near.
///
/// ```
/// use trunkline_weather::find;
/// assert_eq!(find("부산광역시").unwrap().english, "Busan");
/// assert_eq!(find("sao paulo").unwrap().korean, "상파울루");
/// assert!(find("Atlantis").is_err());
/// ```
pub fn find(asked: &str) -> Result<&'static City, LookupError> {
    let asked = asked.trim();
    let chars = asked.chars().count();
    if chars == 0 {
        return Err(LookupError::Empty);
    }
    if chars > MAX_NAME_CHARS {
        return Err(LookupError::TooLong { chars });
    }
    named(asked)
        .or_else(|| located(asked))
        .ok_or_else(|| LookupError::Unknown {
            asked: asked.to_owned(),
            near: near(asked),
        })
}

/// A city by its name alone, with or without an ending.
fn named(name: &str) -> Option<&'static City> {
    let index = &*INDEX;
    let key = key(name);
    if let Some(city) = index.by_key.get(&key) {
        return Some(city);
    }
    let without = |ending: &String| index.by_key.get(key.strip_suffix(ending.as_str())?).copied();
    index.endings.iter().find_map(without).or_else(|| {
        let korean = |city: &&'static City| city.country.code == "KR";
        index
            .korean_endings
            .iter()
            .find_map(|ending| without(ending).filter(korean))
    })
}

/// A city by its name and where it lies: "name, place" in any language, "place name" in Korean.
fn located(asked: &str) -> Option<&'static City> {
    let mut parts = asked.split([',', '(', '，', '、']);
    let name = parts.next()?;
    let places: Vec<&str> = parts.collect();
    if !places.is_empty() {
        return named(name).filter(|city| places.iter().all(|place| lies_in(city, place)));
    }
    if Language::of(asked) == Language::Korean {
        let (places, name) = asked.rsplit_once(char::is_whitespace)?;
        return named(name).filter(|city| places.split_whitespace().all(|place| lies_in(city, place)));
    }
    None
}

fn lies_in(city: &City, place: &str) -> bool {
    let place = key(place);
    let country = city.country;
    [country.code, country.english, country.korean]
        .iter()
        .chain(country.aliases)
        .chain(city.regions)
        .any(|name| key(name) == place)
}

/// The cities whose names are nearest in either language, the nearest first.
fn near(asked: &str) -> Vec<&'static City> {
    let asked = key(asked);
    let length = asked.chars().count();
    if length == 0 {
        return Vec::new();
    }
    let limit = (length / 3).clamp(1, 4);
    let mut found: Vec<(usize, &'static City)> = Vec::new();
    for name in &INDEX.names {
        let begins = length >= 2 && name.key.starts_with(&asked);
        let continues = name.key.chars().count() >= 4 && asked.starts_with(&name.key);
        let edits = if begins || continues {
            Some(1)
        } else {
            distance(&asked, &name.key, limit)
        };
        let Some(edits) = edits else { continue };
        match found.iter_mut().find(|(_, city)| std::ptr::eq(*city, name.city)) {
            Some((best, _)) => *best = edits.min(*best),
            None => found.push((edits, name.city)),
        }
    }
    found.sort_by_key(|(edits, _)| *edits);
    found.into_iter().take(MAX_SUGGESTIONS).map(|(_, city)| city).collect()
}

/// The names that begin with `prefix`, English ones for a Latin prefix and Korean ones for Hangul, both for an empty
/// one; at most [`MAX_COMPLETIONS`].
///
/// A syllable still being typed counts by its letters: "붓" completes to "부산". An alias completes to the proper name.
///
/// ```
/// use trunkline_weather::complete;
/// assert_eq!(complete("bus"), ["Busan"]);
/// assert_eq!(complete("상해"), ["상하이"]);
/// ```
pub fn complete(prefix: &str) -> Vec<&'static str> {
    let wanted = key(&prefix.chars().take(MAX_NAME_CHARS).collect::<String>());
    if wanted.is_empty() && !prefix.trim().is_empty() {
        return Vec::new();
    }
    let mut values = Vec::new();
    for name in &INDEX.names {
        let proper = match name.language {
            Language::English => name.city.english,
            Language::Korean => name.city.korean,
        };
        if name.key.starts_with(&wanted) && !values.contains(&proper) {
            values.push(proper);
        }
        if values.len() == MAX_COMPLETIONS {
            break;
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    fn english(asked: &str) -> &'static str {
        find(asked).unwrap_or_else(|error| panic!("{asked}: {error}")).english
    }

    fn suggestions(asked: &str) -> Vec<&'static str> {
        match find(asked) {
            Err(LookupError::Unknown { near, .. }) => near.iter().map(|city| city.english).collect(),
            other => panic!("{asked}: {other:?}"),
        }
    }

    #[test]
    fn no_name_means_two_cities() {
        let mut seen: HashMap<&str, &City> = HashMap::new();
        for name in &INDEX.names {
            assert!(!name.key.is_empty());
            let first = seen.entry(&name.key).or_insert(name.city);
            assert_eq!(first.english, name.city.english, "{}", name.key);
        }
    }

    #[test]
    fn every_city_is_found_by_every_name_it_has() {
        for city in CITIES {
            for name in [city.english, city.korean].iter().chain(city.aliases) {
                assert_eq!(english(name), city.english, "{name}");
                assert_eq!(english(&name.to_uppercase()), city.english, "{name}");
                assert_eq!(english(&format!("  {name} ")), city.english, "{name}");
            }
        }
    }

    #[test]
    fn spelling_habits_do_not_matter() {
        for (asked, city) in [
            ("sao-paulo", "São Paulo"),
            ("SAO PAULO", "São Paulo"),
            ("newyork", "New York"),
            ("Zürich", "Zurich"),
            ("nyc", "New York"),
            ("l.a.", "Los Angeles"),
            ("동경", "Tokyo"),
            ("東京", "Tokyo"),
            ("상해", "Shanghai"),
            ("상하이", "Shanghai"),
            ("호치민", "Ho Chi Minh City"),
            ("\u{1109}\u{1165}\u{110B}\u{116E}\u{11AF}", "Seoul"),
        ] {
            assert_eq!(english(asked), city, "{asked}");
        }
    }

    #[test]
    fn korean_endings_are_understood() {
        for (asked, city) in [
            ("서울시", "Seoul"),
            ("서울특별시", "Seoul"),
            ("서울 특별시", "Seoul"),
            ("부산광역시", "Busan"),
            ("세종특별자치시", "Sejong"),
            ("제주도", "Jeju"),
            ("제주특별자치도", "Jeju"),
            ("강릉시", "Gangneung"),
            ("도쿄도", "Tokyo"),
            ("Seoul-si", "Seoul"),
            ("Jeju-do", "Jeju"),
            ("Busan Metropolitan City", "Busan"),
            ("Seoul City", "Seoul"),
        ] {
            assert_eq!(english(asked), city, "{asked}");
        }
        assert!(find("Paris-si").is_err(), "a romanised Korean ending on a French city");
        assert!(find("시").is_err(), "an ending alone");
    }

    #[test]
    fn a_place_beside_the_name_must_be_right() {
        for (asked, city) in [
            ("Seoul, South Korea", "Seoul"),
            ("Seoul, KR", "Seoul"),
            ("Seoul (Korea)", "Seoul"),
            ("Seoul, ", "Seoul"),
            ("서울, 대한민국", "Seoul"),
            ("대한민국 서울", "Seoul"),
            ("경기도 수원시", "Suwon"),
            ("대한민국 경기도 수원시", "Suwon"),
            ("Los Angeles, California, USA", "Los Angeles"),
            ("Washington, D.C.", "Washington"),
            ("Toronto, CA", "Toronto"),
        ] {
            assert_eq!(english(asked), city, "{asked}");
        }
        for asked in [
            "Paris, Texas",
            "London, Ontario",
            "경기도 광주시",
            "Seoul, Japan",
            "일본 서울",
        ] {
            assert!(find(asked).is_err(), "{asked}");
        }
    }

    #[test]
    fn an_unknown_city_suggests_the_near_ones_first() {
        assert_eq!(suggestions("서욿")[0], "Seoul");
        assert_eq!(suggestions("Soeul")[0], "Seoul");
        assert_eq!(suggestions("부싼")[0], "Busan");
        assert_eq!(suggestions("Bussan")[0], "Busan");
        assert_eq!(suggestions("인첨")[0], "Incheon");
        assert_eq!(suggestions("Sydny"), ["Sydney"]);
        assert_eq!(suggestions("서울 강남구"), ["Seoul"]);
        assert!(suggestions("Paris, Texas").contains(&"Paris"));
        assert!(suggestions("Atlantis").is_empty());
        assert!(suggestions("☃").is_empty());
    }

    #[test]
    fn never_more_than_three_suggestions() {
        // Many cities begin with these letters.
        assert_eq!(suggestions("Ch").len(), MAX_SUGGESTIONS);
        assert!(suggestions("s").len() <= MAX_SUGGESTIONS);
    }

    #[test]
    fn the_error_names_the_city_in_the_language_asked_and_says_where_all_are() {
        let korean = find("서욿").unwrap_err().to_string();
        assert!(
            korean.contains("서울 (Seoul)") && korean.contains(CITIES_URI),
            "{korean}"
        );
        let english = find("Soeul").unwrap_err().to_string();
        assert!(english.contains("Seoul (서울)"), "{english}");
        let none = find("Atlantis").unwrap_err().to_string();
        assert!(!none.contains("Did you mean") && none.contains(CITIES_URI), "{none}");
        let hostile = find("x\u{1b}[2J\u{202e}y\n").unwrap_err().to_string();
        assert!(
            !hostile.chars().any(|c| c.is_control() || c == '\u{202e}'),
            "{hostile:?}"
        );
    }

    #[test]
    fn empty_and_too_long_names_are_told_apart_and_the_limit_itself_is_read() {
        assert_eq!(find(" \n").unwrap_err(), LookupError::Empty);
        assert!(matches!(
            find(&"가".repeat(MAX_NAME_CHARS)),
            Err(LookupError::Unknown { .. })
        ));
        let long = find(&"가".repeat(MAX_NAME_CHARS + 1)).unwrap_err();
        assert_eq!(
            long,
            LookupError::TooLong {
                chars: MAX_NAME_CHARS + 1
            }
        );
        assert!(long.to_string().contains("101") && long.to_string().contains("100"));
    }

    #[test]
    fn completion_follows_the_language_and_the_syllable_being_typed() {
        assert_eq!(complete("Seo"), ["Seoul"]);
        assert_eq!(complete("서"), ["서울"]);
        for typed in ["ㅂ", "부", "붓", "부사", "부산"] {
            assert!(complete(typed).contains(&"부산"), "{typed}");
        }
        assert!(complete("고").contains(&"광주"), "a vowel still to be joined");
        assert_eq!(complete("nyc"), ["New York"]);
        assert_eq!(complete("동겨"), ["도쿄"]);
        assert!(complete("zzz").is_empty());
        assert!(complete("?!").is_empty(), "punctuation alone is not an empty prefix");
        assert!(complete(&"s".repeat(10_000)).is_empty());
    }

    #[test]
    fn an_empty_prefix_lists_both_languages_up_to_the_limit() {
        let all = complete("");
        assert_eq!(all.len(), MAX_COMPLETIONS);
        assert!(all.contains(&"Seoul") && all.contains(&"서울"));
        assert_eq!(complete("  "), all);
    }
}
