//! The command line: one table, from which help, completions and the manual page come.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use trunkline_gate::client::types::Revision;
use trunkline_orders::Role;

use crate::exit;

const EXAMPLES: &str = "\
Examples:
  trunkline ask \"서울 날씨 어때?\"
  trunkline ask \"How many paid orders are there?\" --json
  trunkline tools
  trunkline call weather/get_weather '{\"city\":\"Busan\"}'

Configuration, the first that is there:
  --config FILE, the file that TRUNKLINE_CONFIG names, ~/.config/trunkline/mcp.json, the shipped servers.
  A file in the working folder is never taken by itself, because it names programs to start.
  A server in it is a program (\"command\") or an HTTP address (\"url\", \"headers\"), as other hosts write them.

Without a configuration the shipped weather and orders servers run, and the offline model answers. It follows fixed
rules and is not a language model.";

/// The Model Context Protocol on the command line: ask, call, read, serve.
#[derive(Debug, Parser)]
#[command(name = "trunkline", version, after_help = format!("{EXAMPLES}\n\n{}", exit::HELP), subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command takes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of every command")]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub(crate) struct Global {
    /// Take the servers from this file (`mcpServers` JSON).
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) config: Option<PathBuf>,
    /// Print the result as JSON.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Record every message and decision in a new file, as JSON Lines.
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) journal: Option<PathBuf>,
    /// Allow each server so long to connect, and to answer a call (default: 20 and 60).
    #[arg(long, value_name = "SECONDS", global = true, value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
    /// Speak this revision of the protocol only, instead of finding out what a server speaks.
    #[arg(long, value_name = "REVISION", global = true, value_parser = revision)]
    pub(crate) revision: Option<Revision>,
    /// Never ask on the terminal: what needs a person's approval is refused.
    #[arg(long, global = true)]
    pub(crate) no_input: bool,
    /// Use no colours. NO_COLOR in the environment does the same.
    #[arg(long, global = true)]
    pub(crate) no_color: bool,
    /// Say more about servers and what was set aside.
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Ask one question: the answer goes to standard output, the steps to standard error.
    #[command(
        after_help = "Examples:\n  trunkline ask \"서울 날씨 어때?\"\n  trunkline ask What is the weather in Busan?\n  trunkline ask \"How many paid orders are there?\" --json"
    )]
    Ask {
        /// The question; several words are joined.
        #[arg(required = true, value_name = "QUESTION")]
        question: Vec<String>,
    },
    /// List the tools that the servers offer.
    Tools,
    /// List the resources and resource templates that the servers offer.
    Resources,
    /// List the prompts that the servers offer.
    Prompts,
    /// Call one tool, through the gate: arguments are checked, and you are asked where the rules say so.
    #[command(
        after_help = "Examples:\n  trunkline call weather/get_weather '{\"city\":\"Seoul\"}'\n  trunkline call orders/count_orders\n  echo '{\"id\":3}' | trunkline call orders/get_order -"
    )]
    Call {
        /// The server's id, a slash and the tool's name.
        #[arg(value_name = "SERVER/TOOL")]
        tool: String,
        /// The arguments as a JSON object; `-` reads them from standard input.
        #[arg(value_name = "JSON")]
        arguments: Option<String>,
    },
    /// Read one resource.
    #[command(
        after_help = "Examples:\n  trunkline read orders://order/1\n  trunkline read file:///notes.txt --server files"
    )]
    Read {
        /// The resource's address.
        uri: String,
        /// The server to read from; needed where several offer the address.
        #[arg(long, value_name = "ID")]
        server: Option<String>,
    },
    /// Fill in one prompt and print its messages.
    #[command(after_help = "Example:\n  trunkline prompt daily_report date=2026-10-05")]
    Prompt {
        /// The prompt's name.
        name: String,
        /// Its arguments.
        #[arg(value_name = "NAME=VALUE", value_parser = pair)]
        arguments: Vec<(String, String)>,
        /// The server to ask; needed where several offer the name.
        #[arg(long, value_name = "ID")]
        server: Option<String>,
    },
    /// Run a shipped server on standard input and output, for any MCP host.
    #[command(
        after_help = "Examples:\n  trunkline serve weather\n  trunkline serve orders --db shop.sqlite --role clerk"
    )]
    Serve {
        #[command(subcommand)]
        server: Serve,
    },
    /// Print a completion script for a shell.
    #[command(
        after_help = "Example:\n  trunkline completions bash > ~/.local/share/bash-completion/completions/trunkline"
    )]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page, of the whole or of one command, as roff.
    #[command(after_help = "Example:\n  trunkline man | man -l -")]
    Man {
        /// The command.
        command: Option<String>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Serve {
    /// Current weather of some fifty cities, from a fixed table.
    Weather {
        /// Ask Open-Meteo instead of the table.
        #[arg(long)]
        live: bool,
        #[command(flatten)]
        over: Over,
    },
    /// Orders of a shop in SQLite: count, list, find, and with more rights cancel and purge.
    Orders {
        /// The database file; without it a sample that lives as long as the server.
        #[arg(long, value_name = "FILE")]
        db: Option<PathBuf>,
        /// Which tools are offered and allowed: a viewer reads, a clerk cancels too, an admin purges test orders too.
        #[arg(long, value_name = "viewer|clerk|admin", default_value_t, value_parser = role)]
        role: Role,
        #[command(flatten)]
        over: Over,
    },
}

/// How a server is reached.
#[derive(Debug, Args)]
pub(crate) struct Over {
    /// Serve over HTTP on this address instead of standard input and output: a port of this machine, or
    /// host:port. The endpoint is /mcp. Whoever reaches the address may call.
    #[arg(long, value_name = "ADDR", value_parser = address)]
    pub(crate) http: Option<String>,
}

/// An address to serve on. A port alone is one that only this machine reaches.
fn address(text: &str) -> Result<String, String> {
    let (host, port) = text.rsplit_once(':').unwrap_or(("127.0.0.1", text));
    if host.is_empty() || port.parse::<u16>().is_err() {
        return Err("write a port such as 3000, or host:port such as 127.0.0.1:3000".to_owned());
    }
    Ok(format!("{host}:{port}"))
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text
        .parse()
        .map_err(|_| "write a number of seconds, such as 5 or 0.5".to_owned())?;
    if seconds > 0.0 && seconds <= 86_400.0 {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err("it must be above 0 and at most 86400".to_owned())
    }
}

fn revision(text: &str) -> Result<Revision, String> {
    Revision::from_name(text).ok_or_else(|| {
        let names: Vec<&str> = Revision::ALL.iter().map(|revision| revision.name()).collect();
        format!("the revisions are {}", names.join(", "))
    })
}

fn role(text: &str) -> Result<Role, String> {
    text.parse()
        .map_err(|error: trunkline_orders::UnknownRole| error.to_string())
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write NAME=VALUE".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_table_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn values_are_checked_where_they_are_read() {
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        for wrong in ["0", "-1", "nan", "inf", "1e9", "x", ""] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
        assert_eq!(pair("a=b=c"), Ok(("a".into(), "b=c".into())));
        assert_eq!(pair("a="), Ok(("a".into(), String::new())));
        assert!(pair("=b").is_err() && pair("a").is_err());
        assert!(revision("yesterday").unwrap_err().contains(Revision::LATEST.name()));
        assert!(role("root").unwrap_err().contains("viewer"));
    }
}
