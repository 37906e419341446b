//! Says why a program did not start, in words that lead to the mistake.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use crate::{Command, TransportError, TransportErrorKind};

const CHECK: &str = "check \"command\" in the configuration";

fn cannot_start(command: &Command) -> String {
    format!("cannot start {:?}", command.program.to_string_lossy())
}

/// The error for a variable that cannot be passed on.
pub(crate) fn bad_variable(command: &Command, name: &OsStr) -> TransportError {
    let name = name.to_string_lossy();
    let message = format!(
        "{}: {name:?} is not a name for an environment variable; check \"env\" in the configuration",
        cannot_start(command)
    );
    TransportError::new(TransportErrorKind::Spawn, message)
}

/// The error for `command`, which was looked up on `path` where its program is a bare name.
pub(crate) fn explain(command: &Command, path: Option<&OsString>, error: io::Error) -> TransportError {
    let why = match error.kind() {
        _ if command.program.is_empty() => format!("no program is named; {CHECK}"),
        _ if missing_folder(command) => missing_folder_text(command),
        io::ErrorKind::NotFound => not_found(command, path),
        io::ErrorKind::PermissionDenied => {
            format!("permission denied; is the file executable, and every folder above it open to you? {CHECK}")
        }
        io::ErrorKind::ExecutableFileBusy => "the program file is being written; try again".to_owned(),
        io::ErrorKind::ArgumentListTooLong => "the arguments and environment are too long".to_owned(),
        io::ErrorKind::InvalidInput => "a NUL byte in the program, an argument or the environment".to_owned(),
        _ if is_exec_format(&error) => format!("the file is not a program this system can run; {CHECK}"),
        _ => {
            let message = cannot_start(command);
            return TransportError::new(TransportErrorKind::Spawn, message).with_source(error);
        }
    };
    TransportError::new(TransportErrorKind::Spawn, format!("{}: {why}", cannot_start(command)))
}

fn missing_folder(command: &Command) -> bool {
    command.cwd.as_deref().is_some_and(|folder| !folder.is_dir())
}

fn missing_folder_text(command: &Command) -> String {
    let folder = command.cwd.as_deref().unwrap_or(Path::new(""));
    let folder = folder.to_string_lossy();
    format!("the folder to start in, {folder:?}, does not exist; check \"cwd\" in the configuration")
}

fn not_found(command: &Command, path: Option<&OsString>) -> String {
    let program = Path::new(&command.program);
    let text = command.program.to_string_lossy();
    let bare = program.components().count() == 1 && !text.contains('/');
    if program_files(command, path, bare).next().is_some() {
        return format!("the file exists, but the interpreter its first line names does not; {CHECK}");
    }
    if text.contains(char::is_whitespace) {
        return format!("no such program; does it hold arguments? They belong into \"args\"; {CHECK}");
    }
    if text.starts_with("~/") {
        return format!("no such file; `~` is not replaced here, write the whole path; {CHECK}");
    }
    match (bare, path) {
        (true, Some(_)) => format!("no such program on PATH; {CHECK}"),
        (true, None) => "no such program, and PATH is not set; write the whole path".to_owned(),
        (false, _) => format!("no such file; {CHECK}"),
    }
}

/// The files that the program may mean, in the order in which they are tried.
fn program_files<'a>(
    command: &'a Command,
    path: Option<&OsString>,
    bare: bool,
) -> impl Iterator<Item = PathBuf> + use<'a> {
    let folders: Vec<PathBuf> = if bare {
        path.map(|path| std::env::split_paths(path).collect())
            .unwrap_or_default()
    } else {
        vec![command.cwd.clone().unwrap_or_default()]
    };
    let files = folders.into_iter().map(|folder| folder.join(&command.program));
    files.filter(|file| file.is_file())
}

/// A file that no system can run is given to `sh` by the C library where a session is made for it, which is no help to
/// anybody. So the beginning of the file is looked at first; what cannot be read is left to the system.
#[cfg(unix)]
pub(crate) fn refuse_no_program(command: &Command, path: Option<&OsString>) -> io::Result<()> {
    use std::io::Read as _;
    use std::os::unix::fs::PermissionsExt as _;
    /// Scripts, ELF, Mach-O in its forms, and what a registered interpreter may take.
    const PROGRAMS: &[&[u8]] = &[
        b"#!",
        b"\x7fELF",
        b"\xcf\xfa\xed\xfe",
        b"\xce\xfa\xed\xfe",
        b"\xca\xfe\xba\xbe",
        b"\xca\xfe\xba\xbf",
        b"MZ",
    ];
    let bare = !command.program.as_encoded_bytes().contains(&b'/');
    let runs = |file: &PathBuf| file.metadata().is_ok_and(|file| file.permissions().mode() & 0o111 != 0);
    let Some(file) = program_files(command, path, bare).find(runs) else {
        return Ok(());
    };
    let mut beginning = Vec::new();
    let read = std::fs::File::open(file).and_then(|file| file.take(4).read_to_end(&mut beginning));
    if read.is_err() || PROGRAMS.iter().any(|program| beginning.starts_with(program)) {
        return Ok(());
    }
    Err(rustix::io::Errno::NOEXEC.into())
}

#[cfg(unix)]
fn is_exec_format(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::NOEXEC.raw_os_error())
}

#[cfg(not(unix))]
fn is_exec_format(error: &io::Error) -> bool {
    const ERROR_BAD_EXE_FORMAT: i32 = 193;
    error.raw_os_error() == Some(ERROR_BAD_EXE_FORMAT)
}
