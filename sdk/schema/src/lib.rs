//! JSON Schema as MCP uses it: compiled once, bounded, never fetched from a network.
