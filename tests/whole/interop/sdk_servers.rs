//! Servers on the official SDKs of other languages, driven by our client over HTTP: each keeps sessions and streams, or
//! keeps nothing and answers with JSON.

use std::process::Command;

use trunkline::proto::client::Opening;
use trunkline::types::{Era, Revision};
use trunkline::{Client, Remote, RemoteKind};

use super::at;
use super::cut::Cut;
use super::exchange::Feature::{self, Changes, Progress, Questions, Resumption};
use super::exchange::exchange;
use super::listening::{Listening, PATIENCE};

fn start(interpreter: &str, script: &str, mode: &str) -> Listening {
    let mut command = Command::new(at(interpreter));
    command.arg(at(&format!("tests/interop/{script}"))).arg(mode);
    Listening::start(command)
}

fn python(mode: &str) -> Listening {
    start(".tools/venv/bin/python", "server.py", mode)
}

fn typescript(script: &str, mode: &str) -> Listening {
    start(".tools/bin/node", script, mode)
}

/// Tries every revision that the server speaks, and what is found without a wish.
pub(super) async fn every_revision(url: &str, newest: Revision, features: impl Fn(Revision) -> Vec<Feature>) {
    let spoken = Revision::ALL.into_iter().filter(|revision| *revision <= newest);
    for revision in spoken {
        let client = Client::http(url).opening(Opening::Fixed(revision));
        exchange(client, revision, &features(revision)).await;
    }
    // A client takes silence for an older era.
    let unasked = Client::http(url).probe(PATIENCE).handshake(PATIENCE);
    exchange(unasked, newest, &features(newest)).await;
}

fn legacy() -> impl Iterator<Item = Revision> {
    let all = Revision::ALL.into_iter();
    all.filter(|revision| revision.era() == Era::Legacy)
}

/// A stream can be resumed in the one revision whose streams begin with something to come back to.
fn with_resumption(features: &[Feature], revision: Revision) -> Vec<Feature> {
    let mut features = features.to_vec();
    features.extend((revision == Revision::LATEST_LEGACY).then_some(Resumption));
    features
}

/// With JSON answers nothing can be told before the answer, and without a session nothing asked. Modern requests are
/// asked by answers, and hear of changes on a stream of their own.
pub(super) fn without_sessions(revision: Revision) -> Vec<Feature> {
    match revision.era() {
        Era::Legacy => vec![],
        Era::Modern => vec![Questions, Changes],
    }
}

/// It tells only modern clients of changes.
#[tokio::test]
async fn python_with_sessions() {
    let server = python("stateful");
    every_revision(&server.at("/mcp"), Revision::LATEST, |revision| match revision.era() {
        Era::Legacy => with_resumption(&[Questions, Progress], revision),
        Era::Modern => vec![Questions, Progress, Changes],
    })
    .await;
}

#[tokio::test]
async fn python_without_sessions() {
    let server = python("stateless");
    every_revision(&server.at("/mcp"), Revision::LATEST, without_sessions).await;
}

#[tokio::test]
async fn python_over_the_first_http_transport() {
    let server = python("sse");
    let url = server.at("/sse");
    let features = [Questions, Progress];
    for revision in legacy() {
        exchange(
            Client::http(&url).opening(Opening::Fixed(revision)),
            revision,
            &features,
        )
        .await;
    }
    let remote = Remote::new(url).kind(RemoteKind::HttpSse);
    let newest = Revision::LATEST_LEGACY;
    exchange(Client::remote(remote), newest, &features).await;
}

#[tokio::test]
async fn older_typescript_with_sessions() {
    let server = typescript("server.mjs", "stateful");
    every_revision(&server.at("/mcp"), Revision::LATEST_LEGACY, |revision| {
        with_resumption(&[Questions, Progress, Changes], revision)
    })
    .await;
}

#[tokio::test]
async fn older_typescript_without_sessions() {
    let server = typescript("server.mjs", "stateless");
    every_revision(&server.at("/mcp"), Revision::LATEST_LEGACY, without_sessions).await;
}

#[tokio::test]
async fn typescript_with_sessions() {
    let server = typescript("servermodern.mjs", "stateful");
    every_revision(&server.at("/mcp"), Revision::LATEST, |revision| {
        with_resumption(&[Questions, Progress, Changes], revision)
    })
    .await;
}

#[tokio::test]
async fn typescript_without_sessions() {
    let server = typescript("servermodern.mjs", "stateless");
    every_revision(&server.at("/mcp"), Revision::LATEST, without_sessions).await;
}

/// The connection breaks while a call is answered. Our client comes back for the rest, and nothing of it is lost.
#[tokio::test]
async fn broken_streams_are_gone_on_with() {
    let servers = [
        (python("stateful"), vec![Questions, Progress]),
        (typescript("server.mjs", "stateful"), vec![Questions, Progress, Changes]),
        (
            typescript("servermodern.mjs", "stateful"),
            vec![Questions, Progress, Changes],
        ),
    ];
    for (server, features) in servers {
        for revision in legacy() {
            let cut = Cut::after("\"progress\":1", &server.at(""));
            let client = Client::http(cut.at("/mcp")).opening(Opening::Fixed(revision));
            exchange(client, revision, &with_resumption(&features, revision)).await;
            assert!(cut.is_made());
        }
    }
}
