//! Pages of a list: cursors name the last item shown, so that a list that changes meanwhile neither
//! repeats nor loses what did not change.

use std::collections::BTreeMap;
use std::ops::Bound;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use trunkline_types::ErrorObject;

/// One page: the items, and the cursor of the next page if there is one.
pub(crate) fn page<'a, T>(
    items: &'a BTreeMap<String, T>,
    cursor: Option<&str>,
    size: usize,
) -> Result<(Vec<&'a T>, Option<String>), ErrorObject> {
    let after = match cursor {
        None => Bound::Unbounded,
        Some(cursor) => Bound::Excluded(read(cursor)?),
    };
    let mut shown = Vec::new();
    let mut rest = items.range((after, Bound::Unbounded));
    let mut last = None;
    for (key, item) in rest.by_ref().take(size) {
        shown.push(item);
        last = Some(key);
    }
    let next = last.filter(|_| rest.next().is_some()).map(|key| write(key));
    Ok((shown, next))
}

fn write(key: &str) -> String {
    URL_SAFE_NO_PAD.encode(format!("after:{key}"))
}

fn read(cursor: &str) -> Result<String, ErrorObject> {
    URL_SAFE_NO_PAD
        .decode(cursor)
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .and_then(|text| text.strip_prefix("after:").map(str::to_owned))
        .ok_or_else(|| ErrorObject::invalid_params("the cursor is not from this server; list again without one"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_follow_each_other_while_the_list_changes() {
        let mut items: BTreeMap<String, u32> = (0..5).map(|n| (format!("k{n}"), n)).collect();
        let (first, next) = page(&items, None, 2).unwrap();
        assert_eq!(first, [&0, &1]);
        let next = next.unwrap();
        items.remove("k1");
        let (second, next) = page(&items, Some(&next), 2).unwrap();
        assert_eq!(second, [&2, &3]);
        let (third, end) = page(&items, next.as_deref(), 2).unwrap();
        assert_eq!((third, end), (vec![&4], None));
    }

    #[test]
    fn foreign_cursors_are_refused() {
        let items = BTreeMap::from([("a".to_owned(), 1)]);
        for cursor in ["", "x", "!!", "e30", "YQ"] {
            assert_eq!(page(&items, Some(cursor), 2).unwrap_err().code, -32602, "{cursor}");
        }
    }
}
