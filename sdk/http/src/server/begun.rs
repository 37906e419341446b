//! What became of a request at once, and the wait for the rest.

use std::sync::Arc;

use super::body::{Events, OnLeave, Source};
use super::options::Options;
use super::reply::{self, Response};
use super::stream::{Begin, Stream};

/// What became of a request at once.
#[derive(Debug)]
pub(super) enum Begun {
    /// It is answered.
    Answered(Response),
    /// It is answered when its stream has something to say.
    Waits(Waiting),
}

impl<R: Into<Response>> From<R> for Begun {
    fn from(answer: R) -> Self {
        Self::Answered(answer.into())
    }
}

impl Begun {
    /// Waits for the answer to begin.
    pub(super) async fn answer(self, options: &Options) -> Response {
        match self {
            Self::Answered(response) => response,
            Self::Waits(waiting) => waiting.answer(options).await,
        }
    }
}

/// A request whose answer did not begin. Dropping it tells that its client is gone.
#[derive(Debug)]
pub(super) struct Waiting {
    stream: Arc<Stream>,
    on_leave: OnLeave,
}

impl Waiting {
    pub(super) fn new(stream: Arc<Stream>, on_leave: OnLeave) -> Self {
        Self { stream, on_leave }
    }

    /// One message if that is all there is to say, and events otherwise.
    async fn answer(self, options: &Options) -> Response {
        let Self { stream, on_leave } = self;
        match (stream.begin(options).await, &on_leave) {
            (Begin::Whole(status, answer), _) => reply::message(status, answer),
            (Begin::Nothing, OnLeave::Pause(attending)) if attending.session().has_ended() => reply::gone().into(),
            (Begin::Nothing, _) => reply::no_events(),
            (Begin::Events, _) => {
                let mut opening = Vec::new();
                if let OnLeave::Pause(attending) = &on_leave {
                    attending.session().keep(&stream);
                    stream.prime(&mut opening);
                }
                let carrier = stream.carry();
                let events = Events::new(stream, carrier, Source::Handler, on_leave, options.keep_alive);
                reply::events(events.opening(opening))
            }
        }
    }
}
