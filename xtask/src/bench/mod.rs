//! `cargo xtask bench`: whole programs, measured side by side. `docs/performance.md` says what the numbers mean.
//!
//! Each part builds what it needs and returns Markdown, or with `--json` a value a line. A further part is a further
//! file here, a line in [`PARTS`] and a pair of markers in the page.

mod build;
mod instructions;
mod machine;
mod page;
mod programs;
mod sizes;

use crate::Problem;
use crate::output;

const USAGE: &str = "usage: cargo xtask bench [PART] [--rounds N] [--quick] [--peer NAME=COMMAND]… \
    [--client NAME=COMMAND]… [--build] [--json | --write], or cargo xtask bench instructions [FILTER] [--write]";

/// One thing to measure.
struct Part {
    name: &'static str,
    about: &'static str,
    /// About how many minutes it takes with so many rounds, without building.
    minutes: fn(&Asked) -> u64,
    run: fn(&Asked) -> Result<String, String>,
}

const PARTS: &[Part] = &[
    Part {
        name: "server",
        about: "servers against the floor and rmcp: cold start, calls, CPU, memory",
        minutes: |asked| asked.scaled(90),
        run: programs::servers,
    },
    Part {
        name: "client",
        about: "clients against the floor: calls one after another",
        minutes: |asked| asked.scaled(10),
        run: programs::clients,
    },
    Part {
        name: "growth",
        about: "a call with many tools and sessions, a long message",
        minutes: |asked| asked.scaled(25),
        run: programs::growth,
    },
    Part {
        name: "size",
        about: "binaries, crates, and with --build the time of a clean build",
        minutes: |asked| if asked.build { 10 } else { 0 },
        run: sizes::measure,
    },
];

/// What is asked for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Asked {
    /// None: every part.
    part: Option<&'static str>,
    rounds: Option<u32>,
    /// Short phases and few rounds: to see that it works, not to compare.
    quick: bool,
    peers: Vec<String>,
    clients: Vec<String>,
    /// Whether clean builds are timed.
    build: bool,
    form: Form,
}

/// In which form the result is wanted.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Tables.
    #[default]
    Tables,
    /// Tables, which are put into the page too.
    Page,
    /// Every single value, one a line.
    Values,
}

impl Asked {
    fn rounds(&self) -> u32 {
        self.rounds.unwrap_or(if self.quick { 2 } else { 5 })
    }

    /// Minutes of all rounds, of which each takes so many seconds.
    fn scaled(&self, seconds: u64) -> u64 {
        let seconds = if self.quick { seconds / 3 } else { seconds };
        (u64::from(self.rounds()) * seconds).div_ceil(60)
    }
}

/// `cargo xtask bench [PART] …`.
pub(crate) fn command(args: &[String]) -> Result<(), Problem> {
    // It has no rounds and no peers, and so arguments of its own.
    if let Some((part, rest)) = args.split_first()
        && part == "instructions"
    {
        return instructions::command(rest);
    }
    let asked = read(args).map_err(|why| Problem::Usage(format!("{why}; {USAGE}")))?;
    let wanted = |part: &&Part| asked.part.is_none_or(|name| name == part.name);
    let parts: Vec<&Part> = PARTS.iter().filter(wanted).collect();
    let minutes: u64 = parts.iter().map(|part| (part.minutes)(&asked)).sum();
    let plan = format!(
        "{} rounds, about {minutes} min beside building; nothing else should run meanwhile",
        asked.rounds()
    );
    output::progress(&plan);
    for part in parts {
        output::progress(&format!("{}: {}", part.name, part.about));
        let load = machine::load();
        let measured = (part.run)(&asked).map_err(|why| Problem::Failed(format!("{}: {why}", part.name)))?;
        output::line(measured.trim_end());
        if asked.form == Form::Page {
            let facts = machine::facts(&command_line(part.name, args), &load);
            page::write(part.name, &facts, &measured).map_err(Problem::Failed)?;
        }
    }
    Ok(())
}

/// The command that measures this part alone as it was measured.
fn command_line(part: &str, args: &[String]) -> String {
    let flags = args
        .iter()
        .filter(|word| word.as_str() != part && word.as_str() != "all" && word.as_str() != "--write")
        .map(|word| {
            if word.contains(' ') {
                format!("'{word}'")
            } else {
                word.clone()
            }
        });
    ["cargo xtask bench", part]
        .map(str::to_owned)
        .into_iter()
        .chain(flags)
        .collect::<Vec<_>>()
        .join(" ")
}

fn read(args: &[String]) -> Result<Asked, String> {
    let mut asked = Asked::default();
    let mut rest = args.iter().map(String::as_str);
    let mut first = true;
    while let Some(word) = rest.next() {
        let mut value = || rest.next().ok_or_else(|| format!("{word} needs a value"));
        match word {
            "--quick" => asked.quick = true,
            "--build" => asked.build = true,
            "--json" | "--write" if asked.form != Form::Tables => {
                return Err("--json prints values and --write needs tables: one of them".to_owned());
            }
            "--json" => asked.form = Form::Values,
            "--write" => asked.form = Form::Page,
            "--rounds" => {
                let rounds = value()?.parse().ok().filter(|rounds| *rounds > 0);
                asked.rounds = Some(rounds.ok_or("--rounds takes a number of at least 1")?);
            }
            "--peer" => asked.peers.push(value()?.to_owned()),
            "--client" => asked.clients.push(value()?.to_owned()),
            "all" if first => {}
            name if first && !name.starts_with('-') => {
                let known = PARTS.iter().find(|part| part.name == name);
                let names: Vec<&str> = PARTS.iter().map(|part| part.name).collect();
                let unknown = || format!("there is no part {name:?}; there is: all, {}", names.join(", "));
                asked.part = Some(known.ok_or_else(unknown)?.name);
            }
            _ => return Err(format!("{word} is not known")),
        }
        first = false;
    }
    Ok(asked)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn a_part_stands_first_and_flags_anywhere() {
        assert_eq!(read(&[]), Ok(Asked::default()));
        assert_eq!(read(&args("all")), Ok(Asked::default()));
        let asked = read(&args("client --quick --rounds 3 --client a=b --peer c=d")).expect("it makes sense");
        assert_eq!((asked.part, asked.quick, asked.rounds()), (Some("client"), true, 3));
        assert_eq!((asked.clients, asked.peers), (args("a=b"), args("c=d")));
        assert_eq!(read(&args("--quick")).map(|asked| asked.rounds()), Ok(2));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for wrong in [
            "speed",
            "--fast",
            "--rounds",
            "--rounds 0",
            "--json --write",
            "--quick server",
            "server client",
        ] {
            assert!(read(&args(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_command_line_of_a_part_can_be_run_again() {
        let line = |args: &[&str]| {
            let args: Vec<String> = args.iter().map(|word| (*word).to_owned()).collect();
            command_line("server", &args)
        };
        assert_eq!(line(&["all", "--quick", "--write"]), "cargo xtask bench server --quick");
        assert_eq!(
            line(&["server", "--peer", "a=b c"]),
            "cargo xtask bench server --peer 'a=b c'"
        );
    }
}
