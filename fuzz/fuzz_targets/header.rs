//! Any text as the value of a header, any bytes as a value that came, any JSON as a schema and as arguments: what is
//! written is read, and what mirrors a body matches it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use trunkline::http::header::{MirroredParams, decode_value, encode_value, matches};

fuzz_target!(|input: (&str, &[u8], &str, &str)| {
    let (text, bytes, schema, arguments) = input;
    let value = encode_value(text);
    assert_eq!(decode_value(value.as_bytes()).expect("what was written can be read"), text);
    if let Ok(decoded) = decode_value(bytes) {
        assert!(matches(Some(bytes), Some(&serde_json::Value::from(decoded.as_ref()))));
    }
    let (Ok(schema), Ok(arguments)) = (serde_json::from_str(schema), serde_json::from_str(arguments)) else { return };
    if let Ok(mirrored) = MirroredParams::from_schema(&schema) {
        let headers = mirrored.values(&arguments);
        for param in mirrored.iter() {
            let header = headers.iter().find(|(name, _)| name == param.header());
            if let Some((_, header)) = header {
                assert!(matches(Some(header.as_bytes()), param.value(&arguments)));
            }
        }
    }
});
