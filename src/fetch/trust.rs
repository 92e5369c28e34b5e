use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::WebPkiServerVerifier;
use rustls::crypto::{ring, verify_tls12_signature, verify_tls13_signature, CryptoProvider};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, OtherError, RootCertStore, SignatureScheme};

use super::settings::{FetchSettings, FetchSetupError};

/// The certificate authorities that a server's certificate must lead to.
#[derive(Debug, Clone)]
pub struct TrustRoots {
    store: RootCertStore,
    native: bool,
}

impl TrustRoots {
    /// The compiled-in authorities, or the system's on request, and those of the extra PEM files.
    ///
    /// An empty system store is no error here: the sentence of each failing connection says it.
    ///
    /// # Errors
    /// [`FetchSetupError::ReadRoots`] and [`FetchSetupError::NoRoots`] for an extra PEM file.
    pub fn load(settings: &FetchSettings) -> Result<Self, FetchSetupError> {
        let mut store = RootCertStore::empty();
        if settings.native_roots {
            store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        } else {
            store.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        }
        for path in &settings.extra_roots {
            add_pem_file(&mut store, path)?;
        }
        Ok(Self { store, native: settings.native_roots })
    }

    /// How many authorities are trusted.
    pub fn count(&self) -> usize {
        self.store.len()
    }

    /// The TLS settings of the HTTP client: these roots, TLS 1.2 and 1.3, HTTP/2 and HTTP/1.1.
    pub(super) fn client_config(&self) -> Result<ClientConfig, FetchSetupError> {
        let provider = Arc::new(ring::default_provider());
        let verifier = Verifier::new(self, &provider)?;
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(FetchSetupError::Tls)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }
}

fn add_pem_file(store: &mut RootCertStore, path: &Path) -> Result<(), FetchSetupError> {
    let text = std::fs::read(path).map_err(|source| FetchSetupError::ReadRoots { path: path.to_owned(), source })?;
    // What is no certificate, or none that can be an authority, is passed over, as in system stores.
    let (added, _) = store.add_parsable_certificates(CertificateDer::pem_slice_iter(&text).flatten());
    if added == 0 {
        return Err(FetchSetupError::NoRoots { path: path.to_owned() });
    }
    Ok(())
}

/// What is wrong with a chain that leads to no trusted authority. The TLS library calls all of these an unknown issuer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum ChainFault {
    #[error("no certificate authority is trusted: the system's certificate store is empty; leave out --native-roots or add one with --ca-file")]
    NoNativeRoots,
    #[error("no certificate authority is trusted; add one with --ca-file")]
    NoRoots,
    #[error("its certificate is self-signed; if you trust it, add it with --ca-file")]
    SelfSigned,
    #[error("its certificate comes from a private authority that is not trusted; if you trust it, add it with --ca-file")]
    PrivateAuthority,
    #[error("the server does not send the intermediate certificate between its own and a trusted authority, or the authority is unknown (--ca-file adds one)")]
    MissingIntermediate,
    #[error("its certificate comes from an unknown authority; --native-roots trusts the system's, --ca-file adds one")]
    UnknownAuthority,
}

/// Verifies exactly as the TLS library does; only where that ends at an unknown issuer, it looks at the chain to say which
/// kind of unknown.
#[derive(Debug)]
struct Verifier {
    /// `None` when there is no root at all, which the library's verifier cannot be built with.
    inner: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
    empty: ChainFault,
}

impl Verifier {
    fn new(roots: &TrustRoots, provider: &Arc<CryptoProvider>) -> Result<Self, FetchSetupError> {
        let inner = if roots.store.is_empty() {
            None
        } else {
            let builder = WebPkiServerVerifier::builder_with_provider(Arc::new(roots.store.clone()), Arc::clone(provider));
            Some(builder.build().map_err(|error| FetchSetupError::Tls(rustls::Error::General(error.to_string())))?)
        };
        let empty = if roots.native { ChainFault::NoNativeRoots } else { ChainFault::NoRoots };
        Ok(Self { inner, provider: Arc::clone(provider), empty })
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(inner) = &self.inner else {
            return Err(fault(self.empty));
        };
        inner.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now).map_err(|error| match error {
            rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer) => {
                fault(unknown_issuer(end_entity, intermediates))
            }
            // A self-signed certificate is often marked as an authority, which is refused before its issuer is looked for.
            rustls::Error::InvalidCertificate(CertificateError::Other(_)) if is_self_issued(end_entity) => {
                fault(ChainFault::SelfSigned)
            }
            other => other,
        })
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

fn fault(fault: ChainFault) -> rustls::Error {
    rustls::Error::InvalidCertificate(CertificateError::Other(OtherError(Arc::new(fault))))
}

fn unknown_issuer(end_entity: &CertificateDer<'_>, intermediates: &[CertificateDer<'_>]) -> ChainFault {
    if is_self_issued(end_entity) {
        ChainFault::SelfSigned
    } else if intermediates.iter().any(is_self_issued) {
        ChainFault::PrivateAuthority
    } else if intermediates.is_empty() {
        ChainFault::MissingIntermediate
    } else {
        ChainFault::UnknownAuthority
    }
}

/// Whether a certificate names itself as its issuer, as roots and self-signed ones do.
fn is_self_issued(certificate: &CertificateDer<'_>) -> bool {
    webpki::EndEntityCert::try_from(certificate).is_ok_and(|parsed| parsed.issuer() == parsed.subject())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c_50_the_compiled_in_roots_need_no_file_system() {
        assert!(TrustRoots::load(&FetchSettings::default()).unwrap().count() > 50);
    }

    #[test]
    fn a_file_without_a_certificate_is_refused_by_name() {
        let path = std::path::PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
        let settings = FetchSettings { extra_roots: vec![path], ..FetchSettings::default() };
        let message = TrustRoots::load(&settings).unwrap_err().to_string();
        assert!(message.contains("Cargo.toml") && message.contains("no usable certificate"), "{message}");
    }
}
