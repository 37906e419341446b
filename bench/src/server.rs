//! The server that benchmarks and fault tests drive.
fn main() {}
