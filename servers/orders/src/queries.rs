//! The reading operations: count, list, find.

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, OptionalExtension, Row, params};
use unicode_normalization::UnicodeNormalization;

use crate::answers::{Item, Order, OrderCount, OrderPage, OrderSummary};
use crate::arguments::{CountOrders, ListOrders};
use crate::cursor::{self, Filter};
use crate::{Currency, Money, Orders, OrdersError, Status};

/// Orders per page when none is asked for.
pub const DEFAULT_LIMIT: u32 = 20;
/// The most orders per page.
pub const MAX_LIMIT: u32 = 100;
/// The longest customer name, in characters.
const MAX_CUSTOMER_CHARS: usize = 100;
/// The most names an ambiguous part is answered with.
const MAX_NAMES: usize = 3;

const COUNT: &str = "
    SELECT count(*) FROM orders
    WHERE (?1 IS NULL OR status = ?1) AND (?2 IS NULL OR customer_id = ?2) AND (?3 OR is_test = 0)";

const LIST: &str = "
    SELECT o.id, c.name, o.status, o.total_minor, o.currency, o.created_at, o.is_test
    FROM orders o JOIN customers c ON c.id = o.customer_id
    WHERE (?1 IS NULL OR o.status = ?1) AND (?2 IS NULL OR o.customer_id = ?2) AND (?3 OR o.is_test = 0)
      AND o.id <= ?4
    ORDER BY o.id DESC LIMIT ?5";

const FIND: &str = "
    SELECT o.id, c.name, o.status, o.total_minor, o.currency, o.created_at, o.is_test, o.cancel_reason
    FROM orders o JOIN customers c ON c.id = o.customer_id
    WHERE o.id = ?1";

const ITEMS: &str = "
    SELECT product, quantity, unit_minor FROM order_items WHERE order_id = ?1 ORDER BY line LIMIT 100";

const CUSTOMER_BY_NAME: &str = "SELECT id, name FROM customers WHERE name = ?1";

const CUSTOMERS_BY_PART: &str = "
    SELECT id, name FROM customers WHERE instr(lower(name), lower(?1)) > 0 ORDER BY id LIMIT ?2";

impl Orders {
    /// Counts the orders that fit.
    ///
    /// # Errors
    /// A customer that is unknown, ambiguous or no name at all; or the database fails.
    pub fn count(&self, ask: &CountOrders) -> Result<OrderCount, OrdersError> {
        let connection = self.lock();
        let customer = ask
            .customer
            .as_deref()
            .map(|name| customer(&connection, name))
            .transpose()?;
        let include_test = ask.include_test.unwrap_or(false);
        let filter = Filter {
            status: ask.status,
            customer: customer.as_ref().map(|(id, _)| *id),
            include_test,
        };
        Ok(OrderCount {
            count: count(&connection, filter)?,
            status: ask.status,
            customer: customer.map(|(_, name)| name),
            include_test,
        })
    }

    /// Lists a page of the orders that fit, the highest number first.
    ///
    /// Orders placed meanwhile never shift a page: a cursor stands after an order, not after a count.
    ///
    /// # Errors
    /// A limit outside 1 to [`MAX_LIMIT`], a cursor that is malformed or belongs to another filter, a customer that is
    /// unknown, ambiguous or no name at all; or the database fails.
    pub fn list(&self, ask: &ListOrders) -> Result<OrderPage, OrdersError> {
        let limit = ask.limit.unwrap_or(DEFAULT_LIMIT);
        if !(1..=MAX_LIMIT).contains(&limit) {
            return Err(OrdersError::BadLimit { limit });
        }
        let mut connection = self.lock();
        // One snapshot for the page and the total.
        let snapshot = connection.transaction()?;
        let customer = ask
            .customer
            .as_deref()
            .map(|name| customer(&snapshot, name))
            .transpose()?;
        let filter = Filter {
            status: ask.status,
            customer: customer.map(|(id, _)| id),
            include_test: ask.include_test.unwrap_or(false),
        };
        let highest = match &ask.cursor {
            Some(cursor) => cursor::read(cursor, filter)? - 1,
            None => i64::MAX,
        };
        let mut statement = snapshot.prepare_cached(LIST)?;
        let rows = statement.query_map(
            params![
                filter.status,
                filter.customer,
                filter.include_test,
                highest,
                i64::from(limit) + 1
            ],
            summary,
        )?;
        let mut orders = rows.collect::<Result<Vec<_>, _>>()?;
        let more = orders.len() > limit as usize;
        orders.truncate(limit as usize);
        let next_cursor = orders
            .last()
            .filter(|_| more)
            .map(|last| cursor::after(last.id, filter));
        Ok(OrderPage {
            orders,
            next_cursor,
            total: count(&snapshot, filter)?,
        })
    }

    /// Reads one order with its items.
    ///
    /// # Errors
    /// [`OrdersError::UnknownOrder`] says which numbers there are; or the database fails.
    pub fn find(&self, id: i64) -> Result<Order, OrdersError> {
        find(&self.lock(), id)
    }
}

fn count(connection: &Connection, filter: Filter) -> Result<u64, OrdersError> {
    let mut statement = connection.prepare_cached(COUNT)?;
    Ok(
        statement.query_row(params![filter.status, filter.customer, filter.include_test], |row| {
            row.get(0)
        })?,
    )
}

pub(crate) fn find(connection: &Connection, id: i64) -> Result<Order, OrdersError> {
    let found = connection
        .prepare_cached(FIND)?
        .query_row([id], |row| Ok((summary(row)?, row.get::<_, Option<String>>(7)?)))
        .optional()?;
    let Some((summary, cancel_reason)) = found else {
        let range = connection.query_row("SELECT min(id), max(id) FROM orders", [], |row| {
            Ok(row.get::<_, Option<i64>>(0)?.zip(row.get::<_, Option<i64>>(1)?))
        })?;
        return Err(OrdersError::UnknownOrder { id, range });
    };
    let currency = summary.total.currency;
    let items = connection
        .prepare_cached(ITEMS)?
        .query_map([id], |row| {
            Ok(Item {
                product: row.get(0)?,
                quantity: row.get(1)?,
                unit_price: Money::new(row.get(2)?, currency),
            })
        })?
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Order {
        summary,
        items,
        cancel_reason,
    })
}

fn summary(row: &Row<'_>) -> rusqlite::Result<OrderSummary> {
    Ok(OrderSummary {
        id: row.get(0)?,
        customer: row.get(1)?,
        status: row.get(2)?,
        total: Money::new(row.get(3)?, row.get(4)?),
        created_at: row.get(5)?,
        is_test: row.get(6)?,
    })
}

/// The customer a name means: the whole name first, then a part that fits one only.
fn customer(connection: &Connection, asked: &str) -> Result<(i64, String), OrdersError> {
    // The bound comes before composing, which never makes a name longer.
    if asked.chars().count() > MAX_CUSTOMER_CHARS {
        return Err(OrdersError::BadCustomer);
    }
    let name: String = asked.split_whitespace().collect::<Vec<_>>().join(" ").nfc().collect();
    if name.is_empty() {
        return Err(OrdersError::BadCustomer);
    }
    let read = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?));
    if let Some(found) = connection
        .prepare_cached(CUSTOMER_BY_NAME)?
        .query_row([&name], read)
        .optional()?
    {
        return Ok(found);
    }
    let mut found = connection
        .prepare_cached(CUSTOMERS_BY_PART)?
        .query_map(params![name, MAX_NAMES + 1], read)?
        .collect::<Result<Vec<_>, _>>()?;
    match found.len() {
        0 => Err(OrdersError::UnknownCustomer { asked: name }),
        1 => Ok(found.remove(0)),
        number => {
            let names = found.into_iter().take(MAX_NAMES).map(|(_, name)| name).collect();
            Err(OrdersError::AmbiguousCustomer {
                asked: name,
                names,
                more: number > MAX_NAMES,
            })
        }
    }
}

impl ToSql for Status {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.as_str().into())
    }
}

impl FromSql for Status {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        value.as_str()?.parse().map_err(|()| FromSqlError::InvalidType)
    }
}

impl FromSql for Currency {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        value.as_str()?.parse().map_err(|()| FromSqlError::InvalidType)
    }
}

#[cfg(test)]
mod tests;
