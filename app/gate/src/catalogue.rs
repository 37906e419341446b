//! What the servers offer, under names that are unique across all of them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use trunkline_schema::Schema;
use trunkline_types::Tool;

use crate::name::{hex, public_name};
use crate::text::one_line;

/// How far a server's word is taken. Set in the configuration by the person, never by the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// Its annotations prove nothing: every call is asked about.
    #[default]
    Untrusted,
    /// A tool that it calls read-only runs without a question.
    Trusted,
}

/// A tool that can be called.
pub struct OfferedTool {
    name: String,
    server: String,
    trust: Trust,
    definition: Tool,
    hash: String,
    schema: Schema,
}

impl OfferedTool {
    /// The public name, for models.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The id of its server in the configuration.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// How far the server's word is taken.
    pub fn trust(&self) -> Trust {
        self.trust
    }

    /// What the server says about it. Text of the server's: not to be trusted.
    pub fn definition(&self) -> &Tool {
        &self.definition
    }

    /// The SHA-256 of the definition. An approval is given for this very definition.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// Whether the built-in rule lets it run without asking a person.
    pub fn runs_unasked(&self) -> bool {
        crate::call::decide::rule(self).is_ok()
    }

    /// The compiled schema of the arguments.
    pub(crate) fn schema(&self) -> &Schema {
        &self.schema
    }
}

impl fmt::Debug for OfferedTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OfferedTool")
            .field("name", &self.name)
            .field("server", &self.server)
            .field("trust", &self.trust)
            .finish_non_exhaustive()
    }
}

/// Most characters of the name of a definition that is set aside, and of the reason: both hold text of the server's.
const MAX_NAME_SHOWN: usize = 80;
const MAX_REASON: usize = 300;

/// A definition that cannot be used, kept out so that the others can. Its texts are fit to show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SetAside {
    /// The id of its server.
    pub server: String,
    /// What it is called, or where it stands in its list.
    pub name: String,
    /// Why it cannot be used.
    pub reason: String,
}

/// All tools, by public name; their order does not depend on which server came first. It is as it was when the servers
/// connected. Where a list changes afterwards, a call goes by the new one; a tool that is new is offered from the next
/// start on.
#[derive(Debug, Default)]
pub struct Catalogue {
    tools: BTreeMap<String, Arc<OfferedTool>>,
    set_aside: Vec<SetAside>,
}

impl Catalogue {
    /// Adds what one server lists. A definition that cannot be used is set aside.
    pub(crate) fn add(&mut self, server: &str, trust: Trust, definitions: Vec<Tool>) {
        for definition in definitions {
            let name = definition.name.clone();
            if let Err(reason) = self.insert(server, trust, definition) {
                self.set_aside(server, name, reason);
            }
        }
    }

    /// Notes a definition that cannot be used.
    pub(crate) fn set_aside(&mut self, server: &str, name: String, reason: String) {
        self.set_aside.push(SetAside {
            server: server.to_owned(),
            name: one_line(&name, MAX_NAME_SHOWN),
            reason: one_line(&reason, MAX_REASON),
        });
    }

    fn insert(&mut self, server: &str, trust: Trust, definition: Tool) -> Result<(), String> {
        if definition.name.is_empty() {
            return Err("it has no name".to_owned());
        }
        let name = public_name(server, &definition.name);
        if let Some(other) = self.tools.get(&name) {
            return Err(if other.definition.name == definition.name {
                "the server lists this name twice; the first definition counts".to_owned()
            } else {
                format!(
                    "its public name {name} is taken by {}/{}",
                    other.server, other.definition.name
                )
            });
        }
        let schema = Schema::compile(&definition.input_schema).map_err(|error| format!("input schema: {error}"))?;
        let json = serde_json::to_vec(&definition).map_err(|error| error.to_string())?;
        let tool = OfferedTool {
            name: name.clone(),
            server: server.to_owned(),
            trust,
            hash: hex(&[&json]),
            definition,
            schema,
        };
        self.tools.insert(name, Arc::new(tool));
        Ok(())
    }

    /// All tools, by public name.
    pub fn tools(&self) -> impl ExactSizeIterator<Item = &Arc<OfferedTool>> {
        self.tools.values()
    }

    /// The tool with this public name.
    pub fn get(&self, name: &str) -> Option<&Arc<OfferedTool>> {
        self.tools.get(name)
    }

    /// A server's tool by the server's own name for it.
    pub fn of(&self, server: &str, tool: &str) -> Option<&Arc<OfferedTool>> {
        self.tools
            .get(&public_name(server, tool))
            .filter(|found| found.server == server && found.definition.name == tool)
    }

    /// Definitions that cannot be used, with the reason.
    pub fn all_set_aside(&self) -> &[SetAside] {
        &self.set_aside
    }

    /// Public names that look like `wanted`, the likest first, at most `most`.
    pub fn near(&self, wanted: &str, most: usize) -> Vec<&str> {
        near(wanted, self.tools.keys().map(String::as_str), most)
    }
}

/// Those of `names` that share most pairs of letters with `wanted`, the likest first.
///
/// ```
/// assert_eq!(trunkline_gate::near("get_wether", ["count_orders", "get_weather"], 3), ["get_weather"]);
/// ```
pub fn near<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>, most: usize) -> Vec<&'a str> {
    let wanted = pairs(wanted);
    let mut likes: Vec<(usize, &str)> = names
        .into_iter()
        .map(|name| {
            let theirs = pairs(name);
            let shared = wanted.iter().filter(|pair| theirs.contains(pair)).count();
            // Per mille of all pairs, as an integer so that the order is total.
            (2000 * shared / (wanted.len() + theirs.len()).max(1), name)
        })
        .filter(|(like, _)| *like >= 300)
        .collect();
    likes.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    likes.into_iter().take(most).map(|(_, name)| name).collect()
}

fn pairs(name: &str) -> Vec<(char, char)> {
    let letters: Vec<char> = name.chars().take(200).flat_map(char::to_lowercase).collect();
    letters.windows(2).map(|pair| (pair[0], pair[1])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tool(name: &str) -> Tool {
        Tool {
            name: name.to_owned(),
            input_schema: json!({ "type": "object" }),
            ..Tool::default()
        }
    }

    fn names(catalogue: &Catalogue) -> Vec<&str> {
        catalogue.tools().map(|tool| tool.name()).collect()
    }

    #[test]
    fn the_same_name_on_two_servers_routes_by_server_whatever_came_first() {
        let mut first = Catalogue::default();
        first.add("a", Trust::Trusted, vec![tool("search")]);
        first.add("b", Trust::Untrusted, vec![tool("search")]);
        let mut second = Catalogue::default();
        second.add("b", Trust::Untrusted, vec![tool("search")]);
        second.add("a", Trust::Trusted, vec![tool("search")]);
        assert_eq!(names(&first), ["a__search", "b__search"]);
        assert_eq!(names(&first), names(&second));
        assert_eq!(second.get("a__search").unwrap().server(), "a");
        assert_eq!(second.of("b", "search").unwrap().trust(), Trust::Untrusted);
        assert!(second.of("c", "search").is_none() && second.of("a", "find").is_none());
    }

    #[test]
    fn one_bad_definition_is_set_aside_and_the_rest_are_kept() {
        let mut bad = tool("outside");
        bad.input_schema = json!({ "$ref": "http://127.0.0.1:9/x" });
        let mut catalogue = Catalogue::default();
        catalogue.add(
            "a",
            Trust::Trusted,
            vec![tool("one"), bad, tool("one"), tool(""), tool("two")],
        );
        assert_eq!(names(&catalogue), ["a__one", "a__two"]);
        let reasons: Vec<(&str, &str)> = catalogue
            .all_set_aside()
            .iter()
            .map(|aside| (aside.name.as_str(), aside.reason.as_str()))
            .collect();
        assert_eq!(reasons.len(), 3);
        assert!(
            reasons[0].0 == "outside" && reasons[0].1.contains("127.0.0.1"),
            "{reasons:?}"
        );
        assert!(reasons[1].1.contains("twice"), "{reasons:?}");
        assert!(reasons[2].1.contains("no name"), "{reasons:?}");
    }

    #[test]
    fn why_a_definition_is_set_aside_is_fit_to_show() {
        let mut hostile = tool("t\u{1b}[2J");
        hostile.input_schema = json!({ "type": format!("\u{9b}2J\u{202e}evil{}", "x".repeat(5000)) });
        let mut catalogue = Catalogue::default();
        catalogue.add("a", Trust::Trusted, vec![hostile]);
        let aside = &catalogue.all_set_aside()[0];
        let shown = format!("{} {}", aside.name, aside.reason);
        assert!(!shown.contains(['\u{1b}', '\u{9b}', '\u{202e}']), "{shown:?}");
        assert!(aside.reason.chars().count() <= MAX_REASON + 200, "{shown}");
    }

    #[test]
    fn the_hash_is_over_everything_that_the_server_says() {
        let hash = |tool: Tool| {
            let mut catalogue = Catalogue::default();
            catalogue.add("a", Trust::Trusted, vec![tool]);
            catalogue.tools().next().unwrap().hash().to_owned()
        };
        let mut changed = tool("t");
        changed.description = Some("now does something else".to_owned());
        assert_eq!(hash(tool("t")), hash(tool("t")));
        assert_ne!(hash(tool("t")), hash(changed));
    }

    #[test]
    fn a_misspelt_name_finds_its_neighbours_only() {
        let names = ["weather__get_weather", "orders__count_orders", "orders__get_order"];
        assert_eq!(near("get_wether", names, 1), ["weather__get_weather"]);
        assert_eq!(near("orders__get_ordr", names, 3)[0], "orders__get_order");
        assert!(near("zzz", names, 3).is_empty());
        assert!(near("", names, 3).is_empty());
    }
}
