//! Calls whose outcome nobody knows. They are not made again until a person says what happened.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Number, Value};

use super::ToolCall;
use crate::catalogue::OfferedTool;
use crate::name::hex;

/// Why such a call is refused.
pub(crate) const NOT_AGAIN: &str = "this very call was sent before and its outcome is unknown: it may have run; a person \
                                    must look first, and until then it is not made again";

/// The calls with an unknown outcome, by server, tool and arguments.
#[derive(Debug, Clone, Default)]
pub(crate) struct Unknown {
    calls: Arc<Mutex<BTreeSet<String>>>,
}

impl Unknown {
    pub(crate) fn holds(&self, call: &ToolCall) -> bool {
        self.lock().contains(call.key())
    }

    /// Marks the start of a call. Unless it is settled, it counts as unknown from then on: also when the future that
    /// waits for it is dropped. `None` if the same call has become unknown since it was decided on.
    pub(crate) fn begin(&self, call: &ToolCall) -> Option<InFlight> {
        (!self.holds(call)).then(|| InFlight {
            unknown: self.clone(),
            key: Some(call.key().to_owned()),
        })
    }

    /// A person has said what happened: the calls may be made again. Returns how many there were.
    pub(crate) fn clear(&self) -> usize {
        let mut calls = self.lock();
        let count = calls.len();
        calls.clear();
        count
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<String>> {
        // The set is whole between any two statements.
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call that was sent and whose outcome is not known yet.
#[derive(Debug)]
pub(crate) struct InFlight {
    unknown: Unknown,
    key: Option<String>,
}

impl InFlight {
    /// Its outcome is known.
    pub(crate) fn settle(mut self) {
        self.key = None;
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        if let Some(key) = self.key.take() {
            self.unknown.lock().insert(key);
        }
    }
}

/// What makes two calls the same: not the definition, which may change, nor the order of the members, nor how a whole
/// number is written.
pub(super) fn key(tool: &OfferedTool, arguments: &Map<String, Value>) -> String {
    let arguments = serde_json::to_vec(&same_members(arguments)).unwrap_or_default();
    hex(&[tool.server().as_bytes(), tool.definition().name.as_bytes(), &arguments])
}

/// The same value in one form: members in order of their names, `1.0` as `1`.
pub fn same_form(value: &Value) -> Value {
    match value {
        Value::Object(members) => same_members(members),
        Value::Array(items) => Value::Array(items.iter().map(same_form).collect()),
        Value::Number(number) => Value::Number(whole(number)),
        Value::Null | Value::Bool(_) | Value::String(_) => value.clone(),
    }
}

fn same_members(members: &Map<String, Value>) -> Value {
    let mut sorted: Vec<(&String, &Value)> = members.iter().collect();
    sorted.sort_by_key(|(name, _)| *name);
    let members = sorted.into_iter().map(|(name, value)| (name.clone(), same_form(value)));
    Value::Object(members.collect::<Map<_, _>>())
}

fn whole(number: &Number) -> Number {
    if !number.is_f64() {
        return number.clone();
    }
    let text = number.to_string();
    let digits = text.strip_suffix(".0").unwrap_or(&text);
    digits.parse::<i64>().map_or_else(|_| number.clone(), Number::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Trust;
    use crate::call::{Proposal, resolve, validate};
    use crate::catalogue::Catalogue;
    use serde_json::json;
    use trunkline_types::Tool;

    fn call(tool: &str, arguments: Value) -> ToolCall {
        let definition = |name: &str| Tool {
            name: name.to_owned(),
            input_schema: json!({ "type": "object" }),
            ..Tool::default()
        };
        let mut catalogue = Catalogue::default();
        catalogue.add("s", Trust::Trusted, vec![definition("a"), definition("b")]);
        let resolved = resolve::resolve(&catalogue, Proposal::new(tool, arguments)).unwrap();
        validate::validate(resolved).unwrap()
    }

    #[test]
    fn a_call_that_is_dropped_in_flight_is_unknown_until_cleared() {
        let unknown = Unknown::default();
        let first = call("s__a", json!({ "x": 1, "y": 2 }));
        unknown.begin(&first).unwrap().settle();
        assert!(!unknown.holds(&first), "a settled call may be made again");
        drop(unknown.begin(&first));
        assert!(unknown.holds(&first) && unknown.begin(&first).is_none());
        assert!(
            unknown.holds(&call("s__a", json!({ "y": 2.0, "x": 1 }))),
            "the same call in other words"
        );
        assert!(!unknown.holds(&call("s__a", json!({ "x": 1 }))));
        assert!(!unknown.holds(&call("s__b", json!({ "x": 1, "y": 2 }))));
        assert_eq!(unknown.clear(), 1);
        assert!(!unknown.holds(&first));
    }
}
