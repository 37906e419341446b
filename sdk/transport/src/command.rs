//! How to start a child process.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use crate::child::{Child, Waits};
use crate::spawn_error::{bad_variable, explain};
use crate::{Limits, TransportError, TransportErrorKind};

/// The variables a child inherits unless told otherwise; names that start with `LC_` are added on
/// Unix. Everything else, tokens and keys above all, is passed only when named.
#[cfg(unix)]
pub const INHERITED_ENV: &[&str] = &[
    "HOME",
    "LANG",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "__CF_USER_TEXT_ENCODING",
];
/// The variables a child inherits unless told otherwise. Everything else, tokens and keys above
/// all, is passed only when named.
#[cfg(not(unix))]
pub const INHERITED_ENV: &[&str] = &[
    "APPDATA",
    "COMSPEC",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "PATH",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "USERNAME",
    "USERPROFILE",
    "WINDIR",
];

/// Programs that are being started at the same time by [`Command::start`], in one process. Starting one takes a
/// millisecond or more of a processor, so further ones would only hold them up.
pub const MAX_STARTING: usize = 4;
static STARTING: Semaphore = Semaphore::const_new(MAX_STARTING);

/// Hears the lines a child writes to its stderr.
pub(crate) type StderrListener = Arc<dyn Fn(&[u8]) + Send + Sync>;

/// A program to start as the far end of a connection, with its arguments and environment.
///
/// No shell is involved: arguments reach the program as they are. The child sees only the
/// variables of [`INHERITED_ENV`] and those given here.
///
/// ```
/// use trunkline_transport::Command;
///
/// let command = Command::new("weather-server").arg("--live").env("TOKEN", "secret");
/// assert_eq!(command.to_string(), "weather-server --live");
/// ```
#[derive(Clone)]
pub struct Command {
    pub(crate) program: OsString,
    pub(crate) args: Vec<OsString>,
    pub(crate) env: BTreeMap<OsString, OsString>,
    inherited: Vec<OsString>,
    inherit_all: bool,
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) limits: Limits,
    pub(crate) waits: Waits,
    pub(crate) on_stderr: Option<StderrListener>,
}

impl Command {
    /// A program by path, or by a name that is looked up on `PATH`.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        Self {
            program: program.as_ref().to_owned(),
            args: Vec::new(),
            env: BTreeMap::new(),
            inherited: Vec::new(),
            inherit_all: false,
            cwd: None,
            limits: Limits::default(),
            waits: Waits::default(),
            on_stderr: None,
        }
    }

    /// Adds one argument.
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// Adds arguments.
    pub fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Sets one variable, which wins over an inherited one.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.env.insert(name.as_ref().to_owned(), value.as_ref().to_owned());
        self
    }

    /// Sets variables.
    pub fn envs(self, variables: impl IntoIterator<Item = (impl AsRef<OsStr>, impl AsRef<OsStr>)>) -> Self {
        variables
            .into_iter()
            .fold(self, |command, (name, value)| command.env(name, value))
    }

    /// Passes one more variable of this process on, if it is set.
    pub fn inherit_env(mut self, name: impl AsRef<OsStr>) -> Self {
        self.inherited.push(name.as_ref().to_owned());
        self
    }

    /// Passes the whole environment of this process on, whatever secrets it holds.
    pub fn inherit_all_env(mut self) -> Self {
        self.inherit_all = true;
        self
    }

    /// The folder the program starts in; this process's own by default.
    pub fn cwd(mut self, folder: impl Into<PathBuf>) -> Self {
        self.cwd = Some(folder.into());
        self
    }

    /// What is accepted from the program.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// How long the program may take to end by itself once its stdin is closed. Default 2 s.
    pub fn close_wait(mut self, wait: Duration) -> Self {
        self.waits.close = wait;
        self
    }

    /// How long the program may take to end after SIGTERM, before SIGKILL. Default 2 s.
    pub fn terminate_wait(mut self, wait: Duration) -> Self {
        self.waits.terminate = wait;
        self
    }

    /// Hears every line the program writes to its stderr, without its line end and cut at 8 KiB.
    /// The listener must not block: it holds up the reading.
    pub fn on_stderr(mut self, listener: impl Fn(&[u8]) + Send + Sync + 'static) -> Self {
        self.on_stderr = Some(Arc::new(listener));
        self
    }

    /// Starts the program and connects to its stdin and stdout. Must be called on a tokio runtime
    /// with I/O and time enabled.
    ///
    /// # Errors
    /// [`Spawn`](TransportErrorKind::Spawn) when the program cannot be started, with the reason and
    /// what to check; [`Setup`](TransportErrorKind::Setup) without a runtime.
    pub fn spawn(&self) -> Result<Child, TransportError> {
        self.require_runtime()?;
        let environment = self.environment();
        if let Some(name) = self.env.keys().find(|name| !is_variable_name(name)) {
            return Err(bad_variable(self, name));
        }
        let mut command = std::process::Command::new(&self.program);
        command.args(&self.args).env_clear().envs(&environment);
        if let Some(folder) = &self.cwd {
            command.current_dir(folder);
        }
        let path = environment.get(OsStr::new("PATH"));
        #[cfg(unix)]
        crate::spawn_error::refuse_no_program(self, path).map_err(|error| explain(self, path, error))?;
        Child::spawn(self, command).map_err(|error| explain(self, path, error))
    }

    /// Like [`spawn`](Self::spawn), on a thread for what blocks: the other tasks of the runtime go on meanwhile. At most
    /// [`MAX_STARTING`] programs are being started at the same time. Dropped before it is ready, it leaves no program.
    ///
    /// ```
    /// # #[cfg(unix)]
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), trunkline_transport::TransportError> {
    /// use trunkline_transport::Command;
    ///
    /// let child = Command::new("cat").start().await?;
    /// assert!(child.id() > 0);
    /// # Ok(()) }
    /// # #[cfg(not(unix))]
    /// # fn main() {}
    /// ```
    ///
    /// # Errors
    /// As [`spawn`](Self::spawn); [`Setup`](TransportErrorKind::Setup) too when the runtime ends meanwhile.
    pub async fn start(&self) -> Result<Child, TransportError> {
        self.require_runtime()?;
        // Nobody closes it.
        let turn = STARTING.acquire().await;
        let command = self.clone();
        let started = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            command.spawn()
        });
        match started.await {
            Ok(started) => started,
            Err(_) => Err(self.setup("the runtime is ending")),
        }
    }

    fn require_runtime(&self) -> Result<(), TransportError> {
        match tokio::runtime::Handle::try_current() {
            Ok(_) => Ok(()),
            Err(_) => Err(self.setup("call this on a tokio runtime")),
        }
    }

    fn setup(&self, why: &str) -> TransportError {
        TransportError::new(TransportErrorKind::Setup, format!("cannot start {self}: {why}"))
    }

    /// The environment the child gets.
    fn environment(&self) -> BTreeMap<OsString, OsString> {
        let mut environment: BTreeMap<_, _> = std::env::vars_os()
            .filter(|(name, value)| self.inherits(name, value))
            .collect();
        environment.extend(self.env.clone());
        environment
    }

    fn inherits(&self, name: &OsStr, value: &OsStr) -> bool {
        if self.inherit_all || self.inherited.iter().any(|inherited| same_name(inherited, name)) {
            return true;
        }
        let listed = INHERITED_ENV.iter().any(|listed| same_name(OsStr::new(listed), name))
            || (cfg!(unix) && name.as_encoded_bytes().starts_with(b"LC_"));
        // A value like this is a function exported by an old shell: code, not a setting.
        listed && !value.as_encoded_bytes().starts_with(b"()")
    }
}

/// Windows does not tell `Path` from `PATH`.
fn same_name(left: &OsStr, right: &OsStr) -> bool {
    if cfg!(windows) {
        left.eq_ignore_ascii_case(right)
    } else {
        left == right
    }
}

fn is_variable_name(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    !name.is_empty() && !name.contains(&b'=') && !name.contains(&0)
}

/// The command line for messages: program and arguments, quoted where needed, without the environment.
impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_word(f, &self.program)?;
        for arg in &self.args {
            f.write_str(" ")?;
            write_word(f, arg)?;
        }
        Ok(())
    }
}

fn write_word(f: &mut fmt::Formatter<'_>, word: &OsStr) -> fmt::Result {
    let word = word.to_string_lossy();
    let plain = |c: char| c.is_alphanumeric() || "-_./:=@,+%~\\".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        f.write_str(&word)
    } else {
        write!(f, "{word:?}")
    }
}

/// Names of variables only: their values may be secrets.
impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Command")
            .field("program", &self.program)
            .field("args", &self.args)
            .field("env", &self.env.keys().collect::<Vec<_>>())
            .field("inherit_all", &self.inherit_all)
            .field("cwd", &self.cwd)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;

    use super::*;

    #[test]
    fn a_command_line_shows_where_its_words_end() {
        let command = Command::new("npx").args(["-y", "@scope/server", "two words", "", "a\nb"]);
        assert_eq!(command.to_string(), r#"npx -y @scope/server "two words" "" "a\nb""#);
    }

    #[test]
    fn values_of_the_environment_are_not_shown() {
        let command = Command::new("server").env("TOKEN", "hunter2");
        let shown = format!("{command:?} {command}");
        assert!(shown.contains("TOKEN") && !shown.contains("hunter2"), "{shown}");
    }

    #[test]
    fn only_listed_variables_are_inherited() {
        let inherits = |command: &Command, name: &str, value: &str| command.inherits(name.as_ref(), value.as_ref());
        let command = Command::new("server");
        assert!(inherits(&command, "PATH", "/bin"));
        assert!(!inherits(&command, "OPENAI_API_KEY", "secret"));
        assert!(!inherits(&command, "PATH", "() { :; }"), "code is not inherited");
        assert_eq!(inherits(&command, "LC_ALL", "ko_KR.UTF-8"), cfg!(unix));
        assert!(inherits(
            &command.clone().inherit_env("HTTP_PROXY"),
            "HTTP_PROXY",
            "proxy"
        ));
        assert!(inherits(&command.inherit_all_env(), "OPENAI_API_KEY", "secret"));
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_program_is_started_when_its_turn_comes() {
        let command = Command::new("cat");
        let all = u32::try_from(MAX_STARTING).unwrap();
        let others = STARTING.acquire_many(all).await.unwrap();
        let mut starting = std::pin::pin!(command.start());
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(starting.as_mut().poll(&mut cx).is_pending());
        drop(others);
        let others = STARTING.acquire_many(all - 1).await.unwrap();
        assert!(starting.await.is_ok(), "there is room for one");
        drop(others);
        let error = Command::new("no such program").start().await.unwrap_err();
        assert_eq!(error.kind(), TransportErrorKind::Spawn);
    }

    #[test]
    fn without_a_runtime_nothing_is_started() {
        let command = Command::new("cat");
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        let std::task::Poll::Ready(Err(error)) = std::pin::pin!(command.start()).poll(&mut cx) else {
            panic!("it needs a runtime");
        };
        assert_eq!(error.kind(), TransportErrorKind::Setup);
    }

    #[test]
    fn a_given_variable_wins() {
        let environment = Command::new("server")
            .inherit_all_env()
            .env("PATH", "/mine")
            .environment();
        assert_eq!(environment.get(OsStr::new("PATH")), Some(&OsString::from("/mine")));
    }
}
