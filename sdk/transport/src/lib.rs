//! Framed bytes between two MCP peers: memory, stdio, child process.
