//! The host: configuration, servers, models, one conversation.
