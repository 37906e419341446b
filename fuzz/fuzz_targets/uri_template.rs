//! Any template on any address: parsed or refused, matched or not, within its steps.
#![no_main]

use libfuzzer_sys::fuzz_target;
use trunkline::UriTemplate;

fuzz_target!(|input: (&str, &str)| {
    if let Ok(template) = UriTemplate::parse(input.0) {
        let _ = template.matches(input.1);
    }
});
