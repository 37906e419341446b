//! The connection state over a network that loses, delays, doubles and reorders, with a fake clock.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;
use trunkline::proto::client::{Answer, Event, NoiseReason, Opening, RequestOptions};
use trunkline::proto::server::{AskError, Change};
use trunkline::proto::{Timeouts, client, server};
use trunkline::types::{
    ElicitParams, ElicitResult, Era, InputRequest, Method, RequestId, Revision, SubscriptionFilter, code,
};
use trunkline_testkit::{Direction, Fault, Pair};

const S: Duration = Duration::from_secs(1);

fn call(pair: &mut Pair) -> RequestId {
    pair.request(Method::CallTool, json!({ "name": "t" }))
}

fn complete(answers: &[&Answer]) -> bool {
    matches!(answers, [Answer::Complete(_)])
}

fn each_revision(test: impl Fn(Revision)) {
    Revision::ALL.into_iter().for_each(test);
}

#[test]
fn every_opening_finds_the_newest_common_revision() {
    let legacy: Vec<Revision> = Revision::ALL.into_iter().filter(|r| r.era() == Era::Legacy).collect();
    let agreed = |opening, offered: &[Revision]| {
        let mut pair = Pair::new(opening, offered);
        pair.advance(10 * S);
        pair.client.agreement().map(|agreed| agreed.profile.revision)
    };
    assert_eq!(agreed(Opening::Auto, &Revision::ALL), Some(Revision::LATEST));
    assert_eq!(agreed(Opening::Auto, &legacy), Some(Revision::LATEST_LEGACY));
    assert_eq!(agreed(Opening::Auto, &[Revision::LATEST]), Some(Revision::LATEST));
    each_revision(|revision| assert_eq!(agreed(Opening::Auto, &[revision]), Some(revision)));
    each_revision(|revision| assert_eq!(agreed(Opening::Fixed(revision), &Revision::ALL), Some(revision)));
    assert_eq!(
        agreed(Opening::Fixed(Revision::LATEST), &legacy),
        None,
        "a fixed revision is never left"
    );
}

#[test]
fn a_lost_probe_is_followed_by_the_handshake() {
    let mut pair = Pair::new(Opening::Auto, &Revision::ALL);
    pair.fault(Direction::ToServer, Fault::Lose);
    pair.advance(2 * S);
    assert!(pair.client.agreement().is_none(), "still waiting for the probe");
    pair.advance(2 * S);
    assert_eq!(pair.client.agreement().map(|a| a.profile.era), Some(Era::Legacy));
}

#[test]
fn a_slow_modern_server_is_not_taken_for_a_legacy_one() {
    let mut pair = Pair::new(Opening::Auto, &Revision::ALL);
    pair.fault(Direction::ToClient, Fault::Delay(4 * S));
    // The answer to `initialize` is slower still.
    pair.fault(Direction::ToClient, Fault::Delay(9 * S));
    pair.advance(20 * S);
    assert_eq!(pair.client.agreement().map(|a| a.profile.era), Some(Era::Modern));
    assert_eq!(
        pair.events
            .iter()
            .filter(|event| matches!(event, Event::Connected))
            .count(),
        1
    );
}

#[test]
fn answers_find_their_requests_in_any_order() {
    each_revision(|revision| {
        let mut pair = Pair::connected(revision);
        let ids: Vec<RequestId> = (0..5).map(|_| call(&mut pair)).collect();
        pair.run();
        for (n, id) in ids.iter().enumerate().rev() {
            pair.finish(id, Ok(json!({ "content": [], "n": n })));
        }
        pair.run();
        for (n, id) in ids.iter().enumerate() {
            let answers = pair.answers(id);
            let [Answer::Complete(result)] = answers.as_slice() else {
                panic!("{answers:?}")
            };
            assert!(result.get().contains(&format!("\"n\":{n}")));
        }
        assert_eq!(pair.client.waiting(), 0);
    });
}

#[test]
fn a_lost_answer_times_out_cancels_and_is_ignored_when_late() {
    each_revision(|revision| {
        let mut pair = Pair::connected(revision);
        let id = call(&mut pair);
        pair.run();
        pair.fault(Direction::ToClient, Fault::Delay(100 * S));
        pair.finish_first(json!({ "content": [] }));
        pair.advance(61 * S);
        assert!(matches!(pair.answers(&id).as_slice(), [Answer::TimedOut]));
        assert!(
            pair.sent
                .iter()
                .any(|(_, message)| message.contains("notifications/cancelled"))
        );
        pair.advance(100 * S);
        assert_eq!(pair.answers(&id).len(), 1, "the late answer is no second one");
        assert!(
            !pair.events.iter().any(|event| matches!(event, Event::Noise(_))),
            "nor is it noise"
        );
    });
}

#[test]
fn progress_extends_the_wait_but_not_without_end() {
    each_revision(|revision| {
        let mut pair = Pair::connected(revision);
        let options = RequestOptions {
            progress: true,
            ..RequestOptions::default()
        };
        let id = pair.request_with(Method::CallTool, json!({ "name": "t" }), &options);
        pair.run();
        for n in 1..20 {
            pair.advance(50 * S);
            let notice = json!({ "jsonrpc": "2.0", "method": "notifications/progress",
                                 "params": { "progressToken": id, "progress": n } });
            pair.client.handle_message(pair.now, notice.to_string().as_bytes());
        }
        let heard = pair
            .events
            .iter()
            .filter(|event| matches!(event, Event::Progress { .. }))
            .count();
        assert!(
            matches!(pair.answers(&id).as_slice(), [Answer::TimedOut]),
            "ten minutes in all"
        );
        assert_eq!(heard, 11, "and nothing is heard after the end");
    });
}

#[test]
fn a_doubled_answer_is_answered_once_and_shown() {
    let mut pair = Pair::connected(Revision::LATEST);
    let id = call(&mut pair);
    pair.run();
    pair.fault(Direction::ToClient, Fault::Double);
    pair.finish_first(json!({ "content": [] }));
    pair.run();
    assert!(complete(&pair.answers(&id)));
    let unknown = |event: &Event| matches!(event, Event::Noise(noise) if noise.reason == NoiseReason::UnknownId);
    assert!(pair.events.iter().any(unknown));
}

#[test]
fn an_id_of_the_wrong_type_does_not_match_and_is_pointed_out() {
    let mut pair = Pair::connected(Revision::LATEST_LEGACY);
    let id = call(&mut pair);
    let wrong = json!({ "jsonrpc": "2.0", "id": id.to_string(), "result": { "content": [] } });
    pair.client.handle_message(pair.now, wrong.to_string().as_bytes());
    pair.run();
    assert!(pair.answers(&id).is_empty());
    let pointed =
        |event: &Event| matches!(event, Event::Noise(noise) if noise.reason == NoiseReason::WrongIdType(id.clone()));
    assert!(pair.events.iter().any(pointed));
}

#[test]
fn a_doubled_request_is_refused_and_leaves_the_first_alone() {
    each_revision(|revision| {
        let mut pair = Pair::connected(revision);
        pair.fault(Direction::ToServer, Fault::Double);
        let id = call(&mut pair);
        pair.run();
        assert_eq!(pair.accepted.len(), 1);
        let refused =
            |answer: &&Answer| matches!(answer, Answer::Refused(error) if error.code == code::INVALID_REQUEST);
        // The client cannot tell which of its two was refused; one answer is all it takes.
        assert!(pair.answers(&id).iter().all(refused));
        pair.finish_first(json!({ "content": [] }));
        pair.run();
        assert_eq!(pair.answers(&id).len(), 1);
    });
}

#[test]
fn cancel_and_answer_may_cross() {
    each_revision(|revision| {
        let mut pair = Pair::connected(revision);
        let id = call(&mut pair);
        pair.run();
        pair.client.cancel(&id, "changed my mind");
        pair.finish_first(json!({ "content": [] }));
        pair.run();
        assert!(pair.answers(&id).is_empty(), "a cancelled request is not answered");
        assert!(pair.cancelled.is_empty(), "and its notice came too late");
        // The same id, cancelled before it was ever used, does no harm (C-33).
        for unknown in [json!(77), json!("9"), json!(null), json!(1.5)] {
            pair.inject(
                &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": unknown } })
                    .to_string(),
            );
        }
        let next = call(&mut pair);
        pair.run();
        pair.finish_first(json!({ "content": [] }));
        pair.run();
        assert!(complete(&pair.answers(&next)));
    });
}

#[test]
fn cancelled_work_is_forgotten() {
    each_revision(|revision| {
        let mut pair = Pair::connected(revision);
        let id = call(&mut pair);
        pair.run();
        pair.client.cancel(&id, "changed my mind");
        pair.run();
        assert_eq!(pair.cancelled, std::slice::from_ref(&id));
        assert_eq!(pair.server.in_flight(), 0);
        pair.finish(&id, Ok(json!({ "content": [] })));
        assert!(pair.server.poll_transmit().is_none(), "no answer leaves for it");
    });
}

#[test]
fn initialize_cannot_be_cancelled() {
    let mut pair = Pair::new(Opening::Fixed(Revision::LATEST_LEGACY), &Revision::ALL);
    pair.client.cancel(&RequestId::from(1), "never mind");
    pair.run();
    assert!(pair.client.agreement().is_some());
}

#[test]
fn a_legacy_server_asks_and_its_client_answers_or_does_not() {
    let ask = InputRequest::Elicit(ElicitParams::form(
        "Sure?",
        json!({ "type": "object", "properties": {} }),
    ));
    let mut pair = Pair::connected(Revision::LATEST_LEGACY);
    pair.ask(&ask, Timeouts::fixed(30 * S));
    pair.run();
    let asked = pair.events.iter().find_map(|event| match event {
        Event::Asked { id, request } => Some((id.clone(), request.clone())),
        _ => None,
    });
    let (id, request) = asked.expect("the client was asked");
    assert_eq!(request, ask);
    pair.client.answer(
        pair.now,
        &id,
        Ok(serde_json::to_value(ElicitResult::decline()).unwrap()),
    );
    pair.run();
    assert_eq!(pair.answered, [Ok(json!({ "action": "decline" }))]);

    pair.ask(&ask, Timeouts::fixed(30 * S));
    pair.advance(31 * S);
    assert_eq!(pair.answered[1], Err(AskError::TimedOut));
    assert!(
        pair.events
            .iter()
            .any(|event| matches!(event, Event::AskWithdrawn { .. }))
    );
}

/// A person may think for longer than a call may take: while the server waits for the answer, the call is not late.
#[test]
fn the_wait_stands_still_while_the_server_waits_for_an_answer() {
    let ask = InputRequest::Elicit(ElicitParams::form(
        "Sure?",
        json!({ "type": "object", "properties": {} }),
    ));
    let mut pair = Pair::connected(Revision::LATEST_LEGACY);
    let id = call(&mut pair);
    pair.run();
    pair.advance(50 * S);
    pair.ask(&ask, Timeouts::fixed(10_000 * S));
    pair.advance(300 * S);
    let asked = pair.events.iter().find_map(|event| match event {
        Event::Asked { id, .. } => Some(id.clone()),
        _ => None,
    });
    pair.client.answer(
        pair.now,
        &asked.expect("the client was asked"),
        Ok(json!({ "action": "cancel" })),
    );
    pair.advance(9 * S);
    assert!(pair.answers(&id).is_empty(), "ten seconds of its minute are left");
    pair.advance(3 * S);
    assert!(
        matches!(pair.answers(&id).as_slice(), [Answer::TimedOut]),
        "and then it is late"
    );

    // A server that asks and never takes the answer holds nobody up for ever.
    let id = call(&mut pair);
    pair.run();
    pair.ask(&ask, Timeouts::fixed(100_000 * S));
    pair.advance(1799 * S);
    assert!(pair.answers(&id).is_empty());
    pair.advance(70 * S);
    assert!(matches!(pair.answers(&id).as_slice(), [Answer::TimedOut]));
}

#[test]
fn modern_servers_must_not_send_requests() {
    let mut pair = Pair::connected(Revision::LATEST);
    let before = pair.sent.len();
    pair.client
        .handle_message(pair.now, br#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#);
    pair.run();
    assert_eq!(pair.sent.len(), before, "such a request is not answered");
    assert!(matches!(pair.events.as_slice(), [Event::Noise(noise)] if noise.reason == NoiseReason::UnexpectedRequest));
}

#[test]
fn changes_reach_whoever_asked_for_them() {
    let uri = "file:///a".to_owned();
    let mut legacy = Pair::connected(Revision::LATEST_LEGACY);
    legacy.request(Method::Subscribe, json!({ "uri": uri }));
    legacy.run();
    let mut modern = Pair::connected(Revision::LATEST);
    let filter = SubscriptionFilter {
        tools_list_changed: Some(true),
        resource_subscriptions: Some(vec![uri.clone()]),
        ..SubscriptionFilter::default()
    };
    let stream = modern.request(Method::Listen, json!({ "notifications": filter }));
    modern.run();
    assert!(
        matches!(modern.events.as_slice(), [Event::Listening { id, .. }] if *id == stream),
        "acknowledged first"
    );
    for pair in [&mut legacy, &mut modern] {
        pair.events.clear();
        for change in [
            Change::Tools,
            Change::Prompts,
            Change::Resource(uri.clone()),
            Change::Resource("file:///b".into()),
        ] {
            pair.server.publish(&change);
        }
        pair.run();
    }
    let heard = |pair: &Pair| -> Vec<(Method, Option<RequestId>)> {
        let notice = |event: &Event| match event {
            Event::Notice {
                method, subscription, ..
            } => Some((*method, subscription.clone())),
            _ => None,
        };
        pair.events.iter().filter_map(notice).collect()
    };
    let both = [
        Method::ToolsChanged,
        Method::PromptsChanged,
        Method::ResourceUpdatedNotice,
    ]
    .map(|method| (method, None));
    assert_eq!(heard(&legacy), both, "legacy lists are announced to everybody");
    let chosen = [Method::ToolsChanged, Method::ResourceUpdatedNotice].map(|method| (method, Some(stream.clone())));
    assert_eq!(heard(&modern), chosen, "modern ones only to who asked");
    modern.server.close_streams();
    modern.run();
    assert!(complete(&modern.answers(&stream)), "a server that goes says goodbye");
}

#[test]
fn the_end_of_the_connection_ends_every_wait() {
    each_revision(|revision| {
        let mut pair = Pair::connected(revision);
        let ids = [call(&mut pair), call(&mut pair)];
        pair.client.handle_end();
        pair.run();
        for id in &ids {
            assert!(matches!(pair.answers(id).as_slice(), [Answer::Lost]));
        }
    });
}

#[test]
fn batches_are_answered_together_where_they_exist() {
    let batch = json!([
        { "jsonrpc": "2.0", "id": 71, "method": "ping" },
        { "jsonrpc": "2.0", "id": 72, "method": "tools/call", "params": { "name": "t" } },
        { "jsonrpc": "2.0", "method": "notifications/initialized" },
        { "jsonrpc": "2.0", "id": null, "method": "ping" },
        { "jsonrpc": "2.0", "id": 73, "method": "no/such" },
    ]);
    for revision in Revision::ALL.into_iter().filter(|r| r.era() == Era::Legacy) {
        let mut pair = Pair::connected(revision);
        pair.sent.clear();
        pair.inject(&batch.to_string());
        if revision.profile().batches {
            assert!(pair.sent.is_empty(), "one answer is still missing");
            pair.finish_first(json!({ "content": [] }));
            let answers: Vec<serde_json::Value> = serde_json::from_str(&pair.sent[0].1).unwrap();
            let ids: Vec<_> = answers.iter().map(|answer| answer["id"].clone()).collect();
            assert_eq!(ids, [json!(71), json!(null), json!(73), json!(72)]);
        } else {
            assert!(pair.sent[0].1.contains("-32600"), "{revision}: {:?}", pair.sent);
            assert!(pair.accepted.is_empty());
        }
    }
}

#[test]
fn a_cancel_inside_of_a_batch_loses_no_other_answer() {
    let call = |id: u32| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "t" } });
    let ping = |id: u32| json!({ "jsonrpc": "2.0", "id": id, "method": "ping" });
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } });
    let mut pair = Pair::connected(Revision::V2025_03_26);
    pair.sent.clear();
    pair.inject(&json!([call(1), ping(7), cancel, ping(8), call(9)]).to_string());
    assert_eq!(
        pair.accepted.len(),
        1,
        "what is cancelled in its own batch is not started"
    );
    assert!(pair.sent.is_empty());
    pair.finish_first(json!({ "content": [] }));
    let answers: Vec<serde_json::Value> = serde_json::from_str(&pair.sent[0].1).unwrap();
    let ids: Vec<_> = answers.iter().map(|answer| answer["id"].clone()).collect();
    assert_eq!(ids, [json!(7), json!(8), json!(9)]);
    assert_eq!((pair.sent.len(), pair.server.in_flight()), (1, 0));
}

/// What is left of one batch does not leave with another one, and an id is free once its request was cancelled.
#[test]
fn a_batch_may_cancel_what_another_one_asked_for() {
    let call = |id: u32| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "t" } });
    let ping = |id: u32| json!({ "jsonrpc": "2.0", "id": id, "method": "ping" });
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } });
    let mut pair = Pair::connected(Revision::V2025_03_26);
    pair.sent.clear();
    pair.inject(&json!([call(1), ping(2)]).to_string());
    pair.inject(&json!([ping(3), cancel, call(1)]).to_string());
    assert_eq!(
        pair.accepted.len(),
        1,
        "the new one is started, the old one is forgotten"
    );
    pair.finish_first(json!({ "content": [] }));
    let ids = |sent: &str| -> Vec<serde_json::Value> {
        let answers: Vec<serde_json::Value> = serde_json::from_str(sent).unwrap();
        answers.iter().map(|answer| answer["id"].clone()).collect()
    };
    let sent: Vec<_> = pair.sent.iter().map(|(_, sent)| ids(sent)).collect();
    assert_eq!(sent, [vec![json!(2)], vec![json!(3), json!(1)]]);
    assert_eq!(pair.server.in_flight(), 0);
}

#[test]
fn a_request_that_names_its_version_is_no_part_of_a_batch() {
    let mut pair = Pair::connected(Revision::V2025_03_26);
    pair.sent.clear();
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": Revision::LATEST.name(),
        "io.modelcontextprotocol/clientCapabilities": {} });
    let params = json!({ "_meta": meta, "notifications": { "toolsListChanged": true } });
    let listen = json!({ "jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params });
    pair.inject(&json!([listen]).to_string());
    let answers: serde_json::Value = serde_json::from_str(&pair.sent[0].1).unwrap();
    assert_eq!((pair.sent.len(), &answers[0]["error"]["code"]), (1, &json!(-32600)));
    assert_eq!((pair.server.in_flight(), pair.server.streams()), (0, 0));
}

/// A broken answer to a server's question ends the question at once, and is not answered itself.
#[test]
fn broken_answers_end_their_question() {
    let ask = InputRequest::Elicit(ElicitParams::form(
        "Sure?",
        json!({ "type": "object", "properties": {} }),
    ));
    for (broken, why) in [
        (r#"{"jsonrpc":"2.0","id":ID,"error":"no"}"#, "error"),
        (r#"{"id":ID,"result":{}}"#, "jsonrpc"),
        (r#"{"jsonrpc":"2.0","id":"ID","result":{}}"#, "type"),
    ] {
        let mut pair = Pair::connected(Revision::LATEST_LEGACY);
        pair.ask(&ask, Timeouts::fixed(600 * S));
        let id = serde_json::from_str::<serde_json::Value>(&pair.sent.last().unwrap().1).unwrap()["id"].to_string();
        pair.sent.clear();
        pair.inject(&broken.replace("ID", &id));
        let [Err(AskError::Unusable(seen))] = pair.answered.as_slice() else {
            panic!("{broken}: {:?}", pair.answered)
        };
        assert!(seen.contains(why), "{broken}: {seen}");
        assert!(pair.sent.is_empty(), "an answer is not answered: {:?}", pair.sent);
    }
}

/// A broken answer that names a request fails it at once instead of by its timeout.
#[test]
fn broken_answers_fail_their_request_at_once() {
    for broken in [
        r#"{"jsonrpc":"2.0","id":ID,"error":"boom"}"#,
        r#"{"id":ID,"result":{}}"#,
    ] {
        let mut pair = Pair::connected(Revision::LATEST);
        let id = call(&mut pair);
        pair.client
            .handle_message(pair.now, broken.replace("ID", &id.to_string()).as_bytes());
        pair.run();
        assert!(
            matches!(pair.answers(&id).as_slice(), [Answer::Invalid(_)]),
            "{broken}: {:?}",
            pair.answers(&id)
        );
    }
}

#[test]
fn what_is_too_long_is_answered_by_what_its_beginning_tells() {
    let ask = InputRequest::Elicit(ElicitParams::form(
        "Sure?",
        json!({ "type": "object", "properties": {} }),
    ));
    let mut pair = Pair::connected(Revision::LATEST_LEGACY);
    pair.ask(&ask, Timeouts::fixed(600 * S));
    pair.run();
    pair.server.handle_too_long(
        pair.now,
        100,
        br#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"aaa"#,
    );
    let refused = String::from_utf8(pair.server.poll_transmit().unwrap()).unwrap();
    assert!(refused.contains("\"id\":5") && refused.contains("-32600"), "{refused}");
    let incoming = pair
        .server
        .handle_too_long(pair.now, 100, br#"{"jsonrpc":"2.0","id":1,"result":{"aaa"#);
    assert!(
        matches!(incoming, server::Incoming::Answered(_, Err(AskError::Unusable(_)))),
        "{incoming:?}"
    );
    assert!(pair.server.poll_transmit().is_none());
}

#[test]
fn streams_take_no_room_from_requests_and_addresses_are_bounded() {
    let mut config = server::Config::new("s", "1");
    (config.limits.in_flight, config.limits.subscriptions) = (1, 3);
    config.capabilities = serde_json::from_value(json!({ "tools": {}, "resources": { "subscribe": true } })).unwrap();
    let mut client = client::Config::new("c", "1");
    client.opening = Opening::Fixed(Revision::LATEST);
    let mut pair = Pair::with_configs(client, config);
    pair.run();
    let listen = |pair: &mut Pair, uris: &[&str]| {
        let id = pair.request(
            Method::Listen,
            json!({ "notifications": { "resourceSubscriptions": uris } }),
        );
        pair.run();
        pair.answers(&id).is_empty()
    };
    assert!(listen(&mut pair, &["a:1", "a:2"]), "open");
    assert!(!listen(&mut pair, &["a:3", "a:4"]), "four addresses are too many");
    assert!(listen(&mut pair, &["a:3"]));
    assert!(!listen(&mut pair, &["a:4"]));
    let mut other = Pair::connected(Revision::LATEST);
    assert!(listen(&mut other, &["a".repeat(server::MAX_ADDRESS).as_str()]));
    assert!(!listen(&mut other, &["a".repeat(server::MAX_ADDRESS + 1).as_str()]));
    // What one connection watches is bounded as a whole too.
    let long = "a".repeat(server::MAX_ADDRESS);
    let rest = server::MAX_WATCHED / server::MAX_ADDRESS - 1;
    let mut third = Pair::connected(Revision::LATEST);
    assert!(listen(&mut third, &vec![long.as_str(); rest]));
    assert!(!listen(&mut third, &[long.as_str(), "a"]), "a byte too many");
    assert!(listen(&mut third, &[long.as_str()]));
    let mut legacy = Pair::connected(Revision::LATEST_LEGACY);
    let mut watch = |uri: &str| {
        let id = legacy.request(Method::Subscribe, json!({ "uri": uri }));
        legacy.run();
        let answers = legacy.answers(&id);
        matches!(answers[..], [Answer::Complete(_)])
    };
    for n in 0..=rest {
        let uri = format!("{n:02}{}", "a".repeat(server::MAX_ADDRESS - 2));
        assert!(watch(&uri) && watch(&uri), "what is watched already takes no more room");
    }
    assert!(!watch("a"), "a byte too many");
    let id = call(&mut pair);
    pair.run();
    assert_eq!(
        (pair.accepted.len(), pair.answers(&id).len()),
        (1, 0),
        "two streams leave room for the one request"
    );
}

#[test]
fn after_a_gap_everything_counts_as_changed() {
    let mut pair = Pair::connected(Revision::LATEST_LEGACY);
    pair.request(Method::Subscribe, json!({ "uri": "file:///a" }));
    pair.run();
    pair.events.clear();
    pair.server.publish_all();
    pair.run();
    assert_eq!(
        pair.events.len(),
        4,
        "three lists and one watched resource: {:?}",
        pair.events
    );
}

#[test]
fn a_batch_is_bounded() {
    for (messages, refused) in [(100, false), (101, true)] {
        let mut pair = Pair::connected(Revision::V2025_03_26);
        pair.sent.clear();
        let batch: Vec<_> = (0..messages)
            .map(|n| json!({ "jsonrpc": "2.0", "id": n, "method": "ping" }))
            .collect();
        pair.inject(&json!(batch).to_string());
        assert_eq!(pair.sent[0].1.contains("-32600"), refused, "{messages}");
    }
}

#[test]
fn work_in_flight_is_bounded() {
    let mut config = server::Config::new("s", "1");
    config.limits.in_flight = 2;
    config.capabilities.tools = Some(trunkline::types::ListCapability::default());
    let mut client = client::Config::new("c", "1");
    client.opening = Opening::Fixed(Revision::LATEST);
    let mut pair = Pair::with_configs(client, config);
    pair.run();
    let ids: Vec<RequestId> = (0..3).map(|_| call(&mut pair)).collect();
    pair.run();
    assert_eq!(pair.accepted.len(), 2);
    assert!(matches!(pair.answers(&ids[2]).as_slice(), [Answer::Refused(error)] if error.code == code::INTERNAL_ERROR));
    pair.finish_first(json!({ "content": [] }));
    let next = call(&mut pair);
    pair.run();
    assert_eq!(
        (pair.accepted.len(), pair.answers(&next).len()),
        (2, 0),
        "there is room again"
    );
}

#[test]
fn modern_requests_carry_all_they_need() {
    let mut pair = Pair::connected(Revision::LATEST);
    let meta = |version: &str, capabilities: bool| {
        let mut meta = json!({ "io.modelcontextprotocol/protocolVersion": version });
        if capabilities {
            meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
        }
        meta
    };
    for (meta, expected) in [
        (meta("2026-07-28", false), "-32602"),
        (meta("1900-01-01", true), "-32022"),
        (meta("2025-11-25", true), "-32022"),
        (json!({}), "-32602"),
    ] {
        pair.sent.clear();
        pair.inject(
            &json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": { "_meta": meta } }).to_string(),
        );
        assert!(pair.sent[0].1.contains(expected), "{meta}: {:?}", pair.sent);
    }
    pair.sent.clear();
    pair.inject(
        &json!({ "jsonrpc": "2.0", "id": 1, "method": "ping", "params": { "_meta": meta("2026-07-28", true) } })
            .to_string(),
    );
    assert!(pair.sent[0].1.contains("-32601"), "a removed method is unknown");
}

#[test]
fn one_connection_serves_both_eras_at_once() {
    let mut pair = Pair::connected(Revision::LATEST_LEGACY);
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} });
    pair.inject(
        &json!({ "jsonrpc": "2.0", "id": "m", "method": "tools/call", "params": { "name": "t", "_meta": meta } })
            .to_string(),
    );
    call(&mut pair);
    pair.run();
    assert_eq!(pair.accepted.len(), 2);
}

#[derive(Debug, Clone)]
enum Op {
    Call,
    Cancel(usize),
    Finish(usize),
    Fail(usize),
    Fault(bool, u8),
    Wait(u16),
    Noise(Vec<u8>),
    Publish,
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        4 => Just(Op::Call),
        1 => (0..8_usize).prop_map(Op::Cancel),
        3 => (0..8_usize).prop_map(Op::Finish),
        1 => (0..8_usize).prop_map(Op::Fail),
        2 => (any::<bool>(), any::<u8>()).prop_map(|(way, kind)| Op::Fault(way, kind)),
        3 => any::<u16>().prop_map(Op::Wait),
        1 => proptest::collection::vec(any::<u8>(), 0..40).prop_map(Op::Noise),
        1 => Just(Op::Publish),
    ];
    proptest::collection::vec(op, 0..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever happens, every request gets exactly one answer in the end, unless its sender gave it up.
    #[test]
    fn every_request_gets_exactly_one_answer(revision in 0..5_usize, ops in ops()) {
        let mut pair = Pair::connected(Revision::ALL[revision]);
        let mut ids = Vec::new();
        let mut given_up = Vec::new();
        for op in ops {
            match op {
                Op::Call => ids.push(call(&mut pair)),
                Op::Cancel(n) => if let Some(id) = ids.get(n) {
                    if pair.answers(id).is_empty() && !given_up.contains(id) {
                        given_up.push(id.clone());
                    }
                    pair.client.cancel(id, "test");
                },
                Op::Finish(n) | Op::Fail(n) if n >= pair.accepted.len() => {}
                Op::Finish(n) => {
                    let (id, _) = pair.accepted.remove(n);
                    pair.finish(&id, Ok(json!({ "content": [] })));
                }
                Op::Fail(n) => {
                    let (id, _) = pair.accepted.remove(n);
                    pair.finish(&id, Err(trunkline::types::ErrorObject::internal("no")));
                }
                Op::Fault(way, kind) => {
                    let fault = match kind % 3 { 0 => Fault::Lose, 1 => Fault::Double, _ => Fault::Delay(S * kind.into()) };
                    pair.fault(if way { Direction::ToServer } else { Direction::ToClient }, fault);
                }
                Op::Wait(ms) => pair.advance(Duration::from_millis(ms.into())),
                Op::Noise(bytes) => {
                    let now = pair.now;
                    pair.client.handle_message(now, &bytes);
                    pair.server.handle_message(now, &bytes);
                }
                Op::Publish => pair.server.publish(&Change::Tools),
            }
        }
        pair.advance(700 * S);
        for id in &ids {
            let expected = usize::from(!given_up.contains(id));
            prop_assert_eq!(pair.answers(id).len(), expected, "request {}", id);
        }
        prop_assert_eq!(pair.client.waiting(), 0);
    }
}
