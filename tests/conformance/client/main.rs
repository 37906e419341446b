//! The client that the official conformance suite runs: one function for each scenario.
//!
//! The suite starts it with the address of its own server as the last argument, and names the scenario and
//! the revision in the environment. It ends with an error if a step fails that the scenario must let pass.

mod headers;
mod inputs;
mod tools;

use std::env;
use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

use trunkline::Client;
use trunkline::types::Revision;

/// Why a scenario could not be gone through.
pub(crate) type Failure = Box<dyn Error>;

/// What a scenario gives its client to work with, as JSON.
const CONTEXT: &str = "MCP_CONFORMANCE_CONTEXT";

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let Err(failure) = go().await else {
        return ExitCode::SUCCESS;
    };
    // Nobody reads it if this fails.
    let _ = writeln!(std::io::stderr(), "conformance-client: {failure}");
    ExitCode::FAILURE
}

async fn go() -> Result<(), Failure> {
    let url = env::args().next_back().filter(|url| url.starts_with("http"));
    let url = url.ok_or("the last argument must be the address of a server")?;
    let scenario = env::var("MCP_CONFORMANCE_SCENARIO")?;
    let revision = env::var("MCP_CONFORMANCE_PROTOCOL_VERSION")?;
    let client = connect(&url, &revision).await?;
    run(&scenario, &client).await?;
    client.close().await;
    Ok(())
}

/// Connects without being told what the server speaks, and sees that it was found out.
async fn connect(url: &str, revision: &str) -> Result<Client, Failure> {
    let wanted = Revision::from_name(revision).ok_or_else(|| format!("the revision {revision} is not known"))?;
    let client = Client::http(url)
        .name("trunkline-conformance", env!("CARGO_PKG_VERSION"))
        .inputs(inputs::Obliging)
        .connect()
        .await?;
    let found = client.agreement().profile.era;
    if found != wanted.era() {
        return Err(format!("the server speaks {revision}, but the {found:?} era was found").into());
    }
    Ok(client)
}

async fn run(scenario: &str, client: &Client) -> Result<(), Failure> {
    match scenario {
        "initialize" | "request-metadata" => Ok(client.ping().await?),
        "tools_call" => tools::add(client).await,
        "sse-retry" => tools::come_back(client).await,
        "sep-2322-client-request-state" => tools::answer_in_rounds(client).await,
        "json-schema-ref-no-deref" => tools::list(client).await,
        "json-schema-2020-12-preservation" => tools::return_schema(client).await,
        "http-standard-headers" => headers::every_kind(client).await,
        "http-custom-headers" => headers::given_calls(client, &env::var(CONTEXT)?).await,
        "elicitation-sep1034-client-defaults" | "http-invalid-tool-headers" => tools::call_all(client).await,
        other => Err(format!("there is nothing here for the scenario {other}").into()),
    }
}
