//! From a request to its reply: find what it names, check, run, and shape the result for the revision.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use trunkline_proto::Shape;
use trunkline_proto::server::decode;
use trunkline_types::{
    BadArguments, CacheScope, CallToolResult, CompleteParams, ErrorObject, GetPromptParams, GetPromptResult,
    ListParams, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, Method,
    ReadResourceParams, ReadResourceResult, clip, code,
};

use crate::attempts::{Answered, Asking, Attempts, Ran};
use crate::completion::{self, Completing};
use crate::error::Kind;
use crate::page::page;
use crate::registry::Registry;
use crate::reply::complete_text;
use crate::resource::not_found;
use crate::task::{self, Job, Mode};
use crate::tool::Registered;
use crate::{Context, Reply, ServerRequest, ToolError};

/// The params of a tool call, borrowed from the request.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CallParams<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(default)]
    arguments: Option<Value>,
    #[serde(borrow, default)]
    input_responses: Option<&'a RawValue>,
    #[serde(borrow, default)]
    request_state: Option<&'a RawValue>,
}

impl<'a> CallParams<'a> {
    fn read(request: &'a ServerRequest) -> Result<Self, ErrorObject> {
        decode(request.params.as_deref())
    }

    /// What the client answers with.
    fn answered(&self) -> Result<Answered, ErrorObject> {
        Ok(Answered {
            responses: self.input_responses.map(|raw| decode(Some(raw))).transpose()?.flatten(),
            state: self.request_state.map(|raw| decode(Some(raw))).transpose()?.flatten(),
        })
    }

    /// The arguments. Absent and null are an empty object.
    fn given(&mut self) -> Value {
        self.arguments.take().unwrap_or_else(|| json!({}))
    }
}

pub(crate) async fn answer(request: ServerRequest) -> Reply {
    let registry = request.origin.shared.registry();
    let reply = route(&request, &registry).await;
    // The one error whose code depends on the revision.
    reply.map_err(|mut error| {
        if error.code == code::RESOURCE_NOT_FOUND {
            error.code = request.origin.profile.resource_not_found;
        }
        error
    })
}

async fn route(request: &ServerRequest, registry: &Arc<Registry>) -> Reply {
    let params = request.params.as_deref();
    match request.method {
        Method::CallTool => call_tool(request, registry).await,
        // In boxes, so that a tool call, which is nearly every request, is no larger than it has to be.
        Method::GetPrompt => Box::pin(get_prompt(request, registry)).await,
        Method::ReadResource => Box::pin(read_resource(request, registry)).await,
        Method::Complete => Box::pin(complete(request, registry)).await,
        Method::GetTask => Box::pin(task::get(request, registry, &shape(request, registry))).await,
        Method::UpdateTask => Box::pin(task::update(request, registry, &shape(request, registry))).await,
        Method::CancelTask => Box::pin(task::cancel(request, registry, &shape(request, registry))).await,
        Method::ListTools | Method::ListPrompts | Method::ListResources | Method::ListResourceTemplates => {
            let cursor = decode::<ListParams>(params)?.cursor;
            list(request, registry, cursor.as_deref())
        }
        other => Err(ErrorObject::method_not_found(other.name())),
    }
}

fn shape<'a>(request: &ServerRequest, registry: &'a Registry) -> Shape<'a> {
    Shape {
        profile: request.origin.profile,
        server: &registry.config.info,
    }
}

pub(crate) fn unwritable(error: serde_json::Error) -> ErrorObject {
    ErrorObject::internal(format!("the result cannot be written: {error}"))
}

fn list(request: &ServerRequest, registry: &Registry, cursor: Option<&str>) -> Reply {
    let of = (request.method, request.origin.profile.revision);
    if let Some(page) = registry.lists.get(of, cursor) {
        return Ok(page);
    }
    let shape = shape(request, registry);
    let (size, ttl) = (registry.page_size, Some(registry.list_ttl_ms));
    let scope = Some(CacheScope::Private);
    /// One page of a list in the shape of the revision.
    macro_rules! reply {
        ($items:expr, $result:ident { $field:ident }, $fit:ident, $definition:expr) => {{
            let (items, next_cursor) = page($items, cursor, size)?;
            let mut $field: Vec<_> = items.into_iter().map($definition).collect();
            for item in &mut $field {
                shape.$fit(item);
            }
            let mut result = $result {
                $field,
                next_cursor,
                ttl_ms: ttl,
                cache_scope: scope,
                ..$result::default()
            };
            let page = shape.complete(&mut result).map_err(unwritable)?;
            registry.lists.keep(of, cursor, &page, result.next_cursor);
            Ok(page)
        }};
    }
    match request.method {
        Method::ListTools => {
            reply!(&registry.tools, ListToolsResult { tools }, fit_tool, |tool| tool
                .definition()
                .clone())
        }
        Method::ListPrompts => {
            reply!(&registry.prompts, ListPromptsResult { prompts }, fit_prompt, |prompt| {
                prompt.definition.clone()
            })
        }
        Method::ListResources => {
            reply!(
                &registry.resources,
                ListResourcesResult { resources },
                fit_resource,
                |r| r.definition.clone()
            )
        }
        _ => reply!(
            &registry.templates,
            ListResourceTemplatesResult { resource_templates },
            fit_template,
            |t| { t.definition.shown.clone() }
        ),
    }
}

async fn call_tool(request: &ServerRequest, registry: &Arc<Registry>) -> Reply {
    let mut params = CallParams::read(request)?;
    let mut arguments = params.given();
    // Rarely wanted once more: as they came, for the name of what the client is asked, and for a further attempt.
    let given_again = || CallParams::read(request).map(|mut params| params.given());
    let name = params.name.as_ref();
    let Some(tool) = registry.tools.get(name) else {
        return Err(ErrorObject::invalid_params(format!("unknown tool: {}", clip(name))));
    };
    if !arguments.is_object() {
        return Err(ErrorObject::invalid_params("`arguments` must be an object"));
    }
    let mode = task::mode(request, registry, tool)?;
    let shape = shape(request, registry);
    let asking = Asking {
        request,
        shape: &shape,
        salient: &|| json!({ "name": name, "arguments": given_again().unwrap_or_default() }),
    };
    let mut attempts = Attempts::open(&asking, || params.answered())?;
    if let Err(error) = tool.admit(request, attempts.is_first()) {
        return finish_call(&shape, Err(error));
    }
    if let Err(why) = tool.check_arguments(&mut arguments) {
        return match request.origin.profile.bad_arguments {
            BadArguments::ProtocolError => Err(ErrorObject::invalid_params(why)),
            BadArguments::ExecutionError => finish_call(&shape, Err(ToolError::new(why))),
        };
    }
    let Mode::Task { tasks, on_demand } = mode else {
        let mut checked = Some(arguments);
        let start = |context: &Context| {
            if let Some(arguments) = checked.take() {
                return Ok(tool.start(arguments, context));
            }
            let mut again = given_again()?;
            tool.check_arguments(&mut again).map_err(ErrorObject::invalid_params)?;
            Ok(tool.start(again, context))
        };
        return match attempts.run(&asking, start).await? {
            Ran::Done(result) => conclude(&shape, tool, result),
            Ran::Asks(reply) => Ok(reply),
        };
    };
    attempts.spend(&request.origin.shared)?;
    let job = Job {
        registry: Arc::clone(registry),
        tool: Arc::clone(tool),
        origin: Arc::clone(&request.origin),
        arguments,
        attempts,
    };
    if on_demand {
        Box::pin(task::run_on_demand(&tasks, job, &asking)).await
    } else {
        Box::pin(tasks.start(job, None, &shape)).await
    }
}

/// The reply of a call from what its handler returned.
pub(crate) fn conclude(shape: &Shape<'_>, tool: &Registered, mut result: Result<CallToolResult, ToolError>) -> Reply {
    if let Ok(result) = &mut result {
        complete_text(result);
        tool.check_result(result).map_err(ErrorObject::internal)?;
    }
    finish_call(shape, result)
}

fn finish_call(shape: &Shape<'_>, result: Result<CallToolResult, ToolError>) -> Reply {
    let mut result = match result.map_err(ToolError::into_kind) {
        Ok(result) | Err(Kind::Execution(result)) => result,
        Err(Kind::Protocol(error)) => return Err(error),
    };
    shape.fit_call(&mut result);
    shape.complete(&mut result).map_err(unwritable)
}

async fn get_prompt(request: &ServerRequest, registry: &Registry) -> Reply {
    let params: GetPromptParams = decode(request.params.as_deref())?;
    let Some(prompt) = registry.prompts.get(&params.name) else {
        return Err(ErrorObject::invalid_params(format!(
            "unknown prompt: {}",
            clip(&params.name)
        )));
    };
    let arguments = params.arguments.unwrap_or_default();
    let answered = Answered {
        responses: params.input_responses,
        state: params.request_state,
    };
    let shape = shape(request, registry);
    let asking = Asking {
        request,
        shape: &shape,
        salient: &|| json!({ "name": params.name, "arguments": &arguments }),
    };
    let mut attempts = Attempts::open(&asking, || Ok(answered))?;
    match attempts
        .run(&asking, |context| prompt.start(arguments.clone(), context))
        .await?
    {
        Ran::Done(result) => {
            let mut result: GetPromptResult = result?;
            result
                .messages
                .iter_mut()
                .for_each(|message| shape.fit_message(message));
            shape.complete(&mut result).map_err(unwritable)
        }
        Ran::Asks(reply) => Ok(reply),
    }
}

async fn read_resource(request: &ServerRequest, registry: &Registry) -> Reply {
    let params: ReadResourceParams = decode(request.params.as_deref())?;
    let uri = params.uri;
    let answered = Answered {
        responses: params.input_responses,
        state: params.request_state,
    };
    let found = registry
        .resources
        .get(&uri)
        .map(|resource| (Arc::clone(&resource.read), crate::UriVariables::default()));
    let found = found.or_else(|| {
        let by_template = |template: &Arc<crate::resource::Readable<_>>| -> Option<_> {
            let template: &crate::resource::Readable<crate::resource::Template> = template;
            Some((Arc::clone(&template.read), template.definition.parsed.matches(&uri)?))
        };
        registry.templates.values().find_map(by_template)
    });
    let Some((read, variables)) = found else {
        return Err(not_found(&uri));
    };
    let shape = shape(request, registry);
    let asking = Asking {
        request,
        shape: &shape,
        salient: &|| json!({ "uri": uri }),
    };
    let mut attempts = Attempts::open(&asking, || Ok(answered))?;
    match attempts
        .run(&asking, |context| Ok(read(uri.clone(), variables.clone(), context)))
        .await?
    {
        Ran::Done(result) => {
            let mut result: ReadResourceResult = result.map_err(|error| naming(error, &uri))?;
            shape.complete(&mut result).map_err(unwritable)
        }
        Ran::Asks(reply) => Ok(reply),
    }
}

/// Adds the address to a handler's "not found" that does not carry it.
fn naming(mut error: ErrorObject, uri: &str) -> ErrorObject {
    if error.code == code::RESOURCE_NOT_FOUND && error.data.is_none() {
        error = error.with_data(json!({ "uri": uri }));
    }
    error
}

async fn complete(request: &ServerRequest, registry: &Registry) -> Reply {
    let params: CompleteParams = decode(request.params.as_deref())?;
    let key = completion::key(&params)?;
    let shape = shape(request, registry);
    let mut result = match registry.completions.get(&key) {
        Some(complete) => {
            let arguments = params.context.and_then(|context| context.arguments).unwrap_or_default();
            let completing = Completing {
                value: params.argument.value,
                arguments,
            };
            (complete.run)(completing, &request.context()).await?
        }
        // What exists but completes nothing has no suggestions; what does not exist is a mistake.
        None if registry.prompts.contains_key(&key.0) || registry.templates.contains_key(&key.0) => {
            trunkline_types::CompleteResult::new(Vec::<String>::new())
        }
        None => {
            return Err(ErrorObject::invalid_params(format!(
                "nothing to complete: {}",
                clip(&key.0)
            )));
        }
    };
    shape.complete(&mut result).map_err(unwritable)
}
