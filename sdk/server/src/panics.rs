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

/// What a future comes to, a panic included. After a panic it is not polled again.
pub(crate) async fn caught<F: Future>(future: F) -> Result<F::Output, Panicked> {
    let mut future = pin!(future);
    poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
        Ok(polled) => polled.map(Ok),
        Err(_) => Poll::Ready(Err(Panicked)),
    })
    .await
}
