//! Looking at processes from outside, for the tests.

use std::time::{Duration, Instant};

/// Processes of `group` that still run; zombies whose parent has not looked yet do not count.
pub(crate) fn running(group: u32) -> Vec<String> {
    let output = std::process::Command::new("ps")
        .args(["-A", "-o", "pgid=,stat=,args="])
        .output();
    let listed = match output {
        Ok(output) => String::from_utf8_lossy(&output.stdout).into_owned(),
        Err(_) => from_proc(),
    };
    listed
        .lines()
        .filter(|line| {
            let mut words = line.split_whitespace();
            words.next() == Some(&group.to_string()) && !words.next().is_none_or(|state| state.starts_with('Z'))
        })
        .map(str::to_owned)
        .collect()
}

/// The same columns where there is no `ps`.
fn from_proc() -> String {
    let mut text = String::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else {
            continue;
        };
        let (Some(open), Some(close)) = (stat.find('('), stat.rfind(')')) else {
            continue;
        };
        let fields: Vec<&str> = stat[close + 1..].split_whitespace().collect();
        if let [state, _parent, group, ..] = fields[..] {
            text += &[group, " ", state, " ", &stat[open..=close], "\n"].concat();
        }
    }
    text
}

/// Waits until no process of `group` runs; a kill is not instant.
pub(crate) async fn assert_gone(group: u32) {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let left = running(group);
        if left.is_empty() {
            return;
        }
        assert!(Instant::now() < deadline, "left over: {left:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
