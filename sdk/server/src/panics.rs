//! Panics of handlers.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

use trunkline_types::{ErrorObject, Method};

/// A handler panicked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Panicked;

/// The answer of a request whose handler panicked.
pub(crate) fn panicked(method: Method) -> ErrorObject {
    ErrorObject::internal(format!("the handler of `{method}` panicked"))
}

/// What a step of a handler comes to, a panic included. After a panic no further step may be taken.
pub(crate) fn caught<T>(step: impl FnOnce() -> T) -> Result<T, Panicked> {
    catch_unwind(AssertUnwindSafe(step)).map_err(|_| Panicked)
}

/// What a future comes to, a panic included. After a panic it is not polled again.
pub(crate) async fn caught_to_end<F: Future>(future: F) -> Result<F::Output, Panicked> {
    let mut future = pin!(future);
    poll_fn(|cx| match caught(|| future.as_mut().poll(cx)) {
        Ok(polled) => polled.map(Ok),
        Err(Panicked) => Poll::Ready(Err(Panicked)),
    })
    .await
}
