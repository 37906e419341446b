//! The requirement sets that ship with the suite: which scenarios each revision asks for.

use std::fs;
use std::path::Path;

/// Which side is tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leg {
    Server,
    Client,
}

impl Leg {
    pub(super) const ALL: [Self; 2] = [Self::Server, Self::Client];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Client => "client",
        }
    }

    pub(super) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|leg| leg.name() == name)
    }
}

/// The scenarios of one revision, scored or not; those of the suite that it does not name are left out.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Set {
    pub(super) revision: String,
    scenarios: Vec<(Leg, String)>,
}

impl Set {
    /// All sets in a folder of files `REVISION.yaml`, the oldest first.
    pub(super) fn read_all(folder: &Path) -> Result<Vec<Self>, String> {
        let unreadable = |error: std::io::Error| format!("{}: {error}", folder.display());
        let mut sets = Vec::new();
        for entry in fs::read_dir(folder).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            let (Some(revision), Some("yaml")) = (
                path.file_stem().and_then(|name| name.to_str()),
                path.extension().and_then(|ending| ending.to_str()),
            ) else {
                continue;
            };
            let text = fs::read_to_string(&path).map_err(unreadable)?;
            let set = Self::parse(revision, &text).map_err(|why| format!("{}: {why}", path.display()))?;
            sets.push(set);
        }
        sets.sort_by(|one, other| one.revision.cmp(&other.revision));
        if sets.is_empty() {
            return Err(format!("{} holds no requirement set", folder.display()));
        }
        Ok(sets)
    }

    /// The lists `server` and `client`, and the entries of `not_scored` with their `scenario` and `leg`. The
    /// files are written by the suite's own people in this one form; anything else in them is refused.
    fn parse(revision: &str, text: &str) -> Result<Self, String> {
        let mut section = "";
        let mut unplaced: Option<&str> = None;
        let mut scenarios = Vec::new();
        for line in text.lines().filter(|line| !line.trim_start().starts_with('#')) {
            if let Some(name) = line.strip_suffix(':').filter(|name| !name.starts_with(' ')) {
                section = name;
                continue;
            }
            let item = line.trim_start().strip_prefix("- ");
            match (section, item) {
                ("server" | "client", Some(name)) => {
                    let leg = Leg::from_name(section).ok_or("a section that is no leg")?;
                    scenarios.push((leg, name.trim().to_owned()));
                }
                ("not_scored", Some(item)) => unplaced = item.strip_prefix("scenario: "),
                ("not_scored", None) => {
                    let Some(leg) = line.trim_start().strip_prefix("leg: ") else {
                        continue;
                    };
                    let leg = Leg::from_name(leg.trim()).ok_or_else(|| format!("the leg {leg:?} is not known"))?;
                    let name = unplaced.take().ok_or("a leg without its scenario")?;
                    scenarios.push((leg, name.trim().to_owned()));
                }
                (_, None) if line.trim().is_empty() => {}
                _ => return Err(format!("cannot read the line {line:?}")),
            }
        }
        for leg in Leg::ALL {
            if !scenarios.iter().any(|(of, _)| *of == leg) {
                return Err(format!("no scenario for a {}", leg.name()));
            }
        }
        Ok(Self {
            revision: revision.to_owned(),
            scenarios,
        })
    }

    /// The scenarios of a leg, without and with authorization.
    pub(super) fn scenarios(&self, leg: Leg) -> (Vec<&str>, Vec<&str>) {
        let of_leg = self.scenarios.iter().filter(|(of, _)| *of == leg);
        of_leg
            .map(|(_, name)| name.as_str())
            .partition(|name| !name.starts_with("auth/"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# What must pass: a list.
server:
  - ping
  - tools-list

client:
  - tools_call
  - auth/basic

not_scored:
  - scenario: auth/dpop
    leg: client
    reason: extension
  - scenario: tasks-lifecycle
    leg: server
    reason: extension
    note: >-
      run for visibility
";

    #[test]
    fn scored_and_other_scenarios_are_read_for_both_legs() {
        let set = Set::parse("2026-07-28", TEXT).expect("the set is well formed");
        assert_eq!(
            set.scenarios(Leg::Server),
            (vec!["ping", "tools-list", "tasks-lifecycle"], vec![])
        );
        assert_eq!(
            set.scenarios(Leg::Client),
            (vec!["tools_call"], vec!["auth/basic", "auth/dpop"])
        );
    }

    #[test]
    fn a_set_that_asks_for_nothing_or_something_else_is_refused() {
        assert!(Set::parse("r", "").is_err());
        assert!(Set::parse("r", "server:\n  - ping\n").is_err());
        assert!(Set::parse("r", &TEXT.replace("leg: server", "leg: proxy")).is_err());
        assert!(Set::parse("r", &format!("{TEXT}\nauthorization:\n  - some\n")).is_err());
    }
}
