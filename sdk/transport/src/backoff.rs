//! How long to wait before something is tried again.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// Waits that double from one failure to the next, up to a bound, and begin anew after real progress.
///
/// Up to a quarter is added to each wait by chance, so that many who lost the same server do not all come back at
/// the same moment.
///
/// ```
/// use std::time::Duration;
/// use trunkline_transport::Backoff;
///
/// let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(3));
/// let first = backoff.next_wait();
/// assert!(first >= Duration::from_secs(1) && first <= Duration::from_millis(1250));
/// assert!(backoff.next_wait() >= Duration::from_secs(2));
/// assert!(backoff.next_wait() <= Duration::from_millis(3750));
/// backoff.reset();
/// assert!(backoff.next_wait() < Duration::from_secs(2));
/// ```
#[derive(Debug, Clone)]
pub struct Backoff {
    first: Duration,
    most: Duration,
    next: Duration,
}

impl Backoff {
    /// Waits from `first` up to `most`, what chance adds not counted.
    pub fn new(first: Duration, most: Duration) -> Self {
        Self {
            first,
            most,
            next: first.min(most),
        }
    }

    /// The next wait.
    pub fn next_wait(&mut self) -> Duration {
        let wait = self.next;
        self.next = wait.saturating_mul(2).min(self.most);
        spread(wait, 4)
    }

    /// Something was achieved: the next wait is the first one again.
    pub fn reset(&mut self) {
        self.next = self.first.min(self.most);
    }
}

/// `wait`, and by chance up to one part in `parts` more.
pub(crate) fn spread(wait: Duration, parts: u32) -> Duration {
    // Every new state hashes nothing to another number; for spreading retries that is chance enough.
    let chance = u32::try_from(RandomState::new().hash_one(()) >> 32).unwrap_or(0);
    let most = wait / parts;
    wait.saturating_add(most.mul_f64(f64::from(chance) / f64::from(u32::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_bound_and_differ() {
        let ms = Duration::from_millis;
        let mut backoff = Backoff::new(ms(100), ms(1000));
        for least in [100, 200, 400, 800, 1000, 1000] {
            let wait = backoff.next_wait();
            assert!(wait >= ms(least) && wait <= ms(least * 5 / 4), "{wait:?}");
        }
        backoff.reset();
        assert!(backoff.next_wait() <= ms(125));
        let waits: std::collections::BTreeSet<Duration> = (0..20).map(|_| spread(ms(1000), 4)).collect();
        assert!(waits.len() > 1, "chance has a part in it");
    }

    #[test]
    fn no_wait_is_too_long_to_count() {
        let mut backoff = Backoff::new(Duration::MAX / 2, Duration::MAX);
        let _ = backoff.next_wait();
        assert_eq!(backoff.next_wait(), Duration::MAX);
        assert_eq!(Backoff::new(Duration::ZERO, Duration::ZERO).next_wait(), Duration::ZERO);
    }
}
