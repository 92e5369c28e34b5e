//! What to think twice about before a card is anchored. Nothing here refuses: whose card it is decides.

use cardproof::anchor::flow::{has_placeholder, placeholder_in};
use cardproof::card::{lint, Code, Document, Finding, LintContext, Node, Severity};
use cardproof::fetch::Fetcher;

use super::shell::Shell;

/// Warns of a card that readers could not use.
pub(crate) fn warn(card: &[u8], shell: &Shell) {
    misgivings(card).iter().for_each(|misgiving| shell.warning(misgiving));
}

/// Warns of a URI that a verifier with these settings would refuse to fetch.
pub(crate) fn warn_of_uri(fetcher: &Fetcher, uri: &str, shell: &Shell) {
    if let Err(failure) = fetcher.judge(uri) {
        shell.warning(&format!("verifiers will not fetch {uri}: {failure}"));
    }
}

/// Warns of a URI that is not written as the standard wants it: every program mends that in its own way, or not at all.
pub(crate) fn warn_of_spelling(uri: &str, shell: &Shell) {
    if let Some(what) = misspelling(uri) {
        shell.warning(&format!("the URI {uri} contains {what} (RFC 3986): other programs may fetch something else, or nothing"));
    }
}

/// What in a URI may not stand there as it is. A `data:` URI is its own content, and read by nobody in another way.
fn misspelling(uri: &str) -> Option<String> {
    if uri.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:")) {
        return None;
    }
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-._~:/?#[]@!$&'()*+,;=%".contains(c);
    if let Some(c) = uri.chars().find(|&c| !is_allowed(c)) {
        let encoded: String = c.to_string().bytes().map(|byte| format!("%{byte:02X}")).collect();
        let name = if c == ' ' { "a space".to_owned() } else { format!("the character {c}") };
        return Some(format!("{name}, which must be written as {encoded}"));
    }
    let is_escape = |rest: &str| rest.bytes().take(2).filter(u8::is_ascii_hexdigit).count() == 2;
    uri.match_indices('%')
        .any(|(at, _)| !uri.get(at + 1..).is_some_and(is_escape))
        .then(|| "a % that no two hexadecimal digits follow".to_owned())
}

/// One sentence for each kind of fault.
fn misgivings(card: &[u8]) -> Vec<String> {
    let document = Document::parse(card);
    let findings = lint(&document, &LintContext::default()).findings;
    let said = |finding: &Finding| format!("{} ({}, line {})", finding.message, finding.code, finding.line);
    if document.root().and_then(Node::as_object).is_none() {
        let text = card.strip_prefix(b"\xef\xbb\xbf").unwrap_or(card);
        if text.trim_ascii_start().starts_with(b"<") {
            return vec!["the card is an HTML page or another markup, not JSON: nobody could read it as a card".into()];
        }
        let why = findings
            .iter()
            .max_by_key(|finding| finding.severity)
            .map(|finding| format!(": {}", said(finding)))
            .unwrap_or_default();
        return vec![format!("the card is not a JSON object{why}")];
    }
    let mut misgivings = Vec::new();
    let unfilled = findings.iter().find(|finding| finding.code == Code::Placeholder);
    match unfilled {
        Some(finding) => misgivings.push(format!("a placeholder in the card is not filled in: {}", said(finding))),
        None if has_placeholder(card) => {
            misgivings.push("a placeholder such as {{badge}} in the card is not filled in: register --two-step does that".into());
        }
        None => {
            let text = String::from_utf8_lossy(card);
            misgivings.extend(placeholder_in(&text).map(|name| {
                format!("{name} in the card looks like a placeholder that was not filled in, and is none that cardproof knows")
            }));
        }
    }
    let is_error = |finding: &&Finding| finding.severity == Severity::Error && finding.code != Code::Placeholder;
    let errors: Vec<&Finding> = findings.iter().filter(is_error).collect();
    if let Some(first) = errors.first() {
        let count = match errors.len() {
            1 => "an error".into(),
            many => format!("{many} errors, the first of which is"),
        };
        misgivings.push(format!("a lint of the card finds {count}: {}; cardproof card lint shows everything", said(first)));
    }
    misgivings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_that_is_not_spelled_as_the_standard_wants_is_noticed() {
        for (uri, says) in [
            ("https://a.example/my card.json", "a space, which must be written as %20"),
            ("https://a.example/<card>.json", "the character <, which must be written as %3C"),
            ("https://a.example/\"", "%22"),
            ("https://a.example/\u{e9}", "%C3%A9"),
            ("https://a.example/%zz", "a % that no two"),
            ("https://a.example/%4", "a % that no two"),
            ("https://a.example/%", "a % that no two"),
        ] {
            assert!(misspelling(uri).is_some_and(|what| what.contains(says)), "{uri}: {:?}", misspelling(uri));
        }
        for uri in
            ["https://a.example:8000/~a/(b)/c%20d?e=f&g=h;i#j", "https://[::1]/c", "data:application/json,{\"a b\": \"%zz\"}"]
        {
            assert_eq!(misspelling(uri), None, "{uri}");
        }
    }

    #[test]
    fn each_kind_of_fault_is_one_sentence() {
        let good = std::fs::read("tests/cards/combined.json").unwrap();
        assert_eq!(misgivings(&good), [] as [String; 0]);
        for (card, says) in [
            (&b"<!DOCTYPE html><html></html>"[..], &["HTML"][..]),
            (b"\xef\xbb\xbf\n<html>", &["HTML"]),
            (b"{\"name\": ", &["not a JSON object"]),
            (b"[]", &["not a JSON object"]),
            (b"", &["not a JSON object"]),
            (b"{\"token\": \"{{badge}}\"}", &["{{badge}}", "unknown_dialect"]),
            (b"{\"token\": \"{{ token_id }}\"}", &["{{ token_id }}", "unknown_dialect"]),
            (b"{\"url\": \"\", \"name\": 3}", &["errors, the first of which is"]),
        ] {
            let found = misgivings(card);
            assert_eq!(found.len(), says.len(), "{found:?}");
            assert!(found.iter().zip(says).all(|(found, says)| found.contains(says)), "{found:?} {says:?}");
        }
    }
}
