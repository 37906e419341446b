//! The sample: sixty orders of twelve customers, computed without a clock or chance.

use rusqlite::{Connection, params};

use crate::{Currency, OrdersError, Status};

const CUSTOMERS: [(&str, &str, Currency); 12] = [
    ("김민지", "KR", Currency::Krw),
    ("이서준", "KR", Currency::Krw),
    ("박지우", "KR", Currency::Krw),
    ("최하은", "KR", Currency::Krw),
    ("Alice Johnson", "US", Currency::Usd),
    ("Daniel Miller", "US", Currency::Usd),
    ("Carlos García", "ES", Currency::Eur),
    ("Hannah Schmidt", "DE", Currency::Eur),
    ("Chloé Dubois", "FR", Currency::Eur),
    ("田中 花子", "JP", Currency::Jpy),
    ("佐藤 健", "JP", Currency::Jpy),
    (TEST_CUSTOMER, "KR", Currency::Krw),
];
const TEST_CUSTOMER: &str = "QA 테스트";

/// Name, won, cents, yen.
const PRODUCTS: [(&str, i64, i64, i64); 7] = [
    ("무선 키보드", 59_000, 4490, 6500),
    ("USB-C 케이블", 9_900, 790, 1100),
    ("Desk lamp", 42_000, 3290, 4800),
    ("노트북 거치대", 35_000, 2750, 3900),
    ("Mechanical pencil", 7_500, 595, 850),
    ("보온 텀블러", 28_000, 2190, 3200),
    ("Monitor arm", 129_000, 9990, 14_800),
];

const ORDERS: usize = 60;

/// Fills an empty database.
pub(crate) fn fill(connection: &mut Connection) -> Result<(), OrdersError> {
    let transaction = connection.transaction()?;
    for (index, (name, country, _)) in CUSTOMERS.iter().enumerate() {
        transaction
            .prepare_cached("INSERT INTO customers (id, name, country) VALUES (?1, ?2, ?3)")?
            .execute(params![index + 1, name, country])?;
    }
    for index in 0..ORDERS {
        insert(&transaction, index)?;
    }
    transaction.commit()?;
    Ok(())
}

fn insert(connection: &Connection, index: usize) -> Result<(), OrdersError> {
    let id = index + 1;
    let is_test = index % 8 == 5;
    // The last customer exists for test orders only.
    let customer = if is_test {
        CUSTOMERS.len() - 1
    } else {
        index * 7 % (CUSTOMERS.len() - 1)
    };
    let currency = CUSTOMERS[customer].2;
    let items: Vec<(&str, i64, i64)> = (0..=index % 3)
        .map(|line| {
            let (product, won, cents, yen) = PRODUCTS[(index + 2 * line) % PRODUCTS.len()];
            let unit = match currency {
                Currency::Krw => won,
                Currency::Usd | Currency::Eur => cents,
                Currency::Jpy => yen,
            };
            let quantity = if (index + line).is_multiple_of(4) { 2 } else { 1 };
            (product, quantity, unit)
        })
        .collect();
    let total: i64 = items.iter().map(|(_, quantity, unit)| quantity * unit).sum();
    // Three orders a day from the first of October on.
    let created_at = format!(
        "2026-10-{:02}T{:02}:{:02}:00Z",
        1 + index / 3,
        8 + index % 3 * 4,
        index * 7 % 60
    );
    connection
        .prepare_cached(
            "INSERT INTO orders (id, customer_id, status, total_minor, currency, created_at, is_test)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![
            id,
            customer + 1,
            status(index),
            total,
            currency.code(),
            created_at,
            is_test
        ])?;
    for (line, (product, quantity, unit)) in items.into_iter().enumerate() {
        connection
            .prepare_cached(
                "INSERT INTO order_items (order_id, line, product, quantity, unit_minor) VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![id, line + 1, product, quantity, unit])?;
    }
    Ok(())
}

/// Older orders are further along; every ninth was called off. Orders 2 and 3 were never paid: among the first
/// ones, too, there is something to cancel.
fn status(index: usize) -> Status {
    match index {
        1 | 2 => Status::New,
        _ if index % 9 == 4 => Status::Cancelled,
        0..24 => Status::Delivered,
        24..38 => Status::Shipped,
        38..50 => Status::Paid,
        _ => Status::New,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Orders;

    #[test]
    fn the_sample_has_every_status_currency_and_customer() {
        let orders = Orders::sample().unwrap();
        let all: Vec<_> = (1..=60).map(|id| orders.find(id).unwrap().summary).collect();
        for status in Status::ALL {
            assert!(
                all.iter().any(|order| order.status == status && !order.is_test),
                "{status}"
            );
        }
        for early in [2, 3] {
            let order = &all[early - 1];
            assert!(order.status.can_be_cancelled() && !order.is_test, "order {early}");
        }
        for currency in Currency::ALL {
            assert!(all.iter().any(|order| order.total.currency == currency), "{currency:?}");
        }
        for (name, ..) in CUSTOMERS {
            assert!(all.iter().any(|order| order.customer == name), "{name}");
        }
        assert!(
            all.iter()
                .all(|order| order.is_test == (order.customer == TEST_CUSTOMER))
        );
        assert!(
            all.windows(2).all(|pair| pair[0].created_at < pair[1].created_at),
            "numbers grow with time"
        );
    }
}
