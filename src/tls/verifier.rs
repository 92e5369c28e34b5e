use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::WebPkiServerVerifier;
use rustls::crypto::{ring, verify_tls12_signature, verify_tls13_signature, CryptoProvider};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, OtherError, RootCertStore, SignatureScheme};

/// TLS 1.2 and 1.3 towards servers whose certificate leads to one of `roots`, speaking one of `protocols` (ALPN, the preferred
/// one first). `native` says that the roots are the system's, for the sentence that says that there are none.
pub(crate) fn client_config(roots: RootCertStore, native: bool, protocols: &[&[u8]]) -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(ring::default_provider());
    let verifier = Verifier::new(roots, native, &provider)?;
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    Ok(config)
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
    #[error("its certificate is self-signed and an authority's own, which no server may show; make one with basicConstraints CA:FALSE, or sign one with it")]
    SelfSignedAuthority,
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
    fn new(roots: RootCertStore, native: bool, provider: &Arc<CryptoProvider>) -> Result<Self, rustls::Error> {
        let inner = if roots.is_empty() {
            None
        } else {
            let builder = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider));
            Some(builder.build().map_err(|error| rustls::Error::General(error.to_string()))?)
        };
        let empty = if native { ChainFault::NoNativeRoots } else { ChainFault::NoRoots };
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
            rustls::Error::InvalidCertificate(CertificateError::Other(other)) if is_self_issued(end_entity) => {
                let is_authority = matches!(other.0.downcast_ref(), Some(webpki::Error::CaUsedAsEndEntity));
                fault(if is_authority { ChainFault::SelfSignedAuthority } else { ChainFault::SelfSigned })
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
