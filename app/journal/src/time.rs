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

/// A time as text, kept: of lines within one second only the microseconds differ.
#[derive(Debug, Default)]
pub(crate) struct Stamp {
    /// Of which second `text` is, counted from the epoch.
    second: Option<u64>,
    text: String,
}

impl Stamp {
    /// The last second that the format can say; what comes after is written as its end.
    const LAST: u64 = 253_402_300_799;
    /// How many characters of the text are the microseconds and the `Z`.
    const TAIL: usize = 7;

    pub(crate) fn set(&mut self, time: SystemTime) {
        let since = time.duration_since(UNIX_EPOCH).ok();
        let second = since
            .map(|since| since.as_secs())
            .filter(|&second| second <= Self::LAST);
        match (since, self.text.len().checked_sub(Self::TAIL)) {
            (Some(since), Some(end)) if second.is_some() && second == self.second => {
                self.text.truncate(end);
                let mut place = 100_000;
                while place > 0 {
                    let digit = since.subsec_micros() / place % 10;
                    self.text.extend(char::from_digit(digit, 10));
                    place /= 10;
                }
                self.text.push('Z');
            }
            _ => self.text = rfc3339(time),
        }
        self.second = second;
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
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

    #[test]
    fn a_kept_text_is_what_it_would_be_anew() {
        let mut stamp = Stamp::default();
        let micros = [
            0, 1, 999_999, 1_000_000, 1_000_001, 1_099_990, 5, 59_999_999, 60_000_000,
        ];
        let times = micros.map(|micros| UNIX_EPOCH + Duration::from_micros(micros));
        let last = UNIX_EPOCH + Duration::from_secs(Stamp::LAST);
        let edges = [
            UNIX_EPOCH - Duration::from_micros(1),
            UNIX_EPOCH - Duration::from_micros(2),
            last,
            last + Duration::from_micros(999_999),
            last + Duration::from_secs(1),
            last + Duration::from_micros(1_000_001),
            UNIX_EPOCH,
        ];
        for time in times.into_iter().chain(edges) {
            stamp.set(time);
            assert_eq!(stamp.text(), rfc3339(time));
        }
    }
}
