//! Time as text.

use std::time::{SystemTime, UNIX_EPOCH};

/// `time` in RFC 3339, UTC, to the microsecond: `2026-11-30T09:05:00.000001Z`. What the format cannot say becomes the
/// nearest that it can.
///
/// ```
/// use std::time::{Duration, UNIX_EPOCH};
/// let time = UNIX_EPOCH + Duration::from_micros(1);
/// assert_eq!(trunkline_journal::rfc3339(time), "1970-01-01T00:00:00.000001Z");
/// ```
pub fn rfc3339(time: SystemTime) -> String {
    let seconds = |whole: u64| i64::try_from(whole).unwrap_or(i64::MAX);
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => trunkline_types::rfc3339(seconds(after.as_secs()), after.subsec_micros()),
        Err(before) => {
            let before = before.duration();
            // A part of a second before is the rest of that second after the second before.
            let parts = before.subsec_nanos().div_ceil(1000);
            let (whole, micros) = if parts == 0 { (0, 0) } else { (1, 1_000_000 - parts) };
            trunkline_types::rfc3339(-seconds(before.as_secs()) - whole, micros)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn before_the_epoch_and_far_ahead() {
        assert_eq!(rfc3339(UNIX_EPOCH), "1970-01-01T00:00:00.000000Z");
        let before = UNIX_EPOCH - Duration::from_micros(1);
        assert_eq!(rfc3339(before), "1969-12-31T23:59:59.999999Z");
        let before = UNIX_EPOCH - Duration::from_secs(1);
        assert_eq!(rfc3339(before), "1969-12-31T23:59:59.000000Z");
        let ahead = UNIX_EPOCH + Duration::from_secs(u64::from(u32::MAX) * 400);
        assert_eq!(rfc3339(ahead), "9999-12-31T23:59:59.999999Z");
    }
}
