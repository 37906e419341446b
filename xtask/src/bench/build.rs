//! Building what is measured: optimized, each program by a command of its own, so that none gets features that only
//! another one asks for.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::output;
use crate::place;
use crate::run;

const LIMIT: Duration = Duration::from_secs(40 * 60);

/// A program that is measured or measures.
#[derive(Debug, Clone, Copy)]
pub(super) struct Program {
    package: &'static str,
    binary: &'static str,
    /// Whether it belongs to the workspace of the peers.
    peer: bool,
}

const fn ours(package: &'static str, binary: &'static str) -> Program {
    Program {
        package,
        binary,
        peer: false,
    }
}

const fn peer(package: &'static str) -> Program {
    Program {
        package,
        binary: package,
        peer: true,
    }
}

pub(super) const SERVER: Program = ours("trunkline-bench-server", "bench-server");
pub(super) const CLIENT: Program = ours("trunkline-bench-client", "bench-client");
pub(super) const LOAD: Program = ours("trunkline-bench-load", "bench-load");
pub(super) const LOOPS: Program = ours("trunkline-bench-loops", "bench-loops");
pub(super) const FLOOR: Program = peer("peer-floor");
pub(super) const RMCP: Program = peer("peer-rmcp");
pub(super) const RMCP_CLIENT: Program = peer("peer-rmcp-client");

impl Program {
    /// Builds it where builds of its workspace go. Where it lies then.
    pub(super) fn build(self) -> Result<PathBuf, String> {
        let target = if self.peer {
            place::target().join("bench-peers")
        } else {
            place::target()
        };
        self.build_in(&target)?;
        Ok(target.join("release").join(self.binary))
    }

    /// Builds it in that target folder. How long that took.
    pub(super) fn build_in(self, target: &std::path::Path) -> Result<Duration, String> {
        let mut command = Command::new(place::cargo());
        command
            .args([
                "build",
                "--release",
                "--locked",
                "--package",
                self.package,
                "--manifest-path",
            ])
            .arg(self.manifest())
            .arg("--target-dir")
            .arg(target)
            .current_dir(place::root());
        output::progress(&format!("cargo build --release --package {}", self.package));
        let built = run::run(&mut command, place::log(&format!("bench-{}", self.package)), LIMIT);
        match built.failure {
            None => Ok(built.took),
            Some(ref failure) => Err(format!(
                "`{}` was not built: {failure}\n{}",
                self.package,
                run::worth_showing(&built.output())
            )),
        }
    }

    /// The manifest of its workspace.
    pub(super) fn manifest(self) -> PathBuf {
        let folder = if self.peer { "bench/peers" } else { "." };
        place::root().join(folder).join("Cargo.toml")
    }

    pub(super) fn package(self) -> &'static str {
        self.package
    }
}
