use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tonic::transport::{Channel, Endpoint, Uri};
use url::{Host, Url};

use super::connector::{Connector, HTTP2};
use super::foreign::shortened;
use super::{ChainError, ChainErrorKind, NodeSettings};
use crate::tls;

/// Where a node listens, and how to connect to it.
pub(super) struct Target {
    /// As it is shown: scheme, host and port.
    pub(super) url: String,
    /// The host without brackets.
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) tls: bool,
    endpoint: Endpoint,
    /// Where TLS is spoken.
    connector: Option<Connector>,
}

impl Target {
    pub(super) fn new(text: &str, settings: &NodeSettings) -> Result<Self, ChainError> {
        let url = parse(text)?;
        let tls = url.scheme() == "https";
        let (Some(host), Some(port)) = (url.host(), url.port_or_known_default()) else {
            return Err(unusable(text, "it names no host"));
        };
        let host = match host {
            Host::Domain(name) => name.to_owned(),
            Host::Ipv4(address) => address.to_string(),
            Host::Ipv6(address) => address.to_string(),
        };
        Self::connectable(host, port, tls, settings)
    }

    /// Whether both are the same port of the same machine, as far as can be told without asking anybody: whatever the scheme, however
    /// an address is written, and whether this machine is named or its loopback address given.
    pub(super) fn is_same_place(&self, other: &Self) -> bool {
        self.port == other.port
            && match (Place::of(&self.host), Place::of(&other.host)) {
                (Place::Localhost, Place::Address(ip)) | (Place::Address(ip), Place::Localhost) => ip.is_loopback(),
                (one, other) => one == other,
            }
    }

    /// The same address with the other scheme. Never used for a read: only to find out which of the two is spoken there.
    pub(super) fn with_other_scheme(&self, settings: &NodeSettings) -> Result<Self, ChainError> {
        Self::connectable(self.host.clone(), self.port, !self.tls, settings)
    }

    fn connectable(host: String, port: u16, tls: bool, settings: &NodeSettings) -> Result<Self, ChainError> {
        let scheme = if tls { "https" } else { "http" };
        let authority = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
        let url = format!("{scheme}://{authority}");
        let no_url = |_| unusable(&url, "it is not a URL");
        let origin: Uri = url.parse().map_err(no_url)?;
        // What is connected to has no TLS in the library's eyes; what the requests name has.
        let endpoint = Endpoint::from_shared(format!("http://{authority}"))
            .map_err(|_| unusable(&url, "it is not a URL"))?
            .origin(origin)
            .connect_timeout(settings.connect_timeout)
            .tcp_nodelay(true)
            .http2_keep_alive_interval(settings.keep_alive_interval)
            .keep_alive_timeout(settings.keep_alive_timeout)
            .keep_alive_while_idle(true);
        let connector = if tls {
            let name = ServerName::try_from(host.clone());
            let name = name.map_err(|_| unusable(&url, "its host cannot be a name in a certificate"))?;
            Some(Connector::new(tls_config(settings)?, name))
        } else {
            None
        };
        Ok(Self { url, host, port, tls, endpoint, connector })
    }

    /// A connection that is made at the first call, and again whenever it was lost.
    pub(super) fn channel(&self) -> Channel {
        match &self.connector {
            Some(connector) => self.endpoint.connect_with_connector_lazy(connector.clone()),
            None => self.endpoint.connect_lazy(),
        }
    }
}

/// What a host's name or address stands for.
#[derive(PartialEq)]
enum Place<'a> {
    Address(IpAddr),
    /// This machine, by whichever of its loopback addresses.
    Localhost,
    Name(&'a str),
}

impl<'a> Place<'a> {
    fn of(host: &'a str) -> Self {
        let host = host.strip_suffix('.').unwrap_or(host);
        match host.parse::<IpAddr>().map(|ip| ip.to_canonical()) {
            // Connecting to no address in particular connects to this machine.
            Ok(IpAddr::V4(ip)) if ip.is_unspecified() => Self::Address(Ipv4Addr::LOCALHOST.into()),
            Ok(IpAddr::V6(ip)) if ip.is_unspecified() => Self::Address(Ipv6Addr::LOCALHOST.into()),
            Ok(ip) => Self::Address(ip),
            Err(_) if host == "localhost" || host.ends_with(".localhost") => Self::Localhost,
            Err(_) => Self::Name(host),
        }
    }
}

fn parse(text: &str) -> Result<Url, ChainError> {
    let url = Url::parse(text).map_err(|_| unusable(text, "it is not a URL"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(unusable(text, "write http:// or, for TLS, https:// before its host and port"));
    }
    // Said before the text is repeated anywhere: a password must not reach a log.
    if !url.username().is_empty() || url.password().is_some() {
        return Err(ChainError::new(ChainErrorKind::Configuration, "a node's URL cannot carry a user name or a password"));
    }
    if url.path() != "/" || url.query().is_some() || url.fragment().is_some() {
        // A path or query may be a key, so only the rest is repeated.
        return Err(unusable(
            &url.origin().ascii_serialization(),
            "a node is named by scheme, host and port alone, and this has more",
        ));
    }
    Ok(url)
}

fn unusable(text: &str, why: &str) -> ChainError {
    // What does not parse may still hold a password.
    let shown = text.rsplit('@').next().unwrap_or_default();
    ChainError::new(ChainErrorKind::Configuration, format!("the node's URL {} cannot be used: {why}", shortened(shown)))
}

fn tls_config(settings: &NodeSettings) -> Result<ClientConfig, ChainError> {
    let configuration = |message: &str| ChainError::new(ChainErrorKind::Configuration, message);
    let mut roots = RootCertStore::empty();
    for file in &settings.ca_files {
        add_authorities(&mut roots, file)?;
    }
    if settings.native_roots {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() {
            return Err(configuration("this system has no certificate authorities to trust"));
        }
    } else {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    tls::client_config(roots, settings.native_roots, &[HTTP2]).map_err(|_| configuration("TLS cannot be set up"))
}

fn add_authorities(roots: &mut RootCertStore, file: &Path) -> Result<(), ChainError> {
    let refused =
        |why: String| ChainError::new(ChainErrorKind::Configuration, format!("the certificate file {}: {why}", file.display()));
    let pem = std::fs::read(file).map_err(|error| refused(format!("it cannot be read: {error}")))?;
    let mut found = 0;
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        let certificate = certificate.map_err(|_| refused("it is not PEM".into()))?;
        roots.add(certificate).map_err(|_| refused("a certificate in it cannot be an authority's".into()))?;
        found += 1;
    }
    if found == 0 {
        return Err(refused("it holds no certificate in PEM".into()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(url: &str) -> Result<Target, ChainError> {
        Target::new(url, &NodeSettings::default())
    }

    #[test]
    fn a_node_is_named_by_scheme_host_and_port() {
        let node = target("https://grpc.example:20000").unwrap();
        assert_eq!(
            (node.url.as_str(), node.host.as_str(), node.port, node.tls),
            ("https://grpc.example:20000", "grpc.example", 20000, true)
        );
        let node = target("http://[::1]:20000/").unwrap();
        assert_eq!((node.url.as_str(), node.host.as_str(), node.tls), ("http://[::1]:20000", "::1", false));
        assert_eq!(target("https://[::1]:1").unwrap().url, "https://[::1]:1");
        assert_eq!(target("https://node.example").unwrap().port, 443);
    }

    #[test]
    fn anything_else_is_a_configuration_error_that_says_what_to_write() {
        for (url, word) in [
            ("grpc.example:20000", "https://"),
            ("localhost:20000", "https://"),
            ("ftp://a:1", "https://"),
            ("", "not a URL"),
            ("http://", "not a URL"),
            ("http://a/b", "host and port"),
            ("http://a?b", "host and port"),
        ] {
            let error = target(url).err().unwrap();
            assert_eq!(error.kind, ChainErrorKind::Configuration, "{url}");
            assert!(error.message.contains(word), "{}", error.message);
        }
    }

    #[test]
    fn a_place_is_the_same_however_it_is_written() {
        let same = |one: &str, other: &str| target(one).unwrap().is_same_place(&target(other).unwrap());
        for (one, other) in [
            ("http://127.0.0.1:20000", "http://localhost:20000"),
            ("http://[::1]:20000", "http://localhost.:20000"),
            ("http://127.0.0.1:20000", "http://[::ffff:127.0.0.1]:20000"),
            ("http://127.0.0.1:20000", "http://[::ffff:7f00:1]:20000"),
            ("http://127.0.0.1:20000", "http://2130706433:20000"),
            ("http://127.0.0.1:20000", "http://0.0.0.0:20000"),
            ("http://127.0.0.1:20000", "https://127.0.0.1:20000"),
            ("http://10.0.0.1:80", "http://[::ffff:10.0.0.1]"),
            ("https://node.example", "https://NODE.example.:443"),
        ] {
            assert!(same(one, other) && same(other, one), "{one} {other}");
        }
        for (one, other) in [
            ("http://127.0.0.1:20000", "http://127.0.0.1:20001"),
            ("http://127.0.0.1:20000", "http://[::1]:20000"),
            ("http://127.0.0.1:20000", "http://127.0.0.2:20000"),
            ("http://localhost:20000", "http://10.0.0.1:20000"),
            ("https://a.example", "https://b.example"),
        ] {
            assert!(!same(one, other) && !same(other, one), "{one} {other}");
        }
    }

    #[test]
    fn a_password_in_a_url_is_never_repeated() {
        for url in ["https://user:secret@node.example:20000", "user:secret@node:1", "https://user:secret@:x"] {
            assert!(!target(url).err().unwrap().message.contains("secret"), "{url}");
        }
    }

    #[test]
    fn a_certificate_file_that_is_none_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let settings = NodeSettings { ca_files: vec![file.path().to_owned()], ..NodeSettings::default() };
        let error = Target::new("https://node.example", &settings).err().unwrap();
        assert!(error.message.contains("no certificate"), "{}", error.message);
        let settings = NodeSettings { ca_files: vec!["/nonexistent.pem".into()], ..NodeSettings::default() };
        assert_eq!(Target::new("https://node.example", &settings).err().unwrap().kind, ChainErrorKind::Configuration);
        assert!(Target::new("http://node.example", &settings).is_ok(), "without TLS no authority is needed");
    }
}
