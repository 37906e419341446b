//! Requests that have no answer on a connection that goes on.

use std::time::Duration;

use trunkline_types::{Extra, Method, Revision};

use super::*;

const NOW: Duration = Duration::ZERO;

fn connection(opening: Opening) -> Connection {
    let config = Config {
        opening,
        ..Config::new("tester", "1")
    };
    Connection::new(config, NOW)
}

fn undelivered(may_have_run: bool, status: Option<u16>) -> Undelivered {
    Undelivered {
        may_have_run,
        status,
        why: "no".to_owned(),
    }
}

/// The method and the id of the next message.
fn sent(connection: &mut Connection) -> Option<(String, RequestId)> {
    let message = connection.poll_transmit()?;
    let Ok(Message::Request { id, method, .. }) = Message::parse(&message) else {
        return None;
    };
    Some((method.into_owned(), id))
}

#[test]
fn a_probe_without_an_answer_leads_to_the_handshake_where_that_may_help() {
    for (may_have_run, status, helps) in [
        (false, Some(400), true),
        (false, Some(404), true),
        (false, Some(405), true),
        (true, Some(500), true),
        (true, None, true),
        (false, None, false),
        (false, Some(401), false),
        (false, Some(403), false),
    ] {
        let mut connection = connection(Opening::Auto);
        let (_, probe) = sent(&mut connection).unwrap();
        connection.handle_undelivered(NOW, &probe, undelivered(may_have_run, status));
        let next = sent(&mut connection).map(|(method, _)| method);
        assert_eq!(next.as_deref(), helps.then_some("initialize"), "{status:?}");
        let failed = matches!(
            connection.poll_event(),
            Some(Event::ConnectFailed(ConnectError::Undelivered(_)))
        );
        assert_eq!(failed, !helps, "{status:?}");
    }
}

#[test]
fn a_fixed_opening_is_not_left_and_neither_is_the_handshake() {
    for revision in [Revision::LATEST, Revision::LATEST_LEGACY] {
        let mut connection = connection(Opening::Fixed(revision));
        let (_, first) = sent(&mut connection).unwrap();
        connection.handle_undelivered(NOW, &first, undelivered(false, Some(404)));
        assert_eq!(sent(&mut connection), None);
        let event = connection.poll_event();
        assert!(
            matches!(event, Some(Event::ConnectFailed(ConnectError::Undelivered(_)))),
            "{event:?}"
        );
    }
}

#[test]
fn a_call_fails_alone_and_only_while_it_waits() {
    let mut connection = connection(Opening::Auto);
    let (_, probe) = sent(&mut connection).unwrap();
    let latest = Revision::LATEST.name();
    let discovered = format!(
        r#"{{"jsonrpc":"2.0","id":{probe},"result":{{"supportedVersions":["{latest}"],"capabilities":{{"tools":{{}}}}}}}}"#
    );
    connection.handle_message(NOW, discovered.as_bytes());
    assert!(matches!(connection.poll_event(), Some(Event::Connected)));
    let mut call = || {
        let options = RequestOptions::default();
        connection
            .request(NOW, Method::ListTools, &Extra::new(), &options)
            .unwrap()
    };
    let (first, second) = (call(), call());
    connection.handle_undelivered(NOW, &first, undelivered(true, None));
    let Some(Event::Answered { id, answer }) = connection.poll_event() else {
        panic!("an answer")
    };
    assert!(id == first && matches!(answer, Answer::Undelivered(why) if why.may_have_run));
    connection.handle_undelivered(NOW, &first, undelivered(true, None));
    connection.handle_undelivered(NOW, &99.into(), undelivered(true, None));
    assert!(connection.poll_event().is_none());
    let answer = format!(r#"{{"jsonrpc":"2.0","id":{second},"result":{{"tools":[]}}}}"#);
    connection.handle_message(NOW, answer.as_bytes());
    assert!(matches!(
        connection.poll_event(),
        Some(Event::Answered {
            answer: Answer::Complete(_),
            ..
        })
    ));
}

#[test]
fn a_warning_is_set_aside_with_the_noise() {
    let mut connection = connection(Opening::Auto);
    connection.handle_warning("the server has no stream");
    let Some(Event::Noise(noise)) = connection.poll_event() else {
        panic!("noise")
    };
    assert_eq!(
        (noise.reason, noise.text.as_str()),
        (NoiseReason::Transport, "the server has no stream")
    );
}
