//! What is registered with a server, and what all its connections share.

use std::any::{Any, TypeId};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::task::{Context, Poll};

use tokio::sync::broadcast;
use trunkline_proto::Sealer;
use trunkline_proto::server::{Change, Config, News};
use trunkline_types::{Extension, Extra, ListCapability, Resource, ResourcesCapability, ServerCapabilities};

use crate::completion::{CompletionEntry, CompletionKey};
use crate::lists::Lists;
use crate::prompt::PromptEntry;
use crate::resource::{Readable, Template};
use crate::service::RequestService;
use crate::spent::SpentStates;
use crate::task::{Tasks, WatchedTasks};
use crate::tool::Registered;
use crate::{BoxFuture, DefinitionError};

/// How many changes a connection may lag behind before it is told that everything changed.
const CHANGES_HELD: usize = 256;
/// How many items one page of a list shows, unless the server says otherwise.
pub(crate) const PAGE_SIZE: usize = 250;

/// What is registered at one moment.
#[derive(Debug, Clone)]
pub(crate) struct Registry {
    pub(crate) config: Config,
    /// The same with the capabilities that follow from what is registered; made when it is first asked for.
    served: OnceLock<Arc<Config>>,
    pub(crate) lists: Lists,
    pub(crate) page_size: usize,
    pub(crate) list_ttl_ms: i64,
    pub(crate) logging: bool,
    pub(crate) tools: BTreeMap<String, Arc<Registered>>,
    pub(crate) resources: BTreeMap<String, Arc<Readable<Resource>>>,
    pub(crate) templates: BTreeMap<String, Arc<Readable<Template>>>,
    pub(crate) prompts: BTreeMap<String, Arc<PromptEntry>>,
    pub(crate) completions: HashMap<CompletionKey, CompletionEntry>,
    pub(crate) states: HashMap<TypeId, Arc<dyn Any + Send + Sync>>,
    pub(crate) service: Option<RequestService>,
    pub(crate) tasks: Option<Arc<Tasks>>,
    pub(crate) fault: Option<DefinitionError>,
}

impl Registry {
    fn new(config: Config) -> Self {
        Self {
            config,
            served: OnceLock::new(),
            lists: Lists::default(),
            page_size: PAGE_SIZE,
            list_ttl_ms: 0,
            logging: true,
            tools: BTreeMap::new(),
            resources: BTreeMap::new(),
            templates: BTreeMap::new(),
            prompts: BTreeMap::new(),
            completions: HashMap::new(),
            states: HashMap::new(),
            service: None,
            tasks: None,
            fault: None,
        }
    }

    /// Notes the first thing that cannot be served.
    pub(crate) fn note(&mut self, fault: DefinitionError) {
        self.fault.get_or_insert(fault);
    }

    /// What the server can do, from what is registered.
    fn capabilities(&self) -> ServerCapabilities {
        let list = || ListCapability {
            list_changed: Some(true),
            ..ListCapability::default()
        };
        let mut capabilities = self.config.capabilities.clone();
        if !self.tools.is_empty() {
            capabilities.tools.get_or_insert_with(list);
        }
        if !self.prompts.is_empty() {
            capabilities.prompts.get_or_insert_with(list);
        }
        if !self.resources.is_empty() || !self.templates.is_empty() {
            capabilities.resources.get_or_insert_with(|| ResourcesCapability {
                subscribe: Some(true),
                list_changed: Some(true),
                ..ResourcesCapability::default()
            });
        }
        if !self.completions.is_empty() {
            capabilities.completions.get_or_insert_with(Extra::new);
        }
        if self.tasks.is_some() {
            capabilities.add_extension(Extension::Tasks);
        }
        if self.logging {
            capabilities.logging.get_or_insert_with(Extra::new);
        }
        capabilities
    }

    /// Everything that must hold before the first connection.
    pub(crate) fn check(&self) -> Result<(), DefinitionError> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let tools = self.tools.iter().map(|(name, tool)| (name, tool.required()));
        let prompts = self
            .prompts
            .iter()
            .map(|(name, prompt)| (name, prompt.required.as_slice()));
        let resources = self
            .resources
            .iter()
            .map(|(uri, resource)| (uri, resource.required.as_slice()));
        let templates = self
            .templates
            .iter()
            .map(|(uri, template)| (uri, template.required.as_slice()));
        let completions = self
            .completions
            .iter()
            .map(|((of, _), entry)| (of, entry.required.as_slice()));
        for (name, required) in tools
            .chain(prompts)
            .chain(resources)
            .chain(templates)
            .chain(completions)
        {
            if let Some((_, state)) = required.iter().find(|(id, _)| !self.states.contains_key(id)) {
                return Err(DefinitionError::MissingState {
                    name: name.clone(),
                    state,
                });
            }
        }
        let only_task = |tool: &Arc<Registered>| tool.task_support().is_some_and(|support| support.is_required());
        if self.tasks.is_none()
            && let Some((name, _)) = self.tools.iter().find(|(_, tool)| only_task(tool))
        {
            return Err(DefinitionError::Unusable {
                kind: "tool",
                name: name.clone(),
                why: "it runs as a task only, and there is no store for tasks; give the server one with `.tasks(…)`"
                    .to_owned(),
            });
        }
        for (of, argument) in self.completions.keys() {
            let prompt = self.prompts.get(of).is_some_and(|prompt| prompt.takes(argument));
            let template = self
                .templates
                .get(of)
                .is_some_and(|entry| entry.definition.parsed.has(argument));
            if !prompt && !template {
                let why = format!("there is no prompt or template {of:?} with this argument");
                return Err(DefinitionError::Unusable {
                    kind: "completion",
                    name: argument.clone(),
                    why,
                });
            }
        }
        Ok(())
    }
}

/// The changes that one connection has not heard of yet.
pub(crate) struct Changes {
    next: BoxFuture<(News, broadcast::Receiver<Change>)>,
    tasks: Option<Arc<Tasks>>,
    /// Tasks have a channel of their own: they change often, and few listen.
    watched: Option<WatchedTasks>,
}

impl Changes {
    fn new(changes: broadcast::Receiver<Change>, tasks: Option<Arc<Tasks>>) -> Self {
        Self {
            next: Box::pin(Self::hear(changes)),
            tasks,
            watched: None,
        }
    }

    /// Which tasks a principal listens to from now on. How those stand that a new stream is about is told soon,
    /// whether or not another one told it before.
    pub(crate) fn watch(&mut self, principal: &str, all: BTreeSet<String>, begun: BTreeSet<String>) {
        if let Some(tasks) = self.tasks.as_ref().filter(|_| !begun.is_empty()) {
            let watched = self.watched.get_or_insert_with(|| WatchedTasks::new(tasks, principal));
            watched.watch(all, begun);
        }
    }

    async fn hear(mut changes: broadcast::Receiver<Change>) -> (News, broadcast::Receiver<Change>) {
        match changes.recv().await {
            Ok(change) => (News::Change(change), changes),
            Err(broadcast::error::RecvError::Lagged(_)) => {
                let changes = changes.resubscribe();
                (News::Everything, changes)
            }
            // The server holds the other end as long as it is served.
            Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
        }
    }

    /// The next change, when there is one.
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<News> {
        if let Poll::Ready((news, changes)) = self.next.as_mut().poll(cx) {
            self.next = Box::pin(Self::hear(changes));
            return Poll::Ready(news);
        }
        match &mut self.watched {
            Some(watched) => watched.poll_next(cx).map(|task| News::Change(Change::Task(task))),
            None => Poll::Pending,
        }
    }
}

impl fmt::Debug for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Changes")
    }
}

/// What all connections of a server share.
#[derive(Debug)]
pub(crate) struct Shared {
    registry: RwLock<Arc<Registry>>,
    changes: broadcast::Sender<Change>,
    sealer: RwLock<Option<Sealer>>,
    spent: Mutex<SpentStates>,
}

impl Shared {
    pub(crate) fn new(config: Config) -> Self {
        let registry = RwLock::new(Arc::new(Registry::new(config)));
        Self {
            registry,
            changes: broadcast::Sender::new(CHANGES_HELD),
            sealer: RwLock::new(None),
            spent: Mutex::default(),
        }
    }

    /// What is registered now.
    pub(crate) fn registry(&self) -> Arc<Registry> {
        Arc::clone(&self.registry.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes what is registered. Requests that run keep what they started with.
    pub(crate) fn change<R>(&self, with: impl FnOnce(&mut Registry) -> R) -> R {
        let mut registry = self.registry.write().unwrap_or_else(PoisonError::into_inner);
        let registry = Arc::make_mut(&mut registry);
        registry.served = OnceLock::new();
        registry.lists = Lists::default();
        with(registry)
    }

    pub(crate) fn config(&self) -> Arc<Config> {
        let registry = self.registry();
        let served = registry.served.get_or_init(|| {
            Arc::new(Config {
                capabilities: registry.capabilities(),
                ..registry.config.clone()
            })
        });
        Arc::clone(served)
    }

    pub(crate) fn name(&self) -> String {
        self.registry().config.info.name.clone()
    }

    pub(crate) fn state<S: Any + Send + Sync>(&self) -> Option<Arc<S>> {
        let state = self.registry().states.get(&TypeId::of::<S>()).map(Arc::clone)?;
        state.downcast().ok()
    }

    /// Tells every connection. One that does not keep up is told later that everything changed.
    pub(crate) fn announce(&self, change: &Change) {
        // Nobody listens: nobody misses it.
        let _ = self.changes.send(change.clone());
    }

    /// The changes from now on, for one connection.
    pub(crate) fn listen(&self) -> Changes {
        Changes::new(self.changes.subscribe(), self.registry().tasks.clone())
    }

    /// Notes that a request's state is used now. Whether this process did not see it before.
    pub(crate) fn spend_state(&self, now: u64, expires: u64, nonce: String) -> bool {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        spent.spend(now, expires, nonce)
    }

    pub(crate) fn set_sealer(&self, sealer: Sealer) {
        *self.sealer.write().unwrap_or_else(PoisonError::into_inner) = Some(sealer);
    }

    /// The sealer, with a key of this process's own unless one was given. `None` if the system has no
    /// randomness to make one from.
    pub(crate) fn sealer(&self) -> Option<Sealer> {
        if let Some(sealer) = &*self.sealer.read().unwrap_or_else(PoisonError::into_inner) {
            return Some(sealer.clone());
        }
        let mut key = [0; 32];
        getrandom::fill(&mut key).ok()?;
        let mut slot = self.sealer.write().unwrap_or_else(PoisonError::into_inner);
        Some(slot.get_or_insert_with(|| Sealer::new(key)).clone())
    }
}
