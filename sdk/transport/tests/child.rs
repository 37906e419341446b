//! Child processes: how they talk, how they end, what is left of them.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod process;

use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::{Duration, Instant};

use process::{assert_gone, running};
use trunkline_transport::{Child, Command, Direction, Received, Tap, Transport, TransportErrorKind, tapped};

/// Time within which something known must be told.
const SOON: Duration = Duration::from_secs(5);

fn sh(script: &str) -> Command {
    Command::new("sh").args(["-c", script])
}

async fn receive(transport: &mut impl Transport) -> Received {
    let received = poll_fn(|cx| transport.poll_receive(cx));
    tokio::time::timeout(SOON, received).await.expect("in time").unwrap()
}

async fn receive_text(transport: &mut impl Transport) -> String {
    match receive(transport).await {
        Received::Message(line) => String::from_utf8(line.to_vec()).unwrap(),
        other => panic!("not a message: {other:?}; {:?}", transport.diagnosis()),
    }
}

async fn close(transport: &mut impl Transport) {
    poll_fn(|cx| transport.poll_close(cx)).await.unwrap();
}

async fn flush(transport: &mut impl Transport) {
    poll_fn(|cx| transport.poll_flush(cx)).await.unwrap();
}

/// A child that speaks once it is set up, so that a test does not outrun its script.
async fn started(command: Command) -> Child {
    let mut child = command.spawn().unwrap();
    assert_eq!(receive_text(&mut child).await, "ready");
    assert!(!running(child.id()).is_empty(), "the group can be seen");
    child
}

#[tokio::test]
async fn messages_go_there_and_back() {
    let mut child = Command::new("cat").spawn().unwrap();
    child.send(b"[1]".to_vec());
    child.send(b"[2]".to_vec());
    flush(&mut child).await;
    assert_eq!(receive_text(&mut child).await, "[1]");
    assert_eq!(receive_text(&mut child).await, "[2]");
    let before = Instant::now();
    close(&mut child).await;
    close(&mut child).await;
    assert!(
        before.elapsed() < Duration::from_secs(1),
        "a child that ends by itself is not waited for"
    );
    assert_eq!(child.diagnosis().unwrap(), "exited with status 0");
    assert_eq!(receive(&mut child).await, Received::End);
    assert_gone(child.id()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pipes_full_in_both_directions_do_not_block() {
    let mut child = Command::new("cat").spawn().unwrap();
    let message = vec![b'x'; 1024 * 1024 - 1];
    for _ in 0..8 {
        child.send(message.clone());
    }
    let mut received = 0;
    let all = poll_fn(|cx| {
        let flushed = child.poll_flush(cx).is_ready();
        while let Poll::Ready(result) = child.poll_receive(cx) {
            assert_eq!(result.unwrap(), Received::Message(message.clone().into()));
            received += 1;
        }
        if flushed && received == 8 {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    });
    tokio::time::timeout(Duration::from_secs(20), all)
        .await
        .expect("both sides go on");
    close(&mut child).await;
}

// --- the end of the leader, with a descendant that holds the pipes (C-06)

#[tokio::test]
async fn a_descendant_is_ended_after_a_clean_exit() {
    let mut child = started(sh("sleep 600 & echo ready; exec cat")).await;
    let before = Instant::now();
    close(&mut child).await;
    assert!(before.elapsed() < Duration::from_secs(1), "it obeys SIGTERM");
    assert_eq!(child.diagnosis().unwrap(), "exited with status 0");
    assert_gone(child.id()).await;
}

#[tokio::test]
async fn a_descendant_is_ended_after_a_crash() {
    let mut quickest = SOON;
    for _ in 0..3 {
        let mut child = started(sh(
            "sleep 600 & echo ready; echo oops >&2; read line; echo '[1]'; exit 3",
        ))
        .await;
        child.send(b"go".to_vec());
        flush(&mut child).await;
        // The descendant holds stdout and stderr, so there is no end of file to wait for.
        assert_eq!(receive_text(&mut child).await, "[1]");
        let before = Instant::now();
        assert_eq!(receive(&mut child).await, Received::End);
        quickest = quickest.min(before.elapsed());
        assert_eq!(
            child.diagnosis().unwrap(),
            "exited with status 3; last lines of stderr: oops"
        );
        close(&mut child).await;
        assert_gone(child.id()).await;
    }
    assert!(quickest < Duration::from_millis(400), "no wait runs out: {quickest:?}");
}

#[tokio::test]
async fn a_group_that_ignores_sigterm_is_killed() {
    let script = "trap '' TERM; sleep 600 & echo ready; sleep 600; sleep 600";
    let wait = Duration::from_millis(100);
    let mut child = started(sh(script).close_wait(wait).terminate_wait(wait)).await;
    let before = Instant::now();
    close(&mut child).await;
    assert!(before.elapsed() >= 2 * wait, "both waits were granted");
    assert_eq!(child.diagnosis().unwrap(), "was ended by signal 9 (SIGKILL)");
    assert_gone(child.id()).await;
}

#[tokio::test]
async fn a_descendant_that_ignores_sigterm_is_killed_after_a_clean_exit() {
    let script = "trap '' TERM; sleep 600 & echo ready; exec cat";
    let mut child = started(sh(script).terminate_wait(Duration::from_millis(100))).await;
    close(&mut child).await;
    assert_eq!(child.diagnosis().unwrap(), "exited with status 0");
    assert_gone(child.id()).await;
}

#[tokio::test]
async fn a_quiet_descendant_is_killed_though_it_holds_no_pipe() {
    let script = "sleep 600 </dev/null >/dev/null 2>&1 & echo ready; exec cat";
    let mut child = started(sh(script)).await;
    close(&mut child).await;
    assert_gone(child.id()).await;
}

#[tokio::test]
async fn a_child_that_does_not_heed_the_end_of_its_input_gets_sigterm() {
    let script = "sleep 600 & trap 'echo bye >&2; exit 7' TERM; echo ready; wait";
    let mut child = started(sh(script).close_wait(Duration::from_millis(50))).await;
    close(&mut child).await;
    assert_eq!(
        child.diagnosis().unwrap(),
        "exited with status 7; last lines of stderr: bye"
    );
    assert_gone(child.id()).await;
}

#[tokio::test]
async fn a_child_may_take_its_time_within_the_wait_and_say_goodbye() {
    // It fills its pipes on the way out: they are emptied while it is waited for.
    let script = "echo ready; cat; head -c 300000 /dev/zero | tr '\\0' x; echo last >&2; exit 4";
    let mut child = started(sh(script).close_wait(SOON)).await;
    close(&mut child).await;
    assert_eq!(
        child.diagnosis().unwrap(),
        "exited with status 4; last lines of stderr: last"
    );
}

#[tokio::test]
async fn a_child_that_does_not_read_does_not_hold_up_the_close() {
    let wait = Duration::from_millis(50);
    let mut child = started(sh("echo ready; exec sleep 600").close_wait(wait).terminate_wait(SOON)).await;
    child.send(vec![b'x'; 8 * 1024 * 1024]);
    close(&mut child).await;
    assert_eq!(child.diagnosis().unwrap(), "was ended by signal 15 (SIGTERM)");
}

#[tokio::test]
async fn dropping_kills_the_group_and_leaves_no_zombie() {
    let child = started(sh("trap '' TERM; sleep 600 & echo ready; sleep 600; sleep 600")).await;
    let id = child.id();
    drop(child);
    assert_gone(id).await;
    // No process has the number any more, not even a dead one that nobody waited for.
    let pid = rustix::process::Pid::from_raw(i32::try_from(id).unwrap()).unwrap();
    let deadline = Instant::now() + SOON;
    while rustix::process::test_kill_process(pid).is_ok() {
        assert!(Instant::now() < deadline, "a zombie is left");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[test]
fn dropping_after_the_runtime_has_gone_kills_all_the_same() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let child = runtime.block_on(started(sh("sleep 600 & echo ready; exec sleep 600")));
    drop(runtime);
    let id = child.id();
    drop(child);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(assert_gone(id));
}

#[tokio::test]
async fn a_process_that_left_the_group_does_not_hold_the_connection() {
    if std::process::Command::new("setsid").arg("true").status().is_err() {
        return; // There is no such program on this system, and no other way to leave without one.
    }
    let script = "setsid sleep 600 & echo $!; exit 0";
    let mut child = sh(script).terminate_wait(Duration::from_millis(100)).spawn().unwrap();
    let escaped: i32 = receive_text(&mut child).await.parse().unwrap();
    assert_eq!(receive(&mut child).await, Received::End);
    let before = Instant::now();
    close(&mut child).await;
    assert!(before.elapsed() < Duration::from_secs(2));
    let escaped = rustix::process::Pid::from_raw(escaped).unwrap();
    rustix::process::kill_process(escaped, rustix::process::Signal::KILL).unwrap();
}

// --- dying peers (C-07)

#[tokio::test]
async fn what_a_dead_child_said_is_still_heard_though_writing_fails() {
    let mut child = sh("echo '[1]'; exit 0").spawn().unwrap();
    let deadline = Instant::now() + SOON;
    let error = loop {
        child.send(b"{\"method\":\"notifications/initialized\"}".to_vec());
        if let Err(error) = poll_fn(|cx| child.poll_flush(cx)).await {
            break error;
        }
        assert!(Instant::now() < deadline, "the pipe never broke");
        tokio::task::yield_now().await;
    };
    assert_eq!(error.kind(), TransportErrorKind::Closed);
    assert_eq!(receive_text(&mut child).await, "[1]");
    assert_eq!(receive(&mut child).await, Received::End);
    assert_eq!(child.diagnosis().unwrap(), "exited with status 0");
}

#[tokio::test]
async fn the_last_words_are_known_at_the_end() {
    for _ in 0..20 {
        let script = "i=0; while [ $i -lt 100 ]; do echo line $i >&2; i=$((i+1)); done; kill -9 $$";
        let mut child = sh(script).spawn().unwrap();
        assert_eq!(receive(&mut child).await, Received::End);
        assert_eq!(
            child.diagnosis().unwrap(),
            "was ended by signal 9 (SIGKILL); last lines of stderr: line 95 | line 96 | line 97 | line 98 | line 99"
        );
        assert_eq!(child.stderr_tail().len(), 64);
    }
}

#[tokio::test]
async fn a_child_that_closes_its_output_and_stays_is_told_apart() {
    let mut child = started(sh("echo ready; exec >&-; exec sleep 600").close_wait(Duration::ZERO)).await;
    assert_eq!(receive(&mut child).await, Received::End);
    assert_eq!(child.diagnosis().unwrap(), "closed its output but still runs");
    close(&mut child).await;
    assert_gone(child.id()).await;
}

#[tokio::test]
async fn header_framing_fails_at_once() {
    let script = "printf 'Content-Length: 40\\r\\n\\r\\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":1}}'; exec cat";
    let mut child = sh(script).spawn().unwrap();
    let receive = poll_fn(|cx| child.poll_receive(cx));
    let error = tokio::time::timeout(SOON, receive)
        .await
        .expect("no waiting")
        .unwrap_err();
    assert_eq!(error.kind(), TransportErrorKind::ForeignFraming);
    close(&mut child).await;
}

// --- stderr

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_on_stderr_does_not_hold_up_the_child() {
    let script = "head -c 10485760 /dev/zero | tr '\\0' x >&2; echo >&2; echo done >&2; echo '[1]'; exec cat";
    let mut child = sh(script).spawn().unwrap();
    let received = tokio::time::timeout(Duration::from_secs(20), poll_fn(|cx| child.poll_receive(cx)));
    assert_eq!(
        received.await.expect("it goes on").unwrap(),
        Received::Message("[1]".into())
    );
    close(&mut child).await;
    let tail = child.stderr_tail();
    assert_eq!(tail.len(), 2);
    assert!(
        tail[0].ends_with(&format!("x… ({} bytes cut)", 10 * 1024 * 1024 - 8 * 1024)),
        "{}",
        &tail[0][8000..]
    );
    assert_eq!(tail[1], "done");
}

#[derive(Default)]
struct Heard(Mutex<Vec<String>>);

impl Tap for Heard {
    fn message(&self, direction: Direction, message: &[u8]) {
        self.0
            .lock()
            .unwrap()
            .push(format!("{direction:?} {}", String::from_utf8_lossy(message)));
    }

    fn stderr(&self, line: &[u8]) {
        self.0
            .lock()
            .unwrap()
            .push(format!("stderr {}", String::from_utf8_lossy(line)));
    }
}

#[tokio::test]
async fn a_tap_hears_both_directions_and_stderr_from_its_start() {
    let lines = Arc::new(Heard::default());
    let listener = Arc::clone(&lines);
    let command = sh("echo early >&2; echo ready; read line; echo late >&2; echo \"$line\"")
        .on_stderr(move |line| Tap::stderr(&*listener, line));
    let child = started(command).await;
    let deadline = Instant::now() + SOON;
    while child.stderr_tail().is_empty() {
        assert!(Instant::now() < deadline);
        tokio::task::yield_now().await;
    }
    let heard = Arc::new(Heard::default());
    let mut child = tapped(child, heard.clone());
    child.send(b"[1]".to_vec());
    flush(&mut child).await;
    assert_eq!(receive_text(&mut child).await, "[1]");
    assert_eq!(receive(&mut child).await, Received::End);
    assert!(child.diagnosis().unwrap().ends_with("early | late"));

    let mut heard = heard.0.lock().unwrap().clone();
    heard[1..].sort();
    assert_eq!(heard, ["stderr early", "Received [1]", "Sent [1]", "stderr late"]);
    assert_eq!(*lines.0.lock().unwrap(), ["stderr early", "stderr late"]);
}

// --- the environment

#[tokio::test]
async fn a_child_sees_only_what_it_is_given() {
    async fn environment(command: Command) -> Vec<String> {
        let mut child = command.spawn().unwrap();
        let mut names = Vec::new();
        while let Received::Message(line) = receive(&mut child).await {
            names.push(
                String::from_utf8_lossy(&line)
                    .split('=')
                    .next()
                    .unwrap_or_default()
                    .to_owned(),
            );
        }
        names
    }
    // Cargo sets variables that are not on the list.
    let secret = "CARGO_MANIFEST_DIR";
    assert!(std::env::var_os(secret).is_some(), "run by cargo");
    let env = || Command::new("env").env("GIVEN", "1");
    let names = environment(env()).await;
    assert!(
        names.contains(&"PATH".into()) && names.contains(&"GIVEN".into()),
        "{names:?}"
    );
    assert!(!names.iter().any(|name| name.starts_with("CARGO")), "{names:?}");
    assert!(environment(env().inherit_env(secret)).await.contains(&secret.into()));
    assert!(environment(env().inherit_all_env()).await.contains(&secret.into()));
}

/// A server that can open the terminal can write over our question, and type the answer to it. The test starts itself
/// again inside of a terminal.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_child_cannot_open_the_terminal() {
    const INSIDE: &str = "TRUNKLINE_TEST_HAS_TERMINAL";
    let mut child = sh("if (: < /dev/tty) 2> /dev/null; then echo terminal; else echo none; fi")
        .spawn()
        .unwrap();
    assert_eq!(receive_text(&mut child).await, "none");
    close(&mut child).await;
    if std::env::var_os(INSIDE).is_some() {
        let ours = std::fs::File::open("/dev/tty");
        assert!(ours.is_ok(), "this test itself has a terminal: {ours:?}");
        return;
    }
    let exe = std::env::current_exe().unwrap();
    let again = format!("'{}' --exact a_child_cannot_open_the_terminal", exe.display());
    let output = std::process::Command::new("script")
        .args(["-qec", &again, "/dev/null"])
        .env(INSIDE, "1")
        .env("NO_COLOR", "1")
        .stdin(std::process::Stdio::null())
        .output()
        .expect("`script` of util-linux");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}
