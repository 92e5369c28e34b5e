/// A character that does something instead of being seen, such as a control character or one that turns the text around.
fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Foreign text for people: what could not be seen is shown as the replacement character. It is not escaped.
pub(super) fn seen(text: &str) -> String {
    text.chars().map(|c| if is_unseen(c) { '\u{fffd}' } else { c }).collect()
}

/// Foreign text for XML, which has no place for some characters even when they are escaped (XML 1.0, production 2, "Char"): one of them
/// would make the whole document unreadable. They become the replacement character.
pub(super) fn in_xml(text: &str) -> String {
    let has_place = |c| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..='\u{10ffff}');
    text.chars().map(|c| if has_place(c) { c } else { '\u{fffd}' }).collect()
}
