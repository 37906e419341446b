//! A child without our terminal: the only unsafe code there is.
//!
//! A process group alone keeps our controlling terminal, and whoever has that can write over what a person reads there
//! and even type the answer to our own question. A new session has no terminal. Nothing but `setsid` in the child makes
//! one, and `std` offers no safe way to it. Where we have no terminal either, as a service or in a test, on Linux a group is
//! enough, and starting is quicker by a half: `std` need not copy our page tables then.
#![allow(
    unsafe_code,
    reason = "std leads to setsid only through pre_exec, which is unsafe to call"
)]

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::io::Errno;

/// Makes the child the leader of a new process group, in a session that has no terminal.
pub(super) fn lead(command: &mut Command) {
    if !may_have_terminal() {
        command.process_group(0);
        return;
    }
    // SAFETY: between fork and exec only what is async-signal-safe may run. `setsid` is one system call, and turning
    // its error number into an `io::Error` neither allocates nor locks.
    unsafe {
        command.pre_exec(|| rustix::process::setsid().map(drop).map_err(Into::into));
    }
}

/// Whether there is a controlling terminal, or may be one. On Linux each process gets its own from its parent; elsewhere
/// it is the session's, and all in it get the one that comes later.
pub(super) fn may_have_terminal() -> bool {
    let none = |error| Errno::from_io_error(&error) == Some(Errno::NXIO);
    !(cfg!(target_os = "linux") && File::open("/dev/tty").is_err_and(none))
}
