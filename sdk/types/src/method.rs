//! The table of methods: each with its params, its result, who sends it, in which revisions, and the
//! capability that it needs. Dispatch, documentation and the coverage test come from it.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{
    CallToolParams, CallToolResult, Cancelled, ClientFeature, CompleteParams, CompleteResult, CreateMessageParams,
    CreateMessageResult, DiscoverResult, ElicitParams, ElicitResult, ElicitationComplete, EmptyNotice, EmptyParams,
    EmptyResult, Extension, GetPromptParams, GetPromptResult, InitializeParams, InitializeResult, LegacyTask,
    ListParams, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListRootsResult, ListTasksResult,
    ListToolsResult, ListenParams, LogMessage, Progress, ReadResourceParams, ReadResourceResult, ResourceUpdated,
    Revision, ServerFeature, SetLevelParams, SubscribeParams, SubscriptionAcknowledged, Task, TaskParams,
    UpdateTaskParams,
};

/// A method that is answered: the marker type carries its name, its params and its result.
pub trait Request {
    /// The row of the table.
    const METHOD: Method;
    /// Its params.
    type Params: Serialize + DeserializeOwned + Send;
    /// Its result.
    type Result: Serialize + DeserializeOwned + Send;
}

/// A method that is not answered.
pub trait Notification {
    /// The row of the table.
    const METHOD: Method;
    /// Its params.
    type Params: Serialize + DeserializeOwned + Send;
}

/// Who sends a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// The client only.
    ToServer,
    /// The server only. In the modern era such a request travels inside an `input_required` result.
    ToClient,
    /// Either.
    Both,
}

impl Direction {
    /// Whether a server may receive it.
    pub fn reaches_server(self) -> bool {
        matches!(self, Self::ToServer | Self::Both)
    }

    /// Whether a client may receive it.
    pub fn reaches_client(self) -> bool {
        matches!(self, Self::ToClient | Self::Both)
    }
}

/// What must have been declared before a method is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// Nothing.
    Nothing,
    /// A feature of the server.
    Server(ServerFeature),
    /// A feature of the client.
    Client(ClientFeature),
    /// An extension, declared by both sides.
    Extension(Extension),
}

/// One row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MethodFacts {
    /// The method.
    pub method: Method,
    /// Its name on the wire.
    pub name: &'static str,
    /// Whether it is answered.
    pub is_request: bool,
    /// Who sends it.
    pub direction: Direction,
    /// The first revision that has it.
    pub first: Revision,
    /// The last revision that has it.
    pub last: Revision,
    /// What it needs.
    pub needs: Needs,
}

macro_rules! methods {
    (
        requests { $($(#[$rdoc:meta])* $req:ident = $rname:literal ($params:ty => $result:ty) $rdir:ident $rfirst:ident ..= $rlast:ident needs $rneeds:expr;)+ }
        notifications { $($(#[$ndoc:meta])* $note:ident = $nname:literal ($nparams:ty) $ndir:ident $nfirst:ident ..= $nlast:ident needs $nneeds:expr;)+ }
    ) => {
        /// A method of the protocol, in any revision.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Method {
            $($(#[$rdoc])* $req,)+
            $($(#[$ndoc])* $note,)+
        }

        /// Marker types, one for each method.
        pub mod methods {
            $($(#[$rdoc])* #[derive(Debug, Clone, Copy)] pub struct $req;)+
            $($(#[$ndoc])* #[derive(Debug, Clone, Copy)] pub struct $note;)+
        }

        $(impl Request for methods::$req {
            const METHOD: Method = Method::$req;
            type Params = $params;
            type Result = $result;
        })+

        $(impl Notification for methods::$note {
            const METHOD: Method = Method::$note;
            type Params = $nparams;
        })+

        impl Method {
            /// Every method, requests first.
            pub const TABLE: &'static [MethodFacts] = &[
                $(MethodFacts { method: Self::$req, name: $rname, is_request: true, direction: Direction::$rdir, first: Revision::$rfirst, last: Revision::$rlast, needs: $rneeds },)+
                $(MethodFacts { method: Self::$note, name: $nname, is_request: false, direction: Direction::$ndir, first: Revision::$nfirst, last: Revision::$nlast, needs: $nneeds },)+
            ];

            /// The method's name on the wire.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$req => $rname,)+ $(Self::$note => $nname,)+ }
            }

            /// The method of that name in a revision. A name that was given to another method later has a
            /// row for each, and a revision has at most one of them.
            pub fn in_revision(name: &str, revision: Revision) -> Option<Self> {
                let within = |first, last| first <= revision && revision <= last;
                Some(match name {
                    $($rname if within(Revision::$rfirst, Revision::$rlast) => Self::$req,)+
                    $($nname if within(Revision::$nfirst, Revision::$nlast) => Self::$note,)+
                    _ => return None,
                })
            }
        }
    };
}

methods! {
    requests {
        /// Agrees on a revision and on capabilities.
        Initialize = "initialize" (InitializeParams => InitializeResult) ToServer V2024_11_05..=V2025_11_25 needs Needs::Nothing;
        /// Tells what the server speaks and can do.
        Discover = "server/discover" (EmptyParams => DiscoverResult) ToServer V2026_07_28..=V2026_07_28 needs Needs::Nothing;
        /// Shows that the other side is there.
        Ping = "ping" (EmptyParams => EmptyResult) Both V2024_11_05..=V2025_11_25 needs Needs::Nothing;
        /// Lists the tools.
        ListTools = "tools/list" (ListParams => ListToolsResult) ToServer V2024_11_05..=V2026_07_28 needs Needs::Server(ServerFeature::Tools);
        /// Calls a tool.
        CallTool = "tools/call" (CallToolParams => CallToolResult) ToServer V2024_11_05..=V2026_07_28 needs Needs::Server(ServerFeature::Tools);
        /// Lists the resources.
        ListResources = "resources/list" (ListParams => ListResourcesResult) ToServer V2024_11_05..=V2026_07_28 needs Needs::Server(ServerFeature::Resources);
        /// Lists the resource templates.
        ListResourceTemplates = "resources/templates/list" (ListParams => ListResourceTemplatesResult) ToServer V2024_11_05..=V2026_07_28 needs Needs::Server(ServerFeature::Resources);
        /// Reads a resource.
        ReadResource = "resources/read" (ReadResourceParams => ReadResourceResult) ToServer V2024_11_05..=V2026_07_28 needs Needs::Server(ServerFeature::Resources);
        /// Watches a resource.
        Subscribe = "resources/subscribe" (SubscribeParams => EmptyResult) ToServer V2024_11_05..=V2025_11_25 needs Needs::Server(ServerFeature::Resources);
        /// Stops watching a resource.
        Unsubscribe = "resources/unsubscribe" (SubscribeParams => EmptyResult) ToServer V2024_11_05..=V2025_11_25 needs Needs::Server(ServerFeature::Resources);
        /// Lists the prompts.
        ListPrompts = "prompts/list" (ListParams => ListPromptsResult) ToServer V2024_11_05..=V2026_07_28 needs Needs::Server(ServerFeature::Prompts);
        /// Fills in a prompt.
        GetPrompt = "prompts/get" (GetPromptParams => GetPromptResult) ToServer V2024_11_05..=V2026_07_28 needs Needs::Server(ServerFeature::Prompts);
        /// Suggests values for an argument.
        Complete = "completion/complete" (CompleteParams => CompleteResult) ToServer V2024_11_05..=V2026_07_28 needs Needs::Server(ServerFeature::Completions);
        /// Sets the lowest level of log messages.
        SetLevel = "logging/setLevel" (SetLevelParams => EmptyResult) ToServer V2024_11_05..=V2025_11_25 needs Needs::Server(ServerFeature::Logging);
        /// Opens a stream of notices.
        Listen = "subscriptions/listen" (ListenParams => EmptyResult) ToServer V2026_07_28..=V2026_07_28 needs Needs::Nothing;
        /// Asks the client's model.
        CreateMessage = "sampling/createMessage" (CreateMessageParams => CreateMessageResult) ToClient V2024_11_05..=V2026_07_28 needs Needs::Client(ClientFeature::Sampling);
        /// Lists the client's roots.
        ListRoots = "roots/list" (EmptyParams => ListRootsResult) ToClient V2024_11_05..=V2026_07_28 needs Needs::Client(ClientFeature::Roots);
        /// Asks the person.
        Elicit = "elicitation/create" (ElicitParams => ElicitResult) ToClient V2025_06_18..=V2026_07_28 needs Needs::Client(ClientFeature::Elicitation);
        /// Tells how a task stands, with its outcome once it has one.
        GetTask = "tasks/get" (TaskParams => Task) ToServer V2026_07_28..=V2026_07_28 needs Needs::Extension(Extension::Tasks);
        /// Answers questions of a task.
        UpdateTask = "tasks/update" (UpdateTaskParams => EmptyResult) ToServer V2026_07_28..=V2026_07_28 needs Needs::Extension(Extension::Tasks);
        /// Wishes the end of a task.
        CancelTask = "tasks/cancel" (TaskParams => EmptyResult) ToServer V2026_07_28..=V2026_07_28 needs Needs::Extension(Extension::Tasks);
        /// Tells how a legacy task stands.
        GetLegacyTask = "tasks/get" (TaskParams => LegacyTask) Both V2025_11_25..=V2025_11_25 needs Needs::Server(ServerFeature::Tasks);
        /// Waits for the result of a legacy task.
        GetLegacyTaskResult = "tasks/result" (TaskParams => EmptyResult) Both V2025_11_25..=V2025_11_25 needs Needs::Server(ServerFeature::Tasks);
        /// Cancels a legacy task.
        CancelLegacyTask = "tasks/cancel" (TaskParams => LegacyTask) Both V2025_11_25..=V2025_11_25 needs Needs::Server(ServerFeature::Tasks);
        /// Lists the legacy tasks.
        ListLegacyTasks = "tasks/list" (ListParams => ListTasksResult) Both V2025_11_25..=V2025_11_25 needs Needs::Server(ServerFeature::Tasks);
    }
    notifications {
        /// The client is ready.
        Initialized = "notifications/initialized" (EmptyNotice) ToServer V2024_11_05..=V2025_11_25 needs Needs::Nothing;
        /// A request is no longer wanted.
        CancelledNotice = "notifications/cancelled" (Cancelled) Both V2024_11_05..=V2026_07_28 needs Needs::Nothing;
        /// A request goes on.
        ProgressNotice = "notifications/progress" (Progress) Both V2024_11_05..=V2026_07_28 needs Needs::Nothing;
        /// The server logs something.
        LogNotice = "notifications/message" (LogMessage) ToClient V2024_11_05..=V2026_07_28 needs Needs::Server(ServerFeature::Logging);
        /// A resource changed.
        ResourceUpdatedNotice = "notifications/resources/updated" (ResourceUpdated) ToClient V2024_11_05..=V2026_07_28 needs Needs::Server(ServerFeature::Resources);
        /// The list of resources changed.
        ResourcesChanged = "notifications/resources/list_changed" (EmptyNotice) ToClient V2024_11_05..=V2026_07_28 needs Needs::Server(ServerFeature::Resources);
        /// The list of tools changed.
        ToolsChanged = "notifications/tools/list_changed" (EmptyNotice) ToClient V2024_11_05..=V2026_07_28 needs Needs::Server(ServerFeature::Tools);
        /// The list of prompts changed.
        PromptsChanged = "notifications/prompts/list_changed" (EmptyNotice) ToClient V2024_11_05..=V2026_07_28 needs Needs::Server(ServerFeature::Prompts);
        /// The list of roots changed.
        RootsChanged = "notifications/roots/list_changed" (EmptyNotice) ToServer V2024_11_05..=V2025_11_25 needs Needs::Client(ClientFeature::Roots);
        /// A stream of notices is open.
        SubscriptionAcknowledgedNotice = "notifications/subscriptions/acknowledged" (SubscriptionAcknowledged) ToClient V2026_07_28..=V2026_07_28 needs Needs::Nothing;
        /// A visit to an address ended.
        ElicitationCompleteNotice = "notifications/elicitation/complete" (ElicitationComplete) ToClient V2025_11_25..=V2025_11_25 needs Needs::Client(ClientFeature::Elicitation);
        /// A task changed.
        TaskNotice = "notifications/tasks" (Task) ToClient V2026_07_28..=V2026_07_28 needs Needs::Extension(Extension::Tasks);
        /// A legacy task changed.
        LegacyTaskNotice = "notifications/tasks/status" (LegacyTask) Both V2025_11_25..=V2025_11_25 needs Needs::Server(ServerFeature::Tasks);
    }
}

impl Method {
    /// The method's row of the table.
    pub fn facts(self) -> &'static MethodFacts {
        &Self::TABLE[self as usize]
    }

    /// The method of that name in the newest revision that has one.
    pub fn from_name(name: &str) -> Option<Self> {
        let mut newest_first = Revision::ALL.into_iter().rev();
        newest_first.find_map(|revision| Self::in_revision(name, revision))
    }

    /// Whether the revision has the method.
    pub fn exists_in(self, revision: Revision) -> bool {
        let facts = self.facts();
        (facts.first..=facts.last).contains(&revision)
    }
}

impl std::fmt::Display for Method {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_where_their_method_says() {
        for (index, facts) in Method::TABLE.iter().enumerate() {
            assert_eq!(facts.method as usize, index);
            assert_eq!(facts.method.facts(), facts);
            for revision in Revision::ALL {
                let found = Method::in_revision(facts.name, revision);
                assert_eq!(
                    found == Some(facts.method),
                    facts.method.exists_in(revision),
                    "{}",
                    facts.name
                );
            }
            assert!(facts.first <= facts.last, "{}", facts.name);
            assert_eq!(
                facts.name.starts_with("notifications/"),
                !facts.is_request,
                "{}",
                facts.name
            );
        }
    }

    #[test]
    fn a_name_means_one_method_in_each_revision() {
        for (name, modern, legacy) in [
            ("tasks/get", Method::GetTask, Method::GetLegacyTask),
            ("tasks/cancel", Method::CancelTask, Method::CancelLegacyTask),
        ] {
            assert_eq!(Method::from_name(name), Some(modern));
            assert_eq!(Method::in_revision(name, Revision::LATEST), Some(modern));
            assert_eq!(Method::in_revision(name, Revision::LATEST_LEGACY), Some(legacy));
            assert_eq!(Method::in_revision(name, Revision::V2024_11_05), None);
        }
        assert_eq!(Method::from_name("tasks/list"), Some(Method::ListLegacyTasks));
        assert_eq!(Method::from_name("tasks/reset"), None);
    }

    #[test]
    fn methods_come_and_go_with_their_revisions() {
        assert!(Method::Ping.exists_in(Revision::LATEST_LEGACY) && !Method::Ping.exists_in(Revision::LATEST));
        assert!(!Method::Discover.exists_in(Revision::LATEST_LEGACY) && Method::Discover.exists_in(Revision::LATEST));
        assert!(!Method::Elicit.exists_in(Revision::V2025_03_26));
    }
}
