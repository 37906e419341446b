//! What a client and a server declare that they can do.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Extra;

/// A capability without settings of its own; unknown settings are kept.
pub type Flag = Extra;

/// What a client can do ([capabilities](https://modelcontextprotocol.io/specification/2026-07-28/schema#clientcapabilities)).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientCapabilities {
    /// Capabilities outside of the protocol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub experimental: Option<Extra>,
    /// The client lists roots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roots: Option<RootsCapability>,
    /// The client asks a model for the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling: Option<SamplingCapability>,
    /// The client asks a person for the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elicitation: Option<ElicitationCapability>,
    /// Extensions by identifier, with their settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Extra>,
    /// Capabilities this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ClientCapabilities {
    /// Whether forms can be shown to a person. An empty declaration means forms.
    pub fn form_elicitation(&self) -> bool {
        self.elicitation
            .as_ref()
            .is_some_and(|e| e.form.is_some() || e.url.is_none())
    }

    /// Whether a person can be sent to an address.
    pub fn url_elicitation(&self) -> bool {
        self.elicitation.as_ref().is_some_and(|e| e.url.is_some())
    }

    /// Whether a sampling request may offer tools.
    pub fn sampling_tools(&self) -> bool {
        self.sampling.as_ref().is_some_and(|s| s.tools.is_some())
    }
}

/// Settings of the `roots` capability.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RootsCapability {
    /// Changes of the roots are announced (legacy).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list_changed: Option<bool>,
    /// Settings this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Settings of the `sampling` capability.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SamplingCapability {
    /// Context of other servers can be included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<Flag>,
    /// Tools can be offered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Flag>,
    /// Settings this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Settings of the `elicitation` capability.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ElicitationCapability {
    /// Forms can be shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub form: Option<Flag>,
    /// A person can be sent to an address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<Flag>,
    /// Settings this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What a server can do ([capabilities](https://modelcontextprotocol.io/specification/2026-07-28/schema#servercapabilities)).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerCapabilities {
    /// Capabilities outside of the protocol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub experimental: Option<Extra>,
    /// The server sends log messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logging: Option<Flag>,
    /// The server completes arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completions: Option<Flag>,
    /// The server has prompts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompts: Option<ListCapability>,
    /// The server has resources.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<ResourcesCapability>,
    /// The server has tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<ListCapability>,
    /// Extensions by identifier, with their settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Extra>,
    /// Capabilities this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Settings of the `tools` and `prompts` capabilities.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListCapability {
    /// Changes of the list are announced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list_changed: Option<bool>,
    /// Settings this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Settings of the `resources` capability.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourcesCapability {
    /// Changes of single resources can be subscribed to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subscribe: Option<bool>,
    /// Changes of the list are announced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list_changed: Option<bool>,
    /// Settings this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A part of a server that methods belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ServerFeature {
    /// `tools`
    Tools,
    /// `resources`
    Resources,
    /// `prompts`
    Prompts,
    /// `completions`
    Completions,
    /// `logging`
    Logging,
    /// `tasks`
    Tasks,
}

/// A part of a client that methods belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClientFeature {
    /// `roots`
    Roots,
    /// `sampling`
    Sampling,
    /// `elicitation`
    Elicitation,
}

impl ClientCapabilities {
    /// Whether the client declared the feature.
    pub fn has(&self, feature: ClientFeature) -> bool {
        match feature {
            ClientFeature::Roots => self.roots.is_some(),
            ClientFeature::Sampling => self.sampling.is_some(),
            ClientFeature::Elicitation => self.elicitation.is_some(),
        }
    }
}

impl ServerCapabilities {
    /// Whether the server declared the feature.
    pub fn has(&self, feature: ServerFeature) -> bool {
        match feature {
            ServerFeature::Tools => self.tools.is_some(),
            ServerFeature::Resources => self.resources.is_some(),
            ServerFeature::Prompts => self.prompts.is_some(),
            ServerFeature::Completions => self.completions.is_some(),
            ServerFeature::Logging => self.logging.is_some(),
            ServerFeature::Tasks => self.extra.get("tasks").is_some_and(Value::is_object),
        }
    }
}
