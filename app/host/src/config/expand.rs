//! `${VARIABLE}` inside of values.

/// Where variables come from.
pub(super) trait Variables {
    fn get(&self, name: &str) -> Option<String>;
}

impl<F: Fn(&str) -> Option<String>> Variables for F {
    fn get(&self, name: &str) -> Option<String> {
        self(name)
    }
}

/// Replaces `${NAME}`, `${NAME:-default}`, `${env:NAME}`, `${userHome}` and `${workspaceFolder}`. What was put in from a
/// variable is added to `secrets`. A `$` without a brace is left alone. Messages never quote the text itself: it may be a
/// secret that happens to hold a `${`.
pub(super) fn expand(text: &str, variables: &dyn Variables, secrets: &mut Vec<String>) -> Result<String, String> {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        expanded.push_str(&rest[..start]);
        let inside = &rest[start + 2..];
        let Some(end) = inside.find('}') else {
            return Err("holds `${` without `}` behind it".to_owned());
        };
        expanded.push_str(&value(&inside[..end], variables, secrets)?);
        rest = &inside[end + 1..];
    }
    expanded.push_str(rest);
    Ok(expanded)
}

fn value(inside: &str, variables: &dyn Variables, secrets: &mut Vec<String>) -> Result<String, String> {
    match inside {
        "userHome" => return variables.get("HOME").ok_or_else(|| unset("HOME")),
        "workspaceFolder" => return here(),
        _ => {}
    }
    let (name, default) = match inside.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inside, None),
    };
    let name = name.strip_prefix("env:").unwrap_or(name);
    if let Some(id) = name.strip_prefix("input:") {
        return Err(format!(
            "asks for an input, which only an editor can show; put the value into an environment variable and write its \
             name, for example `${{{}}}`",
            variable_name(id)
        ));
    }
    if !is_name(name) {
        return Err("holds a `${…}` around something that is not the name of a variable".to_owned());
    }
    match (variables.get(name), default) {
        (Some(value), Some(default)) if value.is_empty() => Ok(default.to_owned()),
        (Some(value), _) => {
            // Line ends that a value was given are not part of the secret.
            secrets.push(value.trim().to_owned());
            Ok(value)
        }
        (None, Some(default)) => Ok(default.to_owned()),
        (None, None) => Err(unset(name)),
    }
}

fn unset(name: &str) -> String {
    format!("needs the environment variable {name}, which is not set; set it, or write `${{{name}:-default}}`")
}

fn here() -> Result<String, String> {
    let folder = std::env::current_dir().map_err(|error| format!("needs the working folder: {error}"))?;
    Ok(folder.to_string_lossy().into_owned())
}

fn is_name(name: &str) -> bool {
    let mut characters = name.chars();
    characters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && characters.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn variable_name(id: &str) -> String {
    id.chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_uppercase()
            } else {
                '_'
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(text: &str) -> Result<String, String> {
        let variables = |name: &str| match name {
            "TOKEN" => Some("abc".to_owned()),
            "EMPTY" => Some(String::new()),
            "HOME" => Some("/home/kim".to_owned()),
            _ => None,
        };
        expand(text, &variables, &mut Vec::new())
    }

    #[test]
    fn variables_are_replaced() {
        for (text, wanted) in [
            ("plain $TOKEN $", "plain $TOKEN $"),
            ("a${TOKEN}b${TOKEN}", "aabcbabc"),
            ("${env:TOKEN}", "abc"),
            ("${NONE:-x:-y}", "x:-y"),
            ("${NONE:-}", ""),
            ("${TOKEN:-x}", "abc"),
            ("${EMPTY:-x}", "x"),
            ("${EMPTY}", ""),
            ("${userHome}/x", "/home/kim/x"),
        ] {
            assert_eq!(expanded(text).as_deref(), Ok(wanted), "{text}");
        }
        assert!(!expanded("${workspaceFolder}").unwrap().is_empty());
    }

    #[test]
    fn what_cannot_be_replaced_is_named_with_what_to_do() {
        assert!(expanded("x${NONE}").unwrap_err().contains("NONE, which is not set"));
        assert!(expanded("${TOKEN").unwrap_err().contains("without"));
        assert!(expanded("${input:api-key}").unwrap_err().contains("${API_KEY}"));
        for wrong in ["${}", "${a b}", "${1x}", "${:-x}"] {
            assert!(expanded(wrong).unwrap_err().contains("not the name"), "{wrong}");
        }
    }

    #[test]
    fn a_message_never_quotes_the_value() {
        for text in ["hunter2${X", "${hunter2 x}", "hunter2${NONE}", "hunter2${input:key}"] {
            let error = expanded(text).unwrap_err();
            assert!(!error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn a_value_is_not_expanded_again_and_counts_as_secret() {
        let mut secrets = Vec::new();
        let variables = |_: &str| Some("${OTHER}".to_owned());
        assert_eq!(expand("${X}", &variables, &mut secrets).unwrap(), "${OTHER}");
        assert_eq!(secrets, ["${OTHER}"]);
    }
}
