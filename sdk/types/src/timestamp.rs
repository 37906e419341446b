//! Time as text, without a clock and without a calendar library.

const DAY: u64 = 86_400;
/// Days from 0000-03-01 to 1970-01-01: counting years from March puts the leap day last.
const EPOCH_DAYS: i64 = 719_468;
/// The last second of the year 9999, counted from 0000-03-01.
const LAST: u64 = 3_652_365 * DAY - 1;

/// A moment in RFC 3339, UTC, to the microsecond: `2026-11-30T09:05:00.000001Z`. It is given as whole
/// seconds since 1970, which are negative before, and the microseconds that follow them.
///
/// Moments before March of the year 0000 or after the year 9999, which the format cannot say, become the
/// nearest that it can; more than 999,999 microseconds become so many.
///
/// ```
/// assert_eq!(trunkline_types::rfc3339(0, 1), "1970-01-01T00:00:00.000001Z");
/// assert_eq!(trunkline_types::rfc3339(-1, 999_999), "1969-12-31T23:59:59.999999Z");
/// ```
pub fn rfc3339(seconds: i64, micros: u32) -> String {
    let origin = EPOCH_DAYS * DAY.cast_signed();
    let micros = micros.min(999_999);
    let (since, micros) = match u64::try_from(seconds.saturating_add(origin)) {
        Ok(since) if since > LAST => (LAST, 999_999),
        Ok(since) => (since, micros),
        Err(_) => (0, 0),
    };
    let (year, month, day) = civil(since / DAY);
    let second = since % DAY;
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{micros:06}Z",
        second / 3600,
        second / 60 % 60,
        second % 60,
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

    #[test]
    fn known_moments() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.000000Z"),
            (951_782_399, "2000-02-28T23:59:59.000000Z"),
            (951_782_400, "2000-02-29T00:00:00.000000Z"),
            (1_709_164_800, "2024-02-29T00:00:00.000000Z"),
            (1_709_251_200, "2024-03-01T00:00:00.000000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000000Z"),
            (1_796_041_500, "2026-11-30T12:25:00.000000Z"),
        ] {
            assert_eq!(rfc3339(seconds, 0), text);
        }
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
    fn what_the_format_cannot_say_becomes_the_nearest_that_it_can() {
        assert_eq!(rfc3339(253_402_300_799, 999_999), "9999-12-31T23:59:59.999999Z");
        assert_eq!(rfc3339(253_402_300_800, 0), "9999-12-31T23:59:59.999999Z");
        assert_eq!(rfc3339(i64::MAX, 0), "9999-12-31T23:59:59.999999Z");
        assert_eq!(rfc3339(i64::MIN, 5), "0000-03-01T00:00:00.000000Z");
        assert_eq!(rfc3339(0, 1_000_000), "1970-01-01T00:00:00.999999Z");
    }
}
