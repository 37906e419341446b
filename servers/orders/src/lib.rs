//! The orders server that ships with the command: narrow tools over SQLite.
//!
//! Every question and every change is one fixed statement with bound parameters. There is no way to pass SQL text in:
//! that is the accident this project exists to prevent.
//!
//! * [`Orders`] is the database: count, list, find, cancel, purge test orders, report a day.
//! * [`arguments`] and [`answers`] are what tools take and return; their field comments are what a model reads.
//! * [`Role`] says who may do what. It is checked by the server, not by [`Orders`].
//! * [`server()`] is all of this as an MCP server.
//!
//! ```
//! use trunkline_orders::{Orders, arguments::CountOrders};
//! use trunkline_orders::Status;
//!
//! let orders = Orders::sample()?;
//! let paid = orders.count(&CountOrders { status: Some(Status::Paid), ..CountOrders::default() })?;
//! assert!(paid.count > 0);
//!
//! let first = orders.find(1)?;
//! assert_eq!(first.summary.id, 1);
//! # Ok::<(), trunkline_orders::OrdersError>(())
//! ```

pub mod answers;
pub mod arguments;
mod cancel;
mod cursor;
mod database;
mod error;
mod money;
mod purge;
mod queries;
mod recent;
mod report;
mod role;
mod sample;
mod server;
mod status;

pub use database::{Orders, SCHEMA};
pub use error::OrdersError;
pub use money::{Currency, Money};
pub use purge::MAX_PURGE;
pub use queries::{DEFAULT_LIMIT, MAX_LIMIT};
pub use report::{DailyReport, StatusCount};
pub use role::{Right, Role, UnknownRole};
pub use server::server;
pub use status::Status;
