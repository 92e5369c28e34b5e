use super::{Findings, Rule, Subject};
use crate::card::findings::quote;
use crate::card::{Code, Dialect};

/// A version is semantic where a dialect says so.
pub(super) struct Version;

impl Rule for Version {
    fn check(&self, subject: &Subject<'_, '_>, findings: &mut Findings) {
        let code = if subject.is(Dialect::ConcordiumLegacy) {
            Code::VersionNotSemver
        } else if subject.is(Dialect::Uumit) {
            Code::VersionUnusual
        } else {
            return;
        };
        let Some((node, text)) = subject.root.get("version").and_then(|node| Some((node, node.as_str()?))) else {
            return;
        };
        if text.trim().is_empty() {
            return;
        }
        if let Err(error) = semver::Version::parse(&shortened(text)) {
            findings.add(code, node.span.start, || format!("{} is not a semantic version such as 1.0.0: {error}.", quote(text)));
        }
    }
}

/// The version with its three numbers cut to what fits in 64 bits: semver.org gives them no limit, and their size does not decide
/// whether the version is one.
fn shortened(text: &str) -> String {
    const DIGITS: usize = 18;
    let (numbers, rest) = text.split_at(text.find(['-', '+']).unwrap_or(text.len()));
    let numbers: Vec<&str> = numbers
        .split('.')
        .map(|number| match number.get(..DIGITS) {
            Some(first) if number.bytes().all(|digit| digit.is_ascii_digit()) => first,
            _ => number,
        })
        .collect();
    numbers.join(".") + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_a_version_have_no_limit() {
        let is_version = |text: &str| semver::Version::parse(&shortened(text)).is_ok();
        let long = "9".repeat(40);
        for text in ["1.0.0", "99999999999999999999.0.0", &format!("{long}.{long}.{long}-{long}.a+{long}"), "1.0.0-0.3.7"] {
            assert!(is_version(text), "{text}");
        }
        for text in
            [&format!("0{long}.0.0"), &format!("{long}.0"), &format!("{long}x.0.0"), "1.0", "v1.0.0", "1.0.0-01", "1.0.-0"]
        {
            assert!(!is_version(text), "{text}");
        }
    }
}
