use super::{Findings, Role, Rule, Subject};
use crate::card::findings::quote;
use crate::card::Code;

/// The colours of a theme are hexadecimal.
pub(super) struct Colour;

impl Rule for Colour {
    fn check(&self, subject: &Subject<'_, '_>, findings: &mut Findings) {
        for (offset, text) in subject.texts(|role| role == Role::Colour) {
            let digits = text.strip_prefix('#').unwrap_or_default();
            if ![3, 4, 6, 8].contains(&digits.len()) || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                findings.add(Code::InvalidColour, offset, || format!("{} is not a colour such as #6366f1.", quote(text)));
            }
        }
    }
}
