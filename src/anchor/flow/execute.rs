use std::future::Future;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::anchor::{
    check_environment, check_sendable, check_signatures, dry_run, follow_sent, plan, AnchorError, Call, Choices, Plan, Session,
    SignedTransaction, Signer, Status, ToSign, Turn,
};
use crate::chain::{AgentReader, AtBlock, ChainClient};

use super::{Attendant, Change, FlowError, Review, Step};

/// What every flow works with.
pub struct Context<'a, F> {
    /// The chain; its settings name the network and the registry.
    pub chain: &'a ChainClient,
    /// What fetches cards.
    pub fetcher: &'a F,
    /// The folder with the journals.
    pub state_folder: &'a Path,
    /// The network that the wallet's keys are for, when its file says one.
    pub environment: Option<&'a str>,
    /// What the user has decided.
    pub choices: Choices,
    /// How long to wait for the transaction to be finalized; `None` returns when a node has taken it.
    pub wait: Option<Duration>,
}

/// Called with the signed transaction before it is written down and sent. An error ends it there: nothing is on its way.
pub type BeforeSending<'a> = &'a mut (dyn FnMut(&SignedTransaction) -> Result<(), AnchorError> + Send);

/// A transaction that was sent.
#[derive(Debug, Clone)]
pub struct Executed {
    /// What became of it so far.
    pub status: Status,
    /// How it was planned.
    pub plan: Plan,
}

/// How long a confirmation takes that nobody thinks about. After a longer one everything is looked at once more.
const MOMENT: Duration = Duration::from_secs(1);

/// Plans a call, shows it, signs it, writes it down, sends it once, and follows it.
///
/// # Errors
/// [`AnchorError`]. Only [`AnchorError::SendUnclear`] leaves open whether something is on its way.
pub async fn execute<F, S: Signer>(
    context: &Context<'_, F>,
    call: Call,
    changes: Vec<Change>,
    signer: &S,
    attendant: &mut dyn Attendant,
    before_sending: BeforeSending<'_>,
) -> Result<Executed, AnchorError> {
    let known = std::future::ready(Some(call.clone()));
    let held = hold(context, signer, attendant, known).await?;
    held.confirm(context, call, changes, signer, attendant).await?.send(context, signer, attendant, before_sending).await
}

/// Holds the signer's account and waits for its earlier transactions: the first thing that every flow does. Only what is read of the
/// chain afterwards is what the transaction will meet.
///
/// `known` is the call that will be made, if it is known already; asked for when something is on its way, and refused when that is
/// the same call.
///
/// # Errors
/// [`AnchorError::WalletNetwork`], [`AnchorError::Repeated`], and those of [`Session::open`] and [`Session::turn`].
pub async fn hold<'a, F, S: Signer>(
    context: &Context<'a, F>,
    signer: &S,
    attendant: &mut dyn Attendant,
    known: impl Future<Output = Option<Call>>,
) -> Result<Held<'a>, AnchorError> {
    let (chain, sender) = (context.chain, signer.address());
    check_environment(context.environment, &chain.settings().network)?;
    let chosen = context.choices.nonce;
    let (session, turn) = if attendant.only_looks() {
        let next = chain.next_nonce(sender).await?;
        (None, Turn { nonce: chosen.unwrap_or(next.nonce), after_pending: !next.all_final })
    } else {
        let mut tell = |waiting| attendant.step(&Step::Note(waiting));
        let session = Session::open_telling(chain, context.state_folder, sender, &mut tell).await?;
        if !session.is_quiet().await? {
            if let Some(call) = known.await {
                session.refuse_repeated_call(&call, None)?;
            }
            attendant.step(&Step::Note(format!("waiting for the earlier transactions of account {sender}")));
        }
        let turn = session.turn(chosen).await?;
        (Some(session), turn)
    };
    if turn.after_pending {
        let note = "transactions of the account are on their way: what is read and tried now does not know what they change";
        attendant.step(&Step::Note(note.into()));
    }
    Ok(Held { session, turn })
}

/// An account that is held for one transaction.
pub struct Held<'a> {
    /// `None` when it is only looked at.
    session: Option<Session<'a>>,
    turn: Turn,
}

impl<'a> Held<'a> {
    /// Plans a call and shows it. What is shown is what will be signed.
    ///
    /// # Errors
    /// [`AnchorError`] with the reason why it would fail, and [`AnchorError::NotConfirmed`]. Nothing is signed then.
    pub async fn confirm<F, S: Signer>(
        self,
        context: &Context<'_, F>,
        call: Call,
        changes: Vec<Change>,
        signer: &S,
        attendant: &mut dyn Attendant,
    ) -> Result<Confirmed<'a>, AnchorError> {
        let (chain, keys, sender) = (context.chain, signer.public_keys(), signer.address());
        if let Some(session) = &self.session {
            session.refuse_repeated_call(&call, None)?;
        }
        let Turn { nonce, after_pending } = self.turn;
        let choices = Choices { nonce: Some(nonce), ..context.choices.clone() };
        let plan = plan(chain, call, sender, Some(&keys), &choices).await?;
        if !after_pending && plan.account.next_nonce < nonce && self.session.is_some() {
            // Another node, which is behind: it would be tried on a past that is over.
            return Err(AnchorError::Pending { address: sender, next: nonce });
        }
        // A signer that names no keys is for looking, or names them only when it signs: what it gives is checked then.
        if !plan.can_be_signed && !keys.is_empty() {
            let needed = plan.signature_count;
            return Err(AnchorError::NotEnoughSignatures { given: signer.signature_count(), needed });
        }
        check_sendable(plan.transaction.expiry(), (chain.settings().clock)())?;
        let review = Review {
            network: chain.settings().network.name.to_string(),
            sender,
            transaction: plan.transaction.clone(),
            changes,
            signature_count: plan.signature_count,
            energy: plan.estimate.energy,
            microccd: plan.estimate.microccd,
            most_microccd: plan.most_microccd,
        };
        let asked = Instant::now();
        let is_confirmed = attendant.confirm(&review);
        let session = self.session.filter(|_| is_confirmed).ok_or(AnchorError::NotConfirmed)?;
        Ok(Confirmed { session, turn: self.turn, plan, took_long: asked.elapsed() > MOMENT })
    }
}

/// A transaction that somebody said yes to, and its account, which is held.
pub struct Confirmed<'a> {
    session: Session<'a>,
    turn: Turn,
    plan: Plan,
    took_long: bool,
}

impl Confirmed<'_> {
    /// Whether the yes took longer than a moment: then whatever the transaction was made from must be looked at again.
    pub fn took_long(&self) -> bool {
        self.took_long
    }

    /// Signs it, writes it down, sends it once, and follows it. After a long confirmation it is tried once more before.
    ///
    /// # Errors
    /// [`AnchorError`]. Only [`AnchorError::SendUnclear`] leaves open whether something is on its way.
    pub async fn send<F, S: Signer>(
        self,
        context: &Context<'_, F>,
        signer: &S,
        attendant: &mut dyn Attendant,
        before_sending: BeforeSending<'_>,
    ) -> Result<Executed, AnchorError> {
        if self.took_long {
            self.look_again(context).await?;
        }
        let Self { session, plan, .. } = self;
        let (chain, transaction) = (context.chain, plan.transaction.clone());
        let signatures = signer.sign(ToSign::Transaction(&transaction)).await?;
        if !check_signatures(&plan.account, &transaction.hash_to_sign(), &signatures)? {
            return Err(AnchorError::NotEnoughSignatures { given: signatures.count(), needed: plan.signature_count });
        }
        let signed = SignedTransaction { transaction, signatures };
        before_sending(&signed)?;
        session.record(&signed)?;
        let hash = signed.hash();
        attendant.step(&Step::Signed(hash));
        if let Some(error) = session.send(&signed).await? {
            attendant.step(&Step::Note(format!("it is sent, and that could not be written down: {error}")));
        }
        // Others may use the account while this transaction makes its way.
        drop(session);
        attendant.step(&Step::Sent(hash));
        let expiry = Some(signed.transaction.expiry());
        let status = follow_sent(chain, context.state_folder, hash, expiry, context.wait, attendant).await?;
        Ok(Executed { status, plan })
    }

    /// Requires that time and chain did not go on without the transaction while somebody thought about it.
    async fn look_again<F>(&self, context: &Context<'_, F>) -> Result<(), AnchorError> {
        let (chain, transaction) = (context.chain, &self.plan.transaction);
        check_sendable(transaction.expiry(), (chain.settings().clock)())?;
        let progress = self.session.progress().await?;
        let nonce = transaction.nonce();
        let is_next = context.choices.nonce.is_some() || progress.next == nonce;
        if progress.finalized > nonce || !(is_next || self.turn.after_pending) {
            return Err(FlowError::Changed("another transaction of the account was sent".into()).into());
        }
        let block = chain.pin(AtBlock::LastFinalized).await?;
        let (used, _) = dry_run(chain, &block, transaction.call(), transaction.sender()).await?;
        let needed = used.saturating_add(transaction.call().base_energy(self.plan.signature_count));
        if needed > transaction.energy() {
            return Err(AnchorError::OutOfEnergy { needed, allowed: transaction.energy() });
        }
        Ok(())
    }
}
