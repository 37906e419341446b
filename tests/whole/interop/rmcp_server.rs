//! A server on the official Rust SDK, driven by our client over HTTP. It runs in the process of the test.

#![expect(
    deprecated,
    reason = "what the newest revision removed is still served to older ones"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult, CompletionInfo,
    ContentBlock, CreateMessageRequest, CreateMessageRequestParams, ElicitRequest, ElicitRequestParams,
    GetPromptRequestParams, GetPromptResponse, GetPromptResult, InputRequest, InputRequests, InputRequiredResult,
    ListPromptsResult, ListResourcesResult, ListRootsRequest, ListToolsResult, LoggingLevel,
    LoggingMessageNotificationParam, PaginatedRequestParams, ProgressNotificationParam, PromptMessage, ProtocolVersion,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ResourceContents,
    ResourceUpdatedNotificationParam, Role, ServerConfig, SetLevelRequestParams, SubscribeRequestParams,
    SubscriptionFilter,
};
use rmcp::service::{RequestContext, ServiceError, SubscriptionContext};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use trunkline::types::{Era, Revision};

use super::exchange::Feature::{Changes, Progress, Questions};
use super::sdk_servers::{every_revision, without_sessions};

const NOTE: &str = "note://one";

#[derive(Clone, Default)]
struct Foreign {
    has_grown: Arc<AtomicBool>,
    grows: Arc<Notify>,
}

/// The SDK's types as the protocol writes them.
fn model<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn text(words: impl Into<String>) -> CallToolResponse {
    CallToolResult::success(vec![ContentBlock::text(words)]).into()
}

fn failed(error: ServiceError) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

fn question(tool: &str) -> InputRequest {
    let sure = json!({ "type": "object", "properties": { "confirm": { "type": "boolean" } }, "required": ["confirm"] });
    let hello = json!([{ "role": "user", "content": { "type": "text", "text": "Say hello." } }]);
    match tool {
        "confirm" => InputRequest::Elicitation(ElicitRequest::new(model::<ElicitRequestParams>(
            json!({ "mode": "form", "message": "Really?", "requestedSchema": sure }),
        ))),
        "sample" => InputRequest::CreateMessage(CreateMessageRequest::new(model::<CreateMessageRequestParams>(
            json!({ "messages": hello, "maxTokens": 10 }),
        ))),
        _ => InputRequest::ListRoots(ListRootsRequest::default()),
    }
}

/// What is said of an answer, whichever way it came.
fn answered(tool: &str, answer: &Value) -> CallToolResponse {
    text(match tool {
        "confirm" if answer["content"]["confirm"] == true => "confirmed",
        "confirm" => "not confirmed",
        "sample" => answer["model"].as_str().unwrap_or_default(),
        _ => answer["roots"][0]["uri"].as_str().unwrap_or_default(),
    })
}

impl Foreign {
    /// A legacy client is asked by a request, a modern one by the answer, and asks again with the input.
    async fn ask(
        &self,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let tool = request.name.as_ref();
        if context.protocol_version() == Some(ProtocolVersion::V_2026_07_28) {
            let answer = request.input_responses.as_ref().and_then(|answers| answers.get(tool));
            let ask = || {
                let questions = InputRequests::from([(tool.to_owned(), question(tool))]);
                InputRequiredResult::new(Some(questions), Some("asked".to_owned())).into()
            };
            return Ok(answer.map_or_else(ask, |answer| answered(tool, answer)));
        }
        let answer = match question(tool) {
            InputRequest::Elicitation(ask) => json!(context.peer.create_elicitation(ask.params).await.map_err(failed)?),
            InputRequest::CreateMessage(ask) => json!(context.peer.create_message(ask.params).await.map_err(failed)?),
            _ => json!(context.peer.list_roots().await.map_err(failed)?),
        };
        Ok(answered(tool, &answer))
    }

    async fn progress(&self, context: &RequestContext<RoleServer>, step: u32, total: u32) -> Result<(), ErrorData> {
        let Some(token) = context.meta.get_progress_token() else {
            return Ok(());
        };
        let made = ProgressNotificationParam::new(token, f64::from(step)).with_total(f64::from(total));
        context.peer.notify_progress(made).await.map_err(failed)
    }

    async fn work(&self, context: &RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
        for step in 1..=3 {
            self.progress(context, step, 3).await?;
            let log = LoggingMessageNotificationParam::new(LoggingLevel::Info, json!({ "step": step }));
            context.peer.notify_logging_message(log).await.map_err(failed)?;
        }
        Ok(text("worked"))
    }

    async fn grow(&self, context: &RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
        self.has_grown.store(true, Ordering::SeqCst);
        self.grows.notify_waiters();
        if context.protocol_version() != Some(ProtocolVersion::V_2026_07_28) {
            context.peer.notify_tool_list_changed().await.map_err(failed)?;
            let updated = ResourceUpdatedNotificationParam::new(NOTE);
            context.peer.notify_resource_updated(updated).await.map_err(failed)?;
        }
        Ok(text("grown"))
    }
}

impl ServerHandler for Foreign {
    fn get_info(&self) -> ServerConfig {
        model(json!({
            "protocolVersion": Revision::LATEST_LEGACY.name(),
            "capabilities": {
                "tools": { "listChanged": true }, "resources": { "subscribe": true, "listChanged": true },
                "prompts": {}, "completions": {}, "logging": {}
            },
            "serverInfo": { "name": "foreign", "version": "1.0.0" },
            "instructions": "Use everything once."
        }))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut names = vec![
            "add", "confirm", "echo", "fail", "grow", "polled", "roots", "sample", "work",
        ];
        names.extend(self.has_grown.load(Ordering::SeqCst).then_some("grown"));
        let tools = names.iter().map(|name| {
            let properties = match *name {
                "add" => json!({ "a": { "type": "integer" }, "b": { "type": "integer" } }),
                "echo" => json!({ "text": { "type": "string" } }),
                _ => json!({}),
            };
            model(json!({ "name": name, "inputSchema": { "type": "object", "properties": properties } }))
        });
        Ok(ListToolsResult::with_all_items(tools.collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = json!(request.arguments);
        match request.name.as_ref() {
            "echo" => Ok(text(arguments["text"].as_str().unwrap_or_default())),
            "add" => match (arguments["a"].as_i64(), arguments["b"].as_i64()) {
                (Some(a), Some(b)) => Ok(CallToolResult::structured(json!({ "sum": a + b })).into()),
                _ => Err(ErrorData::invalid_params("`a` and `b` must be integers", None)),
            },
            "fail" => Ok(CallToolResult::error(vec![ContentBlock::text("it did not work")]).into()),
            "work" => self.work(&context).await,
            "confirm" | "sample" | "roots" => self.ask(&request, &context).await,
            "grow" => self.grow(&context).await,
            "grown" => Ok(text("new")),
            "polled" => {
                // This SDK has no way to break off the stream of an answer.
                self.progress(&context, 1, 2).await?;
                self.progress(&context, 2, 2).await?;
                Ok(text("whole"))
            }
            unknown => Err(ErrorData::invalid_params(format!("there is no tool `{unknown}`"), None)),
        }
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let one = model(json!({ "uri": NOTE, "name": "one", "mimeType": "text/plain" }));
        Ok(ListResourcesResult::with_all_items(vec![one]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        if request.uri != NOTE {
            return Err(ErrorData::resource_not_found("there is no such note", None));
        }
        Ok(ReadResourceResult::new(vec![ResourceContents::text("first", NOTE)]).into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let greet = model(json!({ "name": "greet", "arguments": [{ "name": "name", "required": true }] }));
        Ok(ListPromptsResult::with_all_items(vec![greet]))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments = json!(request.arguments);
        let name = arguments["name"].as_str().unwrap_or_default();
        let message = PromptMessage::new_text(Role::User, format!("Greet {name}."));
        Ok(GetPromptResult::new(vec![message]).into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let names = ["Ann", "Anna", "Bob"].into_iter();
        let fitting = names.filter(|name| name.starts_with(&request.argument.value));
        let values = CompletionInfo::new(fitting.map(str::to_owned).collect()).unwrap();
        Ok(CompleteResult::new(values))
    }

    async fn set_level(&self, _: SetLevelRequestParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn subscribe(&self, _: SubscribeRequestParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.supported_by(&self.get_info().capabilities))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                () = self.grows.notified() => {}
            }
            let sink = context.sink();
            let told = async {
                sink.notify_tool_list_changed()
                    .await
                    .and(sink.notify_resource_updated(NOTE).await)
            };
            told.await
                .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        }
    }
}

/// Serves until the test's runtime ends; returns where.
async fn serve(config: StreamableHttpServerConfig) -> String {
    let foreign = Foreign::default();
    let make = move || Ok(foreign.clone());
    let service = StreamableHttpService::new(make, Arc::new(LocalSessionManager::default()), config);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let (connection, _) = listener.accept().await.unwrap();
            let service = TowerToHyperService::new(service.clone());
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(connection), service));
        }
    });
    url
}

#[tokio::test]
async fn rust_with_sessions() {
    let config = StreamableHttpServerConfig::default().with_sse_retry(Some(Duration::from_millis(100)));
    let url = serve(config.with_legacy_session_mode(true)).await;
    every_revision(&url, Revision::LATEST, |_| vec![Questions, Progress, Changes]).await;
}

#[tokio::test]
async fn rust_without_sessions() {
    let config = StreamableHttpServerConfig::default().with_json_response(true);
    let url = serve(config.with_legacy_session_mode(false)).await;
    every_revision(&url, Revision::LATEST, |revision| match revision.era() {
        // It leaves JSON for a stream where there is something to tell.
        Era::Legacy => vec![Progress],
        Era::Modern => [without_sessions(revision), vec![Progress]].concat(),
    })
    .await;
}
