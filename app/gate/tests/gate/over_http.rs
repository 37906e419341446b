//! Servers over HTTP, where one call may fail and the connection goes on. Sockets are real, and so is the time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use tokio::sync::oneshot;
use trunkline_gate::client::types::Revision;
use trunkline_gate::client::{Client, Opening, Remote};
use trunkline_gate::journal::{Event, Journal, read_from, verify};
use trunkline_gate::{Builder, Gate, Outcome, Proposal, Report, ServerSpec, ServerState, Trust, Verdict};
use trunkline_server::{NoArguments, Server};
use trunkline_testkit::{Answer, Asked, HttpPeer};

use crate::peer::tool;
use crate::{Person, nothing};

/// How long a test waits for what has to happen.
const PATIENCE: Duration = Duration::from_secs(20);

fn with(builder: Builder, id: &str, peer: &HttpPeer) -> Builder {
    builder.server(ServerSpec::new(id, Client::http(peer.url())).trust(Trust::Trusted))
}

/// An ordinary server with one tool, whose calls are answered in this way.
fn calls_get(answer: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> HttpPeer {
    HttpPeer::new(move |asked| match asked.method() {
        "tools/call" => answer(asked),
        _ => asked.ordinary(&json!([tool("write", true)])),
    })
}

async fn write(gate: &Gate) -> Report {
    gate.call(Proposal::new("s__write", nothing())).await
}

#[tokio::test]
async fn a_call_that_broke_off_is_unknown_and_is_not_made_again() {
    let answers: Vec<(&str, Answer)> = vec![
        ("did not answer", Answer::hang_up()),
        ("HTTP 500", Answer::status("500 Internal Server Error")),
        (
            "a web page (\"Oops\")",
            Answer::page("502 Bad Gateway", "<title>Oops</title>"),
        ),
        ("a web page (\"Hello\")", Answer::page("200 OK", "<title>Hello</title>")),
        ("without an answer", Answer::status("202 Accepted")),
        (
            "no answer to this request: rubbish",
            Answer::new("200 OK", "Content-Type: application/json\r\n", "rubbish"),
        ),
        (
            "stream ended without the answer",
            Answer::Bytes("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n: soon\n\n".to_owned()),
        ),
        (
            "broke off",
            Answer::Bytes(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{".to_owned(),
            ),
        ),
    ];
    for (part, answer) in answers {
        let peer = calls_get(move |_| answer.clone());
        let gate = with(Gate::builder(), "s", &peer).connect().await;
        let report = write(&gate).await;
        let Outcome::Unknown { why } = &report.outcome else {
            panic!("{part}: {report:?}")
        };
        assert!(
            why.starts_with("server `s`: no answer came; the request may have run (") && why.contains(part),
            "{part}: {why}"
        );
        let again = write(&gate).await.outcome;
        assert!(
            matches!(&again, Outcome::Refused { reason } if reason.contains("unknown")),
            "{part}: {again:?}"
        );
        assert_eq!(peer.count("tools/call"), 1, "{part}: it was sent once");
        assert_eq!(gate.reports()[0].state, ServerState::Connected, "{part}");
        gate.close().await;
    }
}

#[tokio::test]
async fn a_call_that_was_not_delivered_failed_and_may_be_made_again() {
    for status in [
        "401 Unauthorized",
        "403 Forbidden",
        "404 Not Found",
        "413 Payload Too Large",
        "429 Too Many Requests",
        "302 Found",
    ] {
        let peer = calls_get(move |_| Answer::new(status, "Location: http://127.0.0.1:9/login?x\r\n", ""));
        let gate = with(Gate::builder(), "s", &peer).connect().await;
        for count in 1..=2 {
            let report = write(&gate).await;
            let Outcome::Failed { why } = &report.outcome else {
                panic!("{status}: {report:?}")
            };
            assert!(
                why.starts_with("server `s`: the request did not get through and was not run (")
                    && why.contains(status),
                "{why}"
            );
            assert_eq!(peer.count("tools/call"), count, "{status}");
        }
        assert_eq!(
            gate.reports()[0].state,
            ServerState::Connected,
            "it is there, and says no"
        );
        gate.close().await;
    }
}

#[tokio::test]
async fn a_server_that_went_away_is_told_from_one_that_may_have_run_a_call() {
    let gone = calls_get(|asked| asked.ordinary(&json!([])));
    let stays = calls_get(|asked| asked.ordinary(&json!([])));
    let builder = with(with(Gate::builder(), "s", &gone), "stays", &stays);
    let gate = builder.connect().await;
    drop(gone);
    let report = write(&gate).await;
    let Outcome::Failed { why } = &report.outcome else {
        panic!("{report:?}")
    };
    assert!(
        why.contains("was not run (http://127.0.0.1:") && why.contains("cannot be reached"),
        "{why}"
    );
    let states: Vec<ServerState> = gate.reports().iter().map(|report| report.state).collect();
    assert_eq!(states, [ServerState::Ended, ServerState::Connected]);
    assert!(
        gate.call(Proposal::new("stays__write", nothing()))
            .await
            .outcome
            .succeeded()
    );
    gate.close().await;
}

#[tokio::test]
async fn a_call_that_the_server_answered_is_settled_whatever_the_status() {
    let error = |code: i64| {
        move |asked: &Asked| {
            let body =
                json!({ "jsonrpc": "2.0", "id": asked.message["id"], "error": { "code": code, "message": "no" } });
            Answer::new(
                "400 Bad Request",
                "Content-Type: application/json\r\n",
                &body.to_string(),
            )
        }
    };
    for (code, kind) in [(-32602, "failed"), (-32603, "unknown")] {
        let peer = calls_get(error(code));
        let gate = with(Gate::builder(), "s", &peer).connect().await;
        let outcome = write(&gate).await.outcome;
        assert_eq!(outcome.kind(), kind, "{code}: {outcome:?}");
        gate.close().await;
    }
}

#[tokio::test]
async fn servers_that_cannot_be_used_leave_the_others_alone() {
    let page = HttpPeer::always(Answer::page("200 OK", "<title>Welcome</title>"));
    let wants = HttpPeer::always(Answer::status("401 Unauthorized"));
    let good = calls_get(|asked| asked.ordinary(&json!([])));
    let gone = HttpPeer::always(Answer::hang_up()).url();
    let gone = ServerSpec::new("gone", Client::http(gone));
    let builder = with(Gate::builder(), "page", &page).server(gone);
    let gate = with(with(builder, "wants", &wants), "s", &good).connect().await;
    let reports = gate.reports();
    let error = |place: usize| reports[place].error.clone().unwrap();
    assert!(
        error(0).contains("a web page (\"Welcome\")") && error(0).contains("not how an MCP server answers"),
        "{}",
        error(0)
    );
    assert!(
        error(1).contains("cannot be reached") && error(1).contains("that it runs"),
        "{}",
        error(1)
    );
    assert!(
        error(2).contains("401") && error(2).contains("a header that authorizes you"),
        "{}",
        error(2)
    );
    assert!(write(&gate).await.outcome.succeeded());
    gate.close().await;
}

/// A server of ours on an address of its own, which ends when what is returned beside it is dropped.
async fn served(server: &Server) -> (String, oneshot::Sender<()>) {
    let socket = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", socket.local_addr().unwrap());
    let (stop, stopped) = oneshot::channel();
    let server = server.clone();
    tokio::spawn(async move {
        let stopped = async { drop(stopped.await) };
        server.serve_http_until(socket, stopped).await.unwrap();
    });
    (url, stop)
}

#[tokio::test]
async fn a_changed_list_is_heard_of_over_http_in_both_eras() {
    for revision in [Revision::LATEST, Revision::LATEST_LEGACY] {
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&calls);
        let t = move |_: NoArguments| {
            counted.fetch_add(1, Ordering::Relaxed);
            async { "done" }
        };
        let server = Server::new("s", "1").tool("t", t.clone()).tool("u", t);
        let (url, _stop) = served(&server).await;
        let spec = ServerSpec::new("s", Client::http(url).opening(Opening::Fixed(revision)));
        let person = Person::new(Verdict::Allow);
        let gate = Gate::builder().server(spec).approver(person).connect().await;
        let call = async |name: &str| gate.call(Proposal::new(name, nothing())).await.outcome;
        assert!(call("s__t").await.succeeded());
        server.remove_tool("t");
        // The notice comes on a connection of its own: after further answers, or between a yes and its call.
        let gone = async {
            loop {
                if let Outcome::Invalid { why } = call("s__t").await {
                    return why;
                }
            }
        };
        let gone = tokio::time::timeout(PATIENCE, gone).await.unwrap();
        assert!(gone.contains("no longer offers `t`"), "{revision}: {gone}");
        assert!(call("s__u").await.succeeded());
        assert_eq!(calls.load(Ordering::Relaxed), 2);
        gate.close().await;
    }
}

#[tokio::test]
async fn the_journal_has_what_goes_over_http_and_no_header() {
    let journal = Journal::memory();
    let peer = calls_get(|asked| asked.ordinary(&json!([])));
    let remote = Remote::new(peer.url()).header("Authorization", "Bearer correct-horse-battery");
    let spec = ServerSpec::new("s", Client::remote(remote)).trust(Trust::Trusted);
    let gate = Gate::builder().journal(journal.clone()).server(spec).connect().await;
    assert!(write(&gate).await.outcome.succeeded());
    gate.close().await;
    journal.close();
    assert!(
        peer.asked()
            .iter()
            .all(|asked| asked.header("authorization") == Some("Bearer correct-horse-battery"))
    );
    let written = journal.contents();
    assert!(verify(&written[..]).unwrap().is_whole());
    let is_message = |entry: &Event| matches!(entry, Event::Message { .. });
    let entries = read_from(&written[..]).map(|entry| entry.unwrap().event);
    assert_eq!(
        entries.filter(is_message).count(),
        9,
        "four requests, their answers, one notification"
    );
    assert!(!String::from_utf8(written).unwrap().contains("correct-horse"));
}
