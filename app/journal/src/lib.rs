//! The one recording format: written, verified, read.
