//! What is said about a server is what it does: what cannot be served is refused at once, what the model
//! reads is meant for it, and what comes and goes is announced.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use trunkline::proto::client::Opening;
use trunkline::types::{
    CallToolResult, Reference, Resource, ResourceContents, ResourceTemplate, Revision, StructuredContent,
    SubscriptionFilter,
};
use trunkline::{
    CallError, Client, Completing, ConnectionLimits, DefinitionError, NoArguments, Notice, Server, Tool, ToolError,
    UriVariables,
};

/// Text for people and models alike.
#[derive(Deserialize, JsonSchema)]
struct Review {
    /// The language.
    language: String,
    lines: Option<u32>,
}

async fn connect(server: &Server, revision: Revision) -> Client {
    let connector = Client::in_memory(server).opening(Opening::Fixed(revision));
    connector.connect().await.unwrap()
}

#[track_caller]
fn unusable(server: &Server, name: &str) {
    match server.check() {
        Err(DefinitionError::Unusable {
            kind: "prompt",
            name: found,
            ..
        }) => assert_eq!(found, name),
        other => panic!("`{name}` passed: {other:?}"),
    }
}

#[test]
fn a_prompt_that_could_never_be_asked_for_is_refused_at_once() {
    #[derive(Deserialize, JsonSchema)]
    struct Nested {
        #[expect(dead_code, reason = "only the schema is read")]
        inner: Vec<String>,
    }
    unusable(
        &Server::new("s", "1").prompt("text", |ask: String| async move { ask }),
        "text",
    );
    unusable(
        &Server::new("s", "1").prompt("list", |_: Vec<String>| async { String::new() }),
        "list",
    );
    unusable(
        &Server::new("s", "1").prompt("nested", |_: Nested| async { String::new() }),
        "nested",
    );
    let late = Server::new("s", "1").prompts_come_later();
    assert!(late.add_prompt("text", |ask: String| async move { ask }).is_err());
    assert!(late.check().is_ok(), "what was refused is not there");
}

#[tokio::test]
async fn a_prompt_gets_its_texts_as_the_types_it_asked_for() {
    let server = Server::new("s", "1").prompt("review", |ask: Review| async move {
        format!("{} lines of {}", ask.lines.unwrap_or(1), ask.language)
    });
    server.check().unwrap();
    let client = connect(&server, Revision::LATEST).await;
    let arguments = BTreeMap::from([("language", "Rust"), ("lines", "12")]);
    let arguments = arguments
        .into_iter()
        .map(|(name, text)| (name.to_owned(), text.to_owned()));
    let got = client.prompt("review", arguments.collect()).await.unwrap();
    assert_eq!(got.messages[0].content.as_text(), Some("12 lines of Rust"));
    client.close().await;
}

#[tokio::test]
async fn what_is_said_to_the_author_is_not_said_to_the_model() {
    let server = Server::new("s", "1")
        .tool("now", |_: NoArguments| async { "noon" })
        .prompt("plain", |_: NoArguments| async { "hello".to_owned() });
    let client = connect(&server, Revision::LATEST).await;
    assert_eq!(client.tools().await.unwrap().items[0].description, None);
    assert_eq!(client.prompts().await.unwrap().items[0].description, None);
    client.close().await;
}

#[tokio::test]
async fn structure_without_content_is_given_as_text_too() {
    let structure = json!({ "sum": 3 });
    let bare = CallToolResult {
        structured_content: Some(structure.clone()),
        ..CallToolResult::default()
    };
    let failed = bare.clone();
    let server = Server::new("s", "1")
        .tool("add", move |_: NoArguments| {
            let result = bare.clone();
            async move { result }
        })
        .tool("fail", move |_: NoArguments| {
            let result = failed.clone();
            async move { Err::<String, _>(ToolError::with_result(result)) }
        });
    for revision in Revision::ALL {
        let client = connect(&server, revision).await;
        let outcome = client.call("add", &json!({})).await.unwrap();
        assert_eq!(outcome.text(), structure.to_string(), "{revision}");
        if revision.profile().structured_content != StructuredContent::Absent {
            assert_eq!(outcome.structured::<Value>().unwrap(), structure, "{revision}");
        }
        let outcome = client.call("fail", &json!({})).await.unwrap();
        assert_eq!(outcome.text(), structure.to_string(), "{revision}");
        client.close().await;
    }
}

#[derive(Deserialize, JsonSchema)]
struct Row {
    name: String,
    note: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct Fill {
    rows: Vec<Row>,
    gaps: Vec<Option<u8>>,
}

#[tokio::test]
async fn null_is_forgiven_inside_of_arguments_and_kept_where_it_means_something() {
    let server = Server::new("s", "1").tool("fill", |ask: Fill| async move {
        let row = &ask.rows[0];
        format!("{} {:?} {:?}", row.name, row.note, ask.gaps)
    });
    let client = connect(&server, Revision::LATEST).await;
    let arguments = json!({ "rows": [{ "name": "a", "note": null }], "gaps": [1, null] });
    let outcome = client.call("fill", &arguments).await.unwrap();
    assert_eq!(outcome.text(), "a None [Some(1), None]");
    let outcome = client
        .call("fill", &json!({ "rows": [{ "name": null }], "gaps": [] }))
        .await
        .unwrap();
    assert!(
        outcome.text().contains("name"),
        "a null for what must be there: {}",
        outcome.text()
    );
    client.close().await;
}

fn note() -> ResourceTemplate {
    ResourceTemplate {
        uri_template: "notes://{name}".into(),
        name: "note".into(),
        ..ResourceTemplate::default()
    }
}

async fn read_note(note: UriVariables) -> String {
    note.text("name").unwrap_or_default().to_owned()
}

#[tokio::test]
async fn an_address_that_hides_a_way_out_leads_nowhere() {
    let server = Server::new("s", "1").resource_template(note(), read_note);
    let client = connect(&server, Revision::LATEST).await;
    let read = client.read("notes://buy%20milk").await.unwrap();
    let ResourceContents::Text(text) = &read.contents[0] else {
        panic!("{read:?}")
    };
    assert_eq!(text.body.text, "buy milk");
    for uri in ["notes://..%2F..%2Fetc%2Fpasswd", "notes://..", "notes://a%00"] {
        let refused = client.read(uri).await.unwrap_err();
        assert!(matches!(refused, CallError::Refused(_)), "{uri}: {refused:?}");
    }
    client.close().await;
}

#[tokio::test]
async fn prompts_resources_and_templates_come_and_go() {
    for revision in Revision::ALL {
        let server = Server::new("s", "1").prompts_come_later().resources_come_later();
        let client = connect(&server, revision).await;
        assert!(client.prompts().await.unwrap().items.is_empty());
        let filter = SubscriptionFilter {
            prompts_list_changed: Some(true),
            resources_list_changed: Some(true),
            ..SubscriptionFilter::default()
        };
        let mut heard = client.listen(filter).await.unwrap();

        server
            .add_prompt("review", |ask: Review| async move { ask.language })
            .unwrap();
        assert_eq!(heard.next().await, Some(Notice::PromptsChanged), "{revision}");
        assert_eq!(client.prompts().await.unwrap().items[0].name, "review");
        assert!(
            server
                .add_prompt("review", |ask: Review| async move { ask.language })
                .is_err()
        );
        assert!(server.remove_prompt("review") && !server.remove_prompt("review"));
        assert_eq!(heard.next().await, Some(Notice::PromptsChanged), "{revision}");
        assert!(client.prompts().await.unwrap().items.is_empty());

        server.add_resource(Resource::new("notes://today", "today"), |_: UriVariables| async {
            "now"
        });
        assert_eq!(heard.next().await, Some(Notice::ResourcesChanged), "{revision}");
        assert_eq!(client.resources().await.unwrap().items[0].name, "today");
        assert!(server.remove_resource("notes://today") && !server.remove_resource("notes://today"));
        assert_eq!(heard.next().await, Some(Notice::ResourcesChanged), "{revision}");
        assert!(client.resources().await.unwrap().items.is_empty());

        server.add_template(note(), read_note).unwrap();
        assert_eq!(heard.next().await, Some(Notice::ResourcesChanged), "{revision}");
        assert_eq!(client.resource_templates().await.unwrap().items[0].name, "note");
        assert!(server.add_template(note(), read_note).is_err());
        assert!(server.remove_template("notes://{name}") && !server.remove_template("notes://{name}"));
        assert_eq!(heard.next().await, Some(Notice::ResourcesChanged), "{revision}");
        assert!(client.resource_templates().await.unwrap().items.is_empty());
        client.close().await;
    }
}

#[tokio::test]
async fn what_is_taken_away_takes_its_completions_along() {
    let server = Server::new("s", "1")
        .prompt("review", |ask: Review| async move { ask.language })
        .complete("review", "language", |_: Completing| async { vec!["rust"] })
        .resource_template(note(), read_note)
        .complete("notes://{name}", "name", |_: Completing| async { vec!["milk"] });
    assert!(server.remove_prompt("review"));
    server.check().expect("the next client is still served");
    let client = connect(&server, Revision::LATEST).await;
    let completed = client
        .complete(Reference::resource("notes://{name}"), "name", "m", BTreeMap::new())
        .await;
    assert_eq!(completed.unwrap().values, ["milk"]);
    assert!(server.remove_template("notes://{name}"));
    server.check().unwrap();
    client.close().await;
}

#[tokio::test]
async fn the_inside_of_a_fault_stays_with_the_author() {
    let error = ToolError::internal("disk 7 is full");
    assert_eq!(error.internal_cause(), Some("disk 7 is full"));
    assert!(!error.to_string().contains("disk"));
    assert_eq!(ToolError::new("no such order").internal_cause(), None);

    let server = Server::new("s", "1").tool("fail", |_: NoArguments| async {
        Err::<String, _>(ToolError::internal("disk 7 is full"))
    });
    let client = connect(&server, Revision::LATEST).await;
    let outcome = client.call("fail", &json!({})).await.unwrap();
    assert!(!outcome.text().contains("disk"), "{}", outcome.text());
    client.close().await;
}

/// The role that the server was started in.
#[derive(PartialEq)]
enum Role {
    Viewer,
    Operator,
}

#[tokio::test]
async fn access_by_the_role_the_server_was_started_in() {
    for (role, answer) in [(Role::Operator, "purged"), (Role::Viewer, "operators only")] {
        let tool = Tool::new(|_: NoArguments| async { "purged" }).access(|context| {
            let role = context.state::<Role>();
            let operator = role.is_some_and(|role| *role == Role::Operator);
            operator.then_some(()).ok_or_else(|| "operators only".to_owned())
        });
        let server = Server::new("s", "1")
            .limits(ConnectionLimits::default())
            .state(role)
            .tool("purge", tool);
        let client = connect(&server, Revision::LATEST).await;
        let outcome = client.call("purge", &json!({})).await.unwrap();
        assert!(outcome.text().ends_with(answer), "{}", outcome.text());
        client.close().await;
    }
}
