//! Answers that cannot be read, and questions of a server that forgot the connection.

use std::time::Duration;

use trunkline_types::{Extra, Method, Revision};

use super::*;

const NOW: Duration = Duration::ZERO;

fn opened(opening: Opening) -> Connection {
    let mut config = Config::new("tester", "1");
    config.opening = opening;
    config.capabilities = serde_json::from_value(serde_json::json!({ "roots": {} })).unwrap();
    Connection::new(config, NOW)
}

fn legacy(revision: Revision) -> Connection {
    let mut connection = opened(Opening::Fixed(revision));
    let version = revision.name();
    let result = format!(
        r#"{{"protocolVersion":"{version}","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"s","version":"1"}}}}"#
    );
    let answer = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#);
    connection.handle_message(NOW, answer.as_bytes());
    assert!(matches!(connection.poll_event(), Some(Event::Connected)));
    while connection.poll_transmit().is_some() {}
    connection
}

fn call(connection: &mut Connection) -> RequestId {
    let options = RequestOptions::default();
    connection
        .request(NOW, Method::ListTools, &Extra::new(), &options)
        .unwrap()
}

#[test]
fn a_call_whose_answer_cannot_be_read_fails_at_once() {
    for answer in [
        r#"{"jsonrpc":"2.0","id":ID,"result":{"tools":[}}"#,
        r#"{"jsonrpc":"2.0","id":ID,"result":{"tools":[]"#,
        r#"{"jsonrpc":"2.0","id":ID,"result":{},"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":ID,"error":nothing}"#,
        r#"{"jsonrpc":"2.0","id":ID,"result":{},"method":"x"}"#,
        r#"[{"jsonrpc":"2.0","id":ID,"result":{}}]"#,
        r#"[{"jsonrpc":"2.0","method":"x"},{"jsonrpc":"2.0","id":ID,"result":{}}]"#,
    ] {
        let mut connection = legacy(Revision::LATEST_LEGACY);
        let id = call(&mut connection);
        let answer = answer.replace("ID", &id.to_string());
        connection.handle_message(NOW, answer.as_bytes());
        let events: Vec<Event> = std::iter::from_fn(|| connection.poll_event()).collect();
        let failed =
            |event: &Event| matches!(event, Event::Answered { id: of, answer: Answer::Invalid(_) } if *of == id);
        assert_eq!(
            events.iter().filter(|event| failed(event)).count(),
            1,
            "{answer}: {events:?}"
        );
        assert_eq!(connection.waiting(), 0, "{answer}");
    }
}

#[test]
fn what_is_broken_and_no_answer_fails_nothing() {
    for noise in [
        r#"{"jsonrpc":"2.0","id":ID,"method":"x","result":[}"#,
        r#"{"jsonrpc":"2.0","id":ID,"method":"x","result":{}}"#,
        r#"{"error":null,"id":ID,"jsonrpc":"2.0","method":"x","params":null,"result":null}"#,
        r#"{"jsonrpc":"2.0","id":ID,"params":[}"#,
        r#"{"jsonrpc":"2.0","id":"ID","result":[}"#,
        r#"[{"jsonrpc":"2.0","id":ID,"method":"x"}]"#,
    ] {
        let mut connection = legacy(Revision::LATEST_LEGACY);
        let id = call(&mut connection);
        connection.handle_message(NOW, noise.replace("ID", &id.to_string()).as_bytes());
        assert!(matches!(connection.poll_event(), Some(Event::Noise(_))), "{noise}");
        assert_eq!(
            (connection.poll_event().is_none(), connection.waiting()),
            (true, 1),
            "{noise}"
        );
    }
}

#[test]
fn a_handshake_whose_answer_cannot_be_read_ends_at_once() {
    let broken = br#"{"jsonrpc":"2.0","id":1,"result":{]}"#;
    let mut connection = opened(Opening::Fixed(Revision::LATEST_LEGACY));
    connection.handle_message(NOW, broken);
    let event = connection.poll_event();
    assert!(
        matches!(event, Some(Event::ConnectFailed(ConnectError::Invalid(_)))),
        "{event:?}"
    );

    let mut connection = opened(Opening::Auto);
    while connection.poll_transmit().is_some() {}
    connection.handle_message(NOW, broken);
    let next = connection
        .poll_transmit()
        .expect("a probe that fails leads to the handshake");
    assert!(matches!(Message::parse(&next), Ok(Message::Request { method, .. }) if method == "initialize"));
}

#[test]
fn a_server_that_forgot_the_connection_is_not_told_what_it_asked_before() {
    let mut connection = legacy(Revision::LATEST_LEGACY);
    let question = br#"{"jsonrpc":"2.0","id":7,"method":"roots/list"}"#;
    connection.handle_message(NOW, question);
    assert!(matches!(connection.poll_event(), Some(Event::Asked { .. })));
    connection.handle_renewed(NOW);
    assert!(matches!(connection.poll_event(), Some(Event::AskWithdrawn { id }) if id == 7.into()));
    connection.answer(NOW, &7.into(), Ok(Value::Null));
    assert!(connection.poll_transmit().is_none());
    // It counts from the start again.
    connection.handle_message(NOW, question);
    assert!(matches!(connection.poll_event(), Some(Event::Asked { id, .. }) if id == 7.into()));
}
