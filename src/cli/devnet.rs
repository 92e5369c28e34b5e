use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use cardproof::devnet::{AccountSpec, Devnet, DevnetError, Preset};
use cardproof::report::ContractDocument;
use serde::Serialize;

use super::exit::{CliError, Exit};
use super::options::OutputOptions;
use super::shell::{Shell, Style};
use super::signals::Ends;

/// MicroCCD in a CCD.
const MICRO: u64 = 1_000_000;

/// Run a local chain with the registry on it, for development and tests
///
/// It is one process that answers the node API (gRPC v2), executes signed transactions on Concordium's own contract engine
/// and keeps the history. It is not a consensus node: no validators, no peers, and everybody knows the keys of its accounts.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The address to listen on; anything but a loopback address lets others in
    #[arg(long, value_name = "IP", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    host: IpAddr,
    /// The port to listen on; 0 for any free one
    #[arg(long, value_name = "PORT", default_value_t = 20_100)]
    port: u16,
    /// Where the registries are: default (<1,0>, <2,0>), mainnet-like (<10081,0>, <10082,0>), testnet-like (<12801,0>, <12802,0>)
    #[arg(long, value_name = "NAME")]
    preset: Option<Preset>,
    /// What the accounts' keys and the genesis hash follow from [default: cardproof]
    #[arg(long, value_name = "TEXT")]
    seed: Option<String>,
    /// How many accounts with one key and a million CCD [default: 9, and one of which 2 of 3 keys must sign]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    accounts: Option<u16>,
    /// How long after a block an empty one comes
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = humantime::parse_duration)]
    block_time: Duration,
    /// How long a received transaction waits for its block
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = humantime::parse_duration)]
    commit_delay: Duration,
    /// How long a block waits to be finalized
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = humantime::parse_duration)]
    finality_delay: Duration,
    /// Keep the chain in this folder, and go on with the one that is there
    #[arg(long, value_name = "FOLDER", env = "CARDPROOF_DEVNET_DATA_DIR")]
    data_dir: Option<PathBuf>,
    /// Write the accounts' wallet files into this folder [default: accounts in the data folder, if there is one]
    #[arg(long, value_name = "FOLDER")]
    wallet_dir: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, shell: &Shell, output: &OutputOptions) -> Result<Exit, CliError> {
    super::block_on(async {
        let net = start(args).await.map_err(|error| refusal(&error))?;
        // Before anything is said: whoever reads it may ask the chain to end at once.
        let mut ends = Ends::listen()?;
        let wallets = match &args.wallet_dir {
            Some(folder) => write_wallets(&net, folder).map_err(|error| refusal(&error))?,
            None => (0..net.accounts().len()).map(|index| net.wallet_file(index)).collect(),
        };
        if !args.host.is_loopback() {
            shell.warning("others than this machine can reach the chain, and everybody knows its accounts' keys");
        }
        if output.json {
            shell.document_line(&document(&net, &wallets));
        } else {
            report(&net, &wallets, shell);
        }
        shell.note("A local chain for development and tests: no consensus, and everybody knows its keys. Ctrl-C ends it.");
        ends.next().await;
        net.shutdown().await;
        Ok(Exit::Ok)
    })
}

async fn start(args: &Args) -> Result<Devnet, DevnetError> {
    let mut builder = Devnet::builder()
        .listen(SocketAddr::new(args.host, args.port))
        .block_time(args.block_time)
        .commit_delay(args.commit_delay)
        .finality_delay(args.finality_delay);
    if let Some(preset) = args.preset {
        builder = builder.preset(preset);
    }
    if let Some(seed) = &args.seed {
        builder = builder.seed(seed);
    }
    if let Some(count) = args.accounts {
        builder = builder.accounts(vec![AccountSpec::simple(1_000_000 * MICRO); count.into()]);
    }
    if let Some(folder) = &args.data_dir {
        builder = builder.data_dir(folder);
    }
    builder.start().await
}

fn write_wallets(net: &Devnet, folder: &Path) -> Result<Vec<Option<PathBuf>>, DevnetError> {
    let failed = |cause| DevnetError::File { action: "make the folder", path: folder.to_owned(), cause };
    std::fs::create_dir_all(folder).map_err(failed)?;
    let write = |(index, account): (usize, &cardproof::devnet::TestAccount)| {
        let path = folder.join(format!("{index}.export.json"));
        account.write_wallet_export(&path)?;
        Ok(Some(path))
    };
    net.accounts().iter().enumerate().map(write).collect()
}

pub(super) fn refusal(error: &DevnetError) -> CliError {
    let (exit, code) = match error {
        DevnetError::Listen { .. } => (Exit::Usage, "cannot_listen"),
        DevnetError::InUse { .. } => (Exit::Usage, "data_folder_in_use"),
        DevnetError::Settings { .. } => (Exit::Usage, "other_settings"),
        DevnetError::Configuration(_) => (Exit::Usage, "usage"),
        DevnetError::Damaged { .. } => (Exit::Internal, "data_folder_damaged"),
        _ => (Exit::Internal, "internal_error"),
    };
    CliError { exit, code, message: error.to_string(), hint: None }
}

/// `cardproof.devnet/1`: one line, when the node answers.
#[derive(Serialize)]
struct DevnetDocument<'a> {
    schema: &'static str,
    node: &'a str,
    genesis_hash: String,
    registry: ContractDocument,
    cis8: ContractDocument,
    module_ref: String,
    accounts: Vec<AccountDocument<'a>>,
}

#[derive(Serialize)]
struct AccountDocument<'a> {
    address: String,
    wallet_file: Option<&'a Path>,
    /// CCD as a decimal number with up to six places.
    ccd: String,
}

fn document<'a>(net: &'a Devnet, wallets: &'a [Option<PathBuf>]) -> DevnetDocument<'a> {
    let accounts = net.accounts().iter().zip(wallets).enumerate();
    let accounts = accounts.map(|(index, (account, wallet))| AccountDocument {
        address: account.address().to_string(),
        wallet_file: wallet.as_deref(),
        ccd: ccd(net.balance(index).unwrap_or_default()),
    });
    DevnetDocument {
        schema: "cardproof.devnet/1",
        node: net.node_url(),
        genesis_hash: net.genesis_hash().to_string(),
        registry: net.registry().into(),
        cis8: net.cis8().into(),
        module_ref: hex::encode(net.module_ref()),
        accounts: accounts.collect(),
    }
}

fn report(net: &Devnet, wallets: &[Option<PathBuf>], shell: &Shell) {
    let row = |name: &str, value: &str| shell.styled(&[(Style::Dim, &format!("{name:<14}")), (Style::Plain, value)]);
    row("node", net.node_url());
    row("genesis hash", &net.genesis_hash().to_string());
    row("registry", &format!("{} (CIS-8004, module {})", net.registry(), hex::encode(net.module_ref())));
    row("key registry", &format!("{} (CIS-8)", net.cis8()));
    for (index, (account, wallet)) in net.accounts().iter().zip(wallets).enumerate() {
        let spec = account.spec();
        let keys = match (spec.credentials, spec.keys) {
            (1, 1) => String::new(),
            (_, keys) => format!("  {} of {keys} keys sign", spec.key_threshold),
        };
        let file = wallet.as_ref().map(|path| format!("  {}", path.display())).unwrap_or_default();
        let amount = ccd(net.balance(index).unwrap_or_default());
        row(&format!("account {index}"), &format!("{}  {amount} CCD{keys}{file}", account.address()));
    }
    let (node, genesis, registry) = (net.node_url(), net.genesis_hash(), net.registry());
    shell.note(&format!(
        "try: cardproof show 0 --node {node} --genesis-hash {genesis} --contract {},{}",
        registry.index, registry.subindex
    ));
}

/// MicroCCD as CCD, without needless zeros.
fn ccd(micro: u64) -> String {
    let text = format!("{}.{:06}", micro / MICRO, micro % MICRO);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ccd_are_written_without_needless_zeros() {
        assert_eq!(ccd(1_000_000_000_000), "1000000");
        assert_eq!(ccd(0), "0");
        assert_eq!(ccd(1_500_000), "1.5");
        assert_eq!(ccd(10_000_001), "10.000001");
    }
}
