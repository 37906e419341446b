//! Programs that nobody here wrote: their servers, driven by our client, and their clients, driving our servers.
//!
//! `cargo xtask setup` installs them into `.tools/`; `tests/interop/README.md` says what is where.

mod clients;
mod cut;
mod everything;
mod exchange;
mod foreign;
mod inspector;
mod listening;
mod ours;
mod rmcp_client;
mod rmcp_server;
mod sdk_servers;
mod servers;
mod shipped;
mod traffic;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use trunkline::transport::Command;

/// How a client reaches a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Stdio,
    /// Streamable HTTP.
    Http,
    /// The transport of the first revision.
    HttpSse,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the workspace is above")
        .to_owned()
}

/// A file below the workspace root that `cargo xtask setup` or git put there.
fn at(path: &str) -> String {
    let full = root().join(path);
    assert!(full.exists(), "{path} is missing: run `cargo xtask setup`");
    full.to_str().expect("paths are UTF-8").to_owned()
}

fn node(script: &str) -> Command {
    Command::new(at(".tools/bin/node")).arg(at(&format!(".tools/node_modules/@modelcontextprotocol/{script}")))
}

fn python(module: &str) -> Command {
    Command::new(at(".tools/venv/bin/python")).arg("-m").arg(module)
}

/// The `trunkline` command, built once from the tree as it is.
fn trunkline() -> &'static str {
    static BUILT: OnceLock<String> = OnceLock::new();
    BUILT.get_or_init(|| {
        // This test runs from the folder that cargo puts binaries beside.
        let own = std::env::current_exe().expect("a test knows its own path");
        let folder = own
            .parent()
            .and_then(Path::parent)
            .expect("deps lies in the profile's folder");
        let target = folder.parent().expect("the profile's folder lies in the target folder");
        let mut build = std::process::Command::new(env!("CARGO"));
        build
            .args([
                "build",
                "--quiet",
                "--locked",
                "--package",
                "trunkline-cli",
                "--target-dir",
            ])
            .arg(target);
        if folder.ends_with("release") {
            build.arg("--release");
        }
        let status = build.current_dir(root()).status().expect("cargo runs");
        assert!(status.success(), "the command builds");
        folder.join("trunkline").to_str().expect("paths are UTF-8").to_owned()
    })
}
