//! The host: configuration, servers, models, one conversation.

pub mod offline;
