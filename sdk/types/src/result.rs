//! What all results have in common.

use serde::Serialize;

use crate::{
    CacheScope, CallToolResult, CompleteResult, Content, CreateTaskResult, DiscoverResult, EmptyResult,
    GetPromptResult, InputRequiredResult, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, Meta, ReadResourceResult, ResourceContents, Task,
};

/// The two hints that say how long a result may be kept and by whom.
#[derive(Debug)]
pub struct CacheHints<'a> {
    /// Milliseconds.
    pub ttl_ms: &'a mut Option<i64>,
    /// Who may share what is kept.
    pub scope: &'a mut Option<CacheScope>,
}

/// A result of a server: an object with metadata, some of them cacheable
/// ([cacheable results](https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching#cacheable-results)).
pub trait ServerResult: Serialize {
    /// Its metadata.
    fn meta_mut(&mut self) -> &mut Meta;
    /// Its cache hints, if it is cacheable.
    fn cache_hints_mut(&mut self) -> Option<CacheHints<'_>> {
        None
    }
    /// About how many bytes of text or Base64 it carries, so that a large result is written into one buffer. Zero
    /// where it is small by nature.
    fn bulk(&self) -> usize {
        0
    }
}

impl ServerResult for CallToolResult {
    fn meta_mut(&mut self) -> &mut Meta {
        &mut self.meta
    }
    fn bulk(&self) -> usize {
        let content = self.content.iter().map(Content::bulk).sum();
        // A structure is nearly always there as text as well.
        self.structured_content.as_ref().map_or(content, |_| 2 * content)
    }
}

impl ServerResult for ReadResourceResult {
    fn meta_mut(&mut self) -> &mut Meta {
        &mut self.meta
    }
    fn cache_hints_mut(&mut self) -> Option<CacheHints<'_>> {
        Some(CacheHints {
            ttl_ms: &mut self.ttl_ms,
            scope: &mut self.cache_scope,
        })
    }
    fn bulk(&self) -> usize {
        self.contents.iter().map(ResourceContents::bulk).sum()
    }
}

macro_rules! server_results {
    (plain: $($plain:ty),+; cacheable: $($cacheable:ty),+) => {
        $(impl ServerResult for $plain {
            fn meta_mut(&mut self) -> &mut Meta {
                &mut self.meta
            }
        })+
        $(impl ServerResult for $cacheable {
            fn meta_mut(&mut self) -> &mut Meta {
                &mut self.meta
            }
            fn cache_hints_mut(&mut self) -> Option<CacheHints<'_>> {
                Some(CacheHints { ttl_ms: &mut self.ttl_ms, scope: &mut self.cache_scope })
            }
        })+
    };
}

server_results! {
    plain: CompleteResult, CreateTaskResult, EmptyResult, GetPromptResult, InputRequiredResult, Task;
    cacheable: DiscoverResult, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult
}
