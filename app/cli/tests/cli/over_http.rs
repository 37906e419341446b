//! Every command on servers over HTTP.

use serde_json::{Value, json};
use trunkline_testkit::{Answer, Asked, HttpPeer};

use crate::run::{Home, Ran, TRUNKLINE, start};

const LOOK: &str = "look";

fn tools() -> Value {
    json!([{ "name": LOOK, "inputSchema": { "type": "object" }, "annotations": { "readOnlyHint": true } }])
}

/// An ordinary server with one tool.
fn ordinary() -> HttpPeer {
    HttpPeer::new(|asked| asked.ordinary(&tools()))
}

/// The same, whose calls are answered in another way.
fn calls_get(answer: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> HttpPeer {
    HttpPeer::new(move |asked| match asked.method() {
        "tools/call" => answer(asked),
        _ => asked.ordinary(&tools()),
    })
}

fn trusted(mut server: Value) -> Value {
    server["trunkline"] = json!({ "trusted": true });
    server
}

#[test]
fn every_command_works_on_servers_over_http() {
    let home = Home::new();
    let orders = home.serve(&["orders", "--role", "clerk"]);
    let servers = || json!({ "shop": trusted(json!({ "type": "http", "url": orders.url() })) });
    for revision in [None, Some("2025-11-25")] {
        let run = |args: &[&str]| {
            let mut all: Vec<&str> = revision.into_iter().flat_map(|name| ["--revision", name]).collect();
            all.extend(args);
            home.run_with(servers(), &all)
        };
        assert!(run(&["tools"]).done().contains("shop/cancel_order  [asks first]\n"));
        assert!(
            run(&["resources"])
                .done()
                .contains("orders://order/{id}  template, shop")
        );
        assert!(run(&["prompts"]).done().contains("daily_report  shop"));
        assert!(run(&["read", "orders://order/1"]).done().contains("김민지"));
        assert!(
            run(&["prompt", "daily_report", "--server", "shop"])
                .done()
                .starts_with("user: ")
        );
        let paid = "9 paid orders, test orders not counted.\n";
        assert_eq!(run(&["call", "shop/count_orders", r#"{"status":"paid"}"#]).done(), paid);
        assert_eq!(run(&["ask", "How many paid orders are there?"]).done(), paid);
    }
    drop(orders);
    home.check_nothing_left();
}

#[test]
fn every_revision_is_spoken_and_the_newest_is_found() {
    let home = Home::new();
    let weather = home.serve(&["weather"]);
    let listed = |url: String, kind: Option<&str>, args: &[&str]| {
        let mut server = json!({ "url": url });
        if let Some(kind) = kind {
            server["type"] = json!(kind);
        }
        let ran = home.run_with(json!({ "web": server }), &[args, &["tools", "--json"]].concat());
        ran.done();
        let json = ran.json();
        assert!(json["tools"].to_string().contains("web__get_weather"), "{json:#}");
        json["servers"][0]["revision"].as_str().unwrap().to_owned()
    };
    for kind in [None, Some("http"), Some("streamable-http"), Some("streamableHttp")] {
        assert_eq!(listed(weather.url(), kind, &[]), "2026-07-28");
    }
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"] {
        assert_eq!(listed(weather.url(), None, &["--revision", revision]), revision);
    }
    let sse = format!("http://{}/sse", weather.address);
    assert_eq!(
        listed(sse, Some("sse"), &[]),
        "2025-11-25",
        "the newest with a handshake"
    );
    drop(weather);
    home.check_nothing_left();
}

/// Runs with a header that holds a secret from the environment, and with whatever else is to be set.
fn with_secret(home: &Home, server: Value, args: &[&str], set: &[(&str, &str)]) -> Ran {
    let config = home.configure(json!({ "web": trusted(server) }));
    let mut command = home.command(TRUNKLINE);
    command
        .env("WEB_TOKEN", "correct-horse-battery")
        .envs(set.iter().copied());
    command.arg("--config").arg(config).args(args);
    start(command).end()
}

#[test]
fn headers_arrive_and_are_shown_nowhere() {
    let home = Home::new();
    let tells = |asked: &Asked| {
        let said = asked
            .header("authorization")
            .unwrap_or("nothing")
            .replace("Bearer ", "");
        let text = format!("you sent {said}");
        asked.result(json!({ "content": [{ "type": "text", "text": text }], "isError": true }))
    };
    let peer = calls_get(tells);
    let server = json!({ "url": format!("{}?key=battery-staple-42", peer.url()),
        "headers": { "Authorization": "Bearer ${WEB_TOKEN}", "X-Team": "red" } });
    let journal = home.path().join("run.jsonl");
    let ran = with_secret(
        &home,
        server,
        &["--journal", journal.to_str().unwrap(), "-v", "call", "web/look"],
        &[],
    );
    assert!(ran.one_error(1).contains("you sent [masked 17-32]"), "{ran:?}");
    for asked in peer.asked() {
        assert_eq!(
            asked.header("authorization"),
            Some("Bearer correct-horse-battery"),
            "{}",
            asked.head
        );
        assert_eq!(asked.header("x-team"), Some("red"));
        assert!(asked.head.contains("/mcp?key=battery-staple-42 "), "{}", asked.head);
    }
    let written = std::fs::read(&journal).unwrap();
    assert!(trunkline_journal::verify(&written[..]).unwrap().is_whole());
    let written = String::from_utf8(written).unwrap();
    assert!(
        written.contains("\"method\":\"tools/call\"") && written.contains("you sent [masked"),
        "{written}"
    );
    for text in [&written, &ran.stderr, &ran.stdout] {
        assert!(
            !text.contains("correct-horse") && !text.contains("battery-staple"),
            "{text}"
        );
    }
}

#[test]
fn a_key_that_a_server_repeats_in_its_refusal_is_not_shown() {
    let home = Home::new();
    let peer = HttpPeer::new(|asked| {
        let said = asked.header("x-key").unwrap_or_default();
        let path = asked.head.split(' ').nth(1).unwrap_or_default();
        Answer::new(
            "401 Unauthorized",
            "Content-Type: text/plain\r\n",
            &format!("bad {said} at {path}"),
        )
    });
    let server = json!({ "url": format!("{}/0a1b2c3d4e5f6a7b8c9d?k=staple-42", peer.url()),
        "headers": { "X-Key": "${WEB_TOKEN}" } });
    for args in [&["tools"][..], &["tools", "--json"]] {
        let ran = with_secret(&home, server.clone(), args, &[]);
        assert!(
            ran.one_error(4)
                .contains("bad [masked 17-32] at /mcp/[masked 17-32]?k=[masked"),
            "{ran:?}"
        );
        let all = format!("{}{}", ran.stdout, ran.stderr);
        for secret in ["correct-horse", "0a1b2c3d", "staple-42"] {
            assert!(!all.contains(secret), "{secret}: {all}");
        }
    }
}

#[test]
fn secrets_in_the_clear_are_warned_about_where_the_server_is_used() {
    let home = Home::new();
    // What stands for the network is a proxy on this machine.
    let peer = ordinary();
    let proxy = peer.url().replace("/mcp", "");
    let set = [("HTTP_PROXY", proxy.as_str())];
    let server = json!({ "url": "http://far.example/mcp", "headers": { "X-Key": "${WEB_TOKEN}" } });
    let ran = with_secret(&home, server.clone(), &["call", "web/look"], &set);
    assert_eq!(ran.done(), "done\n");
    let warned = |ran: &Ran| ran.stderr.lines().filter(|line| line.contains("unencrypted")).count();
    assert!(
        warned(&ran) == 1
            && ran.stderr.contains("warning: server `web`")
            && ran.stderr.contains("http://far.example/mcp"),
        "{ran:?}"
    );
    assert!(
        peer.asked()[0].head.starts_with("POST http://far.example/mcp "),
        "{:?}",
        peer.asked()[0]
    );
    let other = with_secret(
        &home,
        server,
        &["call", "weather/get_weather", r#"{"city":"Seoul"}"#],
        &set,
    );
    other.done();
    assert_eq!(warned(&other), 0, "{other:?}");
    for server in [
        json!({ "url": "http://far.example/mcp" }),
        json!({ "url": ordinary().url(), "headers": { "X-Key": "${WEB_TOKEN}" } }),
    ] {
        let ran = with_secret(&home, server, &["tools"], &set);
        assert_eq!(warned(&ran), 0, "{ran:?}");
    }
}

#[test]
fn a_call_that_broke_off_may_have_run_and_one_that_was_refused_did_not() {
    for (answer, status, parts) in [
        (
            Answer::hang_up(),
            5,
            &[
                "the request may have run",
                "did not answer",
                "look whether it was carried out",
            ][..],
        ),
        (
            Answer::page("502 Bad Gateway", "<title>502 Bad Gateway</title>"),
            5,
            &[
                "the request may have run",
                "HTTP 502",
                "look whether it was carried out",
            ],
        ),
        (
            Answer::status("401 Unauthorized"),
            1,
            &["did not get through and was not run", "wants authorization"],
        ),
        (
            Answer::new("307 Temporary Redirect", "Location: ftp://h/\r\n", ""),
            1,
            &["did not get through and was not run", "ftp://h/"],
        ),
    ] {
        let home = Home::new();
        let peer = calls_get(move |_| answer.clone());
        let ran = home.run_with(
            json!({ "web": trusted(json!({ "url": peer.url() })) }),
            &["call", "web/look"],
        );
        let error = ran.one_error(status);
        assert!(
            error.starts_with("error: web/look: server `web`: ") && parts.iter().all(|part| error.contains(part)),
            "{error}"
        );
        assert_eq!(peer.count("tools/call"), 1);
    }
}

#[test]
fn a_server_that_cannot_be_reached_any_more_is_a_servers_failure() {
    let home = Home::new();
    // The call is sent on to an address at which nobody is any more.
    let nobody = HttpPeer::always(Answer::hang_up()).url();
    let peer = calls_get(move |_| Answer::new("307 Temporary Redirect", &format!("Location: {nobody}\r\n"), ""));
    let ran = home.run_with(
        json!({ "web": trusted(json!({ "url": peer.url() })) }),
        &["call", "web/look"],
    );
    let error = ran.one_error(4);
    assert!(
        error.contains("was not run") && error.contains("cannot be reached"),
        "{error}"
    );
}
