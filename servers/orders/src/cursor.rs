//! Where a page ended: the number of its last order, bound to the filter it was listed with.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use crate::{OrdersError, Status};

/// Longer texts are not looked at.
const MAX_CHARS: usize = 200;

/// The filter of a listing, with the customer already found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Filter {
    pub(crate) status: Option<Status>,
    pub(crate) customer: Option<i64>,
    pub(crate) include_test: bool,
}

impl Filter {
    fn digest(self) -> String {
        let Self {
            status,
            customer,
            include_test,
        } = self;
        let text = format!("{}|{customer:?}|{include_test}", status.map_or("", Status::as_str));
        Sha256::digest(text)
            .iter()
            .take(8)
            .fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"))
    }
}

/// The cursor after an order.
pub(crate) fn after(id: i64, filter: Filter) -> String {
    URL_SAFE_NO_PAD.encode(format!("1.{id}.{}", filter.digest()))
}

/// The order a cursor stands after.
pub(crate) fn read(cursor: &str, filter: Filter) -> Result<i64, OrdersError> {
    let malformed = || OrdersError::BadCursor {
        reason: "it is not one that this server gave out",
    };
    if cursor.len() > MAX_CHARS {
        return Err(malformed());
    }
    let bytes = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| malformed())?;
    let text = String::from_utf8(bytes).map_err(|_| malformed())?;
    let parts: Vec<&str> = text.split('.').collect();
    let ["1", id, digest] = parts[..] else {
        return Err(malformed());
    };
    let id: i64 = id.parse().map_err(|_| malformed())?;
    if id < 1 {
        return Err(malformed());
    }
    if digest != filter.digest() {
        return Err(OrdersError::BadCursor {
            reason: "it belongs to a listing with another filter",
        });
    }
    Ok(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Filter = Filter {
        status: None,
        customer: None,
        include_test: false,
    };

    #[test]
    fn a_cursor_comes_back_under_its_own_filter_only() {
        let filters = [
            ALL,
            Filter {
                status: Some(Status::Paid),
                ..ALL
            },
            Filter {
                customer: Some(1),
                ..ALL
            },
            Filter {
                include_test: true,
                ..ALL
            },
        ];
        for (i, left) in filters.into_iter().enumerate() {
            for (j, right) in filters.into_iter().enumerate() {
                assert_eq!(read(&after(7, left), right).is_ok(), i == j, "{left:?} {right:?}");
            }
        }
        for id in [1, 42, i64::MAX] {
            assert_eq!(read(&after(id, ALL), ALL), Ok(id));
        }
    }

    #[test]
    fn anything_else_is_malformed() {
        let encode = |text: &str| URL_SAFE_NO_PAD.encode(text);
        let digest = ALL.digest();
        let good = after(7, ALL);
        for cursor in [
            String::new(),
            "2".into(),
            "다음".into(),
            "' OR 1=1 --".into(),
            good[1..].into(),
            format!("{good}="),
            format!(" {good}"),
            encode(&format!("1.0.{digest}")),
            encode(&format!("1.-5.{digest}")),
            encode(&format!("1.9223372036854775808.{digest}")),
            encode(&format!("2.7.{digest}")),
            encode(&format!("1.7.{digest}.x")),
            encode("1.7"),
            URL_SAFE_NO_PAD.encode([0xff, 0xfe]),
            "A".repeat(100_000),
        ] {
            let error = read(&cursor, ALL).unwrap_err();
            assert!(
                error.to_string().contains("not one that this server gave out"),
                "{error}"
            );
        }
    }
}
