//! The headers that repeat what stands in the body of a request.

use std::hint::black_box;

use http::HeaderMap;
use serde_json::json;
use trunkline::http::header::{MirroredParams, decode_value, encode_value};

use crate::{Iteration, Loop};

pub(crate) const LOOPS: &[Loop] = &[
    Loop::new(
        "header/plain",
        "encodes and decodes a value of 12 ASCII characters",
        2000,
        || round_trip("get_forecast"),
    ),
    Loop::new(
        "header/base64",
        "encodes and decodes a value of 60 bytes that is not ASCII",
        2000,
        || round_trip("날씨 예보를 알려 주는 도구, 서울과 부산"),
    ),
    Loop::new(
        "header/mirror_write",
        "makes the headers of a tool that mirrors two params",
        1000,
        || {
            let params = mirrored();
            let arguments = arguments();
            Box::new(move || black_box(params.values(black_box(&arguments))).len() == 2)
        },
    ),
    Loop::new(
        "header/mirror_check",
        "checks the headers of a tool that mirrors two params",
        1000,
        || {
            let params = mirrored();
            let arguments = arguments();
            let headers: HeaderMap = params.values(&arguments).into_iter().collect();
            Box::new(move || params.check(black_box(&headers), &arguments).is_ok())
        },
    ),
];

fn round_trip(text: &'static str) -> Iteration {
    Box::new(move || {
        let value = encode_value(black_box(text));
        decode_value(value.as_bytes()).is_ok_and(|decoded| decoded == text)
    })
}

fn mirrored() -> MirroredParams {
    let schema = json!({ "type": "object", "properties": {
        "region": { "type": "string", "x-mcp-header": "Region" },
        "days": { "type": "integer", "x-mcp-header": "Days" },
    } });
    MirroredParams::from_schema(&schema).unwrap()
}

fn arguments() -> serde_json::Value {
    json!({ "region": "asia-northeast3", "days": 3 })
}
