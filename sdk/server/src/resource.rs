//! Resources: what a server lets its client read, by address or by template.

use std::any::TypeId;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use trunkline_types::{ErrorObject, ReadResourceResult, Resource, ResourceContents, ResourceTemplate, clip, code};

use crate::{BoxFuture, Context, Handler, Json, UriTemplate};

/// The values that an address has for the variables of its template.
///
/// ```
/// use trunkline_server::{UriTemplate, UriVariables};
/// let template = UriTemplate::parse("orders://order/{id}").unwrap();
/// let variables = template.matches("orders://order/17").unwrap();
/// assert_eq!(variables.parse::<u64>("id").unwrap(), 17);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UriVariables(pub(crate) BTreeMap<String, String>);

impl UriVariables {
    /// The value of a variable, percent-decoded; several values of one variable are joined by commas.
    ///
    /// The value of a `{name}` is one segment: no slash of either kind, no NUL, not `.` or `..`. The value of
    /// a `{+name}` may be a path, but never with a segment `..`. See [`UriTemplate`] for the other
    /// expressions. Whether the thing exists, and whether its reader may see it, is for the handler to check.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The value of a variable as a number or another type.
    ///
    /// # Errors
    /// -32602 if it is not there or not of that type.
    pub fn parse<T: FromStr>(&self, name: &str) -> Result<T, ErrorObject> {
        let text = self.text(name).unwrap_or_default();
        text.parse()
            .map_err(|_| ErrorObject::invalid_params(format!("{:?} is not a valid `{name}`", clip(text))))
    }
}

/// Something that reading a resource may return: text, bytes, [`Json`], or contents of one's own.
pub trait IntoContents {
    /// The result. `uri` and `mime_type` are those of what was registered.
    ///
    /// # Errors
    /// If it cannot be read.
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> Result<ReadResourceResult, ErrorObject>;
}

impl IntoContents for ReadResourceResult {
    fn into_contents(self, _: &str, _: Option<&str>) -> Result<ReadResourceResult, ErrorObject> {
        Ok(self)
    }
}

impl IntoContents for String {
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> Result<ReadResourceResult, ErrorObject> {
        Ok(ResourceContents::text(uri, mime_type.unwrap_or("text/plain"), self).into())
    }
}

impl IntoContents for &'static str {
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> Result<ReadResourceResult, ErrorObject> {
        self.to_owned().into_contents(uri, mime_type)
    }
}

impl IntoContents for Vec<u8> {
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> Result<ReadResourceResult, ErrorObject> {
        let bytes = STANDARD.encode(self);
        Ok(ResourceContents::blob(uri, mime_type.unwrap_or("application/octet-stream"), bytes).into())
    }
}

impl<T: serde::Serialize> IntoContents for Json<T> {
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> Result<ReadResourceResult, ErrorObject> {
        let text = serde_json::to_string_pretty(&self.0).map_err(|error| ErrorObject::internal(error.to_string()))?;
        Ok(ResourceContents::text(uri, mime_type.unwrap_or("application/json"), text).into())
    }
}

impl<R: IntoContents, E: Into<ErrorObject>> IntoContents for Result<R, E> {
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> Result<ReadResourceResult, ErrorObject> {
        self.map_err(Into::into)?.into_contents(uri, mime_type)
    }
}

/// The error for an address that leads to nothing, before the revision gives it its code.
pub(crate) fn not_found(uri: &str) -> ErrorObject {
    ErrorObject::new(code::RESOURCE_NOT_FOUND, "resource not found").with_data(serde_json::json!({ "uri": uri }))
}

pub(crate) type ReadFn =
    Arc<dyn Fn(String, UriVariables, &Context) -> BoxFuture<Result<ReadResourceResult, ErrorObject>> + Send + Sync>;

/// Something that can be read: an address, or all addresses of a template.
#[derive(Clone)]
pub(crate) struct Readable<D> {
    pub(crate) definition: D,
    pub(crate) read: ReadFn,
    pub(crate) required: Vec<(TypeId, &'static str)>,
}

impl<D: fmt::Debug> fmt::Debug for Readable<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Readable")
            .field("definition", &self.definition)
            .finish_non_exhaustive()
    }
}

/// A template with its parsed form.
#[derive(Debug, Clone)]
pub(crate) struct Template {
    pub(crate) shown: ResourceTemplate,
    pub(crate) parsed: UriTemplate,
}

fn read_fn<H, Marker>(mime_type: Option<String>, handler: H) -> ReadFn
where
    H: Handler<UriVariables, Marker>,
    H::Output: IntoContents + 'static,
{
    Arc::new(move |uri, variables, context| {
        let mime_type = mime_type.clone();
        match handler.call(variables, context) {
            Ok(running) => Box::pin(async move { running.await.into_contents(&uri, mime_type.as_deref()) }),
            Err(missing) => {
                let error = ErrorObject::internal(format!("no State<{}>", missing.0));
                Box::pin(async move { Err(error) })
            }
        }
    })
}

impl Readable<Resource> {
    pub(crate) fn resource<H, Marker>(definition: Resource, handler: H) -> Self
    where
        H: Handler<UriVariables, Marker>,
        H::Output: IntoContents + 'static,
    {
        let read = read_fn(definition.mime_type.clone(), handler);
        Self {
            definition,
            read,
            required: H::required(),
        }
    }
}

impl Readable<Template> {
    pub(crate) fn template<H, Marker>(definition: Template, handler: H) -> Self
    where
        H: Handler<UriVariables, Marker>,
        H::Output: IntoContents + 'static,
    {
        let read = read_fn(definition.shown.mime_type.clone(), handler);
        Self {
            definition,
            read,
            required: H::required(),
        }
    }
}
