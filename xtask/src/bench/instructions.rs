//! `cargo xtask bench instructions`: how many instructions one iteration of each inner loop takes.
//!
//! Callgrind counts them: other work on the machine changes nothing, so two versions can be compared. A loop is run
//! n times and 2n times, and the difference, divided by n, leaves out what it costs to set it up. The time beside it
//! is processor time without callgrind, and belongs to the machine.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use super::build::LOOPS;
use super::{machine, page};
use crate::Problem;
use crate::output;

const USAGE: &str = "usage: cargo xtask bench instructions [FILTER] [--write]";

/// How often the time of a loop is taken; the shortest counts, for other work on the machine only makes it longer.
const TIMES: usize = 9;
/// For how long each time.
const NANOSECONDS: u64 = 50_000_000;

/// What the gate adds to a call is the difference of these two.
const WITHOUT_GATE: &str = "gate/client_alone";
const WITH_GATE: &str = "gate/call_journal";
/// Its stages, in the order of the table.
const STAGES: &str = "stage/";
/// What the gate may add at most, with validation and the journal on.
const GATE_MAY_ADD: u64 = 20_000;

/// One loop as `bench-loops list` names it.
#[derive(Debug, PartialEq, Eq)]
struct Loop {
    name: String,
    rounds: u64,
    about: String,
}

/// What one iteration of a loop costs.
#[derive(Debug, PartialEq, Eq)]
struct Cost {
    name: String,
    about: String,
    instructions: u64,
    nanoseconds: u64,
}

/// `cargo xtask bench instructions [FILTER] [--write]`.
pub(crate) fn command(args: &[String]) -> Result<(), Problem> {
    let (flags, filters): (Vec<&String>, Vec<&String>) = args.iter().partition(|arg| arg.starts_with("--"));
    if filters.len() > 1 || flags.iter().any(|flag| *flag != "--write") {
        return Err(Problem::Usage(USAGE.to_owned()));
    }
    let write = !flags.is_empty();
    let filter = filters.first().map_or("", |filter| filter.as_str());
    if write && !filter.is_empty() {
        return Err(Problem::Usage("--write needs all loops: leave FILTER out".to_owned()));
    }
    let load = machine::load();
    let table = measure(filter).map_err(Problem::Failed)?;
    output::line(&table);
    if write {
        let facts = machine::facts("cargo xtask bench instructions", &load);
        page::write("instructions", &facts, &table).map_err(Problem::Failed)?;
    }
    Ok(())
}

fn measure(filter: &str) -> Result<String, String> {
    let version = valgrind_version()?;
    let program = LOOPS.build()?;
    let mut loops = listed(&said(Command::new(&program).arg("list"))?)?;
    loops.retain(|one| one.name.contains(filter));
    if loops.is_empty() {
        return Err(format!("no loop has `{filter}` in its name"));
    }
    let mut costs = Vec::new();
    for one in loops {
        let cost = cost(&program, one)?;
        output::progress(&format!(
            "{}: {} instructions, {} ns",
            cost.name, cost.instructions, cost.nanoseconds
        ));
        costs.push(cost);
    }
    Ok(report(&costs, &version))
}

fn valgrind_version() -> Result<String, String> {
    let told = said(Command::new("valgrind").arg("--version")).map_err(|why| {
        format!("callgrind counts the instructions, and it is not here ({why}): install valgrind (`apt-get install valgrind`, `dnf install valgrind`)")
    })?;
    Ok(told.trim().to_owned())
}

/// What a program writes to its stdout, or why it failed.
fn said(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| error.to_string())?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        let why = String::from_utf8_lossy(&output.stderr);
        Err(format!("{}: {}", output.status, why.trim()))
    }
}

fn listed(text: &str) -> Result<Vec<Loop>, String> {
    let read = |line: &str| {
        let mut parts = line.splitn(3, '\t');
        Some(Loop {
            name: parts.next()?.to_owned(),
            rounds: parts.next()?.parse().ok()?,
            about: parts.next()?.to_owned(),
        })
    };
    let lines = text.lines();
    lines
        .map(|line| read(line).ok_or_else(|| format!("`bench-loops list` says {line:?}")))
        .collect()
}

fn cost(program: &Path, one: Loop) -> Result<Cost, String> {
    let Loop { name, rounds, about } = one;
    let instructions = {
        let once = counted(program, &name, rounds)?;
        let twice = counted(program, &name, 2 * rounds)?;
        twice.saturating_sub(once) / rounds
    };
    let nanoseconds = {
        let first = timed(program, &name, rounds)?;
        let count = (NANOSECONDS / first.max(1)).clamp(rounds, u64::from(u32::MAX));
        let mut shortest = u64::MAX;
        for _ in 0..TIMES {
            shortest = shortest.min(timed(program, &name, count)?);
        }
        shortest
    };
    Ok(Cost {
        name,
        about,
        instructions,
        nanoseconds,
    })
}

fn counted(program: &Path, name: &str, count: u64) -> Result<u64, String> {
    let ran = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args(["run", name, &count.to_string()])
        .output()
        .map_err(|error| error.to_string())?;
    let told = String::from_utf8_lossy(&ran.stderr);
    match collected(&told) {
        Some(instructions) if ran.status.success() => Ok(instructions),
        _ => Err(format!("{name} under valgrind: {}: {}", ran.status, told.trim())),
    }
}

/// The total that callgrind tells when a program has ended: `==7== Collected : 1234`.
fn collected(told: &str) -> Option<u64> {
    let line = told.lines().find(|line| line.contains("Collected :"))?;
    line.rsplit(' ').next()?.parse().ok()
}

fn timed(program: &Path, name: &str, count: u64) -> Result<u64, String> {
    let told = said(Command::new(program).args(["time", name, &count.to_string()]))?;
    let number = told.trim().strip_suffix(" ns").and_then(|number| number.parse().ok());
    number.ok_or_else(|| format!("`bench-loops time {name}` says {told:?}"))
}

fn report(costs: &[Cost], version: &str) -> String {
    let mut text = format!(
        "Counted by callgrind ({version}), which knows no SHA and few vector instructions: hashing is counted as the \
         portable code. The times are processor time on the machine that the counts were made on, system calls \
         included: the shortest of {TIMES} runs.\n\n| loop | one iteration | instructions | ns |\n| --- | --- | ---: | ---: |\n"
    );
    for cost in costs.iter().filter(|cost| !cost.name.starts_with(STAGES)) {
        push_row(&mut text, &cost.name, &cost.about, cost.instructions, cost.nanoseconds);
    }
    text.push_str(&gate(costs).unwrap_or_default());
    text
}

fn push_row(text: &mut String, name: &str, about: &str, instructions: u64, nanoseconds: u64) {
    let _ = writeln!(
        text,
        "| {name} | {about} | {} | {} |",
        grouped(instructions),
        grouped(nanoseconds)
    );
}

/// What the gate adds to a call, stage by stage; none where something of it was not measured.
fn gate(costs: &[Cost]) -> Option<String> {
    let find = |name: &str| costs.iter().find(|cost| cost.name == name);
    let (alone, whole) = (find(WITHOUT_GATE)?, find(WITH_GATE)?);
    let instructions = whole.instructions.saturating_sub(alone.instructions);
    let nanoseconds = whole.nanoseconds.saturating_sub(alone.nanoseconds);
    let verdict = if nanoseconds <= GATE_MAY_ADD { "within" } else { "over" };
    let mut text = format!(
        "\nThe path of a call through the gate, validation and journal on, adds {} µs: {verdict} the {} µs that it may \
         add at most. Its stages, each measured by itself:\n\n| stage | one iteration | instructions | ns |\n| --- | --- | \
         ---: | ---: |\n",
        tenths(nanoseconds),
        GATE_MAY_ADD / 1000,
    );
    let stages: Vec<&Cost> = costs.iter().filter(|cost| cost.name.starts_with(STAGES)).collect();
    for cost in &stages {
        let name = cost.name.trim_start_matches(STAGES);
        push_row(&mut text, name, &cost.about, cost.instructions, cost.nanoseconds);
    }
    let sum = |of: fn(&Cost) -> u64| stages.iter().map(|cost| of(cost)).sum::<u64>();
    let (summed, summed_ns) = (sum(|cost| cost.instructions), sum(|cost| cost.nanoseconds));
    push_row(&mut text, "sum", "all stages", summed, summed_ns);
    push_row(
        &mut text,
        "the rest",
        "looking for changes, waiting for the answer, the report",
        instructions.saturating_sub(summed),
        nanoseconds.saturating_sub(summed_ns),
    );
    push_row(
        &mut text,
        "**whole**",
        &format!("`{WITH_GATE}` without `{WITHOUT_GATE}`"),
        instructions,
        nanoseconds,
    );
    Some(text)
}

/// Nanoseconds as microseconds with one digit.
fn tenths(nanoseconds: u64) -> String {
    let tenths = nanoseconds.div_ceil(100);
    format!("{}.{}", tenths / 10, tenths % 10)
}

/// `1,234,567`
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(name: &str, instructions: u64, nanoseconds: u64) -> Cost {
        let about = "x".to_owned();
        Cost {
            name: name.to_owned(),
            about,
            instructions,
            nanoseconds,
        }
    }

    #[test]
    fn the_table_of_the_program_is_read() {
        let wanted = Loop {
            name: "a/b".to_owned(),
            rounds: 20,
            about: "does it, twice".to_owned(),
        };
        assert_eq!(listed("a/b\t20\tdoes it, twice\n"), Ok(vec![wanted]));
        assert!(listed("a/b 20").is_err_and(|why| why.contains("a/b 20")));
    }

    #[test]
    fn the_total_is_found_in_what_callgrind_says() {
        let told = "==7== Events    : Ir\n==7== Collected : 1234567\n==7== \n";
        assert_eq!(collected(told), Some(1_234_567));
        assert_eq!(collected("==7== Process terminating"), None);
    }

    #[test]
    fn the_gate_is_told_by_stages_and_the_whole() {
        let mut costs = vec![cost(WITHOUT_GATE, 10_000, 5_000), cost("stage/a", 3_000, 1_000)];
        assert_eq!(gate(&costs), None, "half of it was not measured");
        costs.push(cost(WITH_GATE, 1_040_000, 25_000));
        let text = gate(&costs).unwrap();
        assert!(text.contains("adds 20.0 µs: within the 20 µs"), "{text}");
        assert!(text.contains("| a | x | 3,000 | 1,000 |"), "{text}");
        assert!(text.contains("1,027,000 | 19,000 |"), "{text}");
        costs[2].nanoseconds += 1;
        assert!(gate(&costs).unwrap().contains("adds 20.1 µs: over the 20 µs"));
    }
}
