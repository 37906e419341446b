//! The prompt: a report on one day, with the facts in it.

use schemars::JsonSchema;
use serde::Deserialize;
use trunkline::types::ErrorObject;
use trunkline::{Completing, Server, State};

use crate::Orders;

pub(super) const DAILY_REPORT: &str = "daily_report";

pub(super) fn register(server: Server) -> Server {
    server
        .prompt(DAILY_REPORT, daily_report)
        .complete(DAILY_REPORT, "day", recent_days)
}

/// A short report on the orders of one day.
#[derive(Deserialize, JsonSchema)]
struct Report {
    /// The day in UTC, for example "2026-10-20". The last day with an order when left out.
    day: Option<String>,
}

async fn daily_report(ask: Report, orders: State<Orders>) -> Result<String, ErrorObject> {
    // Forms send an empty text for a field that nobody filled in.
    let asked = ask.day.filter(|day| !day.trim().is_empty());
    let report = orders
        .run(move |orders| {
            let Some(day) = asked.map_or_else(|| orders.latest_day(), |day| Ok(Some(day)))? else {
                return Ok(None);
            };
            orders.daily_report(&day).map(Some)
        })
        .await?;
    Ok(match report {
        Some(report) => format!(
            "Write a short report on the orders of {day} for the shop's staff: three or four sentences, the numbers that \
             matter first, nothing that is not in the facts. These are the facts:\n\n{facts}",
            day = report.day,
            facts = report.text()
        ),
        None => "The orders database holds no orders yet. Tell me so; there is nothing to report.".to_owned(),
    })
}

/// Suggestions are a courtesy: a database that fails has none.
async fn recent_days(typed: Completing, orders: State<Orders>) -> Vec<String> {
    let days = orders.run(move |orders| orders.recent_days(&typed.value)).await;
    days.unwrap_or_default()
}
