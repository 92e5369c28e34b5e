use std::collections::HashSet;

use super::{uri, Findings, Role, Rule, Subject};
use crate::card::findings::quote;
use crate::card::{Code, Dialect};

/// URIs have schemes that a card's readers understand, and none that acts on whoever follows it.
pub(super) struct UriScheme;

/// What the `url` of a card may be, by dialect.
const ALLOWED: &[(Dialect, &[&str])] = &[
    (Dialect::ConcordiumLegacy, &["https", "http", "ipfs", "data"]),
    (Dialect::SocietyAi, &["https", "http", "ws-agent"]),
    (Dialect::Uumit, &["https", "http"]),
];

/// Schemes that run a program in, or read a file of, whoever follows the link.
const UNSAFE: &[&str] = &["javascript", "vbscript", "file", "blob", "filesystem", "view-source"];

/// Media types of documents that may hold a program.
const ACTIVE: &[&str] = &["text/html", "application/xhtml+xml", "image/svg+xml", "text/xml", "application/xml"];

/// Where a URI belongs, and not a name of any kind, these are what real cards hold.
const USUAL: &[&str] =
    &["https", "http", "wss", "ws", "grpcs", "grpc", "ws-agent", "ipfs", "ipns", "ar", "data", "eip155", "did", "ccd", "mailto"];

impl Rule for UriScheme {
    fn check(&self, subject: &Subject<'_, '_>, findings: &mut Findings) {
        let mut told = HashSet::new();
        for (offset, text) in subject.texts(Role::is_address) {
            if let Some(scheme) = unsafe_scheme(text).filter(|_| told.insert(offset)) {
                findings.add(Code::UriScheme, offset, || {
                    format!("{} has the scheme {scheme}, which no card may send its readers to.", quote(text))
                });
            }
        }
        for site in subject.sites.iter().filter(|site| site.role.is_address()) {
            let Some(media_type) = site.node.as_str().and_then(data_media_type) else { continue };
            let why = match site.role {
                Role::Page => "where a link belongs that people follow",
                Role::Picture if !media_type.starts_with("image/") => "where a picture belongs",
                Role::Picture => continue,
                _ if ACTIVE.contains(&media_type.as_str()) => "which can run a program in whoever opens it",
                _ => continue,
            };
            let offset = site.node.span.start;
            if told.insert(offset) {
                findings
                    .add(Code::UriScheme, offset, || format!("This is a data: URI of the type {}, {why}.", quote(&media_type)));
            }
        }
        if let Some((offset, text)) = subject.root.get("url").and_then(|node| Some((node.span.start, node.as_str()?))) {
            let Ok(url) = uri::parse(text) else {
                return check_usual(subject, &told, findings);
            };
            let not_by = |(dialect, schemes): &&(Dialect, &[&str])| subject.is(*dialect) && !schemes.contains(&url.scheme());
            if let Some((dialect, schemes)) = ALLOWED.iter().find(not_by).filter(|_| told.insert(offset)) {
                findings.add(Code::UriScheme, offset, || {
                    format!("{} has the scheme {}, where {dialect} allows {}.", quote(text), url.scheme(), schemes.join(", "))
                });
            }
        }
        check_usual(subject, &told, findings);
    }
}

/// Tells of schemes that may well be a slip of the pen.
fn check_usual(subject: &Subject<'_, '_>, told: &HashSet<usize>, findings: &mut Findings) {
    for (offset, text) in subject.texts(Role::is_uri).filter(|(offset, _)| !told.contains(offset)) {
        if let Some(url) = uri::parse(text).ok().filter(|url| !USUAL.contains(&url.scheme())) {
            findings.add(Code::UriSchemeUnusual, offset, || {
                format!("{} has the scheme {}, which readers of cards rarely understand.", quote(text), url.scheme())
            });
        }
    }
}

/// The unsafe scheme of a text, read as browsers do: without the blanks before it and the line breaks and tabs within.
fn unsafe_scheme(text: &str) -> Option<&'static str> {
    let (scheme, rest) = text.trim_start().split_once(':')?;
    let scheme: String = scheme.chars().filter(|c| !matches!(c, '\t' | '\n' | '\r')).collect();
    let found = UNSAFE.iter().find(|known| known.eq_ignore_ascii_case(&scheme))?;
    // A sentence may start with such a word: "file: see the documentation".
    (matches!(*found, "javascript" | "vbscript") || !rest.contains(char::is_whitespace)).then_some(found)
}

/// The media type of a `data:` URI in lower case, read as browsers read it; `None` when the text is none.
fn data_media_type(text: &str) -> Option<String> {
    // What a picture holds is long, and its type stands at the beginning.
    let start: String = text.trim_start().chars().filter(|c| !matches!(c, '\t' | '\n' | '\r')).take(100).collect();
    let (scheme, rest) = start.split_once(':')?;
    let media_type = rest.split([';', ',']).next().unwrap_or_default().trim().to_ascii_lowercase();
    let media_type = if media_type.is_empty() { "text/plain".into() } else { media_type };
    scheme.eq_ignore_ascii_case("data").then_some(media_type)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_type_of_a_data_uri_is_read_as_browsers_read_it() {
        for (text, media_type) in [
            ("data:text/html,<b>", "text/html"),
            (" DATA:Text/HTML;charset=utf-8,x", "text/html"),
            ("da\nta:text/\thtml,x", "text/html"),
            ("data:,x", "text/plain"),
            ("data:image/png;base64,AA==", "image/png"),
        ] {
            assert_eq!(data_media_type(text).as_deref(), Some(media_type), "{text}");
        }
        assert_eq!(data_media_type("https://a.example/data:text/html,"), None);
    }

    #[test]
    fn a_scheme_in_disguise_is_seen_through_and_names_of_other_kinds_are_left_alone() {
        for text in ["javascript:alert(1)", " JavaScript:alert('a b')", "java\nscript:x", "file:///etc/passwd", "FILE:a"] {
            assert!(unsafe_scheme(text).is_some(), "{text}");
        }
        for text in ["https://a.example", "eip155:1:0xab", "did:web:a", "agent.eth", "stdio", "file: see the docs", "profile:x"] {
            assert_eq!(unsafe_scheme(text), None, "{text}");
        }
    }
}
