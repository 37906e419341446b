//! A client whose server writes what it should not, or dies.

use std::time::{Duration, Instant};

use serde_json::json;
use trunkline::proto::client::{NoiseReason, Opening};
use trunkline::transport::{Command, Limits, TransportErrorKind};
use trunkline::types::Revision;
use trunkline::{CallError, Client, ConnectError};

use super::{ANSWER, PATIENCE, met, right, scripted};

/// C-01: whatever is no message is set aside, counted and shown; the answer still finds its call.
#[tokio::test]
async fn c01_rubbish_on_stdout_is_set_aside() {
    let client = met(&[
        "<tools/call",
        ">trace {",
        ">  a: 1",
        ">}",
        ">0",
        ">\"x\"",
        ANSWER,
        "eof",
    ])
    .await;
    right(&client).await;
    let noise = client.noise();
    assert_eq!(noise.count, 5);
    assert!(
        noise
            .last
            .iter()
            .all(|noise| matches!(noise.reason, NoiseReason::NotAMessage(_))),
        "{noise:?}"
    );
    client.close().await;
}

#[tokio::test]
async fn noise_is_bounded_while_it_is_counted() {
    let mut steps = vec!["<tools/call"];
    let line = format!(">{}", "n".repeat(5000));
    steps.extend(std::iter::repeat_n(line.as_str(), 200));
    steps.extend([ANSWER, "eof"]);
    let client = met(&steps).await;
    right(&client).await;
    let noise = client.noise();
    assert_eq!(noise.count, 200);
    assert!(noise.last.len() <= 32 && noise.last.iter().all(|noise| noise.text.len() <= 200));
}

/// C-02: one byte order mark before a message is ignored; inside of a value it stays.
#[tokio::test]
async fn c02_a_byte_order_mark_is_ignored() {
    let marked = r#"=\xEF\xBB\xBF{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"right"}]}}\r\n"#;
    let inside = r#">{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"﻿marked"}]}}"#;
    let client = met(&["<tools/call", marked, "<tools/call", inside, "eof"]).await;
    right(&client).await;
    assert_eq!(client.call("t", &json!({})).await.unwrap().text(), "\u{feff}marked");
    assert_eq!(client.noise().count, 0);
}

#[tokio::test]
async fn blank_lines_and_carriage_returns_are_tolerated() {
    let crlf = r#"=\r\n\n  \n{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"right"}]}}\r\n"#;
    let client = met(&["<tools/call", crlf, "eof"]).await;
    right(&client).await;
    assert_eq!(client.noise().count, 0);
}

/// C-03: another framing is named at once.
#[tokio::test]
async fn c03_header_framing_is_named() {
    let start = Instant::now();
    let header = r"=Content-Length: 40\r\n\r\n{}";
    let error = scripted(&[header, "hang"]).connect().await.unwrap_err();
    let ConnectError::Transport(fault) = &error else {
        panic!("{error:?}")
    };
    assert_eq!(fault.kind(), TransportErrorKind::ForeignFraming);
    assert!(error.to_string().contains("Content-Length"), "{error}");
    assert!(start.elapsed() < Duration::from_secs(3), "not by a timeout");
}

/// C-04: an endless line is cut off; what came before it was delivered.
#[tokio::test]
async fn c04_an_endless_line_costs_no_memory_and_no_connection() {
    let limits = Limits::default().with_max_message(1024 * 1024);
    let long = r#"={"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":""#;
    let steps = [
        "meet",
        "<tools/call",
        ANSWER,
        "<tools/call",
        long,
        "flood:67108864",
        r"=\n",
        "<tools/call",
        ANSWER,
        "eof",
    ];
    let command = Command::new(env!("CARGO_BIN_EXE_scripted-server"))
        .args(steps)
        .limits(limits);
    let client = Client::command(command)
        .opening(Opening::Fixed(Revision::LATEST_LEGACY))
        .connect()
        .await
        .unwrap();
    right(&client).await;
    let error = client.call("t", &json!({})).await.unwrap_err();
    assert!(
        matches!(&error, CallError::Invalid(why) if why.contains("1048576")),
        "{error:?}"
    );
    right(&client).await;
    client.close().await;
}

/// C-07: a server that dies fails all its calls with one clear error, at once.
#[tokio::test]
async fn c07_a_server_that_has_just_died_fails_its_calls() {
    let client = scripted(&[
        "<initialize",
        r#">{"jsonrpc":"2.0","id":$ID,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}"#,
        "2the disk is full",
        "exit:3",
    ]);
    let client = client
        .opening(Opening::Fixed(Revision::LATEST_LEGACY))
        .connect()
        .await
        .unwrap();
    for _ in 0..2 {
        let error = tokio::time::timeout(PATIENCE, client.call("t", &json!({})))
            .await
            .unwrap()
            .unwrap_err();
        let (CallError::Lost { diagnosis } | CallError::Closed { diagnosis }) = &error else {
            panic!("{error:?}")
        };
        let diagnosis = diagnosis.as_deref().unwrap_or_default();
        assert!(
            diagnosis.contains('3') && diagnosis.contains("the disk is full"),
            "{diagnosis}"
        );
        // What was sent before the end was noticed may have run; what was not sent has not.
        assert_eq!(error.may_have_run(), matches!(error, CallError::Lost { .. }));
    }
}

#[tokio::test]
async fn a_crash_in_the_middle_of_a_call_is_an_unknown_outcome() {
    let client = met(&["<tools/call", "2it broke", "exit:7"]).await;
    let error = client.call("t", &json!({})).await.unwrap_err();
    assert!(error.may_have_run(), "{error:?}");
    assert!(error.to_string().contains("it broke"), "{error}");
}

#[tokio::test]
async fn an_answer_with_the_wrong_type_of_id_is_pointed_out_and_does_not_match() {
    let wrong = r#">{"jsonrpc":"2.0","id":"$ID","result":{"content":[{"type":"text","text":"wrong"}]}}"#;
    let client = met(&["<tools/call", wrong, ANSWER, "eof"]).await;
    right(&client).await;
    assert!(matches!(client.noise().last[0].reason, NoiseReason::WrongIdType(_)));
}

#[tokio::test]
async fn answers_of_a_wrong_shape_fail_their_call_alone() {
    for (answer, word) in [
        (r#">{"jsonrpc":"2.0","id":$ID,"result":"text"}"#, "object"),
        (r#">{"jsonrpc":"2.0","id":$ID,"result":{"content":"text"}}"#, "sequence"),
        (
            r#">{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"text":"no type"}]}}"#,
            "type",
        ),
    ] {
        let client = met(&["<tools/call", answer, "<tools/call", ANSWER, "eof"]).await;
        let error = client.call("t", &json!({})).await.unwrap_err();
        assert!(
            matches!(&error, CallError::Invalid(why) if why.contains(word)),
            "{answer}: {error:?}"
        );
        right(&client).await;
    }
}

#[tokio::test]
async fn a_command_that_does_not_exist_is_named() {
    let error = Client::spawn("no-such-program-anywhere")
        .connect()
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("no-such-program-anywhere") && error.contains("PATH"),
        "{error}"
    );
}

#[tokio::test]
async fn a_flood_on_stderr_blocks_nothing() {
    let client = met(&["<tools/call", "stderr:10000000", ANSWER, "eof"]).await;
    right(&client).await;
}
