use std::path::Path;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};

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
        crate::tls::client_config(self.store.clone(), self.native, &[b"h2", b"http/1.1"]).map_err(FetchSetupError::Tls)
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
