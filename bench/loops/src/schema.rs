//! JSON Schema: compiled once, checked at each call.

use std::hint::black_box;

use serde_json::{Value, json};
use trunkline::schema::Schema;

use crate::{Iteration, Loop};

pub(crate) const LOOPS: &[Loop] = &[
    Loop::new(
        "schema/compile",
        "compiles the schema of a tool with four params",
        20,
        || {
            let schema = order();
            Box::new(move || Schema::compile(black_box(&schema)).is_ok())
        },
    ),
    Loop::new("schema/check_small", "checks arguments that fit", 2000, || {
        checks(order(), fitting(), true)
    }),
    Loop::new(
        "schema/check_plain",
        "the same, where the schema has no pattern",
        2000,
        || checks(plain_order(), fitting(), true),
    ),
    Loop::new(
        "schema/refuse_small",
        "checks arguments that do not fit, and says why",
        500,
        || {
            let wrong = json!({ "customer": 7, "items": [{ "sku": "A-1", "count": 0 }], "urgent": "yes" });
            checks(order(), wrong, false)
        },
    ),
    Loop::new("schema/check_big", "checks 1,000 such arguments in a list", 10, || {
        let list = json!({ "type": "array", "items": order() });
        checks(list, json!(vec![fitting(); 1000]), true)
    }),
];

fn order() -> Value {
    json!({
        "type": "object",
        "properties": {
            "customer": { "type": "string", "minLength": 1, "maxLength": 80 },
            "items": { "type": "array", "minItems": 1, "items": {
                "type": "object",
                "properties": {
                    "sku": { "type": "string", "pattern": "^[A-Z]-[0-9]+$" },
                    "count": { "type": "integer", "minimum": 1 },
                },
                "required": ["sku", "count"],
            } },
            "urgent": { "type": "boolean" },
            "shipping": { "enum": ["post", "courier", "pickup"] },
        },
        "required": ["customer", "items"],
        "additionalProperties": false,
    })
}

fn plain_order() -> Value {
    let mut order = order();
    let sku = order.pointer_mut("/properties/items/items/properties/sku").unwrap();
    *sku = json!({ "type": "string" });
    order
}

fn fitting() -> Value {
    json!({
        "customer": "Kim Minji",
        "items": [{ "sku": "A-1", "count": 2 }, { "sku": "B-77", "count": 1 }],
        "urgent": true,
        "shipping": "courier",
    })
}

fn checks(schema: Value, value: Value, fits: bool) -> Iteration {
    let schema = Schema::compile(&schema).unwrap();
    Box::new(move || match schema.check(black_box(&value)) {
        Ok(()) => fits,
        Err(mismatch) => !fits && !black_box(mismatch.to_string()).is_empty(),
    })
}
