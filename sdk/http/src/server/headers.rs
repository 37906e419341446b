//! The headers of a modern request, which must say what its body says
//! ([rule](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#server-validation)).

use std::borrow::Cow;

use http::{HeaderMap, HeaderName};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use trunkline_proto::server::{KnownMeta, Said};
use trunkline_types::{ErrorObject, Method, clip, code};

use super::application::Application;
use crate::header::{self, Named, decode_value};

/// What headers repeat of the params.
#[derive(Default)]
pub(super) struct Repeated<'a> {
    params: Members<'a>,
    /// What `_meta` says, if it is one.
    said: Option<Said>,
    /// The version in a `_meta` that is none otherwise.
    version: Option<Cow<'a, str>>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Members<'a> {
    #[serde(borrow, rename = "_meta")]
    meta: Option<&'a RawValue>,
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    uri: Option<&'a RawValue>,
    #[serde(borrow)]
    task_id: Option<&'a RawValue>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct OnlyVersion<'a> {
    #[serde(borrow, rename = "io.modelcontextprotocol/protocolVersion", default)]
    version: Option<Cow<'a, str>>,
}

impl<'a> Repeated<'a> {
    /// Reads them. Params that cannot be read repeat nothing: they are refused further in, with a better reason.
    /// Without `_meta` they are of the legacy era, in which headers repeat nothing of them.
    pub(super) fn read(params: Option<&'a RawValue>, known: &KnownMeta) -> Self {
        let params = params.filter(|params| KnownMeta::may_be_in(params));
        let read = params.and_then(|params| serde_json::from_str(params.get()).ok());
        let params: Members<'a> = read.unwrap_or_default();
        let said = params.meta.and_then(|meta| known.said(meta).ok());
        let version = match (&said, params.meta) {
            (None, Some(meta)) => serde_json::from_str(meta.get())
                .ok()
                .and_then(|only: OnlyVersion<'a>| only.version),
            _ => None,
        };
        Self { params, said, version }
    }

    /// What `_meta` says, for whoever reads the request further in.
    pub(super) fn into_said(self) -> Option<Said> {
        self.said
    }

    /// The revision that the request says it speaks.
    pub(super) fn version(&self) -> Option<&str> {
        self.said.as_ref().map_or(self.version.as_deref(), Said::version)
    }

    /// What `Mcp-Name` repeats for this method. A value of the wrong type is refused further in.
    fn named(&self, method: Method) -> Option<Cow<'a, str>> {
        let raw = match header::named(method)? {
            Named::Name => self.params.name,
            Named::Uri => self.params.uri,
            Named::TaskId => self.params.task_id,
        };
        serde_json::from_str(raw?.get()).ok().map(Cow::Owned)
    }

    /// Checks every header but the version's.
    pub(super) fn check(
        &self,
        headers: &HeaderMap,
        method: &str,
        application: &dyn Application,
    ) -> Result<(), ErrorObject> {
        let said = only(headers, &header::METHOD)?.ok_or_else(|| missing(&header::METHOD))?;
        if said != method {
            return Err(differs(&header::METHOD, said, method));
        }
        let Some(method) = Method::from_name(method) else {
            return Ok(());
        };
        let Some(name) = self.named(method) else { return Ok(()) };
        let said = only(headers, &header::NAME)?.ok_or_else(|| missing(&header::NAME))?;
        let said = decode_value(said.as_bytes()).map_err(|why| mismatch(format!("`{}`: {why}", header::NAME)))?;
        if said != name {
            return Err(differs(&header::NAME, &said, &name));
        }
        if method == Method::CallTool
            && let Some(mirrored) = application.mirrored(&name)
        {
            let arguments: Value = self
                .params
                .arguments
                .and_then(|arguments| serde_json::from_str(arguments.get()).ok())
                .unwrap_or_default();
            mirrored
                .check(headers, &arguments)
                .map_err(|why| mismatch(why.to_string()))?;
        }
        Ok(())
    }
}

/// The value of a header that may be there once.
pub(super) fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, ErrorObject> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(mismatch(format!("`{name}` is there more than once")));
    }
    let text = value
        .to_str()
        .map_err(|_| mismatch(format!("`{name}` holds characters that a header cannot carry")))?;
    // HTTP allows white space around a value.
    Ok(Some(text.trim_matches([' ', '\t'])))
}

pub(super) fn mismatch(why: String) -> ErrorObject {
    ErrorObject::new(code::HEADER_MISMATCH, format!("header mismatch: {why}"))
}

pub(super) fn missing(name: &HeaderName) -> ErrorObject {
    mismatch(format!("`{name}` is missing"))
}

pub(super) fn differs(name: &HeaderName, header: &str, body: &str) -> ErrorObject {
    mismatch(format!(
        "`{name}` is {:?}, the body says {:?}",
        clip(header),
        clip(body)
    ))
}
