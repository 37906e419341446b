//! The tables of `docs/performance.md`, each between two markers.

use std::fs;
use std::path::PathBuf;

use crate::output;
use crate::place;

fn page() -> PathBuf {
    place::root().join("docs/performance.md")
}

/// Puts what was measured between the markers of its part.
pub(super) fn write(part: &str, facts: &str, measured: &str) -> Result<(), String> {
    let page = page();
    let shown = place::shown(&page);
    let text = fs::read_to_string(&page).map_err(|error| format!("{shown} cannot be read: {error}"))?;
    let new = replace(&text, part, &format!("{facts}\n\n{}", measured.trim_end()))
        .ok_or_else(|| format!("{shown} has no markers for `{part}`"))?;
    fs::write(&page, new).map_err(|error| format!("{shown} cannot be written: {error}"))?;
    output::progress(&format!("{part}: written into {shown}"));
    Ok(())
}

fn replace(text: &str, part: &str, with: &str) -> Option<String> {
    let (begin, end) = (format!("<!-- bench {part} -->"), format!("<!-- end of {part} -->"));
    let (before, rest) = text.split_once(&begin)?;
    let (_, after) = rest.split_once(&end)?;
    Some(format!("{before}{begin}\n{with}\n{end}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::PARTS;

    #[test]
    fn only_what_stands_between_the_markers_is_replaced() {
        let text = "a\n<!-- bench x -->\nold\n<!-- end of x -->\nb";
        let new = "a\n<!-- bench x -->\nnew\n<!-- end of x -->\nb";
        assert_eq!(replace(text, "x", "new").as_deref(), Some(new));
        assert_eq!(replace(new, "x", "new").as_deref(), Some(new));
        assert_eq!(replace(text, "y", "new"), None);
    }

    #[test]
    fn the_page_has_markers_for_every_part() {
        let text = fs::read_to_string(page()).expect("the page is committed");
        for part in PARTS.iter().map(|part| part.name).chain(["instructions"]) {
            assert!(replace(&text, part, "").is_some(), "no markers for {part}");
        }
    }
}
