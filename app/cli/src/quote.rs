//! A server's words on the terminal: every line of them stands behind a mark, so that none can pass for a line of this
//! program.

/// What stands in front of every line of a server's words.
pub(crate) const MARK: &str = "  | ";

/// Fewest columns that a terminal is taken to have.
const FEWEST: usize = 20;

/// How many columns a text takes at most. Anything beyond ASCII counts as two: how wide it is depends on the terminal,
/// and a line that wraps later than expected would go on without its mark.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

fn columns_of(c: char) -> usize {
    if c.is_ascii() { 1 } else { 2 }
}

/// The beginning of a text that takes at most so many columns.
pub(crate) fn cut(text: &str, columns: usize) -> &str {
    let mut taken = 0;
    let end = text.char_indices().find(|(_, c)| {
        taken += columns_of(*c);
        taken > columns
    });
    end.map_or(text, |(at, _)| &text[..at])
}

/// The text in lines that fit a terminal of so many columns, each behind the mark and with its line end. Lines after the
/// first stand `hang` columns further in. Nothing of the text is left out.
pub(crate) fn quoted(text: &str, columns: usize, hang: usize) -> String {
    // The last column stays free: some terminals wrap as soon as it is written.
    let room = columns.max(FEWEST) - MARK.len() - 1;
    let mut out = String::new();
    let mut rest = text;
    let mut indent = 0;
    loop {
        let line = next_line(rest, room - indent.min(room / 2));
        out.push_str(MARK);
        out.extend(std::iter::repeat_n(' ', indent));
        out.push_str(line.trim_end_matches('\n'));
        out.push('\n');
        rest = &rest[line.len()..];
        if rest.is_empty() {
            return out;
        }
        indent = hang.min(room / 2);
    }
}

/// What of a text fits on one line: up to a line end, or up to the last space that fits, or as much as fits.
fn next_line(text: &str, room: usize) -> &str {
    let whole = text.find('\n').map_or(text, |end| &text[..=end]);
    let fits = cut(whole.trim_end_matches('\n'), room);
    if fits.len() == whole.trim_end_matches('\n').len() {
        return whole;
    }
    let end = fits.rfind(' ').map_or(fits.len(), |space| space + 1);
    &text[..end]
}

/// A text for a line of messages: runs of white space become one space, and lines after the first stand behind the mark.
pub(crate) fn folded(text: &str) -> String {
    let lines = text.trim_end().lines().map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.join(" ")
    });
    lines.collect::<Vec<_>>().join(&format!("\n{MARK}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_stands_behind_the_mark_and_fits() {
        let forged = format!("harmless{}server `bank` would run: look", " ".repeat(72));
        for text in [
            forged.as_str(),
            "first\n\nerror: forged",
            &"x".repeat(500),
            &"날씨".repeat(100),
            "",
        ] {
            for columns in [0, 1, 20, 24, 80] {
                for hang in [0, 3, 50] {
                    let shown = quoted(text, columns, hang);
                    assert!(shown.ends_with('\n'));
                    for line in shown.lines() {
                        assert!(line.starts_with(MARK), "{line:?}");
                        assert!(width(line) < columns.max(FEWEST), "{columns}: {line:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn nothing_is_left_out_and_words_stay_whole_where_they_can() {
        let text = "one two three four five six seven eight nine ten";
        let shown = quoted(text, 24, 0);
        let joined: String = shown.lines().map(|line| &line[MARK.len()..]).collect();
        assert_eq!(joined, text);
        assert!(shown.starts_with("  | one two three four \n"), "{shown}");
    }

    #[test]
    fn a_message_cannot_begin_a_line_of_its_own() {
        assert_eq!(folded("bad\nresult    ok\n"), "bad\n  | result ok");
        assert_eq!(folded("a\u{a0}\u{3000}b"), "a b");
    }

    #[test]
    fn a_text_is_cut_by_columns() {
        assert_eq!((cut("날씨날씨", 5), cut("abc", 3), cut("abc", 0)), ("날씨", "abc", ""));
    }
}
