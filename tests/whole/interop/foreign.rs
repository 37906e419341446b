//! Foreign clients: which there are, how one is run, and what it reports.

use std::process::Command;

use serde_json::Value;
use trunkline::types::{Era, HttpShape, Revision};

use super::{Way, at, root};

/// What a foreign client reports of one run.
#[derive(Debug)]
pub(super) struct Report(pub(super) Value);

impl Report {
    /// The result of a step; every step must have been answered.
    pub(super) fn step(&self, name: &str) -> &Value {
        let steps = self.0["steps"]
            .as_array()
            .unwrap_or_else(|| panic!("no steps: {}", self.0));
        let step = steps.iter().find(|step| step["step"] == name);
        let step = step.unwrap_or_else(|| panic!("no step {name:?} in {:#}", self.0));
        assert_eq!(step["ok"], true, "{name}: {step:#}");
        &step["result"]
    }

    pub(super) fn asked(&self, name: &str) -> &Value {
        let steps = self.0["steps"].as_array().expect("steps");
        &steps.iter().find(|step| step["step"] == name).expect("the step")["asked"]
    }

    /// What the SDK says that it could not make sense of.
    pub(super) fn complaints(&self) -> Vec<&str> {
        let complaints = self.0["complaints"].as_array().expect("complaints");
        complaints.iter().filter_map(Value::as_str).collect()
    }

    /// Takes away the complaints that begin like this.
    pub(super) fn forgive(&mut self, start: &str) {
        let complaints = self.0["complaints"].as_array_mut().expect("complaints");
        complaints.retain(|complaint| !complaint.as_str().is_some_and(|complaint| complaint.starts_with(start)));
    }
}

/// Runs a client once against a server, which its last arguments name.
pub(super) fn run(client: &[String], scenario: &str, server: &[String]) -> Report {
    let (program, arguments) = client.split_first().expect("a program");
    let output = Command::new(program)
        .args(arguments)
        .arg(scenario)
        .args(server)
        .current_dir(root())
        .output()
        .expect("the client starts");
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    let report: Value =
        serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{client:?}: {error}: {stdout}\n{stderr}"));
    assert!(output.status.success(), "{client:?}: {report:#}\n{stderr}");
    assert!(
        report["close_ms"].as_u64().is_some_and(|ms| ms < 2000),
        "{client:?}: the server lets go by itself: {}",
        report["close_ms"]
    );
    Report(report)
}

/// Every foreign client that goes this way, with every era that it speaks there: its arguments, and the revision that
/// must be agreed.
pub(super) fn clients(way: Way) -> Vec<(Vec<String>, Revision)> {
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    let (node, python) = (at(".tools/bin/node"), at(".tools/venv/bin/python"));
    let (older, newer) = (at("tests/interop/client.mjs"), at("tests/interop/clientmodern.mjs"));
    let script = at("tests/interop/client.py");
    let typescript = |era| words(&[&node, &newer, era]);
    let python = |era| words(&[&python, &script, era]);
    let legacy = Revision::LATEST_LEGACY;
    let mut all = vec![(words(&[&node, &older]), legacy), (python("legacy"), legacy)];
    let mut revisions = Revision::ALL.to_vec();
    if way == Way::HttpSse {
        // Only the legacy era is spoken there; whoever probes for the other one must find that out.
        all.extend([(python("auto"), legacy), (typescript("auto"), legacy)]);
        // The revision that has no other transport over HTTP.
        revisions.retain(|revision| revision.profile().http == HttpShape::HttpSse);
    } else {
        all.push((typescript("legacy"), legacy));
        for era in ["auto", "modern"] {
            all.extend([(python(era), Revision::LATEST), (typescript(era), Revision::LATEST)]);
        }
        revisions.retain(|revision| revision.era() == Era::Legacy);
    }
    all.extend(
        revisions
            .into_iter()
            .map(|revision| (typescript(revision.name()), revision)),
    );
    all
}
