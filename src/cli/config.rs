//! The configuration file, `cardproof.toml`.

use std::collections::BTreeMap;
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer};

use super::exit::CliError;

/// What the file may say. Everything in it can also be said on the command line.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Config {
    pub(crate) network: Option<String>,
    pub(crate) contract: Option<String>,
    pub(crate) trust_contract: Vec<String>,
    #[serde(deserialize_with = "one_or_many")]
    pub(crate) node: Vec<String>,
    pub(crate) quorum: Option<u16>,
    pub(crate) max_block_age: Option<String>,
    pub(crate) node_timeout: Option<String>,
    pub(crate) cache_dir: Option<PathBuf>,
    pub(crate) state_dir: Option<PathBuf>,
    pub(crate) ca_file: Vec<PathBuf>,
    pub(crate) native_roots: Option<bool>,
    pub(crate) fetch: FetchConfig,
    pub(crate) audit: AuditConfig,
    pub(crate) networks: BTreeMap<String, NetworkConfig>,
}

/// The table `[fetch]`.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct FetchConfig {
    pub(crate) allow_http: bool,
    pub(crate) allow_private: bool,
    pub(crate) allow_host: Vec<String>,
    pub(crate) max_bytes: Option<String>,
    pub(crate) timeout: Option<String>,
    pub(crate) ipfs_gateway: Vec<String>,
    /// May hold a password, which is why [`Config`] cannot be printed.
    pub(crate) proxy: Option<String>,
}

/// The table `[audit]`.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct AuditConfig {
    /// A file or the URL of a PostgreSQL database, which may hold a password.
    pub(crate) store: Option<String>,
    /// May hold a secret.
    pub(crate) webhook_url: Option<String>,
    pub(crate) webhook_secret_file: Option<PathBuf>,
    /// A program and its arguments; a program alone may stand without the list.
    #[serde(deserialize_with = "one_or_many")]
    pub(crate) notify_command: Vec<String>,
    /// After how long results are forgotten.
    pub(crate) keep: Option<String>,
}

/// A table `[networks.<name>]`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NetworkConfig {
    pub(crate) genesis_hash: String,
    pub(crate) registry: String,
    pub(crate) cis8: Option<String>,
    #[serde(default, deserialize_with = "one_or_many")]
    pub(crate) node: Vec<String>,
    pub(crate) explorer: Option<String>,
}

/// A list of texts, or one text alone.
fn one_or_many<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    struct OneOrMany;

    impl<'de> Visitor<'de> for OneOrMany {
        type Value = Vec<String>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a text or a list of texts")
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<Vec<String>, E> {
            Ok(vec![text.to_owned()])
        }

        fn visit_seq<A: de::SeqAccess<'de>>(self, list: A) -> Result<Vec<String>, A::Error> {
            Vec::deserialize(de::value::SeqAccessDeserializer::new(list))
        }
    }

    deserializer.deserialize_any(OneOrMany)
}

impl Config {
    /// The name of the network that the file's own `contract` and `node` are of.
    ///
    /// Whoever chooses another network by a flag or the environment means that network's contract and nodes, not these.
    pub(crate) fn own_network(&self) -> &str {
        self.network.as_deref().unwrap_or("mainnet")
    }

    /// Reads the file that was named, or the one in its usual place if there is one.
    pub(crate) fn load(named: Option<&Path>) -> Result<Self, CliError> {
        let usual;
        let (path, must_exist) = match named {
            Some(path) => (path, true),
            None => match Self::usual_place() {
                Some(path) => {
                    usual = path;
                    (usual.as_path(), false)
                }
                None => return Ok(Self::default()),
            },
        };
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) && !must_exist => {
                return Ok(Self::default())
            }
            Err(error) => {
                return Err(CliError::refused("configuration", format!("{} cannot be read: {error}", path.display())));
            }
        };
        toml::from_str(&text).map_err(|error| {
            // The error's own display quotes the line, which may hold a password.
            let line = error.span().and_then(|span| text.get(..span.start)).map_or(1, |before| before.matches('\n').count() + 1);
            CliError::refused("configuration", format!("{}, line {line}: {}", path.display(), error.message()))
        })
    }

    /// `cardproof/cardproof.toml` in the XDG configuration folder, where there is a home folder.
    pub(crate) fn usual_place() -> Option<PathBuf> {
        use etcetera::BaseStrategy;
        let folders = etcetera::base_strategy::Xdg::new().ok()?;
        Some(folders.config_dir().join("cardproof").join("cardproof.toml"))
    }
}

/// After how long results are forgotten, by the configuration.
pub(crate) fn parse_keep(config: &Config) -> Result<Option<std::time::Duration>, CliError> {
    config.audit.keep.as_deref().map(|text| super::settings::parse_duration("audit.keep", text)).transpose()
}
