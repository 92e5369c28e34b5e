//! A certificate authority of the test's own, made anew each time, and the certificates that can be wrong.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, CustomExtension, DnType, IsCa, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::ServerConfig;

/// A root authority. Its PEM file lives as long as it does.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    file: tempfile::NamedTempFile,
}

impl Authority {
    pub fn new(name: &str) -> Self {
        let issuer = CertifiedIssuer::self_signed(authority_params(name), KeyPair::generate().unwrap()).unwrap();
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(issuer.pem().as_bytes()).unwrap();
        Self { issuer, file }
    }

    /// The PEM file to trust it with.
    pub fn pem_file(&self) -> &Path {
        self.file.path()
    }

    /// TLS settings of a server with a good certificate for `names`.
    pub fn server(&self, names: &[&str]) -> Arc<ServerConfig> {
        self.server_with(names, |_| {})
    }

    /// A certificate that has expired.
    pub fn expired(&self, names: &[&str]) -> Arc<ServerConfig> {
        self.server_with(names, |params| {
            params.not_before = rcgen::date_time_ymd(2019, 1, 1);
            params.not_after = rcgen::date_time_ymd(2020, 1, 1);
        })
    }

    /// A certificate that is not valid yet.
    pub fn not_yet_valid(&self, names: &[&str]) -> Arc<ServerConfig> {
        self.server_with(names, |params| {
            params.not_before = rcgen::date_time_ymd(2500, 1, 1);
            params.not_after = rcgen::date_time_ymd(2501, 1, 1);
        })
    }

    /// A good certificate, sent together with this root, as some servers do.
    pub fn server_with_root(&self, names: &[&str]) -> Arc<ServerConfig> {
        let (certificate, key) = leaf(&self.issuer, names, |_| {});
        config(vec![certificate, self.issuer.der().clone()], &key)
    }

    /// A certificate from an intermediate authority, which is sent along or forgotten.
    pub fn below_intermediate(&self, names: &[&str], sends_it: bool) -> Arc<ServerConfig> {
        let params = authority_params("test intermediate");
        let intermediate = CertifiedIssuer::signed_by(params, KeyPair::generate().unwrap(), &self.issuer).unwrap();
        let (certificate, key) = leaf(&intermediate, names, |_| {});
        let mut certificates = vec![certificate];
        if sends_it {
            certificates.push(intermediate.der().clone());
        }
        config(certificates, &key)
    }

    /// A certificate with an extension that must be understood and that nobody knows.
    pub fn with_unknown_extension(&self, names: &[&str]) -> Arc<ServerConfig> {
        self.server_with(names, |params| {
            let mut extension = CustomExtension::from_oid_content(&[1, 2, 3, 4, 5], vec![5, 0]);
            extension.set_criticality(true);
            params.custom_extensions.push(extension);
        })
    }

    /// A certificate that was signed with a server's.
    pub fn below_a_server(&self, names: &[&str]) -> Arc<ServerConfig> {
        let mut params = leaf_params(&[]);
        params.distinguished_name.push(DnType::CommonName, "another server");
        let server = CertifiedIssuer::signed_by(params, KeyPair::generate().unwrap(), &self.issuer).unwrap();
        let (certificate, key) = leaf(&server, names, |_| {});
        config(vec![certificate, server.der().clone()], &key)
    }

    fn server_with(&self, names: &[&str], change: impl FnOnce(&mut CertificateParams)) -> Arc<ServerConfig> {
        let (certificate, key) = leaf(&self.issuer, names, change);
        config(vec![certificate], &key)
    }
}

/// A certificate that vouches for itself, marked as an authority (as `openssl req -x509` does) or not.
pub fn self_signed(names: &[&str], marked_as_authority: bool) -> Arc<ServerConfig> {
    let mut params = leaf_params(names);
    if marked_as_authority {
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    }
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    config(vec![certificate.der().clone()], &key)
}

fn authority_params(name: &str) -> CertificateParams {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

fn leaf_params(names: &[&str]) -> CertificateParams {
    let mut params = CertificateParams::new(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()).unwrap();
    params.distinguished_name.push(DnType::CommonName, "test server");
    params
}

fn leaf(
    issuer: &CertifiedIssuer<'static, KeyPair>,
    names: &[&str],
    change: impl FnOnce(&mut CertificateParams),
) -> (CertificateDer<'static>, KeyPair) {
    let mut params = leaf_params(names);
    change(&mut params);
    let key = KeyPair::generate().unwrap();
    (params.signed_by(&key, issuer).unwrap().der().clone(), key)
}

fn config(certificates: Vec<CertificateDer<'static>>, key: &KeyPair) -> Arc<ServerConfig> {
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let key = provider.key_provider.load_private_key(key).unwrap();
    let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    // Shown as it is: the builder's own check would refuse some of what is wrong on purpose.
    let shown = SingleCertAndKey::from(CertifiedKey::new(certificates, key));
    Arc::new(builder.with_no_client_auth().with_cert_resolver(Arc::new(shown)))
}
