//! The tools: narrow ones, each with the right that it needs.

use schemars::JsonSchema;
use serde::Deserialize;
use trunkline::{Context, Elicited, InputError, Json, Server, State, Tool, ToolError};

use super::resources::order_uri;
use crate::answers::{Cancelled, Order, OrderCount, OrderPage, PurgeReport};
use crate::arguments::{CancelOrder, CountOrders, GetOrder, ListOrders, PurgeTestOrders};
use crate::{Orders, OrdersError, Right, Role};

/// Registers the tools that a role may use.
pub(super) fn register(server: Server, role: Role) -> Server {
    all(role)
        .into_iter()
        .filter(|(_, right, _)| role.may(*right))
        .fold(server, |server, (name, _, tool)| server.tool(name, tool))
}

/// Every tool with the right it needs, which is checked again on each call.
pub(super) fn all(role: Role) -> [(&'static str, Right, Tool); 5] {
    let reading = |tool: Tool, title| tool.title(title).read_only();
    let changing = |tool: Tool, title| tool.title(title).destructive();
    let tools = [
        (
            "count_orders",
            Right::Read,
            reading(Tool::new(count_orders), "Count orders"),
        ),
        (
            "list_orders",
            Right::Read,
            reading(Tool::new(list_orders), "List orders"),
        ),
        (
            "get_order",
            Right::Read,
            reading(Tool::new(get_order), "Read one order"),
        ),
        (
            "cancel_order",
            Right::Cancel,
            changing(Tool::new(cancel_order), "Cancel an order"),
        ),
        (
            "purge_test_orders",
            Right::Purge,
            changing(Tool::new(purge_test_orders), "Remove test orders"),
        ),
    ];
    // Idempotent, all of them: what was cancelled or removed once is refused the second time.
    tools.map(|(name, right, tool)| {
        let tool = tool.idempotent().open_world(false);
        (name, right, tool.access(move |_| allow(role, right)))
    })
}

fn allow(role: Role, right: Right) -> Result<(), String> {
    if role.may(right) {
        return Ok(());
    }
    let needed = right.role();
    Err(format!(
        "the server runs in the role {role}, this takes {needed}. A person can start it in that role."
    ))
}

async fn count_orders(ask: CountOrders, orders: State<Orders>) -> Result<(String, Json<OrderCount>), ToolError> {
    let count = orders.run(move |orders| orders.count(&ask)).await?;
    Ok((count.sentence(), Json(count)))
}

async fn list_orders(ask: ListOrders, orders: State<Orders>) -> Result<Json<OrderPage>, ToolError> {
    Ok(Json(orders.run(move |orders| orders.list(&ask)).await?))
}

async fn get_order(ask: GetOrder, orders: State<Orders>) -> Result<Json<Order>, ToolError> {
    Ok(Json(orders.run(move |orders| orders.find(ask.id)).await?))
}

async fn cancel_order(
    ask: CancelOrder,
    orders: State<Orders>,
    context: Context,
) -> Result<(String, Json<Cancelled>), ToolError> {
    let CancelOrder { id, reason } = ask;
    let order = orders.run(move |orders| orders.find(id)).await?;
    order.check_cancellable()?;
    let question = order.cancel_question(reason.as_deref())?;
    let outcome = if confirmed(&context, question).await? {
        let cancelled = orders
            .run(move |orders| orders.cancel(&order, reason.as_deref()))
            .await?;
        context.resource_changed(order_uri(id));
        cancelled
    } else {
        Cancelled::kept(&order)
    };
    Ok((outcome.message.clone(), Json(outcome)))
}

async fn purge_test_orders(
    ask: PurgeTestOrders,
    orders: State<Orders>,
    context: Context,
) -> Result<(String, Json<PurgeReport>), ToolError> {
    let plan = orders.run(Orders::plan_purge).await?;
    let report = if ask.dry_run {
        plan
    } else {
        let fingerprint = ask.fingerprint.ok_or(OrdersError::NoFingerprint)?;
        if plan.fingerprint != fingerprint.trim() {
            return Err(OrdersError::PurgeChanged.into());
        }
        if plan.count == 0 {
            plan
        } else if confirmed(&context, plan.question()).await? {
            orders.run(move |orders| orders.purge(&plan.fingerprint)).await?
        } else {
            plan.kept()
        }
    };
    Ok((report.message.clone(), Json(report)))
}

/// The form a person fills in.
#[derive(Deserialize, JsonSchema)]
struct Confirm {
    /// Whether to do what is asked. No leaves everything as it is.
    #[schemars(title = "Yes, do it")]
    confirm: bool,
}

/// Asks the person. Declining, closing the question and a plain no are all the same: nothing is done.
async fn confirmed(context: &Context, question: String) -> Result<bool, ToolError> {
    match context.elicit_or_not::<Confirm>(question).await {
        Ok(Elicited::Accepted(answer)) => Ok(answer.confirm),
        Ok(Elicited::Declined | Elicited::Cancelled) => Ok(false),
        // The revision has an error of its own for this.
        Err(error @ InputError::NotSupported { required: Some(_), .. }) => Err(error.into()),
        Err(error) => Err(ToolError::new(format!(
            "Nothing was changed: a person has to confirm this first, and {error}. Tell the person."
        ))),
    }
}
