use std::path::Path;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::CertificateDer;
use rustls::RootCertStore;
use tonic::transport::{Channel, ClientTlsConfig, Endpoint};
use url::{Host, Url};

use super::foreign::shortened;
use super::{ChainError, ChainErrorKind, NodeSettings};

/// Where a node listens, and how to connect to it.
pub(super) struct Target {
    /// As it is shown: scheme, host and port.
    pub(super) url: String,
    /// The host without brackets.
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) tls: bool,
    endpoint: Endpoint,
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

    /// The same address with the other scheme. Never used for a read: only to find out which of the two is spoken there.
    pub(super) fn with_other_scheme(&self, settings: &NodeSettings) -> Result<Self, ChainError> {
        Self::connectable(self.host.clone(), self.port, !self.tls, settings)
    }

    fn connectable(host: String, port: u16, tls: bool, settings: &NodeSettings) -> Result<Self, ChainError> {
        let scheme = if tls { "https" } else { "http" };
        let authority = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
        let url = format!("{scheme}://{authority}");
        let mut endpoint = Endpoint::from_shared(url.clone())
            .map_err(|_| unusable(&url, "it is not a URL"))?
            .connect_timeout(settings.connect_timeout)
            .tcp_nodelay(true)
            .http2_keep_alive_interval(settings.keep_alive_interval)
            .keep_alive_timeout(settings.keep_alive_timeout)
            .keep_alive_while_idle(true);
        if tls {
            let tls_config = tls_config(settings)?.domain_name(host.clone());
            endpoint =
                endpoint.tls_config(tls_config).map_err(|_| unusable(&url, "its host cannot be a name in a certificate"))?;
        }
        Ok(Self { url, host, port, tls, endpoint })
    }

    /// A connection that is made at the first call, and again whenever it was lost.
    pub(super) fn channel(&self) -> Channel {
        self.endpoint.connect_lazy()
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

fn tls_config(settings: &NodeSettings) -> Result<ClientTlsConfig, ChainError> {
    let mut roots = RootCertStore::empty();
    for file in &settings.ca_files {
        add_authorities(&mut roots, file)?;
    }
    let mut config = ClientTlsConfig::new();
    if settings.native_roots {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() {
            return Err(ChainError::new(ChainErrorKind::Configuration, "this system has no certificate authorities to trust"));
        }
    } else {
        config = config.with_webpki_roots();
    }
    Ok(config.trust_anchors(roots.roots))
}

fn add_authorities(roots: &mut RootCertStore, file: &Path) -> Result<(), ChainError> {
    let refused =
        |why: String| ChainError::new(ChainErrorKind::Configuration, format!("the certificate file {}: {why}", file.display()));
    let pem = std::fs::read(file).map_err(|error| refused(format!("it cannot be read: {error}")))?;
    let mut found = 0;
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        let certificate = certificate.map_err(|_| refused("it is not PEM".into()))?;
        roots.add(certificate).map_err(|error| refused(format!("a certificate in it is not an authority: {error}")))?;
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
