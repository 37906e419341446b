//! Completion: suggestions for the arguments of prompts and templates.

use std::any::TypeId;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use trunkline_types::{CompleteParams, CompleteResult, ErrorObject, ReferenceKind};

use crate::{BoxFuture, Context, Handler};

/// What is being completed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Completing {
    /// What is written so far.
    pub value: String,
    /// The other arguments that are decided already.
    pub arguments: BTreeMap<String, String>,
}

pub(crate) type CompleteFn =
    Arc<dyn Fn(Completing, &Context) -> BoxFuture<Result<CompleteResult, ErrorObject>> + Send + Sync>;

/// Which argument of which prompt (by name) or template (by template).
pub(crate) type CompletionKey = (String, String);

#[derive(Clone)]
pub(crate) struct CompletionEntry {
    pub(crate) run: CompleteFn,
    pub(crate) required: Vec<(TypeId, &'static str)>,
}

impl fmt::Debug for CompletionEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CompletionEntry")
    }
}

impl CompletionEntry {
    pub(crate) fn new<H, Marker, T>(handler: H) -> Self
    where
        H: Handler<Completing, Marker, Output = Vec<T>>,
        T: Into<String> + 'static,
    {
        let run: CompleteFn = Arc::new(move |completing, context| match handler.call(completing, context) {
            Ok(running) => Box::pin(async move { Ok(CompleteResult::new(running.await)) }),
            Err(missing) => {
                let error = ErrorObject::internal(format!("no State<{}>", missing.0));
                Box::pin(async move { Err(error) })
            }
        });
        Self {
            run,
            required: H::required(),
        }
    }
}

/// The key of a request.
pub(crate) fn key(params: &CompleteParams) -> Result<CompletionKey, ErrorObject> {
    let reference = &params.reference;
    let owner = match reference.kind {
        ReferenceKind::Prompt => reference.name.clone(),
        ReferenceKind::Resource => reference.uri.clone(),
        ReferenceKind::Other(_) => None,
    };
    let owner = owner.ok_or_else(|| ErrorObject::invalid_params("`ref` must name a prompt or a resource template"))?;
    Ok((owner, params.argument.name.clone()))
}
