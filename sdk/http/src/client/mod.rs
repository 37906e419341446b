//! The client's end.
