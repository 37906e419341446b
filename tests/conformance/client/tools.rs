//! Scenarios about tools: listing, calling, coming back for an answer, answering in rounds.

use serde_json::{Value, json};
use trunkline::Client;
use trunkline::types::{Extra, Tool};

use crate::Failure;

pub(crate) async fn list(client: &Client) -> Result<(), Failure> {
    client.tools().await?;
    Ok(())
}

pub(crate) async fn add(client: &Client) -> Result<(), Failure> {
    client.tools().await?;
    let called = client.call("add_numbers", &json!({ "a": 5, "b": 3 })).await?;
    expect_text(&called.text(), "8")
}

/// Calls each tool that is left after the list was checked.
pub(crate) async fn call_all(client: &Client) -> Result<(), Failure> {
    for tool in client.tools().await?.items {
        client.call(&tool.name, &required(&tool)).await?;
    }
    Ok(())
}

/// A text for each argument that must be there.
fn required(tool: &Tool) -> Extra {
    let names = tool.input_schema.get("required").and_then(Value::as_array);
    let names = names.into_iter().flatten().filter_map(Value::as_str);
    names.map(|name| (name.to_owned(), json!("us-west1"))).collect()
}

/// The server closes the stream of this call; its answer is there for who comes back.
pub(crate) async fn come_back(client: &Client) -> Result<(), Failure> {
    client.tools().await?;
    let called = client.call("test_reconnection", &json!({})).await?;
    expect_text(&called.text(), "completed successfully")
}

/// A call that asks must go on beside one that has nothing to do with it.
pub(crate) async fn answer_in_rounds(client: &Client) -> Result<(), Failure> {
    client.tools().await?;
    let nothing = json!({});
    let (with_state, unrelated) = tokio::try_join!(
        client.call("test_mrtr_echo_state", &nothing),
        client.call("test_mrtr_unrelated", &nothing),
    )?;
    expect_text(&with_state.text(), "echo-state-ok")?;
    expect_text(&unrelated.text(), "unrelated-ok")?;
    let without_state = client.call("test_mrtr_no_state", &nothing).await?;
    expect_text(&without_state.text(), "no-state-ok")?;
    let untyped = client.call("test_mrtr_no_result_type", &nothing).await?;
    expect_text(&untyped.text(), "no-result-type-test-ok")
}

/// Sends a schema back as it came.
pub(crate) async fn return_schema(client: &Client) -> Result<(), Failure> {
    let tools = client.tools().await?.items;
    let tool = tools.iter().find(|tool| tool.name == "json_schema_2020_12_tool");
    let tool = tool.ok_or("the tool with the schema is not in the list")?;
    client
        .call("json_schema_echo", &json!({ "schema": tool.input_schema }))
        .await?;
    Ok(())
}

fn expect_text(text: &str, part: &str) -> Result<(), Failure> {
    if text.contains(part) {
        return Ok(());
    }
    Err(format!("{part:?} was expected in the answer {text:?}").into())
}
