//! The resources: the schema of the database, and each order under its number.

use trunkline::types::{ErrorObject, Resource, ResourceTemplate};
use trunkline::{Completing, Json, Server, State, UriVariables};

use crate::answers::Order;
use crate::{Orders, SCHEMA};

pub(super) const SCHEMA_URI: &str = "orders://schema";
pub(super) const ORDER_TEMPLATE: &str = "orders://order/{id}";

/// The address of one order.
pub(super) fn order_uri(id: i64) -> String {
    format!("orders://order/{id}")
}

pub(super) fn register(server: Server) -> Server {
    let schema = Resource {
        title: Some("Database schema".to_owned()),
        description: Some("The tables of the orders database, as SQL. For reading: no tool takes SQL.".to_owned()),
        mime_type: Some("application/sql".to_owned()),
        ..Resource::new(SCHEMA_URI, "schema")
    };
    let order = ResourceTemplate {
        uri_template: ORDER_TEMPLATE.to_owned(),
        name: "order".to_owned(),
        title: Some("One order".to_owned()),
        description: Some("An order with its items, by its number.".to_owned()),
        mime_type: Some("application/json".to_owned()),
        ..ResourceTemplate::default()
    };
    server
        .resource(schema, |_: UriVariables| async { SCHEMA })
        .resource_template(order, read_order)
        .complete(ORDER_TEMPLATE, "id", recent_ids)
}

async fn read_order(variables: UriVariables, orders: State<Orders>) -> Result<Json<Order>, ErrorObject> {
    let id = variables.parse("id")?;
    Ok(Json(orders.run(move |orders| orders.find(id)).await?))
}

/// Suggestions are a courtesy: a database that fails has none.
async fn recent_ids(typed: Completing, orders: State<Orders>) -> Vec<String> {
    let ids = orders.run(move |orders| orders.recent_ids(&typed.value)).await;
    ids.unwrap_or_default()
}
