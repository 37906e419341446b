//! `cargo xtask setup`: the foreign programs of the interop tests, pinned, in `.tools/`.
//!
//! What is installed is said by the committed lock files in `tests/interop/`. A copy of their text is
//! left beside what was installed from them; as long as it is the same, nothing is done again.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::Problem;
use crate::output;
use crate::place;
use crate::run::{self, Ran};

/// The Inspector needs this Node; the other programs run on it as well.
const NEWER_NODE: Version = Version(22, 19);
/// What `npm ci` itself needs to read the lock file.
const OLDEST_NODE: Version = Version(20, 0);
const OLDEST_PYTHON: Version = Version(3, 11);
/// Longest time for one installing command.
const INSTALL_LIMIT: Duration = Duration::from_secs(15 * 60);
/// Lines of a failed command's output that are quoted.
const QUOTED_LINES: usize = 15;

const NPM_CI: &[&str] = &["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
const PIP_INSTALL: &[&str] = &[
    "-m",
    "pip",
    "install",
    "--disable-pip-version-check",
    "--no-deps",
    "--only-binary",
    ":all:",
    "-r",
    "tests/interop/requirements.txt",
];

/// Something that is not there, why, and what to type.
struct Missing {
    what: &'static str,
    why: String,
    by_hand: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Version(u32, u32);

/// `cargo xtask setup`, which takes no arguments.
pub(crate) fn command(args: &[String]) -> Result<(), Problem> {
    match args.first() {
        Some(arg) => Err(Problem::Usage(format!(
            "`{arg}` is not known; usage: cargo xtask setup"
        ))),
        None => install().map_err(Problem::Failed),
    }
}

/// Installs what is not there yet; tells everything that is missing, not only the first thing.
pub(crate) fn install() -> Result<(), String> {
    install_these(&[node_packages, python_packages, git])
}

/// The node packages alone.
pub(crate) fn install_node() -> Result<(), String> {
    install_these(&[node_packages])
}

fn install_these(parts: &[fn() -> Result<(), Missing>]) -> Result<(), String> {
    // Two runs at once would install over each other.
    let lock = fs::create_dir_all(place::tools())
        .and_then(|()| File::create(place::tools().join("lock")))
        .and_then(|file| file.lock().map(|()| file))
        .map_err(|error| format!("{} cannot be written: {error}", place::tools().display()))?;
    let missing: Vec<Missing> = parts.iter().filter_map(|part| part().err()).collect();
    drop(lock);
    if missing.is_empty() {
        return Ok(());
    }
    for Missing { what, why, by_hand } in &missing {
        output::line(&format!("      MISSING {what}: {why}\n      by hand: {by_hand}"));
    }
    let names: Vec<_> = missing.iter().map(|missing| missing.what).collect();
    Err(format!("not installed: {}", names.join(", ")))
}

fn node_packages() -> Result<(), Missing> {
    const WHAT: &str = "node packages";
    let by_hand = format!("cd .tools && npm {}", NPM_CI.join(" "));
    let missing = |why: String| Missing {
        what: WHAT,
        why,
        by_hand: by_hand.clone(),
    };

    let locks = ["package.json", "package-lock.json"];
    let stamp = Stamp::of(&locks, "").map_err(|error| missing(error.to_string()))?;
    let node = place::tools().join("bin/node");
    if stamp.is_left() && version_of(&node) >= Some(NEWER_NODE) {
        told(WHAT, "already installed");
        return Ok(());
    }
    stamp.remove();

    if version_of(Path::new("node")) < Some(OLDEST_NODE) || version_of(Path::new("npm")).is_none() {
        return Err(Missing {
            what: WHAT,
            why: format!("Node {OLDEST_NODE} or later with npm is not on PATH"),
            by_hand: "apt-get install nodejs npm, or as your system does it".to_owned(),
        });
    }
    for lock in locks {
        fs::copy(place::interop().join(lock), place::tools().join(lock))
            .map_err(|error| missing(format!("{lock} cannot be copied: {error}")))?;
    }
    let mut npm = Command::new("npm");
    npm.args(NPM_CI).current_dir(place::tools());
    let ran = run::run(&mut npm, place::log("npm"), INSTALL_LIMIT);
    failure_of(&ran).map_or(Ok(()), |why| Err(missing(why)))?;

    let newer = newer_node().ok_or_else(|| Missing {
        what: "Node",
        why: format!("the Inspector needs Node {NEWER_NODE} or later, and npm has none for this system"),
        by_hand: format!("install Node {NEWER_NODE} or later so that `node` on PATH is that one"),
    })?;
    link(&newer, &node).map_err(|error| missing(format!("{}: {error}", node.display())))?;
    stamp.leave().map_err(|error| missing(error.to_string()))?;
    told(WHAT, &format!("installed in {:.1} s", ran.took.as_secs_f64()));
    Ok(())
}

fn python_packages() -> Result<(), Missing> {
    const WHAT: &str = "Python packages";
    let Some((system_python, text)) = system_python() else {
        return Err(Missing {
            what: WHAT,
            why: format!("Python {OLDEST_PYTHON} or later is not on PATH"),
            by_hand: "apt-get install python3 python3-venv, or as your system does it".to_owned(),
        });
    };
    let by_hand = format!(
        "{system_python} -m venv --clear .tools/venv && .tools/venv/bin/python {}",
        PIP_INSTALL.join(" ")
    );
    let missing = |why: String| Missing {
        what: WHAT,
        why,
        by_hand: by_hand.clone(),
    };

    // A virtual environment belongs to the Python that made it.
    let stamp = Stamp::of(&["requirements.txt"], &text).map_err(|error| missing(error.to_string()))?;
    let venv = place::tools().join("venv");
    let python = venv.join("bin/python");
    if stamp.is_left() && version_of(&python) >= Some(OLDEST_PYTHON) {
        told(WHAT, "already installed");
        return Ok(());
    }
    stamp.remove();

    let mut seconds = 0.0;
    let mut install = |program: &Path, args: &[&str], log: &str| {
        let mut command = Command::new(program);
        command.args(args).current_dir(place::root());
        let ran = run::run(&mut command, place::log(log), INSTALL_LIMIT);
        seconds += ran.took.as_secs_f64();
        failure_of(&ran).map_or(Ok(()), |why| Err(missing(why)))
    };
    let make_venv = ["-m", "venv", "--clear", ".tools/venv"];
    install(Path::new(system_python), &make_venv, "venv")?;
    install(&python, PIP_INSTALL, "pip")?;
    install(&python, &["-m", "pip", "check"], "pip-check")?;
    stamp.leave().map_err(|error| missing(error.to_string()))?;
    told(WHAT, &format!("installed in {seconds:.1} s"));
    Ok(())
}

/// `mcp-server-git` and its tests work on repositories.
fn git() -> Result<(), Missing> {
    match version_of(Path::new("git")) {
        Some(_) => Ok(()),
        None => Err(Missing {
            what: "git",
            why: "it is not on PATH".to_owned(),
            by_hand: "apt-get install git, or as your system does it".to_owned(),
        }),
    }
}

fn told(what: &str, how: &str) {
    output::line(&format!("      {what}: {how}"));
}

fn failure_of(ran: &Ran) -> Option<String> {
    let failure = ran.failure.as_ref()?;
    let quoted = run::last_lines(&ran.output(), QUOTED_LINES);
    Some(format!("{failure}; it said:\n{quoted}"))
}

/// A Python on PATH that is new enough, with the version it reports.
fn system_python() -> Option<(&'static str, String)> {
    const NAMES: &[&str] = &[
        "python3",
        "python3.14",
        "python3.13",
        "python3.12",
        "python3.11",
        "python",
    ];
    NAMES.iter().find_map(|name| {
        let text = version_text(Path::new(name))?;
        (parse_version(&text)? >= OLDEST_PYTHON).then_some((*name, text))
    })
}

/// The pinned Node that npm brought for this system, else the one on PATH if it is new enough.
fn newer_node() -> Option<PathBuf> {
    let packages = fs::read_dir(place::tools().join("node_modules")).ok()?;
    let pinned = packages
        .filter_map(Result::ok)
        .filter(|package| package.file_name().to_string_lossy().starts_with("node-"))
        .map(|package| package.path().join("bin/node"));
    let on_path = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())
        .map(|folder| folder.join("node"))
        .collect::<Vec<_>>();
    pinned.chain(on_path).find(|node| version_of(node) >= Some(NEWER_NODE))
}

fn link(original: &Path, link: &Path) -> io::Result<()> {
    if let Some(folder) = link.parent() {
        fs::create_dir_all(folder)?;
    }
    match fs::remove_file(link) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    #[cfg(unix)]
    return std::os::unix::fs::symlink(original, link);
    #[cfg(not(unix))]
    return fs::copy(original, link).map(|_| ());
}

fn version_of(program: &Path) -> Option<Version> {
    parse_version(&version_text(program)?)
}

fn version_text(program: &Path) -> Option<String> {
    let answer = Command::new(program).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
    (answer.status.success() && !text.is_empty()).then_some(text)
}

/// The first two numbers of `v22.23.3`, `Python 3.11.7` or `git version 2.47.3`.
fn parse_version(text: &str) -> Option<Version> {
    let word = text.split_whitespace().find(|word| word.contains('.'))?;
    let mut numbers = word.trim_start_matches('v').split('.').map(str::parse);
    Some(Version(numbers.next()?.ok()?, numbers.next()?.ok()?))
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

/// The text of the lock files that an installation came from, kept beside it.
struct Stamp {
    path: PathBuf,
    text: String,
}

impl Stamp {
    fn of(locks: &[&str], more: &str) -> io::Result<Self> {
        let mut text = format!("{more}\n");
        for lock in locks {
            text.push_str(&fs::read_to_string(place::interop().join(lock))?);
        }
        let path = place::tools().join(format!("{}.stamp", locks[0]));
        Ok(Self { path, text })
    }

    fn is_left(&self) -> bool {
        fs::read_to_string(&self.path).is_ok_and(|left| left == self.text)
    }

    /// Taken away first, so that an installation broken off half-way is done again.
    fn remove(&self) {
        let _ = fs::remove_file(&self.path);
    }

    fn leave(&self) -> io::Result<()> {
        fs::write(&self.path, &self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_what_programs_print() {
        assert_eq!(parse_version("v22.23.3"), Some(Version(22, 23)));
        assert_eq!(parse_version("Python 3.11.7"), Some(Version(3, 11)));
        assert_eq!(parse_version("git version 2.47.3"), Some(Version(2, 47)));
        assert_eq!(parse_version("11.19.1"), Some(Version(11, 19)));
        assert_eq!(parse_version("command not found"), None);
        assert!(Version(3, 9) < OLDEST_PYTHON && Version(22, 4) < NEWER_NODE);
    }

    #[test]
    fn an_absent_program_has_no_version() {
        assert_eq!(version_of(Path::new("no-such-program-anywhere")), None);
    }

    #[test]
    fn the_node_lock_pins_by_content_and_names_no_registry() {
        let lock = fs::read_to_string(place::interop().join("package-lock.json")).expect("the lock file is committed");
        assert!(!lock.contains("\"resolved\""), "an address is in the lock file");
        let packages = lock.matches("    \"node_modules/").count();
        let digests = lock.matches("      \"integrity\": \"sha512-").count();
        assert!(packages > 0);
        assert_eq!(packages, digests, "a package has no digest");
    }

    #[test]
    fn wanted_node_packages_have_exact_versions() {
        let wanted = fs::read_to_string(place::interop().join("package.json")).expect("the file is committed");
        let loose = wanted
            .lines()
            .find(|line| line.contains("\": \"^") || line.contains("\": \"~"));
        assert_eq!(loose, None);
    }

    #[test]
    fn every_python_package_is_pinned() {
        let list = fs::read_to_string(place::interop().join("requirements.txt")).expect("the file is committed");
        let packages: Vec<&str> = list
            .lines()
            .filter(|line| !line.starts_with('#') && !line.is_empty())
            .collect();
        assert!(packages.iter().any(|line| line.starts_with("mcp==")));
        for package in packages {
            let exact = package
                .split_once("==")
                .is_some_and(|(_, version)| version.starts_with(|first: char| first.is_ascii_digit()));
            assert!(exact, "`{package}` is not pinned");
        }
    }
}
