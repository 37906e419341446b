//! What the suite found: its `checks.json`, which is JSON indented by two spaces.
//!
//! Each check is an object of the outer list, so its own fields stand behind exactly four spaces; what a
//! check quotes from messages stands deeper. That much is enough here, and this program stays without
//! dependencies.

use std::fs;
use std::path::Path;

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    Success,
    Failure,
    Warning,
    Skipped,
    /// A remark that judges nothing.
    Info,
}

/// One check of one scenario.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Check {
    pub(super) id: String,
    pub(super) status: Status,
    /// What is wrong, else what was checked, in the suite's own words, still escaped as in JSON.
    pub(super) message: String,
}

impl Check {
    /// Whether it judges nothing because it only shows a message, one way or the other.
    pub(super) fn is_traffic(&self) -> bool {
        let kinds = ["incoming-", "outgoing-", "stream-closed"];
        self.status == Status::Info && kinds.iter().any(|kind| self.id.starts_with(kind))
    }
}

/// The checks of the scenario whose results were left below `folder` in one named `NAME-TIME`.
pub(super) fn of_scenario(folder: &Path, name: &str) -> Result<Vec<Check>, String> {
    // A scenario may begin with the name of another one.
    let is_time = |rest: &str| rest.starts_with(|first: char| first.is_ascii_digit());
    let found = fs::read_dir(folder)
        .map_err(|error| format!("{}: {error}", folder.display()))?
        .filter_map(Result::ok)
        .find(|entry| {
            let entry = entry.file_name();
            let entry = entry.to_string_lossy();
            let rest = entry.strip_prefix(name).and_then(|rest| rest.strip_prefix('-'));
            rest.is_some_and(is_time)
        })
        .ok_or("it left no results: it did not run to its end")?;
    let path = found.path().join("checks.json");
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    parse(&text).map_err(|why| format!("{}: {why}", path.display()))
}

/// The fields of a check that were read so far.
#[derive(Default)]
struct Fields {
    id: Option<String>,
    status: Option<Status>,
    error: Option<String>,
    description: String,
}

impl Fields {
    fn into_check(self) -> Option<Check> {
        Some(Check {
            id: self.id?,
            status: self.status?,
            message: self.error.unwrap_or(self.description),
        })
    }
}

fn parse(text: &str) -> Result<Vec<Check>, String> {
    let mut checks: Vec<Check> = Vec::new();
    let mut open: Option<Fields> = None;
    for line in text.lines() {
        match line {
            "  {" => open = Some(Fields::default()),
            "  }" | "  }," => {
                let check = open.take().and_then(Fields::into_check);
                checks.push(check.ok_or_else(|| format!("check {} has no id or status", checks.len() + 1))?);
            }
            _ => {
                let (Some(check), Some((name, value))) = (&mut open, field(line)) else {
                    continue;
                };
                match name {
                    "id" => check.id = Some(value.to_owned()),
                    "status" => check.status = Some(status(value)?),
                    "errorMessage" => check.error = Some(value.to_owned()),
                    "description" => value.clone_into(&mut check.description),
                    _ => {}
                }
            }
        }
    }
    Ok(checks)
}

/// Name and text of a field of a check itself.
fn field(line: &str) -> Option<(&str, &str)> {
    let line = line.strip_prefix("    \"")?;
    let (name, value) = line.split_once("\": \"")?;
    let value = value.strip_suffix(',').unwrap_or(value);
    Some((name, value.strip_suffix('"')?))
}

fn status(name: &str) -> Result<Status, String> {
    Ok(match name {
        "SUCCESS" => Status::Success,
        "FAILURE" => Status::Failure,
        "WARNING" => Status::Warning,
        "SKIPPED" => Status::Skipped,
        "INFO" => Status::Info,
        other => return Err(format!("the status {other:?} is not known")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"[
  {
    "id": "tools-list",
    "name": "ToolsList",
    "description": "there is a list",
    "status": "SUCCESS",
    "specReferences": [
      {
        "id": "MCP-Tools",
        "url": "https://example.org"
      }
    ],
    "details": {
      "status": "FAILURE"
    }
  },
  {
    "id": "order",
    "description": "the list has an order",
    "status": "WARNING",
    "errorMessage": "it \"changed\",",
    "details": {}
  }
]"#;

    #[test]
    fn only_the_fields_of_a_check_itself_count() {
        let checks = parse(TEXT).expect("the text is a list of checks");
        let found: Vec<_> = checks
            .iter()
            .map(|check| (check.id.as_str(), check.status, check.message.as_str()))
            .collect();
        assert_eq!(
            found,
            [
                ("tools-list", Status::Success, "there is a list"),
                ("order", Status::Warning, r#"it \"changed\","#)
            ]
        );
    }

    #[test]
    fn a_remark_is_told_from_a_message_that_is_only_shown() {
        let check = |id: &str, status| Check {
            id: id.to_owned(),
            status,
            message: String::new(),
        };
        assert!(check("incoming-sse-event", Status::Info).is_traffic());
        assert!(!check("incoming-sse-event", Status::Failure).is_traffic());
        assert!(!check("server-sse-disconnect-resume", Status::Info).is_traffic());
    }

    #[test]
    fn a_check_without_a_status_or_with_an_unknown_one_is_no_result() {
        assert!(parse("[\n  {\n    \"id\": \"a\"\n  }\n]").is_err());
        assert!(parse("[\n  {\n    \"id\": \"a\",\n    \"status\": \"MAYBE\"\n  }\n]").is_err());
        assert_eq!(parse("[]"), Ok(vec![]));
    }
}
