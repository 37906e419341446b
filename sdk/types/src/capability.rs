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
    /// `tasks` (the newest legacy revision)
    Tasks,
}

/// An extension that methods belong to. Both sides must declare it
/// ([negotiation](https://modelcontextprotocol.io/extensions/overview#negotiation)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Extension {
    /// Requests that become tasks ([SEP-2663](https://modelcontextprotocol.io/seps/2663-tasks-extension)).
    Tasks,
}

impl Extension {
    /// Its identifier.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Tasks => "io.modelcontextprotocol/tasks",
        }
    }

    fn is_among(self, declared: Option<&Extra>) -> bool {
        declared
            .and_then(|all| all.get(self.id()))
            .is_some_and(Value::is_object)
    }

    /// Adds it, without settings, to what is declared.
    fn add_to(self, declared: &mut Option<Extra>) {
        let all = declared.get_or_insert_default();
        all.entry(self.id()).or_insert_with(|| Value::Object(Extra::new()));
    }

    fn remove_from(self, declared: &mut Option<Extra>) {
        if let Some(all) = declared {
            all.shift_remove(self.id());
            if all.is_empty() {
                *declared = None;
            }
        }
    }
}

macro_rules! extensible {
    ($($capabilities:ty),+) => {
        $(impl $capabilities {
            /// Whether the extension is declared.
            pub fn has_extension(&self, extension: Extension) -> bool {
                extension.is_among(self.extensions.as_ref())
            }

            /// Declares an extension; settings that it has already are kept.
            pub fn add_extension(&mut self, extension: Extension) {
                extension.add_to(&mut self.extensions);
            }

            /// Takes an extension back.
            pub fn remove_extension(&mut self, extension: Extension) {
                extension.remove_from(&mut self.extensions);
            }
        })+
    };
}

extensible!(ClientCapabilities, ServerCapabilities);

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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_extension_is_declared_by_an_object() {
        let declared = |extensions: Value| {
            let capabilities: ClientCapabilities = serde_json::from_value(json!({ "extensions": extensions })).unwrap();
            capabilities.has_extension(Extension::Tasks)
        };
        assert!(declared(json!({ "io.modelcontextprotocol/tasks": {} })));
        assert!(declared(json!({ "io.modelcontextprotocol/tasks": { "later": 1 } })));
        for other in [
            json!({}),
            json!({ "io.modelcontextprotocol/tasks": null }),
            json!({ "tasks": {} }),
            json!(null),
        ] {
            assert!(!declared(other.clone()), "{other}");
        }
    }

    #[test]
    fn declaring_keeps_settings_and_taking_back_leaves_nothing() {
        let mut capabilities = ServerCapabilities::default();
        capabilities.add_extension(Extension::Tasks);
        assert_eq!(
            serde_json::to_value(&capabilities).unwrap(),
            json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } })
        );
        let settings = json!({ "io.modelcontextprotocol/tasks": { "a": 1 } });
        capabilities.extensions = settings.as_object().cloned();
        capabilities.add_extension(Extension::Tasks);
        assert_eq!(capabilities.extensions, settings.as_object().cloned());
        capabilities.remove_extension(Extension::Tasks);
        assert_eq!(capabilities, ServerCapabilities::default());
    }
}
