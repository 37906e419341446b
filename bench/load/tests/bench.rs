//! The benchmark measures all that it says, and does not measure what answers wrong.
//!
//! No time is asserted here. What it measures is the debug build of `bench-server`, for a few milliseconds.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so by a panic")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use serde_json::Value;

/// `bench-server`, which lies beside this test if the workspace was built, as it is for all tests; else it is built. An
/// older one will do: what is tested is the benchmark.
fn server() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let own = std::env::current_exe().unwrap();
        let folder = own.parent().and_then(Path::parent).unwrap();
        let server = folder.join("bench-server");
        if !server.exists() {
            let mut build = Command::new(env!("CARGO"));
            build.args([
                "build",
                "--locked",
                "--package",
                "trunkline-bench-server",
                "--target-dir",
            ]);
            build.arg(folder.parent().unwrap());
            if folder.ends_with("release") {
                build.arg("--release");
            }
            assert!(build.status().unwrap().success(), "the server builds");
        }
        server
    })
}

fn bench(arguments: &[&str]) -> Output {
    const SHORT: &[&str] = &[
        "--rounds",
        "1",
        "--ms",
        "20",
        "--warm-up-ms",
        "1",
        "--starts",
        "1",
        "--sessions",
        "3",
        "--most",
        "10",
        "--json",
    ];
    let mut command = Command::new(env!("CARGO_BIN_EXE_bench-load"));
    command.args(arguments).args(SHORT).output().unwrap()
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The metrics of each transport and revision, from a run that must succeed.
fn metrics(arguments: &[&str]) -> BTreeMap<(String, String), BTreeSet<String>> {
    let output = bench(arguments);
    assert!(output.status.success(), "{}", told(&output));
    let mut found: BTreeMap<_, BTreeSet<String>> = BTreeMap::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let sample: Value = serde_json::from_str(line).unwrap();
        let text = |key: &str| sample[key].as_str().unwrap().to_owned();
        assert!(sample["value"].is_number(), "{line}");
        let new = found
            .entry((text("transport"), text("revision")))
            .or_default()
            .insert(text("metric"));
        assert!(new, "{line} comes twice");
    }
    found
}

#[test]
fn every_metric_of_a_server_over_both_transports_in_both_eras() {
    let program = server().display();
    let stdio = format!("ours=\"{program}\" stdio");
    let http = format!("ours=\"{program}\" http {{port}}");
    let found = metrics(&["servers", "--peer", &stdio, "--peer", &http]);
    let mut expected: BTreeSet<String> = ["cold", "memory.idle", "blob.1.mib", "blob.1.cpu"]
        .map(str::to_owned)
        .into();
    for tool in ["echo", "add"] {
        for in_flight in [1, 16, 64] {
            expected.extend(["calls", "p50", "p99", "cpu"].map(|kind| format!("{tool}.{in_flight}.{kind}")));
        }
    }
    assert_eq!(found.len(), 4, "{:?}", found.keys());
    for ((transport, revision), metrics) in found {
        let mut expected = expected.clone();
        if (transport.as_str(), revision.as_str()) == ("http", "2025-11-25") {
            expected.extend(["memory.session", "memory.stream"].map(str::to_owned));
        }
        assert_eq!(metrics, expected, "{transport}, {revision}");
    }
}

#[test]
fn growth_is_measured_at_each_size() {
    let program = format!("\"{}\"", server().display());
    let found = metrics(&["growth", "--server", &program]);
    let all: Vec<(&str, &str, &str)> = found
        .iter()
        .flat_map(|((transport, revision), metrics)| {
            metrics
                .iter()
                .map(move |metric| (transport.as_str(), revision.as_str(), metric.as_str()))
        })
        .collect();
    let expected = [
        ("http", "2025-11-25", "message.8.cpu"),
        ("http", "2025-11-25", "sessions.1.cpu"),
        ("http", "2025-11-25", "tools.1.cpu"),
        ("http", "2025-11-25", "tools.10.cpu"),
        ("http", "2026-07-28", "tools.1.cpu"),
        ("http", "2026-07-28", "tools.10.cpu"),
        ("stdio", "2025-11-25", "message.8.cpu"),
        ("stdio", "2025-11-25", "tools.1.cpu"),
        ("stdio", "2025-11-25", "tools.10.cpu"),
    ];
    assert_eq!(all, expected);
}

/// What a shell script with these lines answers, one line for each line it reads.
fn liar(folder: &Path, answers: &[&str]) -> String {
    let mut script = String::new();
    for answer in answers {
        script.push_str("read -r line\n");
        if !answer.is_empty() {
            let _ = writeln!(script, "echo '{answer}'");
        }
    }
    // It stays until it is killed or its input ends, so that nothing but its answers is wrong.
    script.push_str("while read -r line; do :; done\n");
    let path = folder.join("liar.sh");
    std::fs::write(&path, script).unwrap();
    format!("liar=sh \"{}\"", path.display())
}

const INITIALIZED: &str = r#"{"id":1,"result":{"protocolVersion":"2025-11-25"}}"#;
const LISTED: &str = r#"{"id":2,"result":{"tools":[{"name":"echo"},{"name":"add"},{"name":"blob"}]}}"#;

#[test]
fn a_wrong_answer_ends_the_run() {
    let right = r#"{"id":3,"result":{"content":[{"text":"call 3: about as much as a tool is told"}]}}"#;
    let twice = format!("{right}\n{right}");
    for (answers, why) in [
        (
            vec![
                INITIALIZED,
                "",
                LISTED,
                r#"{"id":3,"result":{"content":[{"text":"call 4"}]}}"#,
            ],
            "a wrong answer",
        ),
        (vec![INITIALIZED, "", LISTED, twice.as_str()], "id 3 was answered twice"),
        (
            vec![INITIALIZED, "", LISTED, r#"{"id":3,"error":{"code":1,"message":""}}"#],
            "not answered by a result",
        ),
        (vec![INITIALIZED, "", LISTED, "nonsense"], "expected ident"),
        (
            vec![INITIALIZED, "", r#"{"id":2,"result":{"tools":[]}}"#],
            "a wrong answer",
        ),
        (vec![r#"{"id":1,"result":{"protocolVersion":"1"}}"#], "a wrong answer"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let output = bench(&["servers", "--peer", &liar(folder.path(), &answers)]);
        let told = told(&output);
        assert_eq!(output.status.code(), Some(1), "{answers:?}: {told}");
        assert!(
            told.contains(why) && told.contains("liar over stdio, 2025-11-25"),
            "{answers:?}: {told}"
        );
        assert!(output.stdout.is_empty(), "no result: {answers:?}");
    }
}

#[test]
fn a_server_that_never_answers_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let output = bench(&[
        "servers",
        "--wait-ms",
        "50",
        "--peer",
        &liar(folder.path(), &[INITIALIZED, "", ""]),
    ]);
    assert_eq!(output.status.code(), Some(1));
    assert!(told(&output).contains("did not answer in time"), "{}", told(&output));
}

#[test]
fn clients_are_taken_at_their_word_and_their_word_is_needed() {
    let folder = tempfile::tempdir().unwrap();
    let client = |line: &str| {
        let path = folder.path().join("client.sh");
        std::fs::write(&path, format!("echo \"$@\" >&2\necho '{line}'\n")).unwrap();
        let client = format!("theirs=sh \"{}\"", path.display());
        bench(&["clients", "--server", "a-server and-more", "--client", &client])
    };
    let output = client(r#"{"client":"theirs","transport":"stdio","calls_per_s":2.5,"cpu_us":7}"#);
    assert!(output.status.success(), "{}", told(&output));
    assert!(
        told(&output).contains("0.02 stdio a-server and-more"),
        "{}",
        told(&output)
    );
    let values: Vec<Value> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["value"].clone())
        .collect();
    assert_eq!(values, [2.5, 7.0]);
    for wrong in ["no JSON", r#"{"calls_per_s":1}"#] {
        assert_eq!(client(wrong).status.code(), Some(1), "{wrong}");
    }
}

#[test]
fn a_command_line_that_makes_no_sense_is_told_so() {
    let output = Command::new(env!("CARGO_BIN_EXE_bench-load"))
        .arg("servers")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(told(&output).contains("usage: bench-load"), "{}", told(&output));
}
