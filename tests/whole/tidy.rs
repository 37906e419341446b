//! The rules of the tree, read from the tree itself and from `cargo metadata`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Which crate may use which, as ARCHITECTURE.md draws it. What is reachable over several arrows is allowed.
const ARROWS: &[(&str, &[&str])] = &[
    ("trunkline-types", &[]),
    ("trunkline-proto", &["trunkline-types"]),
    ("trunkline-schema", &[]),
    ("trunkline-transport", &["trunkline-types"]),
    ("trunkline-http", &["trunkline-proto", "trunkline-transport"]),
    (
        "trunkline-client",
        &[
            "trunkline-proto",
            "trunkline-schema",
            "trunkline-transport",
            "trunkline-http",
        ],
    ),
    (
        "trunkline-server",
        &[
            "trunkline-proto",
            "trunkline-schema",
            "trunkline-transport",
            "trunkline-http",
        ],
    ),
    ("trunkline", &["trunkline-client", "trunkline-server"]),
    ("trunkline-journal", &["trunkline-transport"]),
    ("trunkline-gate", &["trunkline-client", "trunkline-journal"]),
    ("trunkline-host", &["trunkline-gate"]),
    (
        "trunkline-cli",
        &["trunkline-host", "trunkline-weather", "trunkline-orders"],
    ),
    ("trunkline-weather", &["trunkline"]),
    ("trunkline-orders", &["trunkline"]),
    // It shares no code with what it measures.
    ("trunkline-bench-load", &[]),
    ("trunkline-bench-client", &["trunkline"]),
    ("trunkline-bench-server", &["trunkline"]),
    ("trunkline-bench-loops", &["trunkline-bench-server", "trunkline-gate"]),
    ("trunkline-testkit", &["trunkline"]),
    ("trunkline-tests", &["trunkline"]),
    ("xtask", &[]),
];

/// Crates that run without I/O and without a runtime, and all that they may use from outside.
const LIGHT: &[(&str, &[&str])] = &[
    ("trunkline-types", &["serde", "serde_json"]),
    ("trunkline-proto", &["serde", "serde_json", "hmac", "sha2", "base64"]),
];

/// The only places that name a revision: what each revision does, and which methods it has. And what benchmarks say by
/// themselves, so that they share no fault with what they measure.
const MAY_NAME_REVISIONS: &[&str] = &[
    "sdk/types/src/revision.rs",
    "sdk/types/src/method.rs",
    "bench/load/src/message.rs",
    "bench/peers/floor/src/answer.rs",
];

/// The only places that print: the output modules of the commands, and the programs for benchmarks.
const MAY_PRINT: &[&str] = &[
    "app/cli/src/output.rs",
    "xtask/src/output.rs",
    "bench/client/src/main.rs",
    "bench/load/src/output.rs",
    "bench/loops/src/main.rs",
    "bench/server/src/main.rs",
];

/// Workspaces of their own: fuzzing needs another compiler, and no feature that we ask for may change what a benchmark
/// compares with. Their crates are not ours to ship, so neither arrows nor licences are read there.
const OTHER_WORKSPACES: &[&str] = &["fuzz/", "bench/peers/"];

/// The only file with unsafe code: the session of a child.
const MAY_BE_UNSAFE: &str = "sdk/transport/src/process/session.rs";

const MOST_LINES: usize = 800;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the workspace is above")
        .to_owned()
}

/// Every tracked or new file that git does not ignore, with its text.
fn files(ending: &str) -> Vec<(String, String)> {
    let listed = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .expect("git lists the files");
    let listed = String::from_utf8(listed.stdout).expect("paths are UTF-8");
    let names = listed.lines().filter(|name| name.ends_with(ending)).map(str::to_owned);
    let found: Vec<_> = names
        .filter_map(|name| Some((name.clone(), std::fs::read_to_string(root().join(name)).ok()?)))
        .collect();
    assert!(!found.is_empty(), "no file ends with {ending}");
    found
}

fn is_test(name: &str) -> bool {
    name.starts_with("tests/")
        || name.starts_with("testkit/")
        || name.contains("/tests/")
        || name.ends_with("/tests.rs")
}

/// The part of a source file before its unit tests.
fn code(text: &str) -> &str {
    text.split_once("\n#[cfg(test)]").map_or(text, |(code, _)| code)
}

fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked"])
        .current_dir(root())
        .output()
        .expect("cargo describes the workspace");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("metadata is JSON")
}

/// The dependencies of each crate of the workspace; those for tests only are left out.
fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let metadata = metadata();
    let members: Vec<&str> = metadata["workspace_members"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let packages = metadata["packages"].as_array().expect("there are packages");
    let of = |package: &Value| -> BTreeSet<String> {
        let all = package["dependencies"].as_array().into_iter().flatten();
        all.filter(|d| d["kind"] != "dev")
            .filter_map(|d| d["name"].as_str())
            .map(str::to_owned)
            .collect()
    };
    packages
        .iter()
        .filter(|package| package["id"].as_str().is_some_and(|id| members.contains(&id)))
        .map(|package| (package["name"].as_str().unwrap_or_default().to_owned(), of(package)))
        .collect()
}

fn uses(name: &str) -> &'static [&'static str] {
    ARROWS
        .iter()
        .find(|(owner, _)| *owner == name)
        .map_or(&[], |(_, uses)| uses)
}

fn reachable(from: &str) -> BTreeSet<&'static str> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&'static str> = uses(from).to_vec();
    while let Some(name) = open.pop() {
        if found.insert(name) {
            open.extend(uses(name));
        }
    }
    found
}

#[test]
fn crates_use_only_what_the_arrows_allow() {
    let all = dependencies();
    let ours: BTreeSet<&str> = ARROWS.iter().map(|(name, _)| *name).collect();
    assert_eq!(
        all.keys().map(String::as_str).collect::<BTreeSet<_>>(),
        ours,
        "every crate has its arrows"
    );
    for (name, uses) in &all {
        let allowed = reachable(name);
        for used in uses.iter().filter(|used| ours.contains(used.as_str())) {
            assert!(allowed.contains(used.as_str()), "{name} must not use {used}");
        }
    }
}

#[test]
fn the_protocol_itself_stays_light() {
    let all = dependencies();
    for (name, allowed) in LIGHT {
        let outside = all[*name].iter().filter(|used| !used.starts_with("trunkline"));
        let heavy: Vec<&String> = outside.filter(|used| !allowed.contains(&used.as_str())).collect();
        assert!(heavy.is_empty(), "{name} uses {heavy:?}");
    }
}

/// Everything that a minimal server pulls in, JSON Schema validation included.
#[test]
fn a_minimal_server_has_at_most_a_hundred_crates() {
    let output = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--locked",
            "-p",
            "trunkline",
            "--no-default-features",
            "--features",
            "server",
            "-e",
            "normal",
            "--prefix",
            "none",
            "--format",
            "{p}",
        ])
        .current_dir(root())
        .output()
        .expect("cargo shows the tree");
    let text = String::from_utf8_lossy(&output.stdout);
    let crates: BTreeSet<&str> = text
        .lines()
        .filter_map(|line| line.split(" (").next())
        .filter(|line| !line.is_empty())
        .collect();
    assert!(
        crates.len() > 30,
        "the tree was read: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(crates.len() <= 100, "{} crates", crates.len());
}

#[test]
fn only_the_facts_name_a_revision() {
    let names = [
        "2024-11-05",
        "2025-03-26",
        "2025-06-18",
        "2025-11-25",
        "2026-07-28",
        "V2024_",
        "V2025_",
        "V2026_",
    ];
    for (name, text) in files(".rs") {
        if is_test(&name) || MAY_NAME_REVISIONS.contains(&name.as_str()) {
            continue;
        }
        for (number, line) in code(&text).lines().enumerate() {
            // A comment may link to the page that a rule comes from.
            let line = line.split("//").next().unwrap_or_default();
            let found = names.iter().find(|revision| line.contains(**revision));
            assert!(
                found.is_none(),
                "{name}:{} names {found:?}; ask the profile for the fact instead",
                number + 1
            );
        }
    }
}

#[test]
fn no_file_is_too_long() {
    for ending in [".rs", ".py", ".mjs"] {
        for (name, text) in files(ending) {
            let lines = text.lines().count();
            assert!(lines <= MOST_LINES, "{name} has {lines} lines; {MOST_LINES} at most");
        }
    }
}

#[test]
fn only_output_modules_print() {
    let prints = ["println!", "eprintln!", "print!(", "eprint!("];
    for (name, text) in files(".rs") {
        if is_test(&name) || MAY_PRINT.contains(&name.as_str()) {
            continue;
        }
        for (number, line) in code(&text).lines().enumerate() {
            let line = line.split("//").next().unwrap_or_default();
            assert!(
                !prints.iter().any(|print| line.contains(print)),
                "{name}:{} prints",
                number + 1
            );
        }
    }
}

#[test]
fn the_protocol_knows_no_clock() {
    let forbidden = [
        "Instant::now",
        "SystemTime",
        "tokio::",
        "std::fs",
        "std::net",
        "std::io",
        "rand::",
        "getrandom",
    ];
    for (name, text) in files(".rs") {
        if name.starts_with("sdk/types/src") || name.starts_with("sdk/proto/src") {
            for (number, line) in code(&text).lines().enumerate() {
                let found = forbidden.iter().find(|word| line.contains(**word));
                assert!(found.is_none(), "{name}:{} uses {found:?}", number + 1);
            }
        }
    }
}

#[test]
fn unsafe_code_stands_in_one_file_and_lints_are_shared() {
    for (name, text) in files("Cargo.toml") {
        if name != "Cargo.toml" && !OTHER_WORKSPACES.iter().any(|other| name.starts_with(other)) {
            assert!(
                text.contains("[lints]\nworkspace = true"),
                "{name} shares the workspace's lints"
            );
        }
    }
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).expect("the root manifest");
    assert!(manifest.contains("unsafe_code = \"deny\""));
    let lint = concat!("unsafe", "_code");
    for (name, text) in files(".rs") {
        if name == "tests/whole/tidy.rs" {
            continue;
        }
        assert_eq!(
            text.contains(lint),
            name == MAY_BE_UNSAFE,
            "{name}: unsafe code stands in {MAY_BE_UNSAFE} only"
        );
    }
    let unsafe_file = std::fs::read_to_string(root().join(MAY_BE_UNSAFE)).expect("the one file");
    assert_eq!(
        unsafe_file.matches(concat!("unsafe", " {")).count(),
        1,
        "{MAY_BE_UNSAFE}"
    );
    assert!(unsafe_file.contains("// SAFETY:"), "{MAY_BE_UNSAFE}");
}

#[test]
fn peers_are_built_from_what_they_ask_for_themselves() {
    let read = |name: &str| std::fs::read_to_string(root().join("bench/peers").join(name)).expect(name);
    assert!(read("Cargo.toml").contains("[workspace]"), "a workspace of its own");
    assert!(
        !read("Cargo.toml").contains("[profile"),
        "peers are built as cargo builds by default"
    );
    let lock = read("Cargo.lock");
    assert!(!lock.contains("name = \"trunkline"), "no crate of ours is in a peer");
    assert!(lock.contains("name = \"rmcp\"\nversion = \"3.11.0\""));
    for peer in ["rmcp/Cargo.toml", "rmcp-client/Cargo.toml"] {
        assert!(
            read(peer).contains("rmcp = { version = \"=3.11.0\""),
            "{peer} pins the SDK"
        );
    }
    let members = metadata()["workspace_members"].to_string();
    assert!(!members.contains("bench/peers"), "{members}");
}

/// Licences that may stand in the tree. An expression is fine if one of its choices is.
#[test]
fn licences_are_known() {
    let allowed = [
        "MIT",
        "Apache-2.0",
        "Apache-2.0 WITH LLVM-exception",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "ISC",
        "Zlib",
        "Unicode-3.0",
        "CC0-1.0",
        "0BSD",
        "MIT-0",
        "BSL-1.0",
        "Unlicense",
        "CDLA-Permissive-2.0",
    ];
    let metadata = metadata();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let licence = package["license"].as_str().unwrap_or_default().replace('/', " OR ");
        let fits = |all: &str| {
            all.split(" AND ")
                .all(|one| allowed.contains(&one.trim_matches(['(', ')', ' '])))
        };
        let fine = licence.split(" OR ").any(fits)
            || licence
                .split(" AND ")
                .all(|part| part.trim_matches(['(', ')', ' ']).split(" OR ").any(fits));
        assert!(fine, "{} has the licence {licence:?}", package["name"]);
    }
}

#[test]
fn nothing_is_left_unfinished() {
    for (name, text) in files(".rs") {
        if name == "tests/whole/tidy.rs" {
            continue;
        }
        for word in ["todo!(", "unimplemented!(", "FIXME", "#[ignore"] {
            assert!(!text.contains(word), "{name} holds {word}");
        }
    }
}
