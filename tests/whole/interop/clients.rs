//! Their clients, driving our servers.

use std::process::Command;

use serde_json::{Value, json};
use trunkline::types::{Era, Revision};

use super::{at, root, trunkline};

/// What a foreign client reports of one run.
struct Report(Value);

impl Report {
    /// The result of a step; every step must have been answered.
    fn step(&self, name: &str) -> &Value {
        let steps = self.0["steps"]
            .as_array()
            .unwrap_or_else(|| panic!("no steps: {}", self.0));
        let step = steps.iter().find(|step| step["step"] == name);
        let step = step.unwrap_or_else(|| panic!("no step {name:?} in {:#}", self.0));
        assert_eq!(step["ok"], true, "{name}: {step:#}");
        &step["result"]
    }

    fn asked(&self, name: &str) -> &Value {
        let steps = self.0["steps"].as_array().expect("steps");
        &steps.iter().find(|step| step["step"] == name).expect("the step")["asked"]
    }
}

fn run(arguments: &[String]) -> Report {
    let (program, arguments) = arguments.split_first().expect("a program");
    let output = Command::new(program)
        .args(arguments)
        .current_dir(root())
        .output()
        .expect("the client starts");
    let stdout = String::from_utf8_lossy(&output.stdout);
    let report: Value = serde_json::from_str(&stdout).unwrap_or_else(|error| {
        panic!("{error}: {stdout}\n{}", String::from_utf8_lossy(&output.stderr));
    });
    assert!(
        output.status.success(),
        "{report:#}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(report["complaints"], json!([]), "the SDK could read everything");
    assert!(
        report["close_ms"].as_u64().is_some_and(|ms| ms < 2000),
        "the server left by itself: {}",
        report["close_ms"]
    );
    Report(report)
}

fn server(kind: &str) -> Vec<String> {
    let words: &[&str] = if kind == "orders" {
        &["serve", "orders", "--role", "admin"]
    } else {
        &["serve", kind]
    };
    std::iter::once(trunkline())
        .chain(words.iter().copied())
        .map(str::to_owned)
        .collect()
}

/// Every foreign client with every era that it speaks: its arguments, and the revision that must be agreed.
fn clients() -> Vec<(Vec<String>, &'static str)> {
    let newest_legacy = Revision::LATEST_LEGACY.name();
    let newest = Revision::LATEST.name();
    let mut all = vec![(
        vec![at(".tools/bin/node"), at("tests/interop/client.mjs")],
        newest_legacy,
    )];
    let python = |era: &str| {
        vec![
            at(".tools/venv/bin/python"),
            at("tests/interop/client.py"),
            era.to_owned(),
        ]
    };
    let typescript = |era: &str| {
        vec![
            at(".tools/bin/node"),
            at("tests/interop/clientmodern.mjs"),
            era.to_owned(),
        ]
    };
    for (era, agreed) in [("legacy", newest_legacy), ("auto", newest), ("modern", newest)] {
        all.push((python(era), agreed));
        all.push((typescript(era), agreed));
    }
    for revision in Revision::ALL
        .into_iter()
        .filter(|revision| revision.era() == Era::Legacy)
    {
        all.push((typescript(revision.name()), revision.name()));
    }
    all
}

fn each(scenario: &str, check: impl Fn(&Report, Revision)) {
    for (client, agreed) in clients() {
        let mut arguments = client.clone();
        arguments.extend([scenario.to_owned(), "--".to_owned()]);
        arguments.extend(server(scenario));
        let report = run(&arguments);
        assert_eq!(report.0["protocol"], agreed, "{client:?}");
        check(&report, Revision::from_name(agreed).expect("a revision"));
    }
}

#[test]
fn the_weather_server_serves_them_all() {
    each("weather", |report, revision| {
        assert_eq!(report.0["server"]["name"], "weather");
        assert_eq!(report.step("list tools")["tools"][0]["name"], "get_weather");
        let seoul = report.step("call get_weather Seoul");
        assert_eq!(seoul["isError"], false);
        assert!(
            seoul["text"].as_str().is_some_and(|text| text.contains("Seoul")),
            "{seoul}"
        );
        let structured = revision >= Revision::V2025_06_18;
        assert_eq!(seoul["structuredContent"]["city"] == "Seoul", structured, "{revision}");
        assert_eq!(report.step("call get_weather Nowhereville")["isError"], true);
        assert!(
            report.step("read first resource")["contents"][0]["length"]
                .as_u64()
                .is_some_and(|n| n > 100)
        );
        assert!(
            report.step("get first prompt")["messages"]
                .to_string()
                .contains("Seoul")
        );
        assert!(
            report.step("complete city")["values"]
                .as_array()
                .is_some_and(|v| v.contains(&json!("Seoul")))
        );
    });
}

#[test]
fn the_orders_server_serves_them_all_and_asks_before_it_cancels() {
    each("orders", |report, revision| {
        assert_eq!(report.step("list tools")["tools"].as_array().map(Vec::len), Some(5));
        assert!(report.step("call count_orders paid")["text"].to_string().contains('9'));
        assert_eq!(report.step("call get_order 1")["isError"], false);
        assert_eq!(
            report.step("read orders://order/1")["contents"][0]["uri"],
            "orders://order/1"
        );
        if revision >= Revision::V2025_06_18 {
            report.step("call list_orders next page");
            let accepted = report.step("call cancel_order 2 accepting");
            assert_eq!(accepted["structuredContent"]["cancelled"], true, "{accepted}");
            let asked = &report.asked("call cancel_order 2 accepting")[0];
            assert!(
                asked["message"].as_str().is_some_and(|message| message.contains('2')),
                "{asked}"
            );
            assert_eq!(asked["schema"]["properties"]["confirm"]["type"], "boolean");
            let declined = report.step("call cancel_order 3 declining");
            assert_eq!(declined["structuredContent"]["cancelled"], false, "{declined}");
        } else {
            // Nobody can be asked in these revisions, so nothing is cancelled.
            assert_eq!(
                report.step("call cancel_order 2 accepting")["isError"],
                true,
                "{revision}"
            );
        }
    });
}

#[test]
fn the_inspector_reads_our_servers() {
    let home = tempfile::tempdir().expect("an empty home");
    let inspect = |era: &str, kind: &str, arguments: &[&str]| -> (i32, Value) {
        let launcher = ".tools/node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js";
        let output = Command::new(at(".tools/bin/node"))
            .args([&at(launcher), "--cli", "--format", "json", "--protocol-era", era])
            .args(arguments)
            .arg("--")
            .args(server(kind))
            .env("HOME", home.path())
            .output()
            .expect("the inspector starts");
        let stdout = String::from_utf8_lossy(&output.stdout);
        let stderr = String::from_utf8_lossy(&output.stderr);
        let shown = serde_json::from_str(&stdout).unwrap_or_else(|_| json!(stderr));
        (output.status.code().unwrap_or(-1), shown)
    };
    for era in ["legacy", "modern"] {
        let (status, tools) = inspect(era, "weather", &["--strict", "--method", "tools/list"]);
        assert_eq!(
            (status, &tools["result"]["tools"][0]["name"]),
            (0, &json!("get_weather")),
            "{era}: {tools}"
        );
        let seoul = [
            "--method",
            "tools/call",
            "--tool-name",
            "get_weather",
            "--tool-args-json",
            r#"{"city":"서울"}"#,
        ];
        let (status, called) = inspect(era, "weather", &seoul);
        assert_eq!(
            (status, &called["result"]["structuredContent"]["city"]),
            (0, &json!("Seoul")),
            "{era}: {called}"
        );
        let nowhere = [
            "--method",
            "tools/call",
            "--tool-name",
            "get_weather",
            "--tool-args-json",
            r#"{"city":"Nowhereville"}"#,
        ];
        assert_eq!(inspect(era, "weather", &nowhere).0, 5, "a tool that failed");
        let (status, read) = inspect(
            era,
            "weather",
            &["--method", "resources/read", "--uri", "weather://cities"],
        );
        assert_eq!(status, 0, "{era}: {read}");
        let (status, templates) = inspect(era, "orders", &["--method", "resources/templates/list"]);
        assert_eq!(status, 0, "{era}: {templates}");
        let (status, orders) = inspect(era, "orders", &["--strict", "--method", "tools/list"]);
        assert_eq!(
            (status, orders["result"]["tools"].as_array().map(Vec::len)),
            (0, Some(5)),
            "{era}: {orders}"
        );
    }
}
