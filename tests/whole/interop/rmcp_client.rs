//! The official Rust SDK's client, driving our servers in both eras, over stdio and Streamable HTTP.

use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientCapabilities, ElicitRequestParams, ElicitResult, ElicitationAction,
    Implementation, InitializeRequestParams, ProtocolVersion, ReadResourceRequestParams,
};
use rmcp::service::{RequestContext, RunningService};
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt, ErrorData, RoleClient};
use serde_json::{Value, json};
use trunkline::types::Revision;

use super::Way;
use super::shipped::Shipped;

/// Answers every form by confirming it.
struct Person;

impl ClientHandler for Person {
    fn get_info(&self) -> InitializeRequestParams {
        let capabilities: ClientCapabilities =
            serde_json::from_value(json!({ "elicitation": { "form": {} } })).unwrap();
        InitializeRequestParams::new(capabilities, Implementation::new("rmcp", "3"))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        match request {
            ElicitRequestParams::FormElicitationParams { message, .. } if message.starts_with("Cancel order 2 ") => {
                Ok(ElicitResult::new(ElicitationAction::Accept).with_content(json!({ "confirm": true })))
            }
            _ => Ok(ElicitResult::new(ElicitationAction::Decline)),
        }
    }
}

type Running = RunningService<RoleClient, Person>;

async fn connect(server: &Shipped, mode: ClientLifecycleMode) -> Running {
    let running = match server {
        Shipped::Command(words) => {
            let mut command = tokio::process::Command::new(&words[0]);
            command.args(&words[1..]);
            let transport = TokioChildProcess::new(command).unwrap();
            Person.serve_with_lifecycle(transport, mode).await
        }
        Shipped::Running(listening, _) => {
            let transport = StreamableHttpClientTransport::from_uri(listening.at("/mcp"));
            Person.serve_with_lifecycle(transport, mode).await
        }
    };
    running.unwrap()
}

fn modes() -> [(ClientLifecycleMode, Revision); 3] {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    let auto = ClientLifecycleMode::Auto {
        preferred_versions: preferred_versions.clone(),
        legacy_version: None,
    };
    [
        (ClientLifecycleMode::Initialize, Revision::LATEST_LEGACY),
        (ClientLifecycleMode::Discover { preferred_versions }, Revision::LATEST),
        (auto, Revision::LATEST),
    ]
}

async fn call(client: &Running, tool: &'static str, arguments: Value) -> CallToolResult {
    let arguments = arguments.as_object().cloned().unwrap();
    client
        .call_tool(CallToolRequestParams::new(tool).with_arguments(arguments))
        .await
        .unwrap()
}

/// One server that serves every mode in turn.
async fn weather(way: Way) {
    let server = Shipped::start(&["weather"], way);
    for (mode, revision) in modes() {
        let client = connect(&server, mode).await;
        let agreed = client.peer().peer_info().unwrap().protocol_version.to_string();
        assert_eq!(agreed, revision.name());
        let tools = client.list_all_tools().await.unwrap();
        assert_eq!(tools[0].name, "get_weather");
        let seoul = call(&client, "get_weather", json!({ "city": "서울" })).await;
        assert_eq!(seoul.structured_content.unwrap()["city"], "Seoul");
        let nowhere = call(&client, "get_weather", json!({ "city": "Nowhereville" })).await;
        assert_eq!(nowhere.is_error, Some(true));
        let wrong = call(&client, "get_weather", json!({ "town": "Seoul" })).await;
        assert_eq!(wrong.is_error, Some(true));
        let resources = client.list_all_resources().await.unwrap();
        let read = ReadResourceRequestParams::new(resources[0].uri.clone());
        assert_eq!(client.read_resource(read).await.unwrap().contents.len(), 1);
        let unknown = client.call_tool(CallToolRequestParams::new("no_such_tool")).await;
        assert!(unknown.is_err());
        client.cancel().await.unwrap();
    }
    server.end();
}

/// A server for each mode, since each of them cancels the same order.
async fn orders_are_cancelled_only_with_a_yes(way: Way) {
    for (mode, _) in modes() {
        let server = Shipped::start(&["orders", "--role", "clerk"], way);
        let client = connect(&server, mode).await;
        let tools = client.list_all_tools().await.unwrap();
        let names: Vec<_> = tools.into_iter().map(|tool| tool.name).collect();
        assert_eq!(
            names,
            ["cancel_order", "count_orders", "get_order", "list_orders"],
            "a clerk purges nothing"
        );
        let accepted = call(&client, "cancel_order", json!({ "id": 2 })).await;
        assert_eq!(accepted.structured_content.unwrap()["cancelled"], true);
        let declined = call(&client, "cancel_order", json!({ "id": 3 })).await;
        assert_eq!(declined.structured_content.unwrap()["cancelled"], false);
        let order = call(&client, "get_order", json!({ "id": 2 })).await;
        assert_eq!(order.structured_content.unwrap()["status"], "cancelled");
        client.cancel().await.unwrap();
        server.end();
    }
}

#[tokio::test]
async fn weather_over_stdio() {
    weather(Way::Stdio).await;
}

#[tokio::test]
async fn weather_over_http() {
    weather(Way::Http).await;
}

#[tokio::test]
async fn orders_over_stdio() {
    orders_are_cancelled_only_with_a_yes(Way::Stdio).await;
}

#[tokio::test]
async fn orders_over_http() {
    orders_are_cancelled_only_with_a_yes(Way::Http).await;
}
