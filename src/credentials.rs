//! Saying something about a URL without saying the password in it.

use std::borrow::Cow;

/// What stands in the place of a user name and password.
const MASK: &str = "***";

/// A text, its URLs without the user names and passwords in them: `http://***@host/` for `http://me:secret@host/`.
///
/// For everything that is said about a URL: errors, warnings, logs (fetching facts, 13). It works on the text and asks no parser, because
/// the URLs that are complained of are often ones that no parser reads.
pub fn without_credentials(text: &str) -> Cow<'_, str> {
    let mut masked = String::new();
    let mut copied = 0;
    let mut searched = 0;
    // Where the URL ends that is being looked at: only a whole URL within it is one.
    let mut inside = 0;
    while let Some(found) = text.get(searched..).and_then(|rest| rest.find(':')) {
        let colon = searched + found;
        searched = colon + 1;
        let Some(after) = text.get(searched..) else { break };
        // Browsers take one slash, three, or a backslash for two, and pass over tabs. Where there are not two, this is a URL only behind a
        // scheme that is well known, and a path otherwise.
        let slashes = after.len() - after.trim_start_matches(['/', '\\', '\t']).len();
        if slashes < 2 && (colon < inside || !has_known_scheme(text.get(..colon).unwrap_or_default())) {
            continue;
        }
        let start = searched + slashes;
        let Some(authority) = text.get(start..) else { break };
        let Some(length) = credentials(authority) else {
            inside = inside.max(start + word(authority).len());
            continue;
        };
        masked.push_str(text.get(copied..start).unwrap_or_default());
        masked.push_str(MASK);
        copied = start + length;
        searched = copied;
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    masked.push_str(text.get(copied..).unwrap_or_default());
    Cow::Owned(masked)
}

fn has_known_scheme(before: &str) -> bool {
    let scheme = before.rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    ["http", "https", "ws", "wss", "ftp", "postgres", "postgresql"].iter().any(|known| known.eq_ignore_ascii_case(scheme))
}

/// How many bytes the user name and password at the start of a URL's authority take up, the @ not counted.
fn credentials(authority: &str) -> Option<usize> {
    const AT: [char; 2] = ['@', '＠'];
    let word = word(authority);
    let end = word.find(['/', '?', '#', '\\']).unwrap_or(word.len());
    let (host, _) = word.split_at(end);
    if let Some(at) = host.rfind(AT) {
        return Some(at);
    }
    // A password with a slash, a blank or a quote in it that nobody encoded: what looks like a port is no number.
    let port = host.rsplit_once(':').filter(|(name, _)| !name.starts_with('[')).map(|(_, port)| port)?;
    if port.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let line = authority.lines().next().unwrap_or_default();
    word.rfind(AT).or_else(|| line.find(AT))
}

fn word(text: &str) -> &str {
    text.split(|c: char| c.is_whitespace() || matches!(c, '"' | '<' | '>')).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_name_and_a_password_are_never_said() {
        for (text, said) in [
            ("https://u:s3cret@a.example/x", "https://***@a.example/x"),
            ("HTTP://s3cret@a.example", "HTTP://***@a.example"),
            ("http://u:s3c@ret@a.example?q=1", "http://***@a.example?q=1"),
            ("https:u:s3cret@a.example", "https:***@a.example"),
            ("https:///u:s3cret@a.example/", "https:///***@a.example/"),
            ("https:\\\\u:s3cret@a.example", "https:\\\\***@a.example"),
            ("http://u:s3/cret@a.example/x", "http://***@a.example/x"),
            ("from http://u:s3cret@a.example to ftp://s3cret@b.example.", "from http://***@a.example to ftp://***@b.example."),
            ("\"postgres://u:s3cret@db/x\": no", "\"postgres://***@db/x\": no"),
            ("https://u:s3cret@[::1]:80/", "https://***@[::1]:80/"),
            ("http://u:s3 cr\"e<t@a.example/x: no", "http://***@a.example/x: no"),
            ("http:\t//u:s3cret@a.example/", "http:\t//***@a.example/"),
            ("http://u:s3cret＠a.example", "http://***＠a.example"),
            ("postgres:u:s3cret@a.example/x", "postgres:***@a.example/x"),
            ("http://a.example/?next=http://u:s3cret@b.example", "http://a.example/?next=http://***@b.example"),
        ] {
            assert_eq!(without_credentials(text), said);
        }
    }

    #[test]
    fn what_holds_no_credentials_stays_as_it_is() {
        for text in [
            "",
            "https://a.example/@name/x?m=a@b.example",
            "https://a.example:8080/@name",
            "https://[::1]:80/@name",
            "http://127.0.0.1:80/x:/a@b.json",
            "ipfs://bafy/x:/@a",
            "http://a.example/a?u=http:@x",
            "d:/cards/me@b.example.json cannot be read",
            "http://a.example is not reached; write to me@b.example",
            "mailto:me@b.example",
            "error: me@b.example",
            "data:text/plain,a@b",
            "ends with: ",
            "é: é/é",
        ] {
            let said = without_credentials(text);
            assert!(matches!(said, Cow::Borrowed(same) if same == text), "{text}: {said}");
        }
    }
}
