//! A modern client that leaves has cancelled what it asked for
//! ([cancellation](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#cancellation)).

use serde_json::json;

use crate::events::Events;
use crate::speak::{modern, modern_call, send, text};
use crate::stage::{End, Order, Served};

#[tokio::test]
async fn leaving_before_the_answer_begins_cancels_the_handler() {
    let served = Served::start().await;
    let connection = send(&served, &modern_call(1, "puppet", json!({ "name": "a" }))).await;
    let puppet = served.stage.puppet("a").await;
    drop(connection);
    assert_eq!(puppet.end().await, End::Dropped);
    served.stop().await;
}

#[tokio::test]
async fn leaving_in_the_middle_of_the_answer_cancels_the_handler() {
    let served = Served::start().await;
    let mut params = json!({ "name": "puppet", "arguments": { "name": "a" } });
    params["_meta"] = json!({ "progressToken": 1 });
    let connection = send(&served, &modern(1, "tools/call", params)).await;
    let puppet = served.stage.puppet("a").await;
    puppet.tell(Order::Progress(1.0));
    let mut events = Events::begin(connection).await;
    events.message().await;
    drop(events);
    assert_eq!(puppet.end().await, End::Dropped);
    served.stop().await;
}

/// Who says that it will not write any more is taken to be gone: HTTP has no other sign of it.
#[tokio::test]
async fn closing_one_direction_is_leaving() {
    let served = Served::start().await;
    let mut connection = send(&served, &modern_call(1, "puppet", json!({ "name": "a" }))).await;
    let puppet = served.stage.puppet("a").await;
    connection.finish_writing().await;
    assert_eq!(puppet.end().await, End::Dropped);
    served.stop().await;
}

/// The ones that stay do not notice.
#[tokio::test]
async fn a_client_that_leaves_takes_nobody_along() {
    let served = Served::start().await;
    let mut stays = send(&served, &modern_call(1, "puppet", json!({ "name": "stays" }))).await;
    let leaves = send(&served, &modern_call(1, "puppet", json!({ "name": "leaves" }))).await;
    let staying = served.stage.puppet("stays").await;
    let leaving = served.stage.puppet("leaves").await;
    drop(leaves);
    assert_eq!(leaving.end().await, End::Dropped);
    staying.finish("here");
    assert_eq!(text(&stays.answer().await.json()), "here");
    served.stop().await;
}

/// A notice of cancellation is not how it is done in this era: the request goes on.
#[tokio::test]
async fn a_notice_of_cancellation_cancels_nothing() {
    let served = Served::start().await;
    let mut connection = send(&served, &modern_call(1, "puppet", json!({ "name": "a" }))).await;
    let puppet = served.stage.puppet("a").await;
    let notice = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } });
    let request = crate::wire::Request::post(&notice).header("MCP-Protocol-Version", crate::speak::MODERN);
    assert_eq!(served.ask(&request).await.status(), 202);
    puppet.finish("still here");
    assert_eq!(text(&connection.answer().await.json()), "still here");
    served.stop().await;
}

/// A client that has more to say when it leaves hides that it left: it is found out by what is written to it.
#[tokio::test(start_paused = true)]
async fn a_client_that_leaves_behind_half_a_request_is_found_out() {
    let served = Served::start().await;
    let mut connection = send(&served, &modern_call(1, "puppet", json!({ "name": "a" }))).await;
    connection.write(b"POST /mcp HTTP/1.1\r\n").await;
    let puppet = served.stage.puppet("a").await;
    drop(connection);
    let begun = tokio::time::Instant::now();
    assert_eq!(puppet.patient_end().await, End::Dropped);
    assert!(begun.elapsed().as_secs() <= 45, "{:?}", begun.elapsed());
    served.stop().await;
}
