//! `--dry-run` of `anchor` and `register`: everything up to the review, and nothing signed.

use cardproof::anchor::flow::{Attendant, Review, Step};
use cardproof::anchor::{AnchorError, Document, Estimate, PublicKeys, Signatures, Signer, ToSign};
use cardproof::identity::{AccountAddress, Network};
use serde_json::{json, Value};

use super::exit::{CliError, Exit};
use super::failure;
use super::misgiving;
use super::shell::Shell;
use super::terminal;
use super::tx::options::SenderOptions;

/// The sender of a transaction that is only looked at. Keys that were named are held against the account's; none sign.
pub(crate) struct Onlooker {
    address: AccountAddress,
    keys: PublicKeys,
    /// The network that the wallet's keys are for, when keys were named and say so.
    pub(crate) environment: Option<String>,
}

impl Onlooker {
    pub(crate) fn new(options: &SenderOptions, shell: &Shell) -> Result<Self, CliError> {
        if let Some(keys) = options.read(shell)? {
            let (address, public) = (keys.signer.address(), keys.signer.public_keys());
            return Ok(Self { address, keys: public, environment: keys.environment });
        }
        let unknown = || CliError::usage("the sender is not known").hint("name it with --sender, or its keys with --keys");
        let address = options.sender.ok_or_else(unknown)?;
        Ok(Self { address, keys: PublicKeys::default(), environment: None })
    }
}

impl Signer for Onlooker {
    fn address(&self) -> AccountAddress {
        self.address
    }

    fn public_keys(&self) -> PublicKeys {
        self.keys.clone()
    }

    async fn sign(&self, _: ToSign<'_>) -> Result<Signatures, AnchorError> {
        Err(AnchorError::Signer("a dry run signs nothing".into()))
    }
}

/// Keeps what is about to be signed, and says no.
pub(crate) struct Look<'a> {
    shell: &'a Shell,
    review: Option<Review>,
}

impl<'a> Look<'a> {
    pub(crate) fn new(shell: &'a Shell) -> Self {
        Self { shell, review: None }
    }

    /// The end of a dry run: what was seen, or why it did not come so far, which `failed` tells.
    pub(crate) fn end(
        &self,
        error: AnchorError,
        network: &Network,
        json: bool,
        failed: impl Fn(AnchorError) -> CliError,
    ) -> Result<Exit, CliError> {
        let (AnchorError::NotConfirmed, Some(review)) = (&error, &self.review) else {
            return Err(failed(error));
        };
        if json {
            self.shell.document(&document(review, network)?);
        } else {
            terminal::lines(review).iter().for_each(|line| self.shell.line(line));
        }
        self.shell.note("a dry run: nothing was signed or sent");
        Ok(Exit::Ok)
    }
}

impl Attendant for Look<'_> {
    fn step(&mut self, step: &Step) {
        match step {
            Step::Card(card) => misgiving::warn(card, self.shell),
            Step::Note(note) => self.shell.note(note),
            _ => self.shell.detail(&step.to_string()),
        }
    }

    fn confirm(&mut self, review: &Review) -> bool {
        self.review = Some(review.clone());
        false
    }

    fn only_looks(&self) -> bool {
        true
    }
}

fn document(review: &Review, network: &Network) -> Result<Value, CliError> {
    let document = Document {
        network: network.name.to_string(),
        genesis: network.genesis,
        transaction: review.transaction.clone(),
        signature_count: review.signature_count,
        estimate: Some(Estimate { energy: review.energy, microccd: review.microccd }),
        signatures: Signatures::default(),
    };
    let mut value = document.to_json().map_err(failure::anchor)?;
    if let Value::Object(fields) = &mut value {
        fields.insert("dry_run".into(), json!({"outcome": "success"}));
    }
    Ok(value)
}
