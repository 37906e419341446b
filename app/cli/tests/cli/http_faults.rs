//! Addresses at which there is no usable server: one line each that says what is there and what to do, and the other
//! servers go on.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trunkline_testkit::{Answer, HttpPeer};

use crate::run::{Home, TRUNKLINE, start};

const QUESTION: [&str; 2] = ["ask", "서울 날씨 어때?"];

/// The text with one word for every port.
fn without_ports(text: &str) -> String {
    let mut parts = text.split("127.0.0.1:");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str("127.0.0.1:[port]");
        out.push_str(part.trim_start_matches(|c: char| c.is_ascii_digit()));
    }
    out
}

/// What stands at an address: the id, what is answered, and what else its entry says.
fn odd() -> Vec<(&'static str, Answer, Value)> {
    let challenge = "WWW-Authenticate: Bearer resource_metadata=\"https://h.example/.well-known/x\"\r\n";
    let json_type = "Content-Type: application/json\r\n";
    let refused = json!({ "jsonrpc": "2.0", "error": { "code": -32600, "message": "no session" } });
    vec![
        (
            "a web page",
            Answer::page("200 OK", "<!doctype html>\n<title>Welcome\nhome</title>"),
            json!({}),
        ),
        (
            "another page",
            Answer::page("404 Not Found", "<h1>nothing here</h1>"),
            json!({}),
        ),
        ("wants a key", Answer::new("401 Unauthorized", challenge, ""), json!({})),
        (
            "wants another",
            Answer::new("401 Unauthorized", json_type, "{\"error\":\"expired\"}"),
            json!({}),
        ),
        (
            "forbids",
            Answer::new("403 Forbidden", "Content-Type: text/plain\r\n", "not\u{1b}[2J you"),
            json!({}),
        ),
        (
            "not found",
            Answer::new("404 Not Found", "Content-Type: text/plain\r\n", "404 page not found"),
            json!({}),
        ),
        ("not allowed", Answer::status("405 Method Not Allowed"), json!({})),
        ("too busy", Answer::status("429 Too Many Requests"), json!({})),
        (
            "broken",
            Answer::new("500 Internal Server Error", "", "boom"),
            json!({}),
        ),
        (
            "down",
            Answer::page("503 Service Unavailable", "<title>Maintenance</title>"),
            json!({}),
        ),
        (
            "other json",
            Answer::new("200 OK", json_type, "{\"hello\":\n\"world\"}"),
            json!({}),
        ),
        ("no json", Answer::new("200 OK", json_type, "OK"), json!({})),
        ("nothing", Answer::new("200 OK", json_type, ""), json!({})),
        (
            "no http",
            Answer::Bytes("SSH-2.0-OpenSSH_9.6\r\n".to_owned()),
            json!({}),
        ),
        ("hangs up", Answer::hang_up(), json!({})),
        (
            "moved",
            Answer::new("301 Moved Permanently", "Location: /mcp/\r\n", ""),
            json!({}),
        ),
        (
            "log in",
            Answer::new("302 Found", "Location: https://h.example/login?to=x\r\n", ""),
            json!({}),
        ),
        (
            "in circles",
            Answer::new("308 Permanent Redirect", "Location: /mcp\r\n", ""),
            json!({}),
        ),
        (
            "no sse",
            Answer::new("400 Bad Request", json_type, &refused.to_string()),
            json!({ "type": "sse" }),
        ),
        (
            "only streamable",
            Answer::status("405 Method Not Allowed"),
            json!({ "type": "streamable-http" }),
        ),
        (
            "a page as sse",
            Answer::page("200 OK", "<title>Welcome</title>"),
            json!({ "type": "sse" }),
        ),
    ]
}

#[test]
fn what_is_no_server_is_told_in_one_line_each_and_the_others_answer() {
    let home = Home::new();
    let mut peers = Vec::new();
    let mut servers = json!({});
    for (id, answer, mut entry) in odd() {
        let peer = HttpPeer::always(answer);
        entry["url"] = json!(peer.url());
        servers[id] = entry;
        peers.push(peer);
    }
    // A port on which somebody listened, and nobody does now.
    servers["refused"] = json!({ "url": HttpPeer::always(Answer::hang_up()).url() });
    servers["tls"] = json!({ "url": peers[0].url().replace("http:", "https:") });
    let ran = home.run_with(servers, &QUESTION);
    assert_eq!(ran.status, Some(4), "{ran:#?}");
    assert!(ran.stdout.starts_with("서울의 현재 날씨"), "{ran:#?}");
    let errors: Vec<&str> = ran.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
    assert_eq!(errors.len(), peers.len() + 2, "{ran:#?}");
    assert!(!ran.stderr.contains('\u{1b}'), "{ran:#?}");
    if cfg!(target_os = "linux") {
        insta::assert_snapshot!("http_faults", without_ports(&errors.join("\n")));
    }
}

#[test]
fn a_name_that_leads_nowhere_is_told_with_the_address() {
    let home = Home::new();
    // Whatever the network is like, this name does not exist.
    let servers = json!({ "web": { "url": "https://no-such-host.invalid/mcp?key=battery-staple" } });
    let ran = home.run_with(servers, &["--timeout", "10", "tools"]);
    let error = ran.one_error(4);
    let begin = "error: server `web`: https://no-such-host.invalid/mcp cannot be reached: ";
    assert!(
        error.starts_with(begin) && error.ends_with("; check its address, and that it runs"),
        "{error}"
    );
    assert!(!error.contains("staple"), "{error}");
}

#[test]
fn a_proxy_that_does_not_let_through_is_told_from_the_server() {
    let gone = HttpPeer::always(Answer::hang_up())
        .url()
        .replace("http://", "http://kim:hunter2@");
    let wants = HttpPeer::always(Answer::status("407 Proxy Authentication Required"));
    for (proxy, url, parts) in [
        (
            gone.clone(),
            "http://far.example/mcp",
            &[
                "http://far.example/mcp cannot be reached: the proxy http://127.0.0.1:",
                "does not let it through",
            ][..],
        ),
        (
            gone,
            "https://far.example/mcp",
            &["the proxy http://127.0.0.1:", "does not let it through"],
        ),
        (
            wants.url(),
            "http://far.example/mcp",
            &[
                "HTTP 407",
                "the proxy wants authorization",
                "into the address of the proxy",
            ],
        ),
        (
            wants.url(),
            "https://far.example/mcp",
            &["the proxy http://127.0.0.1:", "does not let it through"],
        ),
        (
            "socks5://127.0.0.1:9".to_owned(),
            "https://far.example/mcp",
            &["the proxy cannot be used", "not SOCKS"],
        ),
    ] {
        let home = Home::new();
        let config = home.configure(json!({ "web": { "url": url } }));
        let mut command = home.command(TRUNKLINE);
        command
            .env("ALL_PROXY", &proxy)
            .arg("--config")
            .arg(config)
            .arg("tools");
        let ran = start(command).end();
        let error = ran.one_error(4);
        assert!(
            error.starts_with("error: server `web`: ") && parts.iter().all(|part| error.contains(part)),
            "{proxy}: {error}"
        );
        assert!(!error.contains("hunter2") && !error.contains("kim"), "{error}");
        assert!(ran.stdout.contains("weather/get_weather"), "{ran:?}");
    }
}

#[test]
fn a_server_that_stays_silent_is_given_up_in_time() {
    let home = Home::new();
    let silent = HttpPeer::always(Answer::Silence);
    let began = Instant::now();
    let ran = home.run_with(json!({ "web": { "url": silent.url() } }), &["--timeout", "2", "tools"]);
    let error = ran.one_error(4);
    assert!(
        error.contains("did not answer the handshake in time") && error.contains("allow it more time"),
        "{error}"
    );
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
}

#[test]
fn entries_that_contradict_themselves_reach_nobody() {
    let home = Home::new();
    let peer = HttpPeer::always(Answer::hang_up());
    let servers = json!({
        "both": { "command": "touch", "args": ["started"], "url": peer.url() },
        "type": { "type": "carrier-pigeon", "url": peer.url() },
        "host": { "url": peer.url(), "headers": { "Host": "x" } },
        "key": { "url": peer.url(), "headers": { "X-Key": "${NO_SUCH_VARIABLE}" } },
    });
    let ran = home.run_with(servers, &QUESTION);
    assert_eq!(ran.status, Some(4), "{ran:?}");
    assert!(ran.stdout.starts_with("서울의"), "{ran:?}");
    for part in [
        "server `both`: mcpServers.both has both \"command\" and \"url\"",
        "server `type`: mcpServers.type.type is \"carrier-pigeon\"",
        "server `host`: mcpServers.host: the header `Host` is set by the transport itself; leave it out",
        "server `key`: mcpServers.key.headers.X-Key needs the environment variable NO_SUCH_VARIABLE",
    ] {
        assert!(ran.stderr.contains(part), "{part}: {ran:#?}");
    }
    assert!(!home.path().join("started").exists() && peer.asked().is_empty());
}
