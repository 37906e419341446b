//! Prompts: templates that the person chooses.

use std::any::TypeId;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use trunkline_schema::Schema;
use trunkline_types::{ErrorObject, GetPromptResult, Prompt, PromptArgument, PromptMessage};

use crate::schemas::input_schema;
use crate::{BoxFuture, Context, DefinitionError, Handler};

/// Something that a prompt may return: one text of the person's, messages, or a whole result.
pub trait IntoPrompt {
    /// The result.
    ///
    /// # Errors
    /// If the prompt cannot be filled in.
    fn into_prompt(self) -> Result<GetPromptResult, ErrorObject>;
}

impl IntoPrompt for GetPromptResult {
    fn into_prompt(self) -> Result<GetPromptResult, ErrorObject> {
        Ok(self)
    }
}

impl IntoPrompt for Vec<PromptMessage> {
    fn into_prompt(self) -> Result<GetPromptResult, ErrorObject> {
        Ok(GetPromptResult {
            messages: self,
            ..GetPromptResult::default()
        })
    }
}

impl IntoPrompt for String {
    fn into_prompt(self) -> Result<GetPromptResult, ErrorObject> {
        vec![PromptMessage::user(self)].into_prompt()
    }
}

impl<R: IntoPrompt, E: Into<ErrorObject>> IntoPrompt for Result<R, E> {
    fn into_prompt(self) -> Result<GetPromptResult, ErrorObject> {
        self.map_err(Into::into)?.into_prompt()
    }
}

pub(crate) type PromptFn =
    Arc<dyn Fn(Value, &Context) -> BoxFuture<Result<GetPromptResult, ErrorObject>> + Send + Sync>;

#[derive(Clone)]
pub(crate) struct PromptEntry {
    pub(crate) definition: Prompt,
    schema: Value,
    check: Arc<Schema>,
    run: PromptFn,
    pub(crate) required: Vec<(TypeId, &'static str)>,
}

impl fmt::Debug for PromptEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PromptEntry")
            .field("definition", &self.definition)
            .finish_non_exhaustive()
    }
}

impl PromptEntry {
    pub(crate) fn new<H, Input, Marker>(name: &str, handler: H) -> Result<Self, DefinitionError>
    where
        H: Handler<Input, Marker>,
        Input: DeserializeOwned + JsonSchema + Send + 'static,
        H::Output: IntoPrompt + 'static,
    {
        let unusable = |why: String| DefinitionError::Unusable {
            kind: "prompt",
            name: name.to_owned(),
            why,
        };
        let schema = input_schema::<Input>();
        check_arguments_type(&schema).map_err(unusable)?;
        let check = Schema::compile(&schema).map_err(|error| unusable(error.to_string()))?;
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let required: Vec<&str> = schema
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let properties = schema
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten();
        let arguments: Vec<PromptArgument> = properties
            .map(|(name, field)| PromptArgument {
                name: name.clone(),
                description: text(field.get("description")),
                required: Some(required.contains(&name.as_str())),
                ..PromptArgument::default()
            })
            .collect();
        let definition = Prompt {
            name: name.to_owned(),
            description: text(schema.get("description")),
            arguments: (!arguments.is_empty()).then_some(arguments),
            ..Prompt::default()
        };
        let run: PromptFn = Arc::new(move |arguments, context| {
            let started = serde_json::from_value::<Input>(arguments)
                .map_err(|error| ErrorObject::invalid_params(format!("invalid arguments: {error}")))
                .and_then(|input| {
                    handler
                        .call(input, context)
                        .map_err(|missing| ErrorObject::internal(format!("no State<{}>", missing.0)))
                });
            Box::pin(async move { started?.await.into_prompt() })
        });
        Ok(Self {
            definition,
            schema,
            check: Arc::new(check),
            run,
            required: H::required(),
        })
    }

    /// Whether it takes an argument of that name.
    pub(crate) fn takes(&self, name: &str) -> bool {
        self.definition
            .arguments
            .iter()
            .flatten()
            .any(|argument| argument.name == name)
    }

    /// Starts it with its arguments, which are always text on the wire.
    pub(crate) fn start(
        &self,
        arguments: BTreeMap<String, String>,
        context: &Context,
    ) -> Result<BoxFuture<Result<GetPromptResult, ErrorObject>>, ErrorObject> {
        let missing: Vec<&str> = self
            .definition
            .arguments
            .iter()
            .flatten()
            .filter(|argument| argument.required == Some(true) && !arguments.contains_key(&argument.name))
            .map(|argument| argument.name.as_str())
            .collect();
        if !missing.is_empty() {
            let name = &self.definition.name;
            return Err(ErrorObject::invalid_params(format!(
                "the prompt `{name}` needs {}",
                missing.join(", ")
            )));
        }
        let typed: Map<String, Value> = arguments
            .into_iter()
            .map(|(name, text)| (name.clone(), self.typed(&name, text)))
            .collect();
        let typed = Value::Object(typed);
        if let Err(mismatch) = self.check.check(&typed) {
            let name = &self.definition.name;
            return Err(ErrorObject::invalid_params(format!(
                "the arguments do not fit `{name}`: {mismatch}"
            )));
        }
        Ok((self.run)(typed, context))
    }

    /// A text as the type that the argument's schema says, where it reads as that.
    fn typed(&self, name: &str, text: String) -> Value {
        let field = self.schema.get("properties").and_then(|fields| fields.get(name));
        match field.and_then(|field| field.get("type")).and_then(Value::as_str) {
            Some("integer" | "number" | "boolean") => serde_json::from_str(&text).unwrap_or(Value::String(text)),
            _ => Value::String(text),
        }
    }
}

/// Arguments of a prompt are named and travel as text, so each one must be something that a text can say.
fn check_arguments_type(schema: &Value) -> Result<(), String> {
    if schema.get("type").is_none_or(|kind| kind != "object") {
        return Err("its arguments must be an object with named members".to_owned());
    }
    let fields = schema.get("properties").and_then(Value::as_object);
    match fields.into_iter().flatten().find(|(_, field)| !takes_text(field)) {
        Some((name, _)) => Err(format!(
            "its argument `{name}` must be text, a number, yes or no, or a choice"
        )),
        None => Ok(()),
    }
}

fn takes_text(field: &Value) -> bool {
    let Value::Object(keywords) = field else {
        return field == &Value::Bool(true);
    };
    match keywords.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "string"),
        Some(kind) => ["string", "integer", "number", "boolean"]
            .iter()
            .any(|text| kind == text),
        // Without a type only text is given, so one branch must take that.
        None => match keywords.get("anyOf").or_else(|| keywords.get("oneOf")) {
            Some(Value::Array(branches)) => branches.iter().any(|branch| {
                branch.get("type").and_then(Value::as_str) == Some("string")
                    || branch.get("const").is_some_and(Value::is_string)
            }),
            _ => match keywords.get("enum") {
                Some(Value::Array(choices)) => choices.iter().any(Value::is_string),
                _ => !keywords.contains_key("$ref"),
            },
        },
    }
}
