//! A server over stdio, driven by one thread that blocks: the least that a client can cost.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{ChildStdin, ChildStdout};
use std::time::{Duration, Instant};

use crate::fault::{Fault, Outcome};
use crate::message::{self, Era, Tool};
use crate::phase::Phase;
use crate::process::Process;

/// What is read from the pipe at once.
const BUFFER: usize = 256 * 1024;
/// The pieces of a long message.
const PIECE: usize = 4 * 1024;

/// A server over stdio, and the ids that it has been asked.
#[derive(Debug)]
pub(crate) struct Pipes {
    pub(crate) process: Process,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    line: Vec<u8>,
    era: Era,
    last_id: u64,
}

impl Pipes {
    /// Starts a server; in the legacy era, agrees with it on the revision.
    pub(crate) fn connect(command: &[String], era: Era, wait: Duration) -> Outcome<Self> {
        let (process, input, output) = Process::start_piped(command)?;
        let mut pipes = Self {
            process,
            input,
            output: BufReader::with_capacity(BUFFER, output),
            line: Vec::new(),
            era,
            last_id: 0,
        };
        let _watch = pipes.process.watch(wait);
        pipes.handshake().map_err(|fault| pipes.process.explain(fault))?;
        Ok(pipes)
    }

    fn handshake(&mut self) -> Outcome<()> {
        if self.era == Era::Legacy {
            let id = self.next_id();
            self.send(message::initialize(id))?;
            self.read_until(|line| message::check_initialized(line, id))?;
            self.send(message::INITIALIZED.to_vec())?;
        }
        Ok(())
    }

    /// Asks for the tools, and checks that the measured ones are there.
    pub(crate) fn list(&mut self, wait: Duration) -> Outcome<()> {
        let _watch = self.process.watch(wait);
        let id = self.next_id();
        self.send(message::list_tools(id, self.era))
            .and_then(|()| self.read_until(|line| message::check_list(line, id)))
            .map_err(|fault| self.process.explain(fault))
    }

    /// Keeps so many calls in flight for `time`, and then waits for those that are.
    pub(crate) fn load(&mut self, tool: Tool, in_flight: usize, time: Duration, wait: Duration) -> Outcome<Phase> {
        let _watch = self.process.watch(time + wait);
        self.run(tool, in_flight, time)
            .map_err(|fault| self.process.explain(fault))
    }

    fn run(&mut self, tool: Tool, in_flight: usize, time: Duration) -> Outcome<Phase> {
        let mut phase = Phase::default();
        let mut out = Vec::new();
        // In the order that they were asked in, which most are answered in.
        let mut asked: Vec<(u64, Instant)> = Vec::with_capacity(in_flight);
        let cpu = self.process.cpu()?;
        let start = Instant::now();
        let mut now = start;
        loop {
            while asked.len() < in_flight && now - start < time {
                let id = self.next_id();
                message::call(&mut out, id, tool, self.era);
                out.push(b'\n');
                asked.push((id, now));
            }
            if asked.is_empty() {
                break;
            }
            self.input.write_all(&out)?;
            out.clear();
            loop {
                self.read_line()?;
                if let Some(id) = message::check_call(&self.line, tool)? {
                    now = Instant::now();
                    let at = asked.iter().position(|(asked, _)| *asked == id);
                    let at = at.ok_or_else(|| Fault::new(format!("id {id} was answered twice, or never asked")))?;
                    let (_, since) = asked.remove(at);
                    phase.answered(now - since);
                }
                if !self.output.buffer().contains(&b'\n') {
                    break;
                }
            }
        }
        phase.time = start.elapsed();
        phase.cpu = self.process.cpu()?.saturating_sub(cpu);
        Ok(phase)
    }

    /// Has a text of that many bytes echoed that comes in small pieces. The CPU time that the server used for it.
    pub(crate) fn long_echo(&mut self, bytes: usize, wait: Duration) -> Outcome<Duration> {
        let _watch = self.process.watch(wait);
        let id = self.next_id();
        let mut message = message::long_echo(id, bytes);
        message.push(b'\n');
        let cpu = self.process.cpu()?;
        let mut send = || message.chunks(PIECE).try_for_each(|piece| self.input.write_all(piece));
        send()
            .map_err(Fault::from)
            .and_then(|()| self.read_until(|line| message::check_long_echo(line, id, bytes)))
            .map_err(|fault| self.process.explain(fault))?;
        Ok(self.process.cpu()?.saturating_sub(cpu))
    }

    fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    fn send(&mut self, mut message: Vec<u8>) -> Outcome<()> {
        message.push(b'\n');
        Ok(self.input.write_all(&message)?)
    }

    fn read_line(&mut self) -> Outcome<()> {
        self.line.clear();
        if self.output.read_until(b'\n', &mut self.line)? == 0 {
            return Err(Fault::new("the server ended its output"));
        }
        Ok(())
    }

    fn read_until(&mut self, is_answer: impl Fn(&[u8]) -> Outcome<bool>) -> Outcome<()> {
        loop {
            self.read_line()?;
            if is_answer(&self.line)? {
                return Ok(());
            }
        }
    }
}
