//! Lists that were read before, for as long as they are good.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;
use trunkline_types::{Extra, Prompt, Resource, ResourceTemplate, ServerFeature, StructuredContent, Tool};

use crate::client::Inner;
use crate::listing::{BOUNDS, Collected, Listed, Listing, collect};
use crate::output::Outputs;
use crate::{CallError, CallOptions, lock};

/// However long a server says that a list stays good, it is read again after this.
pub const MAX_TTL: Duration = Duration::from_secs(24 * 60 * 60);

/// One list. It is locked while it is read, so that whoever wants it meanwhile gets the same one.
pub(crate) type Cache<T> = tokio::sync::Mutex<Option<Kept<T>>>;

#[derive(Debug)]
pub(crate) struct Kept<T> {
    listing: Arc<Listing<T>>,
    stamp: Stamp,
    /// Until the server tells of a change where it is absent.
    until: Option<Instant>,
}

/// What had happened when a list was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    changes: u64,
    cleared: u64,
}

/// All lists of one connection.
#[derive(Debug, Default)]
pub(crate) struct Lists {
    pub(crate) tools: Cache<Tool>,
    pub(crate) resources: Cache<Resource>,
    pub(crate) templates: Cache<ResourceTemplate>,
    pub(crate) prompts: Cache<Prompt>,
    pub(crate) outputs: Mutex<Outputs>,
    cleared: AtomicU64,
}

impl Lists {
    pub(crate) fn clear(&self) {
        self.cleared.fetch_add(1, Ordering::Release);
    }
}

impl Inner {
    /// A list, from the cache as long as that is good
    /// ([caching](https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching)).
    pub(crate) async fn list<T: Listed + Outputting>(&self) -> Result<Listing<T>, CallError> {
        if !self.agreement.capabilities.has(T::feature()) {
            return Ok(Listing::default());
        }
        let mut cache = T::cache(&self.lists).lock().await;
        // Taken before the first page is asked for: a change that comes while it is read counts as later.
        let stamp = self.stamp(T::feature());
        if let Some(kept) = &*cache
            && kept.stamp == stamp
            && kept.until.is_none_or(|until| Instant::now() < until)
        {
            return Ok(Listing::clone(&kept.listing));
        }
        *cache = None;
        let mut collected = self.collect::<T>().await?;
        T::take_outputs(self, stamp.changes, &mut collected.listing);
        let listing = Arc::new(collected.listing);
        if collected.whole
            && let Some(until) = self.keep_until::<T>(collected.ttl)
        {
            *cache = Some(Kept {
                listing: Arc::clone(&listing),
                stamp,
                until,
            });
        }
        drop(cache);
        Ok(Arc::unwrap_or_clone(listing))
    }

    async fn collect<T: Listed>(&self) -> Result<Collected<T>, CallError> {
        let options = self.request_options(&CallOptions::default());
        collect(BOUNDS, |cursor| {
            let mut params = Extra::new();
            if let Some(cursor) = cursor {
                params.insert("cursor".to_owned(), cursor.into());
            }
            self.exchange(T::METHOD, params, &options, None)
        })
        .await
    }

    fn stamp(&self, feature: ServerFeature) -> Stamp {
        let changes = match feature {
            ServerFeature::Tools => &self.state.tools,
            ServerFeature::Prompts => &self.state.prompts,
            _ => &self.state.resources,
        };
        Stamp {
            changes: changes.load(Ordering::Acquire),
            cleared: self.lists.cleared.load(Ordering::Acquire),
        }
    }

    /// How long a list is kept: as long as a modern server says, and until a legacy one tells of a change,
    /// if it does that. The outer option is none where it is not kept.
    #[expect(clippy::option_option, reason = "whether to keep it, and whether there is an end")]
    fn keep_until<T: Listed>(&self, ttl: Option<Duration>) -> Option<Option<Instant>> {
        if !self.agreement.profile.cache_hints {
            return T::announced(&self.agreement.capabilities).then_some(None);
        }
        let ttl = ttl.filter(|ttl| !ttl.is_zero())?;
        Some(Some(Instant::now() + ttl.min(MAX_TTL)))
    }
}

/// What else a list is read for.
pub(crate) trait Outputting: Sized {
    fn take_outputs(_inner: &Inner, _generation: u64, _listing: &mut Listing<Self>) {}
}

impl Outputting for Resource {}
impl Outputting for ResourceTemplate {}
impl Outputting for Prompt {}

impl Outputting for Tool {
    fn take_outputs(inner: &Inner, generation: u64, listing: &mut Listing<Self>) {
        if inner.agreement.profile.structured_content != StructuredContent::Absent {
            let warnings = lock(&inner.lists.outputs).replace(generation, &listing.items);
            listing.warnings.extend(warnings);
        }
    }
}
