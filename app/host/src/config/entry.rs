//! One server's entry.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value};
use trunkline_gate::client::{Remote, RemoteKind};

use super::expand::{Variables, expand};

/// Longest wait that can be configured: a day.
const MAX_TIMEOUT: f64 = 86_400.0;

/// One server of the configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerEntry {
    /// Its id: the key under which it stands.
    pub id: String,
    /// Whether its word on what is read-only is taken.
    pub trusted: bool,
    /// How long it may take to connect, and to answer a call; the caller's own choice where none is configured.
    pub timeout: Option<Duration>,
    /// How it is reached, or why it is not.
    pub launch: Launch,
}

/// How a server is reached, or why it is not.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Launch {
    /// As a child process.
    Start(Start),
    /// It is switched off in the configuration.
    Disabled,
    /// At an address. Its headers, and some of the address, are secret; `Debug` shows neither.
    Http(Remote),
    /// Its entry cannot be used. The other servers are not affected.
    Broken {
        /// What is wrong, where, and what to do.
        reason: String,
    },
}

/// A program to start.
#[derive(Clone, Default, PartialEq)]
pub struct Start {
    /// The program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables of its environment.
    pub env: Vec<(String, String)>,
    /// The folder it starts in.
    pub cwd: Option<PathBuf>,
}

/// Names of variables only: their values may be secrets.
impl std::fmt::Debug for Start {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&String> = self.env.iter().map(|(name, _)| name).collect();
        f.debug_struct("Start")
            .field("command", &self.command)
            .field("args", &self.args)
            .field("env", &names)
            .field("cwd", &self.cwd)
            .finish()
    }
}

/// Reads entries; `at` is the path of keys for messages.
pub(super) struct Reader<'a> {
    pub(super) variables: &'a dyn Variables,
    pub(super) secrets: Vec<String>,
    pub(super) notes: Vec<String>,
}

impl Reader<'_> {
    /// Reads the entry `id`; `twice` is a key that stands in it twice. What is wrong with it spoils it alone.
    pub(super) fn entry(&mut self, at: &str, id: &str, value: &Value, twice: Option<&str>) -> ServerEntry {
        let mut entry = ServerEntry {
            id: id.to_owned(),
            trusted: false,
            timeout: None,
            launch: Launch::Disabled,
        };
        if let Some(twice) = twice {
            let reason =
                format!("{twice} stands there twice; which of the two is meant cannot be known, so remove one");
            entry.launch = Launch::Broken { reason };
            return entry;
        }
        entry.launch = match self.read(at, value, &mut entry) {
            Ok(launch) => launch,
            Err(reason) => Launch::Broken { reason },
        };
        entry
    }

    fn read(&mut self, at: &str, value: &Value, entry: &mut ServerEntry) -> Result<Launch, String> {
        let Some(object) = value.as_object() else {
            return Err(format!(
                "{at} must be an object such as {{\"command\": \"…\"}}, not {}",
                sort(value)
            ));
        };
        if entry.id.trim().is_empty() {
            return Err(format!("{at}: a server needs a name; it is the key of its entry"));
        }
        let own = own_keys(at, object, entry)?;
        if own || object.get("disabled") == Some(&Value::Bool(true)) {
            return Ok(Launch::Disabled);
        }
        match reach(at, object)? {
            Reach::Program => self.program(at, object),
            Reach::Address(key, kind) => self.address(at, object, key, kind),
        }
    }

    fn program(&mut self, at: &str, object: &Map<String, Value>) -> Result<Launch, String> {
        let command = &object["command"];
        if command.is_array() {
            return Err(format!(
                "{at}.command is a list; put the program into \"command\" and the rest into \"args\""
            ));
        }
        for (key, advice) in [
            ("envFile", "put its variables into \"env\""),
            ("headers", "a program is given what it needs in \"env\""),
        ] {
            if is_there(object, key) {
                self.notes.push(format!("{at}.{key} is not read; {advice}"));
            }
        }
        Ok(Launch::Start(Start {
            command: self.text(&format!("{at}.command"), command)?,
            args: self.list(&format!("{at}.args"), object.get("args"))?,
            env: self.values(&format!("{at}.env"), object.get("env"))?,
            cwd: match object.get("cwd") {
                None | Some(Value::Null) => None,
                Some(cwd) => Some(PathBuf::from(self.text(&format!("{at}.cwd"), cwd)?)),
            },
        }))
    }

    fn text(&mut self, at: &str, value: &Value) -> Result<String, String> {
        let Some(text) = value.as_str() else {
            return Err(format!("{at} must be a string, not {}", sort(value)));
        };
        expand(text, self.variables, &mut self.secrets).map_err(|why| format!("{at} {why}"))
    }

    fn list(&mut self, at: &str, value: Option<&Value>) -> Result<Vec<String>, String> {
        match value {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(items)) => items
                .iter()
                .enumerate()
                .map(|(number, item)| self.text(&format!("{at}[{number}]"), item))
                .collect(),
            Some(other) => Err(format!("{at} must be a list of strings, not {}", sort(other))),
        }
    }

    /// Names and values, all of which count as secret.
    pub(super) fn values(&mut self, at: &str, value: Option<&Value>) -> Result<Vec<(String, String)>, String> {
        let members = match value {
            None | Some(Value::Null) => return Ok(Vec::new()),
            Some(Value::Object(members)) => members,
            Some(other) => return Err(format!("{at} must be an object of strings, not {}", sort(other))),
        };
        let mut values = Vec::new();
        for (name, value) in members {
            let value = match value {
                Value::Null => continue,
                // Ports and switches are often written without quotes.
                Value::Number(_) | Value::Bool(_) => value.to_string(),
                _ => self.text(&format!("{at}.{name}"), value)?,
            };
            self.secrets.push(value.trim().to_owned());
            values.push((name.clone(), value));
        }
        Ok(values)
    }
}

/// Keys under which an address stands. Windsurf says `serverUrl`, Gemini CLI `httpUrl`.
const ADDRESS: [&str; 3] = ["url", "serverUrl", "httpUrl"];

/// Keys under which the transport is named.
const TRANSPORT: [&str; 2] = ["type", "transport"];

/// What an entry leads to.
enum Reach<'a> {
    Program,
    /// An address, with the key that it stands under.
    Address(&'a str, RemoteKind),
}

/// Reads what an entry leads to. Which of two is meant is never guessed: one starts a program with the rights of a person,
/// the other tells secrets to a machine.
fn reach<'a>(at: &str, object: &'a Map<String, Value>) -> Result<Reach<'a>, String> {
    let transport = one_of(at, object, &TRANSPORT)?;
    let address = one_of(at, object, &ADDRESS)?;
    let program = is_there(object, "command");
    if let (true, Some(key)) = (program, address) {
        return Err(format!(
            "{at} has both \"command\" and \"{key}\"; a server is a program to start or an address, so remove one"
        ));
    }
    let Some(transport) = transport else {
        return match address {
            Some(key) => Ok(Reach::Address(key, RemoteKind::Auto)),
            None if program => Ok(Reach::Program),
            None => Err(format!(
                "{at} has no \"command\" and no \"url\"; name the program to start, or the address of the server"
            )),
        };
    };
    let place = format!("{at}.{transport}");
    let Some(name) = object[transport].as_str() else {
        return Err(format!("{place} must be a string, not {}", sort(&object[transport])));
    };
    if matches!(name, "stdio" | "local") {
        return match address {
            None if program => Ok(Reach::Program),
            None => Err(format!(
                "{place} is {name:?}, and there is no \"command\"; name the program to start"
            )),
            Some(key) => Err(format!(
                "{place} is {name:?}, which is for a \"command\", and there is a \"{key}\"; write \"http\", or remove it"
            )),
        };
    }
    match (RemoteKind::from_name(name), address) {
        (Some(kind), Some(key)) => Ok(Reach::Address(key, kind)),
        (Some(_), None) if program => Err(format!(
            "{place} is {name:?}, which is for a \"url\", and there is a \"command\"; write \"stdio\", or remove it"
        )),
        (Some(_), None) => Err(format!(
            "{place} is {name:?}, and there is no \"url\"; add the address of the server"
        )),
        (None, _) => Err(format!(
            "{place} is {name:?}, which is not spoken here; there are \"http\", \"streamable-http\" and \"sse\" for a \"url\", and \
             \"stdio\" for a \"command\""
        )),
    }
}

/// The one of several keys that stands there, or any of them where they say the same.
fn one_of<'a>(at: &str, object: &'a Map<String, Value>, keys: &[&'a str]) -> Result<Option<&'a str>, String> {
    let mut found = keys.iter().copied().filter(|key| is_there(object, key));
    let Some(first) = found.next() else {
        return Ok(None);
    };
    match found.find(|other| object[*other] != object[first]) {
        Some(other) => Err(format!("{at}.{first} and {at}.{other} are not the same; remove one")),
        None => Ok(Some(first)),
    }
}

/// Whether a key stands there and says something. Programs that write such files leave empty ones.
pub(super) fn is_there(object: &Map<String, Value>, key: &str) -> bool {
    match object.get(key) {
        None | Some(Value::Null) => false,
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Array(items)) => !items.is_empty(),
        Some(Value::Object(members)) => !members.is_empty(),
        Some(Value::Bool(_) | Value::Number(_)) => true,
    }
}

/// Reads our own keys into `entry`; returns whether the server is switched off.
fn own_keys(at: &str, object: &Map<String, Value>, entry: &mut ServerEntry) -> Result<bool, String> {
    let at = format!("{at}.trunkline");
    let own = match object.get("trunkline") {
        None => return Ok(false),
        Some(Value::Object(own)) => own,
        Some(other) => return Err(format!("{at} must be an object, not {}", sort(other))),
    };
    let flag = |name: &str, value: &Value| match value {
        Value::Bool(flag) => Ok(*flag),
        other => Err(format!("{at}.{name} must be true or false, not {}", sort(other))),
    };
    let mut disabled = false;
    for (name, value) in own {
        match name.as_str() {
            "trusted" => entry.trusted = flag(name, value)?,
            "disabled" => disabled = flag(name, value)?,
            "timeoutSeconds" => match value.as_f64() {
                Some(seconds) if seconds > 0.0 && seconds <= MAX_TIMEOUT => {
                    entry.timeout = Some(Duration::from_secs_f64(seconds));
                }
                _ => {
                    return Err(format!(
                        "{at}.timeoutSeconds must be a number above 0 and at most {MAX_TIMEOUT}"
                    ));
                }
            },
            _ => {
                return Err(format!(
                    "{at}.{name} is not known; there are trusted, timeoutSeconds and disabled"
                ));
            }
        }
    }
    Ok(disabled)
}

/// What a value is, in words.
pub(super) fn sort(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
