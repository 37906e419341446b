//! What our server says before it answers and beside its answers, as their clients hear it: progress, logs, questions
//! of every kind, changes.

use serde_json::{Value, json};
use trunkline::types::{ElicitationForms, Era, Revision};

use super::Way;
use super::cut::Cut;
use super::foreign::{Report, clients, run};
use super::shipped::Shipped;

/// How the TypeScript SDKs complain of progress that came too late for them.
const LATE: &str = "Error: Received a progress notification for an unknown token: ";

fn traffic(way: Way) {
    for (client, agreed) in clients(way) {
        // One for each, since each of them makes the list of its tools grow.
        let server = Shipped::scenario(way);
        let report = run(&client, "traffic", &server.arguments());
        assert_eq!(report.0["protocol"], agreed.name(), "{client:?}");
        hears_progress_and_logs(&report);
        answers_questions(&report, agreed);
        hears_changes(&report);
    }
}

/// Every step of progress, and the logs of the level that was asked for.
///
/// The TypeScript SDKs give up a call's progress as soon as its answer is read, and handle what they read before in the
/// same piece only afterwards: what our server writes at once is late for them, and they say so.
fn hears_progress_and_logs(report: &Report) {
    let worked = report.step("call work");
    assert_eq!(worked["text"], "worked");
    let mut progress: Vec<f64> = serde_json::from_value(worked["progress"].clone()).unwrap();
    for complaint in report.complaints() {
        let late = complaint.strip_prefix(LATE).unwrap_or_else(|| panic!("{complaint}"));
        let late: Value = serde_json::from_str(late).unwrap();
        progress.push(late["params"]["progress"].as_f64().unwrap());
    }
    assert_eq!(progress, [1.0, 2.0, 3.0], "it grows and nothing is lost: {report:#?}");
    let logs = worked["logs"].as_array().unwrap();
    let steps: Vec<&Value> = logs.iter().map(|log| &log["data"]["step"]).collect();
    assert_eq!(steps, [1, 2, 3], "{worked}");
    assert!(logs.iter().all(|log| log["level"] == "info"), "{worked}");
}

fn answers_questions(report: &Report, revision: Revision) {
    let forms = revision.profile().elicitation;
    let modes = |tool: &str| -> Vec<&Value> {
        let asked = report.asked(&format!("call {tool}")).as_array();
        asked.into_iter().flatten().map(|asked| &asked["mode"]).collect()
    };
    let order = report.step("call order");
    if forms == ElicitationForms::Absent {
        assert_eq!(order["isError"], true, "nobody can be asked: {revision}");
    } else {
        assert_eq!(
            order["structuredContent"],
            json!({ "size": "large", "count": 2 }),
            "{order}"
        );
        assert_eq!(modes("order"), ["form", "form"], "one question after the other");
        let size = &report.asked("call order")[0]["schema"]["properties"]["size"];
        assert_eq!(size["enum"], json!(["small", "large"]), "{revision}");
    }
    let visit = report.step("call visit");
    if forms == ElicitationForms::FormAndUrl {
        assert_eq!(visit["isError"], false, "{visit}");
        assert_eq!(report.asked("call visit")[0]["url"], "https://example.com/sign-in");
    } else {
        assert_eq!(visit["isError"], true, "nobody can be sent anywhere: {revision}");
    }
    assert_eq!(report.step("call sample")["text"], "a-model");
    assert_eq!(modes("sample"), ["sampling"]);
    assert_eq!(report.step("call roots")["text"], "file:///here");
    assert_eq!(modes("roots"), ["roots"]);
}

fn hears_changes(report: &Report) {
    assert_eq!(
        report.step("hear changes"),
        &json!({ "lists": 1, "uris": ["note://one"] }),
        "each is told once"
    );
    let names = |step: &str| -> Vec<String> {
        let tools = report.step(step)["tools"].as_array().unwrap();
        tools.iter().map(|tool| tool["name"].to_string()).collect()
    };
    let (mut before, after) = (names("list tools"), names("list tools anew"));
    assert!(before.len() > 4, "several pages");
    before.push("\"grown\"".to_owned());
    before.sort();
    assert_eq!(before, after);
}

#[test]
fn everything_but_answers_is_heard_over_stdio() {
    traffic(Way::Stdio);
}

#[test]
fn everything_but_answers_is_heard_over_http() {
    traffic(Way::Http);
}

#[test]
fn everything_but_answers_is_heard_over_the_first_http_transport() {
    traffic(Way::HttpSse);
}

/// The connection breaks while a call is answered. The client comes back for the rest, and nothing of it is lost.
#[test]
fn a_broken_stream_is_gone_on_with() {
    let clients = clients(Way::Http).into_iter();
    for (client, agreed) in clients.filter(|(_, agreed)| agreed.era() == Era::Legacy) {
        let server = Shipped::scenario(Way::Http);
        let cut = Cut::after("\"progress\":1,", &server.arguments()[0]);
        let mut report = run(&client, "traffic", &[cut.at("/mcp")]);
        assert!(cut.is_made());
        report.forgive("Error: SSE stream disconnected: ");
        hears_progress_and_logs(&report);
        answers_questions(&report, agreed);
        hears_changes(&report);
    }
}
