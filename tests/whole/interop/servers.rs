//! Their servers, driven by our client.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use trunkline::proto::Timeouts;
use trunkline::proto::client::Opening;
use trunkline::types::{
    CallToolParams, ClientCapabilities, Content, CreateMessageParams, CreateMessageResult, ElicitParams, ElicitResult,
    Era, ErrorObject, Extra, LogLevel, Reference, Revision, Root, SubscriptionFilter, form_defaults, methods,
};
use trunkline::{CallOptions, Client, Connector, Inputs, Notice};

use super::{node, python};

/// Answers whatever a server may ask, and counts.
#[derive(Default)]
struct Answers {
    forms: AtomicUsize,
    visits: AtomicUsize,
    samples: AtomicUsize,
}

struct Given(Arc<Answers>);

impl Inputs for Given {
    fn capabilities(&self) -> ClientCapabilities {
        serde_json::from_value(json!({
            "elicitation": { "form": {}, "url": {} }, "sampling": {}, "roots": { "listChanged": true }
        }))
        .unwrap()
    }

    async fn elicit(&self, question: ElicitParams) -> Result<ElicitResult, ErrorObject> {
        match question {
            ElicitParams::Form(form) => {
                self.0.forms.fetch_add(1, Ordering::SeqCst);
                let mut fields = form_defaults(&form.requested_schema);
                fields.insert("name".into(), json!("Ann"));
                Ok(ElicitResult::accept(fields))
            }
            ElicitParams::Url(_) => {
                self.0.visits.fetch_add(1, Ordering::SeqCst);
                Ok(ElicitResult::accept(Extra::new()))
            }
            ElicitParams::Other(_) => Ok(ElicitResult::decline()),
        }
    }

    async fn sample(&self, question: CreateMessageParams) -> Result<CreateMessageResult, ErrorObject> {
        self.0.samples.fetch_add(1, Ordering::SeqCst);
        assert!(question.max_tokens > 0);
        Ok(CreateMessageResult::text("a-model", "an answer of the model"))
    }

    async fn roots(&self) -> Result<Vec<Root>, ErrorObject> {
        Ok(vec![Root::new("file:///a/root")])
    }
}

async fn connect(connector: Connector) -> Client {
    // Node and Python take their time to start on a loaded machine.
    connector
        .probe(Duration::from_secs(30))
        .handshake(Duration::from_secs(60))
        .connect()
        .await
        .unwrap()
}

async fn everything() -> (Client, Arc<Answers>) {
    let answers = Arc::<Answers>::default();
    let command = node("server-everything/dist/index.js").arg("stdio");
    (
        connect(Client::command(command).inputs(Given(Arc::clone(&answers)))).await,
        answers,
    )
}

async fn text(client: &Client, tool: &str, arguments: Value) -> String {
    let called = client
        .call(tool, &arguments)
        .await
        .unwrap_or_else(|error| panic!("{tool}: {error}"));
    assert!(!called.failed(), "{tool}: {}", called.text());
    called.text()
}

fn arguments(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

#[tokio::test]
async fn everything_tools() {
    let (client, answers) = everything().await;
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

#[tokio::test]
async fn everything_asks_its_client() {
    let (client, answers) = everything().await;
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

#[tokio::test]
async fn everything_reports_progress_and_logs() {
    let (client, _) = everything().await;
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

#[tokio::test]
async fn everything_resources_and_prompts() {
    let (client, _) = everything().await;
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
#[tokio::test]
async fn everything_tasks() {
    let (client, _) = everything().await;
    let mut params = CallToolParams {
        name: "simulate-research-query".into(),
        ..CallToolParams::default()
    };
    params.arguments = json!({ "topic": "trunk lines" }).as_object().cloned();
    params.extra.insert("task".into(), json!({ "ttl": 60_000 }));
    let created = client.request::<methods::CallTool>(params).await.unwrap();
    let id = created.extra["task"]["taskId"].as_str().unwrap().to_owned();
    let of = |id: &str| trunkline::types::TaskParams::new(id);
    let task = client.request::<methods::GetLegacyTask>(of(&id)).await.unwrap();
    assert_eq!(task.task_id, id);
    let listed = client
        .request::<methods::ListLegacyTasks>(trunkline::types::ListParams::default())
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

#[tokio::test]
async fn every_legacy_revision_is_spoken_with_everything() {
    for revision in Revision::ALL
        .into_iter()
        .filter(|revision| revision.era() == Era::Legacy)
    {
        let command = node("server-everything/dist/index.js").arg("stdio");
        let client = connect(Client::command(command).opening(Opening::Fixed(revision))).await;
        assert_eq!(client.agreement().profile.revision, revision);
        assert_eq!(text(&client, "echo", json!({ "message": "a" })).await, "Echo: a");
        client.close().await;
    }
}

#[tokio::test]
async fn filesystem() {
    let folder = tempfile::tempdir().unwrap();
    let folder_path = folder.path().canonicalize().unwrap();
    let folder_text = folder_path.to_str().unwrap();
    let command = node("server-filesystem/dist/index.js").arg(folder_text);
    let client = connect(Client::command(command)).await;
    assert!(client.tools().await.unwrap().rejected.is_empty());
    assert!(
        client.prompts().await.unwrap().items.is_empty(),
        "what was not declared is not asked for"
    );
    let path = format!("{folder_text}/a file.txt");
    text(
        &client,
        "write_file",
        json!({ "path": path, "content": "line\n한글\n" }),
    )
    .await;
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "line\n한글\n");
    assert!(
        text(&client, "read_text_file", json!({ "path": path }))
            .await
            .contains("한글")
    );
    let edits = json!({ "path": path, "edits": [{ "oldText": "line", "newText": "changed" }] });
    text(&client, "edit_file", edits).await;
    assert!(
        text(&client, "list_directory", json!({ "path": folder_text }))
            .await
            .contains("a file.txt")
    );
    let found = json!({ "path": folder_text, "pattern": "*.txt" });
    assert!(text(&client, "search_files", found).await.contains("a file.txt"));
    let outside = client
        .call("read_text_file", &json!({ "path": "/etc/hostname" }))
        .await
        .unwrap();
    assert!(outside.failed(), "it stays in its folder");
    client.close().await;
}

#[tokio::test]
async fn time_in_both_eras() {
    for (opening, era) in [
        (Opening::Auto, Era::Modern),
        (Opening::Fixed(Revision::LATEST_LEGACY), Era::Legacy),
    ] {
        let command = python("mcp_server_time").arg("--local-timezone").arg("Asia/Seoul");
        let client = connect(Client::command(command).opening(opening)).await;
        assert_eq!(client.agreement().profile.era, era);
        assert!(
            text(&client, "get_current_time", json!({ "timezone": "Asia/Seoul" }))
                .await
                .contains("Asia/Seoul")
        );
        let ask = json!({ "source_timezone": "Asia/Seoul", "time": "09:00", "target_timezone": "Etc/UTC" });
        assert!(text(&client, "convert_time", ask).await.contains("00:00"));
        let nowhere = client
            .call("get_current_time", &json!({ "timezone": "Nowhere/Land" }))
            .await;
        assert!(nowhere.is_err() || nowhere.is_ok_and(|result| result.failed()));
        client.close().await;
    }
}

#[tokio::test]
async fn git_in_both_eras() {
    let folder = tempfile::tempdir().unwrap();
    let repository = folder.path().to_str().unwrap();
    let git = |arguments: &[&str]| {
        let identity = ["-c", "user.name=Ann", "-c", "user.email=ann@example.com"];
        let done = std::process::Command::new("git")
            .current_dir(repository)
            .args(identity)
            .args(arguments)
            .output()
            .expect("git is there");
        assert!(
            done.status.success(),
            "git {arguments:?}: {}",
            String::from_utf8_lossy(&done.stderr)
        );
    };
    git(&["init", "--quiet"]);
    std::fs::write(folder.path().join("a.txt"), "one\n").unwrap();
    git(&["add", "."]);
    git(&["commit", "--quiet", "-m", "First commit"]);
    std::fs::write(folder.path().join("a.txt"), "two\n").unwrap();
    for opening in [Opening::Auto, Opening::Fixed(Revision::LATEST_LEGACY)] {
        let command = python("mcp_server_git").arg("--repository").arg(repository);
        let timeouts = Timeouts::fixed(Duration::from_secs(60));
        let client = connect(Client::command(command).opening(opening).timeouts(timeouts)).await;
        let here = json!({ "repo_path": repository });
        assert!(text(&client, "git_status", here.clone()).await.contains("a.txt"));
        assert!(text(&client, "git_diff_unstaged", here.clone()).await.contains("+two"));
        assert!(text(&client, "git_log", here).await.contains("First commit"));
        client.close().await;
    }
}
