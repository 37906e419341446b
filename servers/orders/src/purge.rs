//! Removing test orders: first a plan, then exactly that plan or nothing.

use std::collections::BTreeMap;
use std::fmt::Write;

use rusqlite::{Connection, TransactionBehavior, params};
use sha2::{Digest, Sha256};

use crate::answers::PurgeReport;
use crate::{Currency, Money, Orders, OrdersError, Status};

/// The most orders one purge removes, so that it never holds the database for long.
pub const MAX_PURGE: u32 = 1000;
/// The most numbers a report shows.
const MAX_IDS: usize = 100;

const PLANNED: &str = "
    SELECT id, customer_id, status, total_minor, currency, created_at
    FROM orders WHERE is_test = 1 ORDER BY id LIMIT ?1";

/// The orders one purge takes: those with the lowest numbers.
struct Plan {
    count: u64,
    highest: i64,
    report: PurgeReport,
}

impl Orders {
    /// Says which test orders a purge would remove. Removes nothing.
    ///
    /// ```
    /// let orders = trunkline_orders::Orders::sample()?;
    /// let plan = orders.plan_purge()?;
    /// assert!(plan.dry_run && plan.count > 0);
    ///
    /// let removed = orders.purge(&plan.fingerprint)?;
    /// assert_eq!(removed.ids, plan.ids);
    /// assert_eq!(orders.plan_purge()?.count, 0);
    /// # Ok::<(), trunkline_orders::OrdersError>(())
    /// ```
    ///
    /// # Errors
    /// The database fails.
    pub fn plan_purge(&self) -> Result<PurgeReport, OrdersError> {
        let mut connection = self.lock();
        let snapshot = connection.transaction()?;
        Ok(plan(&snapshot)?.report)
    }

    /// Removes the test orders of a plan, if they are still exactly those. Orders that are not test orders are never
    /// removed, whatever the fingerprint.
    ///
    /// # Errors
    /// [`OrdersError::PurgeChanged`] when the test orders are no longer those of the plan; or the database fails.
    /// Nothing is removed then.
    pub fn purge(&self, fingerprint: &str) -> Result<PurgeReport, OrdersError> {
        let mut connection = self.lock();
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let Plan {
            count,
            highest,
            mut report,
        } = plan(&transaction)?;
        if report.fingerprint != fingerprint.trim() {
            return Err(OrdersError::PurgeChanged);
        }
        transaction.execute(
            "DELETE FROM order_items WHERE order_id IN (SELECT id FROM orders WHERE is_test = 1 AND id <= ?1)",
            [highest],
        )?;
        let removed = transaction.execute("DELETE FROM orders WHERE is_test = 1 AND id <= ?1", [highest])?;
        if u64::try_from(removed) != Ok(count) {
            // Dropping the transaction takes everything back.
            return Err(OrdersError::PurgeChanged);
        }
        transaction.commit()?;
        report.dry_run = false;
        report.message = message(&report);
        Ok(report)
    }
}

impl PurgeReport {
    /// What a person is asked before these orders are removed: exactly what will be lost.
    pub fn question(&self) -> String {
        format!("Remove {} for good? This cannot be undone.", described(self))
    }

    /// The answer when the person said no, or nothing.
    pub fn kept(mut self) -> Self {
        self.dry_run = true;
        self.message = format!(
            "The person did not confirm it. Nothing was removed; {} stay. Do not try again unless the person asks for it.",
            described(&self)
        );
        self
    }
}

fn plan(connection: &Connection) -> Result<Plan, OrdersError> {
    let mut digest = Sha256::new();
    let mut ids = Vec::new();
    let mut totals: BTreeMap<Currency, i64> = BTreeMap::new();
    let (mut count, mut highest) = (0, 0);
    let mut statement = connection.prepare_cached(PLANNED)?;
    let mut rows = statement.query(params![MAX_PURGE])?;
    while let Some(row) = rows.next()? {
        let id: i64 = row.get(0)?;
        let (customer, status, total): (i64, Status, i64) = (row.get(1)?, row.get(2)?, row.get(3)?);
        let (currency, created_at): (Currency, String) = (row.get(4)?, row.get(5)?);
        digest.update(format!(
            "{id}|{customer}|{status}|{total}|{}|{created_at}\n",
            currency.code()
        ));
        let sum = totals.entry(currency).or_default();
        *sum = sum.saturating_add(total);
        if ids.len() < MAX_IDS {
            ids.push(id);
        }
        count += 1;
        highest = id;
    }
    let all: u64 = connection.query_row("SELECT count(*) FROM orders WHERE is_test = 1", [], |row| row.get(0))?;
    let fingerprint = digest.finalize().iter().take(16).fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    });
    let mut report = PurgeReport {
        dry_run: true,
        count,
        ids,
        totals: totals
            .into_iter()
            .map(|(currency, minor)| Money::new(minor, currency))
            .collect(),
        left_over: all.saturating_sub(count),
        fingerprint,
        message: String::new(),
    };
    report.message = message(&report);
    Ok(Plan { count, highest, report })
}

fn message(report: &PurgeReport) -> String {
    let orders = described(report);
    let rest = match report.left_over {
        0 => String::new(),
        left => format!(" {left} more test orders are left for another purge."),
    };
    match (report.dry_run, report.count) {
        (_, 0) => "There are no test orders; nothing to remove.".to_owned(),
        (true, _) => format!(
            "{orders} would be removed. Nothing was removed yet.{rest} To remove exactly these, call purge_test_orders \
             with dry_run false and the fingerprint {}.",
            report.fingerprint
        ),
        (false, _) => format!("{orders} were removed.{rest}"),
    }
}

fn described(report: &PurgeReport) -> String {
    let shown = report.ids.len();
    let mut ids: Vec<String> = report.ids.iter().map(ToString::to_string).collect();
    if (shown as u64) < report.count {
        ids.push(format!("and {} more", report.count - shown as u64));
    }
    let totals: Vec<&str> = report.totals.iter().map(|total| total.display.as_str()).collect();
    match report.count {
        0 => "0 test orders".to_owned(),
        count => format!(
            "{count} test orders (numbers {}) over {}",
            ids.join(", "),
            totals.join(" and ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::CountOrders;

    fn counts(orders: &Orders) -> (u64, u64) {
        let count = |test| {
            orders
                .count(&CountOrders {
                    include_test: Some(test),
                    ..CountOrders::default()
                })
                .unwrap()
                .count
        };
        (count(false), count(true))
    }

    fn insert_test_orders(orders: &Orders, first: i64, number: i64) {
        let mut connection = orders.lock();
        let transaction = connection.transaction().unwrap();
        for id in first..first + number {
            transaction
                .execute(
                    "INSERT INTO orders VALUES (?1, 1, 'new', 10, 'USD', '2026-11-01T00:00:00Z', 1, NULL)",
                    [id],
                )
                .unwrap();
        }
        transaction.commit().unwrap();
    }

    #[test]
    fn a_plan_removes_nothing_and_is_the_same_twice() {
        let orders = Orders::sample().unwrap();
        let plan = orders.plan_purge().unwrap();
        assert_eq!(plan, orders.plan_purge().unwrap());
        assert!(plan.dry_run);
        assert_eq!((plan.count, plan.ids.len(), plan.left_over), (7, 7, 0));
        for id in &plan.ids {
            assert!(orders.find(*id).unwrap().summary.is_test);
        }
        let total: i64 = plan
            .ids
            .iter()
            .map(|id| orders.find(*id).unwrap().summary.total.minor)
            .sum();
        assert_eq!(plan.totals, [Money::new(total, Currency::Krw)]);
        assert_eq!(counts(&orders), (53, 60));
    }

    #[test]
    fn a_purge_removes_the_planned_orders_with_their_items_and_no_other() {
        let orders = Orders::sample().unwrap();
        let plan = orders.plan_purge().unwrap();
        let report = orders.purge(&plan.fingerprint).unwrap();
        assert!(!report.dry_run);
        assert_eq!(
            (report.count, &report.ids, &report.totals),
            (7, &plan.ids, &plan.totals)
        );
        assert!(report.message.contains("were removed"), "{}", report.message);
        assert_eq!(counts(&orders), (53, 53));
        let orphans: i64 = orders
            .lock()
            .query_row(
                "SELECT count(*) FROM order_items WHERE order_id NOT IN (SELECT id FROM orders)",
                [],
                |row| row.get(0),
            )
            .unwrap();
        assert_eq!(orphans, 0);
        assert_eq!(
            orders.purge(&plan.fingerprint),
            Err(OrdersError::PurgeChanged),
            "a plan serves once"
        );
    }

    #[test]
    fn any_change_of_the_set_voids_the_plan() {
        let changes = [
            "INSERT INTO orders VALUES (61, 1, 'new', 10, 'USD', '2026-11-01T00:00:00Z', 1, NULL)",
            "UPDATE orders SET is_test = 0 WHERE id = 6",
            "UPDATE orders SET is_test = 1 WHERE id = 1",
            "UPDATE orders SET status = 'new' WHERE id = 6",
            "UPDATE orders SET total_minor = total_minor + 1 WHERE id = 6",
            "UPDATE orders SET customer_id = 1 WHERE id = 6",
        ];
        for change in changes {
            let orders = Orders::sample().unwrap();
            let plan = orders.plan_purge().unwrap();
            assert_eq!(orders.lock().execute(change, []).unwrap(), 1);
            let before = counts(&orders);
            assert_eq!(
                orders.purge(&plan.fingerprint),
                Err(OrdersError::PurgeChanged),
                "{change}"
            );
            assert_eq!(counts(&orders), before, "{change}");
        }
    }

    #[test]
    fn a_change_of_other_orders_does_not_void_it() {
        let orders = Orders::sample().unwrap();
        let plan = orders.plan_purge().unwrap();
        orders.cancel(&orders.find(60).unwrap(), None).unwrap();
        assert_eq!(orders.purge(&plan.fingerprint).unwrap().count, 7);
    }

    #[test]
    fn a_made_up_fingerprint_removes_nothing() {
        let orders = Orders::sample().unwrap();
        let good = orders.plan_purge().unwrap().fingerprint;
        for wrong in ["", "*", "지금", &good[1..], &good.to_uppercase(), &format!("{good}0")] {
            assert_eq!(orders.purge(wrong), Err(OrdersError::PurgeChanged), "{wrong}");
        }
        assert_eq!(counts(&orders), (53, 60));
        assert_eq!(
            orders.purge(&format!(" {good}\n")).unwrap().count,
            7,
            "space around it is copied along"
        );
    }

    #[test]
    fn without_test_orders_there_is_nothing_to_do() {
        let orders = Orders::sample().unwrap();
        orders.purge(&orders.plan_purge().unwrap().fingerprint).unwrap();
        let plan = orders.plan_purge().unwrap();
        assert_eq!((plan.count, plan.ids.len(), plan.totals.len()), (0, 0, 0));
        assert_eq!(orders.purge(&plan.fingerprint).unwrap().count, 0);
        assert_eq!(counts(&orders), (53, 53));
    }

    #[test]
    fn one_purge_takes_a_thousand_and_leaves_the_rest_for_the_next() {
        let orders = Orders::sample().unwrap();
        orders.purge(&orders.plan_purge().unwrap().fingerprint).unwrap();
        insert_test_orders(&orders, 1001, 1000);
        assert_eq!(orders.plan_purge().unwrap().left_over, 0, "the limit itself fits");
        insert_test_orders(&orders, 2001, 5);
        let plan = orders.plan_purge().unwrap();
        assert_eq!((plan.count, plan.ids.len(), plan.left_over), (1000, 100, 5));
        assert_eq!(plan.totals[0].display, "100.00 USD");
        assert!(
            plan.message.contains("and 900 more") && plan.message.contains("5 more test orders"),
            "{}",
            plan.message
        );
        assert_eq!(orders.purge(&plan.fingerprint).unwrap().count, 1000);
        assert_eq!(orders.plan_purge().unwrap().ids, [2001, 2002, 2003, 2004, 2005]);
    }

    #[test]
    fn the_question_and_the_refusal_name_the_orders() {
        let orders = Orders::sample().unwrap();
        let plan = orders.plan_purge().unwrap();
        let question = plan.question();
        assert!(
            question.contains("7 test orders") && question.contains(&plan.totals[0].display),
            "{question}"
        );
        assert!(
            question.contains(&plan.ids[6].to_string()) && question.contains("cannot be undone"),
            "{question}"
        );
        let kept = plan.kept();
        assert!(
            kept.dry_run && kept.message.contains("Nothing was removed"),
            "{}",
            kept.message
        );
    }
}
