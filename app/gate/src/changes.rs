//! A server's list of tools that changes while it is in use.
//!
//! What a person or a rule said yes to is a definition. So where a server tells that its list has changed, the list is
//! read again before the next call: once, however many notices came, and by one caller, however many wait. Where it
//! fails, it fails for all of them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use trunkline_client::types::SubscriptionFilter;
use trunkline_client::{CallError, Client, Notice, NoticeStream, Subscription};

use crate::catalogue::{Catalogue, Trust};

/// How long a server may take to say which changes it tells of. One that does not say is used all the same.
const LISTENING: Duration = Duration::from_secs(2);

/// What a server told of its list of tools since that was read, and what came of it.
#[derive(Debug)]
pub(crate) struct Changes {
    told: tokio::sync::Mutex<Told>,
    /// How often the list could not be read again.
    failures: AtomicU64,
    /// The list as it was read again; none as long as the first one counts.
    current: Mutex<Option<Arc<Catalogue>>>,
}

#[derive(Debug)]
struct Told {
    notices: NoticeStream,
    /// Keeps the notices of a server coming that has to be asked for them.
    _subscription: Option<Subscription>,
    stale: bool,
    /// Why the list could not be read the last time.
    failure: Option<CallError>,
}

impl Changes {
    /// Listens from the beginning of the connection.
    pub(crate) fn new(client: &Client, subscription: Option<Subscription>) -> Self {
        Self {
            told: tokio::sync::Mutex::new(Told {
                notices: client.notices(),
                _subscription: subscription,
                stale: false,
                failure: None,
            }),
            failures: AtomicU64::new(0),
            current: Mutex::default(),
        }
    }

    /// The tools by now; none as long as those of the beginning count.
    pub(crate) fn current(&self) -> Option<Arc<Catalogue>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads the list again if the server told of a change. Until that is done the list counts as changed.
    pub(crate) async fn refresh(
        &self,
        client: &Client,
        server: &str,
        trust: Trust,
        wait: Duration,
    ) -> Result<(), CallError> {
        let failures = self.failures.load(Ordering::Acquire);
        let mut told = self.told.lock().await;
        if self.failures.load(Ordering::Acquire) != failures
            && let Some(failure) = &told.failure
        {
            // It failed while this caller waited: trying again for each of many callers would add up their waits.
            return Err(failure.clone());
        }
        // What has arrived is read before it is looked at.
        tokio::task::yield_now().await;
        told.hear().await;
        if !told.stale {
            return Ok(());
        }
        let listing = tokio::time::timeout(wait, client.tools()).await;
        let listing = match listing.unwrap_or(Err(CallError::TimedOut)) {
            Ok(listing) => listing,
            Err(failure) => {
                told.failure = Some(failure.clone());
                self.failures.fetch_add(1, Ordering::Release);
                return Err(failure);
            }
        };
        let mut catalogue = Catalogue::default();
        catalogue.add(server, trust, listing.items);
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(catalogue));
        (told.stale, told.failure) = (false, None);
        Ok(())
    }
}

impl Told {
    /// Takes every notice that is there, and waits for none.
    async fn hear(&mut self) {
        let hear = async {
            loop {
                let notice = tokio::select! {
                    biased;
                    notice = self.notices.next() => notice,
                    () = std::future::ready(()) => None,
                };
                match notice {
                    Some(Notice::ToolsChanged | Notice::Missed(_)) => self.stale = true,
                    Some(_) => {}
                    None => return,
                }
            }
        };
        // The feed is bounded, so this ends; giving way in the middle would look like its end.
        tokio::task::unconstrained(hear).await;
    }
}

/// Asks a server that tells of changes only when asked to. Any other one does it anyway.
pub(crate) async fn listen(client: &Client) -> Option<Subscription> {
    let agreement = client.agreement();
    let tells = agreement.capabilities.tools.as_ref()?.list_changed == Some(true);
    if !tells || agreement.profile.era != trunkline_client::types::Era::Modern {
        return None;
    }
    let filter = SubscriptionFilter {
        tools_list_changed: Some(true),
        ..SubscriptionFilter::default()
    };
    tokio::time::timeout(LISTENING, client.listen(filter)).await.ok()?.ok()
}
