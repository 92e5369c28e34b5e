use url::Url;

use super::{Findings, Role, Rule, Subject};
use crate::card::findings::quote;
use crate::card::invisible::hidden;
use crate::card::Code;

/// Where a URI belongs stands an absolute one, without a password in it.
pub(super) struct Uri;

impl Rule for Uri {
    fn check(&self, subject: &Subject<'_, '_>, findings: &mut Findings) {
        for (offset, text) in uris(subject) {
            match parse(text) {
                Err(why) => findings.add(Code::InvalidUri, offset, || format!("{} is not an absolute URI: {why}.", quote(text))),
                Ok(url) if url.password().is_some() || !url.username().is_empty() => {
                    // The value itself is not repeated: findings end up in logs.
                    findings.add(Code::UriCredentials, offset, || {
                        "This URI holds a user name or a password, which everybody can read here.".into()
                    });
                }
                Ok(_) => {}
            }
        }
    }
}

/// The texts that are URIs or look like one. An empty one is the schema's finding.
pub(super) fn uris<'s>(subject: &'s Subject<'_, '_>) -> impl Iterator<Item = (usize, &'s str)> + 's {
    // A sentence may start with a URL.
    let links = subject.texts(|role| role == Role::Link).filter(|(_, text)| starts_like_url(text) && !text.contains(' '));
    let endpoints = subject.texts(|role| role == Role::Endpoint).filter(|(_, text)| starts_like_url(text));
    subject.texts(Role::is_uri).chain(endpoints).chain(links).filter(|(_, text)| !text.trim().is_empty())
}

/// Whether a text starts with a scheme and two slashes.
fn starts_like_url(text: &str) -> bool {
    let scheme = text.split_once("://").map_or("", |(scheme, _)| scheme);
    !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}

/// Reads an absolute URI. Browsers forgive what RFC 3986 excludes; a card goes to other programs too.
pub(super) fn parse(text: &str) -> Result<Url, String> {
    // What data: URIs hold in real cards is often written as it is: `data:image/svg+xml;utf8,<svg xmlns="…">`.
    let is_data = text.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:"));
    let excluded = |c: char| c.is_control() || (!is_data && (c.is_whitespace() || "\"<>\\^`{|}".contains(c)));
    // What is not seen in a URI, or shows it in another order, is not what people think they follow.
    let deceives = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let unseen = || if is_data { None } else { text.chars().find(|c| deceives(*c)).or_else(|| hidden(text)) };
    if let Some(c) = text.chars().find(|c| excluded(*c)).or_else(unseen) {
        return Err(format!("the character U+{:04X} does not belong in a URI", u32::from(c)));
    }
    let escapes = text.as_bytes().split(|byte| *byte == b'%').skip(1);
    if !is_data && !escapes.into_iter().all(|rest| matches!(rest, [a, b, ..] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit())) {
        return Err("a percent sign is not followed by two hexadecimal digits".into());
    }
    Url::parse(text).map_err(|error| match error {
        url::ParseError::RelativeUrlWithoutBase => "it does not start with a scheme such as https://".into(),
        other => other.to_string(),
    })
}
