//! Where an order stands.

use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// Where an order stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Placed, not paid.
    New,
    /// Paid, not sent.
    Paid,
    /// On its way.
    Shipped,
    /// Arrived.
    Delivered,
    /// Called off.
    Cancelled,
}

impl Status {
    /// Every status, in the order an order goes through them.
    pub const ALL: [Self; 5] = [Self::New, Self::Paid, Self::Shipped, Self::Delivered, Self::Cancelled];

    /// The word used in the database and on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Paid => "paid",
            Self::Shipped => "shipped",
            Self::Delivered => "delivered",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether an order that stands here can still be cancelled.
    pub fn can_be_cancelled(self) -> bool {
        matches!(self, Self::New | Self::Paid)
    }

    /// Whether the money of an order that stands here has been earned.
    pub fn is_revenue(self) -> bool {
        matches!(self, Self::Paid | Self::Shipped | Self::Delivered)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Status {
    type Err = ();

    fn from_str(word: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|status| status.as_str() == word).ok_or(())
    }
}

// By hand, because the derived schema of a documented enum is a `oneOf` of constants, which some model providers refuse.
impl JsonSchema for Status {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Status".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "enum": Self::ALL.map(Self::as_str) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_wire_and_schema_agree() {
        let schema = schemars::schema_for!(Status).to_value();
        for (index, status) in Status::ALL.into_iter().enumerate() {
            assert_eq!(status.as_str().parse(), Ok(status));
            assert_eq!(serde_json::to_value(status).unwrap(), status.as_str());
            assert_eq!(schema["enum"][index], status.as_str());
        }
        assert_eq!("Paid".parse::<Status>(), Err(()));
        assert_eq!("".parse::<Status>(), Err(()));
    }
}
