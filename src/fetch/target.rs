use rustls::pki_types::DnsName;
use url::{Host, Url};

use super::address::way_in;
use super::outcome::{FailureKind, FetchFailure, FetchTrace};
use super::port;
use super::resolve::{plain_name, Guard};
use super::settings::FetchSettings;
use super::stop::Stop;
use super::Origin;

/// The longest URI that is read, in bytes. A `data:` URI is its own body, so the limit of a body holds for it instead.
const LONGEST: usize = 4096;

/// What a URI asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Target<'a> {
    /// An `http:` or `https:` URL without credentials and fragment.
    Http(Url),
    /// A `data:` URI as it was written.
    Data(&'a str),
    /// What follows `ipfs://`.
    Ipfs(&'a str),
}

impl<'a> Target<'a> {
    /// Reads a URI, before any work is done for it.
    pub(super) fn of(uri: &'a str, settings: &FetchSettings) -> Result<Self, Stop> {
        check_text(uri)?;
        let Some((scheme, rest)) = split_scheme(uri) else {
            return Err(invalid("the URI has no scheme; a complete one begins with https://"));
        };
        if scheme != "data" && uri.len() > LONGEST {
            return Err(invalid(format!("the URI has {} bytes; at most {LONGEST} are read", uri.len())));
        }
        match scheme.as_str() {
            "https" | "http" => url_of(uri, rest).map(Self::Http),
            "data" => Ok(Self::Data(uri)),
            "ipfs" if settings.ipfs_gateways.is_empty() => {
                Err(unsupported("an ipfs: URI needs a gateway that you choose; name one with --ipfs-gateway"))
            }
            "ipfs" => match rest.strip_prefix("//") {
                Some(path) => Ok(Self::Ipfs(path)),
                None => Err(invalid("an ipfs: URI begins with ipfs:// and the content identifier")),
            },
            _ => Err(unsupported(format!("{} URIs are not fetched; https and data are", shorten(&scheme)))),
        }
    }
}

/// Judges a URI by its text alone, so that one that nobody can fetch is noticed before it is anchored.
///
/// # Errors
/// [`FailureKind::InvalidUri`], and [`FailureKind::UnsupportedScheme`] for a scheme that no setting allows. What is only refused here
/// and now is no error: plain http, an `ipfs:` URI without a gateway, a host.
pub fn check_uri(uri: &str) -> Result<(), FetchFailure> {
    let ipfs = split_scheme(uri).is_some_and(|(scheme, _)| scheme == "ipfs");
    match Target::of(uri, &FetchSettings::default()) {
        Err(stop) if stop.kind == FailureKind::UnsupportedScheme && ipfs => Ok(()),
        Err(stop) => Err(stop.with(FetchTrace::default())),
        Ok(_) => Ok(()),
    }
}

/// The URL that a host is asked for when `uri` is fetched; `None` when none is.
#[cfg(feature = "verify")]
pub(crate) fn asked_url(uri: &str) -> Option<Url> {
    match Target::of(uri, &FetchSettings::default()) {
        Ok(Target::Http(url)) => Some(url),
        _ => None,
    }
}

/// The text itself, before any parser: the WHATWG one silently drops some of these characters.
fn check_text(uri: &str) -> Result<(), Stop> {
    if uri.is_empty() {
        return Err(invalid("the URI is empty"));
    }
    if uri.trim().is_empty() {
        return Err(invalid("the URI is blank"));
    }
    if uri.contains('\0') {
        return Err(invalid("the URI contains a NUL character"));
    }
    if uri.contains(['\n', '\r']) {
        return Err(invalid("the URI contains a line break"));
    }
    if uri.contains(char::is_control) {
        return Err(invalid("the URI contains a control character"));
    }
    if uri.trim() != uri {
        return Err(invalid("the URI begins or ends with white space"));
    }
    Ok(())
}

/// The scheme in lower case (RFC 3986, section 3.1) and what follows the colon. `cards.example:8080/card.json` and
/// `localhost:8000` have none: what stands before their colon is a host.
fn split_scheme(uri: &str) -> Option<(String, &str)> {
    let (scheme, rest) = uri.split_once(':')?;
    let shaped = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    let host_and_port = rest.starts_with(|c: char| c.is_ascii_digit()) && (scheme.contains('.') || scheme == "localhost");
    (shaped && !host_and_port).then(|| (scheme.to_ascii_lowercase(), rest))
}

fn url_of(uri: &str, rest: &str) -> Result<Url, Stop> {
    // Parsers disagree on these: some read a host where others read a path.
    if !rest.starts_with("//") || rest.starts_with("///") {
        return Err(invalid("the URI must have exactly two slashes after its scheme"));
    }
    if rest.contains('\\') {
        return Err(invalid("the URI contains a backslash"));
    }
    let url = Url::parse(uri).map_err(|error| invalid(format!("the URI cannot be read: {error}")))?;
    clean(url).map_err(invalid)
}

/// Takes the fragment off, which is never sent, and refuses credentials and names that cannot exist.
fn clean(mut url: Url) -> Result<Url, &'static str> {
    if !url.username().is_empty() || url.password().is_some() {
        return Err("the URL carries credentials; they would be public, and are not sent");
    }
    if let Some(Host::Domain(name)) = url.host() {
        // RFC 1035, section 2.3.4. A resolver would report the name as one that it could not find just now.
        let name = name.strip_suffix('.').unwrap_or(name);
        if name.ends_with('.') || DnsName::try_from(name).is_err() {
            return Err("the URL's host is no DNS name: its parts are 1 to 63 letters, digits and inner hyphens, all together at most 253");
        }
    }
    url.set_fragment(None);
    Ok(url)
}

/// Where a redirect from `here` leads: a new URL that gets every check again, under the stricter rules of a redirect.
pub(super) fn redirect_target(here: &Url, location: &[u8], settings: &FetchSettings) -> Result<Url, Stop> {
    let stop = |message: &str| Stop::new(FailureKind::RedirectInvalid, format!("{} redirects, but {message}", host_of(here)));
    let text = std::str::from_utf8(location).map_err(|_| stop("its Location is not text"))?;
    if text.is_empty() {
        return Err(stop("its Location is empty"));
    }
    if text.len() > LONGEST {
        return Err(stop("its Location is too long"));
    }
    if text.contains(char::is_control) {
        return Err(stop("its Location contains a control character"));
    }
    let next = here.join(text).map_err(|_| stop("its Location is no URL"))?;
    match (here.scheme(), next.scheme()) {
        (_, "https") => {}
        ("https", "http") => {
            let message = format!("{} redirects from https to plain http, which is not followed", host_of(here));
            return Err(Stop::new(FailureKind::RedirectDowngrade, message));
        }
        (_, "http") if settings.allow_http => {}
        (_, "http") => return Err(stop("to plain http, which is not followed without --allow-http")),
        (_, other) => return Err(stop(&format!("to a {} URI, which is not followed", shorten(other)))),
    }
    clean(next).map_err(|why| stop(&format!("to where nothing is fetched from: {why}")))
}

/// What is checked of every hop before a connection is made: scheme, port, and a host that is a literal address. A name is
/// checked by the [`Guard`] when it is resolved.
pub(super) fn check_hop(url: &Url, origin: Origin, guard: &Guard, settings: &FetchSettings) -> Result<(), Stop> {
    if url.scheme() == "http" && !settings.allow_http && !(origin == Origin::User && settings.typed_http && is_this_machine(url))
    {
        return Err(unsupported("plain http is not fetched: anyone on the way could change the card; --allow-http allows it"));
    }
    let host = host_of(url);
    if let Some(port) = url.port_or_known_default().filter(|port| port::is_bad(*port)) {
        let message = format!("port {port} of {host} belongs to another protocol and is never connected to");
        return Err(Stop::new(FailureKind::BlockedPort, message));
    }
    let ip = match url.host() {
        Some(Host::Ipv4(ip)) => ip.into(),
        Some(Host::Ipv6(ip)) => ip.into(),
        // A proxy resolves names itself, after any check of ours; this name needs no look-up to be known.
        Some(Host::Domain(name)) if settings.proxy.is_some() && is_localhost(name) => {
            let loopback = std::net::Ipv4Addr::LOCALHOST.into();
            return check_address(loopback, host, guard);
        }
        Some(Host::Domain(_)) => return Ok(()),
        None => return Err(invalid("the URL has no host")),
    };
    check_address(ip, host, guard)
}

fn check_address(ip: std::net::IpAddr, host: &str, guard: &Guard) -> Result<(), Stop> {
    guard.policy_for(host).check(ip).map_err(|class| {
        let message = format!("{host} is not connected to: it is {class}{}", way_in(class));
        Stop::new(FailureKind::BlockedAddress, message)
    })
}

/// Whether a URL visibly points at this machine, without asking a resolver.
fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        Some(Host::Domain(name)) => is_localhost(name),
        None => false,
    }
}

fn is_localhost(name: &str) -> bool {
    let name = plain_name(name);
    name == "localhost" || name.ends_with(".localhost")
}

/// The host of a URL as it is named in sentences: punycode, IPv6 in brackets.
pub(super) fn host_of(url: &Url) -> &str {
    url.host_str().unwrap_or("the host")
}

/// A stranger's word in a sentence: short enough to read.
fn shorten(word: &str) -> String {
    match word.char_indices().nth(24) {
        Some((end, _)) => format!("{}…", word.get(..end).unwrap_or_default()),
        None => word.to_owned(),
    }
}

pub(super) fn invalid(message: impl Into<String>) -> Stop {
    Stop::new(FailureKind::InvalidUri, message)
}

fn unsupported(message: impl Into<String>) -> Stop {
    Stop::new(FailureKind::UnsupportedScheme, message)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Arc;

    use super::super::address::AddressPolicy;
    use super::super::resolve::SystemResolver;
    use super::*;

    fn stop(uri: &str) -> Stop {
        Target::of(uri, &FetchSettings::default()).unwrap_err()
    }

    fn hop(uri: &str, origin: Origin, settings: &FetchSettings) -> Result<(), FailureKind> {
        let Ok(Target::Http(url)) = Target::of(uri, settings) else { panic!("{uri} is no URL") };
        let policy = if settings.allow_private || origin == Origin::User {
            AddressPolicy::with_private()
        } else {
            AddressPolicy::public_only()
        };
        let allow_hosts = settings.allow_hosts.iter().map(|host| plain_name(host)).collect();
        let guard = Guard { resolver: Arc::new(SystemResolver::default()), policy, allow_hosts };
        check_hop(&url, origin, &guard, settings).map_err(|stop| stop.kind)
    }

    #[test]
    fn c_37_each_unusable_uri_has_its_own_sentence() {
        let long = format!("https://cards.example/{}", "a".repeat(64 << 10));
        let uris = [
            "",
            " ",
            "https://a.example/\0",
            "https://a.example/\n",
            "https://a.example/\t",
            " https://a.example/",
            &long,
            "34.65.134.134",
            "https:a.example",
            "https://a.example\\@b.example/",
            "https://",
            "https://user:pw@a.example/",
            &format!("https://{}.example/", "a".repeat(64)),
        ];
        let stops: Vec<_> = uris.iter().map(|uri| stop(uri)).collect();
        assert!(stops.iter().all(|stop| stop.kind == FailureKind::InvalidUri && !stop.retryable));
        assert_eq!(stops.iter().map(|stop| stop.message.as_str()).collect::<HashSet<_>>().len(), uris.len());
        assert!(!stops[11].message.contains("pw"));
    }

    #[test]
    fn c_12_a_uri_without_scheme_is_invalid() {
        for uri in
            ["34.65.134.134", "34.65.134.134:8000/card.json", "cards.example:8080/card.json", "localhost:8000", "//a.example/x"]
        {
            let stop = stop(uri);
            assert_eq!(stop.kind, FailureKind::InvalidUri, "{uri}");
            assert!(stop.message.contains("no scheme"), "{uri}: {}", stop.message);
        }
    }

    #[test]
    fn c_47_every_scheme_but_https_and_data_is_refused_before_any_work() {
        let uris = [
            "file:///etc/passwd",
            "ftp://a.example/",
            "gopher://a.example/",
            "javascript:alert(1)",
            "ws://a.example/",
            "about:blank",
            "ipfs://bafy",
            "unix:/run/docker.sock",
            "jar:https://a.example!/",
            "blob:https://a.example/1",
            "FILE:///etc/passwd",
        ];
        for uri in uris {
            assert_eq!(stop(uri).kind, FailureKind::UnsupportedScheme, "{uri}");
        }
        let http = hop("http://a.example/", Origin::Untrusted, &FetchSettings::default());
        assert_eq!(http, Err(FailureKind::UnsupportedScheme));
    }

    #[test]
    fn c_43_an_internationalised_host_becomes_punycode() {
        for (uri, url) in [
            ("https://bücher.example/c", "https://xn--bcher-kva.example/c"),
            ("https://BÜCHER.example/c#x", "https://xn--bcher-kva.example/c"),
            ("https://аpple.example/", "https://xn--pple-43d.example/"),
        ] {
            assert_eq!(Target::of(uri, &FetchSettings::default()), Ok(Target::Http(Url::parse(url).unwrap())));
        }
    }

    #[test]
    fn c_45_every_spelling_of_a_refused_address_is_refused() {
        for host in [
            "127.0.0.1",
            "2130706433",
            "0x7f000001",
            "0x7f.1",
            "0177.0.0.1",
            "127.1",
            "127.0.0.1.",
            "[::1]",
            "[::ffff:7f00:1]",
            "[::ffff:127.0.0.1]",
            "[64:ff9b::7f00:1]",
            "[2002:7f00::]",
            "[2001:0:1:2:3:4:80ff:fffe]",
            "[fec0::1]",
            "0",
            "0.0.0.0",
            "169.254.169.254",
            "0xa9fea9fe",
            "[fe80::1]",
            "[fd00:ec2::254]",
            "%31%32%37.0.0.1",
            "１２７.0.0.1",
            "127。0。0。1",
        ] {
            let uri = format!("https://{host}/card.json");
            assert_eq!(hop(&uri, Origin::Untrusted, &FetchSettings::default()), Err(FailureKind::BlockedAddress), "{host}");
        }
        assert_eq!(stop("https://[fe80::1%25eth0]/").kind, FailureKind::InvalidUri);
        assert_eq!(hop("https://127.evil.example/", Origin::Untrusted, &FetchSettings::default()), Ok(()));
    }

    #[test]
    fn c_45_the_user_may_type_a_loopback_url_but_never_a_link_local_one() {
        let settings = FetchSettings::default();
        assert_eq!(hop("https://127.0.0.1/", Origin::User, &settings), Ok(()));
        assert_eq!(hop("http://localhost:8000/", Origin::User, &settings), Ok(()));
        assert_eq!(hop("http://[::1]:8000/", Origin::User, &settings), Ok(()));
        assert_eq!(hop("http://10.0.0.1/", Origin::User, &settings), Err(FailureKind::UnsupportedScheme));
        assert_eq!(hop("https://169.254.169.254/", Origin::User, &settings), Err(FailureKind::BlockedAddress));
    }

    #[test]
    fn allow_host_exempts_the_named_host_only_and_from_the_private_refusal_only() {
        let allow_hosts = vec!["10.1.2.3".to_owned(), "169.254.169.254".to_owned()];
        let settings = FetchSettings { allow_hosts, ..FetchSettings::default() };
        assert_eq!(hop("https://10.1.2.3/", Origin::Untrusted, &settings), Ok(()));
        assert_eq!(hop("https://10.1.2.4/", Origin::Untrusted, &settings), Err(FailureKind::BlockedAddress));
        assert_eq!(hop("https://169.254.169.254/", Origin::Untrusted, &settings), Err(FailureKind::BlockedAddress));
    }

    #[test]
    fn a_bad_port_is_blocked_and_the_ports_of_real_cards_are_not() {
        let settings = FetchSettings::default();
        assert_eq!(hop("https://a.example:22/", Origin::Untrusted, &settings), Err(FailureKind::BlockedPort));
        assert_eq!(hop("https://a.example:8443/", Origin::Untrusted, &settings), Ok(()));
    }

    #[test]
    fn behind_a_proxy_the_name_of_this_machine_is_refused_too() {
        let settings = FetchSettings { proxy: Some("http://proxy.example".parse().unwrap()), ..FetchSettings::default() };
        assert_eq!(hop("https://localhost./", Origin::Untrusted, &settings), Err(FailureKind::BlockedAddress));
        assert_eq!(hop("https://cards.example/", Origin::Untrusted, &settings), Ok(()));
    }

    #[test]
    fn a_redirect_is_a_new_url_under_stricter_rules() {
        let follow = |here: &str, location: &str, allow_http| {
            let settings = FetchSettings { allow_http, ..FetchSettings::default() };
            redirect_target(&Url::parse(here).unwrap(), location.as_bytes(), &settings)
                .map(String::from)
                .map_err(|stop| stop.kind)
        };
        assert_eq!(follow("https://a.example/x/y", "../z#f", false), Ok("https://a.example/z".to_owned()));
        assert_eq!(follow("https://a.example/", "//b.example/", false), Ok("https://b.example/".to_owned()));
        assert_eq!(follow("https://a.example/", "http://a.example/", true), Err(FailureKind::RedirectDowngrade));
        assert_eq!(follow("http://a.example/", "http://b.example/", false), Err(FailureKind::RedirectInvalid));
        assert_eq!(follow("http://a.example/", "/b", true), Ok("http://a.example/b".to_owned()));
        for location in
            ["data:,x", "ipfs://bafy", "file:///etc/passwd", "https://u:p@b.example/", "https://", "", "https://b.example/\u{7f}"]
        {
            assert_eq!(follow("https://a.example/", location, true), Err(FailureKind::RedirectInvalid), "{location}");
        }
    }
}
