/// How many characters of a text written by a stranger are repeated in a sentence of ours.
const MAX_CHARS: usize = 160;

/// `text` cut to a length that leaves the sentence readable. Control characters stay: whoever prints escapes them.
pub(super) fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_CHARS) {
        Some((cut, _)) => format!("{}…", text.split_at(cut).0),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_cut_between_characters() {
        assert_eq!(shortened("short"), "short");
        let cut = shortened(&"é".repeat(5000));
        assert_eq!(cut.chars().count(), MAX_CHARS + 1);
        assert!(cut.ends_with('…'));
    }
}
