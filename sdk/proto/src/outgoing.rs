//! Requests that were sent and wait for their answers.

use std::collections::BTreeMap;
use std::time::Duration;

use trunkline_types::{Cancelled, Method, RequestId, encode};

/// The notice that a request is no longer wanted. `None` only if it could not be written.
pub(crate) fn cancelled(id: RequestId, reason: Option<&str>) -> Option<Vec<u8>> {
    let notice = Cancelled {
        request_id: Some(id),
        reason: reason.map(str::to_owned),
        ..Cancelled::default()
    };
    encode::notification(Method::CancelledNotice.name(), Some(&notice)).ok()
}

/// How long an answer is waited for.
///
/// Progress starts the wait anew, up to the maximum
/// ([timeouts](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/cancellation#timeouts)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// From the request, or from its last sign of progress, to the answer.
    pub idle: Duration,
    /// From the request to the answer, whatever progress there is.
    pub total: Duration,
}

impl Default for Timeouts {
    /// One minute without a sign, ten minutes in all.
    fn default() -> Self {
        Self {
            idle: Duration::from_secs(60),
            total: Duration::from_secs(600),
        }
    }
}

impl Timeouts {
    /// How long a client may take to answer a request of the server's: a person may have to think. Ten minutes
    /// without a sign, half an hour in all.
    pub const ASK: Self = Self {
        idle: Duration::from_secs(600),
        total: Duration::from_secs(1800),
    };

    /// One wait, which progress does not extend.
    pub fn fixed(wait: Duration) -> Self {
        Self {
            idle: wait,
            total: wait,
        }
    }
}

/// One request that waits for its answer.
#[derive(Debug, Clone)]
pub struct Wanted<K> {
    /// What the request was.
    pub kind: K,
    sent: Duration,
    heard: Duration,
    timeouts: Timeouts,
    progress: Option<f64>,
}

impl<K> Wanted<K> {
    fn deadline(&self) -> Duration {
        let idle = self.heard.saturating_add(self.timeouts.idle);
        idle.min(self.sent.saturating_add(self.timeouts.total))
    }
}

/// The table of requests that wait for their answers, keyed by ids that it allots.
#[derive(Debug)]
pub(crate) struct Outgoing<K> {
    next: i64,
    waiting: BTreeMap<RequestId, Wanted<K>>,
    /// The earliest deadline may be older than the earliest in the table, never younger.
    earliest: Option<Duration>,
}

impl<K> Default for Outgoing<K> {
    fn default() -> Self {
        Self {
            next: 1,
            waiting: BTreeMap::new(),
            earliest: None,
        }
    }
}

impl<K> Outgoing<K> {
    /// Allots an id that was never used on this connection and starts its wait.
    pub(crate) fn open(&mut self, now: Duration, kind: K, timeouts: Timeouts) -> RequestId {
        let id = RequestId::from(self.next);
        self.next += 1;
        let wanted = Wanted {
            kind,
            sent: now,
            heard: now,
            timeouts,
            progress: None,
        };
        self.earliest = Some(self.earliest.map_or(wanted.deadline(), |at| at.min(wanted.deadline())));
        self.waiting.insert(id.clone(), wanted);
        id
    }

    /// Takes the request that an answer belongs to.
    pub(crate) fn close(&mut self, id: &RequestId) -> Option<K> {
        let wanted = self.waiting.remove(id)?;
        if self.waiting.is_empty() {
            self.earliest = None;
        }
        Some(wanted.kind)
    }

    pub(crate) fn get(&self, id: &RequestId) -> Option<&K> {
        self.waiting.get(id).map(|wanted| &wanted.kind)
    }

    /// An id that waits and looks like this one but for its JSON type.
    pub(crate) fn look_alike(&self, id: &RequestId) -> Option<&RequestId> {
        self.waiting.keys().find(|waiting| waiting.same_but_for_type(id))
    }

    /// Notes progress of a request. False if it is not waiting or the value did not grow.
    pub(crate) fn progress(&mut self, now: Duration, id: &RequestId, value: f64) -> bool {
        let Some(wanted) = self.waiting.get_mut(id) else {
            return false;
        };
        if value.is_nan() || wanted.progress.is_some_and(|last| value <= last) {
            return false;
        }
        wanted.progress = Some(value);
        wanted.heard = now;
        true
    }

    /// When `expired` has something to say at the earliest.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        self.earliest
    }

    /// Takes every request whose wait is over.
    pub(crate) fn expired(&mut self, now: Duration) -> Vec<(RequestId, K)> {
        if self.earliest.is_none_or(|at| at > now) {
            return Vec::new();
        }
        let over: Vec<RequestId> = self
            .waiting
            .iter()
            .filter(|(_, wanted)| wanted.deadline() <= now)
            .map(|(id, _)| id.clone())
            .collect();
        let taken = over
            .into_iter()
            .filter_map(|id| Some((id.clone(), self.waiting.remove(&id)?.kind)))
            .collect();
        self.earliest = self.waiting.values().map(Wanted::deadline).min();
        taken
    }

    /// Moves every wait into the future: for so long, waiting did not count.
    pub(crate) fn shift(&mut self, by: Duration) {
        for wanted in self.waiting.values_mut() {
            wanted.sent = wanted.sent.saturating_add(by);
            wanted.heard = wanted.heard.saturating_add(by);
        }
        self.earliest = self.earliest.map(|at| at.saturating_add(by));
    }

    /// Takes every request: the connection ended.
    pub(crate) fn drain(&mut self) -> Vec<(RequestId, K)> {
        self.earliest = None;
        std::mem::take(&mut self.waiting)
            .into_iter()
            .map(|(id, wanted)| (id, wanted.kind))
            .collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Duration = Duration::from_secs(1);

    #[test]
    fn progress_extends_the_wait_up_to_the_total() {
        let mut table = Outgoing::default();
        let id = table.open(
            Duration::ZERO,
            (),
            Timeouts {
                idle: 10 * S,
                total: 25 * S,
            },
        );
        assert!(table.progress(9 * S, &id, 0.1));
        assert!(table.expired(11 * S).is_empty());
        assert!(table.progress(18 * S, &id, 0.2));
        assert_eq!(table.expired(25 * S).len(), 1, "the total is never exceeded");
        assert_eq!(table.deadline(), None);
    }

    #[test]
    fn equal_and_falling_progress_does_not_count() {
        let mut table = Outgoing::default();
        let id = table.open(Duration::ZERO, (), Timeouts::default());
        assert!(table.progress(S, &id, 1.0));
        assert!(!table.progress(S, &id, 1.0));
        assert!(!table.progress(S, &id, 0.5));
        assert!(!table.progress(S, &RequestId::from(99), 5.0));
    }
}
