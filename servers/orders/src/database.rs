//! Opening a database: a new one gets the schema, a foreign file is refused untouched.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use crate::{OrdersError, sample};

/// The schema, as SQL. Clients may read it; nothing accepts SQL from them.
pub const SCHEMA: &str = include_str!("schema.sql");

/// Marks a file as ours in its header ("TrkO").
const APPLICATION_ID: i32 = 0x5472_6B4F;
const SCHEMA_VERSION: i32 = 1;

/// How long a write waits for another program that holds the file.
const BUSY_WAIT: Duration = Duration::from_secs(2);

/// Names every column that is used, so that a file that lacks one is refused when it is opened and not in a call.
const ALL_COLUMNS: &str = "
    SELECT c.id, c.name, c.country, o.id, o.customer_id, o.status, o.total_minor, o.currency, o.created_at,
           o.is_test, o.cancel_reason, i.order_id, i.line, i.product, i.quantity, i.unit_minor
    FROM orders o, customers c, order_items i LIMIT 0";

/// An orders database. Clones share it.
///
/// Every operation takes the one connection for as long as a few short statements need. They block: async code with
/// a database on a slow disk runs them on a blocking thread.
///
/// ```
/// use trunkline_orders::{Orders, arguments::ListOrders};
///
/// let orders = Orders::sample()?;
/// let page = orders.list(&ListOrders { limit: Some(5), ..ListOrders::default() })?;
/// assert_eq!(page.orders.len(), 5);
/// assert!(page.next_cursor.is_some());
/// # Ok::<(), trunkline_orders::OrdersError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Orders {
    connection: Arc<Mutex<Connection>>,
}

/// What a file holds.
enum Content {
    Nothing,
    Orders,
    Foreign(String),
}

impl Orders {
    /// A database in memory with about sixty orders of a dozen customers, always the same.
    ///
    /// # Errors
    /// [`OrdersError::Storage`] when the database cannot be made.
    pub fn sample() -> Result<Self, OrdersError> {
        let mut connection = Connection::open_in_memory()?;
        prepare(&connection)?;
        create(&mut connection)?;
        sample::fill(&mut connection)?;
        Ok(Self::from(connection))
    }

    /// A new file with the orders of [`sample`](Self::sample).
    ///
    /// # Errors
    /// [`OrdersError::NotEmpty`] when the file already holds something; it is left as it is.
    pub fn sample_at(path: impl AsRef<Path>) -> Result<Self, OrdersError> {
        let path = path.as_ref();
        let mut connection = connect(path)?;
        match content(&connection)? {
            Content::Nothing => create(&mut connection)?,
            Content::Orders | Content::Foreign(_) => {
                return Err(OrdersError::NotEmpty {
                    path: path.display().to_string(),
                });
            }
        }
        sample::fill(&mut connection)?;
        Ok(Self::from(connection))
    }

    /// Opens a file. A new or empty one becomes an orders database without orders.
    ///
    /// # Errors
    /// [`OrdersError::NotOrders`] when the file is something else; it is left as it is.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OrdersError> {
        let path = path.as_ref();
        let mut connection = connect(path)?;
        match content(&connection)? {
            Content::Nothing => create(&mut connection)?,
            Content::Orders => {}
            Content::Foreign(reason) => return Err(not_orders(path, reason)),
        }
        Ok(Self::from(connection))
    }

    /// The connection, for one operation. A panic while it was held has rolled its transaction back, so it is sound.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl From<Connection> for Orders {
    fn from(connection: Connection) -> Self {
        Self {
            connection: Arc::new(Mutex::new(connection)),
        }
    }
}

fn not_orders(path: &Path, reason: impl Into<String>) -> OrdersError {
    OrdersError::NotOrders {
        path: path.display().to_string(),
        reason: reason.into(),
    }
}

fn connect(path: &Path) -> Result<Connection, OrdersError> {
    if path.is_dir() {
        return Err(not_orders(path, "it is a folder"));
    }
    // Without the URI flag a path that begins with "file:" is a path like any other.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)
        .map_err(|error| not_orders(path, format!("it cannot be opened ({error})")))?;
    prepare(&connection)?;
    Ok(connection)
}

fn prepare(connection: &Connection) -> Result<(), OrdersError> {
    connection.busy_timeout(BUSY_WAIT)?;
    // A file from elsewhere may carry triggers and views: nothing of it runs.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, true)?;
    Ok(())
}

fn content(connection: &Connection) -> Result<Content, OrdersError> {
    let number = |pragma: &str| connection.query_row(pragma, [], |row| row.get::<_, i32>(0));
    let id = match number("PRAGMA application_id") {
        Ok(id) => id,
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) => {
            return Ok(Content::Foreign("it is not an SQLite file".to_owned()));
        }
        Err(error) => return Err(error.into()),
    };
    let objects = number("SELECT count(*) FROM sqlite_schema")?;
    if id == 0 && objects == 0 {
        return Ok(Content::Nothing);
    }
    if id != APPLICATION_ID {
        return Ok(Content::Foreign("it is an SQLite file of another program".to_owned()));
    }
    let version = number("PRAGMA user_version")?;
    if version != SCHEMA_VERSION {
        let reason = format!("its schema has version {version}, this program knows version {SCHEMA_VERSION}");
        return Ok(Content::Foreign(reason));
    }
    if let Err(error) = connection.prepare(ALL_COLUMNS) {
        return Ok(Content::Foreign(format!(
            "its tables are not the expected ones ({error})"
        )));
    }
    Ok(Content::Orders)
}

fn create(connection: &mut Connection) -> Result<(), OrdersError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have been faster.
    if matches!(content(&transaction)?, Content::Nothing) {
        transaction.execute_batch(SCHEMA)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", SCHEMA_VERSION)?;
    }
    transaction.commit()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::CountOrders;
    use std::fs;
    use tempfile::tempdir;

    fn count(orders: &Orders) -> u64 {
        orders
            .count(&CountOrders {
                include_test: Some(true),
                ..CountOrders::default()
            })
            .unwrap()
            .count
    }

    #[test]
    fn a_new_file_gets_the_schema_and_is_recognised_again() {
        let folder = tempdir().unwrap();
        let path = folder.path().join("주문.db");
        assert_eq!(count(&Orders::open(&path).unwrap()), 0);
        assert_eq!(count(&Orders::open(&path).unwrap()), 0);
    }

    #[test]
    fn an_empty_file_counts_as_new() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(count(&Orders::open(file.path()).unwrap()), 0);
    }

    #[test]
    fn a_sample_is_written_only_into_a_new_file_and_equals_the_one_in_memory() {
        let folder = tempdir().unwrap();
        let path = folder.path().join("sample.db");
        let written = Orders::sample_at(&path).unwrap();
        let memory = Orders::sample().unwrap();
        assert_eq!(count(&written), count(&memory));
        for id in 1..=60 {
            assert_eq!(written.find(id).unwrap(), memory.find(id).unwrap());
        }
        drop(written);
        assert!(matches!(Orders::sample_at(&path), Err(OrdersError::NotEmpty { .. })));
        assert_eq!(
            count(&Orders::open(&path).unwrap()),
            count(&memory),
            "what was written stays"
        );
    }

    #[test]
    fn foreign_files_are_refused_and_left_as_they_are() {
        let folder = tempdir().unwrap();
        for (name, bytes) in [
            ("short.db", b"hello".to_vec()),
            ("text.db", b"id,total\n1,20\n".repeat(1000)),
            ("cut.db", b"SQLite format 3\0".to_vec()),
        ] {
            let path = folder.path().join(name);
            fs::write(&path, &bytes).unwrap();
            let error = Orders::open(&path).unwrap_err();
            assert!(matches!(&error, OrdersError::NotOrders { .. }), "{name}: {error:?}");
            assert!(error.to_string().contains(name), "{error}");
            assert_eq!(fs::read(&path).unwrap(), bytes, "{name}");
        }
    }

    #[test]
    fn an_sqlite_file_of_another_program_is_refused_and_left_as_it_is() {
        let folder = tempdir().unwrap();
        let path = folder.path().join("notes.db");
        let other = Connection::open(&path).unwrap();
        other
            .execute_batch("CREATE TABLE orders (id INTEGER); INSERT INTO orders VALUES (1)")
            .unwrap();
        drop(other);
        let before = fs::read(&path).unwrap();
        assert!(Orders::open(&path).unwrap_err().to_string().contains("another program"));
        for attempt in [Orders::open(&path), Orders::sample_at(&path)] {
            let text = attempt.unwrap_err().to_string();
            assert!(text.contains("notes.db"), "{text}");
        }
        assert_eq!(fs::read(&path).unwrap(), before);
    }

    #[test]
    fn another_version_and_missing_columns_are_named() {
        let folder = tempdir().unwrap();
        let path = folder.path().join("later.db");
        drop(Orders::open(&path).unwrap());
        let alter = |sql: &str| Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        alter("PRAGMA user_version = 2");
        assert!(Orders::open(&path).unwrap_err().to_string().contains("version 2"));
        alter("PRAGMA user_version = 1; ALTER TABLE orders DROP COLUMN cancel_reason");
        assert!(Orders::open(&path).unwrap_err().to_string().contains("cancel_reason"));
    }

    #[test]
    fn folders_and_missing_folders_are_clear_errors() {
        let folder = tempdir().unwrap();
        let error = Orders::open(folder.path()).unwrap_err().to_string();
        assert!(error.contains("folder"), "{error}");
        let error = Orders::open(folder.path().join("none").join("x.db"))
            .unwrap_err()
            .to_string();
        assert!(error.contains("cannot be opened"), "{error}");
    }

    #[test]
    fn triggers_of_a_prepared_file_do_not_run() {
        let folder = tempdir().unwrap();
        let path = folder.path().join("trap.db");
        drop(Orders::sample_at(&path).unwrap());
        Connection::open(&path)
            .unwrap()
            .execute_batch(
                "CREATE TRIGGER trap AFTER UPDATE ON orders BEGIN DELETE FROM order_items; DELETE FROM orders; END",
            )
            .unwrap();
        let orders = Orders::open(&path).unwrap();
        let before = count(&orders);
        let order = orders.find(60).unwrap();
        orders.cancel(&order, None).unwrap();
        assert_eq!(count(&orders), before);
    }

    #[test]
    fn a_writer_elsewhere_makes_a_change_busy_and_not_wrong() {
        let folder = tempdir().unwrap();
        let path = folder.path().join("shared.db");
        let orders = Orders::sample_at(&path).unwrap();
        orders.lock().busy_timeout(Duration::from_millis(50)).unwrap();
        let other = Connection::open(&path).unwrap();
        other.execute_batch("BEGIN EXCLUSIVE").unwrap();
        let order = Orders::sample().unwrap().find(60).unwrap();
        assert_eq!(orders.cancel(&order, None), Err(OrdersError::Busy));
        other.execute_batch("ROLLBACK").unwrap();
        assert!(orders.cancel(&order, None).unwrap().cancelled);
    }

    #[test]
    fn the_schema_refuses_what_the_types_cannot_hold() {
        let orders = Orders::sample().unwrap();
        let connection = orders.lock();
        for wrong in [
            "UPDATE orders SET status = 'open' WHERE id = 1",
            "UPDATE orders SET total_minor = -1 WHERE id = 1",
            "UPDATE orders SET total_minor = 1.5 WHERE id = 1",
            "UPDATE orders SET currency = 'GBP' WHERE id = 1",
            "UPDATE orders SET created_at = 'yesterday' WHERE id = 1",
            "UPDATE orders SET is_test = 2 WHERE id = 1",
            "UPDATE orders SET customer_id = 999 WHERE id = 1",
            "UPDATE customers SET name = '' WHERE id = 1",
            "UPDATE order_items SET quantity = 0 WHERE order_id = 1",
            "DELETE FROM orders WHERE id = 1",
        ] {
            assert!(connection.execute(wrong, []).is_err(), "{wrong}");
        }
    }

    #[test]
    fn clones_share_one_database_across_threads() {
        let orders = Orders::sample().unwrap();
        let threads: Vec<_> = (51..=60)
            .map(|id| {
                let orders = orders.clone();
                std::thread::spawn(move || orders.find(id).and_then(|order| orders.cancel(&order, None)).is_ok())
            })
            .collect();
        let cancelled = threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .filter(|done| *done)
            .count();
        let still_open = (51..=60)
            .filter(|id| orders.find(*id).unwrap().summary.status.can_be_cancelled())
            .count();
        assert!(cancelled > 0);
        assert_eq!(still_open, 0);
    }
}
