//! Where things are.

use std::env;
use std::path::{Path, PathBuf};

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// Where the foreign programs are installed; git ignores it.
pub(crate) fn tools() -> PathBuf {
    root().join(".tools")
}

/// The committed side of the interop tests: what to install, and the foreign client programs.
pub(crate) fn interop() -> PathBuf {
    root().join("tests/interop")
}

/// Where builds go: where the one of this program went, whatever it was configured by.
pub(crate) fn target() -> PathBuf {
    let built = env::current_exe().ok();
    let profile = built.as_deref().and_then(Path::parent);
    // Tests of this program lie one folder deeper.
    let profile = match profile {
        Some(folder) if folder.ends_with("deps") => folder.parent(),
        folder => folder,
    };
    profile
        .and_then(Path::parent)
        .map_or_else(|| root().join("target"), Path::to_path_buf)
}

/// Where the output of the command or step `name` is kept: beside the build this program comes from.
pub(crate) fn log(name: &str) -> PathBuf {
    target().join("xtask").join(format!("{name}.log"))
}

/// The cargo that started this program, so that both use one toolchain.
pub(crate) fn cargo() -> String {
    env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}

/// A path as people read it: relative to the workspace where it lies inside.
pub(crate) fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}
