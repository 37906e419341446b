//! The server: what is registered, and the ways to serve it.

use std::any::{Any, TypeId};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use tower_layer::Layer;
use tower_service::Service;
use trunkline_proto::Sealer;
use trunkline_proto::server::{Change, Config, Limits};
use trunkline_transport::{InMemory, Memory, Transport};
use trunkline_types::{
    ErrorObject, Extra, Implementation, ListCapability, Resource, ResourceTemplate, ResourcesCapability, Revision,
};

use crate::completion::CompletionEntry;
use crate::prompt::PromptEntry;
use crate::registry::{Registry, Shared};
use crate::resource::{Readable, Template};
use crate::serve;
use crate::task::Tasks;
use crate::{
    Completing, DefinitionError, Handler, IntoContents, IntoPrompt, IntoTool, RequestService, ServeError,
    ServerRequest, TaskStore, UriTemplate, UriVariables,
};

/// A server: tools, resources and prompts under a name.
///
/// It is cheap to clone; clones share everything. What cannot be served is noted where it is registered
/// and reported by `serve_*`, so that registering stays a plain chain.
///
/// ```
/// use trunkline_server::{NoArguments, Server, UriVariables};
/// use trunkline_types::Resource;
///
/// async fn now(_: NoArguments) -> &'static str {
///     "noon"
/// }
///
/// let server = Server::new("clock", "1.0.0")
///     .instructions("Ask for the time before you speak of it.")
///     .tool("now", now)
///     .resource(Resource::new("clock://zone", "zone"), |_: UriVariables| async { "UTC" });
/// assert!(server.check().is_ok());
/// ```
#[derive(Debug, Clone)]
pub struct Server {
    shared: Arc<Shared>,
    /// Ends the tasks with the last clone.
    _tasks: Arc<EndOfTasks>,
}

/// Ends what runs as a task when it is dropped.
#[derive(Debug)]
struct EndOfTasks(Arc<Shared>);

impl Drop for EndOfTasks {
    fn drop(&mut self) {
        if let Some(tasks) = &self.0.registry().tasks {
            tasks.close();
        }
    }
}

impl Server {
    /// A server by name and version, with nothing registered.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        let shared = Arc::new(Shared::new(Config::new(name, version)));
        Self {
            _tasks: Arc::new(EndOfTasks(Arc::clone(&shared))),
            shared,
        }
    }

    #[cfg(feature = "http")]
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    fn configure(self, with: impl FnOnce(&mut Config)) -> Self {
        self.shared.change(|registry| with(&mut registry.config));
        self
    }

    /// Describes the server further: title, icons, website.
    pub fn info(self, with: impl FnOnce(&mut Implementation)) -> Self {
        self.configure(|config| with(&mut config.info))
    }

    /// How a model should use the server.
    pub fn instructions(self, text: impl Into<String>) -> Self {
        self.configure(|config| config.instructions = Some(text.into()))
    }

    /// The revisions to speak. Default: all.
    pub fn revisions(self, revisions: impl IntoIterator<Item = Revision>) -> Self {
        self.configure(|config| {
            config.revisions = revisions.into_iter().collect();
            config.revisions.sort_unstable();
            config.revisions.dedup();
        })
    }

    /// The bounds of each connection.
    pub fn limits(self, limits: Limits) -> Self {
        self.configure(|config| config.limits = limits)
    }

    /// Declares extensions, by identifier and with their settings.
    pub fn extensions(self, extensions: Extra) -> Self {
        self.configure(|config| config.capabilities.extensions = Some(extensions))
    }

    /// How many items one page of a list shows. Default 250, at least 1.
    pub fn page_size(self, size: usize) -> Self {
        self.shared.change(|registry| registry.page_size = size.max(1));
        self
    }

    /// How many milliseconds a client may keep a list without asking again. Default 0.
    pub fn list_ttl_ms(self, milliseconds: u32) -> Self {
        self.shared
            .change(|registry| registry.list_ttl_ms = milliseconds.into());
        self
    }

    /// The key that protects the state of requests that ask for input. Default: one of the process's own.
    /// Servers that stand in for each other share it; keep it secret.
    pub fn state_key(self, key: [u8; 32]) -> Self {
        self.shared.set_sealer(Sealer::new(key));
        self
    }

    /// Keeps tasks in this store, and declares the extension for them
    /// ([SEP-2663](https://modelcontextprotocol.io/seps/2663-tasks-extension)). Which tools run as tasks, each
    /// says by [`Tool::task`](crate::Tool::task). One store for a server.
    ///
    /// Tasks outlive the connections that they came over. They end with the last clone of the server, or by
    /// [`end_tasks`](Self::end_tasks).
    pub fn tasks(self, store: impl TaskStore) -> Self {
        self.shared.change(|registry| {
            if registry.tasks.is_some() {
                registry.note(DefinitionError::Duplicate {
                    kind: "store",
                    name: "tasks".to_owned(),
                });
            }
            registry.tasks = Some(Arc::new(Tasks::new(store)));
        });
        self
    }

    /// Ends the tasks that run, each as failed, and starts no more. Waits until they have ended, at most five
    /// seconds. For the end of a program: [`serve_stdio`](Self::serve_stdio) does it itself.
    pub async fn end_tasks(&self) {
        let tasks = self.shared.registry().tasks.clone();
        if let Some(tasks) = tasks {
            tasks.ended().await;
        }
    }

    /// Gives handlers a state, to be taken as [`State`](crate::State). One for each type.
    pub fn state<S: Any + Send + Sync>(self, state: S) -> Self {
        self.shared.change(|registry| {
            registry.states.insert(TypeId::of::<S>(), Arc::new(state));
        });
        self
    }

    /// Registers a tool: a handler, or a [`Tool`](crate::Tool) with more said about it.
    pub fn tool<Marker>(self, name: &str, tool: impl IntoTool<Marker>) -> Self {
        if let Err(fault) = self.insert_tool(name, tool) {
            self.shared.change(|registry| registry.note(fault));
        }
        self
    }

    fn insert_tool<Marker>(&self, name: &str, tool: impl IntoTool<Marker>) -> Result<(), DefinitionError> {
        let tool = Arc::new(tool.into_tool().register(name)?);
        self.shared.change(|registry| {
            if registry.tools.contains_key(name) {
                return Err(DefinitionError::Duplicate {
                    kind: "tool",
                    name: name.to_owned(),
                });
            }
            registry.tools.insert(name.to_owned(), tool);
            Ok(())
        })
    }

    /// Declares tools though there are none yet: they come by [`add_tool`](Self::add_tool).
    pub fn tools_come_later(self) -> Self {
        self.configure(|config| config.capabilities.tools = Some(changing_list()))
    }

    /// Declares prompts though there are none yet: they come by [`add_prompt`](Self::add_prompt).
    ///
    /// ```
    /// use trunkline_server::{NoArguments, Server};
    ///
    /// let server = Server::new("notes", "1.0.0").prompts_come_later();
    /// server.add_prompt("sum_up", |_: NoArguments| async { "Sum up my notes.".to_owned() })?;
    /// assert!(server.remove_prompt("sum_up"));
    /// # Ok::<(), trunkline_server::DefinitionError>(())
    /// ```
    pub fn prompts_come_later(self) -> Self {
        self.configure(|config| config.capabilities.prompts = Some(changing_list()))
    }

    /// Declares resources though there are none yet: they come by [`add_resource`](Self::add_resource) and
    /// [`add_template`](Self::add_template).
    ///
    /// ```
    /// use trunkline_server::{Server, UriVariables};
    /// use trunkline_types::Resource;
    ///
    /// let server = Server::new("notes", "1.0.0").resources_come_later();
    /// server.add_resource(Resource::new("notes://today", "today"), |_: UriVariables| async { "buy milk" });
    /// assert!(server.remove_resource("notes://today"));
    /// assert!(!server.remove_resource("notes://today"));
    /// ```
    pub fn resources_come_later(self) -> Self {
        self.configure(|config| {
            config.capabilities.resources = Some(ResourcesCapability {
                subscribe: Some(true),
                list_changed: Some(true),
                ..ResourcesCapability::default()
            });
        })
    }

    /// Adds a tool while serving, and announces that the list changed.
    ///
    /// # Errors
    /// If it cannot be served, or the name is taken.
    pub fn add_tool<Marker>(&self, name: &str, tool: impl IntoTool<Marker>) -> Result<(), DefinitionError> {
        self.insert_tool(name, tool)?;
        self.shared.announce(&Change::Tools);
        Ok(())
    }

    /// Takes a tool away while serving, and announces that the list changed. Whether it was there.
    pub fn remove_tool(&self, name: &str) -> bool {
        let removed = self.shared.change(|registry| registry.tools.remove(name)).is_some();
        if removed {
            self.shared.announce(&Change::Tools);
        }
        removed
    }

    /// Registers a resource under its address.
    pub fn resource<H, Marker>(self, resource: Resource, handler: H) -> Self
    where
        H: Handler<UriVariables, Marker>,
        H::Output: IntoContents + 'static,
    {
        let uri = resource.uri.clone();
        let entry = Arc::new(Readable::resource(resource, handler));
        self.shared.change(|registry| {
            if registry.resources.insert(uri.clone(), entry).is_some() {
                registry.note(DefinitionError::Duplicate {
                    kind: "resource",
                    name: uri,
                });
            }
        });
        self
    }

    /// Adds a resource while serving, or replaces it, and announces that the list changed.
    pub fn add_resource<H, Marker>(&self, resource: Resource, handler: H)
    where
        H: Handler<UriVariables, Marker>,
        H::Output: IntoContents + 'static,
    {
        let uri = resource.uri.clone();
        let entry = Arc::new(Readable::resource(resource, handler));
        self.shared.change(|registry| registry.resources.insert(uri, entry));
        self.shared.announce(&Change::Resources);
    }

    /// Takes a resource away while serving, and announces that the list changed. Whether it was there.
    pub fn remove_resource(&self, uri: &str) -> bool {
        let removed = self.shared.change(|registry| registry.resources.remove(uri)).is_some();
        if removed {
            self.shared.announce(&Change::Resources);
        }
        removed
    }

    /// Announces that what a resource holds changed.
    pub fn resource_changed(&self, uri: impl Into<String>) {
        self.shared.announce(&Change::Resource(uri.into()));
    }

    /// Registers all resources whose addresses follow a template
    /// ([RFC 6570](https://datatracker.ietf.org/doc/html/rfc6570)); the handler gets the variables.
    pub fn resource_template<H, Marker>(self, template: ResourceTemplate, handler: H) -> Self
    where
        H: Handler<UriVariables, Marker>,
        H::Output: IntoContents + 'static,
    {
        if let Err(fault) = self.insert_template(template, handler) {
            self.shared.change(|registry| registry.note(fault));
        }
        self
    }

    fn insert_template<H, Marker>(&self, template: ResourceTemplate, handler: H) -> Result<(), DefinitionError>
    where
        H: Handler<UriVariables, Marker>,
        H::Output: IntoContents + 'static,
    {
        let name = template.uri_template.clone();
        let parsed = UriTemplate::parse(&name).map_err(|error| DefinitionError::Unusable {
            kind: "template",
            name: name.clone(),
            why: error.to_string(),
        })?;
        let template = Template {
            shown: template,
            parsed,
        };
        let entry = Arc::new(Readable::template(template, handler));
        self.shared.change(|registry| {
            if registry.templates.contains_key(&name) {
                return Err(DefinitionError::Duplicate { kind: "template", name });
            }
            registry.templates.insert(name, entry);
            Ok(())
        })
    }

    /// Adds a template while serving, and announces that the list of resources changed.
    ///
    /// ```
    /// use trunkline_server::{Server, UriVariables};
    /// use trunkline_types::ResourceTemplate;
    ///
    /// let server = Server::new("notes", "1.0.0").resources_come_later();
    /// let template = ResourceTemplate {
    ///     uri_template: "notes://note/{name}".into(),
    ///     name: "note".into(),
    ///     ..Default::default()
    /// };
    /// server.add_template(template, |note: UriVariables| async move { note.text("name").unwrap_or_default().to_owned() })?;
    /// assert!(server.remove_template("notes://note/{name}"));
    /// # Ok::<(), trunkline_server::DefinitionError>(())
    /// ```
    ///
    /// # Errors
    /// If it is no template, or is registered already.
    pub fn add_template<H, Marker>(&self, template: ResourceTemplate, handler: H) -> Result<(), DefinitionError>
    where
        H: Handler<UriVariables, Marker>,
        H::Output: IntoContents + 'static,
    {
        self.insert_template(template, handler)?;
        self.shared.announce(&Change::Resources);
        Ok(())
    }

    /// Takes a template away while serving, with its completions, and announces that the list of resources
    /// changed. Whether it was there.
    pub fn remove_template(&self, uri_template: &str) -> bool {
        let removed = self.shared.change(|registry| {
            let removed = registry.templates.remove(uri_template).is_some();
            drop_completions(registry, uri_template);
            removed
        });
        if removed {
            self.shared.announce(&Change::Resources);
        }
        removed
    }

    /// Registers a prompt. Its arguments are the members of the input type, its description the doc
    /// comment of that type. The members must be what a text can say: text, a number, a boolean or a choice.
    pub fn prompt<H, Input, Marker>(self, name: &str, handler: H) -> Self
    where
        H: Handler<Input, Marker>,
        Input: DeserializeOwned + JsonSchema + Send + 'static,
        H::Output: IntoPrompt + 'static,
    {
        if let Err(fault) = self.insert_prompt(name, handler) {
            self.shared.change(|registry| registry.note(fault));
        }
        self
    }

    fn insert_prompt<H, Input, Marker>(&self, name: &str, handler: H) -> Result<(), DefinitionError>
    where
        H: Handler<Input, Marker>,
        Input: DeserializeOwned + JsonSchema + Send + 'static,
        H::Output: IntoPrompt + 'static,
    {
        let entry = Arc::new(PromptEntry::new(name, handler)?);
        self.shared.change(|registry| {
            if registry.prompts.contains_key(name) {
                return Err(DefinitionError::Duplicate {
                    kind: "prompt",
                    name: name.to_owned(),
                });
            }
            registry.prompts.insert(name.to_owned(), entry);
            Ok(())
        })
    }

    /// Adds a prompt while serving, and announces that the list changed.
    ///
    /// # Errors
    /// If it cannot be served, or the name is taken.
    pub fn add_prompt<H, Input, Marker>(&self, name: &str, handler: H) -> Result<(), DefinitionError>
    where
        H: Handler<Input, Marker>,
        Input: DeserializeOwned + JsonSchema + Send + 'static,
        H::Output: IntoPrompt + 'static,
    {
        self.insert_prompt(name, handler)?;
        self.shared.announce(&Change::Prompts);
        Ok(())
    }

    /// Takes a prompt away while serving, with its completions, and announces that the list changed. Whether
    /// it was there.
    pub fn remove_prompt(&self, name: &str) -> bool {
        let removed = self.shared.change(|registry| {
            let removed = registry.prompts.remove(name).is_some();
            drop_completions(registry, name);
            removed
        });
        if removed {
            self.shared.announce(&Change::Prompts);
        }
        removed
    }

    /// Says more about a prompt that is registered: title, icons, descriptions of its arguments.
    pub fn describe_prompt(self, name: &str, with: impl FnOnce(&mut trunkline_types::Prompt)) -> Self {
        self.shared.change(|registry| match registry.prompts.get_mut(name) {
            Some(entry) => with(&mut Arc::make_mut(entry).definition),
            None => registry.note(DefinitionError::Unusable {
                kind: "prompt",
                name: name.to_owned(),
                why: "it is described before it is registered".to_owned(),
            }),
        });
        self
    }

    /// Suggests values for an argument of a prompt (by its name) or of a template (by the template).
    pub fn complete<H, Marker, T>(self, of: &str, argument: &str, handler: H) -> Self
    where
        H: Handler<Completing, Marker, Output = Vec<T>>,
        T: Into<String> + 'static,
    {
        let entry = CompletionEntry::new(handler);
        self.shared
            .change(|registry| registry.completions.insert((of.to_owned(), argument.to_owned()), entry));
        self
    }

    /// Puts a `tower` layer around every request; the last one added is the outermost.
    pub fn layer<L>(self, layer: L) -> Self
    where
        L: Layer<RequestService>,
        L::Service: Service<ServerRequest, Response = trunkline_types::JsonText, Error = ErrorObject>
            + Clone
            + Send
            + Sync
            + 'static,
        <L::Service as Service<ServerRequest>>::Future: Send,
    {
        self.shared.change(|registry| {
            let inner = registry.service.take().unwrap_or_else(RequestService::innermost);
            registry.service = Some(RequestService::wrapping(layer.layer(inner)));
        });
        self
    }

    /// Checks everything that was registered.
    ///
    /// # Errors
    /// The first thing that cannot be served.
    pub fn check(&self) -> Result<(), DefinitionError> {
        self.shared.registry().check()
    }

    /// Serves one connection until its client is gone. Work that was accepted is finished within five
    /// seconds after the client's last word.
    ///
    /// # Errors
    /// If something that was registered cannot be served, or the transport fails.
    pub async fn serve(&self, transport: impl Transport) -> Result<(), ServeError> {
        self.serve_until(transport, std::future::pending()).await
    }

    /// Serves one connection until its client is gone, or until `stop` is ready: then nothing more is read,
    /// streams of notices end in good order, and work that was accepted has five seconds to finish.
    ///
    /// # Errors
    /// As [`serve`](Self::serve).
    pub async fn serve_until(
        &self,
        transport: impl Transport,
        stop: impl Future<Output = ()> + Send,
    ) -> Result<(), ServeError> {
        self.check()?;
        serve::run(Arc::clone(&self.shared), transport, stop).await
    }

    /// Serves stdin and stdout until stdin ends, and then ends the tasks: nobody could ask for them any more.
    /// Nothing else may be written to stdout.
    ///
    /// # Errors
    /// As [`serve`](Self::serve).
    pub async fn serve_stdio(&self) -> Result<(), ServeError> {
        self.check()?;
        let served = self.serve(trunkline_transport::stdio()?).await;
        self.end_tasks().await;
        served
    }
}

fn changing_list() -> ListCapability {
    ListCapability {
        list_changed: Some(true),
        ..ListCapability::default()
    }
}

/// Completions of what is gone would be a mistake in the definition of the server.
fn drop_completions(registry: &mut Registry, of: &str) {
    if !registry.prompts.contains_key(of) && !registry.templates.contains_key(of) {
        registry.completions.retain(|(owner, _), _| owner != of);
    }
}

/// Each opened end is served by a task of its own, which ends with it. Needs a runtime.
impl InMemory for Server {
    fn open(&self) -> Memory {
        let (here, there) = trunkline_transport::memory();
        let server = self.clone();
        tokio::spawn(async move { server.serve(here).await });
        there
    }
}
