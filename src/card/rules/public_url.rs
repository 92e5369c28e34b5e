use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{uri, Findings, Rule, Subject};
use crate::card::findings::quote;
use crate::card::Code;

/// C-58: a card is read by strangers, so its URLs lead somewhere public, and encrypted.
pub(super) struct PublicUrl;

/// Schemes that name a host of the network, and whether they encrypt.
const SCHEMES: &[(&str, bool)] =
    &[("https", true), ("wss", true), ("grpcs", true), ("http", false), ("ws", false), ("grpc", false), ("ftp", false)];

impl Rule for PublicUrl {
    fn check(&self, subject: &Subject<'_, '_>, findings: &mut Findings) {
        for (offset, text) in uri::uris(subject) {
            let Ok(url) = uri::parse(text) else {
                continue;
            };
            let Some((scheme, encrypted)) = SCHEMES.iter().find(|(scheme, _)| *scheme == url.scheme()) else {
                continue;
            };
            if !encrypted {
                findings.add(Code::CardUrlInsecure, offset, || {
                    format!("{} is not encrypted ({scheme}): anyone on the way can read and change what it brings.", quote(text))
                });
            }
            if url.host_str().is_some_and(|host| !is_public(host)) {
                findings.add(Code::CardUrlNotPublic, offset, || {
                    format!("{} leads to a host that only its own network or machine can reach.", quote(text))
                });
            }
        }
    }
}

/// Whether a host, as `url` writes it, can be on the public internet.
///
/// This judges a text that is never connected to; what may be fetched is decided by the fetcher's own policy.
fn is_public(host: &str) -> bool {
    let host = host.trim_matches(['[', ']']);
    if let Ok(ip) = host.parse::<IpAddr>() {
        return match ip {
            IpAddr::V4(ip) => is_public_v4(ip),
            IpAddr::V6(ip) => is_public_v6(ip),
        };
    }
    let name = host.trim_end_matches('.').to_ascii_lowercase();
    let local = ["localhost", "local", "internal", "lan", "home.arpa"];
    // A name without a dot is one of a private network, such as that of a container.
    name.contains('.') && !local.iter().any(|domain| name.ends_with(&format!(".{domain}")))
}

fn is_public_v4(ip: Ipv4Addr) -> bool {
    let [a, b, ..] = ip.octets();
    let shared = a == 100 && (64..128).contains(&b);
    let reserved = a == 0 || a >= 240 || (a == 198 && (18..20).contains(&b));
    !(ip.is_loopback()
        || ip.is_private()
        || ip.is_link_local()
        || ip.is_multicast()
        || ip.is_documentation()
        || shared
        || reserved)
}

fn is_public_v6(ip: Ipv6Addr) -> bool {
    if let Some(mapped) = ip.to_ipv4_mapped() {
        return is_public_v4(mapped);
    }
    // Global unicast (2000::/3) but documentation (2001:db8::/32), or an IPv4 address behind NAT64.
    let [a, b, ..] = ip.segments();
    (a & 0xe000 == 0x2000 && (a, b) != (0x2001, 0xdb8)) || (a, b) == (0x64, 0xff9b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_told_apart() {
        for host in [
            "example.com",
            "8.8.8.8",
            "agents.example.org.",
            "[2606:4700::1111]",
            "100.128.0.1",
            "172.32.0.1",
            "a.localhost.example",
        ] {
            assert!(is_public(host), "{host}");
        }
        for host in [
            "localhost",
            "localhost.",
            "a.localhost",
            "agent",
            "printer.local",
            "db.internal",
            "0.0.0.0",
            "127.0.0.1",
            "10.1.2.3",
            "172.31.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "192.0.2.1",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "[::]",
            "[::1]",
            "[fe80::1]",
            "[fd00::1]",
            "[::ffff:10.0.0.1]",
            "[2001:db8::1]",
            "",
        ] {
            assert!(!is_public(host), "{host}");
        }
    }

    #[test]
    fn an_address_in_disguise_is_seen_through() {
        for text in ["https://2130706433/", "https://0x7f000001/", "https://127.1/", "https://0177.0.0.1/"] {
            assert!(!is_public(uri::parse(text).unwrap().host_str().unwrap()), "{text}");
        }
    }
}
