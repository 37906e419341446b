//! Tools that say something before they answer, or let go of their stream meanwhile.

use std::time::Duration;

use tokio::time::sleep;
use trunkline::types::LogLevel;
use trunkline::{Context, NoArguments, Server};

use crate::content::described;

/// Between two signs of life.
const STEP: Duration = Duration::from_millis(50);
/// What a client waits before it comes back for the answer.
const RETRY: Duration = Duration::from_millis(100);

pub(crate) fn register(server: Server) -> Server {
    server
        .tool("test_tool_with_logging", described("Logs three messages.", log_three))
        .tool(
            "test_tool_with_progress",
            described("Reports three steps.", report_three),
        )
        .tool("test_logging_tool", described("Logs one message.", log_one))
        .tool(
            "test_reconnection",
            described("Closes its stream, and answers whoever comes back.", reconnect),
        )
}

async fn log_three(_: NoArguments, context: Context) -> &'static str {
    context.log(LogLevel::Info, "Tool execution started");
    sleep(STEP).await;
    context.log(LogLevel::Info, "Tool processing data");
    sleep(STEP).await;
    context.log(LogLevel::Info, "Tool execution completed");
    "Tool with logging executed successfully"
}

async fn report_three(_: NoArguments, context: Context) -> &'static str {
    context.progress(0.0, Some(100.0), "started");
    sleep(STEP).await;
    context.progress(50.0, Some(100.0), "half of it");
    sleep(STEP).await;
    context.progress(100.0, Some(100.0), "done");
    "Tool with progress executed successfully"
}

async fn log_one(_: NoArguments, context: Context) -> &'static str {
    context.log(LogLevel::Info, "This is only for who asked for messages.");
    "Logged"
}

async fn reconnect(_: NoArguments, context: Context) -> &'static str {
    context.release_stream(RETRY);
    sleep(RETRY).await;
    "Reconnection test completed successfully."
}
