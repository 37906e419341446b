//! How much of the processor this process has used.

use std::time::Duration;

/// The time that the processor worked for this process so far, in user code and in the system.
#[cfg(unix)]
pub fn cpu_time() -> Duration {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let seconds = u64::try_from(used.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(used.tv_nsec).unwrap_or_default())
}

/// The time since the first call: there is no better clock here.
#[cfg(not(unix))]
pub fn cpu_time() -> Duration {
    static FIRST: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    FIRST.get_or_init(std::time::Instant::now).elapsed()
}
