//! What a handler knows of its request, and what it may do beside answering it.

use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Number, Value};
use tokio::sync::{mpsc, oneshot};
use trunkline_proto::Sealer;
use trunkline_proto::server::{AskError, Change, ClientFacts};
use trunkline_schema::Schema;
use trunkline_types::{
    ClientFeature, CreateMessageParams, CreateMessageResult, ElicitParams, ElicitationForms, Extra, InputRequest,
    ListRootsResult, LogLevel, LogMessage, Meta, Method, Profile, Progress, RequestMeta, Root, encode,
};

use crate::attempts::REFUSED;
use crate::input::{Continued, Elicited, InputError, Next, Questions, read_form};
use crate::registry::Shared;
use crate::schemas::{check_form, form_schema};
use crate::task::Live;

/// How many notices one connection holds for its client before further ones are dropped.
pub(crate) const NOTICES_HELD: usize = 1024;

/// The longest that a client is asked to stay away.
const LONGEST_RETRY: Duration = Duration::from_secs(60);

/// What a handler sends beside its answer.
#[derive(Debug)]
pub(crate) enum Outbound {
    /// A notification, encoded.
    Notice(Vec<u8>),
    /// A request to the client (legacy).
    Ask(Box<InputRequest>, oneshot::Sender<Result<Value, AskError>>),
}

/// Where it goes.
#[derive(Debug)]
pub(crate) enum Outlet {
    /// To the driver of a connection that all requests share.
    Connection(mpsc::Sender<Outbound>),
    /// To the request's own exchange over HTTP.
    #[cfg(feature = "http")]
    Exchange(Arc<dyn trunkline_http::server::Outlet>),
}

impl Outlet {
    /// Sends a notice, unless too many wait already: notices are hints.
    fn notify(&self, message: Vec<u8>) {
        match self {
            // Full: the client is slow. Closed: the connection is over.
            Self::Connection(driver) => drop(driver.try_send(Outbound::Notice(message))),
            #[cfg(feature = "http")]
            Self::Exchange(exchange) => exchange.notify(message),
        }
    }

    /// Asks the client (legacy). The receiver is closed if the connection is over.
    pub(crate) async fn ask(&self, request: InputRequest) -> oneshot::Receiver<Result<Value, AskError>> {
        let (answer, answered) = oneshot::channel();
        match self {
            // Closed: the connection is over, and with it the answer.
            Self::Connection(driver) => drop(driver.send(Outbound::Ask(Box::new(request), answer)).await),
            #[cfg(feature = "http")]
            Self::Exchange(exchange) => exchange.ask(request, answer),
        }
        answered
    }

    #[cfg_attr(
        not(feature = "http"),
        expect(unused_variables, reason = "only HTTP has a stream to let go of")
    )]
    fn release(&self, retry: Duration) {
        match self {
            Self::Connection(_) => {}
            #[cfg(feature = "http")]
            Self::Exchange(exchange) => exchange.release(retry),
        }
    }
}

/// What is known of a request, the same for each attempt at it.
#[derive(Debug)]
pub(crate) struct Origin {
    pub(crate) shared: Arc<Shared>,
    pub(crate) profile: &'static Profile,
    pub(crate) client: Arc<ClientFacts>,
    pub(crate) meta: Arc<RequestMeta>,
    pub(crate) log_level: Option<LogLevel>,
    pub(crate) principal: String,
    pub(crate) outlet: Outlet,
    pub(crate) sending: Mutex<Sending>,
    /// What the ids of visits are made from: unknown to others, the same for each attempt.
    pub(crate) seed: OnceLock<String>,
}

/// What was sent beside the answer.
#[derive(Debug, Default)]
pub(crate) struct Sending {
    /// The request has its answer, or needs none any more.
    over: bool,
    /// The last progress value that was sent; it may only grow.
    progress: Option<f64>,
}

impl Origin {
    fn sending(&self) -> MutexGuard<'_, Sending> {
        self.sending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on nothing is sent for the request but its answer.
    pub(crate) fn end(&self) {
        self.sending().over = true;
    }

    /// Sends a notice unless the request is over. The lock is held meanwhile, so that what is sent before
    /// the end is also queued before it, and progress leaves in the order of its values.
    fn send(&self, sending: &Sending, message: serde_json::Result<Vec<u8>>) {
        if sending.over {
            return;
        }
        if let Ok(message) = message {
            self.outlet.notify(message);
        }
    }

    /// An id that nobody can guess, for the visit at this place among the questions of the request.
    fn visit_id(&self, place: u32) -> Result<String, InputError> {
        let seed = if let Some(seed) = self.seed.get() {
            seed
        } else {
            let fresh = random_name().ok_or_else(|| InputError::Unusable("the system gives no randomness".into()))?;
            self.seed.get_or_init(|| fresh)
        };
        Ok(Sealer::fingerprint(seed, &place.into()))
    }
}

/// A random name of 32 hexadecimal digits. `None` if the system has no randomness.
pub(crate) fn random_name() -> Option<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).ok()?;
    Some(bytes.iter().fold(String::with_capacity(32), |mut name, byte| {
        let digit = |half: u8| char::from_digit(half.into(), 16).unwrap_or_default();
        name.extend([digit(byte >> 4), digit(byte & 15)]);
        name
    }))
}

/// One request, as its handler sees it: the same in every revision and over every transport.
///
/// A context is cheap to clone. It may outlive the request; what it sends then goes nowhere.
#[derive(Debug, Clone)]
pub struct Context {
    origin: Arc<Origin>,
    /// Only there where the client may be asked.
    questions: Option<Arc<Mutex<Questions>>>,
    /// What the client knows the next question by.
    name: Option<Arc<str>>,
}

impl Context {
    /// A context that may not ask.
    pub(crate) fn silent(origin: Arc<Origin>) -> Self {
        Self {
            origin,
            questions: None,
            name: None,
        }
    }

    /// A context that asks through these questions.
    pub(crate) fn asking(origin: Arc<Origin>, questions: Arc<Mutex<Questions>>) -> Self {
        Self {
            origin,
            questions: Some(questions),
            name: None,
        }
    }

    /// The facts of the revision that the request speaks.
    pub fn profile(&self) -> &'static Profile {
        self.origin.profile
    }

    /// The client: who it says it is, and what it can do.
    pub fn client(&self) -> &ClientFacts {
        &self.origin.client
    }

    /// The metadata of the request.
    pub fn meta(&self) -> &RequestMeta {
        &self.origin.meta
    }

    /// Who was authenticated; empty where nobody was.
    pub fn principal(&self) -> &str {
        &self.origin.principal
    }

    /// A state that was given to the server by [`Server::state`](crate::Server::state).
    pub fn state<S: Any + Send + Sync>(&self) -> Option<Arc<S>> {
        self.origin.shared.state()
    }

    /// Reports how far the request is: `progress` of `total`, which may be unknown.
    ///
    /// Nothing is sent if the client did not ask for progress, or if the value did not grow
    /// ([rule](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/progress#progress-flow)).
    /// A client that does not read fast enough misses some.
    ///
    /// In a task, the message becomes the one that the task shows, and the numbers go nowhere: tasks have no
    /// progress of their own
    /// ([rule](https://modelcontextprotocol.io/seps/2663-tasks-extension#task-status-notifications)).
    pub fn progress(&self, progress: f64, total: Option<f64>, message: &str) {
        if let Some(task) = self.task() {
            if !message.is_empty() {
                task.say(message);
            }
            return;
        }
        let Some(token) = &self.origin.meta.progress_token else {
            return;
        };
        let Some(value) = number(progress) else { return };
        let mut sending = self.origin.sending();
        if sending.progress.is_some_and(|last| progress <= last) {
            return;
        }
        sending.progress = Some(progress);
        let notice = Progress {
            progress_token: token.clone(),
            progress: value,
            total: total.and_then(number),
            message: (self.origin.profile.progress_message && !message.is_empty()).then(|| message.to_owned()),
            meta: Meta::new(),
            extra: Extra::new(),
        };
        let notice = encode::notification(Method::ProgressNotice.name(), Some(&notice));
        self.origin.send(&sending, notice);
    }

    /// Sends a log message, if the client wants messages of this level for this request.
    ///
    /// Never put secrets into it. A client that does not read fast enough misses some.
    pub fn log(&self, level: LogLevel, data: impl Into<Value>) {
        if self.origin.log_level.is_none_or(|wanted| level < wanted) {
            return;
        }
        let logger = Some(self.origin.shared.name());
        let message = LogMessage {
            level,
            logger,
            data: data.into(),
            meta: Meta::new(),
            extra: Extra::new(),
        };
        let message = encode::notification(Method::LogNotice.name(), Some(&message));
        self.origin.send(&self.origin.sending(), message);
    }

    /// Goes on as a task from here, if the tool was registered for it
    /// ([`TaskSupport::on_demand`](crate::TaskSupport::on_demand)) and the client can follow one. The client
    /// then gets a task in place of the result, and the handler runs on without it. Whether it does: where it
    /// does not, the call stays an ordinary one. In what is a task already nothing changes.
    ///
    /// When the handler asks something afterwards, it starts again with the answer, as always. So come here
    /// again each time, and change nothing before the last question.
    ///
    /// # Errors
    /// [`InputError::Over`] if the request was answered, cancelled or started again meanwhile.
    pub async fn continue_as_task(&self) -> Result<bool, InputError> {
        let Some(questions) = &self.questions else {
            return Ok(false);
        };
        let continued = {
            let mut questions = questions.lock().unwrap_or_else(PoisonError::into_inner);
            questions.continue_as_task()?
        };
        match continued {
            Continued::Known(known) => Ok(known),
            Continued::Wait(decision) => decision.await.map_err(|_| InputError::Over),
        }
    }

    /// The task that the request is, as long as this attempt at it runs.
    fn task(&self) -> Option<Arc<Live>> {
        let questions = self.questions.as_ref()?;
        let questions = questions.lock().unwrap_or_else(PoisonError::into_inner);
        questions.task().cloned()
    }

    /// Lets go of the HTTP connection that the client waits on, if it may come back for the rest: it is asked to
    /// do so after `retry`, at most a minute
    /// ([polling](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#sending-messages-to-the-server)).
    /// For work that takes long, where a connection is dear. What is sent meanwhile is kept for it. Without
    /// effect over other transports and in other revisions.
    pub fn release_stream(&self, retry: Duration) {
        self.origin.outlet.release(retry.min(LONGEST_RETRY));
    }

    /// Announces that what a resource holds changed, to every client that watches it.
    pub fn resource_changed(&self, uri: impl Into<String>) {
        self.origin.shared.announce(&Change::Resource(uri.into()));
    }

    /// The same request, whose next question the client knows by a name: in the modern era it is the key of the
    /// question and of its answer
    /// ([keys](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr#inputrequests)).
    /// Without one the key is made by the server, and tells the client nothing.
    ///
    /// A client that knows the name may bring the answer along with its first request, and is then not asked. So
    /// name only what need not have been shown to anybody. A name has 1 to 64 letters, digits, `_`, `-` or `.`,
    /// begins with a letter, and stands for one question of a request.
    ///
    /// ```
    /// use schemars::JsonSchema;
    /// use serde::Deserialize;
    /// use trunkline_server::{Context, InputError, NoArguments, Server};
    ///
    /// /// What the person is asked.
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Name {
    ///     name: String,
    /// }
    ///
    /// async fn greet(_: NoArguments, context: Context) -> Result<String, InputError> {
    ///     let Name { name } = context.named("user_name").elicit("What is your name?").await?;
    ///     Ok(format!("Hello, {name}!"))
    /// }
    ///
    /// let server = Server::new("greeter", "1.0.0").tool("greet", greet);
    /// assert!(server.check().is_ok());
    /// ```
    #[must_use]
    pub fn named(&self, name: &str) -> Self {
        Self {
            name: Some(name.into()),
            ..self.clone()
        }
    }

    /// Asks the person to fill in a form, whose fields are those of `T`, and takes a no for an error.
    ///
    /// The fields must be primitive: text, numbers, booleans, and enums of names. Change nothing before
    /// you ask: the handler starts again when the answer is there. It must then ask the same, to the
    /// letter, unless what it asks about really changed: an answer serves only the question that was
    /// shown. A clock or a random number in the message makes a new question of it each time, and the
    /// third change is an error.
    ///
    /// # Errors
    /// If the client cannot show forms, the person declines, the answer does not fit, or the question
    /// changes with each attempt.
    pub async fn elicit<T: DeserializeOwned + JsonSchema>(&self, message: impl Into<String>) -> Result<T, InputError> {
        match self.elicit_or_not(message).await? {
            Elicited::Accepted(answer) => Ok(answer),
            Elicited::Declined => Err(InputError::Declined),
            Elicited::Cancelled => Err(InputError::Cancelled),
        }
    }

    /// Asks the person to fill in a form, and tells a no from an answer. The message must be the same at
    /// each attempt: see [`elicit`](Self::elicit).
    ///
    /// # Errors
    /// If the client cannot show forms, or the answer does not fit.
    pub async fn elicit_or_not<T: DeserializeOwned + JsonSchema>(
        &self,
        message: impl Into<String>,
    ) -> Result<Elicited<T>, InputError> {
        let schema = form_schema::<T>().map_err(InputError::Unusable)?;
        self.elicit_form(message, schema).await
    }

    /// Asks the person to fill in a form with a schema made by hand. Its fields must be primitive, as those
    /// of a form from a type, and message and schema the same at each attempt: see [`elicit`](Self::elicit).
    ///
    /// # Errors
    /// If the client cannot show forms, the schema is none of a form in the revision spoken, or the answer
    /// does not fit.
    pub async fn elicit_form<T: DeserializeOwned>(
        &self,
        message: impl Into<String>,
        schema: Value,
    ) -> Result<Elicited<T>, InputError> {
        let compiled = Schema::compile(&schema);
        let several = self.origin.profile.elicitation == ElicitationForms::FormAndUrl;
        let fits = check_form(&schema, several);
        let question = InputRequest::Elicit(ElicitParams::form(message, schema));
        self.check_supported(&question)?;
        fits.map_err(InputError::Unusable)?;
        let compiled = compiled.map_err(|error| InputError::Unusable(error.to_string()))?;
        let answer = self.ask(question).await?;
        read_form(answer, |content| {
            compiled.check(content).map_err(|mismatch| mismatch.to_string())
        })
    }

    /// Asks the person to visit an address. Accepted means that the person agreed to go there, not that
    /// anything was done there. Message and address must be the same at each attempt: see
    /// [`elicit`](Self::elicit).
    ///
    /// # Errors
    /// If the client cannot send a person anywhere.
    pub async fn elicit_url(
        &self,
        message: impl Into<String>,
        url: impl Into<String>,
    ) -> Result<Elicited<()>, InputError> {
        let answer = self.ask(InputRequest::Elicit(ElicitParams::url(message, url))).await?;
        let visited: Elicited<Value> = read_form(answer, |_| Ok(()))?;
        Ok(match visited {
            Elicited::Accepted(_) => Elicited::Accepted(()),
            Elicited::Declined => Elicited::Declined,
            Elicited::Cancelled => Elicited::Cancelled,
        })
    }

    /// Asks the client's model.
    ///
    /// # Errors
    /// If the client has no model for servers, or refuses.
    pub async fn sample(&self, params: CreateMessageParams) -> Result<CreateMessageResult, InputError> {
        let answer = self.ask(InputRequest::Sample(Box::new(params))).await?;
        serde_json::from_value(answer).map_err(|error| InputError::Unreadable(error.to_string()))
    }

    /// Asks for the client's roots.
    ///
    /// # Errors
    /// If the client has no roots, or refuses.
    pub async fn roots(&self) -> Result<Vec<Root>, InputError> {
        let answer = self.ask(InputRequest::Roots(Extra::new())).await?;
        let result: ListRootsResult =
            serde_json::from_value(answer).map_err(|error| InputError::Unreadable(error.to_string()))?;
        Ok(result.roots)
    }

    async fn ask(&self, mut request: InputRequest) -> Result<Value, InputError> {
        let questions = self.questions.as_ref().ok_or(InputError::NotHere)?;
        self.check_supported(&request)?;
        let next = {
            let mut questions = questions.lock().unwrap_or_else(PoisonError::into_inner);
            if let (true, InputRequest::Elicit(ElicitParams::Url(visit))) =
                (self.origin.profile.elicitation_id, &mut request)
            {
                visit.elicitation_id = Some(self.origin.visit_id(questions.place())?);
            }
            questions.next(self.name.as_deref(), request)?
        };
        match next {
            Next::Answer(answer) => match answer.get(REFUSED).and_then(Value::as_str) {
                Some(why) => Err(InputError::Refused(why.to_owned())),
                None => Ok(answer),
            },
            // The dispatcher sees the question, drops this attempt and starts another with the answer.
            // Only a task of the handler's own lives to see the end of the attempt.
            Next::Wait(over) => {
                let _ = over.await;
                Err(InputError::Over)
            }
        }
    }

    fn check_supported(&self, request: &InputRequest) -> Result<(), InputError> {
        let capabilities = &self.origin.client.capabilities;
        let profile = self.origin.profile;
        let (feature, supported, required) = match request {
            InputRequest::Elicit(ElicitParams::Url(_)) => (
                ClientFeature::Elicitation,
                capabilities.url_elicitation() && profile.elicitation == ElicitationForms::FormAndUrl,
                serde_json::json!({ "elicitation": { "url": {} } }),
            ),
            InputRequest::Elicit(_) => (
                ClientFeature::Elicitation,
                capabilities.form_elicitation() && profile.elicitation != ElicitationForms::Absent,
                serde_json::json!({ "elicitation": { "form": {} } }),
            ),
            InputRequest::Sample(params) if params.tools.is_some() || params.tool_choice.is_some() => (
                ClientFeature::Sampling,
                capabilities.sampling_tools() && profile.sampling_tools,
                serde_json::json!({ "sampling": { "tools": {} } }),
            ),
            InputRequest::Sample(_) => (
                ClientFeature::Sampling,
                capabilities.sampling.is_some(),
                serde_json::json!({ "sampling": {} }),
            ),
            InputRequest::Roots(_) | InputRequest::Other { .. } => (
                ClientFeature::Roots,
                capabilities.roots.is_some(),
                serde_json::json!({ "roots": {} }),
            ),
        };
        if supported {
            return Ok(());
        }
        Err(InputError::NotSupported {
            feature,
            required: profile.input_required.then_some(required),
        })
    }
}

/// Whole numbers are written without a fraction; what JSON cannot express is not written at all.
fn number(value: f64) -> Option<Number> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    #[expect(clippy::cast_possible_truncation, reason = "checked to be whole and within 53 bits")]
    if value.fract() == 0.0 && value.abs() < EXACT {
        return Some(Number::from(value as i64));
    }
    Number::from_f64(value)
}
