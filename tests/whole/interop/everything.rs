//! The reference server that has everything, driven by our client over every transport that it offers.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::json;
use trunkline::proto::client::Opening;
use trunkline::types::{
    CallToolParams, Content, Era, ListParams, LogLevel, Reference, Revision, SubscriptionFilter, TaskParams, methods,
};
use trunkline::{CallOptions, Client, Connector, Notice};

use super::listening::Listening;
use super::ours::{Answers, Given, connect, text};
use super::{Way, at, node};

const SCRIPT: &str = "server-everything/dist/index.js";

/// A process for each client, or one for them all.
enum Everything {
    Spawned,
    Listening(Listening, &'static str),
}

impl Everything {
    fn start(way: Way) -> Self {
        let (mode, path) = match way {
            Way::Stdio => return Self::Spawned,
            Way::Http => ("streamableHttp", "/mcp"),
            Way::HttpSse => ("sse", "/sse"),
        };
        let mut command = Command::new(at(".tools/bin/node"));
        command
            .args(["--import", &at("tests/interop/address.mjs")])
            .arg(at(&format!(".tools/node_modules/@modelcontextprotocol/{SCRIPT}")))
            .arg(mode)
            .env("PORT", "0");
        Self::Listening(Listening::start(command), path)
    }

    fn connector(&self) -> Connector {
        match self {
            Self::Spawned => Client::command(node(SCRIPT).arg("stdio")),
            Self::Listening(listening, path) => Client::http(listening.at(path)),
        }
    }

    async fn connect(&self) -> (Client, Arc<Answers>) {
        let answers = Arc::<Answers>::default();
        let connector = self.connector().inputs(Given(Arc::clone(&answers)));
        (connect(connector).await, answers)
    }
}

fn arguments(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

async fn tools(server: &Everything) {
    let (client, answers) = server.connect().await;
    assert_eq!(client.agreement().profile.era, Era::Legacy, "found by the probe");
    let tools = client.tools().await.unwrap();
    assert!(tools.rejected.is_empty(), "{:?}", tools.rejected);
    assert!(tools.items.len() >= 16);
    assert_eq!(text(&client, "echo", json!({ "message": "안녕" })).await, "Echo: 안녕");
    assert!(text(&client, "get-sum", json!({ "a": 2, "b": 3 })).await.contains('5'));
    let weather = client
        .call("get-structured-content", &json!({ "location": "Chicago" }))
        .await
        .unwrap();
    assert!(
        weather
            .structured_content
            .as_ref()
            .is_some_and(|content| content["temperature"].is_number())
    );
    let image = client.call("get-tiny-image", &json!({})).await.unwrap();
    assert!(image.content.iter().any(|content| matches!(content, Content::Image(_))));
    let links = client.call("get-resource-links", &json!({ "count": 2 })).await.unwrap();
    assert_eq!(
        links
            .content
            .iter()
            .filter(|content| matches!(content, Content::ResourceLink(_)))
            .count(),
        2
    );
    let reference = client
        .call("get-resource-reference", &json!({ "resourceId": 1 }))
        .await
        .unwrap();
    assert!(
        reference
            .content
            .iter()
            .any(|content| matches!(content, Content::Resource(_)))
    );
    let annotated = client
        .call("get-annotated-message", &json!({ "messageType": "error" }))
        .await
        .unwrap();
    let Content::Text(message) = &annotated.content[0] else {
        panic!("{annotated:?}")
    };
    assert_eq!(message.annotations.as_ref().and_then(|a| a.priority), Some(1.0));
    let file = json!({ "name": "a.gz", "data": "data:text/plain;base64,aGVsbG8=", "outputType": "resource" });
    let zipped = client.call("gzip-file-as-resource", &file).await.unwrap();
    assert!(!zipped.failed(), "{}", zipped.text());
    let wrong = client.call("get-sum", &json!({ "a": "two" })).await.unwrap();
    assert!(wrong.failed(), "its arguments are checked");
    assert!(text(&client, "get-env", json!({})).await.contains("PATH"));
    assert_eq!(answers.forms.load(Ordering::SeqCst), 0);
    client.close().await;
}

async fn asks_its_client(server: &Everything) {
    let (client, answers) = server.connect().await;
    assert!(
        text(&client, "trigger-elicitation-request", json!({}))
            .await
            .contains("Ann")
    );
    assert_eq!(answers.forms.load(Ordering::SeqCst), 1);
    let sampled = text(
        &client,
        "trigger-sampling-request",
        json!({ "prompt": "Hi", "maxTokens": 5 }),
    )
    .await;
    assert!(sampled.contains("an answer of the model"), "{sampled}");
    assert_eq!(answers.samples.load(Ordering::SeqCst), 1);
    let visit = json!({ "url": "https://example.com/", "message": "Go there." });
    client.call("trigger-url-elicitation", &visit).await.unwrap();
    assert_eq!(answers.visits.load(Ordering::SeqCst), 1);
    assert!(
        text(&client, "get-roots-list", json!({}))
            .await
            .contains("file:///a/root")
    );
    client.close().await;
}

async fn reports_progress_and_logs(server: &Everything) {
    let (client, _) = server.connect().await;
    let steps = json!({ "duration": 1, "steps": 4 });
    let options = CallOptions {
        progress: true,
        ..CallOptions::default()
    };
    let mut call = client.request_call(
        "trigger-long-running-operation",
        steps.as_object().cloned().unwrap(),
        options,
    );
    let mut seen = Vec::new();
    while let Some(progress) = call.progress().await {
        seen.push(progress.value());
    }
    call.await.unwrap();
    assert_eq!(seen, [1.0, 2.0, 3.0, 4.0]);

    let mut notices = client.notices();
    client.set_log_level(LogLevel::Debug).await.unwrap();
    client.ping().await.unwrap();
    text(&client, "toggle-simulated-logging", json!({})).await;
    let logged = tokio::time::timeout(Duration::from_secs(30), async {
        loop {
            if let Notice::Log(message) = notices.next().await.unwrap() {
                break message;
            }
        }
    });
    assert!(!logged.await.unwrap().data.is_null());
    client.close().await;
}

/// Dropping a call cancels it; the connection goes on.
async fn lets_calls_go(server: &Everything) {
    let (client, _) = server.connect().await;
    let steps = json!({ "duration": 60, "steps": 600 });
    let options = CallOptions {
        progress: true,
        ..CallOptions::default()
    };
    let arguments = steps.as_object().cloned().unwrap();
    let mut call = client.request_call("trigger-long-running-operation", arguments, options);
    assert!(call.progress().await.is_some(), "it runs");
    drop(call);
    assert_eq!(text(&client, "echo", json!({ "message": "on" })).await, "Echo: on");
    client.close().await;
}

async fn has_resources_and_prompts(server: &Everything) {
    let (client, _) = server.connect().await;
    let resources = client.resources().await.unwrap().items;
    let first = client.read(&resources[0].uri).await.unwrap();
    assert!(first.contents[0].as_text().is_some_and(|text| !text.is_empty()));
    assert_eq!(client.resource_templates().await.unwrap().items.len(), 2);
    let dynamic = client.read("demo://resource/dynamic/text/1").await.unwrap();
    assert!(
        dynamic.contents[0]
            .as_text()
            .is_some_and(|text| text.contains("Resource 1"))
    );
    assert!(client.read("demo://resource/none").await.is_err());

    let uri = "demo://resource/dynamic/text/1".to_owned();
    let filter = SubscriptionFilter {
        resource_subscriptions: Some(vec![uri.clone()]),
        ..SubscriptionFilter::default()
    };
    let mut subscription = client.listen(filter).await.unwrap();
    text(&client, "toggle-subscriber-updates", json!({})).await;
    let updated = tokio::time::timeout(Duration::from_secs(30), subscription.next())
        .await
        .unwrap();
    assert_eq!(updated, Some(Notice::ResourceUpdated { uri }));
    drop(subscription);

    assert_eq!(client.prompts().await.unwrap().items.len(), 4);
    let prompt = client
        .prompt("args-prompt", arguments(&[("city", "Seoul")]))
        .await
        .unwrap();
    assert!(
        prompt.messages[0]
            .content
            .as_text()
            .is_some_and(|text| text.contains("Seoul"))
    );
    let embedded = arguments(&[("resourceType", "Text"), ("resourceId", "1")]);
    let embedded = client.prompt("resource-prompt", embedded).await.unwrap();
    assert!(
        embedded
            .messages
            .iter()
            .any(|message| matches!(message.content, Content::Resource(_)))
    );
    let reference = Reference::prompt("completable-prompt");
    let completed = client
        .complete(reference, "department", "E", BTreeMap::new())
        .await
        .unwrap();
    assert_eq!(completed.values, ["Engineering"]);
    client.close().await;
}

/// Tasks of the core protocol were an experiment of one revision; the client has no helper for them yet, but
/// the table of methods reaches them.
async fn runs_tasks(server: &Everything) {
    let (client, _) = server.connect().await;
    let mut params = CallToolParams {
        name: "simulate-research-query".into(),
        ..CallToolParams::default()
    };
    params.arguments = json!({ "topic": "trunk lines" }).as_object().cloned();
    params.extra.insert("task".into(), json!({ "ttl": 60_000 }));
    let created = client.request::<methods::CallTool>(params).await.unwrap();
    let id = created.extra["task"]["taskId"].as_str().unwrap().to_owned();
    let of = |id: &str| TaskParams::new(id);
    let task = client.request::<methods::GetLegacyTask>(of(&id)).await.unwrap();
    assert_eq!(task.task_id, id);
    let listed = client
        .request::<methods::ListLegacyTasks>(ListParams::default())
        .await
        .unwrap();
    assert!(listed.tasks.iter().any(|task| task.task_id == id));
    let result = client.request::<methods::GetLegacyTaskResult>(of(&id)).await.unwrap();
    assert!(
        result.extra["content"].to_string().contains("trunk lines"),
        "{result:?}"
    );
    client.close().await;
}

async fn speaks_every_legacy_revision(server: &Everything) {
    for revision in Revision::ALL
        .into_iter()
        .filter(|revision| revision.era() == Era::Legacy)
    {
        let client = connect(server.connector().opening(Opening::Fixed(revision))).await;
        assert_eq!(client.agreement().profile.revision, revision);
        assert_eq!(text(&client, "echo", json!({ "message": "a" })).await, "Echo: a");
        client.close().await;
    }
}

async fn everything(way: Way) {
    let server = Everything::start(way);
    tools(&server).await;
    asks_its_client(&server).await;
    reports_progress_and_logs(&server).await;
    lets_calls_go(&server).await;
    has_resources_and_prompts(&server).await;
    runs_tasks(&server).await;
    speaks_every_legacy_revision(&server).await;
}

#[tokio::test]
async fn everything_over_stdio() {
    everything(Way::Stdio).await;
}

#[tokio::test]
async fn everything_over_http() {
    everything(Way::Http).await;
}

#[tokio::test]
async fn everything_over_the_first_http_transport() {
    everything(Way::HttpSse).await;
}
