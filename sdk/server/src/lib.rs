//! An MCP server: register tools, resources and prompts, serve them.
