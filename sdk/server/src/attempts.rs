//! The attempts at one request: it starts again each time that its client has answered.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};
use trunkline_proto::{Sealed, Sealer, Shape};
use trunkline_types::{ErrorObject, InputRequiredResult, JsonText, ResultType, clip};

use crate::context::{Origin, random_name};
use crate::dispatch::unwritable;
use crate::input::{Questions, Wanted, Wish, brought_key, shown_key};
use crate::registry::Shared;
use crate::task::Live;
use crate::{BoxFuture, Context, ServerRequest};

/// How often one request may ask its client before it is given up.
const MAX_ROUNDS: u32 = 16;
/// How long a client may take to answer a question in the modern era, in seconds.
const STATE_LIFETIME: u64 = 900;

/// Stands in for an answer that the client refused to give, so that the handler hears of it where it asked.
pub(crate) const REFUSED: &str = "io.trunkline/refused";

/// What a client sends along when it answers questions.
#[derive(Debug, Default)]
pub(crate) struct Answered {
    pub(crate) responses: Option<Map<String, Value>>,
    pub(crate) state: Option<String>,
}

pub(crate) enum Ran<T> {
    Done(T),
    Asks(JsonText),
}

/// The answers that a request has so far. Each attempt starts its handler from the beginning with them.
#[derive(Debug, Default)]
pub(crate) struct Attempts {
    answers: Map<String, Value>,
    round: u32,
    /// When the state that the client sent ends, and its name.
    state: Option<(u64, String)>,
}

/// One request as its client is asked for more: what it is, and what its answers look like.
pub(crate) struct Asking<'a> {
    pub(crate) request: &'a ServerRequest,
    pub(crate) shape: &'a Shape<'a>,
    /// The params that make the request what it is. Looked at only where a state is read or written.
    pub(crate) salient: &'a (dyn Fn() -> Value + Sync),
}

impl Asking<'_> {
    fn fingerprint(&self) -> String {
        Sealer::fingerprint(self.request.method.name(), &(self.salient)())
    }
}

/// A handler that runs. Dropping it tells tasks that the handler left behind.
pub(crate) struct Attempt<T> {
    running: BoxFuture<T>,
    questions: Arc<Mutex<Questions>>,
}

/// Where an attempt stops.
pub(crate) enum Stop<T> {
    Done(T),
    Wishes(Wish),
}

impl<T> Attempt<T> {
    fn questions(&self) -> MutexGuard<'_, Questions> {
        self.questions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs the handler until it is done or cannot go on.
    pub(crate) async fn stop(&mut self) -> Stop<T> {
        poll_fn(|cx| match self.running.as_mut().poll(cx) {
            Poll::Ready(done) => Poll::Ready(Stop::Done(done)),
            Poll::Pending => self.questions().poll_wish(cx).map(Stop::Wishes),
        })
        .await
    }

    /// Tells the handler that its request goes on as a task, or that it does not.
    pub(crate) fn decide(&self, task: Option<Arc<Live>>) {
        self.questions().decide(task);
    }
}

impl<T> Drop for Attempt<T> {
    fn drop(&mut self) {
        self.questions().end();
    }
}

impl Attempts {
    /// Whether nothing was asked yet.
    pub(crate) fn is_first(&self) -> bool {
        self.round == 0
    }

    /// The first attempt, or the next one if the client answers questions of an earlier one. Before the modern era
    /// there is nothing of the kind, and it is not looked at.
    pub(crate) fn open(
        asking: &Asking<'_>,
        answered: impl FnOnce() -> Result<Answered, ErrorObject>,
    ) -> Result<Self, ErrorObject> {
        if !asking.request.origin.profile.input_required {
            return Ok(Self::default());
        }
        Self::answered(asking, answered()?)
    }

    fn answered(asking: &Asking<'_>, answered: Answered) -> Result<Self, ErrorObject> {
        let mut attempts = Self::default();
        let request = asking.request;
        let given = answered.responses.unwrap_or_default();
        check_answers(&given)?;
        let Some(state) = answered.state else {
            // Nothing was asked yet. What a question is named for is kept for it.
            let named = given
                .into_iter()
                .filter_map(|(key, answer)| Some((brought_key(&key)?, answer)));
            attempts.answers = named.collect();
            return Ok(attempts);
        };
        let sealer = request.origin.shared.sealer().ok_or_else(no_randomness)?;
        let sealed = sealer
            .open(&state, seconds_now(), &request.origin.principal, &asking.fingerprint())
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

    /// Takes note that the client's state is used. A state serves once, or a yes could be cashed in many
    /// times. It counts from where the handler starts: who is turned away before may come again with it.
    pub(crate) fn spend(&mut self, shared: &Shared) -> Result<(), ErrorObject> {
        if let Some((expires, nonce)) = self.state.take()
            && !shared.spend_state(seconds_now(), expires, nonce)
        {
            return Err(ErrorObject::invalid_params(
                "requestState was used already; send the request again without it",
            ));
        }
        Ok(())
    }

    /// Starts the handler with the answers so far, which it gives back when it stops.
    pub(crate) fn begin<T>(
        &mut self,
        origin: &Arc<Origin>,
        task: Option<Arc<Live>>,
        start: impl FnOnce(&Context) -> Result<BoxFuture<T>, ErrorObject>,
    ) -> Result<Attempt<T>, ErrorObject> {
        let answers = std::mem::take(&mut self.answers);
        let questions = Arc::new(Mutex::new(Questions::new(answers, task)));
        let context = Context::asking(Arc::clone(origin), Arc::clone(&questions));
        let running = start(&context)?;
        Ok(Attempt { running, questions })
    }

    /// Ends an attempt that waits for answers, and counts one more round of questions.
    pub(crate) fn next_round<T>(&mut self, stopped: Attempt<T>) -> Result<(), ErrorObject> {
        self.answers = stopped.questions().take_answers();
        drop(stopped);
        self.round += 1;
        if self.round > MAX_ROUNDS {
            return Err(ErrorObject::internal(format!(
                "the client was asked {MAX_ROUNDS} times without an end"
            )));
        }
        Ok(())
    }

    /// Takes the answers of one round.
    pub(crate) fn take_answers(&mut self, answers: Map<String, Value>) {
        self.answers.extend(answers);
    }

    /// Runs until the handler is done, or, in the modern era, until it asks. It never becomes a task.
    pub(crate) async fn run<T>(
        &mut self,
        asking: &Asking<'_>,
        mut start: impl FnMut(&Context) -> Result<BoxFuture<T>, ErrorObject>,
    ) -> Result<Ran<T>, ErrorObject> {
        self.spend(&asking.request.origin.shared)?;
        loop {
            let mut attempt = self.begin(&asking.request.origin, None, &mut start)?;
            let wanted = loop {
                match attempt.stop().await {
                    Stop::Done(done) => return Ok(Ran::Done(done)),
                    Stop::Wishes(Wish::Answers(wanted)) => break wanted,
                    Stop::Wishes(Wish::Task) => attempt.decide(None),
                }
            };
            self.next_round(attempt)?;
            // In a box: most requests ask nothing, and are smaller without it.
            if let Some(reply) = Box::pin(self.ask(asking, wanted)).await? {
                return Ok(Ran::Asks(reply));
            }
        }
    }

    /// Asks the client: by a result, which is returned, or by requests, whose answers are taken here.
    pub(crate) async fn ask(
        &mut self,
        asking: &Asking<'_>,
        wanted: Vec<Wanted>,
    ) -> Result<Option<JsonText>, ErrorObject> {
        if asking.request.origin.profile.input_required {
            return self.ask_by_result(asking, wanted).map(Some);
        }
        self.ask_by_request(asking.request, wanted).await.map(|()| None)
    }

    /// Modern: the questions are the result, and the state travels with them.
    fn ask_by_result(&self, asking: &Asking<'_>, wanted: Vec<Wanted>) -> Result<JsonText, ErrorObject> {
        let request = asking.request;
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
            request: asking.fingerprint(),
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
        asking
            .shape
            .write(&mut result, &ResultType::InputRequired)
            .map_err(unwritable)
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

/// Every answer is an object, whatever its question
/// ([answers](https://modelcontextprotocol.io/specification/2026-07-28/schema#inputresponses)).
pub(crate) fn check_answers(given: &Map<String, Value>) -> Result<(), ErrorObject> {
    if let Some((key, _)) = given.iter().find(|(_, answer)| !answer.is_object()) {
        let why = format!("invalid params: the answer to `{}` is no object", clip(key));
        return Err(ErrorObject::invalid_params(why));
    }
    Ok(())
}

pub(crate) fn no_randomness() -> ErrorObject {
    ErrorObject::internal("the system gives no randomness, without which nothing can be named safely")
}

fn seconds_now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |passed| passed.as_secs())
}
