//! `cargo xtask conformance`: the official conformance suite against a server and a client of ours.
//!
//! Every scenario of every requirement set that ships with the suite is run, scored or not, at the wire of
//! its revision. There is no list of failures that are expected: what fails, fails this command.

mod checks;
mod fixture;
mod leg;
mod sets;

use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::Problem;
use crate::output;
use crate::place;
use crate::run;
use crate::setup;
use leg::Judged;
use sets::{Leg, Set};

const USAGE: &str = "usage: cargo xtask conformance [--revision REVISION] [--leg server|client]";
const BUILD: &[&str] = &["build", "--package", "trunkline-tests", "--bins"];
const BUILD_LIMIT: Duration = Duration::from_secs(40 * 60);

/// What is asked for; nothing means all of it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Asked {
    revision: Option<String>,
    leg: Option<Leg>,
}

/// `cargo xtask conformance`: installs and builds what it needs, then runs.
pub(crate) fn command(args: &[String]) -> Result<(), Problem> {
    let asked = read(args).map_err(Problem::Usage)?;
    setup::install_node().map_err(Problem::Failed)?;
    output::line(&format!("cargo {}", BUILD.join(" ")));
    let mut cargo = Command::new(place::cargo());
    cargo.args(BUILD).current_dir(place::root());
    let built = run::run(&mut cargo, place::log("conformance-build"), BUILD_LIMIT);
    if let Some(failure) = &built.failure {
        output::line(&run::worth_showing(&built.output()));
        return Err(Problem::Failed(format!("the build failed: {failure}")));
    }
    run_asked(&asked)
}

/// All of it, with what is installed and built already.
pub(crate) fn run_all() -> Result<(), String> {
    match run_asked(&Asked::default()) {
        Ok(()) => Ok(()),
        Err(Problem::Usage(why) | Problem::Failed(why)) => Err(why),
    }
}

fn read(args: &[String]) -> Result<Asked, String> {
    let mut asked = Asked::default();
    let mut rest = args.iter();
    while let Some(flag) = rest.next() {
        let value = rest.next().ok_or_else(|| format!("{flag} needs a value; {USAGE}"))?;
        match flag.as_str() {
            "--revision" => asked.revision = Some(value.clone()),
            "--leg" => {
                let leg = Leg::from_name(value).ok_or_else(|| format!("there is no leg {value:?}; {USAGE}"))?;
                asked.leg = Some(leg);
            }
            _ => return Err(format!("{flag} is not known; {USAGE}")),
        }
    }
    Ok(asked)
}

fn suite() -> PathBuf {
    place::tools().join("node_modules/@modelcontextprotocol/conformance")
}

fn run_asked(asked: &Asked) -> Result<(), Problem> {
    let sets = Set::read_all(&suite().join("requirements")).map_err(Problem::Failed)?;
    let wanted = |set: &&Set| asked.revision.as_ref().is_none_or(|revision| *revision == set.revision);
    let chosen: Vec<&Set> = sets.iter().filter(wanted).collect();
    if chosen.is_empty() {
        let known: Vec<&str> = sets.iter().map(|set| set.revision.as_str()).collect();
        let why = format!("no requirement set for that revision; there is: {}", known.join(", "));
        return Err(Problem::Usage(why));
    }
    let legs = Leg::ALL
        .into_iter()
        .filter(|leg| asked.leg.is_none_or(|wanted| wanted == *leg));
    let parts: Vec<(&Set, Leg)> = legs.flat_map(|leg| chosen.iter().map(move |set| (*set, leg))).collect();
    let judged = judge(&parts);
    let mut failed = 0;
    for ((set, leg), judged) in parts.iter().zip(judged) {
        failed += tell(set, *leg, &judged);
    }
    if failed > 0 {
        let why = format!(
            "{failed} of the parts above failed; the suite's own words: {}",
            place::shown(&leg::results())
        );
        return Err(Problem::Failed(why));
    }
    Ok(())
}

/// All parts at once: most of their time is waiting.
fn judge(parts: &[(&Set, Leg)]) -> Vec<Judged> {
    thread::scope(|scope| {
        let running: Vec<_> = parts
            .iter()
            .map(|(set, leg)| scope.spawn(move || leg::run(set, *leg)))
            .collect();
        let lost = |_| Judged::broken("the thread that ran it panicked");
        running
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(lost))
            .collect()
    })
}

/// Prints what became of one part, and says whether it failed: 0 or 1.
fn tell(set: &Set, leg: Leg, judged: &Judged) -> usize {
    output::line(&format!("      {} {}: {judged}", set.revision, leg.name()));
    for line in judged.remarks() {
        output::line(&format!("        {line}"));
    }
    let (_, left_out) = set.scenarios(leg);
    if !left_out.is_empty() {
        output::line(&format!(
            "        left out, as they need authorization ({}): {}",
            left_out.len(),
            left_out.join(", ")
        ));
    }
    usize::from(judged.failed())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn revision_and_leg_are_read_in_any_order() {
        assert_eq!(read(&[]), Ok(Asked::default()));
        let both = Asked {
            revision: Some("2026-07-28".to_owned()),
            leg: Some(Leg::Client),
        };
        assert_eq!(
            read(&args(&["--leg", "client", "--revision", "2026-07-28"])).as_ref(),
            Ok(&both)
        );
        assert_eq!(read(&args(&["--revision", "2026-07-28", "--leg", "client"])), Ok(both));
    }

    #[test]
    fn what_is_not_known_is_refused_with_the_usage() {
        for wrong in [&["--leg", "proxy"][..], &["--leg"], &["--fast", "yes"], &["server"]] {
            assert!(read(&args(wrong)).is_err_and(|why| why.contains(USAGE)), "{wrong:?}");
        }
    }
}
