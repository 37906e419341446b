//! Header names and values.
