//! Answers to what cannot be read, at a bounded rate: a peer that sends rubbish gets no flood back.

use std::time::Duration;

/// So many answers at once.
const BURST: u32 = 20;
/// One more after each of these.
const REFILL: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(super) struct Garbage {
    seen: u64,
    left: u32,
    refilled: Duration,
}

impl Default for Garbage {
    fn default() -> Self {
        Self {
            seen: 0,
            left: BURST,
            refilled: Duration::ZERO,
        }
    }
}

impl Garbage {
    /// Counts one message and says whether it may be answered.
    pub(super) fn may_answer(&mut self, now: Duration) -> bool {
        self.seen += 1;
        let passed = now.saturating_sub(self.refilled).as_millis() / REFILL.as_millis();
        if let Ok(passed) = u32::try_from(passed) {
            self.left = self.left.saturating_add(passed).min(BURST);
            self.refilled += REFILL * passed;
        } else {
            (self.left, self.refilled) = (BURST, now);
        }
        let may = self.left > 0;
        self.left = self.left.saturating_sub(1);
        may
    }

    pub(super) fn seen(&self) -> u64 {
        self.seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_gets_a_bounded_number_of_answers() {
        let mut garbage = Garbage::default();
        let start = Duration::from_secs(100);
        let answered = (0..10_000).filter(|_| garbage.may_answer(start)).count();
        assert_eq!(answered, 20);
        assert!(garbage.may_answer(start + REFILL), "and goes on later");
        assert!(!garbage.may_answer(start + REFILL));
        assert_eq!(garbage.seen(), 10_002);
    }
}
