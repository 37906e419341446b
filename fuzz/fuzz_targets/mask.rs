//! Any bytes as a message that is recorded: taken for JSON where serde_json takes them so, JSON afterwards, and without the
//! value that is known to be a secret.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde::de::IgnoredAny;
use trunkline_journal::{MAX_DEPTH, Mask};

const SECRET: &str = "open sesame";

fuzz_target!(|bytes: &[u8]| {
    let mut mask = Mask::default();
    mask.add(SECRET);
    let is_json = serde_json::from_slice::<IgnoredAny>(bytes).is_ok();
    match mask.json(bytes) {
        Some((masked, _)) => {
            assert!(is_json && !masked.contains(SECRET) && !masked.contains('\n'));
            assert!(serde_json::from_str::<IgnoredAny>(&masked).is_ok());
        }
        // No shorter text is nested deeper.
        None => assert!(!is_json || bytes.len() > MAX_DEPTH),
    }
    let text = String::from_utf8_lossy(bytes);
    assert!(!mask.text(&text).0.contains(SECRET));
});
