//! What is registered with a server, and what all its connections share.

use std::any::{Any, TypeId};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use tokio::sync::mpsc;
use trunkline_proto::Sealer;
use trunkline_proto::server::{Change, Config};
use trunkline_types::{Extension, Extra, ListCapability, Resource, ResourcesCapability, ServerCapabilities, Task};

use crate::DefinitionError;
use crate::completion::{CompletionEntry, CompletionKey};
use crate::prompt::PromptEntry;
use crate::resource::{Readable, Template};
use crate::service::RequestService;
use crate::spent::SpentStates;
use crate::task::Tasks;
use crate::tool::Registered;

/// How many changes a connection may lag behind before it is told that everything changed.
const CHANGES_HELD: usize = 256;
/// How many items one page of a list shows, unless the server says otherwise.
pub(crate) const PAGE_SIZE: usize = 250;

/// What is registered at one moment.
#[derive(Debug, Clone)]
pub(crate) struct Registry {
    pub(crate) config: Config,
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

/// One connection that wants to hear of changes.
#[derive(Debug)]
struct Listener {
    /// Who listens: a task is shown to nobody but its principal.
    principal: String,
    changes: mpsc::Sender<Change>,
    lagged: Arc<AtomicBool>,
}

/// The changes that one connection has not heard of yet.
#[derive(Debug)]
pub(crate) struct Changes {
    pub(crate) next: mpsc::Receiver<Change>,
    lagged: Arc<AtomicBool>,
}

impl Changes {
    /// Whether some were lost since the last time this was asked.
    pub(crate) fn take_lagged(&self) -> bool {
        self.lagged.swap(false, Ordering::AcqRel)
    }
}

/// What all connections of a server share.
#[derive(Debug)]
pub(crate) struct Shared {
    registry: RwLock<Arc<Registry>>,
    listeners: Mutex<Vec<Listener>>,
    sealer: RwLock<Option<Sealer>>,
    spent: Mutex<SpentStates>,
}

impl Shared {
    pub(crate) fn new(config: Config) -> Self {
        let registry = RwLock::new(Arc::new(Registry::new(config)));
        Self {
            registry,
            listeners: Mutex::new(Vec::new()),
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
        with(Arc::make_mut(&mut registry))
    }

    pub(crate) fn config(&self) -> Arc<Config> {
        let registry = self.registry();
        Arc::new(Config {
            capabilities: registry.capabilities(),
            ..registry.config.clone()
        })
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
        self.announce_to(change, |_| true);
    }

    /// Tells the connections of a task's principal how it stands.
    pub(crate) fn announce_task(&self, principal: &str, task: Arc<Task>) {
        self.announce_to(&Change::Task(task), |listener| listener.principal == principal);
    }

    /// Tells a connection how the tasks stand that it listens to, soon.
    pub(crate) fn announce_tasks(self: &Arc<Self>, principal: &str, ids: BTreeSet<String>) {
        if let Some(tasks) = self.registry().tasks.as_ref().filter(|_| !ids.is_empty()) {
            tasks.announce(self, principal, ids);
        }
    }

    fn announce_to(&self, change: &Change, wanted: impl Fn(&Listener) -> bool) {
        let mut listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.retain(|listener| {
            if !wanted(listener) {
                return !listener.changes.is_closed();
            }
            match listener.changes.try_send(change.clone()) {
                Ok(()) => true,
                Err(mpsc::error::TrySendError::Full(_)) => {
                    listener.lagged.store(true, Ordering::Release);
                    // Were the queue emptied before this, nothing else would wake the connection.
                    let _ = listener.changes.try_send(change.clone());
                    true
                }
                Err(mpsc::error::TrySendError::Closed(_)) => false,
            }
        });
    }

    /// The changes from now on, for one connection of a principal's.
    pub(crate) fn listen(&self, principal: &str) -> Changes {
        let (changes, next) = mpsc::channel(CHANGES_HELD);
        let lagged = Arc::new(AtomicBool::new(false));
        let mut listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.retain(|listener| !listener.changes.is_closed());
        listeners.push(Listener {
            principal: principal.to_owned(),
            changes,
            lagged: Arc::clone(&lagged),
        });
        Changes { next, lagged }
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
