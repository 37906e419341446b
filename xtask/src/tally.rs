//! How many tests ran, read from what `cargo test` printed.

use std::fmt;

/// Tests counted over all test binaries and documentation tests of one run.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tally {
    passed: u64,
    failed: u64,
    ignored: u64,
}

impl Tally {
    /// Sums the `test result:` lines. Lines of any other form count nothing.
    pub(crate) fn read(output: &str) -> Self {
        let mut sum = Self::default();
        for line in output.lines() {
            let Some((_, counts)) = line
                .trim_start()
                .strip_prefix("test result: ")
                .and_then(|rest| rest.split_once(". "))
            else {
                continue;
            };
            for count in counts.split("; ") {
                match count.split_once(' ') {
                    Some((number, "passed")) => sum.passed += number.parse().unwrap_or(0),
                    Some((number, "failed")) => sum.failed += number.parse().unwrap_or(0),
                    Some((number, "ignored")) => sum.ignored += number.parse().unwrap_or(0),
                    _ => {}
                }
            }
        }
        sum
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
    }

    /// Whether no test at all was executed.
    pub(crate) fn is_empty(self) -> bool {
        self.passed + self.failed == 0
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)?;
        if self.ignored > 0 {
            write!(f, ", {} skipped", self.ignored)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_every_result_line() {
        let output = "\
running 3 tests
test a ... ok
test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

test result: FAILED. 10 passed; 2 failed; 1 ignored; 0 measured; 4 filtered out; finished in 1.20s
   Doc-tests trunkline
test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.31s
";
        let sum = Tally::read(output);
        assert_eq!(sum.to_string(), "14 passed, 2 failed, 1 skipped");
        assert!(!sum.is_empty());
    }

    #[test]
    fn other_lines_count_nothing() {
        let sum = Tally::read("test result: \n5 passed; 1 failed\ntest result: ok. x passed; 1");
        assert_eq!(sum, Tally::default());
        assert!(sum.is_empty());
        assert_eq!(sum.to_string(), "0 passed, 0 failed");
    }

    #[test]
    fn adding_keeps_every_count() {
        let mut sum = Tally::read("test result: ok. 1 passed; 2 failed; 3 ignored; 0 measured");
        sum.add(sum);
        assert_eq!(sum.to_string(), "2 passed, 4 failed, 6 skipped");
    }
}
