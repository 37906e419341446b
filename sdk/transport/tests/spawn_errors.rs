//! What is said when a program does not start.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use trunkline_transport::{Command, TransportError, TransportErrorKind};

fn failure(command: &Command) -> TransportError {
    loop {
        let error = command.spawn().expect_err("it must not start");
        // A test beside this one may start a program while a file is written here, which then holds the file too.
        if !error.to_string().contains("is being written") {
            return error;
        }
    }
}

#[track_caller]
fn check(command: &Command, text: &str) {
    let error = failure(command);
    assert_eq!(error.kind(), TransportErrorKind::Spawn, "{error}");
    assert_eq!(error.to_string(), text);
}

fn script(folder: &tempfile::TempDir, name: &str, text: &str, mode: u32) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    path
}

#[tokio::test]
async fn the_reason_and_the_thing_to_check_are_named() {
    check(
        &Command::new("no-such-program-at-all"),
        r#"cannot start "no-such-program-at-all": no such program on PATH; check "command" in the configuration"#,
    );
    check(
        &Command::new("/no/such/program"),
        r#"cannot start "/no/such/program": no such file; check "command" in the configuration"#,
    );
    check(
        &Command::new("npx-not-here -y server"),
        r#"cannot start "npx-not-here -y server": no such program; does it hold arguments? They belong into "args"; check "command" in the configuration"#,
    );
    check(
        &Command::new("~/server"),
        r#"cannot start "~/server": no such file; `~` is not replaced here, write the whole path; check "command" in the configuration"#,
    );
    check(
        &Command::new(""),
        r#"cannot start "": no program is named; check "command" in the configuration"#,
    );
    check(
        &Command::new("cat").cwd("/no/such/folder"),
        r#"cannot start "cat": the folder to start in, "/no/such/folder", does not exist; check "cwd" in the configuration"#,
    );
    check(
        &Command::new("cat").arg("a\0b"),
        r#"cannot start "cat": a NUL byte in the program, an argument or the environment"#,
    );
    check(
        &Command::new("cat").env("A=B", "1"),
        r#"cannot start "cat": "A=B" is not a name for an environment variable; check "env" in the configuration"#,
    );
}

#[tokio::test]
async fn files_that_cannot_run_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let text = |name: &str, mode, content| failure(&Command::new(script(&folder, name, content, mode))).to_string();
    let plain = text("plain", 0o644, "#!/bin/sh\n");
    assert!(plain.contains("permission denied; is the file executable"), "{plain}");
    let lost = text("lost", 0o755, "#!/no/such/interpreter\n");
    assert!(lost.contains("the interpreter its first line names does not"), "{lost}");
    let binary = text("binary", 0o755, "\u{1}\u{2}\u{3}");
    assert!(binary.contains("not a program this system can run"), "{binary}");

    let bare = Command::new("lost").env("PATH", folder.path());
    assert!(
        failure(&bare)
            .to_string()
            .contains("the interpreter its first line names does not")
    );
}

#[test]
fn without_a_runtime_it_says_so() {
    let error = failure(&Command::new("cat").arg("-u"));
    assert_eq!(error.kind(), TransportErrorKind::Setup);
    assert_eq!(error.to_string(), "cannot start cat -u: call this on a tokio runtime");
}
