//! Listening to changes, in both eras.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use trunkline_proto::Timeouts;
use trunkline_proto::client::RequestOptions;
use trunkline_transport::Backoff;
use trunkline_types::{Extra, Method, SubscriptionFilter};

use crate::CallError;
use crate::client::Inner;
use crate::feed::{FeedReader, feed};
use crate::notices::{NOTICES_HELD, Notice};
use crate::ports::{Control, Stream, Submit, Waiting, Watch};

/// The first wait before a stream that broke off is opened again.
const REOPEN_FIRST: Duration = Duration::from_millis(250);
/// The longest such wait, what chance adds not counted.
const REOPEN_MOST: Duration = Duration::from_secs(30);

/// Changes that a server tells of, from [`Client::listen`](crate::Client::listen). Dropping it ends it.
///
/// Over HTTP its stream may break off. It is opened again then, after 0.25 s and at most 30 s later from one failure
/// to the next, and everything it tells of is told once: it may have changed meanwhile.
///
/// It holds as much for a slow reader as a [`NoticeStream`](crate::NoticeStream).
#[derive(Debug)]
pub struct Subscription {
    filter: SubscriptionFilter,
    ears: Ears,
}

impl Subscription {
    /// What the server tells of: the part of what was wanted that it serves.
    pub fn filter(&self) -> &SubscriptionFilter {
        &self.filter
    }

    /// The next change; none once the server or the connection has ended it. Nothing is lost when the
    /// future is dropped.
    pub async fn next(&mut self) -> Option<Notice> {
        self.ears.feed.as_mut()?.next().await.map(Notice::from)
    }
}

/// The reading end, which tells the driver when it is gone.
#[derive(Debug)]
struct Ears {
    feed: Option<FeedReader<Notice>>,
    control: mpsc::UnboundedSender<Control>,
}

impl Drop for Ears {
    fn drop(&mut self) {
        self.feed = None;
        // Without a driver there is nothing to end.
        let _ = self.control.send(Control::Dropped);
    }
}

impl Submit {
    /// Opens a stream of notices, for the first time or again.
    pub(crate) fn listen(stream: Box<Stream>) -> Self {
        Self {
            method: Method::Listen,
            params: Arc::clone(&stream.wanted),
            // It is answered when it ends, which may be never.
            options: RequestOptions {
                timeouts: Some(Timeouts::fixed(Duration::MAX)),
                ..RequestOptions::default()
            },
            waiting: Waiting::Stream(stream),
        }
    }
}

impl Inner {
    /// A stream of its own
    /// ([subscriptions](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions)).
    pub(crate) async fn listen_modern(&self, filter: SubscriptionFilter) -> Result<Subscription, CallError> {
        let (writer, reader) = feed(NOTICES_HELD);
        let ears = Ears {
            feed: Some(reader),
            control: self.control.clone(),
        };
        let (opened, opening) = oneshot::channel();
        let wanted = serde_json::to_value(filter).map_err(|error| CallError::Arguments(error.to_string()))?;
        let mut params = Extra::new();
        params.insert("notifications".to_owned(), wanted);
        let stream = Stream {
            opened: Some(opened),
            feed: writer,
            wanted: params.into(),
            backoff: Backoff::new(REOPEN_FIRST, REOPEN_MOST),
        };
        let opening = async {
            self.submit(Submit::listen(Box::new(stream))).await?;
            opening.await.unwrap_or_else(|_| Err(self.unanswered()))
        };
        let filter = tokio::time::timeout(self.timeouts.idle, opening)
            .await
            .unwrap_or(Err(CallError::TimedOut))?;
        Ok(Subscription { filter, ears })
    }

    /// A request for each resource; changes of lists come anyway
    /// ([subscriptions](https://modelcontextprotocol.io/specification/2025-11-25/server/resources#subscriptions)).
    pub(crate) async fn listen_legacy(&self, wanted: SubscriptionFilter) -> Result<Subscription, CallError> {
        let filter = self.served(wanted);
        let (writer, reader) = feed(NOTICES_HELD);
        let ears = Ears {
            feed: Some(reader),
            control: self.control.clone(),
        };
        let watch = Watch {
            filter: filter.clone(),
            feed: writer,
        };
        // Before the first request, so that no change is missed.
        self.control
            .send(Control::Watch(watch))
            .map_err(|_| self.closed_error())?;
        for uri in filter.resource_subscriptions.iter().flatten() {
            let mut params = Extra::new();
            params.insert("uri".to_owned(), Value::String(uri.clone()));
            self.exchange(Method::Subscribe, params, &RequestOptions::default())
                .await?;
        }
        if self.state.ended.get().is_some() {
            return Err(self.closed_error());
        }
        Ok(Subscription { filter, ears })
    }

    /// The part of a filter that a legacy server declared.
    fn served(&self, wanted: SubscriptionFilter) -> SubscriptionFilter {
        let server = &self.agreement.capabilities;
        let lists = |list: &Option<trunkline_types::ListCapability>| {
            list.as_ref().and_then(|list| list.list_changed) == Some(true)
        };
        let resources = server.resources.clone().unwrap_or_default();
        let keep = |wanted: Option<bool>, served: bool| wanted.filter(|wanted| *wanted && served);
        SubscriptionFilter {
            tools_list_changed: keep(wanted.tools_list_changed, lists(&server.tools)),
            prompts_list_changed: keep(wanted.prompts_list_changed, lists(&server.prompts)),
            resources_list_changed: keep(wanted.resources_list_changed, resources.list_changed == Some(true)),
            resource_subscriptions: wanted
                .resource_subscriptions
                .filter(|_| resources.subscribe == Some(true)),
            // The extension is not defined for legacy revisions.
            task_ids: None,
            extra: Extra::new(),
        }
    }
}

/// Whether a notice of a legacy server is wanted.
pub(crate) fn wants(filter: &SubscriptionFilter, notice: &Notice) -> bool {
    match notice {
        Notice::ToolsChanged => filter.tools_list_changed == Some(true),
        Notice::PromptsChanged => filter.prompts_list_changed == Some(true),
        Notice::ResourcesChanged => filter.resources_list_changed == Some(true),
        Notice::ResourceUpdated { uri } => filter
            .resource_subscriptions
            .iter()
            .flatten()
            .any(|watched| is_part(uri, watched)),
        Notice::Task(_) | Notice::Log(_) | Notice::Other { .. } | Notice::Missed(_) => false,
    }
}

/// A server may name a part of what is watched.
fn is_part(uri: &str, watched: &str) -> bool {
    uri.strip_prefix(watched)
        .is_some_and(|rest| rest.is_empty() || watched.ends_with('/') || rest.starts_with(['/', '?', '#']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_watched_resource_counts_and_a_neighbour_does_not() {
        for (uri, part) in [
            ("test://a", true),
            ("test://a/b", true),
            ("test://a#b", true),
            ("test://ab", false),
            ("test://", false),
        ] {
            assert_eq!(is_part(uri, "test://a"), part, "{uri}");
        }
        assert!(is_part("test://a/b", "test://a/"));
    }
}
