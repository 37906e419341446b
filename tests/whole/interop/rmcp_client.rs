//! The official Rust SDK's client, driving our servers in both eras.

use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientCapabilities, ElicitRequestParams, ElicitResult, ElicitationAction,
    Implementation, InitializeRequestParams, ProtocolVersion, ReadResourceRequestParams,
};
use rmcp::service::{RequestContext, RunningService};
use rmcp::transport::TokioChildProcess;
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt, ErrorData, RoleClient};
use serde_json::{Value, json};
use trunkline::types::Revision;

use super::trunkline;

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

async fn connect(words: &[&str], mode: ClientLifecycleMode) -> Running {
    let mut command = tokio::process::Command::new(trunkline());
    command.arg("serve").args(words);
    Person
        .serve_with_lifecycle(TokioChildProcess::new(command).unwrap(), mode)
        .await
        .unwrap()
}

fn modes() -> [(ClientLifecycleMode, Revision); 2] {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    [
        (ClientLifecycleMode::Initialize, Revision::LATEST_LEGACY),
        (ClientLifecycleMode::Discover { preferred_versions }, Revision::LATEST),
    ]
}

async fn call(client: &Running, tool: &'static str, arguments: Value) -> CallToolResult {
    let arguments = arguments.as_object().cloned().unwrap();
    client
        .call_tool(CallToolRequestParams::new(tool).with_arguments(arguments))
        .await
        .unwrap()
}

#[tokio::test]
async fn weather() {
    for (mode, revision) in modes() {
        let client = connect(&["weather"], mode).await;
        let agreed = client.peer().peer_info().unwrap().protocol_version.to_string();
        assert_eq!(agreed, revision.name());
        let tools = client.list_all_tools().await.unwrap();
        assert_eq!(tools[0].name, "get_weather");
        let seoul = call(&client, "get_weather", json!({ "city": "서울" })).await;
        assert_eq!(seoul.structured_content.unwrap()["city"], "Seoul");
        assert_eq!(
            call(&client, "get_weather", json!({ "city": "Nowhereville" }))
                .await
                .is_error,
            Some(true)
        );
        assert_eq!(
            call(&client, "get_weather", json!({ "town": "Seoul" })).await.is_error,
            Some(true)
        );
        let resources = client.list_all_resources().await.unwrap();
        let read = client
            .read_resource(ReadResourceRequestParams::new(resources[0].uri.clone()))
            .await
            .unwrap();
        assert_eq!(read.contents.len(), 1);
        assert!(
            client
                .call_tool(CallToolRequestParams::new("no_such_tool"))
                .await
                .is_err()
        );
        client.cancel().await.unwrap();
    }
}

#[tokio::test]
async fn orders_are_cancelled_only_with_a_yes() {
    for (mode, _) in modes() {
        let client = connect(&["orders", "--role", "clerk"], mode).await;
        let names: Vec<_> = client
            .list_all_tools()
            .await
            .unwrap()
            .into_iter()
            .map(|tool| tool.name)
            .collect();
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
    }
}
