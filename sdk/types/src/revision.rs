//! The revisions of the protocol and what each of them does, as facts.
//!
//! This module and the method table are the only places that name a revision. Code asks for the fact
//! it needs: `profile.result_type`, never whether a revision is later than another.

use std::fmt;

use crate::error::code;

/// A released revision of the protocol.
///
/// ```
/// use trunkline_types::{Era, Revision};
/// let revision = Revision::from_name("2026-07-28").unwrap();
/// assert_eq!(revision.profile().era, Era::Modern);
/// assert_eq!(Revision::from_name("1900-01-01"), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Revision {
    /// 2024-11-05
    V2024_11_05,
    /// 2025-03-26
    V2025_03_26,
    /// 2025-06-18
    V2025_06_18,
    /// 2025-11-25
    V2025_11_25,
    /// 2026-07-28
    V2026_07_28,
}

/// How version, identity and capabilities are conveyed
/// ([terms](https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#terminology)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Era {
    /// Once per connection, by `initialize`.
    Legacy,
    /// With every request, in its `_meta`.
    Modern,
}

/// Which JSON values a tool may return as `structuredContent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StructuredContent {
    /// The revision has no structured content.
    Absent,
    /// Objects only.
    Object,
    /// Any value.
    Any,
}

/// How a server answers arguments that do not fit a known tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadArguments {
    /// As a protocol error.
    ProtocolError,
    /// As a result with `isError`, so that the model can mend them.
    ExecutionError,
}

/// Which forms of elicitation a revision knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElicitationForms {
    /// None.
    Absent,
    /// A form of primitive fields.
    Form,
    /// Forms with defaults and titled choices, and visits to an address.
    FormAndUrl,
}

/// The shape of the HTTP transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpShape {
    /// Two endpoints, one of them a stream of events.
    HttpSse,
    /// One endpoint with sessions and resumption.
    Sessions,
    /// One endpoint, each request on its own.
    Stateless,
}

/// What one revision does: the facts that code asks for.
#[derive(Debug, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own, read by one rule"
)]
pub struct Profile {
    /// The revision described.
    pub revision: Revision,
    /// How version and capabilities are conveyed.
    pub era: Era,
    /// JSON-RPC batches are accepted.
    pub batches: bool,
    /// Results carry `resultType`.
    pub result_type: bool,
    /// Results of lists, reads and discovery carry `ttlMs` and `cacheScope`.
    pub cache_hints: bool,
    /// A server asks for input by an `input_required` result instead of a request of its own.
    pub input_required: bool,
    /// What a tool may return as `structuredContent`.
    pub structured_content: StructuredContent,
    /// How arguments that do not fit a known tool are answered.
    pub bad_arguments: BadArguments,
    /// The code for a resource that does not exist.
    pub resource_not_found: i64,
    /// The forms of elicitation.
    pub elicitation: ElicitationForms,
    /// A URL elicitation carries an id, and its end is announced.
    pub elicitation_id: bool,
    /// A sampling request may offer tools.
    pub sampling_tools: bool,
    /// The log level is set per request; without one nothing is logged.
    pub log_level_per_request: bool,
    /// Tools carry annotations.
    pub tool_annotations: bool,
    /// Content may be audio.
    pub audio_content: bool,
    /// Content may be a link to a resource.
    pub resource_links: bool,
    /// Definitions carry a `title`.
    pub titles: bool,
    /// Definitions carry icons, and implementations describe themselves.
    pub icons: bool,
    /// Completion is a declared capability and takes context.
    pub completions_capability: bool,
    /// Progress notices carry a message.
    pub progress_message: bool,
    /// The tasks extension is defined for it
    /// ([table](https://modelcontextprotocol.io/seps/2663-tasks-extension#backward-compatibility)).
    pub tasks_extension: bool,
    /// The shape of the HTTP transport.
    pub http: HttpShape,
    /// The `MCP-Protocol-Version` header is required.
    pub version_header: bool,
    /// A stream over HTTP begins with an event that lets the client come back to it, and may end before its answer.
    pub polling: bool,
}

impl Revision {
    /// Every revision, oldest first.
    pub const ALL: [Self; 5] = [
        Self::V2024_11_05,
        Self::V2025_03_26,
        Self::V2025_06_18,
        Self::V2025_11_25,
        Self::V2026_07_28,
    ];
    /// The newest revision.
    pub const LATEST: Self = Self::V2026_07_28;
    /// The newest revision that starts with a handshake.
    pub const LATEST_LEGACY: Self = Self::V2025_11_25;

    /// The revision's name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// The revision of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|revision| revision.name() == name)
    }

    /// The facts of the revision.
    pub fn profile(self) -> &'static Profile {
        match self {
            Self::V2024_11_05 => &R2024_11_05,
            Self::V2025_03_26 => &R2025_03_26,
            Self::V2025_06_18 => &R2025_06_18,
            Self::V2025_11_25 => &R2025_11_25,
            Self::V2026_07_28 => &R2026_07_28,
        }
    }

    /// The era of the revision.
    pub fn era(self) -> Era {
        self.profile().era
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// <https://modelcontextprotocol.io/specification/2024-11-05>
static R2024_11_05: Profile = Profile {
    revision: Revision::V2024_11_05,
    era: Era::Legacy,
    batches: false,
    result_type: false,
    cache_hints: false,
    input_required: false,
    structured_content: StructuredContent::Absent,
    bad_arguments: BadArguments::ProtocolError,
    resource_not_found: code::RESOURCE_NOT_FOUND,
    elicitation: ElicitationForms::Absent,
    elicitation_id: false,
    sampling_tools: false,
    log_level_per_request: false,
    tool_annotations: false,
    audio_content: false,
    resource_links: false,
    titles: false,
    icons: false,
    completions_capability: false,
    progress_message: false,
    tasks_extension: false,
    http: HttpShape::HttpSse,
    version_header: false,
    polling: false,
};

/// <https://modelcontextprotocol.io/specification/2025-03-26/changelog>
static R2025_03_26: Profile = Profile {
    revision: Revision::V2025_03_26,
    batches: true,
    tool_annotations: true,
    audio_content: true,
    completions_capability: true,
    progress_message: true,
    http: HttpShape::Sessions,
    ..R2024_11_05
};

/// <https://modelcontextprotocol.io/specification/2025-06-18/changelog>
static R2025_06_18: Profile = Profile {
    revision: Revision::V2025_06_18,
    batches: false,
    structured_content: StructuredContent::Object,
    elicitation: ElicitationForms::Form,
    resource_links: true,
    titles: true,
    version_header: true,
    ..R2025_03_26
};

/// <https://modelcontextprotocol.io/specification/2025-11-25/changelog>
static R2025_11_25: Profile = Profile {
    revision: Revision::V2025_11_25,
    bad_arguments: BadArguments::ExecutionError,
    elicitation: ElicitationForms::FormAndUrl,
    elicitation_id: true,
    sampling_tools: true,
    icons: true,
    polling: true,
    ..R2025_06_18
};

/// <https://modelcontextprotocol.io/specification/2026-07-28/changelog>
static R2026_07_28: Profile = Profile {
    revision: Revision::V2026_07_28,
    era: Era::Modern,
    result_type: true,
    cache_hints: true,
    input_required: true,
    structured_content: StructuredContent::Any,
    resource_not_found: code::INVALID_PARAMS,
    elicitation_id: false,
    log_level_per_request: true,
    tasks_extension: true,
    http: HttpShape::Stateless,
    polling: false,
    ..R2025_11_25
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_profiles_agree() {
        for revision in Revision::ALL {
            assert_eq!(Revision::from_name(revision.name()), Some(revision));
            assert_eq!(revision.profile().revision, revision);
        }
        assert_eq!(Revision::ALL.last(), Some(&Revision::LATEST));
        assert_eq!(Revision::LATEST_LEGACY.era(), Era::Legacy);
    }

    #[test]
    fn only_one_revision_has_batches() {
        let with: Vec<_> = Revision::ALL.into_iter().filter(|r| r.profile().batches).collect();
        assert_eq!(with, [Revision::V2025_03_26]);
    }
}
