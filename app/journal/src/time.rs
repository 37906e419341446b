//! Time as text, without a calendar library.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

const DAY: u64 = 86_400;

/// `time` in RFC 3339, UTC, to the microsecond: `2026-11-30T09:05:00.000001Z`.
///
/// Times before March of the year 0000 or after the year 9999, which the format cannot say, become the nearest that it can.
///
/// ```
/// use std::time::{Duration, UNIX_EPOCH};
/// let time = UNIX_EPOCH + Duration::from_micros(1);
/// assert_eq!(trunkline_journal::rfc3339(time), "1970-01-01T00:00:00.000001Z");
/// ```
pub fn rfc3339(time: SystemTime) -> String {
    // Days from 0000-03-01 to the epoch: counting years from March puts the leap day last.
    const EPOCH_DAYS: u64 = 719_468;
    // The microsecond before 10000-01-01.
    const LAST: Duration = Duration::from_micros(3_652_365 * DAY * 1_000_000 - 1);
    let origin = Duration::from_secs(EPOCH_DAYS * DAY);
    let since = match time.duration_since(UNIX_EPOCH) {
        Ok(after) => after.saturating_add(origin),
        Err(before) => origin.saturating_sub(before.duration()),
    };
    let since = since.min(LAST);
    let (year, month, day) = civil(since.as_secs() / DAY);
    let second = since.as_secs() % DAY;
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:06}Z",
        second / 3600,
        second / 60 % 60,
        second % 60,
        since.subsec_micros(),
    )
}

/// Year, month and day of the day that comes `days` after 0000-03-01.
fn civil(days: u64) -> (u64, u64, u64) {
    // 400 years always have 146 097 days.
    let (era, mut rest) = (days / 146_097, days % 146_097);
    // The last day of a 100-year and of a 4-year stretch exists only where the stretch ends in a leap year: hence `min`.
    let centuries = (rest / 36_524).min(3);
    rest -= centuries * 36_524;
    let fours = rest / 1_461;
    rest -= fours * 1_461;
    let years = (rest / 365).min(3);
    rest -= years * 365;
    // From March on, months follow 31 30 31 30 31 twice: 153 days for five.
    let month = (5 * rest + 2) / 153;
    let day = rest - (153 * month + 2) / 5 + 1;
    let year = 400 * era + 100 * centuries + 4 * fours + years;
    if month < 10 {
        (year, month + 3, day)
    } else {
        (year + 1, month - 9, day)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> String {
        rfc3339(UNIX_EPOCH + Duration::from_secs(seconds))
    }

    #[test]
    fn known_moments() {
        assert_eq!(at(0), "1970-01-01T00:00:00.000000Z");
        assert_eq!(at(951_782_399), "2000-02-28T23:59:59.000000Z");
        assert_eq!(at(951_782_400), "2000-02-29T00:00:00.000000Z");
        assert_eq!(at(1_709_164_800), "2024-02-29T00:00:00.000000Z");
        assert_eq!(at(1_709_251_200), "2024-03-01T00:00:00.000000Z");
        assert_eq!(at(4_107_542_400), "2100-03-01T00:00:00.000000Z");
        assert_eq!(at(1_796_041_500), "2026-11-30T12:25:00.000000Z");
    }

    #[test]
    fn every_day_follows_the_one_before() {
        // A second calendar, by counting, over more than one whole 400-year period.
        let leap = |y: u64| (y.is_multiple_of(4) && !y.is_multiple_of(100)) || y.is_multiple_of(400);
        let (mut year, mut month, mut day) = (0, 3, 1);
        for days in 0..200_000 {
            assert_eq!(civil(days), (year, month, day), "day {days}");
            let length = match month {
                2 => 28 + u64::from(leap(year)),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            day += 1;
            if day > length {
                (month, day) = (month + 1, 1);
            }
            if month > 12 {
                (year, month) = (year + 1, 1);
            }
        }
    }

    #[test]
    fn before_the_epoch_and_far_ahead() {
        let before = UNIX_EPOCH - Duration::from_micros(1);
        assert_eq!(rfc3339(before), "1969-12-31T23:59:59.999999Z");
        let ahead = UNIX_EPOCH + Duration::from_secs(u64::from(u32::MAX) * 400);
        assert_eq!(rfc3339(ahead), "9999-12-31T23:59:59.999999Z");
    }
}
