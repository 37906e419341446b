//! Arguments against the tool's input schema, as the server declared it.

use serde_json::{Map, Value};

use super::resolve::Resolved;
use super::{Stop, ToolCall};
use crate::text::one_line;

/// Checks the arguments and changes nothing about them, but that none at all is an empty object.
pub(crate) fn validate(resolved: Resolved) -> Result<ToolCall, Stop> {
    let Resolved { tool, arguments } = resolved;
    let arguments = match arguments {
        Value::Object(arguments) => arguments,
        Value::Null => Map::new(),
        other => {
            let given = one_line(&other.to_string(), 80);
            return Err(Stop::Invalid(format!(
                "the arguments of {} must be a JSON object, not {given}",
                tool.name()
            )));
        }
    };
    let value = Value::Object(arguments);
    if let Err(mismatch) = tool.schema().check(&value) {
        let places = one_line(&mismatch.to_string(), 1000);
        return Err(Stop::Invalid(format!(
            "the arguments of {} do not fit: {places}; mend them and call again",
            tool.name()
        )));
    }
    let Value::Object(arguments) = value else {
        return Err(Stop::Invalid("the arguments must be a JSON object".to_owned()));
    };
    Ok(ToolCall::new(tool, arguments))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Trust;
    use crate::call::{Proposal, resolve};
    use crate::catalogue::Catalogue;
    use serde_json::json;
    use trunkline_types::Tool;

    fn check(schema: Value, arguments: Value) -> Result<ToolCall, String> {
        let mut catalogue = Catalogue::default();
        let tool = Tool {
            name: "t".to_owned(),
            input_schema: schema,
            ..Tool::default()
        };
        catalogue.add("s", Trust::Trusted, vec![tool]);
        let resolved = resolve::resolve(&catalogue, Proposal::new("s__t", arguments)).unwrap();
        validate(resolved).map_err(|stop| match stop {
            Stop::Invalid(why) => why,
            Stop::Refused(decision) => panic!("{decision:?}"),
        })
    }

    #[test]
    fn what_validates_is_sent_as_it_was_given() {
        let schema = json!({ "type": "object", "properties": {
            "a": { "anyOf": [{ "type": "array" }, { "type": "null" }], "default": null } } });
        for given in [
            json!({}),
            json!({ "a": null }),
            json!({ "a": [] }),
            json!({ "b": 18_446_744_073_709_551_615_u64 }),
        ] {
            let call = check(schema.clone(), given.clone()).unwrap();
            assert_eq!(Value::Object(call.arguments().clone()), given);
        }
        assert!(check(schema.clone(), Value::Null).unwrap().arguments().is_empty());
        assert!(check(schema, json!({ "a": "null" })).is_err(), "a text is not null");
    }

    #[test]
    fn the_message_names_the_place_and_what_is_wanted() {
        let schema = json!({ "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] });
        let why = check(schema.clone(), json!({ "city": 7 })).unwrap_err();
        assert!(
            why.contains("s__t") && why.contains("/city") && why.contains("string"),
            "{why}"
        );
        assert!(check(schema.clone(), json!({})).unwrap_err().contains("city"));
        for given in [json!([]), json!("{\"city\":\"Seoul\"}"), json!(7)] {
            assert!(
                check(schema.clone(), given)
                    .unwrap_err()
                    .contains("must be a JSON object")
            );
        }
    }

    #[test]
    fn the_digest_tells_arguments_apart() {
        let digest = |arguments| {
            check(json!({ "type": "object" }), arguments)
                .unwrap()
                .digest()
                .to_owned()
        };
        assert_eq!(digest(json!({ "a": 1 })), digest(json!({ "a": 1 })));
        assert_ne!(digest(json!({ "a": 1 })), digest(json!({ "a": "1" })));
    }
}
