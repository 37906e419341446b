//! Servers that come up, and those that do not.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;
use trunkline_gate::client::{Client, Command};
use trunkline_gate::{Gate, News, Proposal, ServerReport, ServerSpec, ServerState, Trust};

use crate::peer::{Peer, Reply, tool};
use crate::{Heard, gate_of, nothing, with};

fn good() -> Peer {
    Peer::new(json!([tool("look", true)]), |_, _| None)
}

fn report<'a>(reports: &'a [ServerReport], id: &str) -> &'a ServerReport {
    reports.iter().find(|report| report.id == id).unwrap()
}

#[tokio::test(start_paused = true)]
async fn one_server_that_fails_does_not_disturb_the_others() {
    let hangs = Peer::new(json!([]), |_, _| Some(Reply::Silence));
    let refuses = Peer::new(json!([]), |method, _| {
        (method == "initialize").then_some(Reply::Error(-32603, "no licence"))
    });
    let leaves = Peer::new(json!([]), |_, _| Some(Reply::End));
    let lists_never = Peer::new(json!([]), |method, _| {
        (method == "tools/list").then_some(Reply::Silence)
    });
    let missing = ServerSpec::new("missing", Client::command(Command::new("no-such-program-anywhere")));
    let mut builder = Gate::builder().server(missing);
    for (id, peer) in [
        ("hangs", hangs),
        ("refuses", refuses),
        ("good", good()),
        ("leaves", leaves),
        ("lists_never", lists_never),
    ] {
        builder = with(builder, id, Trust::Trusted, peer).0;
    }
    let gate = builder
        .absent(ServerReport::skipped("off", Trust::Untrusted, "switched off"))
        .connect()
        .await;
    let reports = gate.reports();
    let ids: Vec<&str> = reports.iter().map(|report| report.id.as_str()).collect();
    assert_eq!(
        ids,
        ["missing", "hangs", "refuses", "good", "leaves", "lists_never", "off"],
        "in the order of the configuration"
    );
    let error = |id: &str| report(&reports, id).error.clone().unwrap();
    assert!(error("missing").contains("no such program"), "{}", error("missing"));
    assert!(error("hangs").contains("did not answer"), "{}", error("hangs"));
    assert!(error("refuses").contains("no licence"), "{}", error("refuses"));
    assert!(error("leaves").contains("ended"), "{}", error("leaves"));
    assert!(
        error("lists_never").contains("list its tools"),
        "{}",
        error("lists_never")
    );
    assert_eq!(report(&reports, "good").state, ServerState::Connected);
    assert_eq!(reports.iter().filter(|report| report.is_down()).count(), 5);
    assert!(
        gate.call(Proposal::new("good__look", nothing()))
            .await
            .outcome
            .succeeded()
    );
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_waited_for_is_named_within_a_second_with_what_is_odd_about_it() {
    let rubbish = Peer::new(json!([]), |_, _| {
        Some(Reply::Raw(vec!["Welcome\u{1b}[2J to my server!".to_owned()]))
    });
    let heard = Arc::new(Heard::default());
    let (builder, _) = with(Gate::builder().watch(heard.clone()), "rubbish", Trust::Trusted, rubbish);
    let began = Instant::now();
    let gate = builder.connect().await;
    let News::Waiting {
        server,
        seconds,
        oddity,
    } = &heard.all()[0]
    else {
        panic!("{:?}", heard.all())
    };
    assert_eq!((server.as_str(), *seconds), ("rubbish", 1));
    assert!(oddity.as_ref().unwrap().contains(r"Welcome\x1b[2J"), "{oddity:?}");
    assert!(began.elapsed() <= Duration::from_secs(11), "{:?}", began.elapsed());
    let error = gate.reports()[0].error.clone().unwrap();
    assert!(error.contains("no MCP messages"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_answers_the_handshake_under_another_id_is_given_up_soon() {
    let astray = Peer::new(json!([]), |_, message| {
        let line = json!({ "jsonrpc": "2.0", "id": message["id"].to_string(), "result": {} });
        Some(Reply::Raw(vec![line.to_string()]))
    });
    let began = Instant::now();
    let (gate, _) = gate_of("astray", Trust::Trusted, astray).await;
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    let error = gate.reports()[0].error.clone().unwrap();
    assert!(error.contains("id that no request has"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn what_is_not_declared_is_not_asked_for() {
    let only_resources = good().capabilities(json!({ "resources": {} }));
    let (gate, seen) = gate_of("s", Trust::Trusted, only_resources).await;
    assert!(seen.params("tools/list").is_empty());
    assert_eq!(
        (gate.reports()[0].state, gate.reports()[0].tools),
        (ServerState::Connected, 0)
    );
    // Declared and not served: an empty list and a warning, not a failure.
    let resources = gate.resources(None).await;
    assert!(resources.items.is_empty());
    assert_eq!(resources.warnings.len(), 1, "{:?}", resources.warnings);
    assert!(gate.prompts(None).await.warnings.is_empty());
    assert!(seen.params("prompts/list").is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_list_that_never_ends_is_kept_as_far_as_it_went() {
    let endless = Peer::new(json!([]), |method, _| {
        let page = json!({ "tools": [tool("one", true)], "nextCursor": "again" });
        (method == "tools/list").then_some(Reply::Result(page))
    });
    let (gate, seen) = gate_of("s", Trust::Trusted, endless).await;
    assert_eq!(gate.catalogue().tools().len(), 1);
    assert!(!gate.reports()[0].warnings.is_empty());
    assert!(seen.params("tools/list").len() < 10);
}

#[tokio::test(start_paused = true)]
async fn bad_definitions_are_set_aside_with_their_reasons() {
    let tools = json!([
        tool("good", true),
        { "name": "no_schema" },
        { "name": "outside", "inputSchema": { "$ref": "http://127.0.0.1:9/x" } },
        7,
    ]);
    let (gate, _) = gate_of("s", Trust::Trusted, Peer::new(tools, |_, _| None)).await;
    let names: Vec<&str> = gate.catalogue().tools().map(|tool| tool.name()).collect();
    assert_eq!(names, ["s__good"]);
    assert_eq!(
        gate.catalogue().all_set_aside().len(),
        3,
        "{:?}",
        gate.catalogue().all_set_aside()
    );
}

#[tokio::test(start_paused = true)]
async fn closing_ends_all_servers() {
    let (builder, first) = with(Gate::builder(), "a", Trust::Trusted, good());
    let (builder, second) = with(builder, "b", Trust::Trusted, good());
    let gate = builder.connect().await;
    assert!(!first.ended() && !second.ended());
    gate.close().await;
    tokio::task::yield_now().await;
    assert!(first.ended() && second.ended());
}
