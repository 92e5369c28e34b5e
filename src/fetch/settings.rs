use std::fmt;
use std::io;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use url::Url;

/// What a [`Fetcher`](super::Fetcher) may do and how long it may take. The default is what an untrusted URI gets.
#[derive(Debug, Clone)]
pub struct FetchSettings {
    /// Whether plain `http:` is fetched (`--allow-http`).
    pub allow_http: bool,
    /// Whether loopback, private and unique-local addresses are connected to (`--allow-private`).
    pub allow_private: bool,
    /// Whether plain `http:` to this machine is fetched when the user typed it, without `allow_http`; not after `--allow-http=false`.
    pub typed_http: bool,
    /// Whether such addresses are connected to when the user typed them, without `allow_private`; not after `--allow-private=false`.
    pub typed_private: bool,
    /// Hosts that are exempt from the refusal of private addresses (`--allow-host`). Not an allow-list.
    pub allow_hosts: Vec<String>,
    /// The largest body, in bytes after content decoding (`--max-bytes`).
    pub max_bytes: u64,
    /// How long one fetch may take, from the look-up of the name to the last byte, redirects and retries included
    /// (`--timeout`). Waiting for a turn under the limits per host does not count.
    pub deadline: Duration,
    /// Gateways for `ipfs:` URIs, tried in order (`--ipfs-gateway`), such as `https://ipfs.io`.
    pub ipfs_gateways: Vec<String>,
    /// The proxy that all requests go through (`--proxy`). It resolves names itself, so only literal addresses are checked.
    pub proxy: Option<ProxyUrl>,
    /// PEM files with further certificate authorities (`--ca-file`).
    pub extra_roots: Vec<PathBuf>,
    /// Whether the system's certificate authorities are trusted instead of the compiled-in ones (`--native-roots`).
    pub native_roots: bool,
    /// How many requests may be under way to one host; 0 means 1.
    pub per_host_concurrency: usize,
    /// How many requests may start to one host in any second; 0 means no limit.
    pub per_host_rate: usize,
    /// How many times a retryable failure is tried again.
    pub retries: u32,
    /// The `User-Agent` of every request.
    pub user_agent: String,
}

impl Default for FetchSettings {
    fn default() -> Self {
        Self {
            allow_http: false,
            allow_private: false,
            typed_http: true,
            typed_private: true,
            allow_hosts: Vec::new(),
            max_bytes: 8 << 20,
            deadline: Duration::from_secs(20),
            ipfs_gateways: Vec::new(),
            proxy: None,
            extra_roots: Vec::new(),
            native_roots: false,
            per_host_concurrency: 8,
            per_host_rate: 20,
            retries: 3,
            user_agent: honest_user_agent(),
        }
    }
}

/// `cardproof/<version> (+<repository URL>)`, without the bracket where the package names no repository.
fn honest_user_agent() -> String {
    let name = concat!("cardproof/", env!("CARGO_PKG_VERSION"));
    match env!("CARGO_PKG_REPOSITORY") {
        "" => name.to_owned(),
        repository => format!("{name} (+{repository})"),
    }
}

/// The URL of a proxy. It may carry credentials, so it cannot be printed.
#[derive(Clone, PartialEq, Eq)]
pub struct ProxyUrl(Url);

impl ProxyUrl {
    pub(super) fn url(&self) -> &Url {
        &self.0
    }
}

impl fmt::Debug for ProxyUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProxyUrl(hidden)")
    }
}

impl FromStr for ProxyUrl {
    type Err = FetchSetupError;

    /// Reads an `http:` or `https:` URL, with or without credentials.
    fn from_str(text: &str) -> Result<Self, FetchSetupError> {
        let url = Url::parse(text).map_err(|_| FetchSetupError::Proxy)?;
        match url.scheme() {
            "http" | "https" => Ok(Self(url)),
            _ => Err(FetchSetupError::Proxy),
        }
    }
}

/// A fetcher cannot be built from its settings.
#[derive(Debug, thiserror::Error)]
pub enum FetchSetupError {
    /// The proxy is no usable URL. It is not repeated: it may carry credentials.
    #[error("the proxy must be an http or https URL, such as http://proxy.example:3128")]
    Proxy,
    /// A URL to post to is none. It is not repeated: it may carry a secret.
    #[error("the URL to post to must be an http or https URL, such as https://hooks.example/cardproof")]
    Post,
    /// An IPFS gateway is no usable URL.
    #[error(
        "IPFS gateway {number} must be an http or https URL without credentials, query or fragment, such as https://ipfs.io"
    )]
    Gateway {
        /// Its place in the list, from 1.
        number: usize,
    },
    /// A host to allow is no host.
    #[error("“{0}” is not a host name or an IP address; give the name alone, without scheme, port or path")]
    AllowHost(String),
    /// A PEM file cannot be read.
    #[error("the certificate file {} cannot be read: {source}", path.display())]
    ReadRoots {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A PEM file holds no certificate that can be trusted.
    #[error("{} holds no usable certificate; it must be PEM text with at least one BEGIN CERTIFICATE block", path.display())]
    NoRoots {
        /// The file.
        path: PathBuf,
    },
    /// The `User-Agent` has characters that a header cannot carry.
    #[error("the user agent holds characters that an HTTP header cannot carry")]
    UserAgent,
    /// The TLS library refuses its own defaults.
    #[error("TLS cannot be set up: {0}")]
    Tls(#[source] rustls::Error),
    /// The HTTP client cannot be built.
    #[error("the HTTP client cannot be set up")]
    Client(#[source] reqwest::Error),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_with_credentials_is_never_printed() {
        let proxy: ProxyUrl = "http://user:geheim@proxy.example:3128".parse().unwrap();
        let settings = FetchSettings { proxy: Some(proxy), ..FetchSettings::default() };
        assert!(!format!("{settings:?}").contains("geheim"));
        let error = "socks9://user:geheim@proxy.example".parse::<ProxyUrl>().unwrap_err();
        assert!(!format!("{error} {error:?}").contains("geheim"));
    }

    #[test]
    fn the_user_agent_names_the_tool_and_its_version() {
        assert!(FetchSettings::default().user_agent.starts_with(concat!("cardproof/", env!("CARGO_PKG_VERSION"))));
    }
}
