//! The other commands, with the shipped servers.

use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::run::{Home, TRUNKLINE, settled, start};

#[test]
fn tools_are_listed_with_what_they_take_and_whether_they_ask() {
    let home = Home::new();
    let ran = home.run(&["tools"]);
    let listed = ran.done();
    assert!(listed.contains("weather/get_weather  [runs unasked]\n"), "{listed}");
    assert!(listed.contains("orders/cancel_order  [asks first]\n"), "{listed}");
    assert!(listed.contains("    city  string, required: "), "{listed}");
    assert!(!listed.contains("purge"), "the built-in orders server is a clerk's");
    let json = home.run(&["tools", "--json"]).json();
    let names: Vec<&str> = json["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "orders__cancel_order",
            "orders__count_orders",
            "orders__get_order",
            "orders__list_orders",
            "weather__get_weather"
        ]
    );
    home.check_nothing_left();
}

#[test]
fn resources_and_prompts_are_listed_read_and_filled_in() {
    let home = Home::new();
    let resources = home.run(&["resources"]);
    assert!(
        resources.done().contains("orders://order/{id}  template, orders"),
        "{resources:?}"
    );
    let order = home.run(&["read", "orders://order/1"]);
    assert!(order.done().contains("김민지"), "{order:?}");
    assert!(order.stderr.contains("from server `orders`"), "{order:?}");
    let prompts = home.run(&["prompts"]);
    assert!(prompts.done().contains("daily_report  orders"), "{prompts:?}");
    let report = home.run(&["prompt", "weather_report", "city=Seoul", "--server", "weather"]);
    assert!(report.done().starts_with("user: "), "{report:?}");
    let json = home.run(&["read", "weather://cities", "--json"]).json();
    assert_eq!(json["server"], "weather");
    home.check_nothing_left();
}

#[test]
fn one_tool_is_called_by_either_name() {
    let home = Home::new();
    let wanted = "9 paid orders, test orders not counted.\n";
    for name in ["orders/count_orders", "orders__count_orders"] {
        assert_eq!(home.run(&["call", name, r#"{"status":"paid"}"#]).done(), wanted);
    }
    let ran = home.run(&["call", "orders/count_orders", "--json"]);
    let json = settled(ran.json());
    assert_eq!(json["arguments"], json!({}));
    assert_eq!(json["outcome"]["kind"], "answered");
    assert_eq!(
        json["servers"].as_array().unwrap().len(),
        1,
        "only the server that is needed is started"
    );
}

#[test]
fn arguments_are_read_from_standard_input() {
    let home = Home::new();
    let mut command = home.command(TRUNKLINE);
    command.args(["call", "weather/get_weather", "-"]).stdin(Stdio::piped());
    let mut running = start(command);
    running
        .child
        .stdin
        .take()
        .unwrap()
        .write_all(br#"{"city":"Busan"}"#)
        .unwrap();
    assert!(running.end().done().starts_with("Busan"));
}

#[test]
fn what_changes_things_is_not_called_unasked() {
    let home = Home::new();
    let ran = home.run(&["call", "--no-input", "orders/cancel_order", r#"{"id":3}"#]);
    let error = ran.one_error(3);
    assert!(
        error.contains("orders/cancel_order was not called") && error.contains("approval"),
        "{error}"
    );
}

#[test]
fn a_tools_own_error_fails_and_is_told() {
    let home = Home::new();
    let ran = home.run(&["call", "weather/get_weather", r#"{"city":"Atlantis"}"#]);
    assert!(ran.one_error(1).contains("weather/get_weather: "), "{ran:?}");
}

#[test]
fn a_revision_can_be_asked_for() {
    let home = Home::new();
    for revision in ["2024-11-05", "2025-11-25", "2026-07-28"] {
        let ran = home.run(&["--revision", revision, "tools", "--json"]);
        ran.done();
        let json = ran.json();
        assert_eq!(json["servers"][0]["revision"], revision);
        // The oldest revision has no annotations: nothing is claimed, so everything is asked about.
        assert_eq!(json["tools"][4]["runs_unasked"], revision != "2024-11-05", "{json:#}");
    }
}

#[test]
fn a_reader_that_has_read_enough_is_no_fault() {
    let home = Home::new();
    for args in [&["tools"][..], &["completions", "bash"], &["--help"]] {
        let mut command = home.command(TRUNKLINE);
        command.args(args);
        let mut running = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(running.stdout.take());
        let output = running.wait_with_output().unwrap();
        assert_eq!(
            output.status.code(),
            Some(0),
            "{args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    home.check_nothing_left();
}

#[cfg(target_os = "linux")]
#[test]
fn an_answer_that_cannot_be_written_is_a_fault() {
    let home = Home::new();
    let mut command = home.command(TRUNKLINE);
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = command
        .args(["ask", "서울 날씨 어때?"])
        .stdout(full)
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("standard output cannot be written"));
}

#[test]
fn a_file_in_the_working_folder_starts_nothing_by_itself() {
    let home = Home::new();
    home.file(
        ".mcp.json",
        r#"{"mcpServers":{"evil":{"command":"touch","args":["started"]}}}"#,
    );
    let ran = home.run(&["call", "weather/get_weather", r#"{"city":"Seoul"}"#]);
    ran.done();
    assert!(ran.stderr.contains("--config .mcp.json"), "{ran:?}");
    assert!(!home.path().join("started").exists());
}

#[test]
fn secrets_of_the_configuration_do_not_reach_the_journal() {
    let home = Home::new();
    let script = home.file("echo.sh", "while read -r line; do echo \"$API_KEY\"; done\n");
    let servers = json!({ "leaky": { "command": "sh", "args": [script], "env": { "API_KEY": "${LEAKED}" } } });
    let config = home.configure(servers);
    let journal = home.path().join("run.jsonl");
    let mut command = home.command(TRUNKLINE);
    command
        .env("LEAKED", "correct-horse-battery")
        .args(["--timeout", "1", "tools"]);
    command.arg("--config").arg(config).arg("--journal").arg(&journal);
    assert_eq!(start(command).end().status, Some(4));
    let written = std::fs::read_to_string(journal).unwrap();
    assert!(written.contains("[masked 17-32]"), "{written}");
    assert!(!written.contains("correct-horse"), "{written}");
}

#[test]
fn more_secrets_than_can_be_masked_are_told_about() {
    let home = Home::new();
    for (count, told) in [(1024, false), (1025, true)] {
        let env: serde_json::Map<String, Value> = (0..count)
            .map(|n| (format!("V{n}"), json!(format!("value-{n}"))))
            .collect();
        let ran = home.run_with(
            json!({ "off": { "command": "no-such-program", "env": env } }),
            &["tools"],
        );
        assert_eq!(
            ran.stderr.contains("of which 1024 can be masked"),
            told,
            "{count}: {ran:?}"
        );
    }
}
