//! Scenarios about headers: requests of every kind, and calls with arguments that are hard to put into one.

use std::collections::BTreeMap;

use serde::Deserialize;
use trunkline::Client;
use trunkline::types::Extra;

use crate::{Failure, tools};

pub(crate) async fn every_kind(client: &Client) -> Result<(), Failure> {
    tools::call_all(client).await?;
    for resource in client.resources().await?.items {
        client.read(&resource.uri).await?;
    }
    for prompt in client.prompts().await?.items {
        client.prompt(&prompt.name, BTreeMap::new()).await?;
    }
    Ok(())
}

/// The calls that the suite wants to see.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wanted {
    tool_calls: Vec<WantedCall>,
}

#[derive(Deserialize)]
struct WantedCall {
    name: String,
    arguments: Extra,
}

pub(crate) async fn given_calls(client: &Client, context: &str) -> Result<(), Failure> {
    let wanted: Wanted = serde_json::from_str(context)?;
    // The definitions say which arguments go into headers.
    client.tools().await?;
    for call in wanted.tool_calls {
        client.call(&call.name, &call.arguments).await?;
    }
    Ok(())
}
