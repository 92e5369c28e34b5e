//! Characters that nobody sees, and which of them a text needs all the same.

/// The first character of a text that hides in it: one that is not shown and joins, varies or colours nothing.
///
/// Not among them are what real texts need: the joiners of emoji and of the scripts whose letters join, the selectors behind the
/// character whose picture they choose, the flags that are spelt in tags. Controls and the directions of writing are another matter.
pub(crate) fn hidden(text: &str) -> Option<char> {
    let mut before: Option<char> = None;
    let mut flags = FLAGS.iter().filter(|flag| text.contains(**flag)).peekable();
    // Nearly every text has none of the flags.
    let without_flags = flags.peek().is_some().then(|| flags.fold(text.to_owned(), |text, flag| text.replace(flag, "\u{1f3f4}")));
    for c in without_flags.as_deref().unwrap_or(text).chars() {
        let hides = match c {
            c if c.is_ascii() => false,
            '\u{200c}' | '\u{200d}' => !before.is_some_and(joins),
            '\u{fe00}'..='\u{fe0f}' => !before.is_some_and(varies),
            // Variants of ideographs.
            '\u{e0100}'..='\u{e01ef}' => !before.is_some_and(|before| before >= '\u{2e80}' && !is_invisible(before)),
            c => is_invisible(c),
        };
        if hides {
            return Some(c);
        }
        before = Some(c);
    }
    None
}

/// The flags of England, Scotland and Wales: the only ones in tags that Unicode recommends (UTS 51, annex C).
const FLAGS: [&str; 3] = [
    "\u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
    "\u{1f3f4}\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
    "\u{1f3f4}\u{e0067}\u{e0062}\u{e0077}\u{e006c}\u{e0073}\u{e007f}",
];

/// Whether a joiner behind this character may do something: it is an emoji, or of a script whose letters join (all stand behind Hebrew
/// in Unicode).
fn joins(before: char) -> bool {
    before >= '\u{590}' && (!is_invisible(before) || matches!(before, '\u{fe00}'..='\u{fe0f}'))
}

/// Whether a variation selector behind this character chooses a picture: keys such as `#` have some too.
fn varies(before: char) -> bool {
    matches!(before, '#' | '*' | '0'..='9') || (!before.is_ascii() && !is_invisible(before))
}

/// Whether a character shows nothing (those that Unicode says to ignore by default, and blanks that count as letters), but for the marks
/// of direction that real texts in two directions need.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180e}' | '\u{200b}'..='\u{200d}'
        | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hides_in_a_text_is_found() {
        for (text, found) in [
            ("Pay\u{200b}Pal", '\u{200b}'),
            ("\u{feff}Agent", '\u{feff}'),
            ("Ag\u{ad}ent", '\u{ad}'),
            ("Agent\u{3164}", '\u{3164}'),
            ("Agent\u{e0041}\u{e0042}", '\u{e0041}'),
            ("a\u{200d}b", '\u{200d}'),
            ("\u{200c}a", '\u{200c}'),
            ("\u{1f468}\u{200d}\u{200d}", '\u{200d}'),
            ("Agent\u{fe0f}", '\u{fe0f}'),
            ("\u{1f600}\u{fe0f}\u{fe01}", '\u{fe01}'),
            ("\u{1f600}\u{e0100}\u{e0101}", '\u{e0101}'),
            ("\u{1f3f4}\u{e0068}\u{e0069}\u{e007f}", '\u{e0068}'),
            ("a\u{2060}b", '\u{2060}'),
            ("a\u{34f}b", '\u{34f}'),
        ] {
            assert_eq!(hidden(text), Some(found), "{}", text.escape_unicode());
        }
    }

    #[test]
    fn what_real_texts_need_is_left_alone() {
        for text in [
            "Agent",
            "Zeile eins\n\nיום 2\u{200f}",
            "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}",
            "\u{1f469}\u{1f3fd}\u{200d}\u{1f4bb}",
            "\u{1f3f3}\u{fe0f}\u{200d}\u{1f308}",
            "#\u{fe0f}\u{20e3} \u{2764}\u{fe0f}",
            "\u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f} England",
            "می\u{200c}خواهم",
            "क्\u{200d}ष",
            "葛\u{e0100}城",
        ] {
            assert_eq!(hidden(text), None, "{}", text.escape_unicode());
        }
    }
}
