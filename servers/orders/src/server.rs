//! The orders as an MCP server, for one role.

mod prompts;
mod resources;
mod tools;

use trunkline::types::{ErrorObject, code};
use trunkline::{Server, ToolError};

use crate::{Orders, OrdersError, Right, Role};

/// The orders server, as far as a role may use it: tools beyond the role are not offered and would be refused.
///
/// ```
/// use trunkline_orders::{Orders, Role, server};
/// assert!(server(Orders::sample()?, Role::Clerk).check().is_ok());
/// # Ok::<(), trunkline_orders::OrdersError>(())
/// ```
pub fn server(orders: Orders, role: Role) -> Server {
    let server = Server::new("orders", env!("CARGO_PKG_VERSION"))
        .info(|info| info.title = Some("Orders".to_owned()))
        .instructions(instructions(role))
        .state(orders);
    prompts::register(resources::register(tools::register(server, role)))
}

fn instructions(role: Role) -> String {
    let mut text =
        "Orders of a shop. Use count_orders for numbers, list_orders and get_order for the orders themselves; \
                    test orders are left out unless asked for."
            .to_owned();
    let asks = " asks the person to confirm before anything is changed.";
    if role.may(Right::Purge) {
        text += " cancel_order and purge_test_orders change data; each";
        text += asks;
    } else if role.may(Right::Cancel) {
        text += " cancel_order";
        text += asks;
    } else {
        text += " Nothing can be changed here.";
    }
    text + " No tool takes SQL."
}

impl Orders {
    /// Runs an operation on a thread that may block: with a file it may wait for another program.
    async fn run<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&Self) -> Result<T, OrdersError> + Send + 'static,
    ) -> Result<T, OrdersError> {
        let orders = self.clone();
        match tokio::task::spawn_blocking(move || operation(&orders)).await {
            Ok(done) => done,
            // It panicked: the server answers that as it does any other panic.
            Err(ended) => std::panic::resume_unwind(ended.into_panic()),
        }
    }
}

impl From<OrdersError> for ToolError {
    fn from(error: OrdersError) -> Self {
        match error {
            OrdersError::Storage { .. } | OrdersError::NotOrders { .. } | OrdersError::NotEmpty { .. } => {
                Self::internal(error)
            }
            _ => Self::new(error.to_string()),
        }
    }
}

impl From<OrdersError> for ErrorObject {
    fn from(error: OrdersError) -> Self {
        match error {
            OrdersError::UnknownOrder { id, .. } => Self::new(code::RESOURCE_NOT_FOUND, error.to_string())
                .with_data(serde_json::json!({ "uri": resources::order_uri(id) })),
            OrdersError::Storage { .. } | OrdersError::NotOrders { .. } | OrdersError::NotEmpty { .. } => {
                Self::internal("the orders database failed")
            }
            OrdersError::Busy | OrdersError::ReadOnly => Self::internal(error.to_string()),
            _ => Self::invalid_params(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests;
