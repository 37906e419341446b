//! One HTTP request and what comes back: a body, a stream of events, or a refusal.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::header::{self, HeaderMap};
use http::{Response, StatusCode};
use hyper::body::Incoming;
use tokio::time::{Sleep, sleep};

use super::failure::{Failure, Refusal};
use super::links::{Link, LinkedBody};
use super::sender::{Fetch, Outline, Sender};
use crate::sse::{Decoded, Decoder, Event};

/// How much of the body of a refusal is read.
const MAX_REFUSAL: usize = 64 * 1024;
/// How much of a body that nobody wants is read, so that its connection can be used again.
const MAX_DRAINED: usize = 64 * 1024;
/// How much of a body that is too long is kept to show.
const SHOWN: usize = 1024;
/// How long the rest of a body that matters little may take.
const REST: Duration = Duration::from_secs(5);

/// What an answer may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wants {
    /// One JSON text, or a stream of events.
    Answer,
    /// A stream of events.
    Events,
    /// Nothing but its status.
    Nothing,
}

/// What an exchange brought.
#[derive(Debug)]
pub(crate) enum Step {
    /// The head of an answer that is wanted.
    Opened(HeaderMap),
    /// The whole body, one JSON text. It is the last step.
    Whole(Bytes),
    /// An event of a stream.
    Event(Event),
    /// A body or an event longer than the limit. After a body it is the last step but for its end.
    TooLong(Bytes),
    /// An answer that is not wanted. It is the last step.
    Refused(Refusal),
    /// There is no answer. It is the last step.
    Failed(Failure),
    /// The body has ended, or broke off: then it says why. It is the last step.
    Ended(Option<String>),
}

#[derive(Debug)]
pub(crate) struct Exchange {
    wants: Wants,
    limit: usize,
    stage: Stage,
    /// The end of the present wait, where there is one.
    timer: Option<Pin<Box<Sleep>>>,
    /// The last id of the stream, kept when it is over.
    last_event_id: Option<String>,
    retry: Option<u64>,
}

#[derive(Debug)]
enum Stage {
    Head(Box<Fetch>),
    /// One JSON text; the first part of it often is all of it.
    Json {
        body: LinkedBody,
        read: Read,
    },
    Events {
        body: LinkedBody,
        decoder: Box<Decoder>,
    },
    Refusal {
        body: LinkedBody,
        read: Vec<u8>,
        refusal: Box<Refusal>,
    },
    Drain {
        body: LinkedBody,
        read: usize,
    },
    Ended,
    Over,
}

#[derive(Debug)]
enum Read {
    Nothing,
    One(Bytes),
    Many(Vec<u8>),
}

impl Read {
    fn len(&self) -> usize {
        self.as_slice().len()
    }

    fn as_slice(&self) -> &[u8] {
        match self {
            Self::Nothing => &[],
            Self::One(bytes) => bytes,
            Self::Many(bytes) => bytes,
        }
    }

    fn add(&mut self, more: Bytes) {
        *self = match std::mem::replace(self, Self::Nothing) {
            Self::Nothing => Self::One(more),
            Self::One(first) => {
                let mut all = Vec::with_capacity((first.len() + more.len()) * 2);
                all.extend_from_slice(&first);
                all.extend_from_slice(&more);
                Self::Many(all)
            }
            Self::Many(mut all) => {
                all.extend_from_slice(&more);
                Self::Many(all)
            }
        };
    }

    fn take(&mut self) -> Bytes {
        match std::mem::replace(self, Self::Nothing) {
            Self::Nothing => Bytes::new(),
            Self::One(bytes) => bytes,
            Self::Many(bytes) => bytes.into(),
        }
    }
}

impl Exchange {
    /// Sends. `head_wait` bounds the wait for the head of the answer; none where whoever waits bounds it.
    pub(crate) fn new(outline: Outline, wants: Wants, limit: usize, head_wait: Option<Duration>) -> Self {
        Self {
            wants,
            limit,
            stage: Stage::Head(Box::new(Fetch::new(outline))),
            timer: head_wait.map(|wait| Box::pin(sleep(wait))),
            last_event_id: None,
            retry: None,
        }
    }

    /// The id of the last event that came, to resume after it.
    pub(crate) fn last_event_id(&self) -> Option<&str> {
        match &self.stage {
            Stage::Events { decoder, .. } => decoder.last_event_id(),
            _ => self.last_event_id.as_deref(),
        }
    }

    /// How many milliseconds the server wants to be left alone before the stream is resumed.
    pub(crate) fn retry(&self) -> Option<u64> {
        match &self.stage {
            Stage::Events { decoder, .. } => decoder.retry(),
            _ => self.retry,
        }
    }

    /// Bounds what comes from here on.
    pub(crate) fn end_within(&mut self, wait: Duration) {
        self.timer.get_or_insert_with(|| Box::pin(sleep(wait)));
    }

    pub(crate) fn poll(&mut self, sender: &mut Sender, cx: &mut Context<'_>) -> Poll<Step> {
        let polled = self.poll_stage(sender, cx);
        if polled.is_pending()
            && let Some(timer) = &mut self.timer
            && timer.as_mut().poll(cx).is_ready()
        {
            self.timer = None;
            return Poll::Ready(self.out_of_time());
        }
        polled
    }

    fn out_of_time(&mut self) -> Step {
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Head(_) => Step::Failed(Failure::broken("there is no answer in time".to_owned())),
            Stage::Refusal { read, mut refusal, .. } => {
                refusal.body = read.into();
                Step::Refused(*refusal)
            }
            stage => {
                self.stage = stage;
                self.finish(Some("the rest of the answer did not come in time".to_owned()))
            }
        }
    }

    fn poll_stage(&mut self, sender: &mut Sender, cx: &mut Context<'_>) -> Poll<Step> {
        loop {
            match &mut self.stage {
                Stage::Head(fetch) => {
                    let answer = ready!(fetch.poll(sender, cx));
                    self.timer = None;
                    match answer {
                        Ok((response, link)) => {
                            if let Some(step) = self.open(response, link) {
                                return Poll::Ready(step);
                            }
                        }
                        Err(failure) => {
                            self.stage = Stage::Over;
                            return Poll::Ready(Step::Failed(failure));
                        }
                    }
                }
                Stage::Json { body, read } => match ready!(body.poll_data(&mut sender.links, cx)) {
                    Some(Ok(more)) if read.len() + more.len() > self.limit => {
                        let mut start = read.take().to_vec();
                        start.extend_from_slice(&more);
                        start.truncate(SHOWN.min(self.limit));
                        self.stage = Stage::Ended;
                        return Poll::Ready(Step::TooLong(start.into()));
                    }
                    Some(Ok(more)) => read.add(more),
                    Some(Err(why)) => return Poll::Ready(self.finish(Some(why))),
                    None => {
                        let whole = read.take();
                        self.stage = Stage::Over;
                        return Poll::Ready(Step::Whole(whole));
                    }
                },
                Stage::Events { body, decoder } => {
                    match decoder.next() {
                        Some(Decoded::Event(event)) => return Poll::Ready(Step::Event(event)),
                        Some(Decoded::TooLong { start, .. }) => return Poll::Ready(Step::TooLong(start)),
                        None => {}
                    }
                    match ready!(body.poll_data(&mut sender.links, cx)) {
                        Some(Ok(more)) => decoder.push(more),
                        Some(Err(why)) => return Poll::Ready(self.finish(Some(why))),
                        None => return Poll::Ready(self.finish(None)),
                    }
                }
                Stage::Refusal { body, read, refusal } => match ready!(body.poll_data(&mut sender.links, cx)) {
                    Some(Ok(more)) if read.len() < MAX_REFUSAL => {
                        let room = MAX_REFUSAL - read.len();
                        read.extend_from_slice(&more[..more.len().min(room)]);
                    }
                    _ => {
                        refusal.body = std::mem::take(read).into();
                        let refusal = refusal.clone();
                        self.stage = Stage::Over;
                        return Poll::Ready(Step::Refused(*refusal));
                    }
                },
                Stage::Drain { body, read } => match ready!(body.poll_data(&mut sender.links, cx)) {
                    Some(Ok(more)) if *read + more.len() <= MAX_DRAINED => *read += more.len(),
                    _ => return Poll::Ready(self.finish(None)),
                },
                Stage::Ended => return Poll::Ready(self.finish(None)),
                Stage::Over => return Poll::Pending,
            }
        }
    }

    /// What the head of an answer promises.
    fn open(&mut self, response: Response<Incoming>, link: Box<Link>) -> Option<Step> {
        let (head, body) = response.into_parts();
        let body = LinkedBody::new(body, link);
        let encoded = head.headers.get(header::CONTENT_ENCODING);
        if let Some(encoded) = encoded.filter(|encoding| !encoding.as_bytes().eq_ignore_ascii_case(b"identity")) {
            let encoding = String::from_utf8_lossy(encoded.as_bytes()).into_owned();
            self.stage = Stage::Over;
            let why = format!("the answer is compressed ({encoding}), which was not asked for");
            return Some(Step::Failed(Failure::refused(head.status, why)));
        }
        let kind = if head.status.is_success() {
            content(&head.headers)
        } else {
            Content::Other
        };
        self.stage = match (self.wants, kind) {
            (Wants::Answer, Content::Json) if head.status == StatusCode::OK && !body.is_end() => Stage::Json {
                body,
                read: Read::Nothing,
            },
            (Wants::Answer | Wants::Events, Content::Events) => Stage::Events {
                body,
                decoder: Box::new(Decoder::new(self.limit)),
            },
            (Wants::Nothing, _) if head.status.is_success() => {
                self.end_within(REST);
                Stage::Drain { body, read: 0 }
            }
            _ => {
                let from = match &self.stage {
                    Stage::Head(fetch) => fetch.address(),
                    _ => String::new(),
                };
                self.end_within(REST);
                let refusal = Box::new(Refusal::new(from, head.status, &head.headers, Bytes::new()));
                Stage::Refusal {
                    body,
                    read: Vec::new(),
                    refusal,
                }
            }
        };
        (!matches!(self.stage, Stage::Refusal { .. })).then_some(Step::Opened(head.headers))
    }

    fn finish(&mut self, why: Option<String>) -> Step {
        if let Stage::Events { decoder, .. } = &self.stage {
            self.last_event_id = decoder.last_event_id().map(str::to_owned);
            self.retry = decoder.retry();
        }
        self.stage = Stage::Over;
        Step::Ended(why)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    Json,
    Events,
    Other,
}

/// The kind of a body, parameters aside. One that does not say is taken for JSON.
fn content(headers: &HeaderMap) -> Content {
    let Some(kind) = headers.get(header::CONTENT_TYPE) else {
        return Content::Json;
    };
    let kind = kind.as_bytes().split(|byte| *byte == b';').next().unwrap_or_default();
    let kind = kind.trim_ascii();
    if kind.eq_ignore_ascii_case(b"application/json") {
        Content::Json
    } else if kind.eq_ignore_ascii_case(b"text/event-stream") {
        Content::Events
    } else {
        Content::Other
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn the_kind_of_a_body_is_read_without_its_parameters() {
        let of = |kind: &'static str| {
            content(
                &[(header::CONTENT_TYPE, HeaderValue::from_static(kind))]
                    .into_iter()
                    .collect(),
            )
        };
        assert_eq!(of("application/json; charset=utf-8"), Content::Json);
        assert_eq!(of("Application/JSON"), Content::Json);
        assert_eq!(of("text/event-stream;charset=utf-8"), Content::Events);
        assert_eq!(of("text/html"), Content::Other);
        assert_eq!(of("application/jsonx"), Content::Other);
        assert_eq!(content(&HeaderMap::new()), Content::Json);
    }
}
