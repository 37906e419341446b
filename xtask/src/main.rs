//! `cargo xtask`: the commands that set up, check and test this repository.
//!
//! It has no dependencies, so it builds in a moment. Everything it runs is an ordinary command that
//! is printed before it starts; nothing here is needed to build Trunkline itself.

mod bench;
mod conformance;
mod output;
mod place;
mod run;
mod setup;
mod steps;
mod tally;

use std::process::ExitCode;

/// One subcommand: its name, its line in the help, and what it does with its arguments.
struct Task {
    name: &'static str,
    about: &'static str,
    run: fn(&[String]) -> Result<(), Problem>,
}

/// Why a command ended without success.
#[derive(Debug, PartialEq, Eq)]
enum Problem {
    /// The arguments make no sense: nothing was done.
    Usage(String),
    /// What was to be done failed.
    Failed(String),
}

// Fuzz commands get their own file and one line here.
const TASKS: &[Task] = &[
    Task {
        name: "test",
        about: "check and test everything, installing what that needs",
        run: steps::test,
    },
    Task {
        name: "setup",
        about: "install the foreign programs that the interop tests drive, into .tools/",
        run: setup::command,
    },
    Task {
        name: "conformance",
        about: "run the official conformance suite, all of it or one --revision and --leg",
        run: conformance::command,
    },
    Task {
        name: "bench",
        about: "count the instructions of the inner loops (`bench instructions`)",
        run: bench::command,
    },
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some(name) = args.first() else {
        output::problem(&help());
        return ExitCode::from(2);
    };
    let wants_help = args.iter().any(|arg| arg == "--help" || arg == "-h");
    if wants_help || name == "help" {
        output::line(&help());
        return ExitCode::SUCCESS;
    }
    let Some(task) = TASKS.iter().find(|task| task.name == name) else {
        let names: Vec<_> = TASKS.iter().map(|task| task.name).collect();
        output::problem(&format!(
            "xtask: no command `{name}`; there is: {} (see `cargo xtask help`)",
            names.join(", ")
        ));
        return ExitCode::from(2);
    };
    let (problem, status) = match (task.run)(&args[1..]) {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Problem::Usage(problem)) => (problem, 2),
        Err(Problem::Failed(problem)) => (problem, 1),
    };
    output::problem(&format!("xtask {name}: {problem}"));
    ExitCode::from(status)
}

fn help() -> String {
    use std::fmt::Write as _;
    let mut text = String::from("Usage: cargo xtask COMMAND\n\nCommands:\n");
    for task in TASKS {
        let _ = writeln!(text, "  {:11} {}", task.name, task.about);
    }
    text.push_str("\nSteps of `test`, in order (--only takes one or more of them):\n");
    for step in steps::STEPS {
        let extra = if step.by_default { "" } else { " (only when asked for)" };
        let _ = writeln!(text, "  {:11} {}{extra}", step.name, step.about);
    }
    text.push_str(
        "\nExamples:
  cargo xtask test                     everything, as continuous integration runs it
  cargo xtask test --only fmt,clippy   two steps
  cargo xtask test --only unit         the tests that need no foreign program
  cargo xtask setup                    only install the foreign programs
  cargo xtask conformance --leg client the client's half of the conformance suite

The output of each step is kept in target/xtask/STEP.log.
Exit status: 0 all well, 1 a step failed, 2 wrong usage.",
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_names_every_command_and_step() {
        let text = help();
        for task in TASKS {
            assert!(text.contains(task.about), "{} is missing", task.name);
        }
        for step in steps::STEPS {
            assert!(text.contains(step.about), "{} is missing", step.name);
        }
    }
}
