//! What one phase of load showed.

use std::time::Duration;

/// What one phase of load showed.
#[derive(Debug, Default)]
pub(crate) struct Phase {
    /// Of each call, in nanoseconds.
    latencies: Vec<u32>,
    /// From the first call to the last answer.
    pub(crate) time: Duration,
    /// What the server's threads used.
    pub(crate) cpu: Duration,
}

impl Phase {
    pub(crate) fn answered(&mut self, after: Duration) {
        self.latencies.push(u32::try_from(after.as_nanos()).unwrap_or(u32::MAX));
    }

    /// Takes in what another connection saw in the same time.
    pub(crate) fn join(&mut self, other: Self) {
        self.latencies.extend(other.latencies);
    }

    pub(crate) fn calls(&self) -> u32 {
        u32::try_from(self.latencies.len()).unwrap_or(u32::MAX)
    }

    pub(crate) fn calls_per_s(&self) -> f64 {
        f64::from(self.calls()) / self.time.as_secs_f64()
    }

    /// CPU time for each call, in microseconds.
    pub(crate) fn cpu_us(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / f64::from(self.calls())
    }

    /// The latency that `percent` of the calls stayed within, in microseconds.
    pub(crate) fn percentile(&mut self, percent: usize) -> f64 {
        if self.latencies.is_empty() {
            return f64::NAN;
        }
        let at = (self.latencies.len() * percent / 100).min(self.latencies.len() - 1);
        f64::from(*self.latencies.select_nth_unstable(at).1) / 1e3
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_is_summed_over_its_connections() {
        let mut phase = Phase::default();
        for milliseconds in (1..=50).rev() {
            phase.answered(Duration::from_millis(milliseconds));
        }
        let mut other = Phase::default();
        for milliseconds in 51..=100 {
            other.answered(Duration::from_millis(milliseconds));
        }
        phase.join(other);
        phase.time = Duration::from_secs(2);
        phase.cpu = Duration::from_millis(1);
        assert_eq!(phase.calls(), 100);
        let close = |value: f64, expected: f64| assert!((value - expected).abs() < 1e-6, "{value}, not {expected}");
        close(phase.calls_per_s(), 50.0);
        close(phase.cpu_us(), 10.0);
        close(phase.percentile(50), 51_000.0);
        close(phase.percentile(99), 100_000.0);
        close(phase.percentile(100), 100_000.0);
        assert!(Phase::default().percentile(50).is_nan());
    }
}
