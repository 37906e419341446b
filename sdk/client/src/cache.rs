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

/// One list. It is locked while it is read; whoever wants it meanwhile gets what comes.
#[derive(Debug)]
pub(crate) struct Cache<T> {
    last: tokio::sync::Mutex<Option<Last<T>>>,
    /// How often it was read.
    reads: AtomicU64,
}

impl<T> Default for Cache<T> {
    fn default() -> Self {
        Self {
            last: tokio::sync::Mutex::default(),
            reads: AtomicU64::new(0),
        }
    }
}

/// What came of the last reading of a list.
#[derive(Debug)]
struct Last<T> {
    outcome: Result<Arc<Listing<T>>, CallError>,
    stamp: Stamp,
    keep: Keep,
}

/// What had happened when a list was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    changes: u64,
    cleared: u64,
}

/// How long a list is good.
#[derive(Debug, Clone, Copy)]
enum Keep {
    /// For whoever waited for it.
    No,
    Until(Instant),
    /// Until the server tells of a change.
    UntilChanged,
}

impl Keep {
    fn is_good(self) -> bool {
        match self {
            Self::No => false,
            Self::Until(until) => Instant::now() < until,
            Self::UntilChanged => true,
        }
    }
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
    pub(crate) async fn list<T: Listed>(&self) -> Result<Listing<T>, CallError> {
        if !self.agreement.capabilities.has(T::feature()) {
            return Ok(Listing::default());
        }
        let cache = T::cache(&self.lists);
        let reads = cache.reads.load(Ordering::Acquire);
        let mut last = cache.last.lock().await;
        // Taken before the first page is asked for: a change that comes while it is read counts as later.
        let stamp = self.stamp(T::feature());
        let came_meanwhile = cache.reads.load(Ordering::Acquire) > reads;
        if let Some(last) = &*last
            && last.stamp == stamp
            && (came_meanwhile || last.keep.is_good())
        {
            return last.outcome.clone().map(|listing| Listing::clone(&listing));
        }
        let read = self.read_list(stamp).await;
        let outcome = read.outcome.clone();
        *last = Some(read);
        cache.reads.fetch_add(1, Ordering::Release);
        drop(last);
        outcome.map(|listing| Listing::clone(&listing))
    }

    async fn read_list<T: Listed>(&self, stamp: Stamp) -> Last<T> {
        let options = self.request_options(&CallOptions::default());
        let collected = collect(BOUNDS, self.mirrors(), |cursor| {
            let mut params = Extra::new();
            if let Some(cursor) = cursor {
                params.insert("cursor".to_owned(), cursor.into());
            }
            self.exchange(T::METHOD, params, &options)
        });
        match collected.await {
            Ok(mut collected) => {
                T::take_outputs(self, stamp.changes, &mut collected.listing);
                Last {
                    keep: self.keep(&collected),
                    outcome: Ok(Arc::new(collected.listing)),
                    stamp,
                }
            }
            Err(error) => Last {
                outcome: Err(error),
                stamp,
                keep: Keep::No,
            },
        }
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

    /// As long as a modern server says, and until a legacy one tells of a change, if it does that.
    fn keep<T: Listed>(&self, collected: &Collected<T>) -> Keep {
        match collected.until {
            _ if !collected.whole => Keep::No,
            Some(until) if self.agreement.profile.cache_hints => Keep::Until(until),
            _ if !self.agreement.profile.cache_hints && T::announced(&self.agreement.capabilities) => {
                Keep::UntilChanged
            }
            _ => Keep::No,
        }
    }

    /// Takes the output schemas out of a list of tools.
    pub(crate) fn take_outputs(&self, generation: u64, listing: &mut Listing<Tool>) {
        if self.agreement.profile.structured_content != StructuredContent::Absent {
            let warnings = lock(&self.lists.outputs).replace(generation, &listing.items);
            listing.warnings.extend(warnings);
        }
    }
}
