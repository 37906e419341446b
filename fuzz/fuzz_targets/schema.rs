//! Any two JSON texts as a schema and a value: compiled or refused, fits or does not.
#![no_main]

use libfuzzer_sys::fuzz_target;
use trunkline::schema::Schema;

fuzz_target!(|input: (&str, &str)| {
    let (Ok(schema), Ok(value)) = (input.0.parse(), input.1.parse()) else { return };
    if let Ok(schema) = Schema::compile(&schema) {
        let _ = schema.check(&value);
    }
});
