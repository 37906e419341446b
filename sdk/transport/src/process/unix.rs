//! Process groups on Unix.
//!
//! The child leads a group of its own, in a session without a terminal, and signals go to the group, so wrappers such as
//! `npx` or `sh -c` cannot hide the real server. The number of a group may be given to another process once
//! the leader has been waited for and the group is empty. So the leader is *not* waited for until
//! the last signal was sent: its end is seen with `waitid(WNOWAIT)`, which leaves the number taken.

use std::io;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::process::{Child, Command, Stdio};
use std::task::{Context, Poll, ready};

use rustix::io::Errno;
use rustix::process::{Pid, Signal as Kill, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::unix::pipe;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::{Exit, Pipes, session};

/// What is read from a pipe after the leader has ended, at most: the largest pipe Linux gives to
/// ordinary users. All the leader wrote fits in; a descendant that goes on writing cannot hold us.
const REST: usize = 1024 * 1024;

/// The leader of a process group. Dropping it kills the group.
#[derive(Debug)]
pub(crate) struct Process {
    /// `None` once it was waited for: from then on its number may belong to somebody else.
    leader: Option<Child>,
    group: Pid,
    children: Signal,
    /// A child of this process may have ended since the last look.
    look: bool,
    exit: Option<Exit>,
}

impl Process {
    pub(crate) fn spawn(mut command: Command) -> io::Result<(Self, Pipes)> {
        // Listening starts first, so that no end can be missed.
        let children = signal(SignalKind::child())?;
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        session::lead(&mut command);
        let mut leader = command.spawn()?;
        let pipes = (leader.stdin.take(), leader.stdout.take(), leader.stderr.take());
        let group = Pid::from_child(&leader);
        // From here on dropping ends the group.
        let process = Self {
            leader: Some(leader),
            group,
            children,
            look: true,
            exit: None,
        };
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(io::Error::other("a pipe is missing"));
        };
        let pipes = Pipes {
            stdin: Input(Some(pipe::Sender::from_owned_fd(OwnedFd::from(stdin))?)),
            stdout: Output::new(OwnedFd::from(stdout))?,
            stderr: Output::new(OwnedFd::from(stderr))?,
        };
        Ok((process, pipes))
    }

    pub(crate) fn id(&self) -> u32 {
        self.group.as_raw_nonzero().get().unsigned_abs()
    }

    /// Waits for the end of the leader, which stays a zombie so that the group keeps its number.
    pub(crate) fn poll_exit(&mut self, cx: &mut Context<'_>) -> Poll<Exit> {
        loop {
            if let Some(exit) = self.exit {
                return Poll::Ready(exit);
            }
            if self.look {
                self.look = false;
                self.exit = self.look_for_exit();
                continue;
            }
            if ready!(self.children.poll_recv(cx)).is_none() {
                return Poll::Pending;
            }
            self.look = true;
        }
    }

    pub(crate) fn exit(&self) -> Option<Exit> {
        self.exit
    }

    /// Asks the whole group to end.
    pub(crate) fn terminate(&mut self) {
        self.signal(Kill::TERM);
        // One that was stopped, say for reading from the terminal in the background, hears it only when it goes on.
        self.signal(Kill::CONT);
    }

    /// Ends the whole group.
    pub(crate) fn kill(&mut self) {
        self.signal(Kill::KILL);
    }

    fn signal(&mut self, kill: Kill) {
        // The look makes sure that nobody else in this program has waited for the leader.
        self.exit = self.exit.or_else(|| self.look_for_exit());
        if self.leader.is_some() {
            // It fails only when the group is empty or has taken other rights, and then nothing can be done.
            let _ = kill_process_group(self.group, kill);
        }
    }

    fn look_for_exit(&mut self) -> Option<Exit> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        loop {
            return match waitid(WaitId::Pid(self.group), options) {
                Ok(None) => None,
                Ok(Some(status)) => Some(match (status.exit_status(), status.terminating_signal()) {
                    (Some(status), _) => Exit::Status(status),
                    (None, Some(signal)) => Exit::Signal(signal),
                    (None, None) => Exit::Unknown,
                }),
                Err(Errno::INTR) => continue,
                Err(_) => {
                    self.leader = None;
                    Some(Exit::Unknown)
                }
            };
        }
    }

    /// Waits for a leader that has ended or was just killed. No signal is sent afterwards.
    pub(crate) fn reap(&mut self) {
        let Some(mut leader) = self.leader.take() else { return };
        if matches!(leader.try_wait(), Ok(None)) {
            // The kernel is still taking it down. A zombie is all that would be left if no thread can be had.
            let _ = std::thread::Builder::new()
                .name("reap child".to_owned())
                .spawn(move || leader.wait());
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.leader.is_some() {
            self.kill();
            self.reap();
        }
    }
}

/// The writing end of a child's stdin. Shutting it down closes it.
#[derive(Debug)]
pub(crate) struct Input(Option<pipe::Sender>);

impl Input {
    fn pipe(&mut self) -> io::Result<Pin<&mut pipe::Sender>> {
        self.0
            .as_mut()
            .map(Pin::new)
            .ok_or_else(|| io::ErrorKind::BrokenPipe.into())
    }
}

impl AsyncWrite for Input {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.pipe()?.poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.pipe()?.poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0 = None;
        Poll::Ready(Ok(()))
    }
}

/// The reading end of a child's stdout or stderr.
#[derive(Debug)]
pub(crate) struct Output {
    pipe: pipe::Receiver,
    /// Once the leader has ended: how much may still be read. What is in the pipe is all there is,
    /// whoever else may hold its other end.
    rest: Option<usize>,
}

impl Output {
    fn new(fd: OwnedFd) -> io::Result<Self> {
        Ok(Self {
            pipe: pipe::Receiver::from_owned_fd(fd)?,
            rest: None,
        })
    }

    /// The leader has ended: from now on an empty pipe is the end of the stream.
    pub(crate) fn leader_ended(&mut self) {
        self.rest.get_or_insert(REST);
    }

    /// Undoes [`leader_ended`](Self::leader_ended): the end is the end of the pipe again.
    pub(crate) fn follow(&mut self) {
        self.rest = None;
    }
}

impl AsyncRead for Output {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let Some(rest) = self.rest else {
            return Pin::new(&mut self.pipe).poll_read(cx, buf);
        };
        let room = buf.remaining().min(rest);
        loop {
            // The reactor may not have heard yet of bytes that are there, so the pipe itself is asked.
            match rustix::io::read(&self.pipe, buf.initialize_unfilled_to(room)) {
                Ok(count) => {
                    buf.advance(count);
                    self.rest = Some(rest - count);
                }
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => {}
                Err(error) => return Poll::Ready(Err(error.into())),
            }
            return Poll::Ready(Ok(()));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::time::{Duration, Instant};

    use super::*;

    /// A child that goes on as long as its streams are held.
    fn cat() -> (Process, Pipes) {
        Process::spawn(Command::new("cat")).unwrap()
    }

    #[tokio::test]
    async fn an_ended_leader_keeps_its_number_until_it_is_reaped() {
        let (mut process, _streams) = cat();
        process.terminate();
        assert_eq!(poll_fn(|cx| process.poll_exit(cx)).await, Exit::Signal(15));
        assert!(
            rustix::process::test_kill_process(process.group).is_ok(),
            "it is a zombie"
        );
        process.reap();
        assert!(rustix::process::test_kill_process(process.group).is_err(), "it is gone");
    }

    #[tokio::test]
    async fn the_child_leads_a_group_of_its_own() {
        let (process, _streams) = cat();
        let own = Ok(process.group);
        assert_eq!(rustix::process::getpgid(Some(process.group)), own);
        // And a session, where ours has a terminal.
        assert!(!session::may_have_terminal() || rustix::process::getsid(Some(process.group)) == own);
    }

    #[tokio::test]
    async fn no_signal_is_sent_once_somebody_else_has_waited() {
        let (mut process, _streams) = cat();
        let group = process.group;
        process.kill();
        let deadline = Instant::now() + Duration::from_secs(10);
        // Another part of the program takes every dead child it finds.
        while !matches!(
            waitid(WaitId::Pid(group), WaitIdOptions::EXITED | WaitIdOptions::NOHANG),
            Ok(Some(_))
        ) {
            assert!(Instant::now() < deadline, "it was killed");
            tokio::task::yield_now().await;
        }
        process.exit = None;
        process.terminate();
        assert!(process.leader.is_none(), "the number may be somebody else's by now");
        assert_eq!(poll_fn(|cx| process.poll_exit(cx)).await, Exit::Unknown);
    }
}
