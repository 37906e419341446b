//! `bench-loops list`, `bench-loops run NAME COUNT`, `bench-loops time NAME COUNT`: one loop alone, for callgrind and
//! other profilers. `run` looks at no clock: some versions of valgrind cannot run what reads it.

use std::process::ExitCode;
use std::time::Duration;

use trunkline_bench_loops::{all, cpu_time, find};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["list"] => {
            for one in all() {
                say(&format!("{}\t{}\t{}", one.name, one.rounds, one.about));
            }
            ExitCode::SUCCESS
        }
        [word @ ("run" | "time"), name, count] => match count.parse::<u32>() {
            Ok(count) if count > 0 => match run(name, count, word == "time") {
                Ok(None) => ExitCode::SUCCESS,
                Ok(Some(each)) => {
                    say(&format!("{} ns", each.as_nanos()));
                    ExitCode::SUCCESS
                }
                Err(why) => fail(&why),
            },
            _ => fail("COUNT is a number from 1 to 4294967295"),
        },
        _ => fail("usage: bench-loops list, or bench-loops run|time NAME COUNT"),
    }
}

/// Runs a loop, and says how much processor time one iteration took where that is asked for.
fn run(name: &str, count: u32, timed: bool) -> Result<Option<Duration>, String> {
    let one = find(name).ok_or_else(|| format!("there is no loop `{name}`; see `bench-loops list`"))?;
    let mut once = one.start();
    let before = timed.then(cpu_time);
    for _ in 0..count {
        if !once() {
            return Err(format!("the outcome of `{name}` is wrong"));
        }
    }
    Ok(before.map(|before| cpu_time().saturating_sub(before) / count))
}

#[expect(clippy::print_stdout, reason = "what it is started for")]
fn say(line: &str) {
    println!("{line}");
}

#[expect(clippy::print_stderr, reason = "the last words of a process")]
fn fail(why: &str) -> ExitCode {
    eprintln!("bench-loops: {why}");
    ExitCode::FAILURE
}
