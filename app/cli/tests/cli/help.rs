//! Help, completions and the manual page, all from one table.

use crate::run::{Home, settled_text};

#[test]
fn help_is_as_it_was_reviewed() {
    let home = Home::new();
    for command in ["", "ask", "tools", "call", "read", "prompt", "serve", "serve orders"] {
        let mut args: Vec<&str> = command.split_whitespace().collect();
        args.push("--help");
        let ran = home.run(&args);
        let name = format!("help {command}").trim().replace(' ', "_");
        insta::assert_snapshot!(name, settled_text(ran.done()));
    }
}

#[test]
fn completions_and_manual_know_every_command() {
    let home = Home::new();
    let commands = [
        "ask",
        "tools",
        "resources",
        "prompts",
        "call",
        "read",
        "prompt",
        "serve",
    ];
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let ran = home.run(&["completions", shell]);
        let script = ran.done();
        assert!(commands.iter().all(|command| script.contains(command)), "{shell}");
    }
    let page = home.run(&["man"]);
    assert!(
        page.done().starts_with(".ie") || page.done().starts_with(".TH"),
        "{}",
        page.stdout
    );
    assert!(commands.iter().all(|command| page.stdout.contains(command)));
    assert!(home.run(&["man", "call"]).done().contains("SERVER/TOOL"));
}

#[test]
fn the_version_is_told() {
    let home = Home::new();
    assert_eq!(
        home.run(&["--version"]).done(),
        format!("trunkline {}\n", env!("CARGO_PKG_VERSION"))
    );
}
