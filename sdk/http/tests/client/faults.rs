//! What goes wrong fails one request, and says whether that may have run.

use std::time::Duration;

use serde_json::json;
use tokio::io::AsyncWriteExt;
use trunkline_http::client::{Proxies, Remote};
use trunkline_transport::Received;

use crate::server::{Server, bind};
use crate::wire::Wire;

fn call(wire: &mut Wire) {
    wire.ask(1, "tools/call", json!({ "name": "x" }));
}

#[tokio::test]
async fn a_server_that_is_not_there_ran_nothing() {
    let socket = bind().await;
    let address = socket.local_addr().unwrap();
    drop(socket);
    for url in [
        format!("http://{address}/mcp"),
        "http://no-such-host.invalid/mcp".to_owned(),
        format!("https://{address}/mcp"),
    ] {
        let mut wire = Wire::open(&Remote::new(&url).proxies(Proxies::Direct));
        call(&mut wire);
        let failed = wire.failed().await;
        assert!(!failed.may_have_run && failed.status.is_none(), "{failed:?}");
        assert!(failed.why.contains("cannot be reached"), "{failed:?}");
    }
}

#[tokio::test]
async fn tls_to_a_server_without_it_ran_nothing() {
    let socket = bind().await;
    let url = format!("https://{}/mcp", socket.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut stream, _) = socket.accept().await.unwrap();
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
    });
    let mut wire = Wire::open(&Remote::new(url));
    call(&mut wire);
    let failed = wire.failed().await;
    assert!(
        !failed.may_have_run && failed.why.contains("cannot be reached"),
        "{failed:?}"
    );
}

#[tokio::test]
async fn a_connection_that_does_not_come_about_is_given_up() {
    // It accepts, and then it says nothing to the handshake of TLS.
    let socket = bind().await;
    let url = format!("https://{}/mcp", socket.local_addr().unwrap());
    let mut wire = Wire::open(&Remote::new(url).connect_wait(Duration::from_millis(100)));
    call(&mut wire);
    let failed = wire.failed().await;
    assert!(!failed.may_have_run, "{failed:?}");
}

#[tokio::test]
async fn each_status_says_whether_it_may_have_run() {
    let mut server = Server::start().await;
    let mut wire = Wire::to(&server);
    for (status, may_have_run) in [
        (400, false),
        (403, false),
        (404, false),
        (405, false),
        (406, false),
        (413, false),
        (429, false),
        (500, true),
        (502, true),
        (503, true),
        (200, true),
        (202, true),
        (204, true),
    ] {
        call(&mut wire);
        wire.while_(server.next()).await.answer(status, "", "").await;
        let failed = wire.failed().await;
        assert_eq!(
            (failed.may_have_run, failed.status),
            (may_have_run, Some(status)),
            "{failed:?}"
        );
        assert!(failed.why.contains(&status.to_string()) && failed.id == 1, "{failed:?}");
    }
}

#[tokio::test]
async fn the_page_of_a_proxy_is_told_in_short() {
    let mut server = Server::start().await;
    let mut wire = Wire::to(&server);
    for status in [200, 502] {
        call(&mut wire);
        let page = format!("<html>\n<h1>Maintenance</h1>{}</html>", "<br>".repeat(100_000));
        wire.while_(server.next())
            .await
            .answer(status, "Content-Type: text/html\r\n", &page)
            .await;
        let failed = wire.failed().await;
        assert!(
            failed.may_have_run && failed.why.contains("<html> <h1>Maintenance"),
            "{failed:?}"
        );
        assert!(failed.why.len() < 400 && !failed.why.contains('\n'), "{failed:?}");
    }
}

#[tokio::test]
async fn authorization_is_asked_for_in_plain_words() {
    let mut server = Server::start().await;
    let mut wire = Wire::to(&server);
    call(&mut wire);
    let challenge = "WWW-Authenticate: Bearer resource_metadata=\"https://h/.well-known\"\r\n";
    wire.while_(server.next()).await.answer(401, challenge, "").await;
    let failed = wire.failed().await;
    assert_eq!((failed.may_have_run, failed.status), (false, Some(401)));
    assert!(
        failed.why.contains("authorization") && failed.why.contains("https://h/.well-known"),
        "{failed:?}"
    );
}

#[tokio::test]
async fn a_protocol_error_is_an_answer_whatever_its_status_and_its_id() {
    let mut server = Server::start().await;
    let mut wire = Wire::to(&server);
    for status in [200, 400, 404, 500] {
        for id in [json!(1), json!(null), json!("server-error")] {
            if status == 200 && id == "server-error" {
                continue;
            }
            call(&mut wire);
            let error = json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32020, "message": "no" } });
            wire.while_(server.next()).await.json_body(status, "", &error).await;
            let message = wire.message().await;
            assert_eq!(
                (&message["id"], &message["error"]["code"]),
                (&json!(1), &json!(-32020)),
                "{status} {id}"
            );
        }
    }
    call(&mut wire);
    let error = json!({ "jsonrpc": "2.0", "error": { "code": -32603, "message": "no" } });
    wire.while_(server.next()).await.json_body(400, "", &error).await;
    assert_eq!(wire.message().await["id"], 1);
}

#[tokio::test]
async fn who_is_not_authorized_is_told_so_though_the_body_is_a_protocol_error() {
    let mut server = Server::start().await;
    let mut wire = Wire::to(&server);
    for (status, words) in [
        (401, "wants authorization"),
        (403, "does not allow it"),
        (407, "the proxy wants"),
    ] {
        call(&mut wire);
        let error = json!({ "jsonrpc": "2.0", "id": null, "error": { "code": -32001, "message": "no token" } });
        wire.while_(server.next()).await.json_body(status, "", &error).await;
        let failed = wire.failed().await;
        assert_eq!((failed.may_have_run, failed.status), (false, Some(status)));
        assert!(
            failed.why.contains(words) && failed.why.contains("no token"),
            "{failed:?}"
        );
    }
}

#[tokio::test]
async fn an_answer_to_another_request_is_handed_on_and_this_one_fails() {
    let mut server = Server::start().await;
    let mut wire = Wire::to(&server);
    for body in [
        json!({ "jsonrpc": "2.0", "id": "1", "result": {} }),
        json!({ "ok": true }),
    ] {
        call(&mut wire);
        wire.while_(server.next()).await.json_body(200, "", &body).await;
        assert_eq!(wire.message().await, body);
        let failed = wire.failed().await;
        assert!(
            failed.may_have_run && failed.why.contains("no answer to this request"),
            "{failed:?}"
        );
    }
}

#[tokio::test]
async fn a_body_that_is_cut_anywhere_may_have_run() {
    let mut server = Server::start().await;
    let mut wire = Wire::to(&server);
    let body = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    let whole = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    for cut in (0..whole.len()).step_by(3) {
        call(&mut wire);
        let mut asked = wire.while_(server.next()).await;
        asked.raw(&whole[..cut]).await;
        drop(asked);
        let failed = wire.failed().await;
        assert!(
            failed.may_have_run && failed.status.is_none(),
            "cut at {cut}: {failed:?}"
        );
    }
}

#[tokio::test]
async fn a_modern_stream_that_ends_without_its_answer_may_have_run() {
    let mut server = Server::start().await;
    let mut wire = Wire::to(&server);
    for last in [
        "",
        ": alive\n\n",
        "id: 7\ndata:\n\n",
        "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n",
    ] {
        call(&mut wire);
        let mut events = wire.while_(server.next()).await.events().await;
        events.raw(last).await;
        drop(events);
        let failed = wire.failed().await;
        assert!(
            failed.may_have_run && failed.status.is_none(),
            "decision 7: {last:?} {failed:?}"
        );
    }
    assert!(server.is_quiet(), "nothing is resumed in the modern era");
}

#[tokio::test]
async fn a_compressed_answer_is_named() {
    let mut server = Server::start().await;
    let mut wire = Wire::to(&server);
    call(&mut wire);
    let headers = "Content-Type: application/json\r\nContent-Encoding: gzip\r\n";
    wire.while_(server.next()).await.answer(200, headers, "x").await;
    let failed = wire.failed().await;
    assert!(
        failed.may_have_run && failed.why.contains("compressed (gzip)"),
        "{failed:?}"
    );
}

#[tokio::test]
async fn one_fault_does_not_disturb_another_request() {
    let mut server = Server::start().await;
    let mut wire = Wire::to(&server);
    wire.ask(1, "tools/call", json!({ "name": "a" }));
    let first = wire.while_(server.next()).await;
    wire.ask(2, "tools/call", json!({ "name": "b" }));
    let second = wire.while_(server.next()).await;
    drop(second);
    assert_eq!(wire.failed().await.id, 2);
    first.result(json!({})).await;
    assert_eq!(wire.message().await["id"], 1);
}

#[tokio::test]
async fn a_notification_that_is_refused_is_a_warning() {
    let mut server = Server::start().await;
    let mut wire = Wire::to(&server);
    for (status, refused) in [(202, false), (200, false), (204, false), (400, true)] {
        wire.notify("notifications/roots/list_changed");
        wire.while_(server.next()).await.status(status).await;
        if refused {
            let warning = wire.warning().await;
            assert!(
                warning.contains("roots/list_changed") && warning.contains("400"),
                "{warning}"
            );
        } else {
            wire.ask(1, "tools/list", json!({}));
            wire.while_(server.next()).await.result(json!({})).await;
            let received = wire.received().await.unwrap();
            assert!(
                matches!(received, Received::Message(_)),
                "decision 6, {status}: {received:?}"
            );
        }
    }
}
