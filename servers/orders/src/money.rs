//! Amounts: whole minor units with a currency, never a floating point number.

use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// The currencies orders are placed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Currency {
    /// South Korean won, which has no smaller unit.
    Krw,
    /// United States dollar, in cents.
    Usd,
    /// Euro, in cents.
    Eur,
    /// Japanese yen, which has no smaller unit.
    Jpy,
}

impl Currency {
    /// Every currency.
    pub const ALL: [Self; 4] = [Self::Krw, Self::Usd, Self::Eur, Self::Jpy];

    /// The ISO 4217 code.
    pub fn code(self) -> &'static str {
        match self {
            Self::Krw => "KRW",
            Self::Usd => "USD",
            Self::Eur => "EUR",
            Self::Jpy => "JPY",
        }
    }

    fn has_cents(self) -> bool {
        matches!(self, Self::Usd | Self::Eur)
    }
}

impl FromStr for Currency {
    type Err = ();

    fn from_str(code: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|currency| currency.code() == code).ok_or(())
    }
}

// By hand, because the derived schema of a documented enum is a `oneOf` of constants, which some model providers refuse.
impl JsonSchema for Currency {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Currency".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "enum": Self::ALL.map(Self::code) })
    }
}

/// An amount of money.
///
/// ```
/// use trunkline_orders::{Currency, Money};
/// assert_eq!(Money::new(4_500_000, Currency::Krw).to_string(), "4,500,000 KRW");
/// assert_eq!(Money::new(123_456, Currency::Usd).to_string(), "1,234.56 USD");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline, description = "An amount of money.")]
pub struct Money {
    /// Amount in the smallest unit of the currency: cents for USD and EUR, whole won and yen for KRW and JPY.
    pub minor: i64,
    /// ISO 4217 currency code.
    pub currency: Currency,
    /// The amount as people write it, for example "1,234.56 USD".
    pub display: String,
}

impl Money {
    /// An amount in minor units.
    pub fn new(minor: i64, currency: Currency) -> Self {
        Self {
            minor,
            currency,
            display: display(minor, currency),
        }
    }
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.display)
    }
}

fn display(minor: i64, currency: Currency) -> String {
    let sign = if minor < 0 { "-" } else { "" };
    let minor = minor.unsigned_abs();
    let code = currency.code();
    if currency.has_cents() {
        format!("{sign}{}.{:02} {code}", grouped(minor / 100), minor % 100)
    } else {
        format!("{sign}{} {code}", grouped(minor))
    }
}

fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_grouped_and_keep_their_cents() {
        for (minor, currency, text) in [
            (0, Currency::Krw, "0 KRW"),
            (999, Currency::Jpy, "999 JPY"),
            (1000, Currency::Jpy, "1,000 JPY"),
            (1_234_567, Currency::Krw, "1,234,567 KRW"),
            (0, Currency::Usd, "0.00 USD"),
            (5, Currency::Usd, "0.05 USD"),
            (99_999, Currency::Eur, "999.99 EUR"),
            (100_000, Currency::Eur, "1,000.00 EUR"),
            (-150, Currency::Usd, "-1.50 USD"),
            (i64::MIN, Currency::Krw, "-9,223,372,036,854,775,808 KRW"),
        ] {
            assert_eq!(Money::new(minor, currency).display, text);
        }
    }

    #[test]
    fn codes_wire_and_schema_agree() {
        let schema = schemars::schema_for!(Currency).to_value();
        for (index, currency) in Currency::ALL.into_iter().enumerate() {
            assert_eq!(currency.code().parse(), Ok(currency));
            assert_eq!(serde_json::to_value(currency).unwrap(), currency.code());
            assert_eq!(schema["enum"][index], currency.code());
        }
        assert_eq!("krw".parse::<Currency>(), Err(()));
    }
}
