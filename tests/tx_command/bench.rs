//! A chain, a host, a configuration that knows both, and the command.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};

use cardproof::devnet::{Builder, Devnet};
use serde_json::Value;
use tempfile::TempDir;

use crate::card_host::{Answer, CardHost};

type Pages = Arc<Mutex<HashMap<String, Vec<u8>>>>;

pub(crate) struct Bench {
    pub(crate) net: Devnet,
    pub(crate) folder: TempDir,
    host: CardHost,
    pages: Pages,
}

impl Bench {
    pub(crate) async fn new() -> Self {
        Self::built(Devnet::builder()).await
    }

    pub(crate) async fn built(builder: Builder) -> Self {
        // Not the seed of the built-in network: this one is known by its configuration alone.
        let net = builder.seed("anchoring").start().await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let pages = Pages::default();
        let served = Arc::clone(&pages);
        let host = CardHost::http(move |request| match served.lock().unwrap().get(&request.path) {
            Some(page) => Answer::ok(page),
            None => Answer::status(404),
        });
        let bench = Self { net, folder, host: host.await, pages };
        let network = |name: &str, genesis: String| {
            let (registry, cis8) = (bench.net.registry(), bench.net.cis8());
            format!(
                "[networks.{name}]\ngenesis_hash = \"{genesis}\"\nregistry = \"{},0\"\ncis8 = \"{},0\"\nnode = [\"{}\"]\n",
                registry.index,
                cis8.index,
                bench.net.node_url()
            )
        };
        let genesis = bench.net.genesis_hash().to_string();
        let mut config = format!(
            "network = \"devnet\"\nstate_dir = \"{}\"\ncache_dir = \"{}\"\n[fetch]\nallow_http = true\nallow_private = true\n",
            bench.path("state").display(),
            bench.path("cache").display()
        );
        config += &network("devnet", genesis.clone());
        config += &network("othernet", genesis);
        config += &network("wrongnet", "11".repeat(32));
        std::fs::write(bench.path("cardproof.toml"), config).unwrap();
        for (index, account) in bench.net.accounts().iter().enumerate() {
            account.write_wallet_export(&bench.path(&format!("{index}.json"))).unwrap();
        }
        bench
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        std::fs::write(self.path(name), content).unwrap();
        self.text(name)
    }

    /// A path in the folder, as an argument.
    pub(crate) fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    pub(crate) fn json_file(&self, name: &str) -> Value {
        serde_json::from_slice(&std::fs::read(self.path(name)).unwrap()).unwrap()
    }

    pub(crate) fn serve(&self, path: &str, body: impl Into<Vec<u8>>) -> String {
        self.pages.lock().unwrap().insert(path.into(), body.into());
        self.host.url(path)
    }

    pub(crate) fn url(&self, path: &str) -> String {
        self.host.url(path)
    }

    pub(crate) fn address(&self, account: usize) -> String {
        self.net.account(account).unwrap().address().to_string()
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cardproof"));
        command.args(args).env_clear().env("CARDPROOF_CONFIG", self.path("cardproof.toml")).stdin(Stdio::null());
        command
    }

    pub(crate) async fn run(&self, args: &[&str]) -> Run {
        self.finish(self.command(args)).await
    }

    /// Runs with the keys of an account.
    pub(crate) async fn run_as(&self, account: usize, args: &[&str]) -> Run {
        let keys = self.text(&format!("{account}.json"));
        self.run(&[args, &["--keys", &keys]].concat()).await
    }

    pub(crate) async fn finish(&self, mut command: Command) -> Run {
        let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
        let run = Run(output);
        self.holds_no_secret(&run.text());
        run
    }

    /// No byte of any test account's keys may appear anywhere.
    pub(crate) fn holds_no_secret(&self, text: &str) {
        for account in self.net.accounts() {
            for key in account.signing_keys().values().flat_map(|keys| keys.values()) {
                assert!(!text.contains(&hex::encode(key)), "a secret key in: {text}");
            }
        }
    }

    /// Registers an agent of account 1 with this URI, and gives its token id.
    pub(crate) async fn agent(&self, uri: &str) -> String {
        let run = self.run_as(1, &["tx", "register", "--uri", uri, "--yes", "--json"]).await;
        run.code(0).json()["token_id"].as_str().unwrap().to_owned()
    }

    /// How many transactions of the account are in blocks.
    pub(crate) async fn sent_by(&self, account: usize) -> u64 {
        use cardproof::chain::{AgentReader, AtBlock, ChainClient, ChainSettings};

        let mut settings = ChainSettings::new(self.net.network());
        settings.nodes = vec![self.net.node_url().to_owned()];
        let chain = ChainClient::new(settings).unwrap();
        let block = chain.pin(AtBlock::LastFinalized).await.unwrap();
        chain.account(&block, self.net.account(account).unwrap().address()).await.unwrap().unwrap().next_nonce - 1
    }
}

/// A command that has ended.
pub(crate) struct Run(pub(crate) Output);

impl Run {
    pub(crate) fn stdout(&self) -> String {
        String::from_utf8(self.0.stdout.clone()).unwrap()
    }

    pub(crate) fn stderr(&self) -> String {
        String::from_utf8(self.0.stderr.clone()).unwrap()
    }

    pub(crate) fn text(&self) -> String {
        format!("{}\n{}", self.stdout(), self.stderr())
    }

    /// Requires this exit code.
    pub(crate) fn code(self, code: i32) -> Self {
        assert_eq!(self.0.status.code(), Some(code), "{}", self.text());
        self
    }

    /// Requires this text on stderr.
    pub(crate) fn says(self, part: &str) -> Self {
        assert!(self.stderr().contains(part), "{part} is not in: {}", self.stderr());
        self
    }

    /// The document on stdout, which its schema describes.
    pub(crate) fn json(&self) -> Value {
        let json: Value = serde_json::from_slice(&self.0.stdout).unwrap_or_else(|error| panic!("{error}: {}", self.text()));
        is_valid(&json);
        json
    }

    /// The code of the error document.
    pub(crate) fn error(&self) -> String {
        self.json()["code"].as_str().unwrap().to_owned()
    }
}

/// Holds a document against the schema it names.
pub(crate) fn is_valid(document: &Value) {
    let name = document["schema"].as_str().unwrap().strip_prefix("cardproof.").unwrap().strip_suffix("/1").unwrap();
    let schema = |name: &str| -> Value {
        let path = Path::new("schemas").join(format!("{name}.schema.json"));
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
    };
    let registry = jsonschema::Registry::new()
        .add("https://cardproof.invalid/schemas/report.schema.json", schema("report"))
        .and_then(jsonschema::RegistryBuilder::prepare)
        .unwrap();
    let validator = jsonschema::options().with_registry(&registry).build(&schema(name)).unwrap();
    let errors: Vec<_> = validator.iter_errors(document).map(|error| format!("{} at {}", error, error.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:?} in {document:#}");
}
