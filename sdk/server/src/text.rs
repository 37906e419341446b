//! Text of a peer's inside of a message of ours.

/// Cuts it to a length that stays readable.
pub(crate) fn clip(text: &str) -> String {
    const MOST: usize = 120;
    if text.chars().count() <= MOST {
        text.to_owned()
    } else {
        text.chars().take(MOST).chain("…".chars()).collect()
    }
}
