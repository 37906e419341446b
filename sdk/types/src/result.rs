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

/// A structure is nearly always there as text as well.
fn bulk_of_call(result: &CallToolResult) -> usize {
    let content = result.content.iter().map(Content::bulk).sum();
    result.structured_content.as_ref().map_or(content, |_| 2 * content)
}

fn bulk_of_reading(result: &ReadResourceResult) -> usize {
    result.contents.iter().map(ResourceContents::bulk).sum()
}

macro_rules! server_results {
    (plain { $($plain:ty $(, bulk: $plain_bulk:path)?);+ } cacheable { $($cacheable:ty $(, bulk: $bulk:path)?);+ }) => {
        $(impl ServerResult for $plain {
            fn meta_mut(&mut self) -> &mut Meta {
                &mut self.meta
            }
            $(fn bulk(&self) -> usize {
                $plain_bulk(self)
            })?
        })+
        $(impl ServerResult for $cacheable {
            fn meta_mut(&mut self) -> &mut Meta {
                &mut self.meta
            }
            fn cache_hints_mut(&mut self) -> Option<CacheHints<'_>> {
                Some(CacheHints { ttl_ms: &mut self.ttl_ms, scope: &mut self.cache_scope })
            }
            $(fn bulk(&self) -> usize {
                $bulk(self)
            })?
        })+
    };
}

server_results! {
    plain {
        CallToolResult, bulk: bulk_of_call; CompleteResult; CreateTaskResult; EmptyResult; GetPromptResult;
        InputRequiredResult; Task
    }
    cacheable {
        DiscoverResult; ListPromptsResult; ListResourceTemplatesResult; ListResourcesResult; ListToolsResult;
        ReadResourceResult, bulk: bulk_of_reading
    }
}
