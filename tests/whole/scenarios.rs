//! One suite of scenarios, run over every revision and every transport: a behaviour is written down once
//! and must be the same everywhere, but for what the revision's profile says.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::json;
use trunkline::proto::client::Opening;
use trunkline::transport::Command;
use trunkline::types::{
    BadArguments, ClientCapabilities, Content, CreateMessageParams, CreateMessageResult, ElicitParams, ElicitResult,
    ElicitationForms, Era, ErrorObject, Extra, HttpShape, LogLevel, Method, Profile, Reference, Revision, Root,
    StructuredContent, SubscriptionFilter, code,
};
use trunkline::{
    CallError, CallOptions, Client, Connector, HttpListener, HttpOptions, Inputs, Notice, Remote, RemoteKind, Started,
};
use trunkline_tests::scenario_server;

/// A person and a model that answer as the scenario wants, and remember what they were asked.
#[derive(Default)]
struct Answers {
    decline: bool,
    asked: AtomicU32,
}

/// The client takes its answers for its own; a test wants to look at them too.
struct Given(Arc<Answers>);

impl Inputs for Given {
    fn capabilities(&self) -> ClientCapabilities {
        serde_json::from_value(json!({ "elicitation": { "form": {}, "url": {} }, "sampling": {}, "roots": {} }))
            .unwrap()
    }

    async fn elicit(&self, question: ElicitParams) -> Result<ElicitResult, ErrorObject> {
        self.0.asked.fetch_add(1, Ordering::SeqCst);
        if self.0.decline {
            return Ok(ElicitResult::decline());
        }
        let fields = match &question {
            ElicitParams::Form(form) if form.requested_schema.pointer("/properties/size").is_some() => {
                assert_eq!(
                    form.requested_schema["properties"]["size"]["enum"],
                    json!(["small", "large"])
                );
                assert_eq!(form.requested_schema["properties"]["count"]["default"], json!(1));
                json!({ "size": "large", "count": 2 })
            }
            ElicitParams::Form(_) => json!({ "confirm": true }),
            ElicitParams::Url(visit) => {
                assert_eq!(visit.url, "https://example.com/sign-in");
                json!({})
            }
            ElicitParams::Other(other) => panic!("{other:?}"),
        };
        Ok(ElicitResult::accept(fields.as_object().cloned().unwrap()))
    }

    async fn sample(&self, question: CreateMessageParams) -> Result<CreateMessageResult, ErrorObject> {
        assert_eq!(question.max_tokens, 10);
        Ok(CreateMessageResult::text("a-model", "Hello."))
    }

    async fn roots(&self) -> Result<Vec<Root>, ErrorObject> {
        Ok(vec![Root::new("file:///here")])
    }
}

/// How the client reaches the server.
#[derive(Debug, Clone, Copy)]
enum Way {
    Memory,
    Stdio,
    /// A stream begins when a handler speaks; else the answer is JSON.
    HttpJson,
    /// Every answer is a stream, and the first revision has its own transport.
    HttpSse,
}

impl Way {
    const ALL: [Self; 4] = [Self::Memory, Self::Stdio, Self::HttpJson, Self::HttpSse];

    async fn connector(self, revision: Revision) -> Connector {
        let options = HttpOptions::default();
        match self {
            Self::Memory => Client::in_memory(&scenario_server()),
            Self::Stdio => Client::command(Command::new(env!("CARGO_BIN_EXE_scenario-server"))),
            Self::HttpJson => Client::http(format!("http://{}/mcp", serve(options).await)),
            Self::HttpSse => {
                let address = serve(options.with_stream_at_once()).await;
                match revision.profile().http {
                    HttpShape::HttpSse => {
                        let remote = Remote::new(format!("http://{address}/sse"));
                        Client::remote(remote.kind(RemoteKind::HttpSse))
                    }
                    HttpShape::Sessions | HttpShape::Stateless => Client::http(format!("http://{address}/mcp")),
                }
            }
        }
    }

    async fn connect(self, revision: Revision, answers: &Arc<Answers>) -> Client {
        let connector = self
            .connector(revision)
            .await
            .opening(Opening::Fixed(revision))
            .inputs(Given(Arc::clone(answers)));
        connector
            .connect()
            .await
            .unwrap_or_else(|error| panic!("{revision} over {self:?}: {error}"))
    }
}

/// Serves the scenarios over HTTP as long as the test runs.
async fn serve(options: HttpOptions) -> SocketAddr {
    let listener = HttpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let endpoint = scenario_server().http(options).unwrap();
    tokio::spawn(listener.serve(endpoint, std::future::pending()));
    address
}

/// Runs one scenario over the whole matrix.
async fn everywhere(scenario: impl AsyncFn(&Client, &'static Profile)) {
    for revision in Revision::ALL {
        for way in Way::ALL {
            let client = way.connect(revision, &Arc::default()).await;
            scenario(&client, revision.profile()).await;
            assert_eq!(client.noise().count, 0, "{revision} over {way:?} is clean");
            client.close().await;
        }
    }
}

async fn text(client: &Client, tool: &str) -> String {
    client
        .call(tool, &json!({}))
        .await
        .unwrap_or_else(|error| panic!("{tool}: {error}"))
        .text()
}

fn refused(error: CallError) -> ErrorObject {
    match error {
        CallError::Refused(error) => error,
        other => panic!("not refused by the server: {other:?}"),
    }
}

#[tokio::test]
async fn connecting_agrees_on_the_revision_and_on_who_is_there() {
    everywhere(async |client, profile| {
        let agreed = client.agreement();
        assert_eq!(agreed.profile.revision, profile.revision);
        assert_eq!(agreed.server.name, "scenario");
        assert_eq!(agreed.instructions.as_deref(), Some("Use everything once."));
        assert!(agreed.capabilities.tools.is_some() && agreed.capabilities.prompts.is_some());
    })
    .await;
}

#[tokio::test]
async fn without_a_wish_the_newest_revision_is_taken() {
    for way in Way::ALL {
        let client = way.connector(Revision::LATEST).await.connect().await.unwrap();
        assert_eq!(client.agreement().profile.revision, Revision::LATEST);
    }
}

#[tokio::test]
async fn lists_come_whole_over_several_pages() {
    everywhere(async |client, profile| {
        let tools = client.tools().await.unwrap();
        assert!(
            tools.rejected.is_empty() && tools.warnings.is_empty(),
            "{:?} {:?}",
            tools.rejected,
            tools.warnings
        );
        let names: Vec<&str> = tools.items.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names.len(), 18);
        assert!(names.is_sorted());
        let add = tools.items.iter().find(|tool| tool.name == "add").unwrap();
        assert_eq!(
            add.output_schema.is_some(),
            profile.structured_content != StructuredContent::Absent
        );
        assert_eq!(add.title.is_some(), profile.titles);
        assert_eq!(add.claims_read_only(), profile.tool_annotations);
        let list = tools.items.iter().find(|tool| tool.name == "list").unwrap();
        assert_eq!(
            list.output_schema.is_some(),
            profile.structured_content == StructuredContent::Any
        );
        assert_eq!(client.resources().await.unwrap().items.len(), 2);
        assert_eq!(
            client.resource_templates().await.unwrap().items[0].uri_template,
            "note://by-number/{n}"
        );
        let prompts = client.prompts().await.unwrap();
        let arguments = prompts.items[0].arguments.as_ref().unwrap();
        assert_eq!(
            (arguments[0].name.as_str(), arguments[0].required),
            ("name", Some(true))
        );
        assert_eq!(
            (arguments[1].name.as_str(), arguments[1].required),
            ("times", Some(false))
        );
    })
    .await;
}

#[tokio::test]
async fn tools_answer_with_text_and_structure() {
    everywhere(async |client, profile| {
        let echoed = client
            .call("echo", &json!({ "text": "안녕", "times": 2 }))
            .await
            .unwrap();
        assert_eq!(echoed.text(), "안녕 안녕");
        // Null for something optional is what models send for "not given".
        assert_eq!(
            client
                .call("echo", &json!({ "text": "a", "times": null }))
                .await
                .unwrap()
                .text(),
            "a"
        );
        let sum = client
            .call("add", &json!({ "a": 9_007_199_254_740_993_i64, "b": 0 }))
            .await
            .unwrap();
        assert_eq!(sum.text(), r#"{"sum":9007199254740993}"#);
        let structured = sum.structured_content.clone();
        match profile.structured_content {
            StructuredContent::Absent => assert_eq!(structured, None),
            _ => assert_eq!(structured, Some(json!({ "sum": 9_007_199_254_740_993_i64 }))),
        }
        let list = client.call("list", &json!({})).await.unwrap();
        let kept = profile.structured_content == StructuredContent::Any;
        assert_eq!(list.structured_content, kept.then(|| json!([1, 2, 3])));
        assert_eq!(list.text(), "[1,2,3]");
    })
    .await;
}

#[tokio::test]
async fn content_that_a_revision_does_not_know_becomes_text() {
    everywhere(async |client, profile| {
        let shown = client.call("show", &json!({})).await.unwrap();
        assert_eq!(shown.content.len(), 5);
        assert!(matches!(shown.content[1], Content::Image(_)));
        assert_eq!(matches!(shown.content[2], Content::Audio(_)), profile.audio_content);
        assert_eq!(
            matches!(shown.content[3], Content::ResourceLink(_)),
            profile.resource_links
        );
        assert!(matches!(shown.content[4], Content::Resource(_)));
    })
    .await;
}

#[tokio::test]
async fn the_two_kinds_of_failure_are_told_apart() {
    everywhere(async |client, profile| {
        let failed = client.call("fail", &json!({})).await.unwrap();
        assert!(failed.failed());
        assert_eq!(failed.text(), "it did not work; try `echo`");
        assert_eq!(
            refused(client.call("no_such_tool", &json!({})).await.unwrap_err()).code,
            code::INVALID_PARAMS
        );
        assert_eq!(
            refused(client.call("panic", &json!({})).await.unwrap_err()).code,
            code::INTERNAL_ERROR
        );
        assert_eq!(
            refused(client.call("lie", &json!({})).await.unwrap_err()).code,
            code::INTERNAL_ERROR
        );
        match (profile.bad_arguments, client.call("echo", &json!({ "text": 5 })).await) {
            (BadArguments::ProtocolError, Err(error)) => assert_eq!(refused(error).code, code::INVALID_PARAMS),
            (BadArguments::ExecutionError, Ok(result)) => {
                assert!(result.failed());
                assert!(
                    result.text().contains("/text: 5 is not of type \"string\""),
                    "{}",
                    result.text()
                );
            }
            (rule, other) => panic!("{rule:?}: {other:?}"),
        }
        let forbidden = client.call("forbidden", &json!({})).await.unwrap();
        assert!(forbidden.failed() && forbidden.text().contains("not for you"));
        assert!(!client.call("limited", &json!({})).await.unwrap().failed());
        let limited = client.call("limited", &json!({})).await.unwrap();
        assert!(
            limited.failed() && limited.text().contains("try again in"),
            "{}",
            limited.text()
        );
    })
    .await;
}

#[tokio::test]
async fn progress_and_log_reach_who_asked_for_them() {
    everywhere(async |client, profile| {
        let mut notices = client.notices();
        let options = CallOptions {
            progress: true,
            log_level: Some(LogLevel::Info),
            ..CallOptions::default()
        };
        let mut call = client.request_call("work", Extra::new(), options);
        let mut seen = Vec::new();
        while let Some(progress) = call.progress().await {
            assert_eq!(progress.message.is_some(), profile.progress_message);
            seen.push((progress.progress.to_string(), progress.fraction()));
        }
        assert_eq!(call.await.unwrap().text(), "worked");
        assert_eq!(
            seen.iter().map(|(value, _)| value.as_str()).collect::<Vec<_>>(),
            ["1", "2", "3"]
        );
        assert_eq!(seen[2].1, Some(1.0));
        // A modern request that does not ask for messages gets none; a legacy connection asks once for all.
        assert_eq!(text(client, "work").await, "worked");
        client.clone().close().await;
        let mut logged = Vec::new();
        while let Some(notice) = notices.next().await {
            let Notice::Log(message) = notice else {
                panic!("{notice:?}")
            };
            assert_eq!(message.level, LogLevel::Info, "details are below the wanted level");
            logged.push(message.data["step"].clone());
        }
        let expected = if profile.log_level_per_request {
            json!([1, 2, 3])
        } else {
            json!([1, 2, 3, 1, 2, 3])
        };
        assert_eq!(json!(logged), expected);
    })
    .await;
}

#[tokio::test]
async fn a_person_is_asked_the_same_way_in_both_eras() {
    everywhere(async |client, profile| {
        let forms = profile.elicitation != ElicitationForms::Absent;
        if forms {
            assert_eq!(text(client, "confirm").await, "confirmed");
            let order = client.call("order", &json!({})).await.unwrap();
            assert_eq!(
                order.text(),
                r#"{"size":"large","count":2}"#,
                "two rounds, the first answer kept"
            );
        } else {
            let result = client.call("confirm", &json!({})).await.unwrap();
            assert!(
                result.failed() && result.text().contains("cannot be asked"),
                "{}",
                result.text()
            );
        }
        match profile.elicitation {
            ElicitationForms::FormAndUrl => assert_eq!(text(client, "visit").await, "Accepted(())"),
            _ => assert!(client.call("visit", &json!({})).await.unwrap().failed()),
        }
        assert_eq!(text(client, "sample").await, "a-model");
        assert_eq!(text(client, "roots").await, "file:///here");
    })
    .await;
}

#[tokio::test]
async fn a_no_reaches_the_tool() {
    for revision in Revision::ALL
        .into_iter()
        .filter(|r| r.profile().elicitation != ElicitationForms::Absent)
    {
        for way in Way::ALL {
            let answers = Arc::new(Answers {
                decline: true,
                ..Answers::default()
            });
            let client = way.connect(revision, &answers).await;
            assert_eq!(text(&client, "confirm").await, "declined");
            let order = client.call("order", &json!({})).await.unwrap();
            assert!(order.failed() && order.text().contains("declined"));
            assert_eq!(answers.asked.load(Ordering::SeqCst), 2);
        }
    }
}

#[tokio::test]
async fn a_client_that_cannot_be_asked_is_told_so() {
    for revision in Revision::ALL {
        for way in Way::ALL {
            let client = way
                .connector(revision)
                .await
                .opening(Opening::Fixed(revision))
                .connect()
                .await
                .unwrap();
            for tool in ["confirm", "visit", "sample", "roots"] {
                match (revision.era(), client.call(tool, &json!({})).await) {
                    (Era::Legacy, Ok(result)) => assert!(result.failed(), "{tool}: {}", result.text()),
                    (Era::Modern, Err(error)) => {
                        let error = refused(error);
                        assert_eq!(error.code, code::MISSING_CLIENT_CAPABILITY, "{tool}");
                        assert!(error.data.is_some_and(|data| data["requiredCapabilities"].is_object()));
                    }
                    (era, other) => panic!("{era:?} {tool}: {other:?}"),
                }
            }
        }
    }
}

#[tokio::test]
async fn a_call_becomes_a_task_where_that_exists() {
    everywhere(async |client, profile| {
        let forms = profile.elicitation != ElicitationForms::Absent;
        let said = if forms { "confirmed" } else { "cannot be asked" };
        let started = client.start_call("errand", Extra::new(), CallOptions::default()).await;
        match started.unwrap() {
            Started::Done(called) => assert!(!profile.tasks_extension && called.text().contains(said)),
            Started::Task(task) => {
                assert!(profile.tasks_extension && !task.get().await.unwrap().state.is_terminal());
                assert_eq!(task.result(Duration::from_secs(20)).await.unwrap().text(), said);
                assert!(task.get().await.unwrap().state.is_terminal());
                task.cancel().await.unwrap();
            }
        }
        let called = client.call("errand", &json!({})).await.unwrap();
        assert!(called.text().contains(said), "who does not care does not notice");
    })
    .await;
}

#[tokio::test]
async fn resources_are_read_by_address_and_by_template() {
    everywhere(async |client, profile| {
        let one = client.read("note://one").await.unwrap();
        assert_eq!(one.contents[0].as_text(), Some("first"));
        assert_eq!(
            (one.ttl_ms.is_some(), one.cache_scope.is_some()),
            (profile.cache_hints, profile.cache_hints)
        );
        let bytes = serde_json::to_value(&client.read("note://bytes").await.unwrap().contents[0]).unwrap();
        assert_eq!(bytes["blob"], json!("AAEC"));
        assert_eq!(
            client.read("note://by-number/7").await.unwrap().contents[0].as_text(),
            Some("note 7")
        );
        assert_eq!(
            refused(client.read("note://by-number/x").await.unwrap_err()).code,
            code::INVALID_PARAMS
        );
        assert_eq!(
            refused(client.read("note://none").await.unwrap_err()).code,
            profile.resource_not_found
        );
    })
    .await;
}

#[tokio::test]
async fn prompts_are_filled_in_and_completed() {
    everywhere(async |client, _| {
        let arguments = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
            pairs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect()
        };
        let greeting = client
            .prompt("greet", arguments(&[("name", "Ann"), ("times", "3")]))
            .await
            .unwrap();
        assert_eq!(greeting.messages[0].content.as_text(), Some("Greet Ann 3 times."));
        let missing = refused(client.prompt("greet", arguments(&[])).await.unwrap_err());
        assert_eq!(missing.code, code::INVALID_PARAMS);
        assert!(missing.message.contains("name"), "{missing}");
        assert_eq!(
            refused(client.prompt("none", arguments(&[])).await.unwrap_err()).code,
            code::INVALID_PARAMS
        );
        let completed = client
            .complete(Reference::prompt("greet"), "name", "An", BTreeMap::new())
            .await
            .unwrap();
        assert_eq!(completed.values, ["Ann", "Anna"]);
    })
    .await;
}

#[tokio::test]
async fn changes_are_heard_and_end_what_was_kept() {
    everywhere(async |client, _| {
        let before = client.tools().await.unwrap().items.len();
        let filter = SubscriptionFilter {
            tools_list_changed: Some(true),
            resource_subscriptions: Some(vec!["note://one".to_owned()]),
            ..SubscriptionFilter::default()
        };
        let mut subscription = client.listen(filter).await.unwrap();
        assert_eq!(text(client, "grow").await, "grown");
        let heard = [subscription.next().await.unwrap(), subscription.next().await.unwrap()];
        assert!(heard.contains(&Notice::ToolsChanged), "{heard:?}");
        assert!(
            heard.contains(&Notice::ResourceUpdated {
                uri: "note://one".to_owned()
            }),
            "{heard:?}"
        );
        assert_eq!(client.tools().await.unwrap().items.len(), before + 1);
        assert_eq!(text(client, "grown").await, "new");
    })
    .await;
}

#[tokio::test]
async fn a_dropped_call_is_cancelled_and_disturbs_nobody() {
    everywhere(async |client, _| {
        let waiting = client.request_call("wait", Extra::new(), CallOptions::default());
        let answered = tokio::time::timeout(Duration::from_millis(20), waiting).await;
        assert!(answered.is_err(), "it waits, and is dropped here");
        assert_eq!(text(client, "fail").await, "it did not work; try `echo`");
    })
    .await;
}

#[tokio::test]
async fn a_slow_call_holds_up_no_other() {
    everywhere(async |client, _| {
        let slow: Vec<_> = (0..50)
            .map(|_| client.request_call("wait", Extra::new(), CallOptions::default()))
            .collect();
        let calls = (0..50).map(|n| {
            let client = client.clone();
            tokio::spawn(async move { (n, client.call("echo", &json!({ "text": n.to_string() })).await) })
        });
        for call in calls.collect::<Vec<_>>() {
            let (n, echoed) = call.await.unwrap();
            assert_eq!(echoed.unwrap().text(), n.to_string(), "each answer finds its call");
        }
        drop(slow);
    })
    .await;
}

#[tokio::test]
async fn large_answers_and_arguments_pass_whole() {
    everywhere(async |client, _| {
        let text = "가나다😀\n\"\\".repeat(100_000);
        let echoed = client.call("echo", &json!({ "text": text })).await.unwrap();
        assert!(echoed.text() == text, "a megabyte and more, byte by byte");
    })
    .await;
}

#[tokio::test]
async fn what_a_revision_does_not_have_is_not_sent() {
    everywhere(async |client, profile| {
        let ping = client
            .request::<trunkline::types::methods::Ping>(trunkline::types::EmptyParams::default())
            .await;
        match (Method::Ping.exists_in(profile.revision), ping) {
            (true, Ok(_)) | (false, Err(CallError::NotSent(_))) => {}
            (exists, other) => panic!("{exists}: {other:?}"),
        }
    })
    .await;
}

#[test]
fn every_method_to_a_server_is_tried_by_some_scenario() {
    let source = include_str!("scenarios.rs");
    let tried: &[(Method, &str)] = &[
        (Method::Initialize, "connect("),
        (Method::Discover, "connect("),
        (Method::Ping, "methods::Ping"),
        (Method::ListTools, ".tools()"),
        (Method::CallTool, ".call("),
        (Method::ListResources, ".resources()"),
        (Method::ListResourceTemplates, ".resource_templates()"),
        (Method::ReadResource, ".read("),
        (Method::Subscribe, ".listen("),
        (Method::Unsubscribe, ".listen("),
        (Method::ListPrompts, ".prompts()"),
        (Method::GetPrompt, ".prompt("),
        (Method::Complete, ".complete("),
        (Method::SetLevel, "log_level"),
        (Method::Listen, ".listen("),
        (Method::GetTask, ".get()"),
        (Method::UpdateTask, ".result("),
        (Method::CancelTask, ".cancel()"),
    ];
    let legacy_tasks = [
        Method::GetLegacyTask,
        Method::GetLegacyTaskResult,
        Method::CancelLegacyTask,
        Method::ListLegacyTasks,
    ];
    for facts in Method::TABLE
        .iter()
        .filter(|facts| facts.is_request && facts.direction.reaches_server())
    {
        // The extension replaced them.
        if legacy_tasks.contains(&facts.method) {
            continue;
        }
        let how = tried.iter().find(|(method, _)| *method == facts.method);
        let (_, how) = how.unwrap_or_else(|| panic!("no scenario tries {}", facts.name));
        assert!(source.contains(how), "{} is tried by {how}", facts.name);
    }
}
