//! Servers that are programs, written in shell.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use trunkline_client::types::Era;
use trunkline_client::{CallError, Client, Command, ConnectError, HandshakeError, Tap, TransportError};
use trunkline_transport::{Direction, TransportErrorKind};

const INITIALIZED: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"shell","version":"1"}}}"#;

/// Hears everything.
#[derive(Default)]
struct Heard {
    messages: Mutex<Vec<(Direction, String)>>,
    stderr: Mutex<Vec<String>>,
}

impl Heard {
    fn sent(&self) -> Vec<String> {
        let messages = self.messages.lock().unwrap();
        messages
            .iter()
            .filter(|(direction, _)| *direction == Direction::Sent)
            .map(|(_, message)| message.clone())
            .collect()
    }
}

impl Tap for Heard {
    fn message(&self, direction: Direction, message: &[u8]) {
        let message = String::from_utf8_lossy(message).into_owned();
        self.messages.lock().unwrap().push((direction, message));
    }

    fn stderr(&self, line: &[u8]) {
        self.stderr
            .lock()
            .unwrap()
            .push(String::from_utf8_lossy(line).into_owned());
    }
}

/// A shell script as a server. The name makes its command line its own.
fn script(name: &str, script: &str) -> Command {
    Command::new("sh").arg("-c").arg(script).arg(name)
}

#[tokio::test]
async fn a_server_that_dies_of_the_probe_is_started_again_and_remembered() {
    // It ends unless the first message is `initialize`.
    let dies = format!(
        r#"read first; case "$first" in *'"initialize"'*) ;; *) echo 'what is that?' >&2; exit 3;; esac
        echo '{INITIALIZED}'; read initialized; while read line; do :; done"#
    );
    let command = script("dies of the probe", &dies);
    let heard = Arc::new(Heard::default());
    let client = Client::command(command.clone())
        .tap(heard.clone())
        .connect()
        .await
        .unwrap();
    assert_eq!(client.agreement().profile.era, Era::Legacy);
    assert_eq!(client.agreement().server.name, "shell");
    client.close().await;
    let sent = heard.sent();
    assert!(
        sent[0].contains("server/discover") && sent[1].contains("\"initialize\""),
        "{sent:?}"
    );
    assert_eq!(*heard.stderr.lock().unwrap(), ["what is that?"]);

    let heard = Arc::new(Heard::default());
    let client = Client::command(command).tap(heard.clone()).connect().await.unwrap();
    client.close().await;
    assert!(
        heard.sent()[0].contains("\"initialize\""),
        "the second time it is not probed: {:?}",
        heard.sent()
    );
}

#[tokio::test]
async fn what_was_remembered_is_forgotten_when_it_is_wrong() {
    let folder = std::env::temp_dir().join(format!("trunkline-client-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let upgraded = folder.join("upgraded");
    let modern = r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}}}"#;
    let refused = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no such method"}}"#;
    let server = format!(
        r#"read first
        case "$first" in
            *'"initialize"'*) if [ -e "$UPGRADED" ]; then echo '{refused}'; else echo '{INITIALIZED}'; fi;;
            *) if [ -e "$UPGRADED" ]; then echo '{modern}'; else exit 3; fi;;
        esac
        while read line; do :; done"#
    );
    let command = script("is upgraded", &server).env("UPGRADED", &upgraded);
    let client = Client::command(command.clone()).connect().await.unwrap();
    assert_eq!(client.agreement().profile.era, Era::Legacy);
    client.close().await;
    std::fs::write(&upgraded, "").unwrap();
    for first in ["\"initialize\"", "server/discover"] {
        let heard = Arc::new(Heard::default());
        let client = Client::command(command.clone())
            .tap(heard.clone())
            .connect()
            .await
            .unwrap();
        assert_eq!(client.agreement().profile.era, Era::Modern);
        client.close().await;
        assert!(heard.sent()[0].contains(first), "{:?}", heard.sent());
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[tokio::test]
async fn a_remembered_server_that_is_silent_is_not_tried_again() {
    let folder = std::env::temp_dir().join(format!("trunkline-client-silent-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let silent = folder.join("silent");
    let server = format!(
        r#"read first; [ -e "$SILENT" ] && while read line; do :; done
        case "$first" in *'"initialize"'*) echo '{INITIALIZED}';; *) exit 3;; esac
        while read line; do :; done"#
    );
    let command = script("falls silent", &server).env("SILENT", &silent);
    Client::command(command.clone()).connect().await.unwrap().close().await;
    std::fs::write(&silent, "").unwrap();
    let heard = Arc::new(Heard::default());
    let connecting = Client::command(command)
        .handshake(Duration::from_millis(200))
        .tap(heard.clone())
        .connect();
    let error = connecting.await.unwrap_err();
    assert!(
        matches!(error, ConnectError::Handshake(HandshakeError::Silent, _)),
        "{error}"
    );
    assert_eq!(heard.sent().len(), 1, "{:?}", heard.sent());
    std::fs::remove_dir_all(&folder).unwrap();
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    let error = Client::spawn("no-such-program-anywhere").connect().await.unwrap_err();
    let ConnectError::Transport(fault) = &error else {
        panic!("{error:?}")
    };
    assert_eq!(TransportError::kind(fault), TransportErrorKind::Spawn);
    assert!(error.to_string().contains("no-such-program-anywhere"), "{error}");
}

#[tokio::test]
async fn a_server_that_only_ends_tells_its_last_words() {
    let heard = Arc::new(Heard::default());
    let command = script("only ends", "echo 'TOKEN is not set' >&2; exit 7");
    let error = Client::command(command).tap(heard.clone()).connect().await.unwrap_err();
    assert!(
        matches!(error, ConnectError::Handshake(HandshakeError::Ended { .. }, Some(_))),
        "{error:?}"
    );
    let shown = error.to_string();
    for part in ["ended before the handshake", "7", "TOKEN is not set", "terminal"] {
        assert!(shown.contains(part), "{shown}");
    }
    assert!(!shown.contains('\n'));
    assert_eq!(heard.stderr.lock().unwrap().len(), 2, "it is started twice and no more");
}

#[tokio::test]
async fn a_server_that_ends_right_after_the_handshake_is_lost() {
    let ends = format!(
        r#"read probe; echo '{{"jsonrpc":"2.0","id":1,"error":{{"code":-32601,"message":"?"}}}}'
        read initialize; echo '{}'; echo 'out of memory' >&2; exit 9"#,
        INITIALIZED.replace("\"id\":1", "\"id\":2")
    );
    let client = Client::command(script("ends after the handshake", &ends))
        .connect()
        .await
        .unwrap();
    let error = client.call("t", &json!({})).await.unwrap_err();
    let (CallError::Lost { diagnosis } | CallError::Closed { diagnosis }) = &error else {
        panic!("C-07: {error:?}")
    };
    assert!(diagnosis.as_ref().unwrap().contains("out of memory"), "{error}");
    let why = client.closed().await.unwrap();
    assert!(why.contains('9') && why.contains("out of memory"), "{why}");
    let later = client.call("t", &json!({})).await.unwrap_err();
    assert!(
        matches!(&later, CallError::Closed { diagnosis: Some(again) } if *again == why),
        "{later}"
    );
}

#[tokio::test]
async fn closing_shuts_the_program_down() {
    let stubborn = r#"trap '' TERM
        read probe; echo '{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}}}'
        echo "pid $$" >&2
        while :; do sleep 1; done"#;
    let heard = Arc::new(Heard::default());
    let command = script("is stubborn", stubborn)
        .close_wait(Duration::from_millis(50))
        .terminate_wait(Duration::from_millis(50));
    let client = Client::command(command).tap(heard.clone()).connect().await.unwrap();
    client.close().await;
    let pid = heard.stderr.lock().unwrap()[0].replace("pid ", "");
    assert!(
        !std::path::Path::new("/proc").join(&pid).exists() || !cfg!(target_os = "linux"),
        "{pid} is left"
    );
}
