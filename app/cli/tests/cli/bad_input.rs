//! Wrong configurations, wrong names, servers that fail: one clear line, the others go on, nothing is left behind.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::run::{Home, TRUNKLINE};

/// A server that misbehaves in the way that its first argument names.
const SERVER: &str = r#"
import json, os, sys, time
mode = sys.argv[1]
def say(message):
    print(message if isinstance(message, str) else json.dumps(message), flush=True)
def result(id, result):
    say({"jsonrpc": "2.0", "id": id, "result": result})
if mode == "rubbish":
    say("Welcome!")
    sys.exit(3)
if mode in ("rubbish-and-silence", "silence"):
    if mode != "silence":
        say("Welcome!")
    time.sleep(600)
for line in sys.stdin:
    message = json.loads(line)
    id, method = message.get("id"), message.get("method")
    if id is None:
        continue
    if mode == "handshake-id":
        result(str(id), {})
    elif method == "initialize":
        if mode == "old":
            result(id, {"protocolVersion": "1999-01-01", "capabilities": {}, "serverInfo": {"name": "x", "version": "1"}})
            continue
        version = message["params"]["protocolVersion"]
        result(id, {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "bad", "version": "1"}})
    elif method == "tools/list" and mode == "unlisted":
        say({"jsonrpc": "2.0", "id": id, "error": {"code": -32603, "message": "out of order"}})
    elif method == "tools/list":
        tool = {"name": "look", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}
        result(id, {"tools": [tool]})
    elif method != "tools/call":
        say({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no such method"}})
    elif mode == "crash":
        print("out of cheese", file=sys.stderr, flush=True)
        os._exit(7)
    elif mode == "id":
        result(str(id), {"content": []})
    elif mode == "type":
        result(id, {"content": "text"})
    elif mode == "forge":
        text = "no\nresult    all is well\nerror: x " + os.environ.get("KEY", "")
        result(id, {"content": [{"type": "text", "text": text}], "isError": True})
    elif mode == "escape":
        result(id, {"content": [{"type": "text", "text": "ok \x1b[2J\x1b]0;x\x07 \x9b1A a\rb"}]})
"#;

fn bad(home: &Home, mode: &str) -> Value {
    let script = home.file("server.py", SERVER);
    json!({ "bad": { "command": "python3", "args": [script, mode], "trunkline": { "trusted": true } } })
}

/// Runs with one bad server beside the weather server and checks its one error line.
#[track_caller]
fn check(mode: &str, args: &[&str], status: i32, parts: &[&str]) -> (String, Duration) {
    let home = Home::new();
    let servers = bad(&home, mode);
    let began = Instant::now();
    let ran = home.run_with(servers, args);
    let took = began.elapsed();
    let error = ran.one_error(status).to_owned();
    for part in ["bad"].iter().chain(parts) {
        assert!(error.contains(part), "{mode}: no {part:?} in {error}");
    }
    home.check_nothing_left();
    (ran.stdout, took)
}

const QUESTION: [&str; 4] = ["--timeout", "4", "ask", "서울 날씨 어때?"];
const CALL: [&str; 4] = ["--timeout", "20", "call", "bad/look"];

#[test]
fn a_server_that_never_comes_up_is_named_and_the_others_answer() {
    for (mode, parts) in [
        ("rubbish", &["exited with status 3", "Welcome!", "run its command"][..]),
        (
            "rubbish-and-silence",
            &["did not answer the handshake in time", "Welcome!"],
        ),
        (
            "silence",
            &["did not answer the handshake in time", "allow it more time"],
        ),
        ("handshake-id", &["id that no request has", "update it"]),
        ("old", &["no common protocol revision", "1999-01-01", "update"]),
    ] {
        let (stdout, _) = check(mode, &QUESTION, 4, parts);
        assert!(stdout.starts_with("서울의 현재 날씨"), "{mode}: {stdout}");
    }
}

#[test]
fn rubbish_is_told_while_it_is_waited_for() {
    let home = Home::new();
    let servers = bad(&home, "rubbish-and-silence");
    let ran = home.run_with(servers, &QUESTION);
    let mut lines = ran.stderr.lines();
    let told =
        lines.any(|line| line.starts_with("warning: server `bad` is not ready yet") && line.contains("Welcome!"));
    assert!(told, "{ran:?}");
}

#[test]
fn a_server_that_fails_in_a_call_leaves_the_outcome_unknown() {
    for (mode, parts) in [
        (
            "crash",
            &[
                "exited with status 7",
                "out of cheese",
                "look whether it was carried out",
            ][..],
        ),
        ("id", &["another JSON type", "look whether"]),
        ("type", &["cannot be used", "look whether"]),
    ] {
        let (stdout, took) = check(mode, &CALL, 5, parts);
        assert_eq!(stdout, "");
        // What is known is told at once, not when the 20 s are over.
        assert!(took < Duration::from_secs(10), "{mode}: {took:?}");
    }
}

#[test]
fn a_program_that_cannot_be_started_is_named_with_what_to_check() {
    for (server, parts) in [
        (
            json!({ "command": "no-such-program" }),
            &["no such program on PATH", "check \"command\""][..],
        ),
        (json!({ "command": "/no/such/program" }), &["no such file"]),
        (json!({ "command": "npx some-server" }), &["\"args\""]),
        (
            json!({ "command": TRUNKLINE, "cwd": "/no/such/folder" }),
            &["/no/such/folder", "\"cwd\""],
        ),
        (
            json!({ "command": "sh", "env": { "A": "${NO_SUCH_VARIABLE}" } }),
            &["NO_SUCH_VARIABLE, which is not set"],
        ),
        (json!({ "args": [] }), &["mcpServers.bad has no \"command\""]),
    ] {
        let home = Home::new();
        let ran = home.run_with(json!({ "bad": server }), &["ask", "서울 날씨 어때?"]);
        let error = ran.one_error(4);
        assert!(
            error.contains("`bad`") && parts.iter().all(|part| error.contains(part)),
            "{error}"
        );
        assert!(ran.stdout.starts_with("서울의"), "{ran:?}");
        home.check_nothing_left();
    }
}

#[test]
fn a_wrong_configuration_starts_nothing() {
    for (text, parts) in [
        (
            "{\n \"mcpServers\": {,}\n}",
            &["servers.json:2:17", "not valid JSON"][..],
        ),
        ("{\"servrs\":{}}", &["no \"mcpServers\"", "servrs"]),
        ("", &["not valid JSON"]),
    ] {
        let home = Home::new();
        let file = home.file("servers.json", text);
        let ran = home.run(&["--config", file.to_str().unwrap(), "tools"]);
        let error = ran.one_error(2);
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    }
    let home = Home::new();
    let ran = home.run(&["--config", "nowhere.json", "ask", "hello"]);
    assert!(ran.one_error(2).contains("nowhere.json: no such file"), "{ran:?}");
}

#[test]
fn servers_that_are_switched_off_are_passed_over() {
    let home = Home::new();
    let servers = json!({ "web": { "url": "http://127.0.0.1:9/mcp", "trunkline": { "disabled": true } },
        "off": { "command": "x", "disabled": true } });
    let ran = home.run_with(servers, &["ask", "서울 날씨 어때?"]);
    ran.done();
    assert!(
        !ran.stderr.contains("`off`") && !ran.stderr.contains("`web`"),
        "{ran:?}"
    );
}

#[test]
fn wrong_names_are_answered_with_near_ones_and_start_nothing_needless() {
    for (args, parts) in [
        (
            &["call", "weathr/get_weather"][..],
            &["no server `weathr`", "did you mean `weather`"][..],
        ),
        (&["call", "get_weather"], &["SERVER/TOOL", "`weather`"]),
        (
            &["call", "weather/get_wether"],
            &["no tool `weather/get_wether`", "weather/get_weather"],
        ),
        (&["read", "orders://order/1", "--server", "shop"], &["no server `shop`"]),
        (
            &["read", "nowhere://x"],
            &["no server offers the resource", "trunkline resources"],
        ),
        (&["prompt", "dayly_report"], &["near names: daily_report"]),
        (
            &["call", "weather/get_weather", "{city:Seoul}"],
            &["not JSON", "single quotes"],
        ),
        (&["call", "weather/get_weather", "[]"], &["must be a JSON object"]),
        (&["man", "fly"], &["no command `fly`"]),
    ] {
        let home = Home::new();
        let ran = home.run(args);
        let error = ran.one_error(2);
        assert!(parts.iter().all(|part| error.contains(part)), "{args:?}: {error}");
        home.check_nothing_left();
    }
}

#[test]
fn a_command_that_does_not_exist_is_answered_with_the_one_that_does() {
    let home = Home::new();
    let ran = home.run(&["cal"]);
    assert!(
        ran.one_error(2).contains("'cal'") && ran.stderr.contains("'call'"),
        "{ran:?}"
    );
    assert_eq!(home.run(&[]).status, Some(2));
    assert_eq!(home.run(&["--timeout", "0", "tools"]).status, Some(2));
    assert_eq!(home.run(&["--revision", "tomorrow", "tools"]).status, Some(2));
    assert_eq!(home.run(&["serve", "orders", "--role", "root"]).status, Some(2));
}

#[test]
fn arguments_that_do_not_fit_are_told_by_place() {
    let home = Home::new();
    let ran = home.run(&["call", "weather/get_weather", r#"{"city":7}"#]);
    assert!(ran.one_error(1).contains("/city"), "{ran:?}");
}

#[test]
fn escape_codes_of_a_result_do_not_reach_the_terminal() {
    let home = Home::new();
    let servers = bad(&home, "escape");
    let ran = home.run_with(servers, &["call", "bad/look"]);
    assert_eq!(ran.done(), "ok \\x1b[2J\\x1b]0;x\\x07 \\x9b1A a\\x0db\n");
    assert!(ran.stderr.contains("control characters were made visible"), "{ran:?}");
}

#[test]
fn a_server_that_serves_says_nothing_but_the_protocol() {
    let home = Home::new();
    for args in [&["serve", "weather"][..], &["serve", "orders"]] {
        // Standard input ends at once: it leaves without a word.
        let ran = home.run(args);
        assert_eq!(
            (ran.status, ran.stdout.as_str(), ran.stderr.as_str()),
            (Some(0), "", "")
        );
    }
    let ran = home.run(&["serve", "orders", "--db", "/no/such/folder/shop.sqlite"]);
    assert!(ran.one_error(2).contains("shop.sqlite"), "{ran:?}");
    assert_eq!(ran.stdout, "");
}

#[test]
fn a_tools_error_cannot_pass_for_lines_of_this_program_and_shows_no_secret() {
    let home = Home::new();
    let mut servers = bad(&home, "forge");
    servers["bad"]["env"] = json!({ "KEY": "correct-horse-battery" });
    let ran = home.run_with(servers, &["call", "bad/look"]);
    ran.one_error(1);
    assert!(
        ran.stderr.contains("\n  | result all is well\n  | error: x "),
        "{ran:?}"
    );
    assert!(!ran.stderr.contains("correct-horse"), "{ran:?}");
}

#[test]
fn tools_that_cannot_be_listed_are_a_servers_failure() {
    let home = Home::new();
    let ran = home.run_with(bad(&home, "unlisted"), &["tools"]);
    assert_eq!(ran.status, Some(4), "{ran:?}");
    assert!(ran.stdout.contains("weather/get_weather"), "{ran:?}");
}

#[test]
fn where_json_is_asked_for_an_error_is_json() {
    let home = Home::new();
    for (args, exit) in [
        (&["--json", "call", "weather/nope"][..], "usage"),
        (&["--json", "call", "nope/nope"], "usage"),
        (&["--json", "call", "weather/get_weather", "[]"], "usage"),
        (&["--json", "read", "nowhere://x"], "usage"),
        (&["--json", "--config", "nowhere.json", "tools"], "usage"),
    ] {
        let ran = home.run(args);
        let error = ran.one_error(2).to_owned();
        let json = ran.json();
        assert_eq!(json["exit"], exit, "{ran:?}");
        assert_eq!(format!("error: {}", json["error"].as_str().unwrap()), error);
    }
}

#[test]
fn every_public_name_can_be_called_and_a_name_with_two_meanings_is_not() {
    let home = Home::new();
    let server = json!({ "command": TRUNKLINE, "args": ["serve", "weather"], "trunkline": { "trusted": true } });
    let ran = home.run_with(json!({ "my weather": server }), &["tools", "--json"]);
    let json = ran.json();
    let mut tools = json["tools"].as_array().unwrap().iter();
    let name = tools.find(|tool| tool["server"] == "my weather").unwrap()["name"].clone();
    let call = ["call", name.as_str().unwrap(), r#"{"city":"Seoul"}"#];
    home.run_with(json!({ "my weather": server }), &call).done();

    let script = home.file(
        "named.py",
        &SERVER.replace("\"name\": \"look\"", "\"name\": sys.argv[2]"),
    );
    let named = |tool: &str| json!({ "command": "python3", "args": [script, "escape", tool] });
    let both = json!({ "a": named("b/c"), "a/b": named("c") });
    let ran = home.run_with(both, &["call", "a/b/c"]);
    assert!(
        ran.one_error(2).contains("can mean several tools; write a_b_c_"),
        "{ran:?}"
    );
    let one_down = json!({ "a": named("b/c"), "a/b": { "command": "no-such-program" } });
    assert_eq!(home.run_with(one_down, &["call", "a/b/c"]).status, Some(4));
}

#[cfg(unix)]
#[test]
fn a_configuration_that_never_ends_is_refused_at_once() {
    let home = Home::new();
    let ran = home.run(&["--config", "/dev/zero", "tools"]);
    assert!(ran.one_error(2).contains("a pipe or a device"), "{ran:?}");
}
