//! Where the memory of audits is.

use std::path::{Path, PathBuf};

use cardproof::audit::store::{Store, StoreError, StoreLocation};
use cardproof::audit::RunScope;
use clap::Args;

use crate::cli::config::Config;
use crate::cli::exit::CliError;
use crate::cli::settings::NetworkSettings;

/// Where the memory is.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Memory")]
pub(super) struct StoreOptions {
    /// The SQLite file that remembers results [default: audit.db in the XDG state folder for cardproof]; a PostgreSQL URL belongs
    /// in CARDPROOF_STORE or, as audit.store, into the configuration
    #[arg(long, value_name = "FILE")]
    pub(super) store: Option<PathBuf>,
}

impl StoreOptions {
    /// Opens it; it is made when there is none.
    pub(super) async fn open(&self, config: &Config) -> Result<Store, CliError> {
        let location = self.location(config)?;
        // Only the usual place is made; a folder that was named wrongly is not.
        let named = self.store.is_some() || configured(config).is_some();
        if let Some(folder) = location.path().filter(|_| !named).and_then(Path::parent) {
            std::fs::create_dir_all(folder)
                .map_err(|error| CliError::internal(format!("{} cannot be made: {error}", folder.display())))?;
        }
        Store::open(&location).await.map_err(failed)
    }

    /// Opens it to ask what it knows, which is nothing when there is none. It need not be writable.
    pub(super) async fn open_to_read(&self, config: &Config) -> Result<Store, CliError> {
        Store::open_to_read(&self.existing(config)?).await.map_err(failed)
    }

    /// Opens it when there is one.
    pub(super) async fn open_existing(&self, config: &Config) -> Result<Store, CliError> {
        Store::open(&self.existing(config)?).await.map_err(failed)
    }

    fn existing(&self, config: &Config) -> Result<StoreLocation, CliError> {
        let location = self.location(config)?;
        if let Some(path) = location.path().filter(|path| !path.exists()) {
            let message = format!("no audit has been remembered at {}", path.display());
            return Err(CliError::refused("no_store", message)
                .hint("name the file with --store, or run an audit first: cardproof audit --all"));
        }
        Ok(location)
    }

    /// Its file, when it is one.
    pub(super) fn file(&self, config: &Config) -> Result<Option<PathBuf>, CliError> {
        Ok(self.location(config)?.path().map(Path::to_owned))
    }

    fn location(&self, config: &Config) -> Result<StoreLocation, CliError> {
        if let Some(path) = &self.store {
            // Other users of the machine can read a command line.
            if path.to_string_lossy().contains("://") {
                return Err(CliError::usage("the URL of a database may not stand on the command line")
                    .hint("put it into CARDPROOF_STORE or, as audit.store, into the configuration"));
            }
            return checked(StoreLocation::file(path), "--store");
        }
        if let Some((text, setting)) = configured(config) {
            let refused = |error: StoreError| CliError::refused("configuration", format!("{setting}: {error}"));
            return checked(text.parse().map_err(refused)?, setting);
        }
        Ok(StoreLocation::file(state_folder(config)?.join("audit.db")))
    }
}

/// What names the database for all commands, and the setting that it comes from.
fn configured(config: &Config) -> Option<(String, &'static str)> {
    let environment = std::env::var("CARDPROOF_STORE").ok().filter(|text| !text.is_empty());
    let file = || config.audit.store.clone().map(|text| (text, "audit.store of the configuration"));
    environment.map(|text| (text, "CARDPROOF_STORE")).or_else(file)
}

/// Refuses what can be no file of a database.
fn checked(location: StoreLocation, setting: &str) -> Result<StoreLocation, CliError> {
    let Some(path) = location.path() else { return Ok(location) };
    if path.as_os_str() == ":memory:" {
        let message = format!("{setting} names a memory that ends with the command, and nothing would be remembered");
        return Err(CliError::refused("store_unusable", message).hint("name a file, or use --no-store"));
    }
    if path.is_dir() {
        let message = format!("{setting}: {} is a folder, and results are remembered in a file", path.display());
        return Err(
            CliError::refused("store_unusable", message).hint(format!("name a file in it: {}", path.join("audit.db").display()))
        );
    }
    Ok(location)
}

fn state_folder(config: &Config) -> Result<PathBuf, CliError> {
    use etcetera::BaseStrategy;
    if let Some(folder) = &config.state_dir {
        return Ok(folder.clone());
    }
    let usual = etcetera::base_strategy::Xdg::new().ok().and_then(|folders| folders.state_dir());
    usual.map(|folder| folder.join("cardproof")).ok_or_else(|| {
        CliError::refused("configuration", "there is no home folder to keep results in")
            .hint("name a file with --store, or keep nothing with --no-store")
    })
}

/// Which memory a command is about.
pub(super) fn scope(network: &NetworkSettings) -> RunScope {
    let network = &network.network;
    RunScope { network: network.name.clone().into_owned(), genesis: network.genesis, contract: network.registry }
}

/// What a failure of the store means for the process.
pub(super) fn failed(error: StoreError) -> CliError {
    let message = error.to_string();
    match error {
        StoreError::Location | StoreError::Foreign { .. } | StoreError::Newer { .. } => {
            CliError::refused("store_unusable", message)
        }
        StoreError::NoRun(_) => CliError::negative("no_such_run", message),
        _ => CliError::internal(message),
    }
}
