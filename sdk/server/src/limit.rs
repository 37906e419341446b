//! How often a tool may be called.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// At most so many calls in any window of time, all clients together.
#[derive(Debug)]
pub(crate) struct RateLimit {
    calls: u32,
    window: Duration,
    /// When the window began that is counted, and how many calls it and the one before had.
    state: Mutex<Option<(Instant, u32, u32)>>,
}

impl RateLimit {
    pub(crate) fn new(calls: u32, window: Duration) -> Self {
        Self {
            calls,
            window: window.max(Duration::from_millis(1)),
            state: Mutex::new(None),
        }
    }

    /// Counts one call, or says how long to wait. The window slides: what the last one had weighs less
    /// the longer it is over.
    pub(crate) fn take(&self, now: Instant) -> Result<(), Duration> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (start, used, before) = match *state {
            None => (now, 0, 0),
            Some((start, used, before)) => {
                let passed = now.saturating_duration_since(start);
                if passed < self.window {
                    (start, used, before)
                } else if passed < self.window * 2 {
                    (start + self.window, 0, used)
                } else {
                    (now, 0, 0)
                }
            }
        };
        let into = now.saturating_duration_since(start).as_secs_f64() / self.window.as_secs_f64();
        let weight = f64::from(used) + f64::from(before) * (1.0 - into);
        if weight + 1.0 > f64::from(self.calls) {
            *state = Some((start, used, before));
            return Err(self.window.saturating_sub(now.saturating_duration_since(start)));
        }
        *state = Some((start, used + 1, before));
        Ok(())
    }

    pub(crate) fn describe(&self) -> String {
        format!("{} calls in {:?}", self.calls, self.window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allows_so_many_and_recovers() {
        let limit = RateLimit::new(2, Duration::from_secs(10));
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        assert!(limit.take(at(0)).is_ok() && limit.take(at(1)).is_ok());
        assert_eq!(limit.take(at(4)), Err(Duration::from_secs(6)));
        assert!(limit.take(at(11)).is_err(), "the last window still weighs");
        assert!(limit.take(at(16)).is_ok());
        assert!(limit.take(at(100)).is_ok() && limit.take(at(100)).is_ok() && limit.take(at(100)).is_err());
    }

    #[test]
    fn nothing_allowed_is_nothing_allowed() {
        assert!(RateLimit::new(0, Duration::from_secs(1)).take(Instant::now()).is_err());
    }
}
