//! Running one command: its output into a file, its time bounded, a sign of life while it works.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::output;

/// How often a command that is still working shows its last line.
const SIGN_OF_LIFE: Duration = Duration::from_secs(60);
/// How long a killed command may take to be gone.
const KILLED_WAIT: Duration = Duration::from_secs(10);
/// Lines of a failed command's output that are shown; the file keeps all.
const SHOWN_LINES: usize = 2_000;

/// What became of a command.
#[derive(Debug)]
pub(crate) struct Ran {
    /// The file that holds what it wrote, stdout and stderr as they came.
    pub(crate) log: PathBuf,
    pub(crate) took: Duration,
    /// Why it did not succeed.
    pub(crate) failure: Option<String>,
}

impl Ran {
    /// All that the command wrote.
    pub(crate) fn output(&self) -> String {
        fs::read(&self.log)
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .unwrap_or_default()
    }
}

/// Runs `command` to its end, or kills it and what it started after `limit`.
pub(crate) fn run(command: &mut Command, log: PathBuf, limit: Duration) -> Ran {
    let start = Instant::now();
    let failure = start_logged(command, &log).map_or_else(
        |error| {
            let program = command.get_program().to_string_lossy();
            Some(format!("`{program}` could not be started: {error}"))
        },
        |child| wait(child, &log, start, limit),
    );
    Ran {
        log,
        took: start.elapsed(),
        failure,
    }
}

fn start_logged(command: &mut Command, log: &Path) -> io::Result<Child> {
    if let Some(folder) = log.parent() {
        fs::create_dir_all(folder)?;
    }
    let out = File::create(log)?;
    let err = out.try_clone()?;
    command.stdin(Stdio::null()).stdout(out).stderr(err).spawn()
}

fn wait(mut child: Child, log: &Path, start: Instant, limit: Duration) -> Option<String> {
    let pid = child.id();
    let (ended, end) = mpsc::channel();
    thread::spawn(move || ended.send(child.wait()));
    loop {
        let left = limit.saturating_sub(start.elapsed());
        if let Ok(status) = end.recv_timeout(left.min(SIGN_OF_LIFE)) {
            return reason(status);
        }
        let so_far = start.elapsed();
        if so_far >= limit {
            let told = kill_with_children(pid);
            let _ = end.recv_timeout(KILLED_WAIT);
            return Some(format!("no end after {} s; {told}", limit.as_secs()));
        }
        let last = last_lines(&read_tail(log), 1);
        output::progress(&format!("… {} s: {}", so_far.as_secs(), last.trim()));
    }
}

fn reason(status: io::Result<ExitStatus>) -> Option<String> {
    match status {
        Ok(status) if status.success() => None,
        Ok(status) => Some(status.to_string()),
        Err(error) => Some(format!("its end could not be awaited: {error}")),
    }
}

/// Ends a command and all that it started. They share our process group, so that Ctrl-C reaches
/// them; for the same reason the group cannot be killed, and each one is by its own id.
fn kill_with_children(root: u32) -> String {
    let listing = Command::new("ps").args(["-A", "-o", "pid=,ppid="]).output();
    let (family, told) = match listing {
        Ok(listing) => (
            descendants(root, &String::from_utf8_lossy(&listing.stdout)),
            "it and all that it started were killed".to_owned(),
        ),
        Err(error) => (
            vec![root],
            format!("it was killed, but what it started may still run (ps: {error})"),
        ),
    };
    let ids: Vec<String> = family.iter().map(u32::to_string).collect();
    let killed = Command::new("sh")
        .args(["-c", "kill -KILL \"$@\" 2>/dev/null", "kill"])
        .args(&ids)
        .status();
    match killed {
        Ok(_) => told,
        Err(error) => format!("it could not be killed: {error}"),
    }
}

/// `root` and every process below it, from lines of `PID PARENT`.
fn descendants(root: u32, listing: &str) -> Vec<u32> {
    let pairs: Vec<(u32, u32)> = listing
        .lines()
        .filter_map(|line| {
            let mut ids = line.split_whitespace().map(str::parse);
            Some((ids.next()?.ok()?, ids.next()?.ok()?))
        })
        .collect();
    let mut family = vec![root];
    let mut next = 0;
    while let Some(&parent) = family.get(next) {
        for &(pid, its_parent) in &pairs {
            if its_parent == parent && !family.contains(&pid) {
                family.push(pid);
            }
        }
        next += 1;
    }
    family
}

fn read_tail(log: &Path) -> String {
    use std::io::{Read as _, Seek as _, SeekFrom};
    const TAIL: u64 = 4096;
    let mut bytes = Vec::new();
    if let Ok(mut file) = File::open(log) {
        let size = file.metadata().map_or(0, |facts| facts.len());
        let _ = file.seek(SeekFrom::Start(size.saturating_sub(TAIL)));
        let _ = file.take(TAIL).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The last `count` lines that are not blank.
pub(crate) fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

/// The part of a failed command's output that a person needs: what went well is left out.
pub(crate) fn worth_showing(output: &str) -> String {
    let went_well = |line: &str| {
        let passed_test = line.starts_with("test ") && line.ends_with("... ok");
        passed_test || line.starts_with("   Compiling ") || line.starts_with("    Checking ")
    };
    let lines: Vec<&str> = output.lines().filter(|line| !went_well(line)).collect();
    let left_out = lines.len().saturating_sub(SHOWN_LINES);
    let mut text = String::new();
    if left_out > 0 {
        text = format!("({left_out} lines left out here)\n");
    }
    text.push_str(&lines[left_out..].join("\n"));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn family_is_found_whatever_the_order() {
        let listing = "  5 4\n 4 2\n  3 1\nnonsense\n 2 1\n 6 5\n";
        let mut family = descendants(2, listing);
        family.sort_unstable();
        assert_eq!(family, [2, 4, 5, 6]);
    }

    #[test]
    fn family_of_a_process_that_is_its_own_parent_ends() {
        assert_eq!(descendants(0, "0 0\n1 0\n"), [0, 1]);
    }

    #[test]
    fn what_went_well_is_not_shown() {
        let output = "   Compiling app v0.1.0\nrunning 2 tests\ntest a ... ok\ntest b ... FAILED\n";
        assert_eq!(worth_showing(output), "running 2 tests\ntest b ... FAILED");
    }

    #[test]
    fn long_output_shows_its_end() {
        let output = "x\n".repeat(SHOWN_LINES) + "the end\n";
        let shown = worth_showing(&output);
        assert!(shown.starts_with("(1 lines left out here)"));
        assert!(shown.ends_with("the end"));
    }

    #[test]
    fn blank_lines_are_no_last_line() {
        assert_eq!(last_lines("a\nb\n\n  \n", 1), "b");
        assert_eq!(last_lines("", 3), "");
    }

    /// A log that no other test writes, gone with the test.
    struct Log(PathBuf);

    impl Log {
        fn new(name: &str) -> Self {
            let file = format!("xtask-{}-{name}.log", std::process::id());
            Self(std::env::temp_dir().join(file))
        }
    }

    impl Drop for Log {
        fn drop(&mut self) {
            let _ = fs::remove_file(&self.0);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_command_past_its_limit_is_killed_with_its_children() {
        let log = Log::new("limit");
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 600 & echo $!; wait"]);
        let ran = run(&mut command, log.0.clone(), Duration::from_secs(1));
        let failure = ran.failure.clone().unwrap_or_default();
        assert!(failure.starts_with("no end after 1 s"), "{failure}");
        let child = ran.output().trim().to_owned();
        assert!(child.parse::<u32>().is_ok(), "`{child}` is no process id");
        // A killed process that nobody has waited for yet is still listed, as a zombie.
        let state = Command::new("ps")
            .args(["-o", "stat=", "-p", &child])
            .output()
            .expect("ps runs");
        let state = String::from_utf8_lossy(&state.stdout).trim().to_owned();
        assert!(
            state.is_empty() || state.starts_with('Z'),
            "process {child} still runs: {state}"
        );
    }

    #[test]
    fn both_outputs_and_the_exit_status_are_kept() {
        let log = Log::new("status");
        let mut command = Command::new("sh");
        command.args(["-c", "echo out; echo err >&2; exit 3"]);
        let ran = run(&mut command, log.0.clone(), Duration::from_secs(30));
        assert_eq!(ran.output(), "out\nerr\n");
        let failure = ran.failure.unwrap_or_default();
        assert!(failure.contains('3'), "{failure}");
    }

    #[test]
    fn a_program_that_does_not_exist_is_named() {
        let log = Log::new("absent");
        let mut command = Command::new("no-such-program-anywhere");
        let ran = run(&mut command, log.0.clone(), Duration::from_secs(5));
        let failure = ran.failure.unwrap_or_default();
        assert!(failure.contains("no-such-program-anywhere"), "{failure}");
    }
}
