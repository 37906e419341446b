//! When and on what was measured.

use std::fs;
use std::process::Command;
use std::thread;

use crate::place;

/// How much else ran in the last minute, as the system counts it.
pub(super) fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or("unknown").to_owned()
}

/// One sentence to stand above a table.
pub(super) fn facts(command: &str, load: &str) -> String {
    let cores = thread::available_parallelism().map_or(0, usize::from);
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let changed = !says("git", &["status", "--porcelain", "--", "Cargo.lock", "sdk", "bench"]).is_empty();
    format!(
        "`{command}` on {} at commit {}{}. {}, {cores} cores, Linux {}; {}; load average before: {load}.",
        says("date", &["-u", "+%Y-%m-%d"]),
        says("git", &["rev-parse", "--short", "HEAD"]),
        if changed {
            " and changes that were not committed"
        } else {
            ""
        },
        processor(&fs::read_to_string("/proc/cpuinfo").unwrap_or_default()),
        kernel.trim(),
        says("rustc", &["--version"]),
    )
}

fn processor(cpuinfo: &str) -> &str {
    let model = cpuinfo.lines().find(|line| line.starts_with("model name"));
    model
        .and_then(|line| line.split_once(':'))
        .map_or("a processor that does not say its name", |(_, name)| name.trim())
}

/// The first line that a command prints.
fn says(program: &str, args: &[&str]) -> String {
    let said = Command::new(program).args(args).current_dir(place::root()).output();
    let said = said.map(|said| String::from_utf8_lossy(&said.stdout).into_owned());
    said.unwrap_or_default().lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_is_named() {
        assert_eq!(processor("processor : 0\nmodel name\t: A CPU @ 2GHz\n"), "A CPU @ 2GHz");
        assert!(processor("").contains("does not say"));
    }

    #[test]
    fn the_facts_name_the_command_and_the_commit() {
        let facts = facts("cargo xtask bench size", "0.5");
        assert!(facts.starts_with("`cargo xtask bench size` on 20"), "{facts}");
        assert!(facts.contains("rustc 1.") && facts.contains(" at commit "), "{facts}");
        assert!(facts.ends_with("before: 0.5."), "{facts}");
    }
}
