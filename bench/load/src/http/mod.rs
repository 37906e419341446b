//! A server over HTTP, driven over plain sockets by one thread.

mod connection;
mod response;

use std::cell::{Cell, RefCell};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

use tokio::task::LocalSet;

use crate::fault::{Fault, Outcome};
use crate::message::{Era, Tool};
use crate::phase::Phase;
use crate::process::Process;
pub(crate) use connection::Connection;

/// What stands in a command for the port.
pub(crate) const PORT: &str = "{port}";
/// How often a server that does not listen yet is tried again. Short against the quickest start.
const TRY_AGAIN: Duration = Duration::from_micros(100);
/// How often another port is taken when a server ends before it listens: somebody else may have got the port.
const PORTS: usize = 3;

/// A server over HTTP that was started.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) process: Process,
    pub(crate) address: SocketAddr,
    /// The connection by which it was found to listen, until somebody takes it.
    first: RefCell<Option<TcpStream>>,
}

impl Server {
    /// Starts a server on a free port and waits until it listens.
    pub(crate) fn start(command: &[String], wait: Duration) -> Outcome<Self> {
        let mut tries = 0;
        loop {
            tries += 1;
            let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
            let port = address.port().to_string();
            let command: Vec<String> = command.iter().map(|word| word.replace(PORT, &port)).collect();
            let process = Process::start(&command)?;
            let start = Instant::now();
            while !process.has_ended() {
                if let Ok(socket) = TcpStream::connect(address) {
                    let first = RefCell::new(Some(socket));
                    return Ok(Self {
                        process,
                        address,
                        first,
                    });
                }
                if start.elapsed() > wait {
                    return Err(Fault::new(format!("`{}` does not listen", command.join(" "))));
                }
                thread::sleep(TRY_AGAIN);
            }
            if tries == PORTS {
                return Err(Fault::new(format!("`{}` ended as it started", command.join(" "))));
            }
        }
    }

    /// A connection to it; in the legacy era, with a session of its own.
    pub(crate) async fn connect(&self, era: Era, wait: Duration) -> Outcome<Connection> {
        let _watch = self.process.watch(wait);
        let connect = async {
            let mut connection = match self.first.take() {
                Some(socket) => Connection::over(socket, self.address, era)?,
                None => Connection::new(self.address, era).await?,
            };
            connection.handshake().await?;
            Ok(connection)
        };
        connect.await.map_err(|fault| self.process.explain(fault))
    }

    /// Opens connections until there are so many.
    pub(crate) async fn connect_all(
        &self,
        connections: &mut Vec<Connection>,
        count: usize,
        era: Era,
        wait: Duration,
    ) -> Outcome<()> {
        while connections.len() < count {
            connections.push(self.connect(era, wait).await?);
        }
        Ok(())
    }

    /// Each of the first so many connections makes one call after another for `time`.
    pub(crate) async fn load(
        &self,
        connections: &mut Vec<Connection>,
        count: usize,
        tool: Tool,
        time: Duration,
        wait: Duration,
    ) -> Outcome<Phase> {
        let _watch = self.process.watch(time + wait);
        let idle = connections.split_off(count);
        let ran = self.run(std::mem::take(connections), tool, time).await;
        let (phase, mut used) = ran.map_err(|fault| self.process.explain(fault))?;
        connections.append(&mut used);
        connections.extend(idle);
        Ok(phase)
    }

    async fn run(&self, connections: Vec<Connection>, tool: Tool, time: Duration) -> Outcome<(Phase, Vec<Connection>)> {
        let ids = Rc::new(Cell::new(0));
        let cpu = self.process.cpu()?;
        let start = Instant::now();
        let callers = LocalSet::new();
        let calling: Vec<_> = connections
            .into_iter()
            .map(|connection| callers.spawn_local(call_for(connection, Rc::clone(&ids), tool, start, time)))
            .collect();
        callers.await;
        let mut phase = Phase::default();
        let mut used = Vec::new();
        for caller in calling {
            let (seen, connection) = caller.await??;
            phase.join(seen);
            used.push(connection);
        }
        phase.time = start.elapsed();
        phase.cpu = self.process.cpu()?.saturating_sub(cpu);
        Ok((phase, used))
    }
}

async fn call_for(
    mut connection: Connection,
    ids: Rc<Cell<u64>>,
    tool: Tool,
    start: Instant,
    time: Duration,
) -> Outcome<(Phase, Connection)> {
    let mut phase = Phase::default();
    let mut now = Instant::now();
    while now - start < time {
        ids.set(ids.get() + 1);
        connection.call(ids.get(), tool).await?;
        let done = Instant::now();
        phase.answered(done - now);
        now = done;
    }
    Ok((phase, connection))
}

/// Runs what speaks HTTP, on one thread.
pub(crate) fn block_on<T>(work: impl Future<Output = Outcome<T>>) -> Outcome<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(work)
}
