//! The facts of one day, for the daily report.

use rusqlite::{OptionalExtension, params};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Currency, Money, Orders, OrdersError, Status};

const BY_STATUS: &str = "
    SELECT status, currency, count(*), sum(total_minor) FROM orders
    WHERE created_at >= ?1 AND created_at < ?2 AND is_test = 0
    GROUP BY status, currency";

const TEST_ORDERS: &str = "
    SELECT count(*) FROM orders WHERE created_at >= ?1 AND created_at < ?2 AND is_test = 1";

/// Orders that stand at one status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct StatusCount {
    /// Where the orders stand.
    pub status: Status,
    /// Number of orders.
    pub count: u64,
}

/// The orders placed on one day, UTC, test orders left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DailyReport {
    /// The day, for example "2026-10-20".
    pub day: String,
    /// Number of orders.
    pub orders: u64,
    /// Orders by status; every status is there, in the order an order goes through them.
    pub by_status: Vec<StatusCount>,
    /// What orders that are paid, shipped or delivered come to, one amount per currency.
    pub revenue: Vec<Money>,
    /// Test orders of the day, which are in no other number.
    pub test_orders: u64,
}

impl DailyReport {
    /// The facts as text, a line each.
    pub fn text(&self) -> String {
        let mut lines = vec![
            format!("Orders placed on {} (UTC): {}", self.day, self.orders),
            format!("Test orders, not counted: {}", self.test_orders),
        ];
        lines.extend(
            self.by_status
                .iter()
                .map(|entry| format!("- {}: {}", entry.status, entry.count)),
        );
        let amounts: Vec<&str> = self.revenue.iter().map(|amount| amount.display.as_str()).collect();
        let amounts = if amounts.is_empty() {
            "none".to_owned()
        } else {
            amounts.join(", ")
        };
        lines.push(format!("Revenue (paid, shipped and delivered): {amounts}"));
        lines.join("\n")
    }
}

impl Orders {
    /// The facts of one day, written year-month-day.
    ///
    /// ```
    /// let orders = trunkline_orders::Orders::sample()?;
    /// let report = orders.daily_report("2026-10-20")?;
    /// assert!(report.text().starts_with("Orders placed on 2026-10-20"));
    /// # Ok::<(), trunkline_orders::OrdersError>(())
    /// ```
    ///
    /// # Errors
    /// [`OrdersError::BadDay`] when there is no such day; or the database fails.
    pub fn daily_report(&self, day: &str) -> Result<DailyReport, OrdersError> {
        let day = day.trim();
        if !is_day(day) {
            return Err(OrdersError::BadDay {
                asked: day.chars().take(40).collect(),
            });
        }
        // Times of the day begin with "<day>T", and "U" comes after "T".
        let (from, until) = (format!("{day}T"), format!("{day}U"));
        let mut connection = self.lock();
        let snapshot = connection.transaction()?;
        let mut counts = Status::ALL.map(|status| StatusCount { status, count: 0 });
        let mut sums = Currency::ALL.map(|currency| (currency, 0_i64));
        let mut statement = snapshot.prepare_cached(BY_STATUS)?;
        let mut rows = statement.query(params![from, until])?;
        while let Some(row) = rows.next()? {
            let (status, currency, count): (Status, Currency, u64) = (row.get(0)?, row.get(1)?, row.get(2)?);
            for entry in counts.iter_mut().filter(|entry| entry.status == status) {
                entry.count += count;
            }
            let total: i64 = row.get(3)?;
            for (_, sum) in sums.iter_mut().filter(|(of, _)| *of == currency && status.is_revenue()) {
                *sum = sum.saturating_add(total);
            }
        }
        Ok(DailyReport {
            day: day.to_owned(),
            orders: counts.iter().map(|entry| entry.count).sum(),
            by_status: counts.to_vec(),
            revenue: sums
                .into_iter()
                .filter(|(_, sum)| *sum > 0)
                .map(|(of, sum)| Money::new(sum, of))
                .collect(),
            test_orders: snapshot.query_row(TEST_ORDERS, params![from, until], |row| row.get(0))?,
        })
    }

    /// The last day on which an order was placed that is not a test order.
    ///
    /// # Errors
    /// The database fails.
    pub fn latest_day(&self) -> Result<Option<String>, OrdersError> {
        let sql = "SELECT substr(created_at, 1, 10) FROM orders WHERE is_test = 0 ORDER BY created_at DESC LIMIT 1";
        Ok(self.lock().query_row(sql, [], |row| row.get(0)).optional()?)
    }
}

/// Whether a text is a day of the calendar, written as ISO 8601 does.
fn is_day(text: &str) -> bool {
    let bytes = text.as_bytes();
    let shaped = bytes.len() == 10
        && bytes.iter().enumerate().all(|(at, byte)| {
            if at == 4 || at == 7 {
                *byte == b'-'
            } else {
                byte.is_ascii_digit()
            }
        });
    if !shaped {
        return false;
    }
    let number = |from: usize, to: usize| {
        bytes[from..to]
            .iter()
            .fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0'))
    };
    let (year, month, day) = (number(0, 4), number(5, 7), number(8, 10));
    let leap = (year.is_multiple_of(4) && !year.is_multiple_of(100)) || year.is_multiple_of(400);
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => 0,
    };
    (1..=days).contains(&day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_of_the_calendar_are_told_from_others() {
        for day in ["2026-10-20", "2024-02-29", "2000-02-29", "2026-12-31", "0001-01-01"] {
            assert!(is_day(day), "{day}");
        }
        for day in [
            "",
            "2026-10",
            "2026-13-01",
            "2026-00-10",
            "2026-02-29",
            "1900-02-29",
            "2026-04-31",
            "2026-10-00",
            "2026/10/20",
            "20261020",
            "2026-1-020",
            "오늘",
            "2026-10-2０",
            "2026-10-20T00",
            "2026-10-20' OR '1",
        ] {
            assert!(!is_day(day), "{day}");
        }
    }

    #[test]
    fn a_day_counts_its_own_orders_without_test_orders() {
        let orders = Orders::sample().unwrap();
        orders
            .lock()
            .execute_batch(
                "INSERT INTO orders VALUES (101, 1, 'paid', 5000, 'KRW', '2026-11-01T00:00:00Z', 0, NULL);
                 INSERT INTO orders VALUES (102, 1, 'delivered', 700, 'KRW', '2026-11-01T23:59:59Z', 0, NULL);
                 INSERT INTO orders VALUES (103, 5, 'shipped', 1250, 'USD', '2026-11-01T12:00:00Z', 0, NULL);
                 INSERT INTO orders VALUES (104, 5, 'new', 99, 'EUR', '2026-11-01T12:00:00Z', 0, NULL);
                 INSERT INTO orders VALUES (105, 5, 'cancelled', 99, 'USD', '2026-11-01T12:00:00Z', 0, NULL);
                 INSERT INTO orders VALUES (106, 5, 'paid', 99, 'USD', '2026-11-01T12:00:00Z', 1, NULL);
                 INSERT INTO orders VALUES (107, 1, 'paid', 99, 'USD', '2026-10-31T23:59:59Z', 0, NULL);
                 INSERT INTO orders VALUES (108, 1, 'paid', 99, 'USD', '2026-11-02T00:00:00Z', 0, NULL);",
            )
            .unwrap();
        let report = orders.daily_report(" 2026-11-01 ").unwrap();
        assert_eq!((report.orders, report.test_orders), (5, 1));
        assert_eq!(
            report.by_status.iter().map(|entry| entry.count).collect::<Vec<_>>(),
            [1, 1, 1, 1, 1]
        );
        assert_eq!(
            report.revenue,
            [Money::new(5700, Currency::Krw), Money::new(1250, Currency::Usd)]
        );
        assert_eq!(
            report.text(),
            "Orders placed on 2026-11-01 (UTC): 5\nTest orders, not counted: 1\n- new: 1\n- paid: 1\n- shipped: 1\n\
             - delivered: 1\n- cancelled: 1\nRevenue (paid, shipped and delivered): 5,700 KRW, 12.50 USD"
        );
        assert_eq!(orders.latest_day().unwrap().as_deref(), Some("2026-11-02"));
    }

    #[test]
    fn a_day_without_orders_is_a_report_and_a_wrong_day_an_error() {
        let orders = Orders::sample().unwrap();
        let report = orders.daily_report("1999-01-01").unwrap();
        assert_eq!((report.orders, report.revenue.len(), report.by_status.len()), (0, 0, 5));
        assert!(report.text().contains("none"));
        let error = orders.daily_report("어제").unwrap_err();
        assert!(
            error.to_string().contains("어제") && error.to_string().contains("2026-10-20"),
            "{error}"
        );
    }

    #[test]
    fn the_sample_ends_on_a_day_with_orders_and_an_empty_database_on_none() {
        let orders = Orders::sample().unwrap();
        let day = orders.latest_day().unwrap().unwrap();
        assert_eq!(day, "2026-10-20");
        assert!(orders.daily_report(&day).unwrap().orders > 0);
        let empty = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(Orders::open(empty.path()).unwrap().latest_day().unwrap(), None);
    }
}
