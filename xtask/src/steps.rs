//! `cargo xtask test`: every check and test, in one order, in one target folder.
//!
//! Clippy, build and test name the same packages and targets and no features, so each dependency is
//! checked once and built once.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::Problem;
use crate::conformance;
use crate::output;
use crate::place;
use crate::run::{self, Ran};
use crate::setup;
use crate::tally::Tally;

/// One step: what it is called, what it needs first, and what it runs.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) by_default: bool,
    /// Steps that run before this one even when it alone is asked for.
    needs: &'static [&'static str],
    action: Action,
}

enum Action {
    /// Install the foreign programs.
    Setup,
    /// Run the official conformance suite.
    Conformance,
    /// A cargo command, with the minutes after which it is taken to hang.
    Cargo {
        args: &'static [&'static str],
        env: Option<(&'static str, &'static str)>,
        minutes: u64,
        /// Whether its output holds test results.
        tests: bool,
    },
}

const fn cargo(args: &'static [&'static str], minutes: u64) -> Action {
    Action::Cargo {
        args,
        env: None,
        minutes,
        tests: false,
    }
}

const fn cargo_test(args: &'static [&'static str], minutes: u64) -> Action {
    Action::Cargo {
        args,
        env: None,
        minutes,
        tests: true,
    }
}

pub(crate) const STEPS: &[Step] = &[
    Step {
        name: "fmt",
        about: "formatting",
        by_default: true,
        needs: &[],
        action: cargo(&["fmt", "--all", "--", "--check"], 5),
    },
    Step {
        name: "clippy",
        about: "lints, with warnings denied",
        by_default: true,
        needs: &[],
        action: cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"], 30),
    },
    Step {
        name: "tools",
        about: "foreign programs, installed into .tools/",
        by_default: true,
        needs: &[],
        action: Action::Setup,
    },
    Step {
        name: "build",
        about: "everything, as the tests need it: whole-program tests start the built binaries",
        by_default: true,
        needs: &[],
        action: cargo(&["build", "--workspace", "--all-targets"], 40),
    },
    Step {
        name: "unit",
        about: "tests inside the crates, without foreign programs",
        by_default: false,
        needs: &[],
        action: cargo_test(&["test", "--workspace", "--lib", "--bins", "--no-fail-fast"], 30),
    },
    Step {
        name: "test",
        about: "unit, whole-program, interop and documentation tests",
        by_default: true,
        needs: &["tools", "build"],
        action: cargo_test(&["test", "--workspace", "--no-fail-fast"], 40),
    },
    Step {
        name: "conformance",
        about: "the official conformance suite, against a server and a client of ours",
        by_default: true,
        needs: &["tools", "build"],
        action: Action::Conformance,
    },
    Step {
        name: "doc",
        about: "documentation, with broken links denied",
        by_default: true,
        needs: &[],
        action: Action::Cargo {
            // Libraries only: the command and the facade crate share a name.
            args: &["doc", "--workspace", "--lib", "--no-deps"],
            env: Some(("RUSTDOCFLAGS", "-D warnings")),
            minutes: 20,
            tests: false,
        },
    },
];

/// `cargo xtask test [--only STEP[,STEP…]]`. Stops at the first step that fails.
pub(crate) fn test(args: &[String]) -> Result<(), Problem> {
    let steps = only(args).and_then(|names| choose(&names)).map_err(Problem::Usage)?;
    let start = Instant::now();
    let mut tally = Tally::default();
    let outcome = run_all(&steps, &mut tally);
    if outcome.is_ok() {
        let took = seconds(start.elapsed());
        output::line(&format!("all {} steps passed in {took}", steps.len()));
    }
    if steps.iter().any(|step| step.counts_tests()) {
        output::line(&tally.to_string());
    }
    outcome.map_err(Problem::Failed)
}

fn run_all(steps: &[&Step], tally: &mut Tally) -> Result<(), String> {
    for (index, step) in steps.iter().enumerate() {
        output::line(&format!(
            "[{}/{}] {}: {}",
            index + 1,
            steps.len(),
            step.name,
            step.command_line()
        ));
        let (args, env, minutes) = match &step.action {
            Action::Setup => {
                setup::install()?;
                continue;
            }
            Action::Conformance => {
                conformance::run_all()?;
                continue;
            }
            Action::Cargo { args, env, minutes, .. } => (args, env, minutes),
        };
        let mut command = Command::new(place::cargo());
        command.args(*args).current_dir(place::root()).envs(*env);
        let ran = run::run(&mut command, place::log(step.name), Duration::from_secs(minutes * 60));
        if step.counts_tests() {
            tally.add(Tally::read(&ran.output()));
        }
        let problem = match &ran.failure {
            Some(failure) => Some(failure.clone()),
            None if step.counts_tests() && tally.is_empty() => Some("no test ran".to_owned()),
            None => None,
        };
        if let Some(problem) = problem {
            show_failure(step, &ran, &problem);
            return Err(format!("step `{}` failed: {problem}", step.name));
        }
        output::line(&format!("      ok, {}", seconds(ran.took)));
    }
    Ok(())
}

fn show_failure(step: &Step, ran: &Ran, problem: &str) {
    output::line(&format!("      FAILED, {}, {problem}", seconds(ran.took)));
    output::line(&run::worth_showing(&ran.output()));
    output::line(&format!(
        "      the whole output: {}; this step again: cargo xtask test --only {}",
        place::shown(&ran.log),
        step.name
    ));
}

impl Step {
    fn counts_tests(&self) -> bool {
        matches!(self.action, Action::Cargo { tests: true, .. })
    }

    fn command_line(&self) -> String {
        match &self.action {
            Action::Setup => "cargo xtask setup".to_owned(),
            Action::Conformance => "cargo xtask conformance".to_owned(),
            Action::Cargo { args, env, .. } => {
                let env = env.map_or_else(String::new, |(key, value)| format!("{key}='{value}' "));
                format!("{env}cargo {}", args.join(" "))
            }
        }
    }
}

/// The step names that `--only` gives; none means the default ones.
fn only(args: &[String]) -> Result<Vec<&str>, String> {
    match args {
        [] => Ok(Vec::new()),
        [flag, names] if flag == "--only" => Ok(names.split(',').collect()),
        [flag] if flag.starts_with("--only=") => Ok(flag["--only=".len()..].split(',').collect()),
        _ => Err(format!(
            "cannot read `{}`; usage: cargo xtask test [--only STEP[,STEP…]]",
            args.join(" ")
        )),
    }
}

/// The named steps and what they need, in the order of the table.
fn choose(names: &[&str]) -> Result<Vec<&'static Step>, String> {
    if names.is_empty() {
        return Ok(STEPS.iter().filter(|step| step.by_default).collect());
    }
    let mut wanted: Vec<&str> = Vec::new();
    for name in names {
        let Some(step) = STEPS.iter().find(|step| step.name == *name) else {
            let known: Vec<_> = STEPS.iter().map(|step| step.name).collect();
            return Err(format!("no step `{name}`; there is: {}", known.join(", ")));
        };
        wanted.push(step.name);
        wanted.extend(step.needs);
    }
    Ok(STEPS.iter().filter(|step| wanted.contains(&step.name)).collect())
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(chosen: &[&Step]) -> Vec<&'static str> {
        chosen.iter().map(|step| step.name).collect()
    }

    fn args(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn without_names_every_default_step_runs_once() {
        let chosen = choose(&[]).expect("the default steps exist");
        assert_eq!(
            names(&chosen),
            ["fmt", "clippy", "tools", "build", "test", "conformance", "doc"]
        );
    }

    #[test]
    fn a_step_brings_what_it_needs_in_table_order() {
        let chosen = choose(&["test", "fmt"]).expect("both steps exist");
        assert_eq!(names(&chosen), ["fmt", "tools", "build", "test"]);
        let chosen = choose(&["unit"]).expect("the step exists");
        assert_eq!(names(&chosen), ["unit"]);
    }

    #[test]
    fn an_unknown_step_is_named_with_the_known_ones() {
        let problem = choose(&["format"]).err().unwrap_or_default();
        assert!(problem.contains("`format`"), "{problem}");
        assert!(problem.contains("clippy"), "{problem}");
    }

    #[test]
    fn what_a_step_needs_exists_and_comes_before_it() {
        for (index, step) in STEPS.iter().enumerate() {
            for need in step.needs {
                let before = STEPS[..index].iter().any(|other| other.name == *need);
                assert!(before, "{} needs {need} before it", step.name);
            }
        }
    }

    #[test]
    fn only_takes_a_list_in_both_forms_and_nothing_else() {
        assert_eq!(only(&args(&[])), Ok(vec![]));
        assert_eq!(only(&args(&["--only", "fmt,doc"])), Ok(vec!["fmt", "doc"]));
        assert_eq!(only(&args(&["--only=unit"])), Ok(vec!["unit"]));
        assert!(only(&args(&["--only"])).is_err());
        assert!(only(&args(&["--fast"])).is_err());
        assert!(only(&args(&["unit"])).is_err());
    }
}
