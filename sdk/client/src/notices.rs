//! What a server tells without being asked, and what it says beside the protocol.

use std::collections::VecDeque;

use serde_json::Value;
use trunkline_proto::client::Noise;
use trunkline_types::{Extra, LogMessage, Method, Task};

use crate::feed::{Fed, FeedReader, Held};

/// Notices held for a slow reader.
pub const MAX_NOTICES: usize = 256;
/// Bytes of notices held for a slow reader.
pub const MAX_NOTICE_BYTES: usize = 4 * 1024 * 1024;
/// Pieces of noise kept; all are counted.
pub const MAX_NOISE: usize = 32;

pub(crate) const NOTICES_HELD: Held = Held {
    items: MAX_NOTICES,
    bytes: MAX_NOTICE_BYTES,
};

/// What a server tells without being asked.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Notice {
    /// It logs something.
    Log(LogMessage),
    /// Its list of tools changed.
    ToolsChanged,
    /// Its list of prompts changed.
    PromptsChanged,
    /// Its list of resources, or of resource templates, changed.
    ResourcesChanged,
    /// A resource changed.
    ResourceUpdated {
        /// Its address.
        uri: String,
    },
    /// A task that a subscription is about, as it stands now.
    Task(Box<Task>),
    /// Another notice, as it came.
    Other {
        /// Which one.
        method: Method,
        /// Its params.
        params: Extra,
    },
    /// So many notices came and went while nobody read them.
    Missed(u64),
}

impl Notice {
    pub(crate) fn new(method: Method, params: Extra) -> Self {
        match method {
            Method::ToolsChanged => Self::ToolsChanged,
            Method::PromptsChanged => Self::PromptsChanged,
            Method::ResourcesChanged => Self::ResourcesChanged,
            Method::ResourceUpdatedNotice => match params.get("uri").and_then(Value::as_str) {
                Some(uri) => Self::ResourceUpdated { uri: uri.to_owned() },
                None => Self::Other { method, params },
            },
            Method::TaskNotice => match serde_json::from_value(Value::Object(params.clone())) {
                Ok(task) => Self::Task(Box::new(task)),
                Err(_) => Self::Other { method, params },
            },
            Method::LogNotice => match serde_json::from_value(Value::Object(params.clone())) {
                Ok(message) => Self::Log(message),
                // A level that this revision does not know, say. It is still shown.
                Err(_) => Self::Other { method, params },
            },
            _ => Self::Other { method, params },
        }
    }
}

impl From<Fed<Self>> for Notice {
    fn from(fed: Fed<Self>) -> Self {
        match fed {
            Fed::Item(notice) => notice,
            Fed::Missed(count) => Self::Missed(count),
        }
    }
}

/// The notices of one connection, from [`Client::notices`](crate::Client::notices).
///
/// The last [`MAX_NOTICES`] are held for a slow reader, up to [`MAX_NOTICE_BYTES`] together. What it
/// loses beyond that is told as [`Notice::Missed`].
#[derive(Debug)]
pub struct NoticeStream {
    pub(crate) feed: FeedReader<Notice>,
}

impl NoticeStream {
    /// The next notice; none once the connection has ended. Nothing is lost when the future is dropped.
    pub async fn next(&mut self) -> Option<Notice> {
        self.feed.next().await.map(Notice::from)
    }
}

/// What a server sent and nobody asked for: how much, and the last [`MAX_NOISE`] pieces.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NoiseReport {
    /// How many pieces came.
    pub count: u64,
    /// The last ones, oldest first.
    pub last: VecDeque<Noise>,
}

impl NoiseReport {
    pub(crate) fn add(&mut self, noise: Noise) {
        self.count += 1;
        if self.last.len() == MAX_NOISE {
            self.last.pop_front();
        }
        self.last.push_back(noise);
    }
}
