//! The table of cities: where they are, what they are called, and one fixed observation each.
//!
//! The observations are invented for demonstration. They do not depend on a clock, so every run says the same.

use serde::Serialize;

use crate::Conditions::{
    self, Clear, Drizzle, Fog, MostlyClear, Overcast, PartlyCloudy, Rain, RainShowers, Snow, Thunderstorm,
};

/// Where the list of known cities can be read.
pub const CITIES_URI: &str = "weather://cities";

/// A country, as the table names it.
#[derive(Debug, PartialEq, Eq)]
pub struct Country {
    /// ISO 3166-1 alpha-2 code.
    pub code: &'static str,
    /// English name.
    pub english: &'static str,
    /// Korean name.
    pub korean: &'static str,
    /// Other names people write after a city.
    pub aliases: &'static [&'static str],
}

/// A city with its fixed observation.
#[derive(Debug, PartialEq)]
pub struct City {
    /// English name.
    pub english: &'static str,
    /// Korean name.
    pub korean: &'static str,
    /// Other names and spellings that mean this city.
    pub aliases: &'static [&'static str],
    /// The country.
    pub country: &'static Country,
    /// Provinces and states people write beside the name.
    pub regions: &'static [&'static str],
    /// Degrees north.
    pub latitude: f64,
    /// Degrees east.
    pub longitude: f64,
    /// Degrees Celsius.
    pub temperature_c: f64,
    /// What the sky does.
    pub conditions: Conditions,
    /// Relative humidity, 0 to 100.
    pub humidity_percent: u8,
    /// Wind in kilometres per hour.
    pub wind_kmh: f64,
}

impl City {
    const fn also(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    const fn within(mut self, regions: &'static [&'static str]) -> Self {
        self.regions = regions;
        self
    }

    const fn reads(mut self, temperature_c: f64, conditions: Conditions, humidity_percent: u8, wind_kmh: f64) -> Self {
        self.temperature_c = temperature_c;
        self.conditions = conditions;
        self.humidity_percent = humidity_percent;
        self.wind_kmh = wind_kmh;
        self
    }
}

const fn at(
    english: &'static str,
    korean: &'static str,
    country: &'static Country,
    latitude: f64,
    longitude: f64,
) -> City {
    City {
        english,
        korean,
        aliases: &[],
        country,
        regions: &[],
        latitude,
        longitude,
        temperature_c: 0.0,
        conditions: Conditions::Unknown,
        humidity_percent: 0,
        wind_kmh: 0.0,
    }
}

/// One line of the list of known cities.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KnownCity {
    /// English name.
    pub city: &'static str,
    /// Korean name.
    pub city_ko: &'static str,
    /// English name of the country.
    pub country: &'static str,
    /// ISO 3166-1 alpha-2 code of the country.
    pub country_code: &'static str,
    /// Degrees north.
    pub latitude: f64,
    /// Degrees east.
    pub longitude: f64,
}

/// The list of known cities, in the order of the table.
///
/// ```
/// let cities = trunkline_weather::cities::known();
/// assert!(cities.iter().any(|known| known.city_ko == "부산" && known.country_code == "KR"));
/// ```
pub fn known() -> Vec<KnownCity> {
    CITIES
        .iter()
        .map(|city| KnownCity {
            city: city.english,
            city_ko: city.korean,
            country: city.country.english,
            country_code: city.country.code,
            latitude: city.latitude,
            longitude: city.longitude,
        })
        .collect()
}

const fn country(
    code: &'static str,
    english: &'static str,
    korean: &'static str,
    aliases: &'static [&'static str],
) -> Country {
    Country {
        code,
        english,
        korean,
        aliases,
    }
}

static KR: Country = country(
    "KR",
    "South Korea",
    "대한민국",
    &["Korea", "Republic of Korea", "한국", "남한"],
);
static JP: Country = country("JP", "Japan", "일본", &[]);
static CN: Country = country("CN", "China", "중국", &["PRC"]);
static HK: Country = country("HK", "Hong Kong", "홍콩", &["China", "중국"]);
static TW: Country = country("TW", "Taiwan", "대만", &["타이완"]);
static SG: Country = country("SG", "Singapore", "싱가포르", &[]);
static TH: Country = country("TH", "Thailand", "태국", &["타이"]);
static VN: Country = country("VN", "Vietnam", "베트남", &["Viet Nam"]);
static PH: Country = country("PH", "Philippines", "필리핀", &[]);
static ID: Country = country("ID", "Indonesia", "인도네시아", &[]);
static IN: Country = country("IN", "India", "인도", &[]);
static AE: Country = country("AE", "United Arab Emirates", "아랍에미리트", &["UAE"]);
static TR: Country = country("TR", "Türkiye", "튀르키예", &["Turkey", "터키"]);
static RU: Country = country("RU", "Russia", "러시아", &["Russian Federation"]);
static GB: Country = country(
    "GB",
    "United Kingdom",
    "영국",
    &["UK", "England", "Britain", "Great Britain"],
);
static FR: Country = country("FR", "France", "프랑스", &[]);
static DE: Country = country("DE", "Germany", "독일", &["Deutschland"]);
static ES: Country = country("ES", "Spain", "스페인", &["España"]);
static IT: Country = country("IT", "Italy", "이탈리아", &["Italia"]);
static NL: Country = country("NL", "Netherlands", "네덜란드", &["Holland"]);
static AT: Country = country("AT", "Austria", "오스트리아", &["Österreich"]);
static CH: Country = country("CH", "Switzerland", "스위스", &["Schweiz"]);
static SE: Country = country("SE", "Sweden", "스웨덴", &[]);
static EG: Country = country("EG", "Egypt", "이집트", &[]);
static KE: Country = country("KE", "Kenya", "케냐", &[]);
static ZA: Country = country("ZA", "South Africa", "남아프리카 공화국", &["남아공"]);
static US: Country = country(
    "US",
    "United States",
    "미국",
    &["USA", "America", "United States of America"],
);
static CA: Country = country("CA", "Canada", "캐나다", &[]);
static MX: Country = country("MX", "Mexico", "멕시코", &[]);
static BR: Country = country("BR", "Brazil", "브라질", &["Brasil"]);
static AR: Country = country("AR", "Argentina", "아르헨티나", &[]);
static AU: Country = country("AU", "Australia", "호주", &["오스트레일리아"]);
static NZ: Country = country("NZ", "New Zealand", "뉴질랜드", &[]);

/// Every city, Korean ones first.
// One city a line reads as the table it is.
#[rustfmt::skip]
pub static CITIES: &[City] = &[
    at("Seoul", "서울", &KR, 37.5665, 126.9780).reads(18.4, Clear, 52, 7.9).also(&["首爾", "首尔", "ソウル", "Séoul", "SEL"]),
    at("Busan", "부산", &KR, 35.1796, 129.0756).reads(20.1, PartlyCloudy, 61, 14.4).also(&["Pusan", "釜山"]),
    at("Incheon", "인천", &KR, 37.4563, 126.7052).reads(17.6, MostlyClear, 58, 12.2).also(&["Inchon", "仁川"]),
    at("Daegu", "대구", &KR, 35.8714, 128.6014).reads(21.3, Clear, 44, 5.8).also(&["Taegu"]),
    at("Daejeon", "대전", &KR, 36.3504, 127.3845).reads(19.2, Clear, 49, 6.1).also(&["Taejon"]),
    at("Gwangju", "광주", &KR, 35.1595, 126.8526).reads(19.9, PartlyCloudy, 55, 8.3).within(&["전라남도", "전남"]).also(&["Kwangju"]),
    at("Ulsan", "울산", &KR, 35.5384, 129.3114).reads(20.4, Overcast, 63, 10.8),
    at("Sejong", "세종", &KR, 36.4800, 127.2890).reads(18.9, Clear, 50, 5.4),
    at("Suwon", "수원", &KR, 37.2636, 127.0286).reads(18.0, MostlyClear, 53, 7.2).within(&["경기도", "경기", "Gyeonggi", "Gyeonggi-do"]),
    at("Jeju", "제주", &KR, 33.4996, 126.5312).reads(22.2, RainShowers, 74, 21.6).within(&["제주도"]).also(&["Cheju", "Jeju City", "濟州"]),
    at("Gangneung", "강릉", &KR, 37.7519, 128.8761).reads(17.1, Drizzle, 71, 11.5).within(&["강원도", "강원", "Gangwon", "Gangwon-do"]),
    at("Chuncheon", "춘천", &KR, 37.8813, 127.7298).reads(16.2, Fog, 82, 2.9).within(&["강원도", "강원", "Gangwon", "Gangwon-do"]),
    at("Jeonju", "전주", &KR, 35.8242, 127.1480).reads(19.5, Clear, 51, 6.5).within(&["전라북도", "전북", "Jeollabuk-do"]).also(&["Chonju"]),
    at("Cheongju", "청주", &KR, 36.6424, 127.4890).reads(18.7, MostlyClear, 48, 5.0).within(&["충청북도", "충북", "Chungcheongbuk-do"]),
    at("Changwon", "창원", &KR, 35.2281, 128.6811).reads(20.8, PartlyCloudy, 60, 9.7).within(&["경상남도", "경남", "Gyeongsangnam-do"]),
    at("Pohang", "포항", &KR, 36.0190, 129.3435).reads(19.8, Overcast, 66, 13.3).within(&["경상북도", "경북", "Gyeongsangbuk-do"]),
    at("Yeosu", "여수", &KR, 34.7604, 127.6622).reads(20.6, Rain, 78, 18.0).within(&["전라남도", "전남", "Jeollanam-do"]),

    at("Tokyo", "도쿄", &JP, 35.6895, 139.6917).reads(19.7, Overcast, 64, 10.1).also(&["동경", "東京", "Tōkyō", "TYO"]),
    at("Osaka", "오사카", &JP, 34.6937, 135.5023).reads(20.9, PartlyCloudy, 59, 8.6).also(&["大阪", "Ōsaka"]),
    at("Fukuoka", "후쿠오카", &JP, 33.5904, 130.4017).reads(21.5, Rain, 77, 12.6).also(&["福岡"]),
    at("Sapporo", "삿포로", &JP, 43.0618, 141.3545).reads(8.3, Overcast, 68, 15.5).also(&["札幌", "사포로"]).within(&["Hokkaido", "홋카이도"]),
    at("Beijing", "베이징", &CN, 39.9042, 116.4074).reads(14.8, MostlyClear, 38, 9.4).also(&["북경", "北京", "Peking"]),
    at("Shanghai", "상하이", &CN, 31.2304, 121.4737).reads(21.1, Drizzle, 75, 13.0).also(&["상해", "上海"]),
    at("Hong Kong", "홍콩", &HK, 22.3193, 114.1694).reads(26.4, PartlyCloudy, 72, 16.2).also(&["香港", "HK", "HKG"]),
    at("Taipei", "타이베이", &TW, 25.0330, 121.5654).reads(25.2, RainShowers, 79, 11.9).also(&["臺北", "台北", "타이페이", "대북"]),
    at("Singapore", "싱가포르", &SG, 1.3521, 103.8198).reads(30.6, Thunderstorm, 81, 9.0).also(&["싱가폴", "新加坡"]),
    at("Bangkok", "방콕", &TH, 13.7563, 100.5018).reads(32.3, PartlyCloudy, 66, 7.6).also(&["Krung Thep"]),
    at("Hanoi", "하노이", &VN, 21.0278, 105.8342).reads(27.0, Overcast, 76, 6.8).also(&["Hà Nội"]),
    at("Ho Chi Minh City", "호찌민", &VN, 10.8231, 106.6297).reads(31.4, Thunderstorm, 80, 10.4).also(&["Saigon", "Ho Chi Minh", "호치민", "사이공", "HCMC"]),
    at("Manila", "마닐라", &PH, 14.5995, 120.9842).reads(30.2, RainShowers, 78, 14.0),
    at("Jakarta", "자카르타", &ID, -6.2088, 106.8456).reads(31.8, PartlyCloudy, 70, 8.8),
    at("Delhi", "델리", &IN, 28.6139, 77.2090).reads(28.9, Fog, 57, 4.3).also(&["New Delhi", "뉴델리"]),
    at("Mumbai", "뭄바이", &IN, 19.0760, 72.8777).reads(30.9, MostlyClear, 69, 12.0).also(&["Bombay", "봄베이"]),
    at("Dubai", "두바이", &AE, 25.2048, 55.2708).reads(34.7, Clear, 46, 15.1),
    at("Istanbul", "이스탄불", &TR, 41.0082, 28.9784).reads(17.3, PartlyCloudy, 65, 18.4).also(&["İstanbul", "Constantinople"]),
    at("Moscow", "모스크바", &RU, 55.7558, 37.6173).reads(2.4, Snow, 86, 13.7).also(&["Москва", "Moskva"]),
    at("London", "런던", &GB, 51.5074, -0.1278).reads(12.6, Rain, 83, 19.3),
    at("Paris", "파리", &FR, 48.8566, 2.3522).reads(14.1, Overcast, 74, 12.8),
    at("Berlin", "베를린", &DE, 52.5200, 13.4050).reads(10.7, Overcast, 71, 16.0),
    at("Madrid", "마드리드", &ES, 40.4168, -3.7038).reads(20.3, Clear, 41, 8.1),
    at("Rome", "로마", &IT, 41.9028, 12.4964).reads(21.0, MostlyClear, 56, 9.2).also(&["Roma"]),
    at("Amsterdam", "암스테르담", &NL, 52.3676, 4.9041).reads(12.0, Drizzle, 85, 22.7),
    at("Vienna", "빈", &AT, 48.2082, 16.3738).reads(11.9, PartlyCloudy, 67, 14.9).also(&["Wien", "비엔나"]),
    at("Zurich", "취리히", &CH, 47.3769, 8.5417).reads(10.2, Fog, 88, 3.6).also(&["Zürich", "Zuerich"]),
    at("Stockholm", "스톡홀름", &SE, 59.3293, 18.0686).reads(6.1, Overcast, 79, 17.6),
    at("Cairo", "카이로", &EG, 30.0444, 31.2357).reads(27.7, Clear, 35, 11.2),
    at("Nairobi", "나이로비", &KE, -1.2921, 36.8219).reads(22.8, PartlyCloudy, 60, 13.5),
    at("Cape Town", "케이프타운", &ZA, -33.9249, 18.4241).reads(18.2, MostlyClear, 62, 27.4),
    at("New York", "뉴욕", &US, 40.7128, -74.0060).reads(13.9, Clear, 54, 15.8).also(&["NYC", "New York City", "뉴욕시"]).within(&["NY", "New York", "뉴욕주"]),
    at("Los Angeles", "로스앤젤레스", &US, 34.0522, -118.2437).reads(23.6, Clear, 47, 9.9).also(&["LA", "L.A.", "엘에이", "로스엔젤레스"]).within(&["CA", "California", "캘리포니아"]),
    at("San Francisco", "샌프란시스코", &US, 37.7749, -122.4194).reads(16.7, Fog, 80, 20.5).also(&["SF"]).within(&["CA", "California", "캘리포니아"]),
    at("Chicago", "시카고", &US, 41.8781, -87.6298).reads(9.4, Overcast, 66, 23.8).within(&["IL", "Illinois", "일리노이"]),
    at("Seattle", "시애틀", &US, 47.6062, -122.3321).reads(11.2, Rain, 87, 11.7).within(&["WA", "Washington", "워싱턴주"]),
    at("Washington", "워싱턴", &US, 38.9072, -77.0369).reads(15.0, MostlyClear, 58, 10.3).also(&["Washington DC", "워싱턴 DC"]).within(&["DC", "District of Columbia"]),
    at("Toronto", "토론토", &CA, 43.6532, -79.3832).reads(8.8, PartlyCloudy, 63, 17.1).within(&["ON", "Ontario", "온타리오"]),
    at("Vancouver", "밴쿠버", &CA, 49.2827, -123.1207).reads(10.5, Rain, 89, 13.2).within(&["BC", "British Columbia"]),
    at("Mexico City", "멕시코시티", &MX, 19.4326, -99.1332).reads(19.1, RainShowers, 64, 7.0).also(&["Ciudad de México", "CDMX"]),
    at("São Paulo", "상파울루", &BR, -23.5505, -46.6333).reads(24.3, Thunderstorm, 76, 10.6).also(&["상파울로"]),
    at("Buenos Aires", "부에노스아이레스", &AR, -34.6037, -58.3816).reads(20.0, Clear, 59, 14.7),
    at("Sydney", "시드니", &AU, -33.8688, 151.2093).reads(22.5, Clear, 57, 16.9).within(&["NSW", "New South Wales"]),
    at("Auckland", "오클랜드", &NZ, -36.8509, 174.7645).reads(17.0, PartlyCloudy, 73, 19.8),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Language;

    #[test]
    fn there_are_some_fifty_cities_and_a_dozen_korean_ones() {
        assert!((50..=65).contains(&CITIES.len()), "{}", CITIES.len());
        let korean: Vec<_> = CITIES
            .iter()
            .filter(|city| city.country.code == "KR")
            .map(|city| city.korean)
            .collect();
        for name in [
            "서울", "부산", "인천", "대구", "대전", "광주", "울산", "수원", "제주", "강릉", "전주", "춘천",
        ] {
            assert!(korean.contains(&name), "{name}");
        }
    }

    #[test]
    fn every_row_is_complete_and_possible() {
        for city in CITIES {
            let name = city.english;
            assert_eq!(Language::of(city.korean), Language::Korean, "{name}");
            assert_eq!(Language::of(city.english), Language::English, "{name}");
            assert_eq!(Language::of(city.country.korean), Language::Korean, "{name}");
            assert!(city.country.code.len() == 2 && city.country.code.chars().all(|c| c.is_ascii_uppercase()));
            assert!(
                (-90.0..=90.0).contains(&city.latitude) && (-180.0..=180.0).contains(&city.longitude),
                "{name}"
            );
            assert!((-60.0..=55.0).contains(&city.temperature_c), "{name}");
            assert!((1..=100).contains(&city.humidity_percent), "{name}");
            assert!((0.5..=120.0).contains(&city.wind_kmh), "{name}");
            assert_ne!(city.conditions, Conditions::Unknown, "{name}");
        }
    }

    #[test]
    fn the_list_tells_every_city_once() {
        let list = known();
        assert_eq!(list.len(), CITIES.len());
        let json = serde_json::to_value(&list[0]).unwrap();
        assert_eq!(json["city"], "Seoul");
        assert_eq!(json["city_ko"], "서울");
        assert_eq!(json["country_code"], "KR");
    }
}
