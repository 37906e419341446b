//! What the client answers when its server asks.

use serde_json::{Value, json};
use trunkline::Inputs;
use trunkline::types::{
    ClientCapabilities, CreateMessageParams, CreateMessageResult, ElicitParams, ElicitResult, ElicitationCapability,
    ErrorObject, Extra, Root, RootsCapability, SamplingCapability, form_defaults,
};

/// Fills in every form, says the same thing as every model, and has one folder.
pub(crate) struct Obliging;

impl Inputs for Obliging {
    fn capabilities(&self) -> ClientCapabilities {
        ClientCapabilities {
            elicitation: Some(ElicitationCapability::default()),
            sampling: Some(SamplingCapability::default()),
            roots: Some(RootsCapability::default()),
            ..ClientCapabilities::default()
        }
    }

    async fn elicit(&self, params: ElicitParams) -> Result<ElicitResult, ErrorObject> {
        Ok(match params {
            ElicitParams::Form(form) => ElicitResult::accept(fill_in(&form.requested_schema)),
            _ => ElicitResult::decline(),
        })
    }

    async fn sample(&self, _: CreateMessageParams) -> Result<CreateMessageResult, ErrorObject> {
        Ok(CreateMessageResult::text(
            "no-model",
            "This is the answer to everything.",
        ))
    }

    async fn roots(&self) -> Result<Vec<Root>, ErrorObject> {
        Ok(vec![Root::new("file:///conformance")])
    }
}

/// The defaults of a form, and a yes to each question that has none.
fn fill_in(schema: &Value) -> Extra {
    let mut filled = form_defaults(schema);
    let fields = schema.get("properties").and_then(Value::as_object);
    for (name, field) in fields.into_iter().flatten() {
        if field.get("type") == Some(&json!("boolean")) {
            filled.entry(name.clone()).or_insert(Value::Bool(true));
        }
    }
    filled
}
