//! `Live` against a small HTTP server on loopback that says what each test wants.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;

use super::*;

/// What the server does with one connection after it has read the request.
enum Reply {
    /// Status line and body, as JSON.
    Json(u16, String),
    /// These bytes and nothing else.
    Raw(Vec<u8>),
    /// These bytes, then nothing until the client leaves.
    Stall(&'static str),
}

/// Serves one reply per connection, in order; every request line is kept.
struct Service {
    base: String,
    requests: Receiver<String>,
    thread: JoinHandle<()>,
}

fn serve(replies: Vec<Reply>) -> Service {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let (tell, requests) = channel();
    let thread = std::thread::spawn(move || {
        for reply in replies {
            let (mut stream, _) = listener.accept().unwrap();
            tell.send(request_line(&mut stream)).unwrap();
            answer(&mut stream, reply);
        }
    });
    Service { base, requests, thread }
}

fn request_line(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() == 1 {
        head.push(byte[0]);
    }
    String::from_utf8(head).unwrap().lines().next().unwrap().to_owned()
}

fn answer(stream: &mut TcpStream, reply: Reply) {
    // The client may leave before everything is written: that is what some tests want.
    let _ = match reply {
        Reply::Json(status, body) => write!(
            stream,
            "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        ),
        Reply::Raw(bytes) => stream.write_all(&bytes),
        Reply::Stall(bytes) => {
            let _ = stream.write_all(bytes.as_bytes());
            stream.read(&mut [0]).map(|_| ())
        }
    };
}

/// Both hosts are the same server, so that one list of replies tells the order of requests.
fn live(service: &Service, whole: Duration) -> Live {
    Live::new(LiveSettings {
        geocoding: service.base.clone(),
        forecast: service.base.clone(),
        connect: Duration::from_secs(3),
        whole,
    })
}

const PATIENT: Duration = Duration::from_secs(20);

fn ask(city: &str, replies: Vec<Reply>) -> (Result<Weather, LiveError>, Vec<String>) {
    let service = serve(replies);
    let outcome = live(&service, PATIENT).current(city);
    service.thread.join().unwrap();
    (outcome, service.requests.iter().collect())
}

fn forecast(temperature: &str, humidity: &str, wind: &str, code: &str) -> Reply {
    Reply::Json(
        200,
        format!(
            r#"{{"latitude":37.55,"longitude":127.0,"generationtime_ms":0.05,"current_units":{{"temperature_2m":"°C"}},
            "current":{{"time":"2026-11-01T10:00","interval":900,"temperature_2m":{temperature},
            "relative_humidity_2m":{humidity},"wind_speed_10m":{wind},"weather_code":{code}}}}}"#
        ),
    )
}

#[test]
fn a_city_of_the_table_needs_one_request_with_its_coordinates() {
    let (weather, requests) = ask("서울시", vec![forecast("-3.5", "47", "12.2", "71")]);
    assert_eq!(
        weather.unwrap(),
        Weather {
            city: "Seoul".into(),
            city_ko: "서울".into(),
            country: "South Korea".into(),
            temperature_c: -3.5,
            conditions: Conditions::Snow,
            humidity_percent: 47,
            wind_kmh: 12.2,
            source: Source::OpenMeteo,
        }
    );
    assert_eq!(requests.len(), 1);
    let line = &requests[0];
    assert!(line.starts_with("GET /v1/forecast?"), "{line}");
    assert!(line.contains("latitude=37.5665&longitude=126.9780"), "{line}");
    for name in [
        "temperature_2m",
        "relative_humidity_2m",
        "wind_speed_10m",
        "weather_code",
        "wind_speed_unit=kmh",
    ] {
        assert!(line.contains(name), "{name} in {line}");
    }
}

#[test]
fn another_city_is_located_first_in_the_language_asked() {
    let found = r#"{"results":[{"id":1,"name":"거제시","latitude":34.88,"longitude":128.62,"country_code":"KR",
        "country":"대한민국","admin1":"경상남도"}],"generationtime_ms":0.6}"#;
    let (weather, requests) = ask(
        " 거제 & x=1",
        vec![Reply::Json(200, found.into()), forecast("15", "60", "3", "3")],
    );
    let weather = weather.unwrap();
    assert_eq!(
        (weather.city.as_str(), weather.country.as_str()),
        ("거제시", "대한민국")
    );
    assert_eq!(weather.conditions, Conditions::Overcast);
    let line = &requests[0];
    assert!(line.starts_with("GET /v1/search?name=%EA%B1%B0%EC%A0%9C"), "{line}");
    assert!(line.contains("language=ko") && line.contains("count=1"), "{line}");
    assert!(
        !line.contains("&x=1") && !line.contains(" x"),
        "the name stays one value: {line}"
    );
    assert!(
        requests[1].contains("latitude=34.8800&longitude=128.6200"),
        "{}",
        requests[1]
    );
}

#[test]
fn a_city_nobody_knows_suggests_near_names() {
    for body in [r#"{"generationtime_ms":0.4}"#, r#"{"results":[]}"#] {
        let (outcome, requests) = ask("Soeul", vec![Reply::Json(200, body.into())]);
        let error = outcome.unwrap_err();
        assert!(
            matches!(error, LiveError::City(LookupError::Unknown { .. })),
            "{error:?}"
        );
        assert!(error.to_string().contains("Seoul (서울)"), "{error}");
        assert!(requests[0].contains("language=en"));
    }
}

#[test]
fn a_name_that_cannot_be_asked_is_never_sent() {
    let closed = LiveSettings {
        geocoding: "http://127.0.0.1:1".into(),
        forecast: "http://127.0.0.1:1".into(),
        ..LiveSettings::default()
    };
    let live = Live::new(closed);
    assert_eq!(live.current("  ").unwrap_err(), LiveError::City(LookupError::Empty));
    assert!(matches!(
        live.current(&"x".repeat(101)),
        Err(LiveError::City(LookupError::TooLong { chars: 101 }))
    ));
}

#[test]
fn an_unknown_weather_code_spoils_only_itself() {
    let (weather, _) = ask("Busan", vec![forecast("20", "99.6", "0", "4711")]);
    let weather = weather.unwrap();
    assert_eq!(weather.conditions, Conditions::Unknown);
    assert_eq!(weather.humidity_percent, 100);
}

#[test]
fn impossible_values_are_refused_and_the_limits_themselves_are_not() {
    for (temperature, humidity, wind) in [("-100", "0", "0"), ("70", "100", "500")] {
        ask("Busan", vec![forecast(temperature, humidity, wind, "0")])
            .0
            .unwrap();
    }
    for (temperature, humidity, wind, named) in [
        ("-100.5", "50", "1", "temperature"),
        ("71", "50", "1", "temperature"),
        ("1", "101", "1", "humidity"),
        ("1", "-1", "1", "humidity"),
        ("1", "50", "-1", "wind"),
        ("1", "50", "501", "wind"),
    ] {
        let error = ask("Busan", vec![forecast(temperature, humidity, wind, "0")])
            .0
            .unwrap_err();
        assert!(
            matches!(&error, LiveError::Garbled { reason, .. } if reason.contains(named)),
            "{error:?}"
        );
    }
}

#[test]
fn an_error_status_is_told_with_its_reason_cleaned() {
    let body = r#"{"error":true,"reason":"Cannot initialize \u001b[31mWeatherVariable"}"#;
    let error = ask("Busan", vec![Reply::Json(400, body.into())]).0.unwrap_err();
    assert!(matches!(&error, LiveError::Refused { status: 400, .. }), "{error:?}");
    let text = error.to_string();
    assert!(
        text.contains("400: Cannot initialize [31mWeatherVariable") && text.contains("--live"),
        "{text}"
    );

    for status in [404, 500, 503, 302] {
        let error = ask("Busan", vec![Reply::Json(status, "<html>".into())]).0.unwrap_err();
        assert!(
            matches!(&error, LiveError::Refused { status: s, reason, .. } if *s == status && reason.is_empty()),
            "{error:?}"
        );
    }
    let busy = ask("Busan", vec![Reply::Json(429, "{}".into())]).0.unwrap_err();
    assert!(busy.to_string().contains("wait a minute"), "{busy}");
}

#[test]
fn a_long_reason_is_cut() {
    let body = format!(r#"{{"reason":"{}"}}"#, "긴".repeat(5000));
    let error = ask("Busan", vec![Reply::Json(400, body)]).0.unwrap_err();
    assert!(
        matches!(&error, LiveError::Refused { reason, .. } if reason.chars().count() == MAX_REASON_CHARS),
        "{error:?}"
    );
}

#[test]
fn garbage_is_named_as_such() {
    for body in [
        "",
        "not json",
        "[]",
        "{}",
        r#"{"current":null}"#,
        r#"{"current":{"temperature_2m":"warm"}}"#,
    ] {
        let error = ask("Busan", vec![Reply::Json(200, body.into())]).0.unwrap_err();
        assert!(matches!(error, LiveError::Garbled { .. }), "{body}: {error:?}");
    }
    let error = ask("Busan", vec![Reply::Raw(b"\xff\xfe220 smtp ready\r\n\r\n".to_vec())])
        .0
        .unwrap_err();
    assert!(matches!(error, LiveError::Garbled { .. }), "{error:?}");
    let off = r#"{"results":[{"name":"X","latitude":123.0,"longitude":0.0}]}"#;
    let error = ask("Nowhereville", vec![Reply::Json(200, off.into())]).0.unwrap_err();
    assert!(
        matches!(&error, LiveError::Garbled { reason, .. } if reason.contains("Earth")),
        "{error:?}"
    );
}

#[test]
fn a_connection_cut_short_is_an_error_and_not_a_hang() {
    for bytes in [&b""[..], b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{\"current\""] {
        let error = ask("Busan", vec![Reply::Raw(bytes.to_vec())]).0.unwrap_err();
        assert!(
            matches!(error, LiveError::Unreachable { .. } | LiveError::Garbled { .. }),
            "{error:?}"
        );
    }
}

#[test]
fn an_endless_body_is_cut_at_the_limit_and_a_body_of_the_limit_is_read() {
    let limit = usize::try_from(MAX_BODY_BYTES).unwrap();
    let Reply::Json(_, body) = forecast("1", "2", "3", "0") else {
        unreachable!()
    };
    let padded = format!("{body}{}", " ".repeat(limit - body.len()));
    ask("Busan", vec![Reply::Json(200, padded.clone())]).0.unwrap();
    let error = ask("Busan", vec![Reply::Json(200, padded + "  ")]).0.unwrap_err();
    assert!(
        matches!(&error, LiveError::Garbled { reason, .. } if reason.contains("bytes")),
        "{error:?}"
    );
}

#[test]
fn a_silent_or_stalling_service_ends_at_the_limit() {
    for sent in [
        "",
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"current\":",
    ] {
        let service = serve(vec![Reply::Stall(sent)]);
        let whole = Duration::from_millis(300);
        let started = Instant::now();
        let error = live(&service, whole).current("Busan").unwrap_err();
        assert!(
            matches!(&error, LiveError::TimedOut { limit, .. } if *limit == whole),
            "{sent:?}: {error:?}"
        );
        assert!(error.to_string().contains("0.3 s"), "{error}");
        assert!(started.elapsed() < PATIENT, "the limit was kept");
        service.thread.join().unwrap();
    }
}

#[test]
fn the_limit_is_for_both_requests_together() {
    // Nothing listens there: only a request that is not made can end in anything but `Unreachable`.
    let settings = LiveSettings {
        forecast: "http://127.0.0.1:1".into(),
        ..LiveSettings::default()
    };
    let whole = settings.whole;
    let place = || Place {
        city: "Geoje".into(),
        city_ko: "거제".into(),
        country: "South Korea".into(),
        latitude: 34.88,
        longitude: 128.62,
    };
    let live = Live::new(settings);
    let first_request_took_all = Instant::now().checked_sub(whole).unwrap();
    let error = live.observe(place(), first_request_took_all).unwrap_err();
    assert!(
        matches!(&error, LiveError::TimedOut { limit, .. } if *limit == whole),
        "{error:?}"
    );
    let error = live.observe(place(), Instant::now()).unwrap_err();
    assert!(matches!(error, LiveError::Unreachable { .. }), "{error:?}");
}

#[test]
fn a_closed_port_is_unreachable_and_says_what_to_do() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let base = format!("http://{port}");
    let settings = LiveSettings {
        geocoding: base.clone(),
        forecast: base,
        ..LiveSettings::default()
    };
    let error = Live::new(settings).current("Busan").unwrap_err();
    assert!(matches!(error, LiveError::Unreachable { .. }), "{error:?}");
    assert!(
        error.to_string().contains(&port.to_string()) && error.to_string().contains("sample data"),
        "{error}"
    );
}
