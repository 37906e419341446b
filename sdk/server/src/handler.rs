//! What can be registered as a handler: async functions and closures over an input and up to two
//! things taken from the context.

use std::any::{Any, TypeId};
use std::ops::Deref;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::Context;

/// Something that a handler can take beside its input.
pub trait FromContext: Sized + Send {
    /// Takes it from the context of a request.
    ///
    /// # Errors
    /// If it is not there.
    fn from_context(context: &Context) -> Result<Self, Missing>;

    /// The state that must have been given to the server for this to work.
    fn required() -> Option<(TypeId, &'static str)> {
        None
    }
}

/// A state that was not given to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Missing(pub &'static str);

impl FromContext for Context {
    fn from_context(context: &Context) -> Result<Self, Missing> {
        Ok(context.clone())
    }
}

/// Shared state, given to the server by [`Server::state`](crate::Server::state).
///
/// ```
/// use trunkline_server::{NoArguments, Server, State};
///
/// struct Greeting(String);
///
/// async fn greet(_: NoArguments, greeting: State<Greeting>) -> String {
///     greeting.0.clone()
/// }
///
/// let server = Server::new("greeter", "1.0.0").state(Greeting("hello".into())).tool("greet", greet);
/// ```
#[derive(Debug)]
pub struct State<S>(Arc<S>);

impl<S> State<S> {
    /// The state itself, shared.
    pub fn into_inner(self) -> Arc<S> {
        self.0
    }
}

impl<S> Deref for State<S> {
    type Target = S;
    fn deref(&self) -> &S {
        &self.0
    }
}

impl<S> Clone for State<S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<S: Any + Send + Sync> FromContext for State<S> {
    fn from_context(context: &Context) -> Result<Self, Missing> {
        context.state().map(Self).ok_or(Missing(std::any::type_name::<S>()))
    }

    fn required() -> Option<(TypeId, &'static str)> {
        Some((TypeId::of::<S>(), std::any::type_name::<S>()))
    }
}

/// The input of a tool that takes nothing.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
// The line above speaks to who writes the server; the model must not read it as what the tool does.
#[schemars(description = "")]
pub struct NoArguments {}

/// An async function or closure: `Fn(Input)`, `Fn(Input, A)` or `Fn(Input, A, B)`, where `A` and `B` are
/// [`Context`] or [`State`]. Nobody else needs to implement it.
///
/// A handler must not block its thread: other requests of the connection would wait. What blocks goes
/// into `tokio::task::spawn_blocking`.
pub trait Handler<Input, Marker>: Clone + Send + Sync + 'static {
    /// What it returns.
    type Output: Send;

    /// Runs it.
    ///
    /// # Errors
    /// If something that it takes from the context is not there.
    fn call(
        &self,
        input: Input,
        context: &Context,
    ) -> Result<impl Future<Output = Self::Output> + Send + 'static, Missing>;

    /// The states that it takes.
    fn required() -> Vec<(TypeId, &'static str)>;
}

impl<F, Fut, Input> Handler<Input, ()> for F
where
    F: Fn(Input) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future + Send + 'static,
    Fut::Output: Send,
{
    type Output = Fut::Output;

    fn call(&self, input: Input, _: &Context) -> Result<impl Future<Output = Self::Output> + Send + 'static, Missing> {
        Ok(self(input))
    }

    fn required() -> Vec<(TypeId, &'static str)> {
        Vec::new()
    }
}

impl<F, Fut, Input, A> Handler<Input, (A,)> for F
where
    F: Fn(Input, A) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future + Send + 'static,
    Fut::Output: Send,
    A: FromContext,
{
    type Output = Fut::Output;

    fn call(
        &self,
        input: Input,
        context: &Context,
    ) -> Result<impl Future<Output = Self::Output> + Send + 'static, Missing> {
        Ok(self(input, A::from_context(context)?))
    }

    fn required() -> Vec<(TypeId, &'static str)> {
        A::required().into_iter().collect()
    }
}

impl<F, Fut, Input, A, B> Handler<Input, (A, B)> for F
where
    F: Fn(Input, A, B) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future + Send + 'static,
    Fut::Output: Send,
    A: FromContext,
    B: FromContext,
{
    type Output = Fut::Output;

    fn call(
        &self,
        input: Input,
        context: &Context,
    ) -> Result<impl Future<Output = Self::Output> + Send + 'static, Missing> {
        Ok(self(input, A::from_context(context)?, B::from_context(context)?))
    }

    fn required() -> Vec<(TypeId, &'static str)> {
        A::required().into_iter().chain(B::required()).collect()
    }
}
