//! An MCP client: connect, list, call, answer what the server asks.
