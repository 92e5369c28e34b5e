use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use super::genesis::Genesis;
use super::node::{Node, Timing};
use super::store::{DataFolder, Log};
use super::{admission, AccountSpec, Devnet, DevnetError};

/// Where the registries of a local chain are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// CIS-8 at `<1,0>`, CIS-8004 at `<2,0>`.
    #[default]
    Default,
    /// Where mainnet has them: CIS-8 at `<10081,0>`, CIS-8004 at `<10082,0>`.
    MainnetLike,
    /// Where testnet has them: CIS-8 at `<12801,0>`, CIS-8004 at `<12802,0>`.
    TestnetLike,
}

impl Preset {
    /// All presets.
    pub const ALL: [Self; 3] = [Self::Default, Self::MainnetLike, Self::TestnetLike];

    /// `default`, `mainnet-like` or `testnet-like`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::MainnetLike => "mainnet-like",
            Self::TestnetLike => "testnet-like",
        }
    }

    /// The index of the first contract instance, the CIS-8 registry.
    pub(super) fn first_index(self) -> u64 {
        match self {
            Self::Default => 1,
            Self::MainnetLike => 10_081,
            Self::TestnetLike => 12_801,
        }
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Preset {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|preset| preset.name() == text);
        found.ok_or_else(|| "a preset is one of default, mainnet-like and testnet-like".into())
    }
}

/// How many simple accounts a chain has when nothing else is said; a tenth one is a multi-signature account.
const SIMPLE_ACCOUNTS: usize = 9;
/// What each of them has: one million CCD, in microCCD.
const FUNDS: u64 = 1_000_000_000_000;

/// Settings of a local chain.
#[derive(Debug, Clone)]
pub struct Builder {
    preset: Option<Preset>,
    seed: Option<String>,
    accounts: Option<Vec<AccountSpec>>,
    listen: SocketAddr,
    timing: Timing,
    data_dir: Option<PathBuf>,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            preset: None,
            seed: None,
            accounts: None,
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            timing: Timing::Automatic {
                block_time: Duration::from_secs(1),
                commit_delay: Duration::ZERO,
                finality_delay: Duration::ZERO,
            },
            data_dir: None,
        }
    }
}

impl Builder {
    /// Where the registries are; [`Preset::Default`] when not said.
    #[must_use]
    pub fn preset(mut self, preset: Preset) -> Self {
        self.preset = Some(preset);
        self
    }

    /// What the accounts' keys and the genesis hash follow from.
    #[must_use]
    pub fn seed(mut self, seed: impl Into<String>) -> Self {
        self.seed = Some(seed.into());
        self
    }

    /// The funded accounts, in order. When not said, nine with one key and a tenth of which two of three keys must sign, each
    /// with a million CCD. The first one administers the registries.
    #[must_use]
    pub fn accounts(mut self, accounts: Vec<AccountSpec>) -> Self {
        self.accounts = Some(accounts);
        self
    }

    /// Where to listen; any free port of the loopback address when not said.
    #[must_use]
    pub fn listen(mut self, address: SocketAddr) -> Self {
        self.listen = address;
        self
    }

    /// How long after a block an empty one comes; one second when not said.
    #[must_use]
    pub fn block_time(mut self, time: Duration) -> Self {
        if let Timing::Automatic { block_time, .. } = &mut self.timing {
            *block_time = time;
        }
        self
    }

    /// How long a received transaction waits for its block; not at all when not said.
    #[must_use]
    pub fn commit_delay(mut self, delay: Duration) -> Self {
        if let Timing::Automatic { commit_delay, .. } = &mut self.timing {
            *commit_delay = delay;
        }
        self
    }

    /// How long a block waits to be finalized; not at all when not said.
    #[must_use]
    pub fn finality_delay(mut self, delay: Duration) -> Self {
        if let Timing::Automatic { finality_delay, .. } = &mut self.timing {
            *finality_delay = delay;
        }
        self
    }

    /// Blocks are made and finalized only by [`Devnet::commit`], [`Devnet::finalize`] and [`Devnet::advance`].
    #[must_use]
    pub fn manual(mut self) -> Self {
        self.timing = Timing::Manual;
        self
    }

    /// Keeps the chain in this folder, and goes on with the one that is there.
    #[must_use]
    pub fn data_dir(mut self, path: impl Into<PathBuf>) -> Self {
        self.data_dir = Some(path.into());
        self
    }

    /// Starts the chain. When this returns, the node answers.
    ///
    /// # Errors
    /// [`DevnetError`] when the address cannot be listened on, or the folder cannot be used.
    pub async fn start(self) -> Result<Devnet, DevnetError> {
        if let Timing::Automatic { block_time: Duration::ZERO, .. } = self.timing {
            return Err(DevnetError::Configuration("the block time must be longer than nothing".into()));
        }
        let address = self.listen;
        let listener = tokio::net::TcpListener::bind(address).await;
        let listener = listener.map_err(|cause| DevnetError::Listen { address, cause })?;
        let prepared = tokio::task::spawn_blocking(move || self.prepare()).await;
        let (node, folder) = prepared.map_err(|error| DevnetError::Internal(format!("the start ended: {error}")))??;
        Devnet::serve(node, folder, listener)
    }

    fn prepare(self) -> Result<(Node, Option<DataFolder>), DevnetError> {
        let Some(path) = &self.data_dir else {
            return Ok((Node::new(self.genesis()?, self.timing)?, None));
        };
        let folder = DataFolder::open(path)?;
        let node = match Log::open(&folder.log())? {
            Some((log, genesis, records)) => {
                self.agrees_with(&genesis)?;
                let node = Node::new(genesis, self.timing)?;
                node.resume(log, records)?;
                node
            }
            None => {
                // The wallet files come after the log: where they are, there was a chain.
                if folder.holds_accounts() {
                    return Err(DevnetError::Damaged {
                        path: folder.log(),
                        offset: 0,
                        why: "its beginning is missing, and the folder holds the accounts of a chain".into(),
                    });
                }
                let node = Node::new(self.genesis()?, self.timing)?;
                node.record_to(Log::begin(&folder.log(), &node.genesis)?);
                node
            }
        };
        let accounts = folder.accounts()?;
        for (index, account) in node.accounts.iter().enumerate() {
            account.write_wallet_export(&accounts.join(format!("{index}.export.json")))?;
        }
        Ok((node, Some(folder)))
    }

    fn genesis(&self) -> Result<Genesis, DevnetError> {
        let accounts = self.accounts.clone().unwrap_or_else(|| {
            let mut accounts = vec![AccountSpec::simple(FUNDS); SIMPLE_ACCOUNTS];
            accounts.push(AccountSpec::multi_signature(3, 2, FUNDS));
            accounts
        });
        let seed = self.seed.clone().unwrap_or_else(|| "cardproof".into());
        Genesis::new(self.preset.unwrap_or_default(), seed, admission::now(), accounts)
    }

    /// What was asked for must be what the folder has.
    fn agrees_with(&self, genesis: &Genesis) -> Result<(), DevnetError> {
        let path = self.data_dir.clone().unwrap_or_default();
        let differs =
            |setting, stored: String, asked: String| DevnetError::Settings { path: path.clone(), setting, stored, asked };
        if let Some(preset) = self.preset.filter(|preset| *preset != genesis.preset) {
            return Err(differs("the preset", genesis.preset.to_string(), preset.to_string()));
        }
        if let Some(seed) = self.seed.as_ref().filter(|seed| **seed != genesis.seed) {
            return Err(differs("the seed", genesis.seed.clone(), seed.clone()));
        }
        if let Some(accounts) = self.accounts.as_ref().filter(|accounts| **accounts != genesis.accounts) {
            let count = |accounts: &[AccountSpec]| format!("{} accounts", accounts.len());
            return Err(differs("other accounts:", count(&genesis.accounts), count(accounts)));
        }
        Ok(())
    }
}
