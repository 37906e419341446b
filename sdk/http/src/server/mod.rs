//! The server's end.
