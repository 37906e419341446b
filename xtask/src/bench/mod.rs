//! `cargo xtask bench`: what Trunkline costs, measured.

mod instructions;

use crate::Problem;

const USAGE: &str = "usage: cargo xtask bench instructions [FILTER] [--write]";

/// `cargo xtask bench WHAT`.
pub(crate) fn command(args: &[String]) -> Result<(), Problem> {
    match args.split_first() {
        Some((what, rest)) if what == "instructions" => instructions::command(rest),
        _ => Err(Problem::Usage(USAGE.to_owned())),
    }
}
