//! What the tools take. The comments are the descriptions a model reads.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Status;

/// Count the orders of the shop, of one status or of one customer if wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CountOrders {
    /// Count only orders that stand here. All when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// Count only orders of this customer: the full name, or a part of it that fits one customer only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 100))]
    pub customer: Option<String>,
    /// Whether test orders are counted as well. They are not when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include_test: Option<bool>,
}

/// List orders, the newest first, a page at a time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListOrders {
    /// List only orders that stand here. All when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// List only orders of this customer: the full name, or a part of it that fits one customer only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 100))]
    pub customer: Option<String>,
    /// Whether test orders are listed as well. They are not when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include_test: Option<bool>,
    /// Orders per page, 1 to 100. 20 when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100))]
    pub limit: Option<u32>,
    /// Where to go on: the `next_cursor` of the page before, with the same filter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 200))]
    pub cursor: Option<String>,
}

/// Read one order by its number, with its items.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GetOrder {
    /// Number of the order.
    #[schemars(range(min = 1))]
    pub id: i64,
}

/// Cancel one order that is new or paid. The person is asked to confirm before anything changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CancelOrder {
    /// Number of the order.
    #[schemars(range(min = 1))]
    pub id: i64,
    /// Why it is cancelled, kept with the order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 500))]
    pub reason: Option<String>,
}

/// Remove test orders for good: first a dry run, then again with its fingerprint. The person is asked to confirm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PurgeTestOrders {
    /// Whether to say only what would be removed. True when left out; nothing is removed then.
    #[serde(default = "yes")]
    pub dry_run: bool,
    /// The `fingerprint` of the dry run whose orders are to be removed. Needed when `dry_run` is false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 100))]
    pub fingerprint: Option<String>,
}

impl Default for PurgeTestOrders {
    fn default() -> Self {
        Self {
            dry_run: true,
            fingerprint: None,
        }
    }
}

fn yes() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use schemars::schema_for;
    use serde_json::json;

    #[test]
    fn every_argument_is_described() {
        let schemas = [
            schema_for!(CountOrders),
            schema_for!(ListOrders),
            schema_for!(GetOrder),
            schema_for!(CancelOrder),
            schema_for!(PurgeTestOrders),
        ];
        for schema in schemas {
            let schema = schema.to_value();
            assert!(
                schema["description"].as_str().is_some_and(|text| text.len() > 5),
                "{schema}"
            );
            for (name, property) in schema["properties"].as_object().unwrap() {
                assert!(
                    property["description"].as_str().is_some_and(|text| text.len() > 10),
                    "{name}"
                );
            }
        }
    }

    #[test]
    fn a_purge_is_a_dry_run_unless_it_says_otherwise() {
        let ask: PurgeTestOrders = serde_json::from_value(json!({})).unwrap();
        assert_eq!(ask, PurgeTestOrders::default());
        assert!(ask.dry_run);
        assert_eq!(
            schema_for!(PurgeTestOrders).to_value()["properties"]["dry_run"]["default"],
            true
        );
        assert!(schema_for!(PurgeTestOrders).to_value().get("required").is_none());
    }

    #[test]
    fn filters_may_be_left_out_and_wrong_words_are_refused() {
        assert_eq!(
            serde_json::from_value::<CountOrders>(json!({})).unwrap(),
            CountOrders::default()
        );
        let ask: ListOrders = serde_json::from_value(json!({"status": "paid", "customer": "김민지"})).unwrap();
        assert_eq!(ask.status, Some(Status::Paid));
        assert_eq!(
            serde_json::to_value(&ask).unwrap(),
            json!({"status": "paid", "customer": "김민지"})
        );
        assert!(serde_json::from_value::<CountOrders>(json!({"status": "open"})).is_err());
        assert!(serde_json::from_value::<GetOrder>(json!({"id": "1; DROP TABLE orders"})).is_err());
        assert!(serde_json::from_value::<CancelOrder>(json!({})).is_err());
    }
}
