//! What the tools return. The comments are the descriptions a model reads.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Money, Status};

/// How many orders fit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OrderCount {
    /// Number of orders.
    pub count: u64,
    /// The status asked for; absent when all were counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Status")]
    pub status: Option<Status>,
    /// Full name of the customer asked for; absent when all were counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub customer: Option<String>,
    /// Whether test orders are among them.
    pub include_test: bool,
}

impl OrderCount {
    /// The same in words.
    ///
    /// ```
    /// use trunkline_orders::{Orders, Status, arguments::CountOrders};
    /// let ask = CountOrders { status: Some(Status::Paid), ..CountOrders::default() };
    /// let count = Orders::sample()?.count(&ask)?;
    /// assert_eq!(count.sentence(), "9 paid orders, test orders not counted.");
    /// # Ok::<(), trunkline_orders::OrdersError>(())
    /// ```
    pub fn sentence(&self) -> String {
        let Self { count, status, .. } = self;
        let status = status.map_or_else(String::new, |status| format!("{status} "));
        let orders = if *count == 1 { "order" } else { "orders" };
        let of = match &self.customer {
            Some(customer) => format!(" of {customer}"),
            None => String::new(),
        };
        let test = if self.include_test {
            "test orders included"
        } else {
            "test orders not counted"
        };
        format!("{count} {status}{orders}{of}, {test}.")
    }
}

/// An order without its items.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct OrderSummary {
    /// Number of the order.
    pub id: i64,
    /// Full name of the customer.
    pub customer: String,
    /// Where the order stands.
    pub status: Status,
    /// What the order costs.
    pub total: Money,
    /// When it was placed, in UTC, for example "2026-10-05T09:00:00Z".
    pub created_at: String,
    /// Whether it is a test order.
    pub is_test: bool,
}

/// One line of an order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Item {
    /// Name of the product.
    pub product: String,
    /// Number of pieces.
    pub quantity: i64,
    /// Price of one piece.
    pub unit_price: Money,
}

/// An order with its items.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Order {
    /// The order itself.
    #[serde(flatten)]
    pub summary: OrderSummary,
    /// What was ordered; at most 100 lines are shown.
    pub items: Vec<Item>,
    /// Why it was cancelled; absent when it was not or no reason was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub cancel_reason: Option<String>,
}

/// One page of orders, the newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OrderPage {
    /// The orders of this page.
    pub orders: Vec<OrderSummary>,
    /// Give this as `cursor` for the next page; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub next_cursor: Option<String>,
    /// Number of orders on all pages together.
    pub total: u64,
}

/// What became of a cancellation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cancelled {
    /// Number of the order.
    pub id: i64,
    /// Whether the order was cancelled by this call.
    pub cancelled: bool,
    /// Where the order stood before.
    pub before: Status,
    /// Where the order stands now.
    pub after: Status,
    /// The same in words.
    pub message: String,
}

/// What a purge of test orders removed, or would remove.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PurgeReport {
    /// Whether this was a dry run, which removes nothing.
    pub dry_run: bool,
    /// Number of test orders removed, or that would be removed.
    pub count: u64,
    /// Their numbers, ascending; at most 100 are shown.
    pub ids: Vec<i64>,
    /// What they cost together, one amount per currency.
    pub totals: Vec<Money>,
    /// Test orders left for another purge because one purge takes at most 1000.
    pub left_over: u64,
    /// Identifies exactly these orders. Give it back with `dry_run` false to remove them and no others.
    pub fingerprint: String,
    /// The same in words.
    pub message: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use schemars::schema_for;

    #[test]
    fn every_field_is_described_and_nothing_is_referenced() {
        let schemas = [
            schema_for!(OrderCount),
            schema_for!(Order),
            schema_for!(OrderPage),
            schema_for!(Cancelled),
            schema_for!(PurgeReport),
        ];
        for schema in schemas {
            let schema = schema.to_value();
            for (name, property) in schema["properties"].as_object().unwrap() {
                assert!(
                    property["description"].as_str().is_some_and(|text| text.len() > 10),
                    "{name}"
                );
            }
            assert!(!schema.to_string().contains("$ref"), "{schema}");
            assert!(!schema.to_string().contains("oneOf"), "{schema}");
        }
    }

    #[test]
    fn an_order_is_one_flat_object() {
        let schema = schema_for!(Order).to_value();
        for name in ["id", "customer", "status", "total", "created_at", "is_test", "items"] {
            assert!(schema["properties"].get(name).is_some(), "{name}");
            assert!(
                schema["required"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .any(|required| required == name),
                "{name}"
            );
        }
        assert!(
            !schema["required"]
                .as_array()
                .unwrap()
                .iter()
                .any(|required| required == "cancel_reason")
        );
    }
}
