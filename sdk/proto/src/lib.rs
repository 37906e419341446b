//! Connection state of the Model Context Protocol, both eras: no I/O, no clock, no randomness.
