//! Answers to what a server asks its client for, in both eras through one trait.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use serde::Serialize;
use serde_json::{Map, Value};
use tokio::task::JoinSet;
use trunkline_types::{
    ClientCapabilities, ClientFeature, CreateMessageParams, CreateMessageResult, ElicitParams, ElicitResult,
    ErrorObject, InputRequest, InputResponses, ListRootsResult, Root,
};

/// Questions that one answer of a server may hold.
pub const MAX_QUESTIONS: usize = 64;

/// What a client does for its server: asks the person, asks a model, lists folders.
///
/// Every method refuses unless it is written. What [`capabilities`](Self::capabilities) does not offer is
/// never asked. A legacy server asks by a request of its own, a modern one by its answer to a request of
/// the client's; here both are the same.
///
/// Answers run beside the connection: one that takes its time holds up nothing else. Its future is dropped
/// when the server does not want the answer any more, or when the call it belongs to is dropped.
///
/// ```
/// use trunkline_client::Inputs;
/// use trunkline_client::types::{
///     ClientCapabilities, ElicitParams, ElicitResult, ElicitationCapability, ErrorObject, form_defaults,
/// };
///
/// /// Answers every form with its defaults.
/// struct Defaults;
///
/// impl Inputs for Defaults {
///     fn capabilities(&self) -> ClientCapabilities {
///         ClientCapabilities { elicitation: Some(ElicitationCapability::default()), ..Default::default() }
///     }
///
///     async fn elicit(&self, params: ElicitParams) -> Result<ElicitResult, ErrorObject> {
///         match params {
///             ElicitParams::Form(form) => Ok(ElicitResult::accept(form_defaults(&form.requested_schema))),
///             _ => Ok(ElicitResult::decline()),
///         }
///     }
/// }
/// # let _ = Defaults.capabilities();
/// ```
pub trait Inputs: Send + Sync + 'static {
    /// What is offered. Asked once for each connection.
    fn capabilities(&self) -> ClientCapabilities {
        ClientCapabilities::default()
    }

    /// Asks the person. What is answered here never counts as consent to a tool call.
    fn elicit(&self, params: ElicitParams) -> impl Future<Output = Result<ElicitResult, ErrorObject>> + Send {
        let _ = params;
        async { Err(ErrorObject::invalid_request("this client does not ask people")) }
    }

    /// Asks a model.
    fn sample(
        &self,
        params: CreateMessageParams,
    ) -> impl Future<Output = Result<CreateMessageResult, ErrorObject>> + Send {
        let _ = params;
        async { Err(ErrorObject::invalid_request("this client has no model")) }
    }

    /// Lists the folders that the server may use.
    fn roots(&self) -> impl Future<Output = Result<Vec<Root>, ErrorObject>> + Send {
        async { Err(ErrorObject::invalid_request("this client has no roots")) }
    }
}

/// A client that does nothing for its server.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct NoInputs;

impl Inputs for NoInputs {}

type Answering<'a> = Pin<Box<dyn Future<Output = Result<Value, ErrorObject>> + Send + 'a>>;

/// [`Inputs`] as an object.
pub(crate) trait AnyInputs: Send + Sync {
    fn capabilities(&self) -> ClientCapabilities;
    fn answer(&self, request: InputRequest) -> Answering<'_>;
}

impl<I: Inputs> AnyInputs for I {
    fn capabilities(&self) -> ClientCapabilities {
        Inputs::capabilities(self)
    }

    fn answer(&self, request: InputRequest) -> Answering<'_> {
        Box::pin(async move {
            match request {
                InputRequest::Elicit(params) => to_json(self.elicit(params).await?),
                InputRequest::Sample(params) => to_json(self.sample(*params).await?),
                InputRequest::Roots(_) => to_json(ListRootsResult {
                    roots: self.roots().await?,
                    ..ListRootsResult::default()
                }),
                InputRequest::Other { method, .. } => Err(ErrorObject::method_not_found(&method)),
            }
        })
    }
}

fn to_json(result: impl Serialize) -> Result<Value, ErrorObject> {
    serde_json::to_value(result).map_err(|error| ErrorObject::internal(error.to_string()))
}

/// The inputs of one connection with what was declared of them.
#[derive(Clone)]
pub(crate) struct Answers {
    inputs: Arc<dyn AnyInputs>,
    capabilities: Arc<ClientCapabilities>,
}

impl Answers {
    pub(crate) fn new(inputs: Arc<dyn AnyInputs>) -> Self {
        let capabilities = Arc::new(inputs.capabilities());
        Self { inputs, capabilities }
    }

    pub(crate) fn capabilities(&self) -> &ClientCapabilities {
        &self.capabilities
    }

    /// Answers one question; a panic becomes an error.
    pub(crate) async fn answer(self, request: InputRequest) -> Result<Value, ErrorObject> {
        self.check_declared(&request)?;
        let method = request.method().to_owned();
        let mut answering = self.inputs.answer(request);
        poll_fn(|cx| {
            catch_unwind(AssertUnwindSafe(|| answering.as_mut().poll(cx))).unwrap_or_else(|_| {
                Poll::Ready(Err(ErrorObject::internal(format!(
                    "what answers `{method}` in the client panicked"
                ))))
            })
        })
        .await
    }

    /// What was not declared is not answered, whatever the server believes.
    fn check_declared(&self, request: &InputRequest) -> Result<(), ErrorObject> {
        let declared = &self.capabilities;
        let missing = match request {
            InputRequest::Elicit(_) if !declared.has(ClientFeature::Elicitation) => "elicitation",
            InputRequest::Elicit(ElicitParams::Form(_)) if !declared.form_elicitation() => "elicitation.form",
            InputRequest::Elicit(ElicitParams::Url(_)) if !declared.url_elicitation() => "elicitation.url",
            InputRequest::Elicit(ElicitParams::Other(_)) => {
                return Err(ErrorObject::invalid_params("this mode of elicitation is not known"));
            }
            InputRequest::Sample(_) if !declared.has(ClientFeature::Sampling) => "sampling",
            InputRequest::Sample(params) if params.tools.is_some() && !declared.sampling_tools() => "sampling.tools",
            InputRequest::Roots(_) if !declared.has(ClientFeature::Roots) => "roots",
            InputRequest::Other { method, .. } => return Err(ErrorObject::method_not_found(method)),
            InputRequest::Elicit(_) | InputRequest::Sample(_) | InputRequest::Roots(_) => return Ok(()),
        };
        Err(ErrorObject::invalid_params(format!(
            "`{}` was asked, but this client did not declare `{missing}`",
            request.method()
        )))
    }

    /// Answers all questions at once. The first that is refused ends them all: a request is sent again
    /// with all answers or not at all.
    pub(crate) async fn answer_all(&self, questions: &Map<String, Value>) -> Result<InputResponses, ErrorObject> {
        if questions.len() > MAX_QUESTIONS {
            let count = questions.len();
            return Err(ErrorObject::invalid_request(format!(
                "{count} questions at once, where {MAX_QUESTIONS} are allowed"
            )));
        }
        let mut running = JoinSet::new();
        for (key, question) in questions {
            let request: InputRequest = serde_json::from_value(question.clone())
                .map_err(|error| ErrorObject::invalid_params(format!("question {key:?} cannot be read: {error}")))?;
            self.check_declared(&request)?;
            let answering = self.clone().answer(request);
            let key = key.clone();
            running.spawn(async move { (key, answering.await) });
        }
        let mut answers: InputResponses = questions.keys().map(|key| (key.clone(), Value::Null)).collect();
        while let Some(answered) = running.join_next().await {
            let (key, answer) = answered.map_err(|error| ErrorObject::internal(error.to_string()))?;
            answers.insert(key, answer?);
        }
        Ok(answers)
    }
}
