//! Which states of requests were used already, within one process.

use std::collections::BTreeSet;

/// How many are kept. When there are more, the one that would end first is forgotten, and could serve again.
const KEPT: usize = 10_000;

/// The names of used states, in the order of their ends, each kept until its end.
#[derive(Debug, Default)]
pub(crate) struct SpentStates(BTreeSet<(u64, String)>);

impl SpentStates {
    /// Notes a state. Whether it was not noted before.
    pub(crate) fn spend(&mut self, now: u64, expires: u64, nonce: String) -> bool {
        while self.0.first().is_some_and(|(end, _)| *end <= now) {
            self.0.pop_first();
        }
        let fresh = self.0.insert((expires, nonce));
        if self.0.len() > KEPT {
            self.0.pop_first();
        }
        fresh
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_fresh_once_and_forgotten_at_its_end() {
        let mut spent = SpentStates::default();
        assert!(spent.spend(0, 10, "a".to_owned()) && spent.spend(0, 20, "b".to_owned()));
        assert!(!spent.spend(9, 10, "a".to_owned()));
        assert!(!spent.spend(10, 20, "b".to_owned()));
        assert_eq!(spent.0.len(), 1, "what ended is not kept");
    }

    #[test]
    fn a_full_set_forgets_what_ends_first() {
        let mut spent = SpentStates::default();
        for n in 0..=KEPT as u64 {
            assert!(spent.spend(0, 100 + n, n.to_string()));
        }
        assert_eq!(spent.0.len(), KEPT);
        assert!(!spent.spend(0, 101, "1".to_owned()));
    }
}
