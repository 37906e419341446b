//! What can go wrong. Every text names what, and what to do next; a model or a person reads it.

use std::fmt;

use crate::queries::MAX_LIMIT;
use crate::{Money, Status};

/// Why an operation on orders failed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum OrdersError {
    /// No order has this number.
    UnknownOrder {
        /// The number asked for.
        id: i64,
        /// The lowest and the highest number there is; none in an empty database.
        range: Option<(i64, i64)>,
    },
    /// No customer has this name.
    UnknownCustomer {
        /// The name asked for.
        asked: String,
    },
    /// A part of a name fits several customers.
    AmbiguousCustomer {
        /// The part asked for.
        asked: String,
        /// Up to three full names that contain it.
        names: Vec<String>,
        /// Whether there are more than those.
        more: bool,
    },
    /// A customer name that is empty or too long.
    BadCustomer,
    /// A page size outside 1 to 100.
    BadLimit {
        /// The size asked for.
        limit: u32,
    },
    /// A cursor that no page gave out for this listing.
    BadCursor {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// An order that is too far along, or cancelled already.
    NotCancellable {
        /// The order.
        id: i64,
        /// Where it stands.
        status: Status,
    },
    /// An order that is no longer what was shown.
    OrderChanged {
        /// The order.
        id: i64,
        /// Status and total when it was shown.
        shown: (Status, Money),
        /// Status and total now.
        now: (Status, Money),
    },
    /// A reason that is too long to keep.
    ReasonTooLong {
        /// Characters given.
        chars: usize,
        /// Characters kept at most.
        limit: usize,
    },
    /// A purge without the fingerprint of a dry run.
    NoFingerprint,
    /// The test orders are no longer those of the dry run.
    PurgeChanged,
    /// A text that is not a day of the calendar.
    BadDay {
        /// The text.
        asked: String,
    },
    /// A file that is not an orders database.
    NotOrders {
        /// The file.
        path: String,
        /// How that shows.
        reason: String,
    },
    /// A sample was to be written into a file that already holds something.
    NotEmpty {
        /// The file.
        path: String,
    },
    /// Another program holds the database.
    Busy,
    /// The database cannot be written.
    ReadOnly,
    /// The database failed in another way.
    Storage {
        /// What it said.
        reason: String,
    },
}

impl fmt::Display for OrdersError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownOrder { id, range: None } => {
                write!(f, "there is no order {id}: the database holds no orders.")
            }
            Self::UnknownOrder {
                id,
                range: Some((lowest, highest)),
            } => write!(
                f,
                "there is no order {id}. Order numbers lie between {lowest} and {highest}; list_orders shows which exist."
            ),
            Self::UnknownCustomer { asked } => write!(
                f,
                "no customer is called {asked:?}. Give the full name or a part of it; list_orders without a customer shows names."
            ),
            Self::AmbiguousCustomer { asked, names, more } => {
                let names: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
                let more = if *more { " and others" } else { "" };
                write!(
                    f,
                    "{asked:?} fits several customers: {}{more}. Give the full name of one.",
                    names.join(", ")
                )
            }
            Self::BadCustomer => {
                write!(
                    f,
                    "a customer name has 1 to 100 characters. Leave `customer` out for all customers."
                )
            }
            Self::BadLimit { limit } => {
                write!(
                    f,
                    "`limit` is {limit}; a page has 1 to {MAX_LIMIT} orders. Use `cursor` to go on after a page."
                )
            }
            Self::BadCursor { reason } => write!(
                f,
                "`cursor` cannot be used: {reason}. Give the `next_cursor` of the page before unchanged, or leave it out for the first page."
            ),
            Self::NotCancellable {
                id,
                status: Status::Cancelled,
            } => {
                write!(f, "order {id} is already cancelled; nothing is left to do.")
            }
            Self::NotCancellable { id, status } => write!(
                f,
                "order {id} is {status} and can no longer be cancelled: only orders that are new or paid can. A {status} order has to come back as a return, which is not handled here."
            ),
            Self::OrderChanged { id, shown, now } => write!(
                f,
                "order {id} changed since it was shown: it was {} over {}, it is {} over {} now. Nothing was done; read it again with get_order.",
                shown.0, shown.1, now.0, now.1
            ),
            Self::ReasonTooLong { chars, limit } => {
                write!(
                    f,
                    "the reason has {chars} characters; at most {limit} are kept. Shorten it. Nothing was done."
                )
            }
            Self::NoFingerprint => write!(
                f,
                "to remove test orders, make a dry run first and give its `fingerprint` back with `dry_run` false. Nothing was removed."
            ),
            Self::PurgeChanged => write!(
                f,
                "the fingerprint does not belong to the test orders there are now: they changed since the dry run, or it was copied wrongly. Nothing was removed; make another dry run."
            ),
            Self::BadDay { asked } => {
                write!(
                    f,
                    "{asked:?} is not a day. Write it as year-month-day, for example 2026-10-20."
                )
            }
            Self::NotOrders { path, reason } => write!(
                f,
                "{path:?} is not an orders database: {reason}. It was left as it is; name another file, or one that does not exist yet to start a new database."
            ),
            Self::NotEmpty { path } => {
                write!(
                    f,
                    "{path:?} already holds something; the sample is only written into a new file."
                )
            }
            Self::Busy => {
                write!(
                    f,
                    "another program is writing to the orders database. Nothing was done; try again in a moment."
                )
            }
            Self::ReadOnly => {
                write!(
                    f,
                    "the orders database cannot be written; check the rights of the file and its folder. Nothing was done."
                )
            }
            Self::Storage { reason } => write!(f, "the orders database failed: {reason}."),
        }
    }
}

impl std::error::Error for OrdersError {}

impl From<rusqlite::Error> for OrdersError {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode::{DatabaseBusy, DatabaseLocked, ReadOnly};
        match error.sqlite_error_code() {
            Some(DatabaseBusy | DatabaseLocked) => Self::Busy,
            Some(ReadOnly) => Self::ReadOnly,
            _ => Self::Storage {
                reason: error.to_string().chars().take(300).collect(),
            },
        }
    }
}
