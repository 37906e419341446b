//! What a program weighs: its binary, the crates in it, and the time to build it.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use super::build::{FLOOR, Program, RMCP, SERVER};
use super::{Asked, Form};
use crate::place;

/// A row of the table, in its unit.
struct Row {
    what: &'static str,
    metric: &'static str,
    value: f64,
}

pub(super) fn measure(asked: &Asked) -> Result<String, String> {
    let mut rows = Vec::new();
    let mut add = |what, metric, value| rows.push(Row { what, metric, value });
    add(
        "our server, stdio and HTTP: binary, MB",
        "size.ours.mb",
        stripped_mb(SERVER)?,
    );
    add("rmcp's: binary, MB", "size.rmcp.mb", stripped_mb(RMCP)?);
    add("the floor: binary, MB", "size.floor.mb", stripped_mb(FLOOR)?);
    let ours = ["-p", "trunkline", "--no-default-features", "--features"];
    let with = |features| [&ours[..], &[features]].concat();
    add(
        "our server, stdio: crates",
        "size.ours.crates.stdio",
        crates(SERVER, &with("server"))?,
    );
    add(
        "our server, stdio and HTTP: crates",
        "size.ours.crates.http",
        crates(SERVER, &with("server,http"))?,
    );
    // The package of the peer itself is not one of its crates.
    let rmcp = crates(RMCP, &["-p", RMCP.package()])? - 1.0;
    add("rmcp's: crates", "size.rmcp.crates", rmcp);
    if asked.build {
        add("our server: clean build, s", "size.ours.build", clean_build(SERVER)?);
        add("rmcp's: clean build, s", "size.rmcp.build", clean_build(RMCP)?);
    }
    Ok(told(&rows, asked.form))
}

fn told(rows: &[Row], form: Form) -> String {
    let mut text = String::new();
    if form == Form::Values {
        for Row { metric, value, .. } in rows {
            let _ = writeln!(text, r#"{{"metric":"{metric}","value":{value}}}"#);
        }
        return text;
    }
    text.push_str("| | |\n|---|---|\n");
    for Row { what, value, .. } in rows {
        let digits = if value.fract() == 0.0 { 0 } else { 2 };
        let _ = writeln!(text, "| {what} | {value:.digits$} |");
    }
    text
}

/// The size of its binary without symbols, in millions of bytes.
fn stripped_mb(program: Program) -> Result<f64, String> {
    let binary = program.build()?;
    let stripped = place::target()
        .join("xtask")
        .join(format!("{}.stripped", program.package()));
    let mut strip = Command::new("strip");
    strip.arg("-o").arg(&stripped).arg(&binary);
    let said = strip.output().map_err(|error| format!("`strip` is needed: {error}"))?;
    if !said.status.success() {
        return Err(format!("strip: {}", String::from_utf8_lossy(&said.stderr)));
    }
    let bytes = fs::metadata(&stripped).map_err(|error| error.to_string())?.len();
    let _ = fs::remove_file(&stripped);
    // Hundredths of a megabyte are exact enough.
    Ok(u32::try_from(bytes / 10_000).map_or(f64::INFINITY, f64::from) / 100.0)
}

fn crates(of: Program, selection: &[&str]) -> Result<f64, String> {
    let tree = Command::new(place::cargo())
        .args([
            "tree",
            "--locked",
            "--edges",
            "normal",
            "--prefix",
            "none",
            "--format",
            "{p}",
            "--manifest-path",
        ])
        .arg(of.manifest())
        .args(selection)
        .output()
        .map_err(|error| error.to_string())?;
    if !tree.status.success() {
        return Err(format!("cargo tree: {}", String::from_utf8_lossy(&tree.stderr)));
    }
    Ok(f64::from(different(&String::from_utf8_lossy(&tree.stdout))))
}

/// How many different crates a listing names. A second mention has a mark behind it.
fn different(listing: &str) -> u32 {
    let names: BTreeSet<&str> = listing
        .lines()
        .filter_map(|line| line.split(" (").next())
        .filter(|name| !name.is_empty())
        .collect();
    u32::try_from(names.len()).unwrap_or(u32::MAX)
}

/// The seconds of a build with nothing there but the downloaded sources.
fn clean_build(program: Program) -> Result<f64, String> {
    let target = place::target().join("bench-clean");
    remove(&target)?;
    let took = program.build_in(&target)?;
    remove(&target)?;
    Ok(took.as_secs_f64())
}

fn remove(folder: &Path) -> Result<(), String> {
    match fs::remove_dir_all(folder) {
        Err(error) if folder.exists() => Err(format!("{} cannot be removed: {error}", folder.display())),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_counts_once_and_two_versions_twice() {
        let listing = "a v1.0.0 (/path)\nb v1.0.0\n\nb v2.0.0\nb v1.0.0 (*)\nc v1.0.0 (proc-macro)\n";
        assert_eq!(different(listing), 4);
    }

    #[test]
    fn rows_are_told_for_people_and_for_programs() {
        let row = |value| Row {
            what: "a binary, MB",
            metric: "size.a",
            value,
        };
        assert!(told(&[row(5.25)], Form::Tables).ends_with("| a binary, MB | 5.25 |\n"));
        assert!(told(&[row(97.0)], Form::Tables).ends_with("| a binary, MB | 97 |\n"));
        assert_eq!(
            told(&[row(5.25)], Form::Values),
            "{\"metric\":\"size.a\",\"value\":5.25}\n"
        );
    }
}
