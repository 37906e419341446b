//! A session of its own for a child: the only unsafe code there is.
//!
//! A process group alone keeps our controlling terminal, and whoever has that can write over what a person reads there
//! and even type the answer to our own question. A new session has no terminal. Nothing but `setsid` in the child makes
//! one, and `std` offers no safe way to it.
#![allow(
    unsafe_code,
    reason = "std leads to setsid only through pre_exec, which is unsafe to call"
)]

use std::os::unix::process::CommandExt;
use std::process::Command;

/// Makes the child the leader of a new session, and of a new process group in it.
pub(super) fn lead(command: &mut Command) {
    // SAFETY: between fork and exec only what is async-signal-safe may run. `setsid` is one system call, and turning
    // its error number into an `io::Error` neither allocates nor locks.
    unsafe {
        command.pre_exec(|| rustix::process::setsid().map(drop).map_err(Into::into));
    }
}
