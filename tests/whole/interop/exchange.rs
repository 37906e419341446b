//! One of everything with a server that was written on a foreign SDK: each of them offers the same, as far as its SDK
//! can.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::{Map, json};
use tokio::task::JoinSet;
use trunkline::types::{ElicitationForms, LogLevel, Reference, Revision, StructuredContent, SubscriptionFilter};
use trunkline::{CallOptions, Client, Connector, Notice, NoticeStream};

use super::ours::{Answers, Given, PATIENCE, connect, text};

const NOTE: &str = "note://one";

/// What not every server can do in every revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Feature {
    /// It asks its client.
    Questions,
    /// It sends progress and logs before it answers.
    Progress,
    /// It tells of changes.
    Changes,
    /// It breaks off the stream of an answer, and the client comes back for the rest.
    Resumption,
}

/// Connects, agrees on that revision, and tries everything.
pub(super) async fn exchange(connector: Connector, agreed: Revision, features: &[Feature]) {
    let answers = Arc::<Answers>::default();
    let connector = connector.inputs(Given(Arc::clone(&answers)));
    let client = connect(connector).await;
    let agreement = client.agreement();
    assert_eq!(agreement.profile.revision, agreed);
    assert_eq!(agreement.server.name, "foreign");
    assert_eq!(agreement.instructions.as_deref(), Some("Use everything once."));

    calls(&client).await;
    calls_at_once(&client).await;
    works(&client, features).await;
    polls(&client, features).await;
    reads_and_prompts(&client).await;
    if features.contains(&Feature::Questions) {
        asks(&client, &answers).await;
    }
    if features.contains(&Feature::Changes) {
        changes(&client).await;
    }
    assert_eq!(client.noise().count, 0, "{:?}", client.noise());
    client.close().await;
}

async fn calls(client: &Client) {
    let tools = client.tools().await.unwrap();
    assert!(tools.rejected.is_empty(), "{:?}", tools.rejected);
    for name in [
        "add", "confirm", "echo", "fail", "grow", "polled", "roots", "sample", "work",
    ] {
        assert!(tools.items.iter().any(|tool| tool.name == name), "{name}");
    }
    assert_eq!(text(client, "echo", json!({ "text": "안녕\n" })).await, "안녕\n");
    let sum = client.call("add", &json!({ "a": 2, "b": 3 })).await.unwrap();
    assert!(sum.text().contains('5'), "{sum:?}");
    if client.agreement().profile.structured_content != StructuredContent::Absent {
        assert_eq!(sum.structured_content, Some(json!({ "sum": 5 })));
    }
    assert!(client.call("fail", &json!({})).await.unwrap().failed());
    let wrong = client.call("add", &json!({ "a": "two" })).await;
    assert!(wrong.is_err() || wrong.is_ok_and(|result| result.failed()));
    let unknown = client.call("no_such_tool", &json!({})).await;
    assert!(unknown.is_err() || unknown.is_ok_and(|result| result.failed()));
}

/// Each of many answers finds its own call.
async fn calls_at_once(client: &Client) {
    let mut calls = JoinSet::new();
    for number in 0..20 {
        let client = client.clone();
        calls.spawn(async move {
            let said = format!("number {number}");
            assert_eq!(text(&client, "echo", json!({ "text": said })).await, said);
        });
    }
    calls.join_all().await;
}

/// Progress and logs come before the answer, in order.
async fn works(client: &Client, features: &[Feature]) {
    let mut notices = client.notices();
    let agreement = client.agreement();
    if agreement.profile.log_level_per_request || agreement.capabilities.logging.is_some() {
        client.set_log_level(LogLevel::Info).await.unwrap();
    }
    let (progress, answer) = call_with_progress(client, "work").await;
    assert_eq!(answer, "worked");
    if features.contains(&Feature::Progress) {
        assert_eq!(progress, [1.0, 2.0, 3.0]);
        for step in 1..=3 {
            let Notice::Log(message) = next(&mut notices).await else {
                panic!("only logs were expected")
            };
            assert_eq!(
                (message.level, &message.data),
                (LogLevel::Info, &json!({ "step": step }))
            );
        }
    }
}

/// The server says that it broke off its stream, on the stream that the client came back to.
async fn polls(client: &Client, features: &[Feature]) {
    let (progress, answer) = call_with_progress(client, "polled").await;
    let expected = if features.contains(&Feature::Resumption) {
        "broken off"
    } else {
        "whole"
    };
    assert_eq!(answer, expected);
    if features.contains(&Feature::Progress) {
        assert_eq!(progress, [1.0, 2.0]);
    }
}

async fn call_with_progress(client: &Client, tool: &str) -> (Vec<f64>, String) {
    let options = CallOptions {
        progress: true,
        ..CallOptions::default()
    };
    let mut call = client.request_call(tool, Map::new(), options);
    let mut progress = Vec::new();
    while let Some(made) = call.progress().await {
        progress.push(made.value());
    }
    (progress, call.await.unwrap().text())
}

async fn reads_and_prompts(client: &Client) {
    let resources = client.resources().await.unwrap().items;
    assert_eq!(resources[0].uri, NOTE);
    let read = client.read(NOTE).await.unwrap();
    assert_eq!(read.contents[0].as_text(), Some("first"));
    assert!(client.read("note://none").await.is_err());
    assert_eq!(client.prompts().await.unwrap().items[0].name, "greet");
    let named = BTreeMap::from([("name".to_owned(), "Ann".to_owned())]);
    let greeting = client.prompt("greet", named).await.unwrap();
    assert_eq!(greeting.messages[0].content.as_text(), Some("Greet Ann."));
    let completed = client
        .complete(Reference::prompt("greet"), "name", "An", BTreeMap::new())
        .await
        .unwrap();
    assert_eq!(completed.values, ["Ann", "Anna"]);
}

async fn asks(client: &Client, answers: &Answers) {
    if client.agreement().profile.elicitation != ElicitationForms::Absent {
        assert_eq!(text(client, "confirm", json!({})).await, "confirmed");
        assert_eq!(answers.forms.load(Ordering::SeqCst), 1, "asked once");
    }
    assert_eq!(text(client, "sample", json!({})).await, "a-model");
    assert_eq!(answers.samples.load(Ordering::SeqCst), 1, "asked once");
    assert_eq!(text(client, "roots", json!({})).await, "file:///a/root");
}

async fn changes(client: &Client) {
    let filter = SubscriptionFilter {
        tools_list_changed: Some(true),
        resource_subscriptions: Some(vec![NOTE.to_owned()]),
        ..SubscriptionFilter::default()
    };
    let mut subscription = client.listen(filter).await.unwrap();
    text(client, "grow", json!({})).await;
    let (mut of_tools, mut of_note) = (false, false);
    while !(of_tools && of_note) {
        match tokio::time::timeout(PATIENCE, subscription.next()).await.unwrap() {
            Some(Notice::ToolsChanged) => of_tools = true,
            Some(Notice::ResourceUpdated { uri }) if uri == NOTE => of_note = true,
            other => panic!("{other:?}"),
        }
    }
    let tools = client.tools().await.unwrap().items;
    assert!(tools.iter().any(|tool| tool.name == "grown"));
    assert_eq!(text(client, "grown", json!({})).await, "new");
}

async fn next(notices: &mut NoticeStream) -> Notice {
    let next = tokio::time::timeout(PATIENCE, notices.next()).await;
    next.unwrap().expect("the connection is open")
}
