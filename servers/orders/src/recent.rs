//! What was placed last, for completing a day or a number while it is being typed.

use rusqlite::{Row, params};

use crate::{Orders, OrdersError};

/// The most values a completion returns.
const MAX_COMPLETIONS: u32 = 100;
/// No day and no number is longer.
const MAX_PREFIX_BYTES: usize = 20;

// "~" comes after every character of a time, so the index by day finds the beginnings.
const DAYS: &str = "
    SELECT DISTINCT substr(created_at, 1, 10) AS day FROM orders
    WHERE created_at >= ?1 AND created_at < ?1 || '~' AND is_test = 0 AND length(?1) <= 10
    ORDER BY day DESC LIMIT ?2";

const IDS: &str = "
    SELECT CAST(id AS TEXT) FROM orders WHERE substr(id, 1, length(?1)) = ?1 ORDER BY id DESC LIMIT ?2";

impl Orders {
    /// The last days, at most 100, that begin with `prefix` and on which an order was placed that is not a test order.
    ///
    /// # Errors
    /// The database fails.
    pub fn recent_days(&self, prefix: &str) -> Result<Vec<String>, OrdersError> {
        self.beginning_with(DAYS, prefix)
    }

    /// The highest order numbers, at most 100, that begin with `prefix`.
    ///
    /// ```
    /// let orders = trunkline_orders::Orders::sample()?;
    /// assert_eq!(orders.recent_ids("5")?.first().map(String::as_str), Some("59"));
    /// # Ok::<(), trunkline_orders::OrdersError>(())
    /// ```
    ///
    /// # Errors
    /// The database fails.
    pub fn recent_ids(&self, prefix: &str) -> Result<Vec<String>, OrdersError> {
        self.beginning_with(IDS, prefix)
    }

    fn beginning_with(&self, statement: &str, prefix: &str) -> Result<Vec<String>, OrdersError> {
        let prefix = prefix.trim();
        if prefix.len() > MAX_PREFIX_BYTES {
            return Ok(Vec::new());
        }
        let connection = self.lock();
        let mut statement = connection.prepare_cached(statement)?;
        let values = statement.query_map(params![prefix, MAX_COMPLETIONS], |row: &Row<'_>| row.get(0))?;
        Ok(values.collect::<Result<_, _>>()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_come_latest_first_and_only_those_with_orders() {
        let orders = Orders::sample().unwrap();
        let all = orders.recent_days("").unwrap();
        assert_eq!(all.len(), 20, "three orders a day");
        assert_eq!((all[0].as_str(), all[19].as_str()), ("2026-10-20", "2026-10-01"));
        assert_eq!(orders.recent_days("2026-10-1").unwrap().len(), 10);
        assert_eq!(orders.recent_days(" 2026-10-20 ").unwrap(), ["2026-10-20"]);
        for nothing in ["2025", "x", "2026-10-20T08", "%", "~", &"2".repeat(10_000)] {
            assert!(orders.recent_days(nothing).unwrap().is_empty(), "{nothing:.20}");
        }
    }

    #[test]
    fn a_day_with_test_orders_alone_is_no_day() {
        let orders = Orders::sample().unwrap();
        orders
            .lock()
            .execute_batch("INSERT INTO orders VALUES (101, 1, 'paid', 1, 'KRW', '2026-12-01T00:00:00Z', 1, NULL)")
            .unwrap();
        assert!(orders.recent_days("2026-12").unwrap().is_empty());
    }

    #[test]
    fn numbers_come_highest_first_and_are_bounded() {
        let orders = Orders::sample().unwrap();
        assert_eq!(orders.recent_ids("").unwrap().len(), 60);
        assert_eq!(orders.recent_ids("6").unwrap(), ["60", "6"]);
        for nothing in ["0", "-1", "x", "1 OR 1", "%"] {
            assert!(orders.recent_ids(nothing).unwrap().is_empty(), "{nothing}");
        }
        for id in 100..200 {
            orders
                .lock()
                .execute(
                    "INSERT INTO orders VALUES (?1, 1, 'new', 1, 'KRW', '2026-11-01T00:00:00Z', 0, NULL)",
                    [id],
                )
                .unwrap();
        }
        let ids = orders.recent_ids("").unwrap();
        assert_eq!((ids.len(), ids[0].as_str(), ids[99].as_str()), (100, "199", "100"));
    }
}
