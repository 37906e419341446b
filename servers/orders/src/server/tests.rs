//! The server, driven line by line in both eras.

mod asking;
mod reading;

use serde_json::{Value, json};
use trunkline::Server;
use trunkline_testkit::LineClient;

use super::{server, tools};
use crate::{Orders, OrdersError, Role};

/// A client that can be asked.
async fn connect(server: &Server, revision: &'static str) -> LineClient {
    LineClient::connect(server, revision, json!({ "elicitation": {} })).await
}

/// A server over the sample, and the sample.
fn sample(role: Role) -> (Server, Orders) {
    let orders = Orders::sample().unwrap();
    (server(orders.clone(), role), orders)
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

/// The text of a result that must be an error.
fn failure(result: &Value) -> &str {
    assert_eq!(result["isError"], true, "{result}");
    assert!(result.get("structuredContent").is_none(), "{result}");
    text(result)
}

#[test]
fn what_the_database_says_inside_stays_inside() {
    use trunkline::ToolError;
    use trunkline::types::ErrorObject;

    let secret = || OrdersError::Storage {
        reason: "disk /srv/secret.db failed".to_owned(),
    };
    assert!(!ToolError::from(secret()).to_string().contains("secret"));
    assert!(!ErrorObject::from(secret()).to_string().contains("secret"));
    let busy = ToolError::from(OrdersError::Busy).to_string();
    assert!(busy.contains("try again"), "{busy}");
    assert_eq!(ErrorObject::from(OrdersError::Busy).code, -32603);
    let day = OrdersError::BadDay { asked: "x".to_owned() };
    assert_eq!(ErrorObject::from(day).code, -32602);
}

/// Reads wait for a file that another program holds; whatever else the client asks is answered meanwhile.
#[tokio::test]
async fn a_database_that_has_to_wait_holds_up_nothing_else() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let orders = Orders::sample_at(file.path()).unwrap();
    let mut client = connect(&server(orders, Role::Viewer), "2026-07-28").await;
    let other = rusqlite::Connection::open(file.path()).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();

    let waiting = client
        .start("tools/call", json!({ "name": "count_orders", "arguments": {} }))
        .await;
    let listed = client.request("tools/list", json!({})).await;
    assert!(listed.get("result").is_some(), "{listed}");

    other.execute_batch("ROLLBACK").unwrap();
    let counted = client.receive().await;
    assert_eq!(counted["id"], waiting);
    // On a slow machine the wait may be over before the file is free; the answer then says so.
    let result = &counted["result"];
    let busy = result["isError"] == true && text(result).contains("another program");
    assert!(busy || result["structuredContent"]["count"] == 53, "{counted}");
}
