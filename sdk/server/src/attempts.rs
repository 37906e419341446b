//! The attempts at one request: it starts again each time that its client has answered.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use trunkline_proto::{Sealed, Sealer, Shape};
use trunkline_types::{ErrorObject, InputRequiredResult, ResultType, clip};

use crate::context::random_name;
use crate::dispatch::unwritable;
use crate::input::{Questions, Wanted, brought_key, shown_key};
use crate::{BoxFuture, Context, ServerRequest};

/// How often one request may ask its client before it is given up.
const MAX_ROUNDS: u32 = 16;
/// How long a client may take to answer a question in the modern era, in seconds.
const STATE_LIFETIME: u64 = 900;

/// Stands in for an answer that the client refused to give, so that the handler hears of it where it asked.
pub(crate) const REFUSED: &str = "io.trunkline/refused";

/// What a client sends along when it answers questions.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Answered {
    input_responses: Option<Map<String, Value>>,
    request_state: Option<String>,
}

pub(crate) enum Ran<T> {
    Done(T),
    Asks(Box<RawValue>),
}

pub(crate) struct Attempts<S> {
    /// The params that make the request what it is. Looked at only where a state is read or written.
    salient: S,
    answers: Map<String, Value>,
    round: u32,
    /// When the state that the client sent ends, and its name.
    state: Option<(u64, String)>,
}

/// The questions of one attempt. Dropping it tells tasks that the handler left behind.
struct Attempt(Arc<Mutex<Questions>>);

impl Attempt {
    fn questions(&self) -> MutexGuard<'_, Questions> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        self.questions().end();
    }
}

impl<S: Fn() -> Value> Attempts<S> {
    /// Whether nothing was asked yet.
    pub(crate) fn is_first(&self) -> bool {
        self.round == 0
    }

    /// The first attempt, or the next one if the client answers questions of an earlier one.
    pub(crate) fn open(request: &ServerRequest, salient: S) -> Result<Self, ErrorObject> {
        let mut attempts = Self {
            salient,
            answers: Map::new(),
            round: 0,
            state: None,
        };
        let Some(params) = request
            .params
            .as_deref()
            .map(RawValue::get)
            .filter(|_| request.origin.profile.input_required)
        else {
            return Ok(attempts);
        };
        // Almost every request carries neither; then its params are not read again.
        let answered: Answered = if params.contains("requestState") || params.contains("inputResponses") {
            serde_json::from_str(params)
                .map_err(|error| ErrorObject::invalid_params(format!("invalid params: {error}")))?
        } else {
            Answered::default()
        };
        let given = answered.input_responses.unwrap_or_default();
        if let Some((key, _)) = given.iter().find(|(_, answer)| !answer.is_object()) {
            let why = format!("invalid params: the answer to `{}` is no object", clip(key));
            return Err(ErrorObject::invalid_params(why));
        }
        let Some(state) = answered.request_state else {
            // Nothing was asked yet. What a question is named for is kept for it.
            let named = given
                .into_iter()
                .filter_map(|(key, answer)| Some((brought_key(&key)?, answer)));
            attempts.answers = named.collect();
            return Ok(attempts);
        };
        let sealer = request.origin.shared.sealer().ok_or_else(no_randomness)?;
        let sealed = sealer
            .open(
                &state,
                seconds_now(),
                &request.origin.principal,
                &attempts.fingerprint(request),
            )
            .map_err(|error| ErrorObject::invalid_params(error.to_string()))?;
        attempts.answers = sealed.answers;
        // Only what was asked for counts; anything else is ignored
        // (https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr#error-handling).
        for (key, answer) in given {
            if let Some(asked) = sealed.asked.iter().find(|asked| shown_key(asked) == key) {
                attempts.answers.insert(asked.clone(), answer);
            }
        }
        (attempts.round, attempts.state) = (sealed.round, Some((sealed.expires, sealed.nonce)));
        Ok(attempts)
    }

    fn fingerprint(&self, request: &ServerRequest) -> String {
        Sealer::fingerprint(request.method.name(), &(self.salient)())
    }

    /// Runs until the handler is done, or, in the modern era, until it asks.
    pub(crate) async fn run<T>(
        &mut self,
        request: &ServerRequest,
        shape: &Shape<'_>,
        start: impl Fn(&Context) -> Result<BoxFuture<T>, ErrorObject>,
    ) -> Result<Ran<T>, ErrorObject> {
        // A state serves once, or a yes could be cashed in many times. It counts from here, where the handler
        // starts: who is turned away before may come again with it.
        if let Some((expires, nonce)) = self.state.take()
            && !request.origin.shared.spend_state(seconds_now(), expires, nonce)
        {
            return Err(ErrorObject::invalid_params(
                "requestState was used already; send the request again without it",
            ));
        }
        loop {
            let questions = Arc::new(Mutex::new(Questions::with_answers(self.answers.clone())));
            let attempt = Attempt(Arc::clone(&questions));
            let context = Context::asking(Arc::clone(&request.origin), questions);
            let mut running = start(&context)?;
            let stopped = poll_fn(|cx| match running.as_mut().poll(cx) {
                Poll::Ready(done) => Poll::Ready(Ok(done)),
                Poll::Pending => attempt.questions().poll_wanted(cx).map(Err),
            })
            .await;
            drop(running);
            drop(attempt);
            let wanted = match stopped {
                Ok(done) => return Ok(Ran::Done(done)),
                Err(wanted) => wanted,
            };
            self.round += 1;
            if self.round > MAX_ROUNDS {
                return Err(ErrorObject::internal(format!(
                    "the client was asked {MAX_ROUNDS} times without an end"
                )));
            }
            if request.origin.profile.input_required {
                return self.ask_by_result(request, shape, wanted).map(Ran::Asks);
            }
            self.ask_by_request(request, wanted).await?;
        }
    }

    /// Modern: the questions are the result, and the state travels with them.
    fn ask_by_result(
        &self,
        request: &ServerRequest,
        shape: &Shape<'_>,
        wanted: Vec<Wanted>,
    ) -> Result<Box<RawValue>, ErrorObject> {
        let mut questions = Map::new();
        let mut asked = Vec::with_capacity(wanted.len());
        for (key, question) in wanted {
            let question = serde_json::to_value(&question).map_err(unwritable)?;
            questions.insert(shown_key(&key).to_owned(), question);
            asked.push(key);
        }
        let sealed = Sealed {
            principal: request.origin.principal.clone(),
            expires: seconds_now() + STATE_LIFETIME,
            nonce: random_name().ok_or_else(no_randomness)?,
            request: self.fingerprint(request),
            round: self.round,
            asked,
            answers: self.answers.clone(),
        };
        let sealer = request.origin.shared.sealer().ok_or_else(no_randomness)?;
        let state = sealer
            .seal(&sealed)
            .map_err(|error| ErrorObject::invalid_params(error.to_string()))?;
        let mut result = InputRequiredResult {
            input_requests: questions,
            request_state: Some(state),
            ..InputRequiredResult::default()
        };
        shape.write(&mut result, &ResultType::InputRequired).map_err(unwritable)
    }

    /// Legacy: each question is a request of the server's own.
    async fn ask_by_request(&mut self, request: &ServerRequest, wanted: Vec<Wanted>) -> Result<(), ErrorObject> {
        let over = || ErrorObject::internal("the connection is over");
        let mut waiting = Vec::with_capacity(wanted.len());
        for (key, question) in wanted {
            waiting.push((key, request.origin.outlet.ask(question).await));
        }
        for (key, answered) in waiting {
            let answer = answered.await.map_err(|_| over())?;
            let value = answer.unwrap_or_else(|error| json!({ REFUSED: error.to_string() }));
            self.answers.insert(key, value);
        }
        Ok(())
    }
}

fn no_randomness() -> ErrorObject {
    ErrorObject::internal("the system gives no randomness to seal the request's state with")
}

fn seconds_now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |passed| passed.as_secs())
}
