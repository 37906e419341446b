//! Resources and prompts: what the application and the person choose, not the model.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;
use trunkline_client::{CallError, Client, Listing};
use trunkline_types::{
    Content, GetPromptResult, Prompt, ReadResourceResult, Resource, ResourceTemplate, ServerFeature,
};

use crate::call::verify::{content_text, resource_text};
use crate::catalogue::{SetAside, near};
use crate::gate::Gate;
use crate::server::Server;
use crate::text::{Flag, clean, one_line};

/// Something that a server offers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Offer<T> {
    /// The server's id.
    pub server: String,
    /// What it offers, as it says. Not to be trusted.
    #[serde(flatten)]
    pub item: T,
}

/// What all servers offer of one kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Offers<T> {
    /// The items, server by server.
    pub items: Vec<Offer<T>>,
    /// What cannot be used.
    pub set_aside: Vec<SetAside>,
    /// What is odd about the lists; each names its server.
    pub warnings: Vec<String>,
}

/// Why there is no resource or prompt.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum OfferError {
    /// No server offers it, or several do; what to do instead.
    NotFound(String),
    /// The server was asked and did not give it.
    Failed {
        /// The server's id.
        server: String,
        /// Why.
        error: Box<CallError>,
    },
}

impl OfferError {
    fn failed(server: &str, error: CallError) -> Self {
        Self::Failed {
            server: server.to_owned(),
            error: Box::new(error),
        }
    }
}

impl fmt::Display for OfferError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound(why) => f.write_str(why),
            Self::Failed { server, error } => {
                write!(
                    f,
                    "server `{}`: {}",
                    one_line(server, 100),
                    one_line(&error.to_string(), 1000)
                )
            }
        }
    }
}

impl std::error::Error for OfferError {}

/// A resource that was read.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ReadOut {
    /// The server that it was read from.
    pub server: String,
    /// Its text, cleaned.
    pub text: String,
    /// What was found in the text.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub flags: BTreeSet<Flag>,
    /// The result as it came.
    pub whole: ReadResourceResult,
}

/// A prompt that was filled in.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Filled {
    /// The server that it came from.
    pub server: String,
    /// Its messages, each with the word for who says it, cleaned.
    pub messages: Vec<(String, String)>,
    /// What was found in the texts.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub flags: BTreeSet<Flag>,
    /// The result as it came.
    pub whole: GetPromptResult,
}

impl Gate {
    /// The resources of all servers, or of one.
    pub async fn resources(&self, only: Option<&str>) -> Offers<Resource> {
        self.offers(only, ServerFeature::Resources, async |client| client.resources().await)
            .await
    }

    /// The resource templates of all servers, or of one.
    pub async fn resource_templates(&self, only: Option<&str>) -> Offers<ResourceTemplate> {
        self.offers(only, ServerFeature::Resources, async |client| {
            client.resource_templates().await
        })
        .await
    }

    /// The prompts of all servers, or of one.
    pub async fn prompts(&self, only: Option<&str>) -> Offers<Prompt> {
        self.offers(only, ServerFeature::Prompts, async |client| client.prompts().await)
            .await
    }

    async fn offers<T>(
        &self,
        only: Option<&str>,
        feature: ServerFeature,
        list: impl AsyncFn(&Client) -> Result<Listing<T>, CallError>,
    ) -> Offers<T> {
        let mut offers = Offers {
            items: Vec::new(),
            set_aside: Vec::new(),
            warnings: Vec::new(),
        };
        let wanted = self
            .servers()
            .iter()
            .filter(|(id, _)| only.is_none_or(|only| only == id.as_str()));
        for (id, server) in wanted {
            if !server.client.agreement().capabilities.has(feature) {
                continue;
            }
            let warning = |text: &str| format!("{}: {}", one_line(id, 100), one_line(text, 500));
            match server.learn(list(&server.client).await) {
                Ok(listing) => {
                    let offer = |item| Offer {
                        server: id.clone(),
                        item,
                    };
                    offers.items.extend(listing.items.into_iter().map(offer));
                    offers
                        .warnings
                        .extend(listing.warnings.iter().map(|text| warning(text)));
                    offers
                        .set_aside
                        .extend(listing.rejected.into_iter().map(|rejected| SetAside {
                            server: id.clone(),
                            name: one_line(rejected.name.as_deref().unwrap_or("without a name"), 80),
                            reason: one_line(&rejected.why, 300),
                        }));
                }
                Err(error) => offers
                    .warnings
                    .push(warning(&format!("the list cannot be had: {error}"))),
            }
        }
        offers
    }

    /// Reads a resource from the server that is named, or from the one that offers it.
    ///
    /// # Errors
    /// When no server offers it, several do, or the server does not give it.
    pub async fn read(&self, uri: &str, server: Option<&str>) -> Result<ReadOut, OfferError> {
        let server = match server {
            Some(server) => server.to_owned(),
            None => self.home_of(uri).await?,
        };
        let from = self.connected(&server)?;
        let result = from.learn(from.client.read(uri).await);
        let whole = result.map_err(|error| OfferError::failed(&server, error))?;
        let parts: Vec<String> = whole.contents.iter().map(resource_text).collect();
        let cleaned = clean(&parts.join("\n"));
        Ok(ReadOut {
            server,
            text: cleaned.text,
            flags: cleaned.flags,
            whole,
        })
    }

    /// The one server that lists a resource or has a template for it. Listing the exact address gives no right over a
    /// server whose template it is: either may be the forger.
    async fn home_of(&self, uri: &str) -> Result<String, OfferError> {
        let resources = self.resources(None).await.items;
        let listed = resources
            .iter()
            .filter(|offer| offer.item.uri == uri)
            .map(|offer| &offer.server);
        let mut homes: BTreeSet<&String> = listed.collect();
        let templates = self.resource_templates(None).await.items;
        let fits = |template: &str| {
            let fixed = template.split('{').next().unwrap_or_default();
            !fixed.is_empty() && uri.starts_with(fixed)
        };
        let templated = templates
            .iter()
            .filter(|offer| fits(&offer.item.uri_template))
            .map(|offer| &offer.server);
        homes.extend(templated);
        if !homes.is_empty() {
            return one_of(&homes, "resource", uri);
        }
        // All addresses look a little alike; those of another scheme are of no use.
        let scheme = |uri: &str| uri.split(':').next().unwrap_or_default().to_owned();
        let uris = resources.iter().map(|offer| offer.item.uri.as_str());
        let near = near(uri, uris.filter(|other| scheme(other) == scheme(uri)), 3);
        Err(not_found("resource", uri, &near, "trunkline resources"))
    }

    /// Fills in a prompt of the server that is named, or of the one that offers it.
    ///
    /// # Errors
    /// When no server offers it, several do, or the server does not give it.
    pub async fn prompt(
        &self,
        name: &str,
        arguments: BTreeMap<String, String>,
        server: Option<&str>,
    ) -> Result<Filled, OfferError> {
        let server = match server {
            Some(server) => server.to_owned(),
            None => self.home_of_prompt(name).await?,
        };
        let from = self.connected(&server)?;
        let result = from.learn(from.client.prompt(name, arguments).await);
        let whole = result.map_err(|error| OfferError::failed(&server, error))?;
        let mut flags = BTreeSet::new();
        let mut shown = |content: &Content| {
            let cleaned = clean(&content_text(content));
            flags.extend(cleaned.flags);
            cleaned.text
        };
        let messages = whole
            .messages
            .iter()
            .map(|message| (one_line(message.role.as_str(), 40), shown(&message.content)))
            .collect();
        Ok(Filled {
            server,
            messages,
            flags,
            whole,
        })
    }

    /// The one server that lists a prompt.
    async fn home_of_prompt(&self, name: &str) -> Result<String, OfferError> {
        let prompts = self.prompts(None).await.items;
        let named = prompts.iter().filter(|offer| offer.item.name == name);
        let homes: BTreeSet<&String> = named.map(|offer| &offer.server).collect();
        if homes.is_empty() {
            let near = near(name, prompts.iter().map(|offer| offer.item.name.as_str()), 3);
            return Err(not_found("prompt", name, &near, "trunkline prompts"));
        }
        one_of(&homes, "prompt", name)
    }

    fn connected(&self, server: &str) -> Result<&Server, OfferError> {
        if let Some(server) = self.servers().get(server) {
            return Ok(server);
        }
        let reports = self.reports();
        let Some(report) = reports.iter().find(|report| report.id == server) else {
            let ids: Vec<&str> = reports.iter().map(|report| report.id.as_str()).collect();
            return Err(OfferError::NotFound(format!(
                "there is no server `{}`; the servers are: {}",
                one_line(server, 80),
                ids.join(", ")
            )));
        };
        let why = report.error.as_deref().unwrap_or("it is not connected");
        Err(OfferError::NotFound(format!(
            "server `{}` cannot be used: {why}",
            one_line(server, 80)
        )))
    }
}

fn one_of(homes: &BTreeSet<&String>, kind: &str, wanted: &str) -> Result<String, OfferError> {
    if let (1, Some(only)) = (homes.len(), homes.first()) {
        return Ok((*only).clone());
    }
    let ids: Vec<String> = homes.iter().map(|id| one_line(id, 60)).collect();
    Err(OfferError::NotFound(format!(
        "several servers offer the {kind} `{}`: {}; say which with --server",
        one_line(wanted, 120),
        ids.join(", ")
    )))
}

fn not_found(kind: &str, wanted: &str, near: &[&str], list: &str) -> OfferError {
    let wanted = one_line(wanted, 120);
    let advice = if near.is_empty() {
        format!("`{list}` lists them")
    } else {
        let near: Vec<String> = near.iter().map(|name| one_line(name, 120)).collect();
        format!("near names: {}", near.join(", "))
    };
    OfferError::NotFound(format!("no server offers the {kind} `{wanted}`; {advice}"))
}
