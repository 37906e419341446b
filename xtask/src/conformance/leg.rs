//! One leg at one revision: start what is needed, run the suite, read what it found.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::thread;
use std::time::{Duration, Instant};

use super::checks::{self, Check, Status};
use super::fixture::Fixture;
use super::sets::{Leg, Set};
use super::suite;
use crate::place;
use crate::run;

/// Longest time for all scenarios of a server. They run one after the other.
const SERVER_LIMIT: Duration = Duration::from_secs(5 * 60);
/// Longest time for one scenario of a client. The suite itself gives the client 30 s.
const CLIENT_LIMIT: Duration = Duration::from_secs(60);
/// How many clients run at once. Some scenarios measure time, so the machine must not be filled.
const CLIENTS_AT_ONCE: usize = 2;

/// What became of one leg at one revision.
#[derive(Debug, Default)]
pub(super) struct Judged {
    scenarios: usize,
    passed: usize,
    failed: usize,
    warned: usize,
    skipped: usize,
    took: Duration,
    remarks: Vec<String>,
    /// What failed and is not a check.
    broken: usize,
}

impl Judged {
    /// One that could not be run.
    pub(super) fn broken(why: impl Into<String>) -> Self {
        let mut judged = Self::default();
        judged.fault(why);
        judged
    }

    fn fault(&mut self, why: impl Into<String>) {
        self.broken += 1;
        self.remarks.push(format!("FAILED {}", why.into()));
    }

    /// Counts the checks of one scenario, and keeps what is to be told of them.
    fn add(&mut self, scenario: &str, checks: Result<Vec<Check>, String>) {
        self.scenarios += 1;
        let checks = match checks {
            Ok(checks) => checks,
            Err(why) => return self.fault(format!("{scenario}: {why}")),
        };
        if checks.is_empty() {
            self.fault(format!("{scenario}: it checked nothing"));
        }
        for check in checks.into_iter().filter(|check| !check.is_traffic()) {
            let Check { id, status, message } = check;
            let told = match status {
                Status::Success => {
                    self.passed += 1;
                    continue;
                }
                // Often it stands where nothing could be judged.
                Status::Info => "noted",
                Status::Failure => {
                    self.failed += 1;
                    "FAILED"
                }
                Status::Warning => {
                    self.warned += 1;
                    "warning"
                }
                Status::Skipped => {
                    self.skipped += 1;
                    "skipped"
                }
            };
            self.remarks.push(format!("{told} {scenario}: {id}: {message}"));
        }
    }

    pub(super) fn failed(&self) -> bool {
        self.failed + self.broken > 0
    }

    /// A line for everything that did not simply pass.
    pub(super) fn remarks(&self) -> &[String] {
        &self.remarks
    }
}

impl fmt::Display for Judged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} scenarios, {} checks passed, {} failed, {} warnings, {} skipped, {:.1} s",
            self.scenarios,
            self.passed,
            self.failed,
            self.warned,
            self.skipped,
            self.took.as_secs_f64()
        )
    }
}

/// Where the results of all legs are kept.
pub(super) fn results() -> PathBuf {
    place::log("conformance").with_extension("")
}

pub(super) fn run(set: &Set, leg: Leg) -> Judged {
    let start = Instant::now();
    let folder = results().join(format!("{}-{}", set.revision, leg.name()));
    let mut judged = match empty(&folder) {
        Ok(()) => match leg {
            Leg::Server => server(set, &folder),
            Leg::Client => client(set, &folder),
        },
        Err(error) => Judged::broken(format!("{}: {error}", folder.display())),
    };
    judged.took = start.elapsed();
    judged
}

/// Results of an earlier run must not be taken for those of this one.
fn empty(folder: &Path) -> std::io::Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)
}

/// The programs are built into the folder of this one.
fn program(name: &str) -> Result<PathBuf, String> {
    let here = std::env::current_exe().map_err(|error| error.to_string())?;
    let path = here.with_file_name(name);
    if path.exists() {
        Ok(path)
    } else {
        Err(format!("{} is not built", path.display()))
    }
}

fn conformance(args: &[&str], folder: &Path) -> Command {
    let mut command = Command::new(place::tools().join("bin/node"));
    command.arg(suite().join("dist/index.js")).args(args);
    command.arg("--output-dir").arg(folder).current_dir(place::root());
    command
}

/// All scenarios of the set in one run of the suite, against one server.
fn server(set: &Set, folder: &Path) -> Judged {
    let fixture = match program("conformance-server").and_then(|program| Fixture::start(Command::new(program))) {
        Ok(fixture) => fixture,
        Err(why) => return Judged::broken(why),
    };
    let args = ["server", "--url", fixture.url(), "--requirements", &set.revision];
    // Its status only tells of what is scored; the checks tell all.
    run::run(&mut conformance(&args, folder), folder.join("suite.log"), SERVER_LIMIT);
    let mut judged = Judged::default();
    let (scenarios, _) = set.scenarios(Leg::Server);
    for scenario in scenarios {
        judged.add(scenario, checks::of_scenario(folder, &format!("server-{scenario}")));
    }
    if let Err(why) = fixture.end() {
        judged.fault(why);
    }
    judged
}

/// Each scenario in a run of its own: only so the suite tells how the client ended.
fn client(set: &Set, folder: &Path) -> Judged {
    let client = match program("conformance-client") {
        Ok(client) => client.display().to_string(),
        Err(why) => return Judged::broken(why),
    };
    let (scenarios, _) = set.scenarios(Leg::Client);
    let judged = Mutex::new(Judged::default());
    let open = Mutex::new(scenarios.into_iter());
    thread::scope(|scope| {
        for _ in 0..CLIENTS_AT_ONCE {
            scope.spawn(|| {
                loop {
                    let next = open.lock().unwrap_or_else(PoisonError::into_inner).next();
                    let Some(scenario) = next else { return };
                    let (checks, bad_end) = client_scenario(set, scenario, &client, folder);
                    let mut judged = judged.lock().unwrap_or_else(PoisonError::into_inner);
                    judged.add(scenario, checks);
                    if let Some(why) = bad_end {
                        judged.fault(format!("{scenario}: {why}"));
                    }
                }
            });
        }
    });
    judged.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// What was checked, and what was wrong with the client's end.
fn client_scenario(
    set: &Set,
    scenario: &str,
    client: &str,
    folder: &Path,
) -> (Result<Vec<Check>, String>, Option<String>) {
    let args = [
        "client",
        "--command",
        client,
        "--scenario",
        scenario,
        "--spec-version",
        &set.revision,
        // The set decides what is run, not the scenario's own range of revisions.
        "--force",
    ];
    let ran = run::run(
        &mut conformance(&args, folder),
        folder.join(format!("{scenario}.log")),
        CLIENT_LIMIT,
    );
    let said = ran.output();
    let signs = ["CLIENT TIMED OUT", "CLIENT EXITED WITH ERROR"];
    let bad_end = signs.into_iter().find(|sign| said.contains(sign)).map(|sign| {
        let log = place::shown(&ran.log);
        format!("{}; see {log}", sign.to_lowercase())
    });
    (checks::of_scenario(folder, scenario), bad_end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(status: Status) -> Check {
        Check {
            id: "some-check".to_owned(),
            status,
            message: "why".to_owned(),
        }
    }

    #[test]
    fn every_kind_of_check_is_counted_and_only_failures_fail() {
        let mut judged = Judged::default();
        let all = [Status::Success, Status::Warning, Status::Skipped, Status::Info];
        judged.add("one", Ok(all.into_iter().map(check).collect()));
        assert!(!judged.failed());
        assert_eq!(
            judged.to_string(),
            "1 scenarios, 1 checks passed, 0 failed, 1 warnings, 1 skipped, 0.0 s"
        );
        assert_eq!(
            judged.remarks(),
            [
                "warning one: some-check: why",
                "skipped one: some-check: why",
                "noted one: some-check: why"
            ]
        );
        judged.add("two", Ok(vec![check(Status::Failure)]));
        assert!(judged.failed());
    }

    #[test]
    fn a_scenario_without_results_or_without_checks_fails() {
        let mut judged = Judged::default();
        judged.add("one", Err("it left no results".to_owned()));
        assert!(judged.failed());
        let mut judged = Judged::default();
        judged.add("one", Ok(vec![]));
        assert!(judged.failed());
    }
}
