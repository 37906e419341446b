//! When and where a stream is resumed that ended before its time
//! (<https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery>).

use std::time::Duration;

use tokio::time::Instant;
use trunkline_transport::Backoff;

use super::exchange::Exchange;

/// The wait that a server may ask for, at least and at most.
const RETRY: std::ops::RangeInclusive<u64> = 100..=5 * 60 * 1000;
/// The wait where the server ended the stream properly and asked for none.
const USUAL: Duration = Duration::from_secs(1);
/// The waits after failures.
const FIRST: Duration = Duration::from_millis(250);
const MOST: Duration = Duration::from_secs(30);
/// A connection that lasted so long was worth its while.
const CALM: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Reconnect {
    backoff: Backoff,
    last_event_id: Option<String>,
    retry: Option<Duration>,
    opened: Instant,
    progressed: bool,
}

impl Reconnect {
    pub(crate) fn new() -> Self {
        Self {
            backoff: Backoff::new(FIRST, MOST),
            last_event_id: None,
            retry: None,
            opened: Instant::now(),
            progressed: false,
        }
    }

    /// The stream is open again.
    pub(crate) fn opened(&mut self) {
        self.opened = Instant::now();
        self.progressed = false;
    }

    /// A message came.
    pub(crate) fn progressed(&mut self) {
        self.progressed = true;
        self.backoff.reset();
    }

    pub(crate) fn last_event_id(&self) -> Option<&str> {
        self.last_event_id.as_deref()
    }

    /// The server does not know the last event any more.
    pub(crate) fn forget_event(&mut self) {
        self.last_event_id = None;
    }

    /// The wait after the stream has ended. One that ends properly after it told where to go on is being polled, as
    /// the server wants it; but not faster and faster if nothing ever comes.
    pub(crate) fn after_end(&mut self, exchange: &Exchange, broke_off: bool) -> Duration {
        let polled = exchange.last_event_id().is_some() || exchange.retry().is_some();
        self.note(exchange.last_event_id(), exchange.retry());
        let calm = self.progressed || self.opened.elapsed() >= CALM;
        if polled && calm && !broke_off {
            self.backoff.reset();
            return self.retry.unwrap_or(USUAL);
        }
        self.after_failure()
    }

    fn note(&mut self, last_event_id: Option<&str>, retry: Option<u64>) {
        if let Some(id) = last_event_id {
            self.last_event_id = Some(id.to_owned());
        }
        if let Some(retry) = retry {
            let retry = retry.clamp(*RETRY.start(), *RETRY.end());
            self.retry = Some(Duration::from_millis(retry));
        }
    }

    /// The wait after the stream could not be opened: never shorter than the server wants it.
    pub(crate) fn after_failure(&mut self) -> Duration {
        self.backoff.next_wait().max(self.retry.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_server_is_left_alone_as_long_as_it_wants() {
        let mut reconnect = Reconnect::new();
        for (said, wait) in [
            (500, 500),
            (0, 100),
            (1, 100),
            (99, 100),
            (100, 100),
            (300_000, 300_000),
            (u64::MAX, 300_000_u64),
        ] {
            reconnect.backoff.reset();
            reconnect.note(Some("7"), Some(said));
            let least = reconnect.after_failure().as_millis();
            let wanted = u128::from(wait);
            assert!(least >= wanted && least <= wanted.max(313), "{said}: {least}");
        }
        reconnect.note(None, None);
        assert_eq!(
            reconnect.last_event_id(),
            Some("7"),
            "a stream without ids does not take it back"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn failures_wait_longer_and_longer_until_a_message_comes() {
        let mut reconnect = Reconnect::new();
        let waits: Vec<Duration> = (0..12).map(|_| reconnect.after_failure()).collect();
        assert!(waits[0] <= Duration::from_millis(313) && waits[11] >= MOST, "{waits:?}");
        let hour: Duration = waits.iter().sum();
        assert!(
            hour > Duration::from_secs(120),
            "a storm of a dozen takes minutes: {hour:?}"
        );
        reconnect.opened();
        assert!(reconnect.after_failure() >= MOST, "an open stream alone is no progress");
        reconnect.progressed();
        assert!(reconnect.after_failure() < Duration::from_secs(1));
    }
}
