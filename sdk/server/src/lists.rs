//! Lists as they were written: asking for one again costs a copy of its bytes.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use trunkline_types::{JsonText, Method, Revision};

/// Which list, in the shape of which revision.
pub(crate) type ListOf = (Method, Revision);

/// The pages that were asked for since something was last registered: at most all of each list, once for each
/// revision.
#[derive(Default)]
pub(crate) struct Lists(Mutex<BTreeMap<ListOf, Pages>>);

#[derive(Default)]
struct Pages {
    first: Option<Arc<JsonText>>,
    /// By the cursor that a page here named as that of the next one: no other cursor takes room.
    further: BTreeMap<String, Option<Arc<JsonText>>>,
}

impl Lists {
    /// The page behind a cursor, if it was written before.
    pub(crate) fn get(&self, list: ListOf, cursor: Option<&str>) -> Option<JsonText> {
        let page = {
            let lists = self.lock();
            let pages = lists.get(&list)?;
            match cursor {
                None => pages.first.clone(),
                Some(cursor) => pages.further.get(cursor).cloned().flatten(),
            }
        };
        // A page may be large: others need not wait for its copy.
        page.map(|page| (*page).clone())
    }

    /// Keeps a page, and the cursor of the one that follows it.
    pub(crate) fn keep(&self, list: ListOf, cursor: Option<&str>, page: &JsonText, next: Option<String>) {
        let page = Arc::new(page.clone());
        let mut lists = self.lock();
        let pages = lists.entry(list).or_default();
        let slot = match cursor {
            None => &mut pages.first,
            Some(cursor) => match pages.further.get_mut(cursor) {
                Some(slot) => slot,
                None => return,
            },
        };
        *slot = Some(page);
        if let Some(next) = next {
            pages.further.entry(next).or_default();
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ListOf, Pages>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is registered anew has not been asked for.
impl Clone for Lists {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl fmt::Debug for Lists {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lists")
            .field("kept", &self.lock().len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_that_follow_each_other_are_kept() {
        let lists = Lists::default();
        let tools = (Method::ListTools, Revision::LATEST);
        let page = |text: &str| JsonText::write(&text).unwrap();
        lists.keep(tools, Some("a"), &page("2"), Some("b".to_owned()));
        assert_eq!(lists.get(tools, Some("a")), None, "nothing named it");
        lists.keep(tools, None, &page("1"), Some("a".to_owned()));
        assert_eq!(lists.get(tools, Some("a")), None, "it was not written yet");
        lists.keep(tools, Some("a"), &page("2"), None);
        assert_eq!(lists.get(tools, None), Some(page("1")));
        assert_eq!(lists.get(tools, Some("a")), Some(page("2")));
        assert_eq!(lists.get((Method::ListPrompts, Revision::LATEST), None), None);
        assert_eq!(lists.clone().get(tools, None), None);
    }
}
