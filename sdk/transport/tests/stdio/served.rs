//! The tests.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{OFlags, fcntl_getfl};

use crate::ECHO;

macro_rules! tests {
    ($($name:ident,)*) => { &[$((stringify!($name), $name),)*] };
}

/// All of them, by name.
pub(crate) const TESTS: &[(&str, fn())] = tests![
    over_pipes_until_stdin_ends,
    a_message_larger_than_every_pipe,
    an_empty_stdin_is_an_end_at_once,
    from_file_to_file,
    a_full_device_is_a_fault_and_not_a_silence,
    over_one_socket_for_both_directions,
    the_streams_are_left_as_they_were_found,
    a_peer_that_has_gone_is_an_error_and_not_a_signal,
    stray_prints_and_children_do_not_reach_the_peer,
    stray_prints_go_nowhere_when_stderr_is_the_same_pipe,
    a_foreign_framing_ends_the_server,
    the_end_of_the_output_is_seen_while_the_process_lives,
];

/// Time within which something known must happen.
const SOON: Duration = Duration::from_secs(10);

fn echo() -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg(ECHO).stderr(Stdio::piped());
    command
}

fn wait(child: &mut Child) -> ExitStatus {
    let deadline = Instant::now() + SOON;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if Instant::now() > deadline {
            child.kill().unwrap();
            panic!("it does not end");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn stderr(child: &mut Child) -> String {
    read_to_end(child.stderr.take().unwrap())
}

/// All that `stream` gives until its end, which must come soon.
fn read_to_end(mut stream: impl Read + Send + 'static) -> String {
    let (sender, text) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut text = String::new();
        sender.send(stream.read_to_string(&mut text).map(|_| text))
    });
    text.recv_timeout(SOON).expect("the stream ends").unwrap()
}

fn blocking(fd: impl AsFd) -> bool {
    !fcntl_getfl(fd).unwrap().contains(OFlags::NONBLOCK)
}

fn over_pipes_until_stdin_ends() {
    let mut child = echo().stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    for _ in 0..3 {
        stdin.write_all(b"{\"id\":1}\r\n").unwrap();
        line.clear();
        stdout.read_line(&mut line).unwrap();
        assert_eq!(line, "{\"id\":1}\n");
    }
    stdin.write_all(b"last").unwrap();
    drop(stdin);
    assert_eq!(read_to_end(stdout), "last\n");
    assert!(wait(&mut child).success());
    assert_eq!(stderr(&mut child), "");
}

fn a_message_larger_than_every_pipe() {
    let mut child = echo().stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || {
        let mut message = vec![b'x'; 16 * 1024 * 1024];
        message.push(b'\n');
        stdin.write_all(&message).unwrap();
        // One byte more than the limit.
        message.insert(0, b'y');
        stdin.write_all(&message).unwrap();
        stdin.write_all(b"[1]\n").unwrap();
    });
    let mut output = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut output).unwrap();
    writer.join().unwrap();
    assert!(wait(&mut child).success());
    let lines: Vec<&[u8]> = output.split(|byte| *byte == b'\n').collect();
    assert_eq!(lines.len(), 4);
    assert!(lines[0].len() == 16 * 1024 * 1024 && lines[0].iter().all(|byte| *byte == b'x'));
    assert_eq!(lines[1..], [&b"[\"more than 16777216 bytes\"]"[..], b"[1]", b""]);
}

fn an_empty_stdin_is_an_end_at_once() {
    let mut child = echo().stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let before = Instant::now();
    assert!(wait(&mut child).success());
    assert!(before.elapsed() < Duration::from_secs(2));
}

fn from_file_to_file() {
    let mut input = tempfile::tempfile().unwrap();
    let output = tempfile::tempfile().unwrap();
    let long = "x".repeat(300_000);
    write!(input, "[1]\n\n{long}\n[2]").unwrap();
    input.rewind().unwrap();
    let mut child = echo().stdin(input).stdout(output.try_clone().unwrap()).spawn().unwrap();
    assert!(wait(&mut child).success());
    let mut text = String::new();
    let mut output = output;
    output.rewind().unwrap();
    output.read_to_string(&mut text).unwrap();
    assert_eq!(text, format!("[1]\n{long}\n[2]\n"));
}

fn a_full_device_is_a_fault_and_not_a_silence() {
    let Ok(full) = File::options().write(true).open("/dev/full") else {
        return;
    }; // Linux has one.
    let mut child = echo().stdin(Stdio::piped()).stdout(full).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"[1]\n").unwrap();
    assert_eq!(wait(&mut child).code(), Some(1));
    let text = stderr(&mut child);
    assert!(text.contains("writing to the peer failed"), "{text}");
}

/// As programs written for Node.js start their servers.
fn over_one_socket_for_both_directions() {
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    let held = theirs.try_clone().unwrap();
    let stdin = OwnedFd::from(theirs.try_clone().unwrap());
    let mut child = echo().stdin(stdin).stdout(OwnedFd::from(theirs)).spawn().unwrap();
    ours.write_all(b"[1]\n").unwrap();
    let mut line = String::new();
    BufReader::new(&ours).read_line(&mut line).unwrap();
    assert_eq!(line, "[1]\n");
    assert!(!blocking(&held), "while it is served it is polled");
    ours.shutdown(std::net::Shutdown::Write).unwrap();
    assert!(wait(&mut child).success());
    assert_eq!(ours.read(&mut [0]).unwrap(), 0, "the end of the output is seen");
    assert!(blocking(&held), "others find it as it was");
}

fn the_streams_are_left_as_they_were_found() {
    let (input, mut to_input) = std::io::pipe().unwrap();
    let (mut from_output, output) = std::io::pipe().unwrap();
    // Clones share the open file, and so its mode, with what the server gets.
    let (input_held, output_held) = (input.try_clone().unwrap(), output.try_clone().unwrap());
    let mut child = echo().stdin(input).stdout(output).spawn().unwrap();
    to_input.write_all(b"[1]\n").unwrap();
    from_output.read_exact(&mut [0; 4]).unwrap();
    assert!(!blocking(&input_held) && !blocking(&output_held));
    drop(to_input);
    assert!(wait(&mut child).success());
    assert!(blocking(&input_held) && blocking(&output_held));
}

fn a_peer_that_has_gone_is_an_error_and_not_a_signal() {
    let mut child = echo().stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().unwrap();
    // Its own end of the pipe may break before all of these are written.
    let _ = stdin.write_all(b"[1]\n[2]\n");
    let status = wait(&mut child);
    assert_eq!(status.code(), Some(0), "{status}");
    assert!(stderr(&mut child).starts_with("peer gone: the peer no longer takes messages"));
}

fn stray_prints_and_children_do_not_reach_the_peer() {
    let mut child = echo()
        .arg("--stray")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"[1]\n").unwrap();
    let output = read_to_end(child.stdout.take().unwrap());
    assert_eq!(output, "[1]\n", "its child `cat` took nothing and nothing was added");
    assert!(wait(&mut child).success());
    let text = stderr(&mut child);
    let expected = [
        "a stray print",
        "a stray child",
        "second: stdin and stdout are taken already",
    ];
    assert!(expected.iter().all(|part| text.contains(part)), "{text}");
}

fn stray_prints_go_nowhere_when_stderr_is_the_same_pipe() {
    let (from_output, output) = std::io::pipe().unwrap();
    let mut child = echo()
        .arg("--stray")
        .stdin(Stdio::piped())
        .stdout(output.try_clone().unwrap())
        .stderr(output)
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"[1]\n").unwrap();
    let text = read_to_end(from_output);
    assert!(!text.contains("stray"), "{text}");
    assert!(text.ends_with("[1]\n"), "{text}");
    assert!(wait(&mut child).success());
}

fn a_foreign_framing_ends_the_server() {
    let mut child = echo().stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    // It does not wait for more, though stdin stays open.
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"Content-Length: 2\r\n\r\n{}").unwrap();
    assert_eq!(wait(&mut child).code(), Some(1));
    let text = stderr(&mut child);
    assert!(text.contains("Content-Length: 2"), "{text}");
}

fn the_end_of_the_output_is_seen_while_the_process_lives() {
    let mut child = echo().stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"[1]\n\"close\"\n").unwrap();
    let output = read_to_end(child.stdout.take().unwrap());
    assert_eq!(output, "[1]\n");
    assert!(child.try_wait().unwrap().is_none(), "its stdin is still open");
    drop(stdin);
    assert!(wait(&mut child).success());
}
