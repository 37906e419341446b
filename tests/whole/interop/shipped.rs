//! Our servers, as a foreign client reaches them.

use std::process::Command;

use super::listening::Listening;
use super::{Way, root, trunkline};

/// A server that a client starts, or one that runs already. Several clients may use it, one after another or at once.
pub(super) enum Shipped {
    Command(Vec<String>),
    Running(Listening, Way),
}

impl Shipped {
    /// `trunkline serve` with these words.
    pub(super) fn start(words: &[&str], way: Way) -> Self {
        Self::run(&[&[trunkline(), "serve"], words].concat(), &["--http", "0"], way)
    }

    /// The server of the scenarios, which has one of everything.
    pub(super) fn scenario(way: Way) -> Self {
        Self::run(&[env!("CARGO_BIN_EXE_scenario-server")], &["--http"], way)
    }

    fn run(command: &[&str], listen: &[&str], way: Way) -> Self {
        if way == Way::Stdio {
            return Self::Command(command.iter().map(|&word| word.to_owned()).collect());
        }
        let mut serve = Command::new(command[0]);
        serve.args(&command[1..]).args(listen).current_dir(root());
        Self::Running(Listening::start(serve), way)
    }

    /// The last arguments of a foreign client: what to start, or where it is.
    pub(super) fn arguments(&self) -> Vec<String> {
        match self {
            Self::Command(command) => std::iter::once("--".to_owned())
                .chain(command.iter().cloned())
                .collect(),
            Self::Running(listening, Way::HttpSse) => vec![listening.at("/sse")],
            Self::Running(listening, _) => vec![listening.at("/mcp")],
        }
    }

    /// Ends a server that runs: it must do so by itself, and have had nothing to say.
    pub(super) fn end(self) {
        if let Self::Running(listening, _) = self {
            let (status, said) = listening.end();
            assert!(status.success(), "{status}: {said:#?}");
            assert_eq!(said, Vec::<String>::new());
        }
    }
}
