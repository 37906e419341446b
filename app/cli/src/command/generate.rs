//! `completions` and `man`: made from the same table as the help.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Cli;
use crate::exit::Exit;
use crate::output::Output;

pub(crate) fn completions(shell: Shell, output: &Output) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "trunkline", &mut script);
    output.result(&String::from_utf8_lossy(&script));
    Exit::Done
}

pub(crate) fn man(command: Option<&str>, output: &Output) -> Exit {
    let mut whole = Cli::command();
    whole.build();
    let found = match command {
        None => Some(&whole),
        Some(name) => whole.find_subcommand(name),
    };
    let Some(page) = found.cloned() else {
        let name = command.unwrap_or_default();
        output.error(&format!("there is no command `{name}`; `trunkline --help` lists them"));
        return Exit::Usage;
    };
    let mut roff = Vec::new();
    match clap_mangen::Man::new(page).render(&mut roff) {
        Ok(()) => {
            output.result(&String::from_utf8_lossy(&roff));
            Exit::Done
        }
        Err(error) => {
            output.error(&format!("the manual page cannot be made: {error}"));
            Exit::Failed
        }
    }
}
