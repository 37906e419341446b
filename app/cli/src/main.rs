//! The trunkline command.

mod args;
mod command;
mod exit;
mod form;
mod output;
mod person;
mod quote;
mod session;
mod terminal;

use std::process::ExitCode;
use std::sync::Arc;

use clap::{CommandFactory, FromArgMatches};

use args::{Cli, Command};
use exit::Exit;
use output::Output;

fn main() -> ExitCode {
    let cli = match parse() {
        Ok(cli) => cli,
        Err(error) => {
            output::print_clap(&error);
            return if error.use_stderr() {
                Exit::Usage.into()
            } else {
                Exit::Done.into()
            };
        }
    };
    let output = Arc::new(Output::new(cli.global.no_color));
    let exit = run(cli, &output);
    output.finish();
    if let Some(failure) = output.stdout_failure() {
        output.error(&failure);
        return Exit::Failed.into();
    }
    exit.into()
}

/// Reads the command line. Colours are decided before anything can be wrong with it.
fn parse() -> Result<Cli, clap::Error> {
    let mut command = Cli::command();
    if std::env::args_os().any(|arg| arg == "--no-color") {
        command = command.color(clap::ColorChoice::Never);
    }
    Cli::from_arg_matches(&command.try_get_matches()?)
}

fn run(cli: Cli, output: &Arc<Output>) -> Exit {
    match &cli.command {
        Command::Completions { shell } => return command::generate::completions(*shell, output),
        Command::Man { command } => return command::generate::man(command.as_deref(), output),
        _ => {}
    }
    // One thread is enough: the work is waiting, and a server that starts quickly answers quickly.
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            output.error(&format!("the program cannot start: {error}"));
            return Exit::Failed;
        }
    };
    runtime.block_on(async {
        match cli.command {
            Command::Serve { server } => command::serve::serve(server, output).await,
            command => command::with_servers(&cli.global, command, output).await,
        }
    })
}
