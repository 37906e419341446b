//! Whole-program tests live in `whole/`; this library is empty.
