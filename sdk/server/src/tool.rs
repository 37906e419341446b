//! A tool: a handler with what is said about it and what keeps watch over it.

use std::any::TypeId;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
#[cfg(feature = "http")]
use trunkline_http::header::MirroredParams;
use trunkline_schema::Schema;
use trunkline_types::{CallToolResult, Icon, Meta, ToolAnnotations};

use crate::limit::RateLimit;
use crate::schemas::input_schema;
use crate::{BoxFuture, Context, DefinitionError, Handler, IntoToolResult, ServerRequest, TaskSupport, ToolError};

type Access = Arc<dyn Fn(&Context) -> Result<(), String> + Send + Sync>;
pub(crate) type ToolFn = Arc<dyn Fn(Value, &Context) -> BoxFuture<Result<CallToolResult, ToolError>> + Send + Sync>;

/// A handler with title, annotations, rate limit and access check. A bare handler is a tool too.
///
/// ```
/// use std::time::Duration;
/// use trunkline_server::{NoArguments, Server, Tool};
///
/// /// Who this server was started for.
/// struct Role(&'static str);
///
/// async fn reset(_: NoArguments) -> &'static str {
///     "reset"
/// }
///
/// let tool = Tool::new(reset)
///     .title("Reset the counter")
///     .destructive()
///     .rate_limit(5, Duration::from_secs(60))
///     .access(|context| match context.state::<Role>() {
///         Some(role) if role.0 == "operator" => Ok(()),
///         _ => Err("only operators may reset".into()),
///     });
/// let server = Server::new("counter", "1.0.0").state(Role("operator")).tool("reset", tool);
/// ```
pub struct Tool {
    definition: trunkline_types::Tool,
    /// Whether the schema of its arguments is that of a Rust type.
    typed_arguments: bool,
    /// Whether the schema of its result is, if there is one.
    typed_result: bool,
    run: ToolFn,
    required: Vec<(TypeId, &'static str)>,
    rate_limit: Option<RateLimit>,
    access: Option<Access>,
    task: Option<TaskSupport>,
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool")
            .field("definition", &self.definition)
            .finish_non_exhaustive()
    }
}

impl Tool {
    /// A tool from a handler. Its description is the doc comment of the argument type.
    pub fn new<H, Input, Marker>(handler: H) -> Self
    where
        H: Handler<Input, Marker>,
        Input: DeserializeOwned + JsonSchema + Send + 'static,
        H::Output: IntoToolResult + 'static,
    {
        let mut input_schema = input_schema::<Input>();
        let description = input_schema
            .as_object_mut()
            .and_then(|schema| schema.shift_remove("description"));
        let description = description.as_ref().and_then(Value::as_str);
        let definition = trunkline_types::Tool {
            description: description.filter(|text| !text.is_empty()).map(str::to_owned),
            input_schema,
            output_schema: H::Output::output_schema(),
            ..trunkline_types::Tool::default()
        };
        let run: ToolFn = Arc::new(move |arguments, context| {
            let input = match serde_json::from_value::<Input>(arguments) {
                Ok(input) => input,
                Err(error) => {
                    return Box::pin(async move { Err(ToolError::new(format!("invalid arguments: {error}"))) });
                }
            };
            match handler.call(input, context) {
                Ok(running) => Box::pin(async move { running.await.into_tool_result() }),
                Err(missing) => Box::pin(async move { Err(ToolError::internal(missing.0)) }),
            }
        });
        Self {
            definition,
            typed_arguments: true,
            typed_result: true,
            run,
            required: H::required(),
            rate_limit: None,
            access: None,
            task: None,
        }
    }

    /// A tool whose schema is not that of a Rust type. It gets its checked arguments as JSON.
    pub fn from_schema<H, Marker>(input_schema: Value, handler: H) -> Self
    where
        H: Handler<Value, Marker>,
        H::Output: IntoToolResult + 'static,
    {
        let definition = trunkline_types::Tool {
            input_schema,
            output_schema: H::Output::output_schema(),
            ..trunkline_types::Tool::default()
        };
        let run: ToolFn = Arc::new(move |arguments, context| match handler.call(arguments, context) {
            Ok(running) => Box::pin(async move { running.await.into_tool_result() }),
            Err(missing) => Box::pin(async move { Err(ToolError::internal(missing.0)) }),
        });
        Self {
            definition,
            typed_arguments: false,
            typed_result: true,
            run,
            required: H::required(),
            rate_limit: None,
            access: None,
            task: None,
        }
    }

    /// The name shown to people.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.definition.title = Some(title.into());
        self
    }

    /// What it does, for the model; in place of the doc comment.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.definition.description = Some(description.into());
        self
    }

    /// A schema for its structured result, in place of the type's.
    pub fn output_schema(mut self, schema: Value) -> Self {
        self.definition.output_schema = Some(schema);
        self.typed_result = false;
        self
    }

    /// Pictures to show beside it.
    pub fn icons(mut self, icons: Vec<Icon>) -> Self {
        self.definition.icons = Some(icons);
        self
    }

    /// Metadata of its definition.
    pub fn meta(mut self, meta: Meta) -> Self {
        self.definition.meta = meta;
        self
    }

    fn annotate(mut self, set: impl FnOnce(&mut ToolAnnotations)) -> Self {
        set(self.definition.annotations.get_or_insert_default());
        self
    }

    /// It changes nothing.
    pub fn read_only(self) -> Self {
        self.annotate(|hints| (hints.read_only_hint, hints.destructive_hint) = (Some(true), Some(false)))
    }

    /// It changes something, and may destroy it.
    pub fn destructive(self) -> Self {
        self.annotate(|hints| (hints.read_only_hint, hints.destructive_hint) = (Some(false), Some(true)))
    }

    /// It adds something and destroys nothing.
    pub fn additive(self) -> Self {
        self.annotate(|hints| (hints.read_only_hint, hints.destructive_hint) = (Some(false), Some(false)))
    }

    /// Repeating a call adds nothing.
    pub fn idempotent(self) -> Self {
        self.annotate(|hints| hints.idempotent_hint = Some(true))
    }

    /// Whether it reaches beyond a closed set of things.
    pub fn open_world(self, open: bool) -> Self {
        self.annotate(|hints| hints.open_world_hint = Some(open))
    }

    /// At most so many calls in any such time, all clients together; further ones are refused with a
    /// text that says when to try again.
    pub fn rate_limit(mut self, calls: u32, window: Duration) -> Self {
        self.rate_limit = Some(RateLimit::new(calls, window));
        self
    }

    /// Who may call it: the check sees each call's context and refuses with a reason.
    ///
    /// Let it look at a state that says in what role the server was started. Over stdio nobody is
    /// authenticated, so the context has no principal to ask for.
    pub fn access(mut self, check: impl Fn(&Context) -> Result<(), String> + Send + Sync + 'static) -> Self {
        self.access = Some(Arc::new(check));
        self
    }

    /// Its calls run as tasks, for clients that can follow one and on a server with a store for tasks
    /// ([`Server::tasks`](crate::Server::tasks)). Without this they never do.
    pub fn task(mut self, support: TaskSupport) -> Self {
        self.task = Some(support);
        self
    }

    pub(crate) fn register(mut self, name: &str) -> Result<Registered, DefinitionError> {
        let unusable = |why: String| DefinitionError::Unusable {
            kind: "tool",
            name: name.to_owned(),
            why,
        };
        name.clone_into(&mut self.definition.name);
        check_name(name).map_err(unusable)?;
        if self
            .definition
            .input_schema
            .get("type")
            .is_none_or(|kind| kind != "object")
        {
            return Err(unusable(
                "its arguments must be an object with named members".to_owned(),
            ));
        }
        let compile = |schema: &Value, is_typed| {
            let compiled = if is_typed {
                Schema::of_type(schema)
            } else {
                Schema::compile(schema)
            };
            compiled.map_err(|error| unusable(error.to_string()))
        };
        let input = compile(&self.definition.input_schema, self.typed_arguments)?;
        let output = match &self.definition.output_schema {
            Some(schema) => Some(compile(schema, self.typed_result)?),
            None => None,
        };
        #[cfg(feature = "http")]
        let mirrored = MirroredParams::from_schema(&self.definition.input_schema)
            .map_err(|error| unusable(error.to_string()))
            .map(|mirrored| (!mirrored.is_empty()).then(|| Arc::new(mirrored)))?;
        Ok(Registered {
            tool: self,
            input,
            output,
            #[cfg(feature = "http")]
            mirrored,
        })
    }
}

/// Names have 1 to 128 characters out of letters, digits and `_-.`
/// ([names](https://modelcontextprotocol.io/specification/2026-07-28/server/tools#tool-names)).
fn check_name(name: &str) -> Result<(), String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if name.is_empty() || name.len() > 128 || !name.chars().all(fits) {
        return Err("a tool's name has 1 to 128 letters, digits, `_`, `-` or `.`".to_owned());
    }
    Ok(())
}

/// A tool that is ready to run.
#[derive(Debug)]
pub(crate) struct Registered {
    tool: Tool,
    input: Schema,
    output: Option<Schema>,
    #[cfg(feature = "http")]
    mirrored: Option<Arc<MirroredParams>>,
}

impl Registered {
    /// The params that clients mirror into headers.
    #[cfg(feature = "http")]
    pub(crate) fn mirrored(&self) -> Option<Arc<MirroredParams>> {
        self.mirrored.clone()
    }

    pub(crate) fn definition(&self) -> &trunkline_types::Tool {
        &self.tool.definition
    }

    pub(crate) fn task_support(&self) -> Option<TaskSupport> {
        self.tool.task
    }

    pub(crate) fn required(&self) -> &[(TypeId, &'static str)] {
        &self.tool.required
    }

    /// Checks access, at every round of a call, and the rate, at the first one: the client's answers to the
    /// tool's own questions are no further calls. Who may not call must not use up the rate.
    pub(crate) fn admit(&self, request: &ServerRequest, first: bool) -> Result<(), ToolError> {
        let name = &self.tool.definition.name;
        if let Some(access) = &self.tool.access {
            access(&request.context()).map_err(|why| ToolError::new(format!("`{name}` is not allowed here: {why}")))?;
        }
        if let Some(limit) = self.tool.rate_limit.as_ref().filter(|_| first) {
            limit.take(Instant::now()).map_err(|wait| {
                let seconds = wait.as_secs() + 1;
                let bound = limit.describe();
                ToolError::new(format!("`{name}` allows {bound}; try again in {seconds} s"))
            })?;
        }
        Ok(())
    }

    /// Checks arguments; the text says what to change.
    pub(crate) fn check_arguments(&self, arguments: &mut Value) -> Result<(), String> {
        let Err(first) = self.input.check(arguments) else {
            return Ok(());
        };
        // A null where nothing was meant is forgiven, anything else is not.
        if crate::schemas::drop_absent(&self.tool.definition.input_schema, arguments)
            && self.input.check(arguments).is_ok()
        {
            return Ok(());
        }
        Err(format!(
            "the arguments do not fit `{}`: {first}",
            self.tool.definition.name
        ))
    }

    pub(crate) fn start(&self, arguments: Value, context: &Context) -> BoxFuture<Result<CallToolResult, ToolError>> {
        (self.tool.run)(arguments, context)
    }

    /// Checks a result that is no error against the output schema. Only the structured part counts
    /// ([rule](https://modelcontextprotocol.io/specification/2026-07-28/server/tools#output-schema)).
    pub(crate) fn check_result(&self, result: &CallToolResult) -> Result<(), String> {
        let Some(schema) = self.output.as_ref().filter(|_| !result.failed()) else {
            return Ok(());
        };
        let name = &self.tool.definition.name;
        match &result.structured_content {
            Some(content) => schema
                .check(content)
                .map_err(|mismatch| format!("the result of `{name}` does not fit its own schema: {mismatch}")),
            None => Err(format!("`{name}` promised a structured result and gave none")),
        }
    }
}

/// Something that can be registered as a tool: a [`Tool`], or a handler as it is.
pub trait IntoTool<Marker> {
    /// The tool.
    fn into_tool(self) -> Tool;
}

impl IntoTool<()> for Tool {
    fn into_tool(self) -> Tool {
        self
    }
}

impl<H, Input, Marker> IntoTool<(Input, Marker)> for H
where
    H: Handler<Input, Marker>,
    Input: DeserializeOwned + JsonSchema + Send + 'static,
    H::Output: IntoToolResult + 'static,
{
    fn into_tool(self) -> Tool {
        Tool::new(self)
    }
}
