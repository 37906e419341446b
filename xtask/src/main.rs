//! Set up and run everything: `cargo xtask test`.
fn main() {}
