//! Who wants to hear of changes: watched resources (legacy) and streams of notices (modern).

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use serde_json::Value;
use serde_json::value::RawValue;
use trunkline_types::{
    ClientCapabilities, EmptyNotice, EmptyResult, ErrorObject, Extension, ListCapability, ListenParams, Meta, Method,
    RequestId, ResourceUpdated, ResultType, Revision, ServerCapabilities, ServerResult, SubscriptionAcknowledged,
    SubscriptionFilter, Task, encode, meta_key,
};

use super::{Connection, Session, decode};
use crate::outgoing::cancelled;

/// Something that changed and may interest the client.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Change {
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts,
    /// The list of resources.
    Resources,
    /// One resource, by its address.
    Resource(String),
    /// One task, as it stands now.
    Task(Arc<Task>),
}

/// What a connection hears of changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// Something changed.
    Change(Change),
    /// Some changes were missed: everything may have changed.
    Everything,
}

impl Change {
    fn method(&self) -> Method {
        match self {
            Self::Tools => Method::ToolsChanged,
            Self::Prompts => Method::PromptsChanged,
            Self::Resources => Method::ResourcesChanged,
            Self::Resource(_) => Method::ResourceUpdatedNotice,
            Self::Task(_) => Method::TaskNotice,
        }
    }

    fn wanted_by(&self, filter: &SubscriptionFilter) -> bool {
        match self {
            Self::Tools => filter.tools_list_changed == Some(true),
            Self::Prompts => filter.prompts_list_changed == Some(true),
            Self::Resources => filter.resources_list_changed == Some(true),
            Self::Resource(uri) => filter
                .resource_subscriptions
                .iter()
                .flatten()
                .any(|wanted| covers(wanted, uri)),
            Self::Task(task) => filter.task_ids.iter().flatten().any(|wanted| *wanted == task.task_id),
        }
    }

    /// Whether the server said that it announces such changes.
    fn announced_by(&self, capabilities: &ServerCapabilities) -> bool {
        let list = |list: &Option<ListCapability>| list.as_ref().and_then(|l| l.list_changed) == Some(true);
        match self {
            Self::Tools => list(&capabilities.tools),
            Self::Prompts => list(&capabilities.prompts),
            Self::Resources => capabilities.resources.as_ref().and_then(|r| r.list_changed) == Some(true),
            Self::Resource(_) => capabilities.resources.as_ref().and_then(|r| r.subscribe) == Some(true),
            Self::Task(_) => capabilities.has_extension(Extension::Tasks),
        }
    }
}

/// A watched address covers itself and what lies below it.
fn covers(watched: &str, uri: &str) -> bool {
    uri.strip_prefix(watched)
        .is_some_and(|rest| rest.is_empty() || watched.ends_with('/') || rest.starts_with('/'))
}

#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    watched: HashSet<String>,
    streams: BTreeMap<RequestId, SubscriptionFilter>,
}

impl Subscriptions {
    /// How many addresses and tasks are watched, on all streams together.
    fn watching(&self) -> usize {
        self.watched.len() + self.streams.values().map(|filter| named(filter).count()).sum::<usize>()
    }

    /// How many bytes the names of all that is watched have together.
    fn bytes(&self) -> usize {
        let streamed = self.streams.values().flat_map(named);
        self.watched.iter().chain(streamed).map(String::len).sum()
    }

    pub(super) fn listening(&self) -> usize {
        self.streams.len()
    }

    pub(super) fn close(&mut self, id: &RequestId) {
        self.streams.remove(id);
    }
}

/// The addresses and tasks that a filter names.
fn named(filter: &SubscriptionFilter) -> impl Iterator<Item = &String> {
    let addresses = filter.resource_subscriptions.iter().flatten();
    addresses.chain(filter.task_ids.iter().flatten())
}

/// How many bytes the addresses and ids of tasks that one connection watches may have together.
pub const MAX_WATCHED: usize = 256 * 1024;

/// The longest address, or id of a task, that can be watched, in bytes.
pub const MAX_ADDRESS: usize = 8 * 1024;

fn check_length(name: &str) -> Result<(), ErrorObject> {
    if name.len() > MAX_ADDRESS {
        return Err(ErrorObject::invalid_params(format!(
            "an address or id has at most {MAX_ADDRESS} bytes"
        )));
    }
    Ok(())
}

fn stream_meta(id: &RequestId) -> Meta {
    let id = serde_json::to_value(id).unwrap_or(Value::Null);
    std::iter::once((meta_key::SUBSCRIPTION_ID.to_owned(), id)).collect()
}

impl Connection {
    /// Starts or stops watching a resource (legacy). Stopping what was not watched is no mistake.
    pub(super) fn watch(&mut self, start: bool, uri: String) -> Result<(), ErrorObject> {
        if !Change::Resource(String::new()).announced_by(&self.config.capabilities) {
            return Err(ErrorObject::method_not_found(Method::Subscribe.name()));
        }
        if !start {
            self.subscriptions.watched.remove(&uri);
            return Ok(());
        }
        check_length(&uri)?;
        let bound = self.config.limits.subscriptions;
        if self.subscriptions.watched.contains(&uri) {
            return Ok(());
        }
        if self.subscriptions.watching() >= bound || self.subscriptions.bytes() + uri.len() > MAX_WATCHED {
            let why =
                format!("at most {bound} resources of {MAX_WATCHED} bytes together are watched; stop watching one");
            return Err(ErrorObject::invalid_params(why));
        }
        self.subscriptions.watched.insert(uri);
        Ok(())
    }

    /// Opens a stream of notices (modern). The acknowledgement is its first message
    /// ([rule](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions#acknowledgment)).
    /// Returns the tasks that it is about.
    pub(super) fn listen(
        &mut self,
        id: &RequestId,
        params: Option<&RawValue>,
        batch: Option<u64>,
        client: &ClientCapabilities,
    ) -> Result<BTreeSet<String>, ErrorObject> {
        let ListenParams {
            notifications: mut filter,
            ..
        } = decode(params)?;
        let bound = self.config.limits.subscriptions;
        named(&filter).try_for_each(|name| check_length(name))?;
        let more = named(&filter).count();
        let bytes: usize = named(&filter).map(String::len).sum();
        if self.subscriptions.streams.len() >= bound
            || self.subscriptions.watching() + more > bound
            || self.subscriptions.bytes() + bytes > MAX_WATCHED
        {
            return Err(ErrorObject::invalid_params(format!(
                "at most {bound} subscriptions are kept, whose addresses have {MAX_WATCHED} bytes together"
            )));
        }
        let capabilities = &self.config.capabilities;
        if !capabilities.has_extension(Extension::Tasks) {
            filter.task_ids = None;
        }
        // (https://modelcontextprotocol.io/seps/2663-tasks-extension#task-status-notifications)
        let tasks: BTreeSet<String> = filter.task_ids.iter().flatten().cloned().collect();
        if !tasks.is_empty() && !client.has_extension(Extension::Tasks) {
            return Err(ErrorObject::missing_extension(Extension::Tasks));
        }
        let agree = |wanted: &mut Option<bool>, change: &Change| {
            *wanted = wanted.filter(|wanted| *wanted && change.announced_by(capabilities));
        };
        agree(&mut filter.tools_list_changed, &Change::Tools);
        agree(&mut filter.prompts_list_changed, &Change::Prompts);
        agree(&mut filter.resources_list_changed, &Change::Resources);
        if !Change::Resource(String::new()).announced_by(capabilities) {
            filter.resource_subscriptions = None;
        }
        filter.extra.clear();
        let notice = SubscriptionAcknowledged {
            notifications: filter.clone(),
            meta: stream_meta(id),
            ..SubscriptionAcknowledged::default()
        };
        let message = encode::notification(Method::SubscriptionAcknowledgedNotice.name(), Some(&notice))
            .map_err(super::unwritable)?;
        self.open(id.clone(), batch);
        self.subscriptions.streams.insert(id.clone(), filter);
        self.transmit.push_back(message);
        Ok(tasks)
    }

    /// Tells whoever wants to know that something changed.
    pub fn publish(&mut self, change: &Change) {
        if !change.announced_by(&self.config.capabilities) {
            return;
        }
        if matches!(self.session, Session::Legacy { .. }) {
            let wanted = match change {
                Change::Resource(uri) => self.subscriptions.watched.iter().any(|watched| covers(watched, uri)),
                // The extension is not defined for legacy revisions.
                Change::Task(_) => false,
                Change::Tools | Change::Prompts | Change::Resources => true,
            };
            if wanted {
                self.transmit.extend(notice(change, Meta::new()));
            }
        }
        for (id, filter) in &self.subscriptions.streams {
            if change.wanted_by(filter) {
                self.transmit.extend(notice(change, stream_meta(id)));
            }
        }
    }

    /// The tasks that streams are about.
    pub fn watched_tasks(&self) -> BTreeSet<String> {
        let filters = self.subscriptions.streams.values();
        filters
            .flat_map(|filter| filter.task_ids.iter().flatten())
            .cloned()
            .collect()
    }

    /// Tells whoever wants to know what there is of news.
    pub fn tell(&mut self, news: &News) {
        match news {
            News::Change(change) => self.publish(change),
            News::Everything => self.publish_all(),
        }
    }

    /// Tells that everything may have changed, tasks excepted: some changes were lost on their way here.
    pub fn publish_all(&mut self) {
        let streamed = self
            .subscriptions
            .streams
            .values()
            .flat_map(|filter| filter.resource_subscriptions.iter().flatten());
        let resources: BTreeSet<String> = self.subscriptions.watched.iter().chain(streamed).cloned().collect();
        for change in [Change::Tools, Change::Prompts, Change::Resources] {
            self.publish(&change);
        }
        for uri in resources {
            self.publish(&Change::Resource(uri));
        }
    }

    /// Ends every stream of notices in good order: the server is about to go
    /// ([graceful closure](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions#graceful-closure)).
    /// Returns the requests that opened them.
    pub fn close_streams(&mut self) -> Vec<RequestId> {
        let streams = std::mem::take(&mut self.subscriptions.streams);
        for id in streams.keys() {
            let mut result = EmptyResult::default();
            result.meta_mut().extend(stream_meta(id));
            let config = Arc::clone(&self.config);
            let shape = config.shape(Revision::LATEST.profile());
            let result = shape
                .write(&mut result, &ResultType::Complete)
                .map_err(super::unwritable);
            self.finish(id, result);
        }
        streams.into_keys().collect()
    }

    /// Ends every stream of notices where all of them share one channel, such as stdio: the page on cancellation
    /// asks for a notice as well, which a client that took the result ignores
    /// ([rule](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/cancellation)).
    pub fn close_shared_streams(&mut self) {
        for id in self.close_streams() {
            self.transmit.extend(cancelled(id, None));
        }
    }
}

fn notice(change: &Change, meta: Meta) -> Option<Vec<u8>> {
    let name = change.method().name();
    match change {
        Change::Resource(uri) => {
            let params = ResourceUpdated {
                uri: uri.clone(),
                meta,
                ..ResourceUpdated::default()
            };
            encode::notification(name, Some(&params)).ok()
        }
        Change::Task(task) => {
            let mut params = Task::clone(task);
            params.meta.extend(meta);
            encode::notification(name, Some(&params)).ok()
        }
        _ if meta.is_empty() => encode::notification::<EmptyNotice>(name, None).ok(),
        _ => encode::notification(
            name,
            Some(&EmptyNotice {
                meta,
                ..EmptyNotice::default()
            }),
        )
        .ok(),
    }
}
