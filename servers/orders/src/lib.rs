//! The orders server that ships with the command: narrow tools over SQLite.
