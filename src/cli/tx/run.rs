//! One entry point, in one of four modes: build, try, sign, send.

use std::time::Instant;

use cardproof::anchor::flow::{check_served, hold, still_served, Context, FlowError, Review};
use cardproof::anchor::journal::Journal;
use cardproof::anchor::{
    check_environment, follow, plan, AnchorError, Call, Choices, Document, Plan, SignedTransaction, Signer, ToSign, Transaction,
};
use cardproof::chain::{AgentReader, AtBlock, ChainClient};
use cardproof::digest::Sha256Digest;
use cardproof::fetch::{Fetcher, Origin};
use cardproof::identity::AccountAddress;
use cardproof::registry::parameter::{EntryPoint, Parameter, Register, SetAgentUri};
use cardproof::registry::RegistryEvent;
use serde_json::{json, Value};

use crate::cli::config::Config;
use crate::cli::connect;
use crate::cli::exit::{CliError, Exit};
use crate::cli::failure;
use crate::cli::misgiving;
use crate::cli::options::OutputOptions;
use crate::cli::settings::NetworkSettings;
use crate::cli::shell::Shell;
use crate::cli::terminal::{self, ccd, Terminal};

use super::entry_point::{Build, Built, Surroundings};
use super::file;
use super::options::{SenderKeys, SharedOptions, When};
use super::readable::{self, MOMENT};
use super::sign::{require_unexpired, SIGN_IT};
use super::status;

/// A command that has read its options.
struct Command<'a> {
    shared: &'a SharedOptions,
    json: bool,
    shell: &'a Shell,
    config: Config,
    settings: NetworkSettings,
    keys: Option<SenderKeys>,
    sender: AccountAddress,
}

pub(crate) fn run(build: &Build, shell: &Shell, output: &OutputOptions) -> Result<Exit, CliError> {
    let shared = build.shared();
    let mode = shared.mode;
    let sends = !(mode.build_only || mode.dry_run || mode.sign_only);
    if sends {
        Terminal::new(shell, shared.send.yes)?;
    }
    let config = Config::load(output.config.as_deref())?;
    let settings = NetworkSettings::resolve(&shared.reach.node.network, &config)?;
    let keys = if sends || mode.sign_only {
        Some(shared.sender.require("build without signing: --build-only", shell)?)
    } else {
        shared.sender.read(shell)?
    };
    let sender = keys.as_ref().map(|keys| keys.signer.address()).or(shared.sender.sender);
    let sender = sender
        .ok_or_else(|| CliError::usage("the sender is not known").hint("name it with --sender, or its keys with --keys"))?;
    let command = Command { shared, json: output.json, shell, config, settings, keys, sender };
    let offline = (mode.build_only || mode.sign_only) && shared.header.is_complete() && build.needs_node().is_none();
    if shared.reach.node.is_offline() && !offline {
        return Err(not_offline(build.needs_node()));
    }
    super::super::block_on(async {
        if offline {
            return command.offline(build).await;
        }
        command.online(build).await
    })
}

fn not_offline(needed_for: Option<&str>) -> CliError {
    if let Some(why) = needed_for {
        return CliError::refused("offline", format!("{why}, and --offline forbids to ask a node"))
            .hint("leave --offline out, or say it with other options");
    }
    CliError::refused("offline", "this needs a node, and --offline forbids it")
        .hint("with --build-only or --sign-only and all of --nonce, --expiry and --energy (or --execution-energy) it needs none")
}

impl Command<'_> {
    fn surroundings<'a>(&'a self, chain: Option<&'a ChainClient>) -> Surroundings<'a> {
        let (settings, sender_options, shell) = (&self.settings, &self.shared.sender, self.shell);
        Surroundings { settings, chain, sender: Some(self.sender), sender_options, shell }
    }

    /// Builds, and signs where asked to, without any node.
    async fn offline(&self, build: &Build) -> Result<Exit, CliError> {
        let call = build.build(&self.surroundings(None)).await?.call;
        if let Some((uri, _)) = placed(&call) {
            misgiving::warn_of_uri(&self.fetcher()?, &uri, self.shell);
            misgiving::warn_of_spelling(&uri, self.shell);
        }
        if anchored(&call).is_some() && !self.shared.send.no_url_check {
            self.shell.note("no node and no host were asked: that the URI serves this hash is checked when it is sent");
        }
        let choices = self.shared.header.choices();
        let keys = self.keys.as_ref();
        let count = choices.signatures.or(keys.map(|keys| keys.signer.signature_count())).unwrap_or(1);
        if choices.signatures.is_none() {
            self.shell.note(&format!(
                "no node was asked how many signatures the account needs: it is planned for {count}; if the account needs more, build it \
                 with --signature-count <N>"
            ));
        }
        let (Some(nonce), Some(expiry), Some(energy)) =
            (choices.nonce, self.shared.header.expiry.map(When::seconds), choices.energy)
        else {
            return Err(CliError::internal("nonce, expiry and energy are not all known"));
        };
        let transaction = Transaction::new(call, self.sender, nonce, expiry, energy, count).map_err(failure::anchor)?;
        let document = self.document(transaction, count, None);
        if self.shared.mode.sign_only {
            let cost = readable::cost(None, document.transaction.energy());
            self.agree(&readable::review(&self.settings.network.name, &document.transaction, &cost))?;
        }
        self.finish(document).await
    }

    async fn online(&self, build: &Build) -> Result<Exit, CliError> {
        let reach = &self.shared.reach;
        let network = &self.settings.network;
        let registry = match build.agent() {
            Some(agent) => self.settings.locate(&agent)?.0,
            None => network.registry,
        };
        let chain = connect::chain(&reach.node, &reach.tls, &self.config, network, registry, AtBlock::LastFinalized)?;
        let mode = self.shared.mode;
        if !(mode.build_only || mode.dry_run || mode.sign_only) {
            return self.send(&chain, build).await;
        }
        // First of all: what is on its way may change what is read below.
        let nonce = self.choose_nonce(&chain).await?;
        let fetcher = self.fetcher()?;
        let is_repeatable = build.is_repeatable();
        let built = self.built(build, &chain, &fetcher).await?;
        let public = self.keys.as_ref().map(|keys| keys.signer.public_keys());
        let choices = Choices { nonce: Some(nonce), ..self.shared.header.choices() };
        let plan = plan(&chain, built.call.clone(), self.sender, public.as_ref(), &choices).await.map_err(failure::anchor)?;
        if mode.dry_run {
            return self.tried(&chain, plan);
        }
        self.promise(&chain, &plan)?;
        if mode.sign_only {
            let asked = Instant::now();
            self.agree(&terminal::lines(&Review {
                network: network.name.to_string(),
                sender: self.sender,
                transaction: plan.transaction.clone(),
                changes: built.changes.clone(),
                signature_count: plan.signature_count,
                energy: plan.estimate.energy,
                microccd: plan.estimate.microccd,
                most_microccd: plan.most_microccd,
            }))?;
            if asked.elapsed() > MOMENT {
                self.require_unchanged((build, is_repeatable), &built, &chain, &fetcher).await?;
                if self.choose_nonce(&chain).await? != nonce {
                    let what = "another transaction of the account was sent";
                    return Err(failure::anchor(FlowError::Changed(what.into()).into()));
                }
            }
        }
        let estimate = Some(plan.estimate);
        self.finish(self.document(plan.transaction, plan.signature_count, estimate)).await
    }

    fn fetcher(&self) -> Result<Fetcher, CliError> {
        connect::fetcher(&self.shared.reach.fetch, &self.shared.reach.tls, &self.config)
    }

    /// The registry gives an agent to any 32 bytes; from those of no account it never comes back.
    async fn require_accounts(&self, chain: &ChainClient, receivers: &[AccountAddress]) -> Result<(), CliError> {
        if receivers.is_empty() {
            return Ok(());
        }
        let block = chain.pin(AtBlock::LastFinalized).await.map_err(connect::refused)?;
        for &address in receivers {
            if chain.account(&block, address).await.map_err(connect::refused)?.is_none() {
                let network = self.settings.network.name.to_string();
                return Err(failure::anchor(AnchorError::NoSuchAccount { address, network }));
            }
        }
        Ok(())
    }

    /// The call, and what it changes now.
    async fn built(&self, build: &Build, chain: &ChainClient, fetcher: &Fetcher) -> Result<Built, CliError> {
        self.require_accounts(chain, &build.receivers()).await?;
        let built = build.build(&self.surroundings(Some(chain))).await?;
        let asked = !self.shared.send.no_url_check;
        check_url(fetcher, &built.call, asked, self.shell).await.map_err(failure::anchor)?;
        Ok(built)
    }

    /// Requires that chain and files still say the same after somebody thought about it. Whether it `is_repeatable` was asked before:
    /// a file that is gone would say no.
    async fn require_unchanged(
        &self,
        (build, is_repeatable): (&Build, bool),
        built: &Built,
        chain: &ChainClient,
        fetcher: &Fetcher,
    ) -> Result<(), CliError> {
        let changed = |what: &str| failure::anchor(FlowError::Changed(what.into()).into());
        if is_repeatable && !build.is_repeatable() {
            return Err(changed("the file that it was made from is not there any more"));
        }
        if is_repeatable && build.build(&self.surroundings(Some(chain))).await? != *built {
            return Err(changed("what it was made from was changed, on the chain or in a file"));
        }
        require_still_served(fetcher, &built.call, !self.shared.send.no_url_check).await.map_err(failure::anchor)
    }

    /// Shows what is about to be signed, and asks where there is somebody to ask.
    fn agree(&self, lines: &[String]) -> Result<(), CliError> {
        let is_agreed = self.shared.send.yes || !self.shell.can_ask();
        if !readable::confirmed(lines, SIGN_IT, is_agreed, self.shell) {
            return Err(failure::anchor(AnchorError::NotConfirmed));
        }
        Ok(())
    }

    /// A nonce that nobody chose must be certain (fault C-75). A dry run only says that it is not.
    async fn choose_nonce(&self, chain: &ChainClient) -> Result<u64, CliError> {
        let next = chain.next_nonce(self.sender).await.map_err(connect::refused)?;
        if !next.all_final {
            if !self.shared.mode.dry_run && self.shared.header.nonce.is_none() {
                return Err(failure::anchor(AnchorError::Pending { address: self.sender, next: next.nonce }));
            }
            self.shell.note(&format!(
                "transactions of account {} are on their way: what is read and tried now does not know what they change",
                self.sender
            ));
        }
        Ok(self.shared.header.nonce.unwrap_or(next.nonce))
    }

    /// A nonce that nobody chose is not given twice without a word (fault C-75).
    fn promise(&self, chain: &ChainClient, plan: &Plan) -> Result<(), CliError> {
        if self.shared.header.nonce.is_some() {
            return Ok(());
        }
        let journal = Journal::of(&self.shared.send.state_folder(&self.config)?, &self.settings.network.genesis, self.sender);
        let now = (chain.settings().clock)();
        if let Some(earlier) = journal.promise(&plan.transaction, now).map_err(|error| failure::anchor(error.into()))? {
            self.shell.warning(&format!(
                "a transaction built at {earlier} has the same nonce, {}: only one of the two can be carried out; to send both, give this \
                 one --nonce {}",
                plan.transaction.nonce(),
                plan.transaction.nonce() + 1
            ));
        }
        Ok(())
    }

    fn document(
        &self,
        transaction: Transaction,
        signature_count: u32,
        estimate: Option<cardproof::anchor::Estimate>,
    ) -> Document {
        Document {
            network: self.settings.network.name.to_string(),
            genesis: self.settings.network.genesis,
            transaction,
            signature_count,
            estimate,
            signatures: Default::default(),
        }
    }

    /// Signs the document where asked to, and gives it out.
    async fn finish(&self, mut document: Document) -> Result<Exit, CliError> {
        if let (true, Some(keys)) = (self.shared.mode.sign_only, &self.keys) {
            check_environment(keys.environment.as_deref(), &self.settings.network).map_err(failure::anchor)?;
            require_unexpired(&document.transaction)?;
            let signatures = keys.signer.sign(ToSign::Transaction(&document.transaction)).await.map_err(failure::anchor)?;
            document.add_signatures(signatures).map_err(failure::anchor)?;
            let missing = document.signature_count - document.signatures.count();
            if missing > 0 {
                self.shell.note(&format!("{missing} more signature(s) are needed: add them with `cardproof tx sign`"));
            }
        }
        file::give(&document, self.shared.out.as_deref(), self.json, self.shell)?;
        Ok(Exit::Ok)
    }

    /// Shows what a dry run found.
    fn tried(&self, chain: &ChainClient, plan: Plan) -> Result<Exit, CliError> {
        let registry = chain.settings().registry;
        let events: Vec<Value> = plan
            .events
            .iter()
            .filter(|event| event.contract == registry)
            .map(|event| RegistryEvent::parse(&event.bytes).to_json())
            .collect();
        let (estimate, most) = (plan.estimate, plan.most_microccd);
        let document = self.document(plan.transaction, plan.signature_count, Some(estimate));
        let mut value = document.to_json().map_err(failure::anchor)?;
        if let Some(path) = &self.shared.out {
            file::write(path, &value)?;
        }
        if self.json {
            if let Value::Object(fields) = &mut value {
                fields.insert(
                    "dry_run".into(),
                    json!({"outcome": "success", "block": plan.block.hash.to_string(), "events": events}),
                );
            }
            self.shell.document(&value);
            return Ok(Exit::Ok);
        }
        self.shell.line(&format!("{} would succeed at block {}", document.transaction.call().receive_name, plan.block.height));
        self.shell.line(&format!("energy     {} NRG expected, {} at most", estimate.energy, document.transaction.energy()));
        self.shell.line(&format!("cost       {} expected, {} at most", ccd(estimate.microccd), ccd(most)));
        for event in events {
            self.shell.line(&format!("event      {event}"));
        }
        Ok(Exit::Ok)
    }

    async fn send(&self, chain: &ChainClient, build: &Build) -> Result<Exit, CliError> {
        let keys = self.keys.as_ref().ok_or_else(|| CliError::internal("the keys are not there"))?;
        let fetcher = &self.fetcher()?;
        let state_folder = self.shared.send.state_folder(&self.config)?;
        let mut terminal = Terminal::new(self.shell, self.shared.send.yes)?;
        terminal.begin();
        let context = Context {
            chain,
            fetcher,
            state_folder: &state_folder,
            environment: keys.environment.as_deref(),
            choices: self.shared.header.choices(),
            wait: None,
        };
        let offline = self.surroundings(None);
        let is_repeatable = build.is_repeatable();
        let known = async {
            let is_known = is_repeatable && build.needs_node().is_none();
            if is_known {
                build.build(&offline).await.ok().map(|built| built.call)
            } else {
                None
            }
        };
        let held = hold(&context, &keys.signer, &mut terminal, known).await.map_err(failure::anchor)?;
        let built = self.built(build, chain, fetcher).await?;
        let (call, changes) = (built.call.clone(), built.changes.clone());
        let too_few = |error| too_few(error, &built.call);
        let confirmed = held.confirm(&context, call, changes, &keys.signer, &mut terminal).await.map_err(too_few)?;
        if confirmed.took_long() {
            self.require_unchanged((build, is_repeatable), &built, chain, fetcher).await?;
        }
        let mut sent = None;
        let mut keep = |signed: &SignedTransaction| {
            if let Some(path) = &self.shared.out {
                let mut document = self.document(signed.transaction.clone(), signed.signatures.count(), None);
                document.add_signatures(signed.signatures.clone())?;
                let failed =
                    |error: CliError| FlowError::File { path: path.clone(), cause: std::io::Error::other(error.message) };
                file::write(path, &document.to_json()?).map_err(failed)?;
            }
            sent = Some((signed.hash(), signed.transaction.expiry()));
            Ok(())
        };
        confirmed.send(&context, &keys.signer, &mut terminal, &mut keep).await.map_err(too_few)?;
        let (hash, expiry) = sent.ok_or_else(|| CliError::internal("nothing was sent"))?;
        let wait = self.shared.send.wait_for();
        let mut on_change = |state: cardproof::anchor::State| self.shell.detail(&format!("{hash} is {}", state.as_str()));
        let status = follow(chain, &state_folder, hash, Some(expiry), wait, &mut on_change).await;
        let status = status::or_unknown(status, chain, hash, Some(expiry), self.shell)?;
        Ok(status::show(&status, chain, None, wait.is_some(), self.json, self.shell))
    }
}

/// A failure of a call that may need more signatures than these keys give: it is the same command that collects them.
fn too_few(error: AnchorError, call: &Call) -> CliError {
    let is_too_few = matches!(error, AnchorError::NotEnoughSignatures { .. });
    let error = failure::anchor(error);
    if !is_too_few {
        return error;
    }
    error.hint(format!(
        "sign it with `{} … --sign-only --out <FILE>`, have the others add theirs with `cardproof tx sign`, and send it with `cardproof tx send`",
        Build::command_of(call)
    ))
}

/// The URI that a call puts on the chain, when it does, and the digest that goes with it.
fn placed(call: &Call) -> Option<(String, Option<Sha256Digest>)> {
    match EntryPoint::from_receive_name(&call.receive_name)? {
        EntryPoint::Register => {
            let parameter = Register::from_bytes(&call.parameter).ok()?;
            parameter.agent_uri.map(|uri| (uri, parameter.metadata_hash))
        }
        EntryPoint::SetAgentUri => {
            let parameter = SetAgentUri::from_bytes(&call.parameter).ok()?;
            parameter.agent_uri.map(|uri| (uri, parameter.metadata_hash))
        }
        _ => None,
    }
}

/// The URI and digest that a call anchors together, when it does.
fn anchored(call: &Call) -> Option<(String, Sha256Digest)> {
    let (uri, digest) = placed(call)?;
    Some((uri, digest?))
}

/// What is anchored together must be what the URI serves now (fault C-16), if the host `asked` shall be. A URI that is not fetched
/// here is judged by itself, and may be what it likes.
pub(super) async fn check_url(fetcher: &Fetcher, call: &Call, asked: bool, shell: &Shell) -> Result<(), AnchorError> {
    let placed = placed(call);
    if let Some((uri, _)) = &placed {
        misgiving::warn_of_spelling(uri, shell);
    }
    match placed {
        Some((uri, Some(sha256))) if asked => Ok(check_served(fetcher, &uri, Origin::Untrusted, sha256).await?),
        Some((uri, _)) => {
            misgiving::warn_of_uri(fetcher, &uri, shell);
            Ok(())
        }
        None => Ok(()),
    }
}

/// What was compared with what the URI serves must be so still after somebody thought about it.
pub(super) async fn require_still_served(fetcher: &Fetcher, call: &Call, asked: bool) -> Result<(), AnchorError> {
    match anchored(call).filter(|_| asked) {
        Some((uri, sha256)) => Ok(still_served(fetcher, &uri, sha256).await?),
        None => Ok(()),
    }
}
