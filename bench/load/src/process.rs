//! A measured process: how it is started, what it used, and how it is ended.

use std::fs;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::fault::{Fault, Outcome};

/// A process that was started to be measured. Dropped, it is killed: nothing that it would still do is of use.
#[derive(Debug)]
pub(crate) struct Process {
    child: Arc<Mutex<Child>>,
    pid: u32,
    overdue: Arc<AtomicBool>,
}

/// Kills a process if it lives to the end of its time.
#[derive(Debug)]
pub(crate) struct Watch {
    _in_time: Sender<()>,
}

impl Process {
    /// Starts a process with pipes as its stdin and stdout.
    pub(crate) fn start_piped(words: &[String]) -> Outcome<(Self, ChildStdin, ChildStdout)> {
        let mut command = command(words)?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| cannot_start(words, &error))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Fault::new("the pipes of a process are missing"));
        };
        Ok((Self::of(child), input, output))
    }

    /// Starts a process that is spoken to in another way.
    pub(crate) fn start(words: &[String]) -> Outcome<Self> {
        let mut command = command(words)?;
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let child = command.spawn().map_err(|error| cannot_start(words, &error))?;
        Ok(Self::of(child))
    }

    fn of(child: Child) -> Self {
        Self {
            pid: child.id(),
            child: Arc::new(Mutex::new(child)),
            overdue: Arc::default(),
        }
    }

    fn child(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Kills the process if the watch still stands after `wait`. So whoever waits for it reads an end and goes on.
    pub(crate) fn watch(&self, wait: Duration) -> Watch {
        let (in_time, ended) = mpsc::channel();
        let (child, overdue) = (Arc::clone(&self.child), Arc::clone(&self.overdue));
        thread::spawn(move || {
            if ended.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                overdue.store(true, Ordering::SeqCst);
                let _ = child.lock().unwrap_or_else(PoisonError::into_inner).kill();
            }
        });
        Watch { _in_time: in_time }
    }

    /// Says of a fault that it came from a time that was over.
    pub(crate) fn explain(&self, fault: Fault) -> Fault {
        if self.overdue.load(Ordering::SeqCst) {
            fault.during("killed, as it did not answer in time")
        } else {
            fault
        }
    }

    /// Whether the process has ended.
    pub(crate) fn has_ended(&self) -> bool {
        matches!(self.child().try_wait(), Ok(Some(_)))
    }

    /// Waits until the process ends by itself. Watch it meanwhile.
    pub(crate) fn wait(&self) -> Outcome<()> {
        // The child is not locked while it is waited for, so that its watch can kill it.
        loop {
            if let Some(status) = self.child().try_wait()? {
                return if status.success() {
                    Ok(())
                } else {
                    Err(Fault::new(format!("it ended with {status}")))
                };
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// The CPU time that its threads have used. Threads that have ended are not counted.
    pub(crate) fn cpu(&self) -> Outcome<Duration> {
        let mut sum = 0;
        for task in fs::read_dir(format!("/proc/{}/task", self.pid))? {
            // A thread may end between the listing and the reading.
            let Ok(times) = fs::read_to_string(task?.path().join("schedstat")) else {
                continue;
            };
            let on_cpu = times.split(' ').next().unwrap_or_default();
            sum += on_cpu.parse::<u64>()?;
        }
        Ok(Duration::from_nanos(sum))
    }

    /// What is resident of it, in KiB.
    pub(crate) fn memory_kib(&self) -> Outcome<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid))?;
        let resident = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"));
        let resident = resident.ok_or_else(|| Fault::new("the system does not say what is resident"))?;
        Ok(resident.parse()?)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let mut child = self.child();
        let _ = child.kill();
        let _ = child.wait();
    }
}

fn command(words: &[String]) -> Outcome<Command> {
    let [program, arguments @ ..] = words else {
        return Err(Fault::new("a command without a program"));
    };
    let mut command = Command::new(program);
    command.args(arguments).stderr(Stdio::inherit());
    Ok(command)
}

fn cannot_start(words: &[String], error: &std::io::Error) -> Fault {
    Fault::new(format!("`{}` could not be started: {error}", words.join(" ")))
}
