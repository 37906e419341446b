//! Public names: what a model calls a tool, unique across all servers.
//!
//! A tool's public name is `server__tool`, after the id its server has in the configuration: never after what the
//! server calls itself, never dependent on which servers there are or which came first. Where that form is too long
//! for the strictest model provider (64 characters of `A-Z a-z 0-9 _ -`), holds other characters, or could be read in
//! two ways, the name is a readable beginning and ten digits of a hash over both names. The two forms never meet:
//! `__` stands in the first only.

use sha2::{Digest, Sha256};

/// Longest public name, in characters.
pub const MAX_NAME: usize = 64;

/// Digits of the hash in a shortened name.
const DIGITS: usize = 10;

/// The public name of a server's tool.
///
/// ```
/// use trunkline_gate::public_name;
/// assert_eq!(public_name("weather", "get_weather"), "weather__get_weather");
/// assert_eq!(public_name("my files", "read.text"), "my_files_read_text_64463b9844");
/// ```
pub fn public_name(server: &str, tool: &str) -> String {
    let plain = format!("{server}__{tool}");
    if plain.len() <= MAX_NAME && is_plain(server) && is_plain(tool) && starts_well(&plain) {
        return plain;
    }
    let mut readable = String::new();
    for c in server.chars().chain("_".chars()).chain(tool.chars()) {
        let c = if is_name_character(c) { c } else { '_' };
        // One underscore at a time, so that no name of this form holds two.
        if c != '_' || !readable.ends_with('_') {
            readable.push(c);
        }
        if readable.len() == MAX_NAME {
            break;
        }
    }
    if !starts_well(&readable) {
        readable.insert(0, '_');
    }
    readable.truncate(MAX_NAME - 1 - DIGITS);
    let readable = readable.trim_end_matches('_');
    let hash = hex(&[server.as_bytes(), b"\0", tool.as_bytes()]);
    format!("{readable}_{}", &hash[..DIGITS])
}

/// The SHA-256 of some parts, each after its length, in lower-case hexadecimal.
pub(crate) fn hex(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    trunkline_journal::hex(&hash.finalize())
}

fn is_name_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// Whether the middle of `server__tool` can be found again: no part holds `__` or lends it an underscore.
fn is_plain(part: &str) -> bool {
    let edges = part.starts_with('_') || part.ends_with('_');
    !part.is_empty() && !edges && !part.contains("__") && part.chars().all(is_name_character)
}

/// Some providers want a letter or an underscore first.
fn starts_well(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn check(name: &str) {
        assert!((1..=MAX_NAME).contains(&name.len()), "{name}");
        assert!(name.chars().all(is_name_character) && starts_well(name), "{name}");
    }

    #[test]
    fn ordinary_names_are_kept_readable() {
        assert_eq!(public_name("orders", "count_orders"), "orders__count_orders");
        assert_eq!(public_name("a-b", "C"), "a-b__C");
    }

    #[test]
    fn pairs_that_look_alike_get_names_of_their_own() {
        let pairs = [
            ("a", "b__c"),
            ("a__b", "c"),
            ("a_", "_b"),
            ("a", "__b"),
            ("a__", "b"),
            ("a", "b"),
            ("a b", "c"),
            ("a.b", "c"),
            ("a_b", "c"),
            ("날씨", "보기"),
            ("주문", "보기"),
            ("", ""),
            ("", "x"),
            ("x", ""),
            ("7", "up"),
            ("_7", "up"),
            ("A", "b"),
        ];
        let long = "x".repeat(200);
        let mut names = BTreeSet::new();
        for (server, tool) in pairs
            .into_iter()
            .chain([(long.as_str(), "a"), (&long, "b"), ("a", &long)])
        {
            let name = public_name(server, tool);
            check(&name);
            assert!(names.insert(name.clone()), "{name} is taken");
        }
    }

    #[test]
    fn a_name_of_the_hashed_form_cannot_be_forged_by_a_plain_one() {
        let hashed = public_name("my files", "read");
        assert!(!hashed.contains("__"), "{hashed}");
        let (left, right) = hashed.split_once('_').unwrap();
        assert_ne!(public_name(left, right), hashed);
    }

    #[test]
    fn the_length_is_the_limit_and_not_less() {
        let server = "s".repeat(20);
        let fits = "t".repeat(MAX_NAME - 22);
        assert_eq!(public_name(&server, &fits).len(), MAX_NAME);
        assert!(public_name(&server, &fits).contains("__"));
        let over = "t".repeat(MAX_NAME - 21);
        assert!(!public_name(&server, &over).contains("__"));
        check(&public_name(&server, &over));
    }
}
