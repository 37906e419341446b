//! What is done again when a server lost what it was told: streams of notices, watched resources, the log level.

use std::sync::atomic::Ordering;

use tokio::time::Instant;
use trunkline_proto::client::{Answer, RequestOptions};
use trunkline_transport::Transport;
use trunkline_types::{Extra, Method, ServerFeature, SubscriptionFilter};

use super::Driver;
use crate::lock;
use crate::notices::Notice;
use crate::ports::{State, Stream, Submit, Waiting};

impl<T: Transport> Driver<T> {
    /// Hands out an answer. A stream of notices that only broke off is opened again later.
    pub(super) fn answered(&mut self, waiting: Waiting, answer: Answer) {
        match (waiting, &answer) {
            (Waiting::Stream(mut stream), Answer::Undelivered(undelivered))
                if stream.opened.is_none() && may_pass(undelivered.status) =>
            {
                self.reopening
                    .push((Instant::now() + stream.backoff.next_wait(), stream));
            }
            // Whoever called gave up meanwhile, and nobody else knows of the task.
            (Waiting::Call { reply, .. }, Answer::Task(created)) if reply.is_closed() => {
                self.submit(Submit::cancel_task(&created.task_id));
            }
            (waiting, _) => waiting.finish(self.outcome(answer)),
        }
    }

    /// Opens the streams whose wait is over. Returns when the next one's is.
    pub(super) fn take_reopening(&mut self) -> Option<Instant> {
        let now = Instant::now();
        let due: Vec<_> = self.reopening.extract_if(.., |(at, _)| *at <= now).collect();
        for (_, stream) in due {
            self.submit(Submit::listen(stream));
        }
        self.reopening.iter().map(|(at, _)| *at).min()
    }

    /// The server forgot this connection, and it was made anew: lists may have changed, what it was told is told
    /// again, and what it asked needs no answer.
    pub(super) fn renewed(&mut self) {
        let now = self.now();
        self.connection.handle_renewed(now);
        self.take_events(0);
        let Some(agreement) = self.connection.agreement() else {
            return;
        };
        let level = *lock(&self.state.log_level);
        let level = level.filter(|_| !agreement.profile.log_level_per_request);
        let capabilities = &agreement.capabilities;
        let mut changed = Vec::new();
        for (feature, notice) in [
            (ServerFeature::Tools, Notice::ToolsChanged),
            (ServerFeature::Prompts, Notice::PromptsChanged),
            (ServerFeature::Resources, Notice::ResourcesChanged),
        ] {
            changed.extend(capabilities.has(feature).then_some(notice));
        }
        let watched: Vec<String> = self.watched.keys().cloned().collect();
        for uri in watched {
            self.tell_again(Method::Subscribe, "uri", uri.clone().into());
            changed.push(Notice::ResourceUpdated { uri });
        }
        if let Some(level) = level.and_then(|level| serde_json::to_value(level).ok()) {
            self.tell_again(Method::SetLevel, "level", level);
        }
        self.tell_changed(changed);
    }

    fn tell_again(&mut self, method: Method, key: &str, value: serde_json::Value) {
        let mut params = Extra::new();
        params.insert(key.to_owned(), value);
        self.submit(Submit {
            method,
            params: params.into(),
            options: RequestOptions::default(),
            waiting: Waiting::Nobody,
        });
    }

    /// Notices of our own making: changes that may have been missed.
    pub(super) fn tell_changed(&mut self, notices: Vec<Notice>) {
        for notice in notices {
            self.state.note(&notice);
            self.spread(notice, 0);
        }
    }
}

/// Whether what failed may work later. A server that refuses means it; one that fails, or is too busy, does not.
fn may_pass(status: Option<u16>) -> bool {
    status.is_none_or(|status| status >= 500 || status == 429)
}

impl Stream {
    /// The server confirms the stream. If it was open before, everything that it tells of may have changed: the
    /// feed is told, and the notices are returned.
    pub(super) fn listening(&mut self, filter: SubscriptionFilter) -> Vec<Notice> {
        if let Some(opened) = self.opened.take() {
            // Whoever waited may be gone, which is noticed elsewhere.
            let _ = opened.send(Ok(filter));
            return Vec::new();
        }
        let lists = [
            (filter.tools_list_changed, Notice::ToolsChanged),
            (filter.prompts_list_changed, Notice::PromptsChanged),
            (filter.resources_list_changed, Notice::ResourcesChanged),
        ];
        let lists = lists
            .into_iter()
            .filter(|(told, _)| *told == Some(true))
            .map(|(_, notice)| notice);
        let uris = filter.resource_subscriptions.into_iter().flatten();
        let changed: Vec<Notice> = lists.chain(uris.map(|uri| Notice::ResourceUpdated { uri })).collect();
        for notice in &changed {
            self.feed.push(notice.clone(), 0);
        }
        changed
    }
}

impl State {
    /// Counts a change of a list, so that what was read before is not good any more.
    pub(super) fn note(&self, notice: &Notice) {
        let changed = match notice {
            Notice::ToolsChanged => &self.tools,
            Notice::PromptsChanged => &self.prompts,
            Notice::ResourcesChanged => &self.resources,
            _ => return,
        };
        changed.fetch_add(1, Ordering::Release);
    }
}
