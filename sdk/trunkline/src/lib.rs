//! The Model Context Protocol in Rust: servers and clients, both eras.
