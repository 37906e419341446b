//! Lists with all their pages, item by item.

use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::time::Instant;
use trunkline_types::{
    Extra, Method, Prompt, Resource, ResourceTemplate, ServerCapabilities, ServerFeature, Tool, code,
};

use crate::CallError;
use crate::cache::{Cache, Lists, MAX_TTL};
use crate::client::Inner;

/// Pages of one list that are read.
pub const MAX_LIST_PAGES: usize = 1000;
/// Items of one list that are read, rejected ones included.
pub const MAX_LIST_ITEMS: usize = 100_000;
/// Bytes of all pages of one list together.
pub const MAX_LIST_BYTES: usize = 64 * 1024 * 1024;
/// Pages in a row without a new item after which a list counts as endless.
pub const MAX_BARREN_PAGES: usize = 3;
/// Warnings of one list; the last one says how many more there would be.
const MAX_WARNINGS: usize = 100;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pages: usize,
    items: usize,
    bytes: usize,
}

pub(crate) const BOUNDS: Bounds = Bounds {
    pages: MAX_LIST_PAGES,
    items: MAX_LIST_ITEMS,
    bytes: MAX_LIST_BYTES,
};

/// A list of a server's, with what is wrong with it.
#[derive(Debug, Clone, PartialEq)]
pub struct Listing<T> {
    /// The items, in the server's order; each name once.
    pub items: Vec<T>,
    /// Items that cannot be used.
    pub rejected: Vec<Rejected>,
    /// What else is wrong, in words.
    pub warnings: Vec<String>,
}

impl<T> Default for Listing<T> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            rejected: Vec::new(),
            warnings: Vec::new(),
        }
    }
}

/// An item that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    /// Its name or address, if it has one.
    pub name: Option<String>,
    /// What is wrong with it.
    pub why: String,
}

/// Something that servers list.
pub(crate) trait Listed: DeserializeOwned + Clone + Send + Sync + 'static {
    const METHOD: Method;
    /// The member of a page that holds the items.
    const ITEMS: &'static str;
    /// The member of an item that tells it from others.
    const KEY: &'static str;

    fn key(&self) -> &str;
    fn cache(lists: &Lists) -> &Cache<Self>;
    fn feature() -> ServerFeature;
    /// Whether the server says that it announces changes.
    fn announced(capabilities: &ServerCapabilities) -> bool;
    /// What else the list is read for.
    fn take_outputs(_inner: &Inner, _generation: u64, _listing: &mut Listing<Self>) {}
    /// What makes the item unusable; over HTTP there are more rules.
    fn fault(&self, _over_http: bool) -> Option<String> {
        self.key().is_empty().then(|| "its name is empty".to_owned())
    }
}

impl Listed for Tool {
    const METHOD: Method = Method::ListTools;
    const ITEMS: &'static str = "tools";
    const KEY: &'static str = "name";

    fn key(&self) -> &str {
        &self.name
    }

    fn cache(lists: &Lists) -> &Cache<Self> {
        &lists.tools
    }

    fn feature() -> ServerFeature {
        ServerFeature::Tools
    }

    fn announced(capabilities: &ServerCapabilities) -> bool {
        capabilities.tools.as_ref().and_then(|tools| tools.list_changed) == Some(true)
    }

    fn take_outputs(inner: &Inner, generation: u64, listing: &mut Listing<Self>) {
        inner.take_outputs(generation, listing);
    }

    fn fault(&self, over_http: bool) -> Option<String> {
        if self.name.is_empty() {
            Some("its name is empty".to_owned())
        } else if !self.input_schema.is_object() {
            Some("its `inputSchema` is not an object".to_owned())
        } else if over_http {
            mirror_fault(&self.input_schema)
        } else {
            None
        }
    }
}

/// A tool whose `x-mcp-header` annotations break the rules is not shown
/// (<https://modelcontextprotocol.io/specification/2026-07-28/server/tools#x-mcp-header>).
#[cfg(feature = "http")]
fn mirror_fault(input_schema: &Value) -> Option<String> {
    let mirrored = trunkline_http::header::MirroredParams::from_schema(input_schema);
    mirrored.err().map(|error| error.to_string())
}

#[cfg(not(feature = "http"))]
fn mirror_fault(_input_schema: &Value) -> Option<String> {
    None
}

impl Listed for Resource {
    const METHOD: Method = Method::ListResources;
    const ITEMS: &'static str = "resources";
    const KEY: &'static str = "uri";

    fn key(&self) -> &str {
        &self.uri
    }

    fn cache(lists: &Lists) -> &Cache<Self> {
        &lists.resources
    }

    fn feature() -> ServerFeature {
        ServerFeature::Resources
    }

    fn announced(capabilities: &ServerCapabilities) -> bool {
        capabilities
            .resources
            .as_ref()
            .and_then(|resources| resources.list_changed)
            == Some(true)
    }
}

impl Listed for ResourceTemplate {
    const METHOD: Method = Method::ListResourceTemplates;
    const ITEMS: &'static str = "resourceTemplates";
    const KEY: &'static str = "uriTemplate";

    fn key(&self) -> &str {
        &self.uri_template
    }

    fn cache(lists: &Lists) -> &Cache<Self> {
        &lists.templates
    }

    fn feature() -> ServerFeature {
        ServerFeature::Resources
    }

    fn announced(capabilities: &ServerCapabilities) -> bool {
        Resource::announced(capabilities)
    }
}

impl Listed for Prompt {
    const METHOD: Method = Method::ListPrompts;
    const ITEMS: &'static str = "prompts";
    const KEY: &'static str = "name";

    fn key(&self) -> &str {
        &self.name
    }

    fn cache(lists: &Lists) -> &Cache<Self> {
        &lists.prompts
    }

    fn feature() -> ServerFeature {
        ServerFeature::Prompts
    }

    fn announced(capabilities: &ServerCapabilities) -> bool {
        capabilities.prompts.as_ref().and_then(|prompts| prompts.list_changed) == Some(true)
    }
}

/// A list as it came, and how long it may be kept.
#[derive(Debug)]
pub(crate) struct Collected<T> {
    pub(crate) listing: Listing<T>,
    /// Until when every page is good; none where one does not say.
    pub(crate) until: Option<Instant>,
    /// Whether all of it came.
    pub(crate) whole: bool,
}

/// Reads all pages of a list. `page` asks for one, by its cursor.
pub(crate) async fn collect<T, F, P>(bounds: Bounds, over_http: bool, mut page: F) -> Result<Collected<T>, CallError>
where
    T: Listed,
    F: FnMut(Option<String>) -> P,
    P: Future<Output = Result<Box<RawValue>, CallError>>,
{
    let mut list = Collecting::<T>::new(bounds, over_http);
    let mut cursor = None;
    loop {
        let read = match page(cursor).await {
            Ok(result) => list.add(&result),
            Err(CallError::Refused(error)) if list.pages == 0 && error.code == code::METHOD_NOT_FOUND => Err(format!(
                "the server declares the feature but refuses `{}`: {error}",
                T::METHOD
            )),
            Err(CallError::Refused(error)) if list.pages > 0 => Err(format!(
                "page {} was refused, so the list is not whole: {error}",
                list.pages + 1
            )),
            Err(CallError::Invalid(why)) if list.pages > 0 => Err(format!(
                "page {} cannot be used, so the list is not whole: {why}",
                list.pages + 1
            )),
            Err(error) => return Err(error),
        };
        match read {
            Ok(Some(next)) => cursor = Some(next),
            Ok(None) => return Ok(list.finish(true)),
            Err(why) if list.unusable => return Err(CallError::Invalid(why)),
            Err(why) => {
                list.warn(why);
                return Ok(list.finish(false));
            }
        }
    }
}

struct Collecting<T> {
    bounds: Bounds,
    over_http: bool,
    listing: Listing<T>,
    keys: HashSet<String>,
    cursors: HashSet<String>,
    pages: usize,
    read: usize,
    bytes: usize,
    barren: usize,
    until: Option<Instant>,
    /// The first page is not one.
    unusable: bool,
    silenced: usize,
}

impl<T: Listed> Collecting<T> {
    fn new(bounds: Bounds, over_http: bool) -> Self {
        Self {
            bounds,
            over_http,
            listing: Listing::default(),
            keys: HashSet::new(),
            cursors: HashSet::new(),
            pages: 0,
            read: 0,
            bytes: 0,
            barren: 0,
            until: None,
            unusable: false,
            silenced: 0,
        }
    }

    fn warn(&mut self, why: String) {
        if self.listing.warnings.len() < MAX_WARNINGS {
            self.listing.warnings.push(why);
        } else {
            self.silenced += 1;
        }
    }

    fn finish(mut self, whole: bool) -> Collected<T> {
        if self.silenced > 0 {
            self.listing.warnings.push(format!("and {} more", self.silenced));
        }
        Collected {
            listing: self.listing,
            until: self.until,
            whole,
        }
    }

    /// Takes one page. Returns where to go on, or why the list ends before its end.
    fn add(&mut self, result: &RawValue) -> Result<Option<String>, String> {
        self.bytes += result.get().len();
        if self.bytes > self.bounds.bytes {
            return Err(format!(
                "the list is longer than {} bytes; the rest is not read",
                self.bounds.bytes
            ));
        }
        let items = match self.open_page(result) {
            Ok(page) => page,
            Err(why) => {
                self.unusable = self.pages == 0;
                return Err(format!("page {} is not a page: {why}", self.pages + 1));
            }
        };
        self.pages += 1;
        let before = self.listing.items.len();
        for item in items.items {
            if self.read == self.bounds.items {
                return Err(format!(
                    "the list has more than {} items; the rest is not read",
                    self.bounds.items
                ));
            }
            self.read += 1;
            self.add_item(item);
        }
        self.barren = if self.listing.items.len() > before {
            0
        } else {
            self.barren + 1
        };
        match items.next {
            Some(next) => self.follow(next).map(Some),
            None => Ok(None),
        }
    }

    fn open_page<'a>(&mut self, result: &'a RawValue) -> Result<Page<'a>, String> {
        let members: HashMap<String, &'a RawValue> =
            serde_json::from_str(result.get()).map_err(|error| error.to_string())?;
        let items = members
            .get(T::ITEMS)
            .ok_or_else(|| format!("it has no `{}`", T::ITEMS))?;
        let items: Vec<&'a RawValue> =
            serde_json::from_str(items.get()).map_err(|_| format!("`{}` is not an array", T::ITEMS))?;
        let ttl = members
            .get("ttlMs")
            .and_then(|ttl| serde_json::from_str::<i64>(ttl.get()).ok());
        self.note_ttl(ttl);
        let next = match members.get("nextCursor").map(|next| next.get()) {
            None | Some("null") => None,
            Some(next) => Some(serde_json::from_str(next).map_err(|_| "`nextCursor` is not a string".to_owned())?),
        };
        Ok(Page { items, next })
    }

    /// A list is as good as the page that is good for the shortest time; a negative time is none.
    fn note_ttl(&mut self, ttl: Option<i64>) {
        let ttl = ttl.map(|ttl| Duration::from_millis(u64::try_from(ttl).unwrap_or(0)));
        let until = ttl.map(|ttl| Instant::now() + ttl.min(MAX_TTL));
        self.until = if self.pages == 0 {
            until
        } else {
            self.until.zip(until).map(|(earlier, until)| earlier.min(until))
        };
    }

    fn add_item(&mut self, item: &RawValue) {
        let why = match serde_json::from_str::<T>(item.get()) {
            Ok(item) => match item.fault(self.over_http) {
                None => return self.keep(item),
                Some(fault) => fault,
            },
            Err(error) => error.to_string(),
        };
        let object: Option<Extra> = serde_json::from_str(item.get()).ok();
        let name = object
            .as_ref()
            .and_then(|object| object.get(T::KEY))
            .and_then(Value::as_str);
        self.listing.rejected.push(Rejected {
            name: name.map(str::to_owned),
            why,
        });
    }

    fn keep(&mut self, item: T) {
        if self.keys.insert(item.key().to_owned()) {
            self.listing.items.push(item);
        } else {
            self.warn(format!(
                "{:?} is listed more than once; the first one is kept",
                item.key()
            ));
        }
    }

    /// Whether to go on at a cursor.
    fn follow(&mut self, next: String) -> Result<String, String> {
        if self.pages == self.bounds.pages {
            return Err(format!(
                "the list has more than {} pages; the rest is not read",
                self.bounds.pages
            ));
        }
        if self.barren == MAX_BARREN_PAGES {
            return Err(format!(
                "{MAX_BARREN_PAGES} pages in a row brought nothing new; the list counts as ended"
            ));
        }
        if !self.cursors.insert(next.clone()) {
            return Err("the server gave the same cursor twice; the list counts as ended".to_owned());
        }
        Ok(next)
    }
}

struct Page<'a> {
    items: Vec<&'a RawValue>,
    next: Option<String>,
}

#[cfg(test)]
#[path = "listing_tests.rs"]
mod tests;
