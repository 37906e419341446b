//! The weather server that ships with the command.
