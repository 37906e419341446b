//! The configuration: the file people already have.
//!
//! `mcpServers` as Claude Desktop, Claude Code, Cursor and Windsurf write it, and VS Code's `servers`, comments allowed.
//! `${NAME}` and `${NAME:-default}` are replaced from the environment in `command`, `args`, `env`, `cwd`, `url` and
//! `headers`. Our own keys stand beside, where other programs pass over them:
//!
//! ```json
//! { "mcpServers": {
//!     "files": {
//!         "command": "npx", "args": ["-y", "some-server", "${HOME}/notes"], "env": { "TOKEN": "${FILES_TOKEN}" },
//!         "trunkline": { "trusted": false, "timeoutSeconds": 30, "disabled": false }
//!     },
//!     "issues": {
//!         "type": "http", "url": "https://issues.example/mcp",
//!         "headers": { "Authorization": "Bearer ${ISSUES_TOKEN}" }
//!     }
//! } }
//! ```
//!
//! Where it is looked for, first found first taken:
//! 1. the file that is named (`--config FILE`);
//! 2. the file that the variable `TRUNKLINE_CONFIG` names;
//! 3. the person's own: `$XDG_CONFIG_HOME/trunkline/mcp.json`, else `~/.config/trunkline/mcp.json` (on Windows
//!    `%APPDATA%\trunkline\mcp.json`);
//! 4. built in: the shipped weather and orders servers, trusted.
//!
//! A file in the working folder, such as `.mcp.json`, is never taken by itself: it names programs to start, and a
//! folder that was downloaded must not start programs because a question was asked in it. It is mentioned instead.

mod address;
mod entry;
mod expand;
mod jsonc;
mod members;
#[cfg(test)]
mod tests;

use std::fmt;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

pub use address::{MAX_HEADER_BYTES, MAX_HEADERS, MAX_URL};
pub use entry::{Launch, ServerEntry, Start};

use entry::{Reader, sort};
use members::{Members, twice};

/// Largest configuration file, in bytes.
pub const MAX_FILE: u64 = 4 << 20;

/// Most servers in one configuration.
pub const MAX_SERVERS: usize = 128;

/// Variables whose values are no secrets. They stand in many other texts, which would be masked for nothing.
const NOT_SECRET: [&str; 6] = ["HOME", "USER", "PWD", "LOGNAME", "USERNAME", "USERPROFILE"];

/// Files in the working folder that hold servers for other programs.
const IN_FOLDER: [&str; 4] = [".mcp.json", "mcp.json", ".vscode/mcp.json", ".cursor/mcp.json"];

/// Which servers there are.
#[derive(Debug, Clone, PartialEq)]
pub struct Configuration {
    /// Where it comes from; none when it is built in.
    pub file: Option<PathBuf>,
    /// The servers, in the order of the file.
    pub servers: Vec<ServerEntry>,
    /// What the person should know about it.
    pub notes: Vec<String>,
    /// Values that must not be written down: environment variables that it sets or uses, but for those that say who
    /// and where a person is (`HOME`, `USER`, `PWD` and the like); headers; and what looks like a key in an address.
    pub secrets: Vec<String>,
}

/// Why there is no configuration: which file, where in it, what is wrong, what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// The file.
    pub file: PathBuf,
    /// Line and column, both from 1, where they are known.
    pub place: Option<(usize, usize)>,
    /// What is wrong and what to do.
    pub problem: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some((line, column)) = self.place {
            write!(f, ":{line}:{column}")?;
        }
        write!(f, ": {}", self.problem)
    }
}

impl std::error::Error for ConfigError {}

/// Finds and reads the configuration. `named` is the file that was asked for; `program` is started for the built-in
/// servers; `variables` is the environment.
///
/// # Errors
/// When a file that is there, or was named, cannot be read or is not a configuration. What is wrong with a single
/// server stands in its [`ServerEntry`].
///
/// ```
/// use std::path::Path;
/// use trunkline_host::config::load;
/// let configuration = load(None, Path::new("trunkline"), &|_: &str| None)?;
/// let ids: Vec<&str> = configuration.servers.iter().map(|server| server.id.as_str()).collect();
/// assert_eq!(ids, ["weather", "orders"]);
/// # Ok::<(), trunkline_host::config::ConfigError>(())
/// ```
pub fn load(
    named: Option<&Path>,
    program: &Path,
    variables: &dyn Fn(&str) -> Option<String>,
) -> Result<Configuration, ConfigError> {
    let set = |name: &str| variables(name).filter(|value| !value.is_empty());
    let named = named
        .map(Path::to_owned)
        .or_else(|| set("TRUNKLINE_CONFIG").map(PathBuf::from));
    if let Some(file) = named {
        return read(&file, variables);
    }
    let mut configuration = match own_file(&set).filter(|file| file.exists()) {
        Some(file) => read(&file, variables)?,
        None => built_in(program),
    };
    if let Some(here) = IN_FOLDER.into_iter().find(|file| Path::new(file).is_file()) {
        configuration.notes.push(format!(
            "{here} is not used by itself, because it names programs to start; use it with --config {here}"
        ));
    }
    Ok(configuration)
}

/// The person's own file, whether it exists or not.
fn own_file(set: &dyn Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let folder = if cfg!(windows) {
        PathBuf::from(set("APPDATA")?)
    } else {
        set("XDG_CONFIG_HOME")
            .map(PathBuf::from)
            .filter(|folder| folder.is_absolute())
            .or_else(|| set("HOME").map(|home| Path::new(&home).join(".config")))?
    };
    Some(folder.join("trunkline").join("mcp.json"))
}

/// The servers that ship with the program. The orders server may cancel orders, because a person is asked before it
/// does; it works on sample orders that live as long as the process.
fn built_in(program: &Path) -> Configuration {
    let server = |id: &str, more: &[&str]| ServerEntry {
        id: id.to_owned(),
        trusted: true,
        timeout: None,
        launch: Launch::Start(Start {
            command: program.to_string_lossy().into_owned(),
            args: ["serve", id].iter().chain(more).map(|&arg| arg.to_owned()).collect(),
            ..Start::default()
        }),
    };
    Configuration {
        file: None,
        servers: vec![server("weather", &[]), server("orders", &["--role", "clerk"])],
        notes: Vec::new(),
        secrets: Vec::new(),
    }
}

fn read(file: &Path, variables: &dyn Fn(&str) -> Option<String>) -> Result<Configuration, ConfigError> {
    let wrong = |problem: String| ConfigError {
        file: file.to_owned(),
        place: None,
        problem,
    };
    // Pipes and devices may never end, and a read of one cannot be interrupted; already opening one may wait for ever.
    if !std::fs::metadata(file)
        .map_err(|error| wrong(cannot_read(&error)))?
        .is_file()
    {
        return Err(wrong(
            "not a file, but a folder, a pipe or a device; name the file that holds the configuration".to_owned(),
        ));
    }
    let mut bytes = Vec::new();
    std::fs::File::open(file)
        .and_then(|opened| opened.take(MAX_FILE + 1).read_to_end(&mut bytes))
        .map_err(|error| wrong(cannot_read(&error)))?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(wrong(format!(
            "larger than {MAX_FILE} bytes; is this the configuration?"
        )));
    }
    let text = String::from_utf8(bytes).map_err(|error| wrong(format!("not UTF-8 text: {error}")))?;
    parse(file, &text, variables)
}

fn cannot_read(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "no such file; check the path after --config".to_owned(),
        _ => format!("cannot be read: {error}"),
    }
}

/// Reads a configuration from its text.
fn parse(file: &Path, text: &str, variables: &dyn Fn(&str) -> Option<String>) -> Result<Configuration, ConfigError> {
    let error_at = |place, problem| ConfigError {
        file: file.to_owned(),
        place,
        problem,
    };
    let wrong = |problem: String| error_at(None, problem);
    let plain = jsonc::plain(text.trim_start_matches('\u{feff}'));
    let syntax = |error: serde_json::Error| {
        let place = (error.line(), error.column());
        let said = error.to_string();
        let said = said.split(" at line ").next().unwrap_or_default();
        error_at(Some(place), format!("not valid JSON: {said}"))
    };
    let whole: Value = serde_json::from_str(&plain).map_err(syntax)?;
    let Some(object) = whole.as_object() else {
        return Err(wrong(format!(
            "must be an object with \"mcpServers\", not {}",
            sort(&whole)
        )));
    };
    let (key, path): (&str, &[&str]) = if object.contains_key("mcpServers") {
        ("mcpServers", &["mcpServers"])
    } else if object.contains_key("servers") {
        ("servers", &["servers"])
    } else if object.get("mcp").is_some_and(|mcp| mcp.get("servers").is_some()) {
        ("mcp.servers", &["mcp", "servers"])
    } else {
        let keys: Vec<&str> = object.keys().take(8).map(String::as_str).collect();
        let found = if keys.is_empty() {
            "it is empty".to_owned()
        } else {
            format!("it holds {}", keys.join(", "))
        };
        return Err(wrong(format!("has no \"mcpServers\" (or \"servers\"); {found}")));
    };
    let repeated = twice(&plain).map_err(syntax)?;
    if let Some(repeated) = repeated.iter().find(|keys| is_above(keys, path)) {
        let keys = repeated.join(".");
        return Err(wrong(format!(
            "{keys} stands there twice; put all servers into one of the two"
        )));
    }
    let servers = path.iter().fold(&whole, |value, key| &value[*key]);
    if !servers.is_object() {
        return Err(wrong(format!(
            "{key} must be an object with one entry for each server, not {}",
            sort(servers)
        )));
    }
    let members = members_at(&plain, path).map_err(syntax)?;
    if members.len() > MAX_SERVERS {
        return Err(wrong(format!(
            "{key} holds {} servers; {MAX_SERVERS} are allowed",
            members.len()
        )));
    }
    for (place, (id, _)) in members.iter().enumerate() {
        if members[..place].iter().any(|(earlier, _)| earlier == id) {
            return Err(wrong(format!(
                "{key}.{id} stands there twice; give each server a name of its own"
            )));
        }
    }
    let mut reader = Reader {
        variables: &variables,
        secrets: Vec::new(),
        notes: beside(object, key),
    };
    let servers = members
        .iter()
        .map(|(id, value)| {
            let twice = repeated.iter().find(|keys| is_in_entry(keys, path, id));
            let twice = twice.map(|keys| keys.join("."));
            reader.entry(&format!("{key}.{id}"), id, value, twice.as_deref())
        })
        .collect();
    let (mut secrets, notes) = (reader.secrets, reader.notes);
    let known: Vec<String> = NOT_SECRET.into_iter().filter_map(variables).collect();
    secrets.retain(|secret| !known.contains(secret));
    secrets.sort_unstable();
    secrets.dedup();
    Ok(Configuration {
        file: Some(file.to_owned()),
        servers,
        notes,
        secrets,
    })
}

/// Whether a path of keys leads to the object of all servers, or is that object.
fn is_above(keys: &[String], path: &[&str]) -> bool {
    keys.len() <= path.len() && keys.iter().zip(path).all(|(key, wanted)| key == wanted)
}

/// Whether a path of keys leads into the entry `id`.
fn is_in_entry(keys: &[String], path: &[&str], id: &str) -> bool {
    keys.len() > path.len() + 1
        && keys.iter().zip(path).all(|(key, wanted)| key == wanted)
        && keys.get(path.len()).is_some_and(|key| key == id)
}

/// A note on each other place in the file that holds servers too: they are not read.
fn beside(object: &serde_json::Map<String, Value>, key: &str) -> Vec<String> {
    let mcp = object.get("mcp").and_then(|mcp| mcp.get("servers"));
    [("servers", object.get("servers")), ("mcp.servers", mcp)]
        .into_iter()
        .filter(|(other, servers)| *other != key && servers.is_some_and(Value::is_object))
        .map(|(other, _)| format!("{other} is not read, because {key} stands beside it; put all servers into {key}"))
        .collect()
}

/// The members of the object at `path`, duplicates included, which a [`Value`] would drop.
fn members_at(json: &str, path: &[&str]) -> serde_json::Result<Vec<(String, Value)>> {
    let [key, rest @ ..] = path else {
        return serde_json::from_str::<Members>(json).map(|members| members.0);
    };
    let object: std::collections::HashMap<String, &serde_json::value::RawValue> = serde_json::from_str(json)?;
    match object.get(*key) {
        Some(inner) => members_at(inner.get(), rest),
        None => Ok(Vec::new()),
    }
}
