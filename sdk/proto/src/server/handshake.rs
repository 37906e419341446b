//! How a connection begins: `initialize` (legacy) and `server/discover` (modern).

use std::sync::Arc;

use serde_json::value::RawValue;
use trunkline_types::{
    DiscoverResult, Era, ErrorObject, Extension, InitializeParams, InitializeResult, JsonText, LogLevel, Meta, Method,
    Profile, RequestId, Revision, encode, meta_key,
};

use super::{ClientFacts, Connection, Session, decode, unwritable};

impl Connection {
    /// A request without a version on a connection without an agreement: the handshake, a ping, or a mistake.
    pub(super) fn before_handshake(
        &mut self,
        id: &RequestId,
        method: &str,
        params: Option<&RawValue>,
        batch: Option<u64>,
    ) -> Result<(), ErrorObject> {
        let legacy = self.config.newest(Era::Legacy);
        let reply = match (Method::from_name(method), legacy) {
            (Some(Method::Initialize), Some(newest)) => self.initialize(params, newest)?,
            (Some(Method::Initialize), None) => {
                // A legacy client can show this to its user; it has no other way to learn it
                // (https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#backward-compatibility-with-initialization-based-versions).
                let wanted = decode::<InitializeParams>(params)
                    .map(|p| p.protocol_version)
                    .unwrap_or_default();
                return Err(self.config.unsupported(&wanted));
            }
            (Some(Method::Ping), Some(_)) => JsonText::empty_object(),
            (Some(_), _) => {
                let key = meta_key::PROTOCOL_VERSION;
                return Err(ErrorObject::invalid_params(format!(
                    "send `initialize` first, or name the protocol version in `_meta` as `{key}`"
                )));
            }
            (None, _) => return Err(ErrorObject::method_not_found(method)),
        };
        self.send_to(batch, encode::result(id, reply));
        Ok(())
    }

    /// The wanted revision if it is spoken here, else the newest that needs a handshake
    /// ([negotiation](https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#version-negotiation)).
    fn initialize(&mut self, params: Option<&RawValue>, newest: Revision) -> Result<JsonText, ErrorObject> {
        let wanted: InitializeParams = decode(params)?;
        let revision = Revision::from_name(&wanted.protocol_version)
            .filter(|revision| revision.era() == Era::Legacy && self.config.revisions.contains(revision))
            .unwrap_or(newest);
        let profile = revision.profile();
        let config = &self.config;
        let mut server_info = config.info.clone();
        config.shape(profile).fit_implementation(&mut server_info);
        let mut capabilities = config.capabilities.clone();
        if !profile.completions_capability {
            capabilities.completions = None;
        }
        if !profile.tasks_extension {
            capabilities.remove_extension(Extension::Tasks);
        }
        let result = InitializeResult {
            protocol_version: revision.name().to_owned(),
            capabilities,
            server_info,
            instructions: config.instructions.clone(),
            ..InitializeResult::default()
        };
        let reply = JsonText::write(&result).map_err(unwritable)?;
        let client = Arc::new(ClientFacts {
            info: wanted.client_info,
            capabilities: wanted.capabilities,
        });
        self.session = Session::Legacy {
            profile,
            client,
            level: LogLevel::Info,
        };
        Ok(reply)
    }

    /// What the server speaks and can do, without agreeing on anything.
    pub(super) fn discover(&self, profile: &'static Profile) -> Result<JsonText, ErrorObject> {
        let config = &self.config;
        let mut result = DiscoverResult {
            supported_versions: config.modern_names(),
            capabilities: config.capabilities.clone(),
            instructions: config.instructions.clone(),
            ttl_ms: Some(config.discover_ttl_ms),
            cache_scope: Some(trunkline_types::CacheScope::Public),
            meta: Meta::new(),
            ..DiscoverResult::default()
        };
        config.shape(profile).complete(&mut result).map_err(unwritable)
    }
}
