//! The command line.

use std::time::Duration;

use crate::fault::{Fault, Outcome};
use crate::http::PORT;

pub(crate) const USAGE: &str = "\
usage: bench-load servers --peer NAME=COMMAND… [OPTION…]
       bench-load clients --server COMMAND… --client NAME=COMMAND… [OPTION…]
       bench-load growth --server COMMAND [OPTION…]

A command whose words include {port} serves HTTP, on that port at /mcp; any other one serves stdio. Words with spaces
stand in double quotes. The first peer of a transport is the one that the others are compared with.

  --rounds N       how often everything is measured (5)
  --ms N           milliseconds of each measured phase (500)
  --warm-up-ms N   milliseconds of load before the first phase of a tool (200)
  --starts N       cold starts in a round (25)
  --sessions N     sessions whose memory is measured (1000)
  --most N         leave out growth beyond so many tools, sessions or MiB
  --wait-ms N      milliseconds after which a server that does not answer is killed (20000)
  --json           every single value, one a line, instead of tables";

/// How long a process may do nothing before its memory is read, so that what it still does is done.
const SETTLE: Duration = Duration::from_millis(100);

/// What the command line says.
#[derive(Debug)]
pub(crate) struct Arguments {
    pub(crate) part: Part,
    pub(crate) options: Options,
    pub(crate) json: bool,
}

/// What is measured.
#[derive(Debug)]
pub(crate) enum Part {
    Servers { peers: Vec<Peer> },
    Clients { clients: Vec<Peer>, servers: Vec<Peer> },
    Growth { program: Vec<String> },
}

/// How it is measured.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) rounds: usize,
    pub(crate) time: Duration,
    pub(crate) warm_up: Duration,
    pub(crate) starts: u32,
    pub(crate) sessions: u32,
    pub(crate) most: usize,
    pub(crate) wait: Duration,
    pub(crate) settle: Duration,
}

/// A program that is measured.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Peer {
    pub(crate) name: String,
    pub(crate) command: Vec<String>,
}

impl Peer {
    fn read(text: &str) -> Outcome<Self> {
        let (name, command) = text
            .split_once('=')
            .ok_or_else(|| Fault::new(format!("`{text}` is not NAME=COMMAND")))?;
        let (name, command) = (name.to_owned(), words(command)?);
        Ok(Self { name, command })
    }

    pub(crate) fn is_http(&self) -> bool {
        self.command.iter().any(|word| word.contains(PORT))
    }

    pub(crate) fn transport(&self) -> &'static str {
        if self.is_http() { "http" } else { "stdio" }
    }
}

impl Arguments {
    /// # Errors
    /// What cannot be understood.
    pub(crate) fn read(words_given: &[String]) -> Outcome<Self> {
        let mut rest = words_given.iter().map(String::as_str);
        let part = rest.next().unwrap_or_default();
        let mut options = Options {
            rounds: 5,
            time: Duration::from_millis(500),
            warm_up: Duration::from_millis(200),
            starts: 25,
            sessions: 1000,
            most: usize::MAX,
            wait: Duration::from_secs(20),
            settle: SETTLE,
        };
        let (mut peers, mut clients, mut servers) = (Vec::new(), Vec::new(), Vec::new());
        let mut json = false;
        while let Some(flag) = rest.next() {
            if flag == "--json" {
                json = true;
                continue;
            }
            let value = rest.next().ok_or_else(|| Fault::new(format!("{flag} needs a value")))?;
            match flag {
                "--peer" => peers.push(Peer::read(value)?),
                "--client" => clients.push(Peer::read(value)?),
                "--server" => servers.push(Peer {
                    name: String::new(),
                    command: words(value)?,
                }),
                "--rounds" => options.rounds = number(flag, value)?,
                "--ms" => options.time = Duration::from_millis(number(flag, value)?),
                "--warm-up-ms" => options.warm_up = Duration::from_millis(number(flag, value)?),
                "--starts" => options.starts = number(flag, value)?,
                "--sessions" => options.sessions = number(flag, value)?,
                "--most" => options.most = number(flag, value)?,
                "--wait-ms" => options.wait = Duration::from_millis(number(flag, value)?),
                _ => return Err(Fault::new(format!("{flag} is not known"))),
            }
        }
        let part = match part {
            "servers" if !peers.is_empty() => Part::Servers { peers },
            "clients" if !clients.is_empty() && !servers.is_empty() => Part::Clients { clients, servers },
            "growth" if servers.len() == 1 => Part::Growth {
                program: servers.remove(0).command,
            },
            _ => return Err(Fault::new("it is not said what to measure")),
        };
        Ok(Self { part, options, json })
    }
}

/// A number of at least 1: nothing can be measured in no time, or never.
fn number<N: TryFrom<u64>>(flag: &str, text: &str) -> Outcome<N> {
    let number = text.parse::<u64>().ok().filter(|number| *number > 0);
    number
        .and_then(|number| N::try_from(number).ok())
        .ok_or_else(|| Fault::new(format!("{flag} takes a number of at least 1, and not {text:?}")))
}

/// The words of a command: parted by spaces, unless they stand in double quotes.
fn words(command: &str) -> Outcome<Vec<String>> {
    let mut words = Vec::new();
    for (index, part) in command.split('"').enumerate() {
        if index % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    if words.is_empty() || command.matches('"').count() % 2 == 1 {
        return Err(Fault::new(format!("`{command}` is no command")));
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &[&str]) -> Result<Arguments, String> {
        let words: Vec<String> = line.iter().map(|word| (*word).to_owned()).collect();
        Arguments::read(&words).map_err(|fault| fault.text().to_owned())
    }

    #[test]
    fn a_command_says_its_transport_by_its_words() {
        let read = read(&[
            "servers",
            "--peer",
            "a=\"/x y/server\" stdio",
            "--peer",
            "b=server http {port}",
        ])
        .unwrap();
        let Part::Servers { peers } = read.part else {
            panic!("servers are measured");
        };
        assert_eq!(peers[0].command, ["/x y/server", "stdio"]);
        assert_eq!((peers[0].transport(), peers[1].transport()), ("stdio", "http"));
        assert!(peers[1].is_http() && !peers[0].is_http());
    }

    #[test]
    fn options_stand_anywhere_and_are_at_least_one() {
        let all = read(&[
            "growth", "--rounds", "2", "--server", "s", "--json", "--ms", "7", "--most", "9",
        ])
        .unwrap();
        assert!(all.json && matches!(all.part, Part::Growth { program } if program == ["s"]));
        let options = all.options;
        assert_eq!((options.rounds, options.time.as_millis(), options.most), (2, 7, 9));
        for wrong in [
            &["growth", "--server", "s", "--rounds", "0"][..],
            &["growth", "--server", "s", "--starts", "5000000000"],
            &["growth", "--server", "s", "--rounds"],
            &["growth", "--server", "s", "--fast", "1"],
            &["growth"],
            &["growth", "--server", "s", "--server", "t"],
            &["clients", "--client", "a=b"],
            &["servers", "--peer", "a"],
            &["servers", "--peer", "a="],
            &["servers", "--peer", "a=\"b"],
            &[],
        ] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
    }
}
